"""Does a run violate the claim of a certificate about a closed loop? Simulated in floats from its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

from tests.checker.reach.simulator import evaluate, integrate, number, run_network

from surefoot_checker.kernel.network import FlatNetwork, read_network
from surefoot_checker.kernel.strict_json import BadCertificate

Json = Any
Values = dict[str, Any]
PARTS = 12  # looks at a period of continuous time
SURE = 1e-6  # how far beyond a limit a run has to be


class NoRun(Exception):
    """The run leaves the model, or it is not known how it goes on."""


def find_violation(problem: Json, draw: Random, runs: int) -> str | None:
    """What a run does that the property forbids, clearly; None: nothing was found."""
    networks: dict[int, FlatNetwork] = {}
    lost = (
        NoRun,
        BadCertificate,
        ArithmeticError,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        RecursionError,
    )
    for _ in range(runs):
        try:
            track, ended = simulate_claim(problem, draw, networks)
            what = _judge_track(problem, track, ended)
        except lost:
            continue
        if what is not None:
            return what
    return None


def simulate_claim(
    problem: Json, draw: Random, networks: dict[int, FlatNetwork]
) -> tuple[list[tuple[Fraction, Values]], bool]:
    """States with their times, and whether the run ended before the horizon."""
    state = _draw_start(problem, draw)
    asked = problem["property"]
    if "time" in problem:
        period = Fraction(problem["time"]["period"])
        last = Fraction(asked.get("until", 5 * period))
        periods = min(int(-(-last // period)), 12)
        return _simulate_time(problem, state, periods, period, draw, networks), False
    return _simulate_steps(problem, state, min(int(asked.get("steps", 8)), 12), draw, networks)


def _draw_start(problem: Json, draw: Random) -> Values:
    """A state of the box that single comparisons say, if it satisfies all of the initial condition."""
    low: dict[str, Fraction] = {}
    high: dict[str, Fraction] = {}
    kinds = dict(problem["variables"])
    state: Values = {}

    def visit(term: Json) -> None:
        if not isinstance(term, list):
            return
        if term[0] == "and":
            for part in term[1:]:
                visit(part)
        elif term[0] in ("<=", "=", "<") and len(term) == 3:
            for below, above in ((term[1], term[2]), (term[2], term[1])):
                if isinstance(above, list) and above[0] == "name" and not isinstance(below, list):
                    if term[0] == "=" or below is term[1]:
                        low[above[1]] = Fraction(below)
                    if term[0] == "=" or below is term[2]:
                        high[above[1]] = Fraction(below)
        elif term[0] == "name":
            state[term[1]] = True
        elif term[0] == "not" and term[1][0] == "name":
            state[term[1][1]] = False

    visit(problem["initial"])
    for name, kind in kinds.items():
        if kind[0] == "boolean":
            state.setdefault(name, draw.random() < 0.5)
            continue
        a, b = low.get(name, kind[1]), high.get(name, kind[2])
        if a is None or b is None:
            raise NoRun
        if kind[0] == "integer":
            state[name] = draw.randint(int(a), int(b))
        else:
            share = draw.choice((0.0, 1.0, draw.random()))
            state[name] = min(max(float(a) + share * (float(b) - float(a)), float(a)), float(b))
    _check_ranges(problem, state)  # a state beyond what is declared is no start
    if evaluate(problem["initial"], state) is False and not _nearly_starts(problem, state):
        raise NoRun
    return state


def _nearly_starts(problem: Json, state: Values) -> bool:
    """Ends that are no floats are off by a rounding."""
    for sign in (-1, 1):
        moved = {n: v * (1 + sign * 1e-15) if isinstance(v, float) else v for n, v in state.items()}
        if evaluate(problem["initial"], moved):
            return True
    return False


def _network(data: Json, networks: dict[int, FlatNetwork]) -> FlatNetwork:
    if id(data) not in networks:
        networks[id(data)] = read_network(data)
    return networks[id(data)]


def _outputs(problem: Json, state: Values, networks: dict[int, FlatNetwork]) -> tuple[Any, Json]:
    """The outputs and the entry of the decider, or what a rule says."""
    policy = problem["policy"]
    decider: Json = policy
    for rule in policy["rules"]:
        if _clearly(rule["when"], state):
            decider = rule["then"]
            break
    if isinstance(decider, str):
        return None, decider
    if isinstance(decider, list):
        return [evaluate(t, state) for t in decider], None
    if decider["network"] is None:
        raise NoRun
    seen = [float(evaluate(t, state)) for t in decider["observe"]]
    return run_network(_network(decider["network"], networks), seen), decider


def _clearly(condition: Json, state: Values) -> bool:
    """Its truth, unless a small change of the state changes it."""
    found = [
        bool(evaluate(condition, {n: v + s * SURE if isinstance(v, float) else v for n, v in state.items()}))
        for s in (-1, 0, 1)
    ]
    if len(set(found)) > 1:
        raise NoRun
    return found[0]


def _controls(problem: Json, state: Values, networks: dict[int, FlatNetwork]) -> Values:
    outputs, _ = _outputs(problem, state, networks)
    found: Values = {}
    for (name, low, high, clipped), value in zip(problem["controls"], outputs, strict=True):
        inside = value if low is None else max(value, number(low))
        inside = inside if high is None else min(inside, number(high))
        if inside != value and not clipped:
            raise NoRun
        found[name] = inside
    return found


def _simulate_time(
    problem: Json,
    state: Values,
    periods: int,
    period: Fraction,
    draw: Random,
    networks: dict[int, FlatNetwork],
) -> list[tuple[Fraction, Values]]:
    chosen = problem["components"][0]["edges"][0]["chosen"]
    track = [(Fraction(0), dict(state))]
    derivatives = problem["time"]["derivatives"]
    names = [n for n, _ in problem["variables"]]
    for k in range(periods):
        held = _controls(problem, state, networks)
        for part in range(PARTS):
            gust = {name: _draw_value(kind, draw) for name, kind in chosen}
            values = {**held, **gust}
            steps = integrate(
                derivatives, {n: state[n] for n in names}, lambda t, v=values: v, float(period) / PARTS, 4
            )
            state = steps[-1]
            _check_ranges(problem, state)
            track.append(((k + Fraction(part + 1, PARTS)) * period, dict(state)))
    return track


def _draw_value(kind: Json, draw: Random) -> Any:
    if kind[0] == "boolean":
        return draw.random() < 0.5
    if kind[0] == "integer":
        return draw.randint(int(kind[1]), int(kind[2]))
    low, high = number(kind[1]), number(kind[2])
    return draw.choice((low, high, draw.uniform(low, high)))


def _check_ranges(problem: Json, state: Values) -> None:
    for name, kind in problem["variables"]:
        value = state[name]
        if isinstance(value, float) and not abs(value) < 1e9:
            raise NoRun
        if kind[0] == "boolean":
            continue
        if (kind[1] is not None and value < number(kind[1])) or (
            kind[2] is not None and value > number(kind[2])
        ):
            raise NoRun


def _simulate_steps(
    problem: Json, state: Values, steps: int, draw: Random, networks: dict[int, FlatNetwork]
) -> tuple[list[tuple[Fraction, Values]], bool]:
    edges, owns = problem["components"][0]["edges"], problem["policy"]["owns"]
    track = [(Fraction(0), dict(state))]
    for k in range(steps):
        values = dict(state)
        action: str | None = None
        if problem["controls"]:
            values |= _controls(problem, state, networks)
        enabled = [e for e in edges if _clearly(e["guard"], values)]
        if not problem["controls"]:
            action = _pick(problem, state, {e["action"] for e in enabled}, networks)
        ready = [
            e for e in enabled if e["action"] is None or e["action"] not in owns or e["action"] == action
        ]
        if not ready:
            return track, True
        edge = draw.choice(ready)
        values |= {name: _draw_value(kind, draw) for name, kind in edge["chosen"]}
        if not _clearly(edge["assuming"], values):
            raise NoRun
        updates = draw.choice(edge["outcomes"])["updates"]
        state = {**state, **{target[1]: evaluate(value, values) for target, value, _ in updates}}
        _check_ranges(problem, state)
        track.append((Fraction(k + 1), dict(state)))
    return track, False


def _pick(problem: Json, state: Values, enabled: set[Any], networks: dict[int, FlatNetwork]) -> str | None:
    outputs, decider = _outputs(problem, state, networks)
    if isinstance(decider, str):
        return decider
    names = list(decider["actions"])
    places = range(len(names))
    if decider["choose"] == "argmax-applicable":
        places = [i for i in places if names[i] in enabled]
        if not places:
            return None
    ranked = sorted(places, key=lambda i: -outputs[i])
    if len(ranked) > 1 and outputs[ranked[0]] - outputs[ranked[1]] < 1e-5:
        raise NoRun
    return str(names[ranked[0]])


def _gap(condition: Json, state: Mapping[str, Any]) -> float:
    """How far a condition of one comparison holds; negative: how far it does not."""
    if isinstance(condition, bool):
        return 1e9 if condition else -1e9
    word, *parts = condition
    if word in ("<", "<="):
        return float(evaluate(parts[1], state)) - float(evaluate(parts[0], state))
    if word == "not":
        return -_gap(parts[0], state)
    if word == "and":
        return min(_gap(p, state) for p in parts)
    if word == "or":
        return max(_gap(p, state) for p in parts)
    raise NoRun


def _judge_track(problem: Json, track: list[tuple[Fraction, Values]], ended: bool) -> str | None:
    asked = problem["property"]
    continuous = "time" in problem
    since = Fraction(asked.get("since", 0) if continuous else asked.get("after", 0))
    until = asked.get("until") if continuous else asked.get("steps")
    last = None if until is None else Fraction(until)
    gaps = [_gap(asked["condition"], state) for _, state in track]
    counts = [since <= t and (last is None or t <= last) for t, _ in track]
    if asked["kind"] == "never":
        for (time, state), gap, count in zip(track, gaps, counts, strict=True):
            scale = 1 + max((abs(v) for v in state.values() if isinstance(v, float)), default=0.0)
            if count and gap > SURE * scale:
                return f"bad at {time}: {state}"
            if "before" in asked and _gap(asked["before"], state) > -SURE * scale:
                return None
        return None
    if last is None or not (ended or track[-1][0] >= last):
        return None
    inside = [gap for gap, count in zip(gaps, counts, strict=True) if count]
    jump = max((abs(a - b) for a, b in pairwise(gaps)), default=0.0) if continuous else 0.0
    if continuous and not inside:
        return None
    if max(inside, default=-1e9) < -(2 * jump + SURE):
        return f"never good: at most {max(inside, default=-1e9)}"
    return None
