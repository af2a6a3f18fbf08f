"""Certificates for tests: claims written by hand, and steps that a plain search finds with the checker."""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot_checker.bounds.subdomain import PrecisionGrid, SubdomainState
from surefoot_checker.bounds.variable_box import root_state
from surefoot_checker.check import CheckerVerdict, judge_certificate
from surefoot_checker.claims.unsat.cases import build_case_problem
from surefoot_checker.claims.unsat.proof_steps import NotShown, apply_proof_step
from surefoot_checker.claims.unsat.query_claim import FileLocations, read_query_claim

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


def verdict(claimed: Json, case: Json | Sequence[Json], arithmetic: str = "real") -> CheckerVerdict:
    return judge_certificate(certificate(claimed, case, arithmetic), base=Path())


def opened(
    claimed: Json, case: Json, arithmetic: str = "real", bits: int = 40, coarse: bool = False
) -> tuple[PrecisionGrid, SubdomainState]:
    """The first state of a case."""
    query = read_query_claim(claimed, FileLocations(Path()))
    grid = PrecisionGrid(build_case_problem(query, case, arithmetic == "float32"), bits, {}, coarse)
    return grid, root_state(grid)


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
                apply_proof_step(grid, state, step)
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
        living = [s for s in range(len(grid.problem.sets)) if state.alive >> s & 1]
        step = ["split", 0, i, middle]
        if len(living) > 1 and choice.random() < 0.3:
            step = ["divide", [choice.choice(living)]]
        parts = apply_proof_step(grid, state, step)
        assert parts is not None
        steps.append(step)
        waiting += [parts[1], parts[0]]
    return steps


def _attempts(grid: PrecisionGrid, state: SubdomainState, choice: random.Random) -> list[list[Any]]:
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
