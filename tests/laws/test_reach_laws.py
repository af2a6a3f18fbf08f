"""Random small closed loops: simulated runs never leave the sets that the checker computes."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.checker.reach.loops import affine, edge, inside, name, network_of, timed_problem
from tests.checker.reach.simulator import evaluate, integrate, run_network, set_controls

from surefoot_checker.claims.reach.affine_form import FormArithmetic, form_bounds
from surefoot_checker.claims.reach.cell import Cell, WalkOptions, cell_of_box, reduce_cell, settle_radii
from surefoot_checker.claims.reach.decision import decide_controls
from surefoot_checker.claims.reach.loop_system import ClosedLoop, read_closed_loop
from surefoot_checker.claims.reach.period import make_sub_step
from surefoot_checker.claims.reach.step import enumerate_successors
from surefoot_checker.claims.reach.sub_step import SubStep
from surefoot_checker.claims.unsat.query_claim import FileLocations
from surefoot_checker.kernel.network import FlatNetwork, read_network
from surefoot_checker.kernel.strict_json import Refused

Json = Any
STEPS = 10  # of the simulation, in a sub-step
NEAR = 1e-7  # what the simulation, in floats, may be off


def random_number(draw: random.Random, size: float = 1) -> str:
    return f"{draw.uniform(-size, size):.3f}"


def random_term(draw: random.Random, names: list[str], depth: int, smooth: bool = False) -> Json:
    """Defined everywhere, and of moderate size where its names are."""
    if depth == 0 or draw.random() < 0.15:
        return name(draw.choice(names)) if draw.random() < 0.8 else random_number(draw, 2)

    def part() -> Json:
        return random_term(draw, names, depth - 1, smooth)

    smooths = [
        "+",
        "-",
        "*",
        "/",
        "^",
        "negate",
        "sqrt",
        "exp",
        "log",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
    ]
    word = draw.choice([*smooths, "tanh", *([] if smooth else ["abs", "min", "max", "ite"])])
    match word:
        case "+" | "-" | "min" | "max":
            return [word, part(), part()]
        case "*":
            return [word, ["sin", part()], part()]
        case "/":
            return [word, part(), ["+", 2, ["^", part(), 2]]]
        case "^":
            return [word, ["tanh", part()], draw.choice([2, 3])]
        case "sqrt" | "log":
            return [word, ["+", 1, ["^", part(), 2]]]
        case "exp":
            return [word, ["cos", part()]]
        case "tan":
            return [word, ["*", "0.9", ["tanh", part()]]]
        case "asin" | "acos":
            return [word, ["*", "0.8", ["sin", part()]]]
        case "ite":
            return [word, ["<", part(), part()], part(), part()]
    return [word, part()]


def random_network(draw: random.Random, inputs: int, outputs: int) -> Json:
    def layer(source: int, rows: int, columns: int) -> Json:
        weights = [[draw.uniform(-1.5, 1.5) for _ in range(columns)] for _ in range(rows)]
        return affine(source, weights, [draw.uniform(-1, 1) for _ in range(rows)])

    def activation(source: int) -> Json:
        kind = draw.choice(["relu", "tanh", "sigmoid", "leaky_relu", "clip"])
        return [kind, source, *{"leaky_relu": ["0.125"], "clip": ["-0.5", "0.75"]}.get(kind, [])]

    hidden = draw.randint(2, 5)
    nodes = [layer(0, hidden, inputs), activation(1), layer(2, hidden, hidden), activation(3)]
    last = 4
    match draw.randrange(4):
        case 0:  # a detour past the second layer
            nodes.append([draw.choice(["sum", "maximum", "product"]), 2, 4])
            last = 5
        case 1:
            nodes.append(["pick", 4, [draw.randrange(hidden) for _ in range(hidden)]])
            last = 5
        case 2:  # two activations of one layer, side by side
            nodes += [activation(3), ["join", [4, 5]]]
            nodes.append(layer(6, outputs, 2 * hidden))
            return network_of(inputs, *nodes)
    nodes.append(layer(last, outputs, hidden))
    return network_of(inputs, *nodes)


def is_within(values: dict[str, float], cell: Cell, loop: ClosedLoop, bits: int, draw: random.Random) -> bool:
    """Bounds of every variable and of a few sums of them."""
    forms = FormArithmetic(bits, cell.symbols)
    for _ in range(4):
        weights = [draw.randint(-3, 3) for _ in loop.reals]
        total = forms.enclose_number(0)
        for weight, form in zip(weights, cell.reals, strict=True):
            total = forms.add(total, forms.scale(form, weight, 1))
        low, high = form_bounds(total)
        true = sum(w * values[n] for w, n in zip(weights, loop.reals, strict=True))
        slack = NEAR * (1 + sum(abs(w) for w in weights))
        if not low / 2**bits - slack <= true <= high / 2**bits + slack:
            return False
    return True


def random_timed_problem(draw: random.Random) -> tuple[Json, dict[str, tuple[str, str]]]:
    names = [f"x{i}" for i in range(draw.randint(1, 3))]
    starts = {}
    for n in names:
        low = draw.uniform(-1, 1)
        width = draw.choice([0, 0.01, 0.2])
        starts[n] = (f"{low:.3f}", f"{low + width:.3f}")
    controls = [f"u{i}" for i in range(draw.randint(1, 2))]
    chosen: list[Json] = [["w", ["real", "-0.05", "0.1"]]] if draw.random() < 0.4 else []
    known = [*names, *controls, *(c[0] for c in chosen)]
    smooth = bool(chosen) or draw.random() < 0.6
    derivatives = [random_term(draw, known, 3, smooth) for _ in names]
    network = random_network(draw, len(names), len(controls))
    asked = {"kind": "never", "condition": ["<", 10, random_term(draw, names, 2)], "until": "100"}
    problem = timed_problem(starts, derivatives, "0.2", network, asked, controls, chosen=chosen)
    if draw.random() < 0.5:
        problem["controls"][0] = [controls[0], "-0.5", "0.5", True]
    return problem, starts


def check_timed(seed: int) -> bool:
    """Whether sets were found at all."""
    draw = random.Random(seed)
    problem, starts = random_timed_problem(draw)
    bits, taylor, pieces = draw.choice([30, 44, 60]), draw.randint(1, 6), draw.randint(1, 3)
    loop = read_closed_loop(problem, "exact", bits, FileLocations(Path()))
    network = read_network(problem["policy"]["network"])
    cell = cell_of_box(loop, {n: (Fraction(a), Fraction(b)) for n, (a, b) in starts.items()}, bits)
    points = []
    for _ in range(4):
        share = draw.choice([0.0, 1.0, None])
        points.append(
            {
                n: float(a) + (draw.random() if share is None else share) * (float(b) - float(a))
                for n, (a, b) in starts.items()
            }
        )
    assert loop.time is not None
    length = loop.time.period / pieces
    try:
        for _ in range(3):
            (decision,) = decide_controls(loop, cell, bits, draw.choice([0, 0, 1, 3]))
            held = [set_controls(problem, network, p) for p in points]
            states = decision.cell.reals
            for _ in range(pieces):
                step = make_sub_step(loop, loop.time.flow, bits, states, decision.controls, length, taylor)
                phase = [draw.uniform(0, 6) for _ in points]
                tracks = [
                    integrate(problem["time"]["derivatives"], p, _gusts(u, f), float(length), STEPS)
                    for p, u, f in zip(points, held, phase, strict=True)
                ]
                _check_between(step, loop, tracks, length, draw, problem)
                points = [track[-1] for track in tracks]
                states = tuple(settle_radii(step.end))
                cell = replace(cell, reals=states)
                assert all(is_within(p, cell, loop, bits, draw) for p in points), seed
            cell = reduce_cell(cell, draw.choice([1, 2, 6]) * len(states))
            assert all(is_within(p, cell, loop, bits, draw) for p in points), seed
    except Refused:
        return False
    return True


def _gusts(controls: dict[str, float], phase: float) -> Any:
    """A disturbance that moves between its ends."""
    return lambda t: {**controls, "w": 0.025 + 0.075 * math.sin(phase + 40 * t)}


def _check_between(
    step: SubStep,
    loop: ClosedLoop,
    tracks: list[list[dict[str, float]]],
    length: Fraction,
    draw: random.Random,
    problem: Json,
) -> None:
    """States, and the term of the condition, over the whole sub-step and over a part of it."""
    assert loop.time is not None
    (_, left, right) = problem["property"]["condition"]
    a, b = sorted((draw.randint(0, STEPS), draw.randint(0, STEPS)))
    for first, last in ((0, STEPS), (a, b)):
        span = Fraction(first, STEPS) * length, Fraction(last, STEPS) * length
        one = 1 << step.arithmetic.bits
        for number in (*range(len(loop.reals)), loop.time.condition[1]):
            for low, high in (step.bound_operation(number, *span), step.bound_by_ends(number, *span)):
                for state in (s for track in tracks for s in track[first : last + 1]):
                    if number < len(loop.reals):
                        true = state[loop.reals[number]]
                    else:
                        true = evaluate(left, state) - evaluate(right, state)
                    assert low / one - 10 * NEAR <= true <= high / one + 10 * NEAR


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_runs_stay_inside_in_continuous_time(first: int) -> None:
    assert sum(check_timed(seed) for seed in range(first, first + 25)) >= 15


def random_stepped_problem(draw: random.Random) -> tuple[Json, dict[str, Any]]:
    """Two real variables and a counter; actions by argmax, or a control."""
    reals = ["x", "y"]
    starts = {n: (f"{draw.uniform(-1, 0):.3f}", f"{draw.uniform(0, 1):.3f}") for n in reals}
    acts = draw.random() < 0.6
    actions = ["a", "b", "c"] if acts else []
    known = [*reals, *([] if acts else ["u"])]
    edges: list[Json] = []
    several: list[str | None] = [*actions] or [None]
    for action in several:
        guard = ["<", name("x"), random_number(draw)]
        for guarded in [guard, ["not", guard]] if draw.random() < 0.5 else [True]:
            own: list[Json] = (
                [["w", ["real", "-0.1", "0.2"]], ["k", ["integer", 0, 1]]] if draw.random() < 0.5 else []
            )
            more = [*known, *(c[0] for c in own)]
            updates = [[name(n), random_term(draw, more, 2), 0] for n in reals]
            updates.append([name("i"), ["+", name("i"), name("k") if own else 1], 0])
            edges.append(edge(own, updates, action=action, guard=guarded))
    problem = {
        "name": "steps",
        "variables": [*([n, ["real", None, None]] for n in reals), ["i", ["integer", 0, 100]]],
        "initial": ["and", inside(starts), ["=", name("i"), 0]],
        "controls": [] if acts else [["u", "-1", "1", True]],
        "components": [{"name": "", "locations": [""], "initial": [""], "edges": edges}],
        "synchronisations": [],
        "policy": {
            "rules": [],
            "network": random_network(draw, 3, len(actions) or 1),
            "observe": [*map(name, reals), ["*", "0.1", name("i")]],
            "choose": draw.choice(["argmax", "argmax-applicable"]) if acts else "value",
            "actions": actions,
            "owns": actions,
        },
        "property": {"kind": "never", "condition": ["<", 1000, name("x")], "steps": 5},
    }
    return problem, {**starts, "i": 0}


def check_stepped(seed: int) -> bool:
    draw = random.Random(seed)
    problem, starts = random_stepped_problem(draw)
    bits = draw.choice([30, 44, 60])
    loop = read_closed_loop(problem, draw.choice(["exact", "float64"]), bits, FileLocations(Path()))
    network = read_network(problem["policy"]["network"])
    box = {n: v if n == "i" else (Fraction(v[0]), Fraction(v[1])) for n, v in starts.items()}
    try:
        for _ in range(6):
            cell = cell_of_box(loop, box, bits)
            state = {n: v if n == "i" else draw.uniform(float(v[0]), float(v[1])) for n, v in starts.items()}
            for _ in range(4):
                options = WalkOptions(draw.choice([1, 3, 8]), 1, 1, draw.choice([0, 0, 2]))
                found = enumerate_successors(loop, cell, bits, options, False)
                following = _step(problem, network, state, draw)
                if following is None:
                    break
                key, state = following
                assert key in found, (seed, key, sorted(found))
                cell = found[key]
                assert cell.discrete["i"] == state["i"]
                assert is_within(state, cell, loop, bits, draw), seed
    except Refused:
        return False
    return True


def _step(
    problem: Json, network: FlatNetwork, state: dict[str, Any], draw: random.Random
) -> tuple[str, dict[str, Any]] | None:
    policy, edges = problem["policy"], problem["components"][0]["edges"]
    enabled = [bool(evaluate(e["guard"], state)) for e in edges]
    values, who = dict(state), "0"
    if problem["controls"]:
        values |= set_controls(problem, network, state)
    else:
        outputs = run_network(network, [float(evaluate(t, state)) for t in policy["observe"]])
        actions = policy["actions"]
        if policy["choose"] == "argmax-applicable":
            actions = [
                a for a in actions if any(e and d["action"] == a for e, d in zip(enabled, edges, strict=True))
            ]
        best = max(actions, key=lambda a: outputs[policy["actions"].index(a)])
        who = f"0.{policy['owns'].index(best)}"
        enabled = [e and d["action"] == best for e, d in zip(enabled, edges, strict=True)]
    possible = [i for i, e in enumerate(enabled) if e]
    if not possible:
        return None
    taken = draw.choice(possible)
    written = ""
    if edges[taken]["chosen"]:
        values |= {"w": draw.choice([-0.1, 0.2, draw.uniform(-0.1, 0.2)]), "k": draw.randint(0, 1)}
        written = str(values["k"])
    updates = edges[taken]["outcomes"][0]["updates"]
    return f"{who}/{taken}/0/{written}", {target[1]: evaluate(value, values) for target, value, _ in updates}


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_steps_stay_inside(first: int) -> None:
    assert sum(check_stepped(seed) for seed in range(first, first + 50)) >= 33
