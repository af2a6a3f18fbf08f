"""Going on after a kill: whatever was recorded, in whatever order, the answer is that of one go."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.engines.statistical.chains import walk
from tests.engines.statistical.test_scale import Shuffled, drawn

from surefoot.engines.statistical import Statistical
from surefoot.engines.statistical.experiment import Experiment
from surefoot.engines.statistical.question import ProbabilityQuestion, StartCell
from surefoot.errors import InvalidProblem
from surefoot.solvers.sampling.methods import choose_plan
from surefoot.work.budget import Budget
from surefoot.work.fingerprint import content_fingerprint
from surefoot.work.run_directory import NotRecorded, RunDirectory
from surefoot.work.worker_pool import Answers

QUESTION = ProbabilityQuestion(choose_plan("chen", Fraction(1, 20), Fraction(1, 20)))
NAME = content_fingerprint("question")


class Killed(BaseException):
    """Nothing that the experiment may catch."""


class Mortal(Shuffled):
    """Workers that are killed, and everybody with them, when so many batches have been answered."""

    def __init__(self, size: int, seed: int, batches: int) -> None:
        super().__init__(size, seed)
        self.batches = batches

    def answers(self, seconds: float) -> Answers:
        found = super().answers(seconds)
        self.batches -= len(found)
        if self.batches < 0:
            raise Killed
        return found


class OneIsSlow(Shuffled):
    """One worker keeps its first batch until the others have looked for work so many times."""

    def __init__(self, size: int, looks: int) -> None:
        super().__init__(size, 0)
        self.looks = looks

    def answers(self, seconds: float) -> Answers:
        self.looks -= 1
        slow = self._asked[:1] if self.looks > 0 else []
        self._asked = self._asked[len(slow) :]
        found = super().answers(seconds) if self._asked else []
        self._asked = [*slow, *self._asked]
        return found


def cells() -> list[StartCell]:
    return [StartCell(start, QUESTION, QUESTION.begin()) for start in range(3)]


def attempt(folder: Path, crew: Shuffled) -> list[StartCell]:
    found = cells()
    with RunDirectory(folder, NAME, resume=True) as directory:
        assert Experiment(found, 1, Budget(20), crew, directory).execute() == ""
    return found


def told(found: list[StartCell]) -> list[object]:
    return [(cell.state, cell.counts.tolist()) for cell in found]


@cache
def uninterrupted() -> list[StartCell]:
    found = cells()
    assert Experiment(found, 1, Budget(20), Shuffled(1, 0)).execute() == ""
    return found


@pytest.mark.parametrize("seed", range(60))
def test_killed_again_and_again(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    size = rng.choice((1, 2, 2, 3, 8))
    whole = uninterrupted()
    for _ in range(rng.randint(1, 4)):
        try:
            attempt(tmp_path, Mortal(size, rng.randrange(1 << 30), rng.randint(1, 40)))
        except Killed:
            continue
    found = attempt(tmp_path, Mortal(size, seed, 10_000))
    assert told(found) == told(whole)
    with RunDirectory(tmp_path, NAME, resume=True) as directory:
        recorded = sum(len(record.arrays[0]) for record in directory.records)
        keys = [record.key for record in directory.records]
    assert len(keys) == len(set(keys))  # nothing is made twice
    needed = sum(cell.runs for cell in whole)
    assert recorded <= needed * 1.5 + 3 * size * 64, (recorded, needed)


@pytest.mark.parametrize("size", [2, 4])
def test_nobody_works_ahead_without_end(size: int, tmp_path: Path) -> None:
    """While a batch is waited for, further ones are made only up to a part of what there is."""
    found = attempt(tmp_path, OneIsSlow(size, 3000))
    assert told(found) == told(uninterrupted())
    with RunDirectory(tmp_path, NAME, resume=True) as directory:
        recorded = sum(len(record.arrays[0]) for record in directory.records)
    needed = sum(cell.runs for cell in found)
    assert recorded <= needed * 1.5 + 3 * size * 128, (recorded, needed)


def test_batches_that_overlap_are_cut(tmp_path: Path) -> None:
    """As an older version wrote them, which made some runs twice; the runs themselves are the same."""
    rng = random.Random(3)
    with RunDirectory(tmp_path, NAME, resume=False) as directory:
        for _ in range(60):
            cell, first, count = rng.randrange(3), rng.randrange(500), rng.randint(1, 60)
            directory.append((cell, first), (drawn(1, cell, first, count).outcome,))
    assert told(attempt(tmp_path, Mortal(2, 5, 10_000))) == told(uninterrupted())


def test_what_is_consumed_is_not_given_out_again() -> None:
    """The stall: a recorded batch was consumed together with the one before it, and then made once more."""
    cell = cells()[0]
    cell.keep(10, drawn(1, 0, 10, 20))
    assert cell.next_gap() == (0, 10)
    cell.assigned = 10  # given to somebody
    cell.arrive(0, drawn(1, 0, 0, 10))
    assert cell.runs == 30
    assert cell.next_gap() == (30, None)


@pytest.mark.parametrize(
    ("key", "arrays"),
    [
        ((3, 0), (np.zeros(2, np.int8),)),  # no such start
        ((0, -1), (np.zeros(2, np.int8),)),
        ((0,), (np.zeros(2, np.int8),)),
        ((0, 0), (np.full(2, 9, np.int8),)),  # no such outcome
        ((0, 0), (np.zeros(2, np.int8), np.zeros(2))),
        ((0, 0), (np.zeros(2, np.int8), np.zeros(2), np.zeros(3))),
        ((0, 0), (np.zeros(2),)),
        ((0, 0), ()),
    ],
)
def test_records_that_are_no_runs_are_refused(
    key: tuple[int, ...], arrays: tuple[NDArray[Any], ...], tmp_path: Path
) -> None:
    with RunDirectory(tmp_path, NAME, resume=False) as directory:
        directory.append(key, arrays)
    with pytest.raises(InvalidProblem, match="are no runs"):
        attempt(tmp_path, Shuffled(1, 0))


def test_a_full_disk_ends_the_work_with_what_is_known(tmp_path: Path) -> None:
    class Full(RunDirectory):
        def append(self, key: Sequence[int], arrays: Sequence[NDArray[Any]]) -> None:
            if key[1] > 50:
                raise NotRecorded("`runs` cannot be written: No space left on device", fix="make room")
            super().append(key, arrays)

    found = cells()
    with Full(tmp_path, NAME, resume=True) as directory:
        stop = Experiment(found, 1, Budget(20), Shuffled(1, 0), directory).execute()
    assert stop == "`runs` cannot be written: No space left on device; fix: make room"
    assert 0 < sum(cell.runs for cell in found) < sum(cell.runs for cell in uninterrupted())
    assert told(attempt(tmp_path, Shuffled(1, 0))) == told(uninterrupted())


def test_another_seed_begins_anew(tmp_path: Path) -> None:
    """Runs of one seed are never counted for another one."""
    problem = walk("P=? [ F x = 4 ]")
    engine = Statistical(eps=Fraction(1, 20), workers=1, run_directory=str(tmp_path), resume=True)
    said: list[str] = []
    for seed in (3, 4, 3):
        plain = replace(engine, run_directory=None, resume=False)
        assert engine.check(problem, Budget(60, seed, said.append)) == plain.check(problem, Budget(60, seed))
    assert len(list(tmp_path.iterdir())) == 2
    assert sum("nothing is recorded of this question" in line for line in said) == 2
