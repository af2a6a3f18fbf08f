"""Faults as training data: state, observation, bad action, good actions, one row for each decision."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem
from surefoot.formats.result_json.exact_numbers import value_to_json
from surefoot.formats.result_json.write import fault_claim_to_json
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State
from surefoot.verdict.fault import Alternative, Fault, FaultTable

SUFFIXES = (".csv", ".jsonl", ".npz")


def export_faults(problem: Problem, table: FaultTable, suffix: str) -> bytes:
    """The content of a file of this kind."""
    faults = [(c.fault, c.count) for c in table.decisions]
    match suffix:
        case ".csv":
            return _as_csv(problem, faults).encode()
        case ".jsonl":
            return "".join(json.dumps(_as_object(f, n)) + "\n" for f, n in faults).encode()
        case ".npz":
            return _as_arrays(problem, faults)
        case _:
            raise InvalidProblem(
                f"faults are not exported as `{suffix}`", fix=f"end the name in {' or '.join(SUFFIXES)}"
            )


def _as_object(fault: Fault, count: int) -> dict[str, Any]:
    return {
        "state": {name: value_to_json(value) for name, value in fault.state.items()},
        "observation": list(fault.observation),
        "bad": [_pick_to_data(a) for a in fault.chosen],
        "stalled": fault.stalls,
        "good": [_pick_to_data(a) for a in fault.safe],
        "claim": fault_claim_to_json(fault.saved),
        "runs": count,
    }


def _pick_to_data(pick: Alternative) -> Any:
    if pick.controls:
        return {name: float(value) for name, value in pick.controls.items()}
    return pick.action


def _pick_text(pick: Alternative) -> str:
    if pick.controls:
        return " ".join(f"{name}={float(value)!r}" for name, value in pick.controls.items())
    return pick.action or ""


def _as_csv(problem: Problem, faults: Sequence[tuple[Fault, int]]) -> str:
    names = _flat_names(faults[0][0].state) if faults else []
    width = max((len(f.observation) for f, _ in faults), default=0)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    observed = [f"observation[{i}]" for i in range(width)]
    writer.writerow([*names, *observed, "bad", "good", "claim", "runs"])
    for fault, count in faults:
        writer.writerow(
            [
                *(_plain_text(v) for v in _flat_values(fault.state)),
                *map(repr, fault.observation),
                ";".join(map(_pick_text, fault.chosen)),
                ";".join(map(_pick_text, fault.safe)),
                fault.saved.kind,
                count,
            ]
        )
    return stream.getvalue()


def _as_arrays(problem: Problem, faults: Sequence[tuple[Fault, int]]) -> bytes:
    """`state`, `observation`, and masks of actions; of controls the first bad and the first good one."""
    environment = problem.environment
    arrays: dict[str, Any] = {
        "state_names": np.array(_flat_names(faults[0][0].state) if faults else [], dtype=np.str_),
        "state": np.array([_numbers(f.state) for f, _ in faults], dtype=np.float64),
        "observation": np.array([f.observation for f, _ in faults], dtype=np.float32),
        "runs": np.array([n for _, n in faults], dtype=np.int64),
        "claim": np.array([f.saved.kind for f, _ in faults], dtype=np.str_),
    }
    if environment.controls:
        names = [c.name for c in environment.controls]
        first = [(f.chosen[0], f.safe[0]) for f, _ in faults]
        arrays["control_names"] = np.array(names, dtype=np.str_)
        for place, word in enumerate(("bad_control", "good_control")):
            rows = [[float(pair[place].controls[n]) for n in names] for pair in first]
            arrays[word] = np.array(rows, dtype=np.float64)
    elif problem.policy is not None:
        actions = action_names(problem.policy, environment)
        arrays["actions"] = np.array(actions, dtype=np.str_)
        for word, picks in (
            ("bad", [f.chosen for f, _ in faults]),
            ("good", [f.safe for f, _ in faults]),
        ):
            rows = [[any(p.action == a for p in several) for a in actions] for several in picks]
            arrays[word] = np.array(rows, dtype=np.bool_).reshape(len(faults), len(actions))
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _flat_names(state: State) -> list[str]:
    return [name for name, _ in _flat_items(state)]


def _flat_values(state: State) -> list[Any]:
    return [value for _, value in _flat_items(state)]


def _flat_items(state: State) -> list[tuple[str, Any]]:
    """Elements of arrays have columns of their own."""
    found: list[tuple[str, Any]] = []
    todo = list(state.items())[::-1]
    while todo:
        name, value = todo.pop()
        if isinstance(value, tuple):
            todo += [(f"{name}[{i}]", v) for i, v in enumerate(value)][::-1]
        else:
            found.append((name, value))
    return found


def _numbers(state: State) -> list[float]:
    return [float(v) for v in _flat_values(state)]


def _plain_text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
