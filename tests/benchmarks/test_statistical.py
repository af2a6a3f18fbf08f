"""The comparison of simulators: the same model in three languages, and what is said about the result."""

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.prism import prism_text
from benchmarks.statistical import heat_map, judged, ours, peer, table, write_files

from benchmarks import racing
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Network, dense_network
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.simulate.path_property import PathProperty
from surefoot.term.term import FALSE, equal

WATCHED = PathProperty(equal(racing.STATUS, racing.FINISHED))


@pytest.fixture(scope="module")
def network() -> Network:
    """To the right, no faster than two cells per step."""
    slow = np.array([[0, 0, -1, 0]], dtype=np.float32), np.array([2], dtype=np.float32)
    same = np.ones((1, 1), dtype=np.float32), np.zeros(1, dtype=np.float32)
    scores = np.zeros((9, 1), dtype=np.float32), np.full(9, -1, dtype=np.float32)
    scores[0][racing.ACCELERATIONS.index((1, 0))] = 1
    scores[1][racing.ACCELERATIONS.index((1, 0))] = 0
    scores[1][racing.ACCELERATIONS.index((0, 0))] = 0.5
    return dense_network([slow, same, scores])


def test_ours_and_python_drive_alike(network: Network, tmp_path: Path) -> None:
    problem = Problem("race", racing.environment(), racing.policy(network), Never(FALSE))
    rows = ours(problem, WATCHED, 0.02)
    write_files(tmp_path, network)
    rows["python"] = peer(Path(sys.executable), "python", tmp_path, 0.5)
    rows["momba"] = peer(Path(sys.executable), "nobody", tmp_path, 0.1)
    assert "failed" in rows["momba"]
    assert "failed: KeyError" in table(rows)
    met = judged(rows, {"seconds": 0.1})
    assert met["python agrees"]
    assert met["interpreted agrees"]
    steps = [rows[name]["steps"] / rows[name]["runs"] for name in ("python", "network at every decision")]
    assert abs(steps[0] / steps[1] - 1) < 0.1
    assert not judged({**rows, "python": {**rows["python"], "runs": 1}}, {"seconds": 9})["python agrees"]


def test_the_network_learns_to_drive() -> None:
    before, after = (racing.network(rounds=r) for r in (0, 30))
    rng = np.random.default_rng(0)
    states = np.stack([rng.integers(0, 12, 300) for _ in range(4)], -1).astype(np.float32)
    wanted = [racing.driver(s) for s in states]
    shares = [float((infer_outputs(n, states).argmax(axis=1) == wanted).mean()) for n in (before, after)]
    assert shares[1] > shares[0] + 0.1


def test_the_model_as_prism() -> None:
    environment = racing.environment()
    text = prism_text(environment, {v.name: 0 for v in environment.variables})
    assert text.count("[accelerate_") == 2 * len(racing.LABELS)
    assert text.count("(4/5) : ") == text.count("(1/5) : ") == len(racing.LABELS)
    assert text.count("endmodule") == len(environment.components)


def test_a_heat_map_has_all_cells(network: Network) -> None:
    problem = Problem("race", racing.environment(anywhere=True), racing.policy(network), Never(FALSE))
    found = heat_map(problem, WATCHED)
    assert found["cells"] == sum(row.count(".") for row in racing.TRACK)
    assert found["runs"] >= 300 * found["cells"]
