"""Runs of plants in plain Python: floats in float64 arithmetic, fractions in exact arithmetic.

Written from docs/reference (problem-file, syntax, engines). A run picks at random, at the ends of ranges, or
holds what it picked. `object_to_trace` follows what surefoot reports step by step, from what it reports:
exactly, but for networks, differential equations in doubles and elementary functions, where a small error is
let pass in each step (every step begins with the reported state, so that errors do not add up).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

from tests.laws.oracle.plants import Plant, PlantEdge, PlantProperty, Values
from tests.laws.oracle.terms import Term, UndefinedError, Value, number, unchain
from tests.laws.oracle.traces import read_value

Closure = Callable[[Values], Value]
NEAR = 1e-5  # of a step with networks, flows or elementary functions
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin, "cos": math.cos, "tanh": math.tanh, "exp": math.exp, "sqrt": math.sqrt,
    "atan": math.atan, "log": math.log,
}  # fmt: skip


@dataclass(frozen=True)
class Ended(Exception):
    """Nothing is enabled, or what the policy picks is not."""


class Simulator:
    """The steps of a plant, in its own arithmetic or (`rough`) in floats."""

    def __init__(self, plant: Plant, *, rough: bool) -> None:
        self.plant, self.floats = plant, plant.float64 or rough
        self.compiled: dict[int, Closure] = {}
        self.kept: list[Term] = []
        self.limits: dict[str, tuple[Value | None, Value | None]] = {}
        for name, text in plant.variables:
            self.limits[name] = read_limits(text)

    # Terms

    def number(self, value: Value) -> Value:
        if isinstance(value, bool | int):
            return value
        return float(value) if self.floats else number(value)

    def value(self, term: Term, names: Values) -> Value:
        found = self.compiled.get(id(term))
        if found is None:
            found = self.compiled[id(term)] = self.compile(term)
            self.kept.append(term)
        try:
            return found(names)
        except (ZeroDivisionError, OverflowError, ValueError) as error:
            raise UndefinedError(str(error)) from None

    def compile(self, term: Term) -> Closure:
        if not isinstance(term, tuple):
            constant = self.number(term)
            return lambda names: constant
        op, *rest = term
        if op == "var":
            name = rest[0]
            return lambda names: names[name]
        if op == "chain":
            return self.compile(unchain(term))
        if op == "at":
            place = self.plant.locations.index(rest[1])
            return lambda names: names["@main"] == place
        parts = [self.compile(p) for p in rest]
        if op == "and":
            return lambda names: all(p(names) for p in parts)
        if op == "or":
            return lambda names: any(p(names) for p in parts)
        if op in ("min", "max"):
            pick = min if op == "min" else max
            return lambda names: pick(p(names) for p in parts)
        if op == "ite":
            condition, then, otherwise = parts
            return lambda names: then(names) if condition(names) else otherwise(names)
        if op == "^":
            times = rest[1]
            return lambda names: math.prod([parts[0](names)] * times)
        if len(parts) == 1:
            (inner,) = parts
            if op in FUNCTIONS:
                function = FUNCTIONS[op]
                return lambda names: function(float(inner(names)))
            return {
                "neg": lambda names: -inner(names),
                "abs": lambda names: abs(inner(names)),
                "not": lambda names: not inner(names),
            }[op]
        a, b = parts
        return {
            "+": lambda names: a(names) + b(names),
            "-": lambda names: a(names) - b(names),
            "*": lambda names: a(names) * b(names),
            "%": lambda names: a(names) % abs(b(names)),
            "=": lambda names: a(names) == b(names),
            "<": lambda names: a(names) < b(names),
            "<=": lambda names: a(names) <= b(names),
            ">": lambda names: a(names) > b(names),
            ">=": lambda names: a(names) >= b(names),
            "select": lambda names: a(names)[b(names)],
        }[op]

    # Steps

    def start(self, values: Values) -> Values:
        found = {
            n: tuple(map(self.number, v)) if isinstance(v, tuple) else self.number(v)
            for n, v in values.items()
        }
        reals = {n for n, text in self.plant.variables if text.startswith("real")}
        if self.floats:
            found = {n: float(v) if n in reals or n.startswith("h_") else v for n, v in found.items()}
        return found | ({"@main": 0} if self.plant.locations else {})

    def outputs(self, names: Values) -> list[float]:
        policy = self.plant.policy
        assert policy is not None
        values = [float(self.value(t, names)) for t in policy.observe]
        for place, layer in enumerate(policy.layers):
            values = [
                sum((float(w) * x for w, x in zip(row, values, strict=True)), float(b))
                for row, b in zip(layer.weights, layer.bias, strict=True)
            ]
            if place + 1 < len(policy.layers):
                values = [math.tanh(x) if policy.activation == "Tanh" else max(x, 0.0) for x in values]
        return values

    def control(self, names: Values) -> Values:
        if self.plant.control is None:
            return {}
        policy = self.plant.policy
        assert policy is not None
        if policy.layers:
            value: Value = self.outputs(names)[0]
        else:
            value = next(
                self.value(then[0], names) for when, then in policy.branches if self.value(when, names)
            )
        low, high = map(self.number, self.plant.control)
        value = max(low, min(high, value))
        return {"u": value if self.floats else number(Fraction(value))}

    def enabled(self, names: Values) -> list[PlantEdge]:
        here = names.get("@main")
        return [
            e
            for e in self.plant.edges
            if (e.source is None or self.plant.locations[here] == e.source) and self.value(e.guard, names)
        ]

    def permitted(self, names: Values, slack: float = 0.0) -> tuple[list[PlantEdge], bool]:
        """What may be taken, and whether the run may end here (a drawn action that is not enabled)."""
        enabled, policy = self.enabled(names), self.plant.policy
        if policy is None or policy.choose == "value":
            return enabled, not enabled
        own = [e for e in enabled if e.action is not None]
        rest = [e for e in enabled if e.action is None]
        if not own:
            return rest, not rest
        if policy.choose == "program":
            wanted = {next(then for when, then in policy.branches if self.value(when, names))}
        elif policy.choose == "sample":
            wanted = set(policy.actions)
            missing = wanted - {e.action for e in own}
            return enabled, bool(missing) and not rest
        else:
            scores = dict(zip(policy.actions, self.outputs(names), strict=True))
            if policy.choose == "argmax-applicable":
                scores = {a: s for a, s in scores.items() if any(e.action == a for e in own)}
            best = max(scores.values())
            wanted = {next(a for a, s in scores.items() if s == best)}
            if slack:
                wanted = {a for a, s in scores.items() if s >= best - slack * (1 + abs(best))}
        taken = [e for e in own if e.action in wanted]
        some_missing = any(all(e.action != a for e in own) for a in wanted)
        return rest + taken, some_missing and not rest

    def apply(self, names: Values, edge: PlantEdge, outcome: int, chosen: Values) -> Values:
        """The next state; `names` has the control in it."""
        before = names | chosen
        after = {n: v for n, v in names.items() if n != "u"}
        made = edge.outcomes[outcome]
        for name, index, term in made.updates:
            value = self.value(term, before)
            if self.plant.window is not None and name == self.plant.window[0]:
                length = self.plant.window[1]
                for i in range(length - 1):
                    after[f"{name}_{i}"] = before[f"{name}_{i + 1}"]
                after[f"{name}_{length - 1}"] = value
            elif index is not None:
                place = self.value(index, before)
                after[name] = (*after[name][:place], value, *after[name][place + 1 :])
            else:
                after[name] = value
        if self.plant.flow is not None:
            after |= self.flow(before)
        for name, (low, high) in self.limits.items():
            if (low is not None and after[name] < low) or (high is not None and after[name] > high):
                raise UndefinedError(f"{name} leaves its range")
        if self.floats and any(isinstance(v, float) and not math.isfinite(v) for v in after.values()):
            raise UndefinedError("overflow")
        if made.target is not None:
            after["@main"] = self.plant.locations.index(made.target)
        return after

    def flow(self, names: Values) -> Values:
        assert self.plant.flow is not None
        step, method, derivatives = self.plant.flow
        h = self.number(step)

        def slope(at: Values) -> Values:
            return {n: self.value(t, at) for n, t in derivatives}

        def moved(by: Values, share: Value) -> Values:
            return names | {n: names[n] + share * d for n, d in by.items()}

        k1 = slope(names)
        if method == "euler":
            return {n: names[n] + h * d for n, d in k1.items()}
        k2 = slope(moved(k1, h / 2))
        k3 = slope(moved(k2, h / 2))
        k4 = slope(moved(k3, h))
        return {n: names[n] + h / 6 * (k1[n] + 2 * k2[n] + 2 * k3[n] + k4[n]) for n in k1}


def read_limits(text: str) -> tuple[Value | None, Value | None]:
    if text.startswith("array"):
        return None, None
    if ".." in text:
        low, high = text.split()[1].split("..")
        return int(low), int(high)
    if "[" in text:
        low, high = text[text.index("[") + 1 : -1].split(",")
        return int(low), int(high)
    return (0, None) if ">=" in text else (None, None)


# Runs


@dataclass(frozen=True)
class Picked:
    """What a run picks: numbers in 0 to 1 in order, so that it can be made again in other arithmetic."""

    start: Values
    numbers: tuple[Fraction, ...]


class Picker:
    """By chance, at the ends, or held; what it says is remembered."""

    def __init__(self, r: Random, manner: str) -> None:
        self.r, self.manner, self.held = r, manner, dict[str, Fraction]()
        self.said: list[Fraction] = []

    def __call__(self, what: str) -> Fraction:
        r = self.r
        share = Fraction(r.choice((0, 16)) if self.manner != "chance" else r.randint(0, 16), 16)
        if self.manner == "held":
            if what in self.held and r.random() < 0.9:
                share = self.held[what]
            elif r.random() < 0.3:
                share = Fraction(r.randint(0, 16), 16)
            self.held[what] = share
        self.said.append(share)
        return share


def pick_from(items: list[Any], share: Fraction) -> Any:
    return items[min(int(share * len(items)), len(items) - 1)]


def follow(
    sim: Simulator, state: Values, pick: Callable[[str], Fraction], r: Random, steps: int
) -> Iterator[tuple[Values, bool]]:
    """The states of a run, each with whether the run may end there."""
    for number_of_step in range(steps + 1):
        names = state | sim.control(state)
        edges, may_end = sim.permitted(names)
        yield names, may_end
        if not edges or number_of_step == steps:
            return
        if may_end and pick("end") < Fraction(1, 4):
            return
        edge = pick_from(edges, Fraction(r.randrange(len(edges)), len(edges)))
        for _ in range(20):
            chosen = {}
            for c in edge.chosen:
                share = pick(c.name)
                value = c.low + (c.high - c.low) * share
                chosen[c.name] = sim.number(value) if c.base == "real" else round(value)
            if sim.value(edge.assuming, names | chosen):
                break
        else:
            return
        outcome = r.randrange(len(edge.outcomes))
        state = sim.apply(names, edge, outcome, chosen)


def violates(sim: Simulator, asked: PlantProperty, run: Iterator[tuple[Values, bool]]) -> int | None:
    """After how many steps the run is seen to violate the property; None: it is not."""
    seen: list[Values] = []
    last_good = -1
    number_of_state = -1
    may_end = False
    try:
        for number_of_state, (names, ends) in enumerate(run):
            may_end = ends
            holds = sim.value(asked.condition, names)
            state = {n: v for n, v in names.items() if n != "u"}
            if asked.kind in ("never", "before"):
                if holds:
                    return number_of_state
                if number_of_state == asked.steps:
                    return None
                if asked.kind == "before" and sim.value(asked.goal, names):
                    return None
                continue
            if holds:
                last_good = number_of_state
                if asked.kind != "recurs":
                    return None
            if asked.kind == "within":
                if number_of_state == asked.steps:
                    return number_of_state
                continue
            since = [s for s in seen[last_good + 1 :] if s == state]
            if since and not holds:
                return number_of_state
            seen.append(state)
    except UndefinedError:
        return None
    if asked.kind in ("never", "before") or not may_end:
        return None
    return number_of_state if last_good < number_of_state else None


@dataclass(frozen=True)
class Refutation:
    steps: int
    runs: int  # made before it was found


def refute(plant: Plant, seed: int, runs: int, steps: int = 30) -> Refutation | None:
    """A run of at most so many steps that violates the property, among so many."""
    rough, own = Simulator(plant, rough=True), Simulator(plant, rough=False)
    for number_of_run in range(runs):
        made = [run_once(sim, plant, f"{seed} {number_of_run}", number_of_run, steps) for sim in (rough,)]
        if made[0] is not None:
            again = (
                made[0]
                if own.floats
                else run_once(own, plant, f"{seed} {number_of_run}", number_of_run, steps)
            )
            if again is not None:
                return Refutation(again, number_of_run)
    return None


def run_once(sim: Simulator, plant: Plant, seed: str, place: int, steps: int) -> int | None:
    r = Random(seed)
    pick = Picker(r, ("chance", "ends", "held")[place % 3])
    start = sim.start(plant.starts.draw(r, corner=place % 2 == 1))
    return violates(sim, plant.asked, follow(sim, start, pick, r, steps))


# What a property is about


def ask_property(plant: Plant, seed: int) -> Plant:
    """With a threshold that pilot runs set: most, few or none of all runs violate it."""
    r = Random(f"ask {plant.name} {seed}")
    sim = Simulator(plant, rough=True)
    term = random_measure(r, plant)
    lows, highs, lengths = [], [], []
    for place in range(150):
        mine = Random(f"pilot {seed} {place}")
        start = sim.start(plant.starts.draw(mine, corner=place % 2 == 1))
        values = []
        try:
            for names, _ in follow(sim, start, Picker(mine, ("chance", "ends", "held")[place % 3]), mine, 30):
                values.append(sim.value(term, names))
        except UndefinedError:
            pass
        if values:
            lows.append(min(values))
            highs.append(max(values))
            lengths.append(len(values))
    lows.sort()
    highs.sort()
    share = r.choice((0.3, 0.6, 0.9, 0.97, 1.0, 1.1))
    kinds = ["never", "never", "never", "before", "within"]
    if plant.kind in ("integer", "mixed", "arrays") or min(lengths) < 31:
        kinds += ["eventually", "recurs", "eventually", "recurs"]
    kind = r.choice(kinds)
    if kind in ("never", "before"):
        condition = (">=", term, threshold(highs, share))
        steps = r.choice((None, None, 8, 20))
        goal: Term = ("<=", term, threshold(lows, 0.5)) if kind == "before" else False
        return replace(plant, asked=PlantProperty(kind, condition, steps, goal))
    condition = ("<=", term, threshold([-x for x in lows], share, sign=-1))
    return replace(
        plant, asked=PlantProperty(kind, condition, r.choice((5, 15, 30)) if kind == "within" else None)
    )


def threshold(values: list[float], share: float, sign: int = 1) -> Fraction:
    ordered = sorted(values)
    last = len(ordered) - 1
    value = ordered[min(int(share * last), last)]
    if share > 1:
        value += (share - 1) * (ordered[-1] - ordered[0]) + 0.01
    value = max(min(value, 1e6), -1e6)
    return sign * Fraction(round(value * 1000), 1000)


def random_measure(r: Random, plant: Plant) -> Term:
    names: list[Term] = [("var", n) for n, text in plant.variables if not text.startswith(("array", "bool"))]
    if plant.window is not None:
        names = [("var", f"{plant.window[0]}_{i}") for i in range(plant.window[1])]
    for n, text in plant.variables:
        if text.startswith("array"):
            names += [("select", ("var", n), i) for i in range(int(text.split()[1]))]
    a, b = r.choice(names), r.choice(names)
    return r.choice((a, a, ("abs", a), ("-", a, b) if a != b else a, ("+", a, b), ("min", a, b), ("neg", a)))


# Traces


def is_rough(plant: Plant) -> bool:
    """Whether rounding may differ: of a network's outputs, of a flow in doubles, of elementary functions."""
    networked = plant.policy is not None and bool(plant.policy.layers) and plant.policy.choose == "value"
    return networked or plant.kind == "elementary" or (plant.flow is not None)


