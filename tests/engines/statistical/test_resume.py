"""Going on after a kill: whatever was recorded, in whatever order, the answer is that of one go."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from tests.engines.statistical.test_scale import Shuffled

from surefoot.engines.statistical.experiment import Experiment
from surefoot.engines.statistical.question import Cell, Share
from surefoot.solve.sampling import choose
from surefoot.work.budget import Budget
from surefoot.work.crew import Answers
from surefoot.work.digest import digest
from surefoot.work.run_directory import RunDirectory

QUESTION = Share(choose("chen", Fraction(1, 20), Fraction(1, 20)))
NAME = digest("question")


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


def cells() -> list[Cell]:
    return [Cell(start, QUESTION, QUESTION.begin()) for start in range(3)]


def attempt(folder: Path, crew: Shuffled) -> list[Cell]:
    found = cells()
    with RunDirectory(folder, NAME, resume=True) as directory:
        assert Experiment(found, 1, Budget(20), crew, directory).run() == ""
    return found


def told(found: list[Cell]) -> list[object]:
    return [(cell.state, cell.counts.tolist()) for cell in found]


@cache
def uninterrupted() -> list[Cell]:
    found = cells()
    assert Experiment(found, 1, Budget(20), Shuffled(1, 0)).run() == ""
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
