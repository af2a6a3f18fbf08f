"""Tables against what they mean: states, values solved in fractions, hand-written edges."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot import Environment, Explicit, Policy, check, equal, from_table, from_transitions, integer
from surefoot.api import Var
from surefoot.explore.exploration import explore_problem
from surefoot.problem.problem import Problem

Row = list[tuple[Fraction, int, Fraction, bool]]


class Place(NamedTuple):
    row: int
    column: int
    light: str


@dataclass(frozen=True)
class Spread:
    """Few of the combinations of its entries are states."""

    left: int
    right: tuple[int, bool]


ENCODINGS: dict[str, Callable[[int], Hashable]] = {
    "numbers": lambda n: n,
    "shifted": lambda n: n - 3,
    "spread": lambda n: n * n * 1000,
    "pairs": lambda n: divmod(n, 2),
    "texts": lambda n: f"s{n}",
    "places": lambda n: Place(n // 2, n % 3, ("red", "green")[n % 2]),
    "records": lambda n: Spread(n * 97, (n * n * 50 - 7, n % 2 == 0)),
    "sets": lambda n: frozenset(range(n)),
}


@dataclass(frozen=True)
class System:
    """A random table over numbers: `rows[state][action]`, empty where it cannot be taken."""

    rows: list[list[Row]]
    starts: dict[int, Fraction]
    goal: frozenset[int]

    def actions(self, state: int) -> list[int]:
        return [action for action, row in enumerate(self.rows[state]) if row]


@st.composite
def systems(draw: st.DrawFn) -> System:
    count, actions = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    rewards = st.sampled_from([Fraction(n, d) for n in (-2, 0, 1, 5) for d in (1, 3)])

    def draw_row() -> Row:
        targets = draw(st.lists(st.tuples(st.integers(0, count - 1), rewards, st.booleans()), max_size=4))
        weights = [draw(st.integers(0, 3)) for _ in targets]
        total = sum(weights)
        if not total:
            return []
        return [(Fraction(w, total), *t) for w, t in zip(weights, targets, strict=True)]

    rows = [[draw_row() for _ in range(actions)] for _ in range(count)]
    if not any(row for own in rows for row in own):
        rows[0][0] = [(Fraction(1), 0, Fraction(1), True)]
    if not any(rows[0]):
        rows[0], _other = next(own for own in rows if any(own)), rows[0]
    several = [*draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3, unique=True)), 0]
    weights = {state: draw(st.integers(1, 2)) for state in dict.fromkeys(several)}
    starts = {state: Fraction(w, sum(weights.values())) for state, w in weights.items()}
    goal = frozenset(draw(st.lists(st.integers(0, count - 1))))
    return System(rows, starts, goal)


def environment_of(system: System, encode: Callable[[int], Hashable]) -> Any:
    decode = {encode(n): n for n in range(len(system.rows))}

    def successors(state: Hashable, action: int) -> list[tuple[Any, ...]]:
        return [(p, encode(n), r, end) for p, n, r, end in system.rows[decode[state]][action]]

    return from_transitions(
        {encode(n): share for n, share in system.starts.items()},
        lambda state: system.actions(decode[state]),
        successors,
        goal=lambda state: decode[state] in system.goal,
        labels={"number": lambda state: decode[state]},
    )


Ended = tuple[int, bool]


def reachable(system: System, policy: dict[int, int] | None = None, *, steps: bool = False) -> set[Ended]:
    """With `steps` by at least one."""
    waiting = [(n, False) for n in system.starts]
    found = set() if steps else set(waiting)
    while waiting:
        state, ended = waiting.pop()
        if ended:
            continue
        for action in system.actions(state):
            if policy is None or policy.get(state) == action:
                for share, after, _, ends in system.rows[state][action]:
                    if share and (after, ends) not in found:
                        found.add((after, ends))
                        waiting.append((after, ends))
    return found


def solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The solution of a regular system, by Gauss in fractions."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = next(r for r in range(column, size) if rows[r][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for other in range(size):
            if other != column and rows[other][column]:
                factor = rows[other][column]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[column], strict=True)]
    return [line[-1] for line in rows]


def value_of(
    system: System,
    policy: dict[int, int],
    target: Callable[[Ended], bool],
    reward: Callable[[Fraction], Fraction],
) -> tuple[Fraction, Fraction]:
    """Of a policy: the probability to reach the target, and what is expected to be paid until then where
    that is certain."""
    states = sorted(reachable(system, policy))

    def steps(at: Ended) -> list[tuple[Fraction, Ended, Fraction]]:
        if target(at) or at[1] or at[0] not in policy:
            return []
        return [(p, (n, e), r) for p, n, r, e in system.rows[at[0]][policy[at[0]]] if p]

    able = {at for at in states if target(at)}
    while more := {at for at in states if at not in able and any(n in able for _, n, _ in steps(at))}:
        able |= more
    inner = [at for at in states if at in able and not target(at)]
    place = {at: i for i, at in enumerate(inner)}
    matrix = [[Fraction(int(i == j)) for j in range(len(inner))] for i in range(len(inner))]
    sure, paid = [Fraction(0)] * len(inner), [Fraction(0)] * len(inner)
    for at, i in place.items():
        for share, after, amount in steps(at):
            if after in place:
                matrix[i][place[after]] -= share
            elif target(after):
                sure[i] += share
            paid[i] += share * reward(amount)
    chance, cost = solve(matrix, sure), solve(matrix, paid)

    def look(values: list[Fraction], at: Ended, done: int) -> Fraction:
        return Fraction(done) if target(at) else values[place[at]] if at in place else Fraction(0)

    starts = [((n, False), share) for n, share in system.starts.items()]
    return (
        sum((share * look(chance, at, 1) for at, share in starts), Fraction(0)),
        sum((share * look(cost, at, 0) for at, share in starts), Fraction(0)),
    )


def policies(system: System) -> list[dict[int, int]]:
    able = [n for n in range(len(system.rows)) if system.actions(n)]
    return [dict(zip(able, way, strict=True)) for way in product(*(system.actions(n) for n in able))]


def as_program(system: System, environment: Any, policy: dict[int, int]) -> Any:
    number = dict(environment.definitions)["number"]
    names = dict(zip(environment.table.actions, environment.model.actions, strict=True))
    return Policy.program(
        [(equal(number, n), names[action]) for n, action in policy.items() if action in names]
    )


@settings(max_examples=60, deadline=None)
@given(systems(), st.sampled_from(sorted(ENCODINGS)), st.data())
def test_table_has_the_values_of_linear_equations(system: System, coded: str, data: st.DataObject) -> None:
    environment = environment_of(system, ENCODINGS[coded])
    policy = data.draw(st.sampled_from(policies(system)))
    acting = as_program(system, environment, policy)
    expected, _ = value_of(system, policy, lambda at: at[0] in system.goal, abs)
    asked = check(environment, acting, "P=? [ F goal ] over avg", engine=Explicit(exact=True))
    assert asked.verdict.low == asked.verdict.high == expected, str(asked)
    assert asked.certified
    ends, loss = value_of(system, policy, lambda at: at[1], lambda r: max(-r, Fraction(0)))
    _, gain = value_of(system, policy, lambda at: at[1], lambda r: max(r, Fraction(0)))
    if ends == 1:
        signed = any(o.reward < 0 for row in environment.table.rows for c in row for o in c or ())
        parts = (("gain", gain), ("loss", loss)) if signed else ()
        for name, meant in (("reward", gain - loss), *parts):
            text = f"E=? [ {name} until terminated ] over avg"
            found = check(environment, acting, text, engine=Explicit(exact=True))
            assert found.verdict.low == found.verdict.high == meant, str(found)
            assert found.certified
            found = check(environment, acting, text)
            assert found.verdict.low <= meant <= found.verdict.high, str(found)
            assert found.certified


@settings(max_examples=40, deadline=None)
@given(systems(), st.sampled_from(sorted(ENCODINGS)))
def test_table_has_the_states_and_the_best_value_of_its_function(system: System, coded: str) -> None:
    environment = environment_of(system, ENCODINGS[coded])
    problem = Problem("p", environment, None, check_text(environment, "Pmax=? [ F goal ]"))
    uniform = len(set(system.starts.values())) == 1
    unit = lcm(*(share.denominator for share in system.starts.values()))
    lots = [n for n, share in system.starts.items() for _ in range(1 if uniform else int(share * unit))]
    rows = {(n, False, 0 if uniform else lot) for lot, n in enumerate(lots)}
    rows |= {(n, ended, 0) for n, ended in reachable(system, steps=True)}
    for tier in ("interpreter", "llvm"):
        explored = explore_problem(problem, labels={}, tier=tier)  # type: ignore[arg-type]
        assert explored.markov.states == len(rows)
    best = max(value_of(system, way, lambda at: at[0] in system.goal, abs)[0] for way in policies(system))
    asked = check(environment, None, "Pmax=? [ F goal ] over avg", engine=Explicit(exact=True))
    assert asked.verdict.low == asked.verdict.high == best


def check_text(environment: Any, text: str) -> Any:
    from surefoot import parse_property

    return parse_property(
        text, names=[v.name for v in environment.variables], constants=dict(environment.definitions)
    )


@settings(max_examples=30, deadline=None)
@given(systems(), st.data())
def test_table_equals_edges_written_by_hand(system: System, data: st.DataObject) -> None:
    first = next(iter(system.starts))
    system = System(system.rows, {first: Fraction(1)}, system.goal)
    table = from_table(
        {n: dict(enumerate(own)) for n, own in enumerate(system.rows)},
        first,
        goal=lambda n: n in system.goal,
        names=[f"a{a}" for a in range(len(system.rows[0]))],
    )
    x, over = integer("x", 0, len(system.rows) - 1), integer("over", 0, 1)
    written = Environment("edges", start=(x == first) & (over == 0))
    for state, own in enumerate(system.rows):
        for action, row in enumerate(own):
            if row:
                outcomes = [(p, {x: n, over: int(end)}) for p, n, _, end in row]
                guard = (x == state) & (over == 0)
                written = written.edge(f"a{action}", guard=guard, outcomes=outcomes)
    policy = data.draw(st.sampled_from(policies(system)))
    own = Policy.program([(equal(Var("x"), n), f"a{action}") for n, action in policy.items()])
    other = Policy.program([(equal(Var("state"), n), f"a{action}") for n, action in policy.items()])
    if not written.components[0].edges or not any(system.rows[first]):
        return
    goal = [x == n for n in system.goal]
    if not goal:
        return
    reached = goal[0]
    for part in goal[1:]:
        reached = reached | part
    for text in ("P=? [ F {} ]", "never {}", "eventually {}", "P=? [ F<=3 {} ]"):
        left = check(table, other, text.format("(goal)"), seed=1)
        right = check(written, own, text.format(f"({reached})"), seed=1)
        assert left.violated == right.violated, (text, str(left), str(right))
        if text.startswith("P"):
            assert (left.verdict.low, left.verdict.high) == (right.verdict.low, right.verdict.high)
