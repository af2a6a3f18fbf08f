"""Random programs in the PRISM language as data, as text, and what they mean by PRISM's manual.

Nothing here uses surefoot: expressions are tuples that this file prints and evaluates itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import ceil, floor
from random import Random
from typing import Any, TypeAlias

Exp: TypeAlias = Any  # a number, a truth value, a name, or (operator, *arguments)
State: TypeAlias = tuple[Any, ...]
LEVELS = {"=>": 1, "<=>": 2, "|": 3, "&": 4, "!": 5, "=": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7}
LEVELS |= {"+": 8, "-": 8, "*": 9, "/": 9}


def print_expression(exp: Exp, level: int = 0) -> str:
    """With as few brackets as PRISM's precedences need."""
    match exp:
        case bool():
            return str(exp).lower()
        case int() if exp < 0:
            return f"({exp})"
        case int() | str():
            return str(exp)
        case Fraction():
            return (
                f"{exp.numerator}/{exp.denominator}" if level < 9 else f"({exp.numerator}/{exp.denominator})"
            )
        case ("?", a, b, c):
            text = f"{print_expression(a, 1)} ? {print_expression(b, 1)} : {print_expression(c)}"
            return f"({text})" if level else text
        case ("<=>", a, b):
            return f"(({print_expression(a)}) = ({print_expression(b)}))"  # Storm has no `<=>`
        case ("!", a):
            return f"(!({print_expression(a)}))"  # other readers bind `!` more strongly than PRISM
        case (operator, a, b) if operator in LEVELS:
            own = LEVELS[operator]
            text = f"{print_expression(a, own)}{operator}{print_expression(b, own + 1)}"
            return f"({text})" if level > own else text
        case (function, *arguments):
            return f"{function}({', '.join(map(print_expression, arguments))})"
    raise AssertionError(exp)


def evaluate_expression(exp: Exp, names: Mapping[str, Any]) -> Any:
    match exp:
        case bool() | int() | Fraction():
            return exp
        case str():
            value = names[exp]
            return evaluate_expression(value, names) if isinstance(value, tuple | str) else value
        case ("?", a, b, c):
            return evaluate_expression(b if evaluate_expression(a, names) else c, names)
        case (operator, *arguments):
            values = [evaluate_expression(a, names) for a in arguments]
            return _apply(operator, values)
    raise AssertionError(exp)


def _apply(operator: str, v: list[Any]) -> Any:
    match operator:
        case "|":
            return v[0] or v[1]
        case "&":
            return v[0] and v[1]
        case "=>":
            return not v[0] or v[1]
        case "<=>" | "=":
            return v[0] == v[1]
        case "!=":
            return v[0] != v[1]
        case "!":
            return not v[0]
        case "<":
            return v[0] < v[1]
        case "<=":
            return v[0] <= v[1]
        case ">":
            return v[0] > v[1]
        case ">=":
            return v[0] >= v[1]
        case "+":
            return v[0] + v[1]
        case "-":
            return v[0] - v[1]
        case "*":
            return v[0] * v[1]
        case "/":
            return Fraction(v[0]) / v[1]
        case "min":
            return min(v)
        case "max":
            return max(v)
        case "mod":
            return v[0] % v[1]
        case "floor":
            return floor(v[0])
        case "ceil":
            return ceil(v[0])
        case "round":
            return floor(v[0] + Fraction(1, 2))
        case "pow":
            return v[0] ** v[1]
    raise AssertionError(operator)


@dataclass
class RandomCommand:
    action: str | None
    guard: Exp
    branches: list[tuple[Exp, dict[str, Exp]]]


@dataclass
class RandomModule:
    name: str
    variables: dict[str, tuple[Any, Any, Any]]  # low, high, initial; (None, None, value) for truth values
    commands: list[RandomCommand]
    copied: tuple[str, dict[str, str]] | None = None  # base and renaming, instead of being written out


