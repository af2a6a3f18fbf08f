"""The numpy prototype of reachable sets beside ours: floats without rounding, nothing certified.

`python -m benchmarks.reach_prototype FOLDER KIND NAME [PROPERTY] CAP` runs one row in this process and prints
one line of JSON. FOLDER has `reach.py`, `problems.py` and `control.py`. Rows of the study `closed-loop` are
translated: the plant's terms become functions of its series, each comparison of the property a direction.
Disturbances and limits of controls are left out there.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import reduce
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

PROTOTYPE_ROWS: dict[str, tuple[str, tuple[str, ...], dict[str, int]]] = {
    "acc_relu": ("acc", (), {}),
    "tora_relu": ("tora", ("relu",), {}),
    "tora_sigmoid": ("tora", ("sigmoid",), {"sub": 5}),
    "unicycle": ("uni", (), {}),
    "single_pendulum": ("pend", (), {}),
    "docking_wide": ("dock", (), {}),
}
PLANT_ROWS = frozenset(
    (
        *("satellite", "dcmotor", "tape", "magnetic-pointer", "suspension", "datacenter-cooling"),
        *("quadcopter", "cartpole", "lane-keeping", "oscillator", "self-driving", "biology"),
    )
)


def time_prototype(folder: Path, row: tuple[str, ...], cap: float) -> tuple[str, float | None]:
    """What it says and its processor seconds, in a process of its own that is ended after twice the cap."""
    command = [sys.executable, "-m", "benchmarks.reach_prototype", str(folder), *row, str(cap)]
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    try:
        made = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=os.environ | single,
            check=False,
            timeout=2 * cap + 20,
        )
    except subprocess.TimeoutExpired:
        return "no answer in time", None
    if made.returncode:
        return "error", None
    said = json.loads(made.stdout.strip().splitlines()[-1])
    return str(said["answer"]), said["seconds"]


def run_competition_row(name: str, cap: float) -> dict[str, Any]:
    import problems  # type: ignore[import-not-found]
    import reach  # type: ignore[import-not-found]

    function, arguments, options = PROTOTYPE_ROWS[name]
    problem = getattr(problems, function)(*arguments)
    problem.update(options)
    return _told(reach.prove(problem, deadline=cap, batch=512, most=10**9))


def _told(found: dict[str, Any]) -> dict[str, Any]:
    cells = f"{found['cells']} cell" + "s" * (found["cells"] != 1)
    answer = f"proved, {cells}" if found["proved"] else f"open, {cells} closed"
    return {"answer": answer, "seconds": found["cpu"], **found}


def run_plant_row(folder: Path, name: str) -> dict[str, Any]:
    """`control.py` of the prototype looks for the plants under the name that they had then."""
    from surefoot_studies.control import problem

    for module in ("surefoot.studies", "surefoot.studies.control"):
        sys.modules[module] = ModuleType(module)
    sys.modules["surefoot.studies.control.problem"] = problem
    said = StringIO()
    before, sys.argv = sys.argv, ["control.py", name]
    with redirect_stdout(said):
        runpy.run_path(str(folder / "control.py"))
    sys.argv = before
    (line,) = said.getvalue().strip().splitlines()
    words = line[len(name) :].strip()
    seconds = float(words.rpartition("cpu ")[2]) if "cpu " in words else None
    known = {"PROVED": "proved", "VIOLATED": "violated", "open": "open"}
    answer = next((mine for theirs, mine in known.items() if words.startswith(theirs)), words)
    return {"answer": answer, "seconds": seconds}


def run_study_row(name: str, wanted: str, cap: float) -> dict[str, Any]:
    """A problem file of the study in the prototype's words."""
    import reach

    problem = translate_problem(name, wanted)
    found: dict[str, Any] = reach.prove(problem, deadline=cap, batch=64, most=10**9)
    return _told(found)


