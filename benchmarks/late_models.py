"""Models that are too large for the time that `benchmarks.deadlines` gives: generated, each by a seed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def write_network(path: Path, sizes: Sequence[int], seed: int = 0) -> None:
    """A fully connected ReLU network."""
    rng = np.random.default_rng(seed)
    nodes, weights, name = [], [], "x"
    for layer, (wide, narrow) in enumerate(pairwise(sizes)):
        matrix = (rng.normal(size=(narrow, wide)) / np.sqrt(wide)).astype(np.float32)
        bias = (0.1 * rng.normal(size=narrow)).astype(np.float32)
        weights += [numpy_helper.from_array(matrix, f"w{layer}"), numpy_helper.from_array(bias, f"b{layer}")]
        last = layer == len(sizes) - 2
        out = "y" if last else f"h{layer}"
        nodes.append(helper.make_node("Gemm", [name, f"w{layer}", f"b{layer}"], [out], transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [out], [f"r{layer}"]))
        name = f"r{layer}"
    ends = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, w])
        for n, w in (("x", sizes[0]), ("y", sizes[-1]))
    ]
    graph = helper.make_graph(nodes, "late", ends[:1], ends[1:], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(made.SerializeToString())


def write_planning(folder: Path, edges: int) -> Path:
    """Things that are carried between places, one edge for each thing and way; what is carried may fall."""
    places = 8
    things = -(-edges // (places - 1))
    lines = ['initial = "' + " and ".join(f"t{i} <= 1" for i in range(things)) + ' and cost = 0"']
    lines += ["[variables]", *(f't{i} = "int 0..{places}"' for i in range(things)), 'cost = "int 0..60"']
    labels = []
    for number in range(edges):
        thing, place = number % things, number // things
        other = (thing + 1 + place) % things
        labels.append(f"m{number}")
        lines += [
            "[[edges]]",
            f'action = "m{number}"',
            f'guard = "t{thing} = {place} and t{other} <= t{thing} and cost < 59"',
            "[[edges.outcomes]]",
            'probability = "3/4"',
            f'updates = {{ t{thing} = "t{thing} + 1", cost = "cost + 1" }}',
            "[[edges.outcomes]]",
            'probability = "1/4"',
            f'updates = {{ t{thing} = "0", cost = "cost + 2" }}',
        ]
    write_network(folder / f"planning-{edges}.onnx", (things, 32, 32, edges), edges)
    observed = ", ".join(f'"t{i}"' for i in range(things))
    lines += [
        "[policy]",
        f'file = "planning-{edges}.onnx"',
        f"observe = [{observed}]",
        "actions = [" + ", ".join(f'"{a}"' for a in labels) + "]",
        'choose = "argmax-applicable"',
        "[properties]",
        f'safe = "never t0 = {places} and t1 = 0 and t2 = {places - 1}"',
        f'chance = "P=? [ F t0 = {places} ]"',
    ]
    return _write(folder / f"planning-{edges}.toml", lines)


def write_grid(folder: Path, side: int) -> Path:
    """A walk in a cube: side**3 states."""
    lines = ['initial = "x = 0 and y = 0 and z = 0"', "[variables]"]
    lines += [f'{v} = "int 0..{side - 1}"' for v in "xyz"]
    for v in "xyz":
        lines += [
            "[[edges]]",
            f'action = "{v}"',
            "[[edges.outcomes]]",
            "probability = 0.6",
            f'updates = {{ {v} = "min({v} + 1, {side - 1})" }}',
            "[[edges.outcomes]]",
            "probability = 0.4",
            f'updates = {{ {v} = "max({v} - 1, 0)" }}',
        ]
    end = side - 1
    lines += [
        "[properties]",
        f'chance = "Pmax=? [ F x = {end} and y = 0 ]"',
        f'effort = "Emax=? [ steps until x = {end} ]"',
        f'safe = "never x = {end} and y = {end} and z = 5 and x < y"',
    ]
    return _write(folder / f"grid-{side}.toml", lines)


def write_ridge(folder: Path, side: int) -> Path:
    """Every state of a large table is a start, and which way is taken is the policy's."""
    lines = ['initial = "true"', "[variables]", f'x = "int 0..{side}"', f'y = "int 0..{side}"']
    for way, updates in {
        "east": f'x = "min(x + 1, {side})"',
        "west": 'x = "max(x - 1, 0)"',
        "north": f'y = "min(y + 1, {side})"',
        "south": 'y = "max(y - 1, 0)"',
    }.items():
        lines += [
            "[[edges]]",
            f'action = "{way}"',
            f'guard = "x < {side} or y < {side}"',
            "[[edges.outcomes]]",
            "probability = 0.9",
            f"updates = {{ {updates} }}",
            "[[edges.outcomes]]",
            "probability = 0.1",
            'updates = { x = "max(x - 1, 0)", y = "max(y - 1, 0)" }',
        ]
    write_network(folder / f"ridge-{side}.onnx", (2, 64, 64, 4), side)
    lines += [
        "[policy]",
        f'file = "ridge-{side}.onnx"',
        f'observe = ["x / {side}", "y / {side}"]',
        'actions = ["east", "west", "north", "south"]',
        "[properties]",
        f'chance = "P=? [ F x = {side} and y = {side} ]"',
        f'safe = "never x = {side} and y = 0"',
    ]
    return _write(folder / f"ridge-{side}.toml", lines)


