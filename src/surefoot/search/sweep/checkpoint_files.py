"""The networks that a training has saved, in its order: by the last number in their names."""

from __future__ import annotations

import re
from pathlib import Path

from surefoot.errors import InvalidProblem

NETWORKS = (".onnx", ".onnx.gz", ".nnet", ".zip")


def checkpoint_step(name: str) -> int | None:
    """When a checkpoint was saved: the last number in its name; None if there is none."""
    found = re.findall(r"\d+", name)
    return int(found[-1]) if found and len(found[-1]) < 16 else None


def list_checkpoint_files(folder: Path) -> tuple[tuple[int, Path], ...]:
    """Step and file of each network of a folder."""
    if not folder.is_dir():
        raise InvalidProblem("not a folder", fix="give the folder of the checkpoints", where=str(folder))
    found = []
    for path in sorted(folder.iterdir()):
        name = next((path.name.removesuffix(s) for s in NETWORKS if path.name.endswith(s)), None)
        if name is not None and (step := checkpoint_step(name)) is not None:
            found.append((step, path))
    if not found:
        fix = f"their names end in the step and one of {', '.join(NETWORKS)}: agent-70000.onnx"
        raise InvalidProblem("there is no checkpoint here", fix=fix, where=str(folder))
    return tuple(sorted(found, key=lambda saved: saved[0]))