@dataclass
class RandomProgram:
    kind: str
    constants: dict[str, tuple[str, Any]] = field(default_factory=dict)
    formulas: dict[str, Exp] = field(default_factory=dict)
    shared: dict[str, tuple[Any, Any, Any]] = field(default_factory=dict)
    modules: list[RandomModule] = field(default_factory=list)
    state_rewards: list[tuple[Exp, Exp]] = field(default_factory=list)
    step_rewards: list[tuple[str | None, Exp, Exp]] = field(default_factory=list)
    goal: Exp = False
    initial: Exp = None
    system: str = ""

    def text(self) -> str:
        lines = [self.kind]
        lines += [
            f"const {kind} {name} = {_literal(value)};" for name, (kind, value) in self.constants.items()
        ]
        lines += [f"formula {name} = {print_expression(body)};" for name, body in self.formulas.items()]
        for name, declared in self.shared.items():
            lines.append(f"global {self._declaration(name, declared)}")
        for module in self.modules:
            if module.copied is not None:
                base, renames = module.copied
                pairs = ", ".join(f"{a}={b}" for a, b in renames.items())
                lines.append(f"module {module.name} = {base} [{pairs}] endmodule")
                continue
            lines.append(f"module {module.name}")
            lines += [f"  {self._declaration(n, d)}" for n, d in module.variables.items()]
            lines += [f"  {_command_text(c)}" for c in module.commands]
            lines.append("endmodule")
        lines.append('rewards "cost"')
        lines += [f"  {print_expression(g)} : {print_expression(v)};" for g, v in self.state_rewards]
        lines += [
            f"  [{action or ''}] {print_expression(g)} : {print_expression(v)};"
            for action, g, v in self.step_rewards
        ]
        lines += ["endrewards", f'label "goal" = {print_expression(self.goal)};']
        if self.initial is not None:
            lines.append(f"init {print_expression(self.initial)} endinit")
        if self.system:
            lines.append(f"system {self.system} endsystem")
        return "\n".join(lines) + "\n"

    def _declaration(self, name: str, declared: tuple[Any, Any, Any]) -> str:
        low, high, start = declared
        kind = "bool" if low is None else f"[{low}..{high}]"
        begins = "" if self.initial is not None else f" init {print_expression(start)}"
        return f"{name} : {kind}{begins};"

    def all_variables(self) -> dict[str, tuple[Any, Any, Any]]:
        found = dict(self.shared)
        for module in self.modules:
            found |= module.variables
        return found

    def names(self, state: State) -> dict[str, Any]:
        values = {n: v for n, (_, v) in self.constants.items()}
        return {**values, **self.formulas, **dict(zip(self.all_variables(), state, strict=True))}

    def starts(self) -> list[State]:
        variables = self.all_variables()
        if self.initial is None:
            return [tuple(start for _, _, start in variables.values())]
        ranges = [[False, True] if lo is None else range(lo, hi + 1) for lo, hi, _ in variables.values()]
        return [s for s in product(*ranges) if evaluate_expression(self.initial, self.names(s))]

    def choices(self, state: State) -> list[tuple[str | None, list[tuple[Any, State]]]]:
        """What PRISM lists in a state: commands without action, then joint ones; a loop if there are none."""
        names = self.names(state)
        found: list[tuple[str | None, list[tuple[Any, State]]]] = []
        for module in self.modules:
            for command in module.commands:
                if command.action is None and evaluate_expression(command.guard, names):
                    found.append((None, self._branches(state, names, [command])))
        actions = dict.fromkeys(c.action for m in self.modules for c in m.commands if c.action)
        for action in actions:
            involved = [m for m in self.modules if any(c.action == action for c in m.commands)]
            ready = [
                [c for c in m.commands if c.action == action and evaluate_expression(c.guard, names)]
                for m in involved
            ]
            for several in product(*ready):
                found.append((action, self._branches(state, names, list(several))))
        return found

    def _branches(
        self, state: State, names: dict[str, Any], commands: list[RandomCommand]
    ) -> list[tuple[Any, State]]:
        order = list(self.all_variables())
        found: list[tuple[Any, State]] = []
        for picks in product(*(c.branches for c in commands)):
            weight = Fraction(1)
            after = list(state)
            for number, updates in picks:
                weight *= Fraction(evaluate_expression(number, names))
                for name, value in updates.items():
                    after[order.index(name)] = evaluate_expression(value, names)
            if weight > 0:
                found.append((weight, tuple(after)))
        return found

    def reward(self, state: State, action: str | None, *, of_step: bool = True) -> Fraction:
        names = self.names(state)
        total = Fraction(0)
        for guard, value in self.state_rewards:
            if evaluate_expression(guard, names):
                total += Fraction(evaluate_expression(value, names))
        for wanted, guard, value in self.step_rewards if of_step else []:
            if wanted == action and evaluate_expression(guard, names):
                total += Fraction(evaluate_expression(value, names))
        return total


def _literal(value: Any) -> str:
    return f"{float(value)!r}" if isinstance(value, Fraction) else print_expression(value)


def _command_text(command: RandomCommand) -> str:
    branches = []
    for number, updates in command.branches:
        assigned = " & ".join(f"({n}'={print_expression(v)})" for n, v in updates.items()) or "true"
        branches.append(
            assigned
            if number == 1 and len(command.branches) == 1
            else f"{print_expression(number)} : {assigned}"
        )
    return f"[{command.action or ''}] {print_expression(command.guard)} -> {' + '.join(branches)};"


@dataclass
class ExpandedProgram:
    """States from 0 on; of each the choices: (expected reward, successors with probabilities)."""

    states: list[State]
    starts: list[int]
    choices: list[list[tuple[Fraction, list[tuple[Fraction, int]]]]]
    goals: list[bool]


