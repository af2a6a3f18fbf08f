"""Questions: their text, their JANI form, and their truth on a graph."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.laws.oracle.chance import Process, Row, expect, process_of, reach
from tests.laws.oracle.graph import Graph
from tests.laws.oracle.meaning import AmbiguousError
from tests.laws.oracle.runs import (
    RunTruth,
    closure,
    judge_eventually,
    judge_never,
    judge_recurs,
    judge_within,
)
from tests.laws.oracle.terms import Term, UndefinedError, jani_of, text_of, value_of, wrap

Value = Fraction | None  # None: infinite


@dataclass(frozen=True)
class AboutRuns:
    kind: str  # never, always, within, eventually, recurs
    condition: Term
    steps: int | None = None
    after: int = 0

    @property
    def text(self) -> str:
        condition = text_of(self.condition)
        if self.kind == "within":
            return f"within {self.steps} {condition}" + (f" after {self.after}" if self.after else "")
        ending = "" if self.steps is None else f" for {self.steps} steps"
        if self.steps == 0:
            ending = " at the start"
        if ending and self.condition[0] in ("and", "or", "=>"):
            condition = f"({condition})"
        return f"{self.kind} {condition}{ending}"


@dataclass(frozen=True)
class AboutChance:
    """`reward` None: a probability of `operator`; else an expected reward until `right` (or for ever)."""

    optimise: str = ""
    compare: tuple[str, Fraction] | None = None
    operator: str = "F"
    left: Term = True
    right: Term | None = None
    low: int = 0
    high: int | None = None
    reward: Term | None = None  # "steps", a name, or ("of", term)
    spent: Term | None = None  # the bounds are on this reward, not on steps
    over: str | None = None
    of: Term | None = None

    @property
    def filter(self) -> str:
        """As syntax.md says: without one the largest value, or what a threshold is hardest for."""
        least = self.compare is not None and self.compare[0] in (">=", ">")
        return self.over or ("min" if least else "max")

    @property
    def text(self) -> str:
        head = ("P" if self.reward is None else "E") + self.optimise
        head += "=?" if self.compare is None else f"{self.compare[0]}{text_of(self.compare[1])}"
        tail = "" if self.over is None else f" over {self.over}"
        tail += "" if self.of is None else f" of {text_of(self.of)}"
        return f"{head} [ {self.path_text() if self.reward is None else self.reward_text()} ]{tail}"

    def path_text(self) -> str:
        spent = "" if self.spent is None else f"{{{self.spent}}}"
        operator = self.operator + spent + bound_text(self.low, self.high) if self.operator != "X" else "X"
        right = wrap(self.right, 6)
        if self.operator in "XFG":
            return f"{operator} {right}"
        return f"{wrap(self.left, 6)} {operator} {right}"

    def reward_text(self) -> str:
        name = self.reward if isinstance(self.reward, str) else f"({text_of(self.reward[1])})"  # type: ignore[index]
        until = "" if self.right is None else f" until {text_of(self.right)}"
        return name + until + ("" if self.high is None else f" for {self.high} steps")


Question = AboutRuns | AboutChance


def bound_text(low: int, high: int | None) -> str:
    if high is None:
        return "" if low == 0 else f">={low}"
    if low == 0:
        return f"<={high}" if high % 2 == 0 else f"<{high + 1}"
    return f"[{low}, {high}]" if (low + high) % 2 else f"[{low}, {high + 1})"


# Truth


@dataclass(frozen=True)
class ChanceTruth:
    """For each start (least, greatest) value; `trouble` as for runs."""

    starts: tuple[tuple[Any, tuple[Value, Value]], ...]
    trouble: bool
    exact: bool = True


def judge_runs(graph: Graph, question: AboutRuns) -> RunTruth:
    condition, steps = question.condition, question.steps
    if question.kind in ("never", "always"):
        return judge_never(graph, condition if question.kind == "never" else ("not", condition), steps)
    if question.kind == "within":
        assert steps is not None
        return judge_within(graph, condition, steps, question.after)
    return (judge_eventually if question.kind == "eventually" else judge_recurs)(graph, condition)


def judge_chance(graph: Graph, question: AboutChance) -> ChanceTruth:
    goal, through, opposite = conditions(graph, question)
    if question.of is None:
        starts = graph.starts
    else:
        starts = [(s, shares) for s, shares in graph.places.items() if graph.holds(question.of, shares[0][1])]
    first = {n for _, shares in starts for _, n in shares}
    trouble = in_trouble(graph, question, goal, through, first)
    if any(graph.nodes[n].status == "blocked" for n in closure(graph, first, lambda n: n not in goal)):
        raise AmbiguousError("an assumption that cannot be kept, and a probability")
    sides = []
    if question.spent is not None:
        return judge_spending(graph, question, goal, through, opposite, trouble)
    process = process_of(graph, payer(graph, question.reward))
    for greatest in (False, True):
        if question.reward is not None:
            values = expected(process, goal, question, greatest)
        else:
            found = until(process, goal, through, question.low, question.high, greatest=greatest != opposite)
            values = {n: 1 - x for n, x in found.items()} if opposite else dict(found)
        sides.append([mix(values, shares) for _, shares in starts])
    if question.optimise:
        sides = [sides[question.optimise == "max"]] * 2
    pairs = tuple((s, (a, b)) for (s, _), a, b in zip(starts, *sides, strict=True))
    return ChanceTruth(pairs, trouble, process.exact)


def mix(values: dict[int, Value], shares: list[tuple[Fraction, int]]) -> Value:
    parts = [values[n] for _, n in shares]
    if any(x is None for x in parts):
        return None
    return sum((p * x for (p, _), x in zip(shares, parts, strict=True) if x is not None), Fraction(0))


def conditions(graph: Graph, question: AboutChance) -> tuple[set[int], set[int], bool]:
    """The path formula as `through U goal`, and whether its opposite is meant. Undefined: in neither set."""

    def where(term: Term) -> set[int]:
        found = set()
        for n in range(len(graph.nodes)):
            try:
                if graph.holds(term, n):
                    found.add(n)
            except UndefinedError:
                pass
        return found

    everything = set(range(len(graph.nodes)))
    a, b = question.left, question.right
    if question.reward is not None:
        return (set() if b is None else where(b)), everything, False
    if question.operator in ("X", "F"):
        return where(b), everything, False
    if question.operator == "G":
        return where(("not", b)), everything, True
    if question.operator == "U":
        return where(b), where(a), False
    if question.operator == "W":
        return where(("and", ("not", b), ("not", a))), where(("not", b)), True
    return where(("not", b)), where(("not", a)), True


def in_trouble(
    graph: Graph, question: AboutChance, goal: set[int], through: set[int], first: set[int]
) -> bool:
    """Whether something is undefined before the question is decided; `right` is looked at before `left`."""
    if question.of is not None:  # every reachable state may be a start
        return any(node.trouble for node in graph.nodes)
    level, seen, depth = set(first), set(first), 0
    decided_by = {"U": True, "W": True, "R": False}.get(question.operator)
    while level:
        for n in level:
            try:
                if question.right is not None:
                    right = bool(graph.holds(question.right, n))
                    counted = depth >= question.low if question.spent is None else question.low == 0
                    if question.reward is None and right is decided_by and counted:
                        continue
                if question.left is not None:
                    graph.holds(question.left, n)
            except UndefinedError:
                return True
        if question.high is not None and depth >= question.high:
            return False
        early = depth < question.low
        open_nodes = {n for n in level if n in through and (early or n not in goal)}
        if any(graph.nodes[n].trouble for n in open_nodes):
            return True
        level = {m for n in open_nodes for m in graph.nodes[n].successors()} - (set() if early else seen)
        if depth > 3 * len(graph.nodes):
            return False
        seen |= level
        depth += 1
    return False


def until(
    process: Process, goal: set[int], through: set[int], low: int, high: int | None, *, greatest: bool
) -> dict[int, Fraction]:
    """The probability of `through U[low, high] goal`, state by state; ended runs stay where they are."""
    best = max if greatest else min
    if high is None:
        values = reach(process, goal, through, greatest=greatest)
        last = low
    else:
        values = {n: Fraction(n in goal and low <= high) for n in process.rows}
        last = high
    for i in range(last - 1, -1, -1):
        before = {}
        for n, rows in process.rows.items():
            if n in goal and i >= low:
                before[n] = Fraction(1)
            elif n not in through:
                before[n] = Fraction(0)
            elif not rows:
                before[n] = Fraction(n in goal)
            else:
                before[n] = best(sum(p * values[m] for m, p in row.items()) for _, row in rows)
        values = before
    return values


def judge_spending(
    graph: Graph, question: AboutChance, goal: set[int], through: set[int], opposite: bool, trouble: bool
) -> ChanceTruth:
    """A bound on a reward makes the sum so far part of the state."""
    pay = payer(graph, question.spent)
    low, high = question.low, question.high
    cap = low if high is None else high + 1
    numbers: dict[tuple[int, int], int] = {}
    rows: dict[int, list[Row]] = {}
    waiting = [(n, 0) for _, shares in graph.starts for _, n in shares]

    def enter(place: tuple[int, int]) -> int:
        if place not in numbers:
            numbers[place] = len(numbers)
            waiting.append(place)
        return numbers[place]

    for place in list(waiting):
        enter(place)
    while waiting:
        n, total = place = waiting.pop()
        if numbers[place] in rows:
            continue
        rows[numbers[place]] = found = []
        for choice in graph.nodes[n].choices:
            row: dict[int, Fraction] = {}
            for p, m, earned in choice:
                target = enter((m, min(cap, total + int(pay(n, earned)))))
                row[target] = row.get(target, Fraction(0)) + p
            found.append((Fraction(0), row))
    process = Process(rows)
    fits = {k: low <= total and (high is None or total <= high) for (_, total), k in numbers.items()}
    reached = {k for (n, _), k in numbers.items() if n in goal and fits[k]}
    allowed = {k for (n, total), k in numbers.items() if n in through and (high is None or total <= high)}
    sides = []
    for greatest in (False, True):
        values = reach(process, reached, allowed, greatest=greatest != opposite)
        final = {n: values[numbers[n, 0]] for _, shares in graph.starts for _, n in shares}
        sides.append(
            [mix({n: 1 - x if opposite else x for n, x in final.items()}, s) for _, s in graph.starts]
        )
    if question.optimise:
        sides = [sides[question.optimise == "max"]] * 2
    pairs = tuple((s, (a, b)) for (s, _), a, b in zip(graph.starts, *sides, strict=True))
    return ChanceTruth(pairs, trouble, process.exact)


def payer(graph: Graph, reward: Term | None) -> Any:
    if reward is None or reward == "steps":
        return lambda n, earned: Fraction(1)
    if isinstance(reward, str):
        return lambda n, earned: Fraction(earned.get(reward, 0))
    if reward[0] == "of":
        return lambda n, earned: Fraction(value_of(reward[1], graph.nodes[n].names))
    _, term, accumulated = reward  # of a JANI file

    def pay(n: int, earned: dict[str, Fraction]) -> Fraction:
        total = Fraction(0)
        for when in accumulated:
            names = {k.removeprefix(f"{when} "): x for k, x in earned.items() if k.startswith(f"{when} ")}
            total += Fraction(value_of(term, graph.nodes[n].names | names))
        return total

    return pay


def expected(process: Process, goal: set[int], question: AboutChance, greatest: bool) -> dict[int, Value]:
    if question.high is None:
        return expect(process, goal, greatest=greatest)
    best = max if greatest else min
    values = dict.fromkeys(process.rows, Fraction(0))
    for _ in range(question.high):
        values = {
            n: Fraction(0)
            if n in goal or not rows
            else best(paid + sum(p * values[m] for m, p in row.items()) for paid, row in rows)
            for n, rows in process.rows.items()
        }
    return dict(values)


# JANI


def asks_existence(question: AboutChance) -> bool:
    """`∃ F b` in every start: JANI has a word for it."""
    plain = (
        question.reward is None and question.operator == "F" and (question.low, question.high) == (0, None)
    )
    return plain and question.optimise == "max" and question.compare == (">", 0) and question.over == "min"


def jani_question(question: Question) -> dict[str, Any]:
    if isinstance(question, AboutRuns):
        op = {"always": "G", "never": "G", "eventually": "F"}[question.kind]
        term = ("not", question.condition) if question.kind == "never" else question.condition
        fun, inner = "∀", {"op": "∀", "exp": {"op": op, "exp": jani_of(term)}}
        return {"op": "filter", "fun": fun, "states": {"op": "initial"}, "values": inner}
    if asks_existence(question):
        exists = {"op": "∃", "exp": {"op": "F", "exp": jani_of(question.right)}}
        return {"op": "filter", "fun": "∀", "states": {"op": "initial"}, "values": exists}
    if question.reward is None:
        path: dict[str, Any] = {"op": question.operator}
        if question.operator in "XFG":
            path["exp"] = jani_of(question.right)
        else:
            path |= {"left": jani_of(question.left), "right": jani_of(question.right)}
        bounds: dict[str, Any] = {"lower": question.low} if question.low else {}
        if question.high is not None:
            strict = question.high % 2 == 1
            bounds |= {"upper": question.high + strict} | ({"upper-exclusive": True} if strict else {})
        if bounds and question.spent is not None:
            path["reward-bounds"] = [
                {"exp": jani_of(question.spent[1]), "accumulate": ["steps"], "bounds": bounds}
            ]
        elif bounds and question.operator != "X":
            path["step-bounds"] = bounds
        measured: dict[str, Any] = {"op": f"P{question.optimise}", "exp": path}
    else:
        _, term, accumulated = question.reward
        measured = {"op": f"E{question.optimise}", "exp": jani_of(term), "accumulate": list(accumulated)}
        if question.right is not None:
            measured["reach"] = jani_of(question.right)
        if question.high is not None:
            measured["step-instant"] = question.high
    if question.compare is not None:
        symbol = {">=": "≥", "<=": "≤"}.get(question.compare[0], question.compare[0])
        measured = {"op": symbol, "left": measured, "right": jani_of(question.compare[1])}
    worst = None if question.compare is None else "min" if question.compare[0] in (">=", ">") else "max"
    fun = "∀" if worst is not None and question.over == worst else question.over or "max"
    return {"op": "filter", "fun": fun, "states": {"op": "initial"}, "values": measured}
