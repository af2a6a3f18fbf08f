"""The same answer whoever makes the runs, and however often somebody was killed while making them."""

from __future__ import annotations

import multiprocessing
import random
import signal
import time
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from math import inf
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import unavailable
from tests.engines.statistical.chains import walk

from surefoot.engines.statistical import Statistical
from surefoot.engines.statistical.experiment import Experiment, run_prefixes
from surefoot.engines.statistical.question import ProbabilityQuestion, StartCell
from surefoot.errors import InvalidProblem
from surefoot.problem.policy import OraclePolicy
from surefoot.simulate.path_property import RunOutcomes
from surefoot.solvers.sampling.methods import choose_plan
from surefoot.term.term import TRUE
from surefoot.verdict.verdict import Estimated, PerStart, Verdict
from surefoot.work.budget import Budget
from surefoot.work.worker_pool import Answers

ONE = Statistical(eps=Fraction(1, 50), workers=1)
PROBLEM = walk("P=? [ F x = 4 ] over values", start=TRUE)


def asked(engine: Statistical, seed: int = 5) -> Verdict:
    return engine.check(PROBLEM, Budget(120, seed))


def test_one_and_two_processes_count_alike() -> None:
    assert asked(replace(ONE, workers=2)) == asked(ONE)
    assert asked(replace(ONE, workers=2), seed=6) != asked(ONE)


@pytest.mark.ray
def test_ray_counts_alike() -> None:
    if find_spec("ray") is None:
        unavailable("needs ray", "SUREFOOT_REQUIRE_RAY")
    assert asked(replace(ONE, workers=2, ray="local")) == asked(ONE)


