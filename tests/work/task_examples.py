"""What children do in tests of the task pool: importable, so that fresh interpreters find it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported


def make_squares(table: NDArray[np.float64]) -> Callable[[int], tuple[int, float]]:
    """Which process answers, and a number of the table squared; takes a little of the processor."""

    def square(place: int) -> tuple[int, float]:
        spend(0.05)
        return os.getpid(), float(table[place] ** 2)

    return square


def make_mortal(folder: str, deaths: int) -> Callable[[int], int]:
    """Task 3 kills its process, so many times."""

    def work(number: int) -> int:
        spend(0.02)
        if number == 3:
            for turn in range(deaths):
                mark = Path(folder) / f"death-{turn}"
                if not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
        return number

    return work


def make_refusing() -> Callable[[int], int]:
    def work(number: int) -> int:
        if number in (2, 4):
            raise Unsupported(f"task {number} is refused")
        return number

    return work


def make_sleeper(folder: str) -> Callable[[int], int]:
    """Tells which process it is, then takes very long."""

    def work(number: int) -> int:
        (Path(folder) / f"process-{os.getpid()}").touch()
        time.sleep(600)
        return number

    return work


def make_in_children_only(parent: int) -> Callable[[int], bool]:
    return lambda number: os.getpid() != parent


def spend(seconds: float) -> None:
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        pass
