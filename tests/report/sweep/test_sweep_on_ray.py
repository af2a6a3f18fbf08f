"""A sweep on a Ray cluster of several node processes, one of which is killed in the middle."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from tests.conftest import unavailable
from tests.report.sweep.sweep_models import QUESTIONS, read_answers, write_models

import surefoot
from surefoot.errors import Unsupported
from surefoot.report.sweep.answer_unit import load_file_model, make_unit_worker
from surefoot.work.ray_pool import RayPool
from surefoot.work.worker_pool import LostQuestion

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
PROCESSORS = 1  # of each node


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head that does no work, and two nodes with a processor each: `nodes`."""
    if find_spec("ray") is None:
        unavailable("needs ray", "SUREFOOT_REQUIRE_RAY")
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    from ray.cluster_utils import Cluster

    there = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        there.nodes = [there.add_node(num_cpus=PROCESSORS) for _ in range(2)]
        there.wait_for_nodes()
        yield there
    finally:
        there.shutdown()


def start_sweep(folder: Path, *more: str) -> subprocess.Popen[str]:
    models = [str(folder / name) for name in ("counter.toml", "coin.toml")]
    return subprocess.Popen(
        [sys.executable, "-m", "surefoot", "sweep", *models, *QUESTIONS, *more],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )


def end_sweep(running: subprocess.Popen[str]) -> None:
    """Wait for it; on stdout is a line for each problem, and nothing that Ray has to say."""
    out, _ = running.communicate(timeout=300)
    assert running.returncode == 1
    assert out.splitlines()[-1] == "200 problems: 87 violated, 73 proved, 33 missed, 7 met"
    assert len(out.splitlines()) == 1 + 1 + 200 + 1


def count_results(folder: Path) -> int:
    return len(list((folder / "results").glob("*.json")))


@pytest.mark.ray
@pytest.mark.timeout(600)
def test_a_sweep_is_complete_and_the_same_although_a_node_is_killed(tmp_path: Path, cluster: Any) -> None:
    write_models(tmp_path)
    alone, many = tmp_path / "alone", tmp_path / "many"
    end_sweep(start_sweep(tmp_path, "--workers", "1", "--run-directory", str(alone)))
    running = start_sweep(tmp_path, "--ray", cluster.address, "--run-directory", str(many))
    try:
        begun = monotonic()
        while count_results(many) < 40 and running.poll() is None and monotonic() - begun < 300:
            sleep(0.02)
        done = count_results(many)
        cluster.remove_node(cluster.nodes[0], allow_graceful=False)
        assert 40 <= done < 180  # in the middle
        end_sweep(running)
    finally:
        running.kill()
        running.wait()
    expected, found = read_answers(alone), read_answers(many)
    assert len(found[0]["rows"]) == 200
    assert set(found[0]["counts"]) == {"proved", "violated", "met", "missed"}
    assert found == expected


@pytest.mark.ray
@pytest.mark.timeout(300)
def test_sampling_on_a_cluster_counts_the_same_runs(tmp_path: Path, cluster: Any) -> None:
    _, coin = write_models(tmp_path)
    asked: Any = {"property": "P=? [ F<=9 x = N ]", "constants": {"N": 5}}
    problem = surefoot.load(coin, **asked)
    options: Any = {"engine": "statistical", "uniform": True, "eps": Fraction(1, 50)}
    found = [
        surefoot.check(problem, **options, **where).verdict
        for where in ({"workers": 1}, {"ray": cluster.address})
    ]
    assert found[0] == found[1]


def last_words(_: int) -> Callable[[int], int]:
    return _end_at_seven


def _end_at_seven(number: int) -> int:
    if number == 7:
        os._exit(3)
    return -number


@pytest.mark.ray
@pytest.mark.timeout(300)
def test_errors_of_workers_are_told_in_their_own_words(cluster: Any) -> None:
    with pytest.raises(Unsupported) as error:
        RayPool(cluster.address, None, make_unit_worker, load_file_model, "/there/is/none", False)
    assert str(error.value).startswith("a worker cannot use the folder `/there/is/none`")


@pytest.mark.ray
@pytest.mark.timeout(300)
def test_a_question_that_ends_every_worker_is_given_up_and_the_others_are_answered(cluster: Any) -> None:
    pool = RayPool(cluster.address, None, last_words, 0)
    found: dict[int, int] = {}
    lost: list[int] = []
    try:
        assert pool.size == 2 * PROCESSORS
        waiting = list(range(12))
        while len(found) + len(lost) < 12:
            while waiting and pool.idle:
                number = waiting.pop()
                pool.ask(number, number)
            try:
                found |= dict(pool.answers(5.0))
            except LostQuestion as why:
                lost.append(why.ticket)
    finally:
        pool.dismiss()
    assert lost == [7]
    assert found == {n: -n for n in range(12) if n != 7}
