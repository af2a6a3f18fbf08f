"""The independent checker, asked in a process of its own: it cannot outlive its time or take us along."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surefoot.work.child import WorkerDied, WorkerTimedOut, borrow_worker

NOT_IN_TIME = "it could not be checked in time"


@dataclass(frozen=True, slots=True)
class CheckerAnswer:
    """`text`: the claim that is accepted, or why none is."""

    accepted: bool
    text: str
    refused: bool = False  # the checker read the certificate, and it does not show what it claims


def ask_checker(content: Mapping[str, Any], seconds: float) -> CheckerAnswer:
    """What the checker says of a certificate within that time."""
    import surefoot_checker.check  # noqa: F401 - here, so that a worker that is forked now has it already

    if seconds <= 0:
        return CheckerAnswer(False, NOT_IN_TIME)
    with borrow_worker() as worker:
        try:
            return worker.call(_judge_in_folder, content, os.getcwd(), seconds=seconds)
        except WorkerTimedOut:
            return CheckerAnswer(False, NOT_IN_TIME)
        except WorkerDied as death:
            return CheckerAnswer(False, f"its check ended early: {death}")


def _judge_in_folder(content: Mapping[str, Any], folder: str) -> CheckerAnswer:
    from surefoot_checker.check import judge_certificate
    from surefoot_checker.kernel.strict_json import BadCertificate
    from surefoot_checker.kernel.untrusted_file import ReadError

    os.chdir(folder)  # where the names of files are meant; this process may be older than that
    try:
        found = judge_certificate(dict(content))
    except ReadError as error:  # a file that is gone, or an operator that the checker does not know
        return CheckerAnswer(False, str(error))
    except BadCertificate as error:
        return CheckerAnswer(False, str(error), refused=True)
    return CheckerAnswer(found.accepted, found.claim if found.accepted else found.reason, not found.accepted)
