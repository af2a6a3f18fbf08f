"""Whatever a state claims is true of all points that belong to it, whatever nonsense the steps are."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from tests.checker.making import Json, affine, claim, floats, opened, shares, wide_slopes
from tests.checker.meaning import exact_values, float32_values

from surefoot_checker.bounds.subdomain import PrecisionGrid, SubdomainState
from surefoot_checker.claims.unsat import proof_steps
from surefoot_checker.claims.unsat.proof_steps import apply_proof_step
from surefoot_checker.kernel.strict_json import BadCertificate, Refused

TOLERANCE = Fraction(1, 10**40)  # of the exact values of tanh and sigmoid


def random_nodes(choice: random.Random, width: int) -> list[list[Any]]:
    """A small network with every kind of node, or a plain one of ReLUs."""
    if choice.random() < 0.5:
        return _plain(choice, width)
    widths, nodes = [width], []
    for _ in range(choice.randrange(2, 8)):
        source = len(widths) - 1 if choice.random() < 0.7 else choice.randrange(len(widths))
        other = choice.choice([v for v in range(len(widths)) if widths[v] == widths[source]])
        size = widths[source]
        kind = choice.choice(KINDS)
        if kind == "affine":
            rows = choice.randrange(1, 4)
            scale = choice.choice((0.3, 1.0, 3.0, 1e-12))
            nodes.append(
                affine(
                    source,
                    [[choice.gauss(0, scale) for _ in range(size)] for _ in range(rows)],
                    _vector(choice, rows),
                )
            )
            widths.append(rows)
        elif kind == "pick":
            indices = [choice.randrange(size) for _ in range(choice.randrange(1, 4))]
            nodes.append(["pick", source, indices])
            widths.append(len(indices))
        elif kind == "join":
            nodes.append(["join", [source, other]])
            widths.append(2 * size)
        elif kind == "quotient":
            low, high = choice.choice((("0.25", "4"), ("-2", "-0.5"), ("1", "1.5"), ("-64", "-0.0078125")))
            nodes += [["clip", other, low, high], ["quotient", source, len(widths)]]
            widths += [size, size]
        else:
            nodes.append(_same_width(choice, kind, source, other, size))
            widths.append(size)
    nodes.append(affine(len(nodes), [_vector(choice, widths[-1]) for _ in range(2)], _vector(choice, 2)))
    return nodes


def _plain(choice: random.Random, width: int) -> list[list[Any]]:
    nodes: list[list[Any]] = []
    for _ in range(choice.randrange(1, 4)):
        rows = choice.randrange(2, 5)
        scale = choice.choice((0.3, 1.0, 3.0))
        weights = [[choice.gauss(0, scale) for _ in range(width)] for _ in range(rows)]
        nodes += [affine(len(nodes), weights, _vector(choice, rows)), ["relu", len(nodes) + 1]]
        width = rows
    return [*nodes, affine(len(nodes), [_vector(choice, width) for _ in range(2)], _vector(choice, 2))]


KINDS = [
    "affine",
    "affine",
    "affine",
    "relu",
    "relu",
    "leaky_relu",
    "clip",
    "tanh",
    "sigmoid",
    "step",
    "softplus",
    "elu",
    "erf",
    "sin",
    "cos",
    "add",
    "multiply",
]
KINDS += ["divide", "sum", "product", "quotient", "maximum", "pick", "join"]


def _vector(choice: random.Random, size: int) -> list[float]:
    return [round(choice.gauss(0, 1), choice.choice((0, 1, 6))) for _ in range(size)]


def _same_width(choice: random.Random, kind: str, source: int, other: int, size: int) -> list[Any]:
    if kind in ("add", "multiply", "divide"):
        return [kind, source, floats(*(v or 0.5 for v in _vector(choice, size)))]
    if kind in ("sum", "product", "maximum"):
        return [kind, source, other]
    if kind == "elu":
        return [kind, source, choice.choice(("1", "0.5", "0x1.99999ap+0"))]
    if kind == "leaky_relu":
        return [kind, source, choice.choice(("0.0625", "-0.5", "3", "0x1.99999ap-4"))]
    return [kind, source, "-0.5", "0x1.8p-1"] if kind == "clip" else [kind, source]


def _number(choice: random.Random) -> int | str:
    return choice.choice(
        (0, 1, 2, -1, 10**6, f"{choice.random():.6f}", f"-{choice.random():.3f}", "0x1.8p-3", "1/3")
    )


def _entry(choice: random.Random, grid: PrecisionGrid) -> tuple[int, int]:
    v = choice.randrange(len(grid.values))
    return v, choice.randrange(grid.values[v].width)


def _slopes(choice: random.Random, grid: PrecisionGrid, v: int) -> list[str | None]:
    kind = getattr(grid.values[v].node, "kind", "")
    size = grid.values[v].width
    if kind in ("relu", "leaky_relu", "maximum", "product", "quotient"):
        made = [shares(*(choice.randrange(129) for _ in range(size))) for _ in range(2)]
    else:
        made = [wide_slopes(*(choice.randrange(65536) for _ in range(size))) for _ in range(2)]
    keep = (True, choice.random() < 0.5 and kind in ("product", "quotient", "tanh", "sigmoid", "clip"))
    return [text if kept else None for text, kept in zip(made, keep, strict=True)]


def _multipliers(choice: random.Random, grid: PrecisionGrid, state: SubdomainState) -> Json:
    found: Json = {
        "atoms": [[a, _number(choice)] for a in range(len(grid.problem.atoms)) if choice.random() < 0.6]
    }
    if choice.random() < 0.4:
        found["bounds"] = [[*_entry(choice, grid), _number(choice)] for _ in range(3)]
    if state.cut is not None and choice.random() < 0.5:
        found["cut"] = _number(choice)
    if choice.random() < 0.3:
        v = choice.randrange(1, len(grid.values))
        found["slopes"] = {str(v): _slopes(choice, grid, v)}
    return found


def random_step(choice: random.Random, grid: PrecisionGrid, state: SubdomainState) -> list[Any]:
    v, i = _entry(choice, grid)
    sets = choice.sample(range(len(grid.problem.sets)), choice.randrange(1, len(grid.problem.sets) + 1))
    match choice.randrange(9):
        case 0:
            return ["forward", max(v, 1), len(grid.values) - 1]
        case 1 | 2:
            cut = [_number(choice)] if state.cut is not None else []
            return ["bound", v, [[j, side, *cut] for j in range(grid.values[v].width) for side in (0, 1)]]
        case 3:
            return ["slopes", max(v, 1), *_slopes(choice, grid, max(v, 1))]
        case 4:
            return ["drop", sets, _multipliers(choice, grid, state)]
        case 5:
            return [
                "cut",
                [[sets, _multipliers(choice, grid, state)], [[0], _multipliers(choice, grid, state)]],
            ]
        case 6:
            return ["cut", [[list(range(len(grid.problem.sets))), _multipliers(choice, grid, state)]]]
        case 7:
            return ["exact", sets, _multipliers(choice, grid, state)]
        case _:
            low, high = state.low[v][i], state.high[v][i]
            return ["split", v, i, f"{choice.randrange(min(low, high), max(low, high) + 1)}/{grid.one}"]


def _query(choice: random.Random, arithmetic: str) -> tuple[Json, Json, list[list[Fraction]]]:
    """A claim, its case without steps, and points; every atom holds at one of them, often with equality."""
    width = choice.randrange(1, 4)
    kinds = (
        ["float32"] * width
        if arithmetic == "float32"
        else [choice.choice(("real", "integer", "float32")) for _ in range(width)]
    )
    boxes = [(low, low + choice.randrange(4)) for low in (choice.randrange(-3, 3) for _ in range(width))]
    points = [
        [_inside(choice, *box, kind) for box, kind in zip(boxes, kinds, strict=True)] for _ in range(25)
    ]
    variables = [[f"x{i}", *box, kind] for i, (box, kind) in enumerate(zip(boxes, kinds, strict=True))]
    nodes = random_nodes(choice, width)
    atoms = []
    for _ in range(3):
        linear: dict[str, Any] = {
            name: f"{choice.gauss(0, 1):.3f}" for name in ("x0", "y", "z") if choice.random() < 0.7
        }
        values = exact_values(nodes, choice.choice(points))
        known = {"x0": values[0][0], "y": values[-1][0], "z": values[-1][1]}
        at = sum((Fraction(c) * known[name] for name, c in linear.items()), Fraction(0))
        linear[""] = str(-at - choice.choice((0, 0, Fraction(1, 10))))
        atoms.append([choice.choice(("<=", "<=", "<", "=")), linear])
    sets = [[0, 1], [2]] if choice.random() < 0.7 else [[0, 1, 2]]
    formula = ["or", *(["and", *(atoms[a] for a in s)] for s in sets)]
    return claim(variables, nodes, formula, ("y", "z")), {"atoms": atoms, "sets": sets, "steps": []}, points


def _inside(choice: random.Random, low: int, high: int, kind: str) -> Fraction:
    if kind == "integer" or choice.random() < 0.3:
        return Fraction(choice.randrange(low, high + 1))
    return Fraction(choice.randrange(low << 20, (high << 20) + 1), 1 << 20)


def _satisfies(claimed: Json, case: Json, s: int, values: list[list[Fraction]]) -> bool:
    for place in case["sets"][s]:
        relation, linear = case["atoms"][place]
        known = {"x0": values[0][0], "y": values[-1][0], "z": values[-1][1], "": Fraction(1)}
        total = sum((Fraction(c) * known[name] for name, c in linear.items()), Fraction(0))
        if not {"<=": total <= 0, "<": total < 0, "=": total == 0}[relation]:
            return False
    return True


def _check_state(
    grid: PrecisionGrid, state: SubdomainState, points: list[list[list[Fraction]]], alive: list[list[int]]
) -> None:
    """`points`: the values of each point (value 0 is followed by the input vector of the call)."""
    for values, sets in zip(points, alive, strict=True):
        if not any(state.alive >> s & 1 for s in sets):
            continue
        assert not state.void
        for v, entries in enumerate([values[0], *values]):
            for i, x in enumerate(entries):
                low, high = Fraction(state.low[v][i], grid.one), Fraction(state.high[v][i], grid.one)
                assert low - TOLERANCE <= x <= high + TOLERANCE, (v, i)
        if state.cut is not None:
            total = Fraction(state.cut[1], grid.one**2)
            total += sum(Fraction(c, grid.one) * x for c, x in zip(state.cut[0], values[0], strict=True))
            assert total <= TOLERANCE


def _walk(seed: int, arithmetic: str, bits: int, coarse: bool = False) -> int:
    """Random steps from the root to some part; returns how many of them were done."""
    choice = random.Random(seed)
    claimed, case, places = _query(choice, arithmetic)
    nodes = claimed["networks"][0]["nodes"]
    grid, state = opened(claimed, case, arithmetic, bits, coarse)
    if arithmetic == "float32":
        inputs = [[float(x) for x in p] for p in places]
        points = [
            [[Fraction(float(x)) for x in value] for value in float32_values(nodes, p, choice)]
            for p in inputs
        ]
    else:
        points = [exact_values(nodes, p) for p in places]
    alive = [[s for s in range(len(case["sets"])) if _satisfies(claimed, case, s, p)] for p in points]
    _check_state(grid, state, points, alive)
    done = 0
    for _ in range(14):
        step = random_step(choice, grid, state)
        try:
            parts = apply_proof_step(grid, state, step)
        except (Refused, BadCertificate):
            continue
        done += 1
        if parts is not None:
            number = choice.randrange(2)
            state = parts[number]
            _, v, i, place = step
            kept = [_belongs([p[0], *p][v][i], Fraction(place), number, grid, v, i) for p in points]
            points = [p for p, keep in zip(points, kept, strict=True) if keep]
            alive = [a for a, keep in zip(alive, kept, strict=True) if keep]
        _check_state(grid, state, points, alive)
        if step[0] in ("drop", "exact"):
            assert not any(s in sets for sets in alive for s in step[1]), step
        if not state.alive or state.void:
            break
    return done


def _belongs(x: Fraction, place: Fraction, number: int, grid: PrecisionGrid, v: int, i: int) -> bool:
    if v == 0 and grid.problem.variables[i].kind == "integer":
        return x <= place // 1 if number == 0 else x >= place // 1 + 1
    return x <= place if number == 0 else x >= place


@pytest.mark.parametrize(
    ("arithmetic", "bits"), [("real", 40), ("real", 16), ("real", 112), ("float32", 40), ("float32", 130)]
)
def test_states_are_true(arithmetic: str, bits: int) -> None:
    assert sum(_walk(seed, arithmetic, bits) for seed in range(30)) > 90


@pytest.mark.parametrize(("arithmetic", "bits"), [("real", 40), ("real", 16), ("float32", 40)])
@pytest.mark.parametrize("many", [1, 1000])
def test_coarse_states_are_true(
    arithmetic: str, bits: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`many`: rows are substituted all together, or one by one."""
    monkeypatch.setattr(proof_steps, "MANY", many)
    assert sum(_walk(seed, arithmetic, bits, True) for seed in range(many, many + 40)) > 120
