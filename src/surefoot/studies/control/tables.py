"""What the paper prints in Tables 1 and 3, and which network controls a benchmark."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.policy_file import load_policy
from surefoot.problem.network import Network
from surefoot.studies.assets import shipped, shipped_names


@dataclass(frozen=True, slots=True)
class Printed:
    """A row of the paper; numbers that a table does not have are None."""

    table: int
    problem: str
    file: str
    variables: int
    network: str
    failures: int
    branches: int
    synthesis_seconds: float
    overhead: float
    interventions: int
    training_seconds: float | None = None
    steps_network: float | None = None
    steps_program: float | None = None
    change: str = ""


def printed(table: int, only: tuple[str, ...] = ()) -> tuple[Printed, ...]:
    """The rows of Table 1 or 3, or some of them."""
    text = files("surefoot.studies.control").joinpath("tables.toml").read_text("utf-8")
    rows = [row for entry in tomllib.loads(text)["row"] if (row := Printed(**entry)).table == table]
    known = [row.problem for row in rows]
    for name in only:
        if name not in known:
            what = f"there is no row `{name}` in table {table}" if rows else f"there is no table {table}"
            raise InvalidProblem(what, fix=did_you_mean(name, known), where="--problem")
    if not rows:
        raise InvalidProblem(
            f"table {table} is not here", fix="--table 1, --table 2 or --table 3", where="--table"
        )
    return tuple(row for row in rows if not only or row.problem in only)


def network_of(row: Printed, folder: Path | None) -> tuple[Network, str] | None:
    """The network `FILE.onnx` or `PROBLEM.onnx` of a folder, or the shipped one; and whose it is."""
    if folder is not None:
        for name in (row.problem, row.file):
            if (path := folder / f"{name}.onnx").is_file():
                return load_policy(path).network, str(path.name)
    if row.problem in shipped_names("control"):
        return shipped("control", row.problem), "shipped"
    return None
