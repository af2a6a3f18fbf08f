"""Certificates about closed loops, written by hand: in continuous time and in steps, with networks."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from struct import pack
from typing import Any

Json = Any


def name(text: str) -> Json:
    return ["name", text]


def floats(values: Sequence[float]) -> str:
    return b64encode(pack(f"<{len(values)}f", *values)).decode()


def affine(source: int, weights: Sequence[Sequence[float]], bias: Sequence[float]) -> Json:
    flat = [w for row in weights for w in row]
    return ["affine", source, len(bias), len(weights[0]), floats(flat), floats(bias)]


def network_of(width: int, *nodes: Json) -> Json:
    return {"width": width, "nodes": list(nodes)}


def network_file(path: Path) -> Json:
    return {"file": str(path), "sha256": sha256(path.read_bytes()).hexdigest(), "output": None}


def inside(box: Mapping[str, Sequence[Json]]) -> Json:
    sides = [side for n, (low, high) in box.items() for side in (["<=", low, name(n)], ["<=", name(n), high])]
    return ["and", *sides]


def edge(chosen: Sequence[Json] = (), updates: Sequence[Json] = (), **more: Json) -> Json:
    found = {
        "source": "",
        "action": None,
        "guard": True,
        "chosen": list(chosen),
        "assuming": True,
        "outcomes": [{"probability": None, "updates": list(updates), "rewards": [], "target": ""}],
    }
    return {**found, **more}


def timed_problem(
    starts: Mapping[str, Sequence[str]],
    derivatives: Sequence[Json],
    period: str,
    network: Json,
    asked: Json,
    controls: Sequence[str] = ("u",),
    observe: Sequence[Json] | None = None,
    chosen: Sequence[Json] = (),
    rules: Sequence[Json] = (),
) -> Json:
    seen = [name(n) for n in starts] if observe is None else list(observe)
    return {
        "name": "loop",
        "variables": [[n, ["real", None, None]] for n in starts],
        "initial": inside(starts),
        "controls": [[c, None, None, True] for c in controls],
        "components": [{"name": "", "locations": [""], "initial": [""], "edges": [edge(chosen)]}],
        "synchronisations": [],
        "policy": {
            "rules": list(rules),
            "network": network,
            "observe": seen if network is not None else [],
            "choose": "value",
            "actions": [],
            "owns": [],
        },
        "property": asked,
        "time": {"derivatives": list(derivatives), "period": period},
    }


def certificate(
    problem: Json,
    regions: Sequence[Json],
    *,
    bits: int = 44,
    order: int = 10,
    taylor: int = 4,
    pieces: int = 1,
    plant: str = "exact",
    **more: Json,
) -> Json:
    walk = {"bits": bits, "order": order, "taylor": taylor, "pieces": pieces, "regions": list(regions)}
    return {
        "surefoot-certificate": 2,
        "arithmetic": "float32",
        "claim": {"kind": "reach", "plant": plant, "problem": problem},
        "reach": {**walk, **more},
    }


def start_region(box: Mapping[str, Json], tree: Json) -> Json:
    return {
        "start": True,
        "box": {n: list(v) if isinstance(v, tuple) else v for n, v in box.items()},
        "tree": tree,
    }


def run(periods: int, end: Json = None) -> Json:
    return ["run", periods, ["done"] if end is None else end]


# The benchmarks of ../shared/data/ainncs (their PROVENANCE.md), in continuous time as the competition states
# them.


def outside_of(box: Mapping[str, Sequence[str]]) -> Json:
    return ["or", *(s for n, (a, b) in box.items() for s in (["<", name(n), a], ["<", b, name(n)]))]


def single_pendulum(folder: Path, top: str = "1.175", until: str = "1", limit: str = "1") -> Json:
    starts = {"x1": ("1", top), "x2": ("0", "0.2")}
    problem = timed_problem(
        starts,
        [name("x2"), ["+", ["*", 2, ["sin", name("x1")]], ["*", 8, name("u")]]],
        "0.05",
        network_file(folder / "single_pendulum.onnx"),
        {"kind": "never", "condition": outside_of({"x1": ("0", limit)}), "since": "0.5", "until": until},
    )
    return certificate(problem, [start_region(starts, run(40))], taylor=4)


def acc(folder: Path, distance: str = "10", start: str = "110", kind: str = "relu") -> Json:
    starts = {
        "x1": ("90", start),
        "x2": ("32", "32.2"),
        "x3": ("0", "0"),
        "x4": ("10", "11"),
        "x5": ("30", "30.2"),
        "x6": ("0", "0"),
    }

    def drag(v: str) -> Json:
        return ["*", "0.0001", ["^", name(v), 2]]

    derivatives = [
        name("x2"),
        name("x3"),
        ["-", ["-", ["*", -2, name("x3")], 4], drag("x2")],
        name("x5"),
        name("x6"),
        ["-", ["+", ["*", -2, name("x6")], ["*", 2, name("u")]], drag("x5")],
    ]
    seen = [30, "1.4", name("x5"), ["-", name("x1"), name("x4")], ["-", name("x2"), name("x5")]]
    bad = ["<", ["-", name("x1"), name("x4")], ["+", distance, ["*", "1.4", name("x5")]]]
    problem = timed_problem(
        starts,
        derivatives,
        "0.1",
        network_file(folder / f"acc_{kind}.onnx"),
        {"kind": "never", "condition": bad, "until": "5"},
        observe=seen,
    )
    return certificate(problem, [start_region(starts, run(50))], taylor=3)


def tora_relu(folder: Path, limit: str = "2", until: str = "20") -> Json:
    starts = {"x1": ("0.6", "0.7"), "x2": ("-0.7", "-0.6"), "x3": ("-0.4", "-0.3"), "x4": ("0.5", "0.6")}
    derivatives = [
        name("x2"),
        ["-", ["*", "0.1", ["sin", name("x3")]], name("x1")],
        name("x4"),
        ["-", name("u"), 10],
    ]
    bad = outside_of(dict.fromkeys(starts, ("-" + limit, limit)))
    problem = timed_problem(
        starts,
        derivatives,
        "1",
        network_file(folder / "tora_relu.onnx"),
        {"kind": "never", "condition": bad, "until": until},
    )
    tree = ["split", 0, run(20), run(20)]
    return certificate(problem, [start_region(starts, tree)], taylor=5, pieces=2)


def tora_sigmoid(folder: Path) -> Json:
    starts = {
        "x1": ("-0.77", "-0.75"),
        "x2": ("-0.45", "-0.43"),
        "x3": ("0.51", "0.54"),
        "x4": ("-0.3", "-0.28"),
    }
    derivatives = [
        name("x2"),
        ["-", ["*", "0.1", ["sin", name("x3")]], name("x1")],
        name("x4"),
        ["*", 11, name("u")],
    ]
    asked = {
        "kind": "eventually",
        "condition": inside({"x1": ("-0.1", "0.2"), "x2": ("-0.9", "-0.6")}),
        "since": "5",
        "until": "5",
    }
    problem = timed_problem(starts, derivatives, "0.5", network_file(folder / "tora_sigmoid.onnx"), asked)
    return certificate(problem, [start_region(starts, run(10))], taylor=5, pieces=5)


def unicycle(folder: Path, goal: str = "0.6", gust: str | None = None) -> Json:
    starts = {"x1": ("9.5", "9.55"), "x2": ("-4.5", "-4.45"), "x3": ("2.1", "2.11"), "x4": ("1.5", "1.51")}
    observe = [name(n) for n in starts]
    speed = ["-", name("u1"), 20]
    if gust is not None:
        starts["w"] = ("-" + gust, gust)
        speed = ["+", speed, name("w")]
    derivatives = [
        ["*", name("x4"), ["cos", name("x3")]],
        ["*", name("x4"), ["sin", name("x3")]],
        ["-", name("u2"), 20],
        speed,
        *([0] if gust is not None else []),
    ]
    asked = {
        "kind": "eventually",
        "condition": inside(
            {"x1": ("-" + goal, goal), "x2": ("-0.2", "0.2"), "x3": ("-0.06", "0.06"), "x4": ("-0.3", "0.3")}
        ),
        "until": "10",
    }
    problem = timed_problem(
        starts,
        derivatives,
        "0.2",
        network_file(folder / "unicycle.onnx"),
        asked,
        controls=("u1", "u2"),
        observe=observe,
    )
    return certificate(problem, [start_region(starts, run(50))], taylor=4)


def vcas(folder: Path, rate: str, tree: Json, plant: str = "exact") -> Json:
    """The last advisory picks the network; the new one is its best output."""
    ft, past = name("rate"), name("advisory")
    quarter, third = ["/", ["*", 7, "32.2"], 24], ["/", "32.2", 3]
    demands = [  # when a climb rate complies with an advisory, and the acceleration otherwise
        (True, 0),
        (["<=", ft, 0], ["negate", quarter]),
        (["<=", 0, ft], quarter),
        (["<=", ft, -25], ["negate", quarter]),
        (["<=", 25, ft], quarter),
        (["<=", ft, -25], ["negate", third]),
        (["<=", 25, ft], third),
        (["<=", ft, ["/", -125, 3]], ["negate", third]),
        (["<=", ["/", 125, 3], ft], third),
    ]
    labels = [f"a{i + 1}" for i in range(9)]
    edges = []
    for i, (complies, otherwise) in enumerate(demands):
        a = ["ite", complies, 0, otherwise]
        updates = [
            [name("h"), ["-", ["-", name("h"), ft], ["/", a, 2]], 0],
            [ft, ["+", ft, a], 0],
            [name("tau"), ["-", name("tau"), 1], 0],
            [past, i + 1, 0],
        ]
        edges.append(edge(updates=updates, action=labels[i]))
    seen = [["/", name("h"), 16000], ["/", ft, 5000], ["/", ["-", name("tau"), 20], 40]]
    rules = [
        {
            "when": ["=", past, i],
            "then": {
                "network": network_file(folder / f"vcas_{i}.onnx"),
                "observe": seen,
                "choose": "argmax",
                "actions": labels,
            },
        }
        for i in range(1, 10)
    ]
    reals = {"h": ("-133", "-129"), "rate": (rate, rate), "tau": (25, 25)}
    problem = {
        "name": "vcas",
        "variables": [*([n, ["real", None, None]] for n in reals), ["advisory", ["integer", 1, 9]]],
        "initial": ["and", inside(reals), ["=", past, 1]],
        "controls": [],
        "components": [{"name": "", "locations": [""], "initial": [""], "edges": edges}],
        "synchronisations": [],
        "policy": {
            "rules": rules,
            "network": None,
            "observe": [],
            "choose": "argmax",
            "actions": [],
            "owns": labels,
        },
        "property": {"kind": "never", "condition": ["<=", ["abs", name("h")], 100], "steps": 10},
    }
    region = start_region({**reals, "advisory": 1}, tree)
    return certificate(problem, [region], plant=plant)


def airplane(folder: Path) -> Json:
    """Twelve variables; y and three angles are asked to stay in [-1, 1] for 2 units of time: they do not."""

    def sin(n: str) -> Json:
        return ["sin", name(n)]

    def cos(n: str) -> Json:
        return ["cos", name(n)]

    def times(*parts: Json) -> Json:
        return ["*", *(name(p) if isinstance(p, str) else p for p in parts)]

    sp, cp, st, ct, ss, cs = sin("phi"), cos("phi"), sin("theta"), cos("theta"), sin("psi"), cos("psi")
    derivatives = [
        [
            "+",
            times(cs, ct, "u"),
            times(["-", times(cs, st, sp), times(ss, cp)], "v"),
            times(["+", times(cs, st, cp), times(ss, sp)], "w"),
        ],
        [
            "+",
            times(ss, ct, "u"),
            times(["+", times(ss, st, sp), times(cs, cp)], "v"),
            times(["-", times(ss, st, cp), times(cs, sp)], "w"),
        ],
        ["+", ["negate", times(st, "u")], times(ct, sp, "v"), times(ct, cp, "w")],
        ["+", ["negate", st], name("f1"), ["negate", times("q", "w")], times("r", "v")],
        ["+", times(ct, sp), name("f2"), ["negate", times("r", "u")], times("p", "w")],
        ["+", times(ct, cp), name("f3"), ["negate", times("p", "v")], times("q", "u")],
        ["+", name("p"), ["/", ["+", times(st, sp, "q"), times(st, cp, "r")], ct]],
        ["-", times(cp, "q"), times(sp, "r")],
        ["/", ["+", times(sp, "q"), times(cp, "r")], ct],
        name("f6"),
        name("f4"),
        name("f5"),
    ]
    names = ["x", "y", "z", "u", "v", "w", "phi", "theta", "psi", "r", "p", "q"]
    starts = {n: ("0", "1") if 3 <= i < 9 else ("0", "0") for i, n in enumerate(names)}
    safe = dict.fromkeys(("y", "phi", "theta", "psi"), ("-1", "1"))
    problem = timed_problem(
        starts,
        derivatives,
        "0.1",
        network_file(folder / "airplane.onnx"),
        {"kind": "never", "condition": outside_of(safe), "until": "2"},
        controls=("f1", "f2", "f3", "f4", "f5", "f6"),
    )
    return certificate(problem, [start_region(starts, run(20))])
