"""Files that a study ships beside its problems."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

from surefoot.formats.onnx import read_onnx
from surefoot.problem.network import Network
from surefoot.studies import STUDIES


@cache
def shipped(study: str, policy: str) -> Network:
    """The network `assets/POLICY.onnx` of a study."""
    with as_file(files(STUDIES[study]).joinpath("assets", f"{policy}.onnx")) as path:
        return read_onnx(path)