def write_chain(folder: Path, length: int) -> Path:
    """One state after the other; falling back to the first makes all values lean on each other."""
    lines = [
        'initial = "x = 0"',
        "[variables]",
        f'x = "int 0..{length}"',
        "[[edges]]",
        'action = "on"',
        f'guard = "x < {length}"',
        "[[edges.outcomes]]",
        "probability = 0.999",
        'updates = { x = "x + 1" }',
        "[[edges.outcomes]]",
        "probability = 0.001",
        'updates = { x = "0" }',
        "[policy.program]",
        'branches = [{ action = "on" }]',
        "[properties]",
        f'arrives = "P=? [ F x = {length} ]"',
        f'safe = "never x = {length} and x < 5"',
        f'soon = "eventually x = {length}"',
    ]
    return _write(folder / f"chain-{length}.toml", lines)


def write_deep(folder: Path, width: int, layers: int) -> Path:
    """A wide network in a loop with eight numbers: hard for every solver."""
    names = [f"s{i}" for i in range(8)]
    write_network(folder / f"deep-{width}.onnx", (8, *[width] * layers, 2), width)
    lines = [
        'initial = "' + " and ".join(f"-1 <= {n} <= 1" for n in names) + '"',
        "[variables]",
        *(f'{n} = "real [-20, 20]"' for n in names),
        "[controls]",
        'u = "[-1, 1]"',
        'w = "[-1, 1]"',
        "[[edges]]",
        'chosen = { d = "real [-0.01, 0.01]" }',
        "updates = { "
        + ", ".join(
            f'{n} = "0.9 * {n} + 0.1 * {m} + 0.1 * {"u" if i % 2 else "w"} + d"'
            for i, (n, m) in enumerate(zip(names, names[1:] + names[:1], strict=True))
        )
        + " }",
        "[policy]",
        f'file = "deep-{width}.onnx"',
        "observe = [" + ", ".join(f'"{n}"' for n in names) + "]",
        'choose = "value"',
        "[properties]",
        'low = "never s0 > 1.7"',
        'chance = "P=? [ F<=1000 s0 > 1.3 ]"',
    ]
    return _write(folder / f"deep-{width}.toml", lines)


