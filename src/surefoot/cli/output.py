"""Where results go: text on stdout, JSON to a file or stdout, and the exit code that sums them up."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite
from pathlib import Path

import click

from surefoot.errors import InvalidProblem
from surefoot.formats.result_json import to_json
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Probability, Threshold
from surefoot.report.page import page
from surefoot.report.text import render
from surefoot.verdict.verdict import (
    Estimated,
    Exact,
    Found,
    Holds,
    PerStart,
    Proved,
    Reason,
    Result,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)


def positive(_: click.Context, option: click.Parameter, seconds: float) -> float:
    """Refuse a number of seconds that is no limit: zero, negative, infinite, not a number."""
    if not (isfinite(seconds) and seconds > 0):
        raise click.BadParameter(f"{seconds} is not a positive number of seconds", param=option)
    return seconds


ENDINGS = {  # of the files that an option writes
    "--json": (".json",),
    "--report": (".html", ".htm"),
    "--certificate": (".json", ".json.gz", ".gz"),
    "--plot": (".svg",),
    "--svg": (".svg",),
    "--png": (".png",),
}
WORST_FIRST = (130, 4, 1, 3, 0)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def exit_code(result: Result, problem: Problem | None = None) -> int:
    """0 proved, or no violation in as many steps as the property speaks of; 1 violated; 130 interrupted.

    A value: 0, or 1 where it misses the threshold of the property; an estimate with its confidence.
    3: no full answer, or one about all runs that rests on the word of a solver.
    """
    match result.verdict:
        case Violated():
            return 1
        case Estimated() as found:
            return _estimate_code(found, None if problem is None else _threshold(problem))
        case PerStart(table) if any(isinstance(v, Estimated) for _, v in table):
            limit = None if problem is None else _threshold(problem)
            return worst([_estimate_code(v, limit) for _, v in table if isinstance(v, Estimated)])
        case Exact(low, high, certificate) if problem is not None and _threshold(problem) is not None:
            met = _met(_threshold(problem), low, high)
            return 3 if met is None or (met and certificate is None) else int(not met)
        case Proved() | Exact() | Found() | PerStart():
            return 0
        case Holds(up_to, as_asked=asked):
            return 0 if asked and up_to is not None else 3
        case Unknown(reason=Reason.INTERRUPTED):
            return 130
        case Vacuous() | Unknown():
            return 3


def _estimate_code(found: Estimated, threshold: Threshold | None) -> int:
    """0: as precise as was asked, on the asked side of a threshold; 1: on the other; 3: neither."""
    if found.stop == Reason.INTERRUPTED.value:
        return 130
    if threshold is None:
        return 0 if found.complete else 3
    met = _met(threshold, found.low, found.high)
    return 3 if met is None else int(not met)


def _threshold(problem: Problem) -> Threshold | None:
    """What the value has to meet; a number of starts that meet something has to meet nothing itself."""
    asked = problem.property
    if not isinstance(asked, Probability | Expected) or asked.over == "count":
        return None
    return asked.threshold


def _met(threshold: Threshold | None, low: Fraction | None, high: Fraction | None) -> bool | None:
    """Does a value between these ends (None: infinite) meet the threshold? None: that is not decided."""
    assert threshold is not None
    value = threshold.value
    below = high is not None and (high < value or (threshold.relation == "<=" and high == value))
    above = low is None or low > value or (threshold.relation == ">=" and low == value)
    if threshold.relation in ("<", "<="):
        missed = low is None or low > value or (threshold.relation == "<" and low == value)
        return True if below else False if missed else None
    missed = high is not None and (high < value or (threshold.relation == ">" and high == value))
    return True if above else False if missed else None


def worst(codes: Sequence[int]) -> int:
    return next((c for c in WORST_FIRST if c in codes), 0)


def check_writable(json_path: str | None, inputs: Sequence[Path], option: str = "--json") -> None:
    """Refuse an output that is a folder, has no folder, or would overwrite an input, before any work."""
    if json_path is None or json_path == "-":
        return
    target = Path(json_path)
    if target.is_dir():
        raise InvalidProblem(f"`{json_path}` is a folder", fix="give the name of a file", where=option)
    if not target.parent.is_dir():
        raise InvalidProblem(f"folder `{target.parent}` does not exist", fix="create it first", where=option)
    if any(target.exists() and target.samefile(i) for i in inputs if i.exists()):
        raise InvalidProblem(
            f"`{json_path}` is an input of this run", fix="choose another name", where=option
        )
    if not os.access(target.parent, os.W_OK):
        raise InvalidProblem(f"folder `{target.parent}` is not writable", where=option)
    endings = ENDINGS.get(option, ())
    if endings and target.suffix and not target.name.endswith(endings):
        what = f"`{json_path}` does not end in {' or '.join(endings)}"
        raise InvalidProblem(what, fix="nothing else is written: choose such a name", where=option)


def check_distinct(outputs: Mapping[str, str | None]) -> None:
    """Refuse two outputs in one file, of which the second would replace the first; by their options."""
    known: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None or path == "-":
            continue
        if (other := known.setdefault(Path(path).resolve(), option)) != option:
            what = f"`{path}` is the file of {other} too"
            raise InvalidProblem(what, fix="choose another name", where=option)


def write(
    results: Sequence[tuple[Problem, Result]],
    json_path: str | None,
    quiet: bool = False,
    report: str | None = None,
) -> int:
    """Print all results as text (unless stdout is for JSON), write JSON and report; the worst exit code."""
    if json_path != "-":
        for problem, result in results:
            print(render(problem, result))
    write_json(results, json_path, quiet)
    write_report(results, report, quiet)
    return worst([exit_code(result, problem) for problem, result in results])


def write_json(results: Sequence[tuple[Problem, Result]], json_path: str | None, quiet: bool) -> None:
    """The complete results as one JSON object, to stdout (`-`) or to a file."""
    if json_path is None:
        return
    documents = [to_json(problem, result) for problem, result in results]
    data: Mapping[str, object] = documents[0] if len(documents) == 1 else {"schema": 1, "results": documents}
    text = json.dumps(data, indent=1) + "\n"
    if json_path == "-":
        sys.stdout.write(text)
    else:
        write_file(Path(json_path), text)
        if not quiet:
            print(f"written: {json_path}", file=sys.stderr)


def write_report(results: Sequence[tuple[Problem, Result]], path: str | None, quiet: bool) -> None:
    """The results as one HTML file."""
    if path is not None:
        write_file(Path(path), page(results))
        if not quiet:
            print(f"written: {path}", file=sys.stderr)


def write_certificate(verdict: Verdict, path: str) -> str:
    """The certificate alone, as the stand-alone checker reads it; what was done, for stderr."""
    found = verdict.certificate if isinstance(verdict, Proved | Violated | Exact | PerStart) else None
    if found is None:
        return f"not written: {path} (there is no proof)"
    text = json.dumps(found.content, separators=(",", ":")) + "\n"
    write_file(Path(path), gzip.compress(text.encode(), mtime=0) if path.endswith(".gz") else text)
    return f"written: {path}"


def write_file(target: Path, content: str | bytes) -> None:
    """Write at once or not at all: an interrupted or full disk leaves the old file intact."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # as any other new file; temporary files are private
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InvalidProblem(f"`{target}` cannot be written: {error.strerror}") from None
        raise