def object_to_trace(plant: Plant, trace: dict[str, Any]) -> str:
    """What is wrong with a reported violation; empty if nothing is."""
    sim, asked = Simulator(plant, rough=False), plant.asked
    states = [read_plant_state(sim, said) for said in trace["states"]]
    names = [s | sim.control(s) for s in states]
    if not sim.value(plant.starts.condition(), states[0]) or (plant.locations and states[0]["@main"] != 0):
        return "the trace does not begin in a start"
    for place, move in enumerate(trace["moves"]):
        if problem := object_to_move(sim, names[place], move, states[place + 1]):
            return f"step {place}: {problem}"
    good = [sim.value(asked.condition, n) for n in names]
    last, loop = len(states) - 1, trace["loop"]
    if asked.kind in ("never", "before"):
        if asked.kind == "before" and any(sim.value(asked.goal, n) for n in names[:-1]):
            return "a goal comes before"
        if not good[-1]:
            return "the last state is not bad"
        return "" if asked.steps is None or last <= asked.steps else "the trace is too long"
    ended = sim.permitted(names[-1], slack=NEAR)[1]
    if asked.kind == "within":
        complete = last == asked.steps or ended
    else:
        complete = ended if loop is None else states[loop] == states[-1]
    first = last if asked.kind == "recurs" and loop is None else loop if asked.kind == "recurs" else 0
    if not complete:
        return "the trace neither ends nor returns"
    return "a state that should not be good is" if any(good[first:]) else ""


