"""The independent checker, asked in a process of its own: it cannot outlive its time or take us along.

A large proof, or one of many cells, is divided into shares, each for a process of its own
(`surefoot_checker.kernel.share`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from surefoot.work.budget import Budget
from surefoot.work.child import WorkerDied, WorkerTimedOut, borrow_worker
from surefoot.work.task_pool import TaskPool

if TYPE_CHECKING:
    from surefoot_checker.check import CheckerVerdict

NOT_IN_TIME = "it could not be checked in time"


@dataclass(frozen=True, slots=True)
class CheckerAnswer:
    """`text`: the claim that is accepted, or why none is."""

    accepted: bool
    text: str
    refused: bool = False  # the checker read the certificate, and it does not show what it claims


def ask_checker(content: Mapping[str, Any], budget: Budget) -> CheckerAnswer:
    """What the checker says of a certificate within that time."""
    from surefoot_checker.check import useful_shares

    seconds = budget.remaining()
    if seconds <= 0:
        return CheckerAnswer(False, NOT_IN_TIME)
    shares = min(budget.processes, useful_shares(content))
    try:
        if shares > 1:
            return _ask_in_shares(content, monotonic() + seconds, shares)
        with borrow_worker() as worker:
            return worker.call(_judge_in_folder, content, os.getcwd(), seconds=seconds)
    except WorkerTimedOut:
        return CheckerAnswer(False, NOT_IN_TIME)
    except WorkerDied as death:
        return CheckerAnswer(False, f"its check ended early: {death}")


def _ask_in_shares(content: Mapping[str, Any], deadline: float, count: int) -> CheckerAnswer:
    """Each share in a process of its own, none of them here; the first that refuses ends the others."""
    from surefoot_checker.check import join_verdicts

    found: list[CheckerVerdict] = []
    with TaskPool(count, _prepare_judge, content, os.getcwd(), patience=None) as pool:
        tasks = [(number, count) for number in range(count)]
        for answer in pool.run(tasks, lambda: monotonic() > deadline):
            if isinstance(answer, CheckerAnswer):
                return answer
            found.append(answer)
            if not answer.accepted:
                return _answer_of(answer)
    return _answer_of(join_verdicts(found)) if len(found) == count else CheckerAnswer(False, NOT_IN_TIME)


def judge_with_workers(content: Mapping[str, Any], folder: Path, workers: int) -> CheckerVerdict:
    """Without a limit of time; `BadCertificate` where it is none. Small ones are judged in this process."""
    from surefoot_checker.check import join_verdicts, judge_certificate, useful_shares

    count = min(workers, useful_shares(content))
    if count < 2:
        return judge_certificate(dict(content), base=folder, workers=workers)
    found: list[CheckerVerdict] = []
    with TaskPool(count, _prepare_judge, content, os.getcwd(), folder, patience=None) as pool:
        for answer in pool.run([(number, count) for number in range(count)]):
            if isinstance(answer, CheckerAnswer):
                return judge_certificate(dict(content), base=folder)  # which says what is wrong
            found.append(answer)
            if not answer.accepted:
                break
    return join_verdicts(found)


def _prepare_judge(
    content: Mapping[str, Any], folder: str, base: Path = Path()
) -> Callable[[int, int], CheckerVerdict | CheckerAnswer]:
    os.chdir(folder)  # where the names of files are meant
    return partial(_judge_share, content, base=base)


def _judge_in_folder(content: Mapping[str, Any], folder: str) -> CheckerAnswer:
    os.chdir(folder)  # this process may be older than that
    found = _judge_share(content, 0, 1)
    return found if isinstance(found, CheckerAnswer) else _answer_of(found)


def _judge_share(
    content: Mapping[str, Any], number: int, count: int, base: Path = Path()
) -> CheckerVerdict | CheckerAnswer:
    from surefoot_checker.check import judge_certificate
    from surefoot_checker.kernel.share import Share
    from surefoot_checker.kernel.strict_json import BadCertificate
    from surefoot_checker.kernel.untrusted_file import ReadError

    try:
        return judge_certificate(dict(content), base=base, share=Share(number, count))
    except ReadError as error:  # a file that is gone, or an operator that the checker does not know
        return CheckerAnswer(False, str(error))
    except BadCertificate as error:
        return CheckerAnswer(False, str(error), refused=True)


def _answer_of(found: CheckerVerdict) -> CheckerAnswer:
    return CheckerAnswer(found.accepted, found.claim if found.accepted else found.reason, not found.accepted)