def translate_problem(name: str, wanted: str, **options: Any) -> dict[str, Any]:
    import reach

    from surefoot import api
    from surefoot_studies.closed_loop.plants import read_plant
    from surefoot_studies.closed_loop.problem import file_problem

    plant, problem = read_plant(name), file_problem(name, wanted)
    timed: Any = problem.property
    never = isinstance(timed.asked, api.Never)
    good = ~timed.asked.bad if never else timed.asked.good
    atoms: list[Any] = []
    holds = _surely(good, atoms, True)
    directions = [_direction(atom, plant.variables) for atom in atoms]
    slopes = [d for d in directions if d is not None]
    count = len(plant.variables)

    def bounds(low: Any, high: Any, along: Callable[[Any], tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """Of left - right of every atom: along its direction if it has one, else over the box."""
        found, place = [], 0
        for atom, direction in zip(atoms, directions, strict=True):
            if direction is None:
                names = {v: (low[:, i], high[:, i]) for i, v in enumerate(plant.variables)}
                found.append(_range_of(atom, names))
                continue
            a, b = along(place)
            found.append((a + direction[1], b + direction[1]))
            place += 1
        return found

    def safe(_: float, __: float, low: Any, high: Any, c: Any, g: Any) -> Any:
        return holds(bounds(low, high, lambda k: (low[:, count + k], high[:, count + k])))

    def end(low: Any, high: Any, c: Any, g: Any) -> Any:
        def along(place: int) -> tuple[Any, Any]:
            d = slopes[place][0]
            middle, width = c @ d, np.abs(np.einsum("i,bim->bm", d, g)).sum(1)
            return middle - width, middle + width

        return holds(bounds(low, high, along))

    always: Callable[..., Any] = lambda *given: np.ones(len(given[2]), bool)  # noqa: E731
    periods = round(float(timed.until) / plant.period)
    observed = _observer(plant)
    return {
        "net": reach.load(str(_asset(name))),
        "f": _series_function(plant, reach),
        "observe": observed,
        "post": lambda u: u,
        "h": plant.period,
        "steps": periods,
        "sub": 1,
        "K": 4,
        "order": 10 if periods <= 100 else 40,  # long runs lose too much with fewer symbols
        "lo": [a for a, _ in plant.starts],
        "hi": [b for _, b in plant.starts],
        "dirs": [d for d, _ in slopes],
        "safe": safe if never else always,
        "end": (lambda low, *_: np.ones(len(low), bool)) if never else end,
        **options,
    }


def _asset(name: str) -> Path:
    import surefoot_studies.closed_loop as study

    return Path(study.__path__[0]) / "assets" / f"{name}.onnx"


def _surely(condition: Any, atoms: list[Any], positive: bool) -> Callable[[Any], Any]:
    """From bounds of all atoms (left - right of `<=` and `<`) to where the condition surely holds."""
    from surefoot import api

    match condition:
        case api.Apply(api.Op.NOT, (inner,)):
            return _surely(inner, atoms, not positive)
        case api.Apply(api.Op.AND | api.Op.OR as op, parts):
            inner = [_surely(part, atoms, positive) for part in parts]
            join = np.logical_and if (op is api.Op.AND) == positive else np.logical_or
            return lambda found: reduce(join, [one(found) for one in inner])
        case api.Apply(api.Op.LE | api.Op.LT, (left, right)):
            atoms.append(left - right)
            place = len(atoms) - 1
            return (lambda found: found[place][1] < 0) if positive else (lambda found: found[place][0] > 0)
    raise ValueError(condition)


def _direction(atom: Any, variables: tuple[str, ...]) -> tuple[Any, float] | None:
    """Coefficients and constant of a term, if it is linear."""
    from surefoot_studies.closed_loop.plants import evaluate_columns

    n = len(variables)
    points = np.concatenate([np.zeros((1, n)), np.eye(n), np.random.default_rng(0).normal(size=(4, n))])
    values = evaluate_columns(atom, dict(zip(variables, points.T, strict=True)))
    slopes, constant = values[1 : n + 1] - values[0], values[0]
    linear = np.allclose(points[n + 1 :] @ slopes + constant, values[n + 1 :], rtol=1e-9, atol=1e-9)
    return (slopes, float(constant)) if linear else None


def _range_of(term: Any, names: Any) -> tuple[Any, Any]:
    """Interval of a term of sums, products, squares and square roots."""
    from surefoot import api

    match term:
        case api.Const(value):
            return float(value), float(value)
        case api.Var(name):
            return names[name]  # type: ignore[no-any-return]
        case api.Apply(api.Op.SUB, (left, right)):
            (a, b), (c, d) = _range_of(left, names), _range_of(right, names)
            return a - d, b - c
        case api.Apply(api.Op.ADD, parts):
            found = [_range_of(part, names) for part in parts]
            return sum(a for a, _ in found), sum(b for _, b in found)
        case api.Apply(api.Op.MUL, parts):
            return reduce(_product, [_range_of(part, names) for part in parts])
        case api.Apply(api.Op.SQRT, (part,)):
            a, b = _range_of(part, names)
            return np.sqrt(a), np.sqrt(b)
        case api.Apply(api.Op.POW, (part, api.Const(2))):
            a, b = _range_of(part, names)
            low = np.where((a > 0) | (b < 0), np.minimum(np.abs(a), np.abs(b)), 0.0)
            return low**2, np.maximum(np.abs(a), np.abs(b)) ** 2
    raise ValueError(term)


def _product(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any]:
    ends = [x * y for x in left for y in right]
    return reduce(np.minimum, ends), reduce(np.maximum, ends)


def _observer(plant: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Observations are linear in all rows of the study."""
    found = [_direction(term, plant.variables) for term in plant.observed]
    matrix, constant = np.stack([d[0] for d in found if d]), np.array([d[1] for d in found if d])
    assert len(matrix) == len(found)
    return lambda c, g: (c @ matrix.T + constant, np.matmul(matrix, g))


def _series_function(plant: Any, reach: Any) -> Callable[[Any, Any], list[Any]]:
    """The derivatives as functions of the prototype's series; equal parts are computed once."""
    from surefoot import api

    def derive(states: Any, controls: Any) -> list[Any]:
        names = dict(zip(plant.variables, states, strict=True)) | dict(
            zip(plant.controls, controls, strict=True)
        )
        names |= {n: (a + b) / 2 for n, a, b in plant.disturbances}
        known: dict[Any, Any] = {}

        def circle(part: Any) -> Any:
            if ("circle", part) not in known:
                known["circle", part] = reach.sincos(walk(part))
            return known["circle", part]

        def walk(term: Any) -> Any:
            if term not in known:
                known[term] = step(term)
            return known[term]

        def step(term: Any) -> Any:
            match term:
                case api.Const(value):
                    return float(value)
                case api.Var(name):
                    return names[name]
                case api.Apply(api.Op.SIN, (part,)):
                    return circle(part)[0]
                case api.Apply(api.Op.COS, (part,)):
                    return circle(part)[1]
                case api.Apply(api.Op.TAN, (part,)):
                    return circle(part)[0] / circle(part)[1]
                case api.Apply(api.Op.POW, (part, api.Const(2))):
                    return walk(part) * walk(part)
                case api.Apply(api.Op.ADD, parts):
                    return reduce(lambda a, b: a + b, map(walk, parts))
                case api.Apply(api.Op.MUL, parts):
                    return reduce(lambda a, b: a * b, map(walk, parts))
                case api.Apply(api.Op.SUB, (left, right)):
                    return walk(left) - walk(right)
                case api.Apply(api.Op.NEG, (part,)):
                    return -walk(part)
                case api.Apply(api.Op.DIV, (left, right)):
                    return walk(left) / walk(right)
            raise ValueError(term)

        zero = states[0] * 0.0
        return [zero + rate if isinstance(rate := walk(d), float) else rate for d in plant.derivatives]

    return derive


def main() -> None:
    folder, kind, name, *more = sys.argv[1:]
    sys.path.insert(0, str(Path(folder).resolve()))
    warnings.filterwarnings("ignore")
    match kind, more:
        case "row", [cap]:
            found = run_competition_row(name, float(cap))
        case "plant", [_]:
            found = run_plant_row(Path(folder), name)
        case "study", [wanted, cap]:
            found = run_study_row(name, wanted, float(cap))
        case _:
            raise SystemExit(__doc__)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
