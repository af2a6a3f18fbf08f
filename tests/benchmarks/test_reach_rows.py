"""The benchmark of closed loops: its rows, what it reads from a certificate, and its growing chains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.reach import ACTORS, SHIPPED, Measured, count_cells, list_rows, measure_tree, table_line
from benchmarks.reach_growth import FAMILIES, Chain, chain_text, draw_growth, fit_network
from tests.closed_loop_rows import CLIMB_RATES, CONTINUOUS_ROWS, SHARED_NETWORKS

from surefoot.formats.onnx import read_onnx_network
from surefoot.interface.questions import load
from surefoot.problem.meaning.inference import infer_outputs
from surefoot_studies.closed_loop.problem import PROBLEMS
from surefoot_studies.control.plants import TABLE_1


def test_every_row_is_there(tmp_path: Path) -> None:
    names = {row.name for row in list_rows(tmp_path)}
    assert set(PROBLEMS) <= names
    assert {f"control/{name}" for name in SHIPPED} <= names
    assert {*ACTORS, *SHIPPED} == set(TABLE_1)
    if SHARED_NETWORKS.is_dir():
        assert {*CONTINUOUS_ROWS, *CLIMB_RATES} <= names


def test_cells_and_periods_of_a_certificate() -> None:
    run = ["run", 3, ["done"]]
    forked = ["run", 2, ["fork", {"left/0/0": ["run", 4, ["done"]], "right/1/0": ["run", 1, ["return", 0]]}]]
    cut = ["run", 5, ["cut", 1, ["done"], ["run", 9, ["done"]]], {"taylor": 3}]
    assert measure_tree(run) == (1, 3)
    assert measure_tree(forked) == (2, 6)
    assert measure_tree(cut) == (2, 14)
    assert measure_tree(["split", 0, run, ["split", 1, forked, ["outside"]]]) == (4, 6)
    certificate = {"reach": {"regions": [{"tree": run}, {"tree": cut}]}}
    assert count_cells(certificate) == (3, 14)
    assert count_cells({"claim": {}}) == (None, None)


def test_a_ratio_needs_both_times() -> None:
    row = Measured("a", "b", "proved", True, 5.0, 3.0, 1.0, 2, 50, "proved, 1 cell", 1.5)
    assert row.ratio == 2
    assert table_line(row)[1:6] == ("proved, certified", "5.00", "3.00", "1.00", "2")
    assert Measured("a", "b", "unknown", False, 3.0, None, None, None, None, "open", 2.0).ratio is None


@pytest.mark.parametrize("variables", [2, 6, 20])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_chain_is_a_problem_with_a_damping_network(variables: int, activation: str, tmp_path: Path) -> None:
    chain = Chain(variables=variables, activation=activation)
    network = tmp_path / "damping.onnx"
    network.write_bytes(fit_network(chain))
    problem = tmp_path / "chain.toml"
    problem.write_text(chain_text(chain, network), "utf-8")
    read = load(problem)
    assert len(read.environment.variables) == variables
    rows = np.random.default_rng(1).uniform(-0.5, 0.5, (200, variables)).astype(np.float32)
    said = np.array([infer_outputs(read_onnx_network(network), row[None])[0, 0] for row in rows])
    assert np.corrcoef(said, -rows[:, 1])[0, 1] > 0.5


def test_growth_is_drawn() -> None:
    done = Measured("chain", "growth", "proved", True, 5.0, 3.0, 1.0, 2, 50)
    open_ = Measured("chain", "growth", "unknown", False, 3.0, None, None, None, None)
    found = [
        ("variables", 2.0, Chain(), done),
        ("variables", 4.0, Chain(), open_),
        ("width", 16.0, Chain(), done),
    ]
    drawn = draw_growth(found, 60.0)
    assert drawn.startswith("<svg")
    assert "no end within 60 at 4" in drawn
    assert all(words in drawn for name, (words, _) in FAMILIES.items() if name in ("variables", "width"))