def write_rod(folder: Path, width: int) -> Path:
    """A rod on a cart in doubles: it falls soon, which can be seen again and again, and it never flies."""
    write_network(folder / f"rod-{width}.onnx", (4, width, width, 2), width)
    lines = [
        'arithmetic = "float64"',
        'initial = "' + " and ".join(f"-0.05 <= {n} <= 0.05" for n in "xvaw") + '"',
        "[variables]",
        *(f'{n} = "real"' for n in "xvaw"),
    ]
    for action, force in (("left", -10), ("right", 10)):
        turn = f"(9.8 * sin(a) - cos(a) * {force} / 1.1) / (0.5 * (4 / 3 - 0.1 * cos(a)^2 / 1.1))"
        updates = {"x": "x + 0.02 * v", "v": f"0.99 * v + 0.02 * {force} / 1.1"}
        updates |= {"a": "a + 0.02 * w", "w": f"0.99 * w + 0.02 * {turn}"}
        told = ", ".join(f'{name} = "{value}"' for name, value in updates.items())
        lines += ["[[edges]]", f'action = "{action}"', f"updates = {{ {told} }}"]
    lines += [
        "[policy]",
        f'file = "rod-{width}.onnx"',
        'observe = ["x", "v", "a", "w"]',
        'actions = ["left", "right"]',
        "[properties]",
        'upright = "never a > 0.2 or a < -0.2"',
        'bounded = "never w > 1000000"',
        'soon = "P=? [ F<=16 a > 0.2 ] over avg"',
        'late = "P=? [ F<=100000000 w > 1000000 ] over avg"',
    ]
    return _write(folder / f"rod-{width}.toml", lines)


def write_specification(folder: Path, width: int, layers: int) -> tuple[Path, Path]:
    """A network and a VNN-LIB property about a wide box."""
    network = folder / f"wide-{width}.onnx"
    write_network(network, (12, *[width] * layers, 3), width)
    lines = [f"(declare-const X_{i} Real)" for i in range(12)] + [
        f"(declare-const Y_{i} Real)" for i in range(3)
    ]
    lines += [f"(assert (<= X_{i} 1.0))\n(assert (>= X_{i} -1.0))" for i in range(12)]
    lines += ["(assert (>= Y_0 Y_1))", "(assert (>= Y_0 3.5))"]
    specification = folder / f"wide-{width}.vnnlib"
    return network, _write(specification, lines)


def write_polynomial(folder: Path, size: int) -> Path:
    """Coupled oscillators with terms of degree four."""
    names = [f"v{i}" for i in range(size)]
    rates = {
        n: f"-{n} + 0.3 * {m} * {n}^2 - 0.1 * {n}^3 + 0.01 * {m}^4" + (" + u" if i == 0 else "")
        for i, (n, m) in enumerate(zip(names, names[1:] + names[:1], strict=True))
    }
    lines = [
        'arithmetic = "float64"',
        'initial = "' + " and ".join(f"-0.5 <= {n} <= 0.5" for n in names) + '"',
        "[variables]",
        *(f'{n} = "real"' for n in names),
        "[controls]",
        'u = "[-1, 1]"',
        "[flow]",
        "step = 0.05",
        "derivatives = { " + ", ".join(f'{n} = "{r}"' for n, r in rates.items()) + " }",
        "[[edges]]",
        "[policy.program]",
        f'branches = [{{ controls = ["-2 * {names[0]}"] }}]',
        "[properties]",
        'calm = "never ' + " or ".join(f"{n} > 2 or {n} < -2" for n in names) + '"',
    ]
    return _write(folder / f"polynomial-{size}.toml", lines)


def write_automata(folder: Path, count: int, size: int) -> Path:
    """A ring of automata, each of which moves together with the next one."""
    automata, syncs = [], []
    for number in range(count):
        automata.append(
            {
                "name": f"a{number}",
                "locations": [{"name": "here"}],
                "initial-locations": ["here"],
                "variables": [
                    {
                        "name": f"n{number}",
                        "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": size},
                        "initial-value": 0,
                    }
                ],
                "edges": [
                    _step(f"t{number}", f"n{number}", size, 1),
                    _step(f"r{number}", f"n{number}", size, 0),
                ],
            }
        )
        moved = [None] * count
        moved[number], moved[(number + 1) % count] = f"t{number}", f"r{(number + 1) % count}"
        syncs.append({"synchronise": moved, "result": f"t{number}"})
    actions = [{"name": f"{kind}{i}"} for kind in "tr" for i in range(count)]
    goal = {"op": "=", "left": "n0", "right": size}
    asked = {"op": "Pmax", "exp": {"op": "F", "exp": goal}}
    safe = {"op": "∀", "exp": {"op": "G", "exp": {"op": "<", "left": "n0", "right": size + 1}}}
    content = {
        "jani-version": 1,
        "name": "ring",
        "type": "mdp",
        "actions": actions,
        "variables": [],
        "automata": automata,
        "system": {"elements": [{"automaton": f"a{i}"} for i in range(count)], "syncs": syncs},
        "properties": [
            {
                "name": name,
                "expression": {"op": "filter", "fun": fun, "values": v, "states": {"op": "initial"}},
            }
            for name, fun, v in (("chance", "max", asked), ("safe", "∀", safe))
        ],
    }
    for automaton in automata:  # variables of automata are the model's, so that questions can name them
        content["variables"] += automaton.pop("variables")  # type: ignore[operator]
    path = folder / f"automata-{count}.jani"
    path.write_text(json.dumps(content))
    return path


