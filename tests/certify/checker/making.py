"""Certificates for tests: claims written by hand, and steps that a plain search finds with the checker."""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.certify.checker.bounds.box import root
from surefoot.certify.checker.bounds.state import Grid, State
from surefoot.certify.checker.check import Verdict, check
from surefoot.certify.checker.claim import Places, read_claim
from surefoot.certify.checker.proof.cases import read_problem
from surefoot.certify.checker.proof.steps import NotShown, advance

Json = dict[str, Any]


def floats(*values: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def shares(*values: int) -> str:
    """Slopes of one byte."""
    return base64.b64encode(bytes(values)).decode()


def wide_slopes(*values: int) -> str:
    """Slopes of two bytes."""
    return base64.b64encode(struct.pack(f"<{len(values)}H", *values)).decode()


def affine(source: int, rows: Sequence[Sequence[float]], bias: Sequence[float]) -> list[Any]:
    flat = [w for row in rows for w in row]
    return ["affine", source, len(rows), len(rows[0]), floats(*flat), floats(*bias)]


def claim(
    variables: Sequence[Sequence[Any]],
    nodes: Sequence[Sequence[Any]],
    formula: Sequence[Any],
    outputs: Sequence[str] = ("y",),
) -> Json:
    """One call of one network whose inputs are the variables in order."""
    return {
        "kind": "query",
        "variables": [*map(list, variables), *([name, None, None, "real"] for name in outputs)],
        "networks": [{"width": len(variables), "nodes": list(nodes)}],
        "calls": [[0, [{v[0]: 1} for v in variables], list(outputs)]],
        "formula": list(formula),
    }


def certificate(claimed: Json, case: Json | Sequence[Json], arithmetic: str = "real") -> Json:
    cases = [case] if isinstance(case, Mapping) else list(case)
    return {"surefoot-certificate": 1, "claim": claimed, "arithmetic": arithmetic, "cases": cases}


def verdict(claimed: Json, case: Json | Sequence[Json], arithmetic: str = "real") -> Verdict:
    return check(certificate(claimed, case, arithmetic), base=Path())


def opened(
    claimed: Json, case: Json, arithmetic: str = "real", bits: int = 40, coarse: bool = False
) -> tuple[Grid, State]:
    """The first state of a case."""
    query = read_claim(claimed, Places(Path()))
    grid = Grid(read_problem(query, case, arithmetic == "float32"), bits, {}, coarse)
    return grid, root(grid)


def searched(
    claimed: Json, case: Json, arithmetic: str = "real", most: int = 2000, seed: int = 0
) -> list[list[Any]] | None:
    """Steps that close everything by splitting inputs in the middle; None if that takes too long."""
    grid, first = opened(claimed, case, arithmetic)
    choice = random.Random(seed)
    steps: list[list[Any]] = []
    waiting = [first]
    while waiting:
        state = waiting.pop()
        for step in _attempts(grid, state, choice):
            try:
                advance(grid, state, step)
            except NotShown:
                continue
            steps.append(step)
            if not state.alive:
                break
        if not state.alive:
            continue
        if len(steps) > most:
            return None
        widths = [high - low for low, high in zip(state.low[0], state.high[0], strict=True)]
        i = widths.index(max(widths))
        if max(widths) < 4:
            return None
        middle = f"{state.low[0][i] + state.high[0][i]}/{2 << grid.bits}"
        step = ["split", 0, i, middle]
        parts = advance(grid, state, step)
        assert parts is not None
        steps.append(step)
        waiting += [parts[1], parts[0]]
    return steps


def _attempts(grid: Grid, state: State, choice: random.Random) -> list[list[Any]]:
    last = len(grid.values) - 1
    found: list[list[Any]] = [["forward", 1, last]]
    for v in range(1, last + 1):
        if choice.random() < 0.5:
            entries = [[i, side] for i in range(grid.values[v].width) for side in (0, 1)]
            found.append(["bound", v, entries])
            found.append(["forward", v, last])
    for s, atoms in enumerate(grid.problem.sets):
        if state.alive >> s & 1:
            found += [["drop", [s], {"atoms": [[a, 1]]}] for a in sorted(atoms)]
            found.append(["drop", [s], {"atoms": [[a, 1] for a in sorted(atoms)]}])
    return found
