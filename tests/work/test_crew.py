"""Workers that hold something prepared: the same answers here, in processes, and by Ray."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import sleep

import pytest
from tests.conftest import unavailable

from surefoot.errors import InvalidProblem, MissingBackend, Unsupported
from surefoot.work.child import WorkerDied
from surefoot.work.ray_pool import RayPool
from surefoot.work.worker_pool import LostQuestion, ProcessPool, SerialPool, WorkerPool


def multiplier(by: int) -> Callable[[int], int]:
    return by.__mul__


def failing(_: int) -> Callable[[int], int]:
    return _fail


def _fail(number: int) -> int:
    if number == 7:
        raise InvalidProblem("seven")
    os._exit(number)


def all_answers(crew: WorkerPool, numbers: range) -> dict[int, int]:
    found: dict[int, int] = {}
    waiting = list(numbers)
    while len(found) < len(numbers):
        while waiting and crew.idle:
            number = waiting.pop()
            crew.ask(number, number)
        found |= dict(crew.answers(5.0))
    return found


def test_alone_and_many_answer_alike() -> None:
    expected = {n: 3 * n for n in range(20)}
    assert all_answers(SerialPool(multiplier(3)), range(20)) == expected
    many = ProcessPool(2, multiplier, 3)
    try:
        assert all_answers(many, range(20)) == expected
        assert (many.size, many.idle) == (2, 2)
    finally:
        many.dismiss()


def test_what_cannot_be_sent_is_refused_in_a_sentence() -> None:
    with pytest.raises(Unsupported, match="cannot be given to other processes"):
        ProcessPool(1, lambda: print)


def test_errors_and_deaths_come_through() -> None:
    crew = ProcessPool(1, failing, 0)
    try:
        crew.ask(1, 7)
        with pytest.raises(InvalidProblem, match="seven"):
            crew.answers(10.0)
    finally:
        crew.dismiss()
    crew = ProcessPool(1, failing, 0)
    try:
        crew.ask(1, 3)
        with pytest.raises(WorkerDied, match="exit code 3"):
            crew.answers(10.0)
    finally:
        crew.dismiss()


def test_ray_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.work.ray_pool.find_spec", lambda _: None)
    with pytest.raises(MissingBackend, match="ray"):
        RayPool("local", 1, multiplier, 3)


@pytest.mark.ray
def test_a_cluster_that_is_not_there_is_said_at_once() -> None:
    if find_spec("ray") is None:
        unavailable("needs ray", "SUREFOOT_REQUIRE_RAY")
    with pytest.raises(Unsupported, match="no Ray cluster"):
        RayPool("127.0.0.1:1", 1, multiplier, 3)


def dying(folder: str) -> Callable[[int], int]:
    return partial(_die_once, folder)


def _die_once(folder: str, number: int) -> int:
    """The first process that is asked about a multiple of 5 ends, and whoever is asked about 7."""
    mark = Path(folder) / str(number)
    if number == 7 or (number % 5 == 0 and not mark.exists()):
        mark.touch()
        os._exit(9)
    return number + 1


def test_an_answer_beside_a_lost_question_is_not_lost(tmp_path: Path) -> None:
    crew = ProcessPool(2, dying, str(tmp_path))
    try:
        crew.ask(1, 7)
        crew.ask(2, 2)
        sleep(2.0)  # both lines can be read then
        found: list[tuple[int, int]] = []
        lost = 0
        while len(found) + lost < 2:
            try:
                found += crew.answers(5.0)
            except LostQuestion:
                lost += 1
    finally:
        crew.dismiss()
    assert (found, lost) == ([(2, 3)], 1)


def test_what_a_dead_process_was_asked_is_asked_again(tmp_path: Path) -> None:
    crew = ProcessPool(2, dying, str(tmp_path))
    found: dict[int, int] = {}
    lost: list[int] = []
    try:
        waiting = list(range(12))
        while len(found) + len(lost) < 12:
            while waiting and crew.idle:
                number = waiting.pop()
                crew.ask(number, number)
            try:
                found |= dict(crew.answers(5.0))
            except LostQuestion as why:
                lost.append(why.ticket)
    finally:
        crew.dismiss()
    assert lost == [7]
    assert found == {n: n + 1 for n in range(12) if n != 7}