def _step(action: str, name: str, size: int, by: int) -> dict[str, object]:
    def to(value: object, share: float) -> dict[str, object]:
        return {
            "location": "here",
            "probability": {"exp": share},
            "assignments": [{"ref": name, "value": value}],
        }

    grown = {"op": "min", "left": {"op": "+", "left": name, "right": 1}, "right": size}
    back = {"op": "max", "left": {"op": "-", "left": name, "right": 1}, "right": 0}
    return {
        "location": "here",
        "action": action,
        "destinations": [to(grown if by else back, 0.75), to(back if by else grown, 0.25)],
    }


def _write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def write_foreign_barrier(folder: Path, size: int) -> tuple[Path | str, ...]:
    """Somebody's barrier of degree four for the oscillators, and what it is about."""
    model = write_polynomial(folder, size)
    names = [f"v{i}" for i in range(size)]
    terms = [f"{n}**4 + {n}**2" for n in names]
    terms += [f"0.1*{n}**2*{m}**2" for n, m in zip(names, names[1:] + names[:1], strict=True)]
    gains = [[[-2, *[0] * (size - 1)]]]
    file = folder / f"foreign-{size}.json"
    file.write_text(json.dumps({"barriers_le_0": [" + ".join(terms) + " - 4"], "K": gains}))
    return file, "--problem", model


def write_result(model: Path, asked: str) -> Path:
    """A proof with a certificate of its own that takes the checker long; made once, without a limit."""
    file = model.with_suffix(f".{asked}.json")
    if not file.exists():
        words = ["check", model.name, "--property", asked, "--timeout", "600", "--json", file.name]
        command = [sys.executable, "-m", "surefoot", *words]
        subprocess.run(command, cwd=model.parent, check=True, capture_output=True)
    return file


MAKERS: Mapping[str, Callable[[Path], Path | tuple[Path | str, ...]]] = {
    "planning-88": lambda folder: write_planning(folder, 88),
    "planning-212": lambda folder: write_planning(folder, 212),
    "grid-110": lambda folder: write_grid(folder, 110),
    "ridge-1100": lambda folder: write_ridge(folder, 1100),
    "grid-40": lambda folder: write_grid(folder, 40),
    "ridge-250": lambda folder: write_ridge(folder, 250),
    "chain-100000": lambda folder: write_chain(folder, 100_000),
    "automata-6": lambda folder: write_automata(folder, 6, 4),
    "ridge-60": lambda folder: write_ridge(folder, 60),
    "chain-3000000": lambda folder: write_chain(folder, 3_000_000),
    "rod-64": lambda folder: write_rod(folder, 64),
    "deep-256": lambda folder: write_deep(folder, 256, 4),
    "wide-512": lambda folder: write_specification(folder, 512, 5),
    "polynomial-6": lambda folder: write_polynomial(folder, 6),
    "automata-11": lambda folder: write_automata(folder, 11, 4),
    "proved-ridge": lambda folder: write_result(write_ridge(folder, 150), "chance"),
    "proved-grid": lambda folder: write_result(write_grid(folder, 90), "safe"),
    "foreign-12": lambda folder: write_foreign_barrier(folder, 12),
}