def expand_program(program: RandomProgram, most: int = 3_000) -> ExpandedProgram | None:
    """Every reachable state as PRISM builds them; None if there are too many."""
    numbers: dict[State, int] = {}
    waiting: list[State] = []

    def number_of(state: State) -> int:
        if state not in numbers:
            numbers[state] = len(numbers)
            waiting.append(state)
        return numbers[state]

    starts = [number_of(s) for s in program.starts()]
    found: list[list[tuple[Fraction, list[tuple[Fraction, int]]]]] = []
    while waiting:
        if len(numbers) > most:
            return None
        state = waiting.pop(0)
        listed = program.choices(state)
        if program.kind == "ctmc" and not any(w for _, branches in listed for w, _ in branches):
            listed = []
        rows: list[tuple[Fraction, list[tuple[Fraction, int]]]] = []
        for action, branches in listed:
            rows.append((program.reward(state, action), [(w, number_of(s)) for w, s in branches]))
        if not rows:
            rows.append((program.reward(state, None, of_step=False), [(Fraction(1), numbers[state])]))
        elif program.kind in ("dtmc", "ctmc"):
            total = sum(w for _, row in rows for w, _ in row)
            reward = sum((r * sum(w for w, _ in row) for r, row in rows), Fraction(0)) / total
            rows = [(reward, [(w / total, s) for _, row in rows for w, s in row])]
        found.append(rows)
    states = list(numbers)
    goals = [bool(evaluate_expression(program.goal, program.names(s))) for s in states]
    return ExpandedProgram(states, starts, found, goals)


def reach_values(model: ExpandedProgram, best: Any, rounds: int = 20_000) -> list[float]:
    """The probability to reach the goal, by value iteration from below."""
    values = [1.0 if goal else 0.0 for goal in model.goals]
    rows = [[[(float(w), s) for w, s in row] for _, row in several] for several in model.choices]
    for _ in range(rounds):
        change = 0.0
        for state, several in enumerate(rows):
            if not model.goals[state]:
                new = best(sum(w * values[s] for w, s in row) for row in several)
                change = max(change, abs(new - values[state]))
                values[state] = new
        if change < 1e-13:
            break
    return values


def cumulative_values(model: ExpandedProgram, best: Any, steps: int) -> list[Fraction]:
    """The reward of the first so many steps, exactly."""
    values = [Fraction(0)] * len(model.states)
    for _ in range(steps):
        values = [
            best(r + sum((w * values[s] for w, s in row), Fraction(0)) for r, row in several)
            for several in model.choices
        ]
    return values