class Shuffled:
    """Workers who answer in any order, each question when it suits them."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self._rng = size, random.Random(seed)
        self._asked: list[tuple[int, tuple[int, int | None, int, int, float]]] = []

    @property
    def idle(self) -> int:
        return self.size - len(self._asked)

    def ask(self, ticket: int, *args: object) -> None:
        self._asked.append((ticket, args))  # type: ignore[arg-type]

    def answers(self, seconds: float) -> Answers:
        some = self._rng.sample(self._asked, self._rng.randint(1, len(self._asked)))
        self._asked = [a for a in self._asked if a not in some]
        return [(ticket, run_prefixes(drawn)(*args)) for ticket, args in some]

    def dismiss(self) -> None:
        self._asked = []


def drawn(seed: int, start: int | None, first: int, count: int, until: float = inf) -> RunOutcomes:
    """A run succeeds with 10 %, and is cut off with 1 %."""
    throws = np.array(
        [np.random.default_rng([seed, start or 0, r]).random() for r in range(first, first + count)]
    )
    outcome = np.where(throws < 0.1, 1, np.where(throws < 0.11, 2, 0)).astype(np.int8)
    return RunOutcomes(outcome, np.ones(count, dtype=np.int64), np.zeros(count), np.zeros(count))


@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_any_number_of_workers_in_any_order(size: int) -> None:
    question = ProbabilityQuestion(choose_plan("chen", Fraction(1, 20), Fraction(1, 20)))
    seen = []
    for crew in (Shuffled(1, 0), Shuffled(size, size)):
        cells = [StartCell(start, question, question.begin()) for start in range(3)]
        assert Experiment(cells, 1, Budget(60), crew).execute() == ""
        seen.append([(cell.state, cell.counts.tolist()) for cell in cells])
    assert seen[0] == seen[1]


def test_large_work_gets_more_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_TELL_SECONDS", "_PATIENCE", "_LONG"):
        monkeypatch.setattr(f"surefoot.engines.statistical.experiment.{name}", 0.0)
    question = ProbabilityQuestion(choose_plan("chen", Fraction(1, 20), Fraction(1, 20)))
    alone = [StartCell(0, question, question.begin())]
    assert Experiment(alone, 1, Budget(60), Shuffled(1, 0)).execute() == ""
    for larger in (Shuffled(4, 1), None):  # None: the others could not be started
        cells = [StartCell(0, question, question.begin())]
        experiment = Experiment(cells, 1, Budget(60), first := Shuffled(1, 0), grow=lambda more=larger: more)
        assert experiment.execute() == ""
        assert cells[0].state == alone[0].state
        assert experiment.crew is (larger or first)
        assert experiment.grow is None


def troubled(seed: int, start: int | None, first: int, count: int, until: float) -> RunOutcomes:
    """Run 700 of start 1 cannot be made."""
    if start == 1 and first <= 700 < first + count:
        raise InvalidProblem("run 700")
    return drawn(seed, start, first, count, until)


@pytest.mark.parametrize("size", [1, 3, 64])
def test_a_run_that_cannot_be_made_matters_if_its_turn_comes(size: int) -> None:
    class Troubled(Shuffled):
        def answers(self, seconds: float) -> Answers:
            some = self._rng.sample(self._asked, self._rng.randint(1, len(self._asked)))
            self._asked = [a for a in self._asked if a not in some]
            return [(ticket, run_prefixes(troubled)(*args)) for ticket, args in some]

    for eps, answered in ((Fraction(1, 10), True), (Fraction(1, 40), False)):
        question = ProbabilityQuestion(choose_plan("chen", eps, Fraction(1, 20)))
        cells = [StartCell(start, question, question.begin()) for start in range(3)]
        experiment = Experiment(cells, 1, Budget(60), Troubled(size, size))
        if answered:
            assert experiment.execute() == ""
            assert all(cell.runs < 700 for cell in cells)
        else:
            with pytest.raises(InvalidProblem, match="run 700"):
                experiment.execute()
            assert cells[1].runs == 700


def test_a_black_box_stays_where_it_is() -> None:
    box = replace(PROBLEM, policy=OraclePolicy("box", lambda state: "go", ("go",)))
    found = ONE.check(box, Budget(120, 5))
    assert isinstance(found, PerStart)
    assert found == asked(ONE)  # the same runs, too
    with pytest.raises(Exception, match="cannot be given to other processes"):
        replace(ONE, workers=2).check(box, Budget(120, 5))


def test_going_on_where_it_stopped(tmp_path: Path) -> None:
    recorded = replace(ONE, run_directory=str(tmp_path))
    assert asked(recorded) == asked(ONE)
    with pytest.raises(InvalidProblem, match="--resume"):
        asked(recorded)
    finer = replace(ONE, eps=Fraction(1, 100))  # the runs are the same, so they may be used for more
    assert asked(replace(finer, run_directory=str(tmp_path), resume=True)) == asked(finer)
    with pytest.raises(InvalidProblem, match="nothing to resume"):
        asked(replace(ONE, resume=True))


@pytest.mark.timeout(120)
def test_ten_times_killed_at_any_moment(tmp_path: Path) -> None:
    engine = replace(ONE, eps=Fraction(1, 1000), method="okamoto", workers=1)
    problem = walk("P=? [ F x = 4 ]")
    expected = engine.check(problem, Budget(120, 3))
    recorded = replace(engine, run_directory=str(tmp_path), resume=True)
    rng, context = random.Random(1), multiprocessing.get_context("fork")
    sizes, endings = [], []
    for _ in range(10):
        child = context.Process(target=recorded.check, args=(problem, Budget(120, 3)))
        child.start()
        grown, since = _size(tmp_path), time.monotonic()
        while _size(tmp_path) <= grown and child.is_alive() and time.monotonic() - since < 5:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.03)
        child.kill()  # on a fast machine it may have come to its end, which this allows
        child.join()
        sizes.append(_size(tmp_path))
        endings.append(child.exitcode)
    assert sizes == sorted(sizes)
    assert endings[0] == -signal.SIGKILL
    assert set(endings) <= {-signal.SIGKILL, 0}
    found = recorded.check(problem, Budget(120, 3))
    assert isinstance(found, Estimated)
    assert found == expected


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())
