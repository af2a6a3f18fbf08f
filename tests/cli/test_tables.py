"""`surefoot study table control`, `surefoot shield --policy FILE --runs N`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surefoot.cli import run_command_line
from surefoot.problem.network import dense_network
from surefoot.shields.evaluation.comparison import EvaluationSize
from surefoot_studies.control.degree_table import measure_degree_row
from surefoot_studies.control.paper_tables import network_of_row, read_paper_rows
from surefoot_studies.control.problem import PLANTS
from surefoot_studies.training.onnx_files import onnx_bytes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A network that pushes the satellite away."""
    network = dense_network([([[2.0, 0.0], [-2.0, 0.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])])
    layers = [(n.weights, n.bias) for n in network.nodes if hasattr(n, "weights")]
    (tmp_path / "satellite.onnx").write_bytes(onnx_bytes(layers, "relu", "satellite"))
    (tmp_path / "satellite.training.toml").write_text("[about]\ncpu_seconds = 12.5\n")
    return tmp_path


def test_the_paper_s_rows_are_benchmarks() -> None:
    assert [len(read_paper_rows(table)) for table in (1, 3)] == [15, 4]
    assert {row.problem for table in (1, 3) for row in read_paper_rows(table)} <= set(PLANTS)
    assert sum(row.failures for row in read_paper_rows(1)) == 805
    assert sum(row.interventions for row in read_paper_rows(1)) == 97_140


def test_a_row_is_made_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["study", "table", "control", "1", "--problem", "satellite", "--networks", str(folder)]
    assert (
        run_command_line(
            [*given, "--runs", "20", "--steps", "30", "--adversarial", "200", "--json", "--quiet"]
        )
        == 0
    )
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["certified"]
    assert row["network"] == {"from": "satellite.onnx", "hidden": "2", "training cpu seconds": 12.5}
    assert row["cells"][3] == "12.5 / 957"
    assert row["campaigns"]["network alone"]["failures"] > 10
    assert row["unsafe with shield"] == 0
    assert row["shielded steps"] == 20 * 30 * 2 + 5 * 200
    assert row["paper"]["synthesis_seconds"] == 160
    assert 0 < row["overhead"]["ns"]["python"] < row["overhead"]["ns"]["network"] * 20
    assert row["overhead"]["ns"]["network by numpy"] > 0
    assert any(cell.endswith("% / 3.37 %") for cell in row["cells"])


def test_a_network_of_your_own_behind_a_shield(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["shield", "control/satellite", "--policy", str(folder / "satellite.onnx"), "--degree", "2"]
    assert run_command_line([*given, "--runs", "10", "--steps", "20", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "towards the edge      0 of 10 runs unsafe" in told
    assert "network and shield    0 of 10 runs unsafe in 200 steps" in told
    assert "interventions: the network alone becomes unsafe" in told


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["study", "table", "control", "4"], "4 is not in the range"),
        (["study", "table", "control", "1", "--problem", "satelite"], "no row `satelite` in table 1"),
        (["study", "table", "aurora", "1"], "study `aurora` has no tables"),
        (["study", "table", "control", "1", "--networks", "nowhere"], "does not exist"),
    ],
)
def test_mistakes_are_told_in_a_line(given: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(given) == 2
    told = capsys.readouterr()
    assert what in told.err
    assert told.out == ""


def test_a_row_without_a_network_has_none() -> None:
    (row,) = read_paper_rows(1, ("tape",))
    assert network_of_row(row, None) is None


def test_degrees_with_a_cap(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["study", "table", "control", "2", "--quiet", "--problem"]
    assert run_command_line([*given, "eight-car-platoon", "--cap", "0.001"]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[6:]]
    assert [row[1:2] + row[4:6] + row[-2:-1] for row in rows] == [
        ["2", "TO / 172.9", "– / 43,952", "– / 8.36 %"],
        ["4", "too large / 540.2", "– / 37,990", "– / 9.19 %"],
        ["8", "too large / TO", "– / –", "– / –"],
    ]
    assert run_command_line([*given, "pendulum", "--cap", "0.001", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["rows"]
    assert [row["timeout"] for row in found] == [True] * 3
    assert not any(row["certified"] for row in found)
    assert all(row["campaign"] is None and row["overhead"] is None for row in found)
    assert run_command_line([*given, "satellite"]) == 2


def test_interventions_and_overhead_of_a_degree(folder: Path) -> None:
    row = measure_degree_row(
        {"problem": "satellite", "degree": 2}, 120, folder, EvaluationSize(20, 30), lambda _: None
    )
    assert row["certified"]
    assert row["network"] == "satellite.onnx"
    assert row["campaign"]["interventions"] > 20
    assert row["campaign"]["taken"] == 600
    assert row["unsafe with shield"] == 0
    assert row["overhead"]["ns"]["python"] > 0
    assert row["cells"][5] == f"{row['campaign']['interventions']} / –"