def read_plant_state(sim: Simulator, said: dict[str, Any]) -> Values:
    def read(value: Any) -> Value:
        if isinstance(value, list):
            return tuple(map(read, value))
        if isinstance(value, dict):
            return float.fromhex(value["hex"])
        return read_value(value)

    found = {name: read(value) for name, value in said.items()}
    return {
        n: sim.number(v) if not isinstance(v, tuple) else tuple(map(sim.number, v)) for n, v in found.items()
    }


def object_to_move(sim: Simulator, names: Values, move: dict[str, Any], after: Values) -> str:
    plant = sim.plant
    edge = plant.edges[move["edges"][0][1]]
    if not any(e is edge for e in sim.permitted(names, slack=NEAR)[0]):
        return "the edge is not permitted"
    chosen = read_plant_state(sim, move["chosen"])
    if set(chosen) != {c.name for c in edge.chosen}:
        return "other values are chosen"
    for c in edge.chosen:
        if not sim.number(c.low) <= chosen[c.name] <= sim.number(c.high):
            return f"{c.name} leaves its range"
    if not sim.value(edge.assuming, names | chosen):
        return "the assumption is not kept"
    outcome = move["outcomes"][0]
    if edge.outcomes[outcome].probability <= 0:
        return "an outcome without probability"
    expected = sim.apply(names, edge, outcome, chosen)
    if set(expected) != set(after):
        return "other variables"
    for name, value in expected.items():
        if not is_same(value, after[name], rough=is_rough(plant)):
            return f"{name} is {after[name]}, not {value}"
    return ""


def is_same(a: Value, b: Value, *, rough: bool) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(is_same(x, y, rough=rough) for x, y in zip(a, b, strict=True))
    if rough and not isinstance(a, bool | int):
        return abs(float(a) - float(b)) <= NEAR * (1 + abs(float(a)))
    return bool(a == b)
