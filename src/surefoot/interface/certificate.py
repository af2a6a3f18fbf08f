"""What the independent checker says of a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, SurefootError, WrongType
from surefoot.formats.json_file import read_json, read_stored_results
from surefoot.interface.result import CheckResult, ProofFile
from surefoot.term.arguments import describe_value
from surefoot.verdict.verdict import Certificate
from surefoot_checker.check import CheckerVerdict, judge_certificate, read_certificate
from surefoot_checker.kernel.strict_json import BadCertificate


def _is_stored_result(path: Path) -> bool:
    try:
        return bool(read_stored_results(read_json(path), path))
    except SurefootError:
        return False


def check_certificate(
    certificate: str | PathLike[str] | ProofFile | Certificate | CheckResult,
) -> CheckerVerdict:
    """What the independent checker says of a certificate: `accepted`, the `claim` that it proves, or the
    `reason` why it does not. A path is that of a certificate alone.

    >>> check_certificate(42)
    Traceback (most recent call last):
    surefoot.errors.WrongType: `42` is not a certificate; fix: give its path, or `result.certificate`
    """
    base = Path()
    fix = "give its path, or `result.certificate`"
    content: Mapping[str, Any]
    if isinstance(certificate, CheckResult):
        if certificate.certificate is None:
            raise InvalidProblem("the result has no certificate", fix="only proofs and values have one")
        content = certificate.certificate.content
    elif isinstance(certificate, ProofFile | Certificate):
        content = certificate.content
    elif isinstance(certificate, str | PathLike):
        base = Path(certificate).parent
        try:
            content = read_certificate(Path(certificate))
        except (BadCertificate, OSError) as error:
            if _is_stored_result(Path(certificate)):
                fix = f"run `surefoot certify {certificate}`, or save `result.certificate` and give that"
                raise InvalidProblem(
                    "this is a saved result, not a certificate", fix=fix, where=str(certificate)
                ) from None
            raise InvalidProblem(str(error), fix=fix) from None
        if "surefoot-certificate" not in content:
            raise InvalidProblem("this is no certificate", fix=fix, where=str(certificate))
    else:
        raise WrongType(f"{describe_value(certificate)} is not a certificate", fix=fix)
    try:
        return judge_certificate(content, base=base)
    except BadCertificate as error:
        return CheckerVerdict(False, str(error))