class ProgramMaker:
    """Draws conditions, numbers and updates over variables."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def condition(self, variables: Mapping[str, Any], depth: int = 2) -> Exp:
        r = self.random
        name = r.choice(list(variables))
        low, high, _ = variables[name]
        if depth and r.random() < 0.45:
            operator = r.choice(["&", "|", "&", "=>", "<=>"])
            return operator, self.condition(variables, depth - 1), self.condition(variables, depth - 1)
        if r.random() < 0.15:
            return "!", self.condition(variables, 0)
        if low is None:
            return name
        return r.choice(["=", "!=", "<", "<=", ">", ">="]), name, r.randint(low, high)

    def number(self, variables: Mapping[str, Any], depth: int = 1) -> Exp:
        r = self.random
        numbers = [n for n, (low, _, _) in variables.items() if low is not None]
        if not numbers or r.random() < 0.25:
            return r.randint(0, 3)
        if not depth or r.random() < 0.4:
            return r.choice(numbers)
        a, b = self.number(variables, depth - 1), self.number(variables, depth - 1)
        kind = r.randrange(8)
        if kind == 0:
            return "?", self.condition(variables, 0), a, b
        if kind == 1:
            return "mod", ("+", ("max", a, 0), 1), 3
        if kind == 2:
            return r.choice(["floor", "ceil", "round"]), ("/", a, r.choice([2, 3, 4]))
        return r.choice(["+", "-", "*", "min", "max"]), a, b

    def update(self, own: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Exp]:
        found: dict[str, Exp] = {}
        for name in self.random.sample(list(own), k=self.random.randint(0, len(own))):
            low, high, _ = own[name]
            if low is None:
                found[name] = self.random.choice([True, False, ("!", name), self.condition(seen, 1)])
            else:
                value = self.random.choice([self.number(seen, 2), self.random.randint(low, high)])
                found[name] = (
                    value
                    if isinstance(value, int) and low <= value <= high
                    else ("max", low, ("min", high, value))
                )
        return found

    def branches(self, own: Mapping[str, Any], seen: Mapping[str, Any], kind: str) -> list[tuple[Exp, Any]]:
        r = self.random
        count = r.choice([1, 1, 2, 2, 3])
        if kind == "ctmc":
            rates = [
                r.choice([1, 2, 3, Fraction(1, 2), ("+", self.number(seen, 0), 1)]) for _ in range(count)
            ]
            return [(rate, self.update(own, seen)) for rate in rates]
        if count == 2 and r.random() < 0.3:
            name = r.choice([n for n, (low, _, _) in seen.items() if low is not None] or [None])
            if name is not None:
                low, high, _ = seen[name]
                share = "/", ("-", name, low), high - low + 1
                return [(share, self.update(own, seen)), (("-", 1, share), self.update(own, seen))]
        parts = [r.randint(1, 4) for _ in range(count)]
        return [(Fraction(p, sum(parts)) if count > 1 else 1, self.update(own, seen)) for p in parts]


def random_program(seed: int) -> RandomProgram:
    """A program with few states, from the whole language."""
    make = ProgramMaker(seed)
    r = make.random
    program = RandomProgram(r.choice(["dtmc", "mdp", "mdp", "dtmc", "ctmc"]))
    program.constants = {"K": ("int", r.randint(1, 3)), "q": ("double", Fraction(1, 4))}
    if r.random() < 0.4:
        program.shared["g"] = 0, 2, r.randint(0, 2)
    sizes = r.choice([1, 2, 2, 3])
    for index in range(sizes):
        own: dict[str, tuple[Any, Any, Any]] = {
            f"x{index}": (low := r.randint(-1, 1), low + r.randint(1, 2), 0)
        }
        own[f"x{index}"] = (*own[f"x{index}"][:2], r.randint(low, own[f"x{index}"][1]))
        if r.random() < 0.5:
            own[f"b{index}"] = None, None, r.random() < 0.5
        program.modules.append(RandomModule(f"M{index}", own, []))
    copied = sizes > 1 and r.random() < 0.4
    if copied:
        first, last = program.modules[0], program.modules[-1]
        last.variables = {f"{n[0]}{sizes - 1}": d for n, d in first.variables.items()}
    seen = program.all_variables()
    if r.random() < 0.5:
        program.formulas["f"] = make.condition(seen)
        program.formulas["h"] = make.number(seen, 2)
    actions = ["a", "b"][: r.randint(0, 2)]
    for module in program.modules[: -1 if copied else None]:
        for _ in range(r.randint(1, 4)):
            action = r.choice([None, *actions])
            guard = make.condition(seen)
            if program.formulas and r.random() < 0.3:
                guard = r.choice([("&", guard, "f"), ("|", "f", guard), ("<=", "h", "K")])
            own = {**module.variables, **(program.shared if action is None else {})}
            module.commands.append(RandomCommand(action, guard, make.branches(own, seen, program.kind)))
    if copied:
        _copy_module(program, first, last, actions, r)
    program.goal = make.condition(seen, 1)
    program.state_rewards = [(True, 0)] + [
        (make.condition(seen, 1), r.randint(0, 3)) for _ in range(r.randint(0, 2))
    ]
    used = sorted({c.action for m in program.modules for c in m.commands if c.action})
    program.step_rewards = [
        (r.choice([None, *used]), make.condition(seen, 1), r.choice([1, 2, Fraction(1, 2), "q"]))
        for _ in range(r.randint(0, 2))
    ]
    if r.random() < 0.15:
        program.initial = make.condition(seen, 1)
    return program


def _copy_module(
    program: RandomProgram, first: RandomModule, last: RandomModule, actions: list[str], r: Random
) -> None:
    """The last module is the first one, renamed; formulas are put in before that."""
    renames = dict(zip(first.variables, last.variables, strict=True))
    if r.random() < 0.5:
        renames |= {b: a for a, b in renames.items()}
    if len(actions) == 2 and r.random() < 0.5:
        renames |= {"a": "b", "b": "a"}

    def renamed(exp: Exp) -> Exp:
        if isinstance(exp, str):
            return renamed(program.formulas[exp]) if exp in program.formulas else renames.get(exp, exp)
        return (exp[0], *map(renamed, exp[1:])) if isinstance(exp, tuple) else exp

    for command in first.commands:
        branches = [
            (renamed(w), {renames.get(n, n): renamed(v) for n, v in updates.items()})
            for w, updates in command.branches
        ]
        action = renames.get(command.action, command.action) if command.action else None
        last.commands.append(RandomCommand(action, renamed(command.guard), branches))
    last.copied = first.name, renames


def enough_programs(count: int, first: int = 0) -> Iterator[tuple[int, RandomProgram, ExpandedProgram]]:
    """So many programs with at least one start and few states, with the seeds that make them."""
    found, seed = 0, first
    while found < count:
        program = random_program(seed)
        expanded = expand_program(program) if program.starts() else None
        if expanded is not None and expanded.starts:
            found += 1
            yield seed, program, expanded
        seed += 1
