"""What the paper prints in Tables 1 and 3, and which network controls a benchmark."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from surefoot import api


@dataclass(frozen=True, slots=True)
class PaperRow:
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


def read_paper_rows(table: int, only: tuple[str, ...] = ()) -> tuple[PaperRow, ...]:
    """The rows of Table 1 or 3, or some of them."""
    text = files("surefoot_studies.control").joinpath("tables.toml").read_text("utf-8")
    rows = [row for entry in tomllib.loads(text)["row"] if (row := PaperRow(**entry)).table == table]
    known = [row.problem for row in rows]
    for name in only:
        if name not in known:
            what = f"there is no row `{name}` in table {table}"
            raise api.InvalidProblem(what, fix=api.did_you_mean(name, known), where="--problem")
    return tuple(row for row in rows if not only or row.problem in only)


def network_file_of_row(problem: str, row: PaperRow | None, folder: Path | None) -> Path | None:
    """`PROBLEM.onnx` of a folder, or the artifact's name of it; else what is shipped."""
    names = (problem, problem.replace("-", "_")) if row is None else (problem, row.file)
    tried = [] if folder is None else [folder / f"{name}.onnx" for name in names]
    tried.append(Path(str(files("surefoot_studies.control").joinpath("assets", f"{problem}.onnx"))))
    return next((path for path in tried if path.is_file()), None)


def network_of_row(row: PaperRow, folder: Path | None) -> tuple[api.Network, str, Path] | None:
    """The network of a folder or the shipped one, whose it is, and its file."""
    path = network_file_of_row(row.problem, row, folder)
    if path is None:
        return None
    return api.load_policy(path).network, path.name if path.parent == folder else "shipped", path


def paper_size(problem: str) -> str | None:
    """The hidden layers that the paper prints; of a plant before a change, those of the change's row."""
    rows = [row for table in (1, 3) for row in read_paper_rows(table)]
    own = [row for row in rows if row.problem == problem]
    before = [row for row in rows if row.file == problem.replace("-", "_")]
    return next((row.network for row in own + before), None)
