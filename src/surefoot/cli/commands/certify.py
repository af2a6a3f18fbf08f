"""`surefoot certify RESULT`: check the evidence of a stored result again, from the original files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import click

from surefoot.certify.barrier.claim import matches_barrier_claim
from surefoot.certify.barrier.convergence import matches_convergence_claim
from surefoot.certify.values.claim import matches_graph_claim, matches_process_claim
from surefoot.cli.model import load_source
from surefoot.cli.progress import limit_command
from surefoot.cli.read_json_file import read_json
from surefoot.cli.search_evidence import (
    SearchEvidence,
    apply_moved_bound,
    is_certificate_about,
    violation_objection,
)
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import refuse_given_options
from surefoot.errors import InvalidProblem
from surefoot.formats.barrier_file import is_foreign_barrier
from surefoot.formats.model_file import LoadedModel, file_sha256
from surefoot.formats.result_json import StoredResult, annotate_trace, find_base_folder, result_from_json
from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.reductions.discretise import discretise
from surefoot.run import arithmetic_of, in_reals_only
from surefoot.verdict.sentences import interruption_note, verdict_sentences
from surefoot.verdict.threshold import answer_threshold
from surefoot.verdict.verdict import Exact, Found, PerStart, Proved, Violated
from surefoot.visible import make_visible
from surefoot.work.deadline import Late
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate


@click.command()
@click.argument("result", type=click.Path(path_type=Path), metavar="RESULT")
@click.option("--base", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
              help="Where the files of RESULT are.  [default: in its folder, else here]")  # fmt: skip
@click.option("--trust-python", is_flag=True, help="Run the Python model that the result names.")
@click.option("--problem", metavar="MODEL|STUDY/PROBLEM", help="What somebody else's barriers are about.")
@click.option("--timeout", type=float, callback=limit_command, metavar="SECONDS",
              help="No default, but 120 for somebody else's barriers.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "json_path", metavar="FILE|-", help="What was found of somebody else's barriers.")
@click.option("--certificate", metavar="FILE", help="Write the proof for somebody else's barriers.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def certify(
    result: Path,
    base: Path | None,
    trust_python: bool,
    problem: str | None,
    timeout: float | None,
    seed: int,
    json_path: str | None,
    certificate: str | None,
    quiet: bool,
) -> int:
    """Re-check RESULT (JSON written by surefoot): unchanged inputs, a trace that replays exactly, a
    certificate that the independent checker accepts. RESULT may also be a certificate alone, or what
    `shield --json` wrote. With --problem it is a file with somebody else's barriers, which are proved or
    refuted for that problem.

    Exit 0 if every verdict's evidence is confirmed, 1 if some evidence is refuted, 3 if a verdict has no
    evidence that can be checked.
    """
    if problem is not None:
        if base is not None:
            raise InvalidProblem("the problem is named by --problem", fix="leave it out", where="--base")
        from surefoot.cli.commands.shield.foreign_barrier_text import certify_foreign_barriers

        seconds = timeout or FOREIGN
        return certify_foreign_barriers(
            result, problem, seconds, seed, json_path, certificate, quiet, trust_python
        )
    others = {"--seed": "seed", "--json": "json_path", "--certificate": "certificate"}
    refuse_given_options(others, "without --problem: it is about somebody else's barriers")
    try:
        return _certify_file(result, base, trust_python)
    except Late:
        _print_judgement("not certified", result.name, "the time ended before it was checked")
        return CODES["not certified"]


def _certify_file(result: Path, base: Path | None, trust_python: bool) -> int:
    """The exit code for all results of a file, or for the certificate that it is."""
    worst = 0
    near = base or result.parent
    data = read_json(result)
    if is_foreign_barrier(data):
        fix = "say what they are about: --problem MODEL"
        raise InvalidProblem("barriers of somebody else", fix=fix, where=str(result))
    if isinstance(data, dict) and "surefoot-certificate" in data:
        word, why = _check_certificate(data, near)
        _print_judgement(word, result.name, why)
        return CODES[word]
    if isinstance(data, dict) and "certified" in data and "verdict" not in data:
        word, why = _check_certificate(_shield_certificate(data, result), near)
        more = "\n  not certified: what else the file says; only the certificate in it was checked"
        _print_judgement(word, result.name, f"{why}{more if word == 'accepted' else ''}")
        return CODES[word]
    results = read_stored_results(data, result)
    for number, stored in enumerate(results):
        folder = _input_folder(stored, [base] if base is not None else [result.parent, Path()])
        try:
            with chdir(folder):  # so that every name means what it meant when the result was written
                word, why = _judge_result(stored, trust_python)
        except KeyboardInterrupt:
            print_line(interruption_note(number, len(results), "results"))
            return 130
        except Late:  # what was found of those before counts
            left = f"the time ended before it was checked ({len(results) - number} of {len(results)} left)"
            _print_judgement("not certified", stored.problem, left)
            return max(worst, CODES["not certified"], key=(0, 3, 1).index)
        _print_judgement(word, stored.problem, why)
        worst = max(worst, CODES[word], key=(0, 3, 1).index)
    return worst


def _input_folder(stored: StoredResult, folders: Sequence[Path]) -> Path:
    """Where the names of a result's files are meant: results of old told them from the folder of the run."""
    if (found := find_base_folder(stored.inputs, folders)) is not None:
        return found
    path = next(p for p in stored.inputs if not (folders[0] / p).is_file())
    where = " or ".join(f"`{folder}`" for folder in dict.fromkeys(folders))
    fix = "say with --base DIR from where its files are seen"
    raise InvalidProblem(f"the result is about `{path}`, which is not in {where}", fix=fix)


FOREIGN = 120.0  # seconds
CODES = {"accepted": 0, "rejected": 1, "not certified": 3}


def _print_judgement(word: str, name: str, why: str) -> None:
    """The lines of `accepted` are visible already; every other reason is one line."""
    print(make_visible(f"{word}: {name}: ") + (why if word == "accepted" else make_visible(why)))


def _shield_certificate(data: Mapping[str, Any], file: Path) -> Mapping[str, Any]:
    """The certificate in what `surefoot shield --json` wrote; shields of actions keep theirs apart."""
    content = data.get("certificate")
    if not isinstance(content, dict):
        fix = "give what `surefoot shield --certificate FILE` wrote"
        raise InvalidProblem("this describes a shield and has no certificate in it", fix=fix, where=str(file))
    return content


def _judge_result(stored: StoredResult, trust_python: bool) -> tuple[str, str]:
    """Accepted, rejected or not certified, and the reason."""
    if isinstance(stored.result.verdict, Proved):
        content = stored.result.verdict.certificate.content
        about_runs = stored.result.verdict.certificate.kind in (
            "execution",
            "graph",
            "barrier",
            "convergence",
        )
        why = (
            _problem_mismatch(content, stored, trust_python)
            if about_runs
            else _file_mismatch(content, stored)
        )
        return _check_certificate(content, Path()) if why is None else ("rejected", why)
    if isinstance(stored.result.verdict, Exact | PerStart) and stored.result.verdict.certificate is not None:
        why = _value_mismatch(stored.result.verdict, stored, trust_python)
        content = stored.result.verdict.certificate.content
        return _check_certificate(content, Path()) if why is None else ("rejected", why)
    if isinstance(stored.result.verdict, Found):
        return _judge_search(stored, stored.result.verdict, trust_python)
    if not isinstance(stored.result.verdict, Violated):
        return "not certified", f"`{stored.kind}` carries no evidence that can be checked"
    if (why := _changed_input(stored)) is not None:
        return "rejected", why
    loaded = apply_moved_bound(load_source(stored.source, trust_python=trust_python), stored.source)
    why = _unlisted_input(stored, loaded) or _trace_objection(stored, loaded, stored.result.verdict)
    if why is not None:
        return "rejected", why
    endless = ", and the checker accepts that the run can stay in its recurrence set"
    return "accepted", "the trace replays exactly" + (endless if stored.result.verdict.certificate else "")


def _judge_search(stored: StoredResult, found: Found, trust_python: bool) -> tuple[str, str]:
    """What the evidence of a search is worth: both ends of a tipping point, or three obligations."""
    about = _load_described_problem(stored, trust_python)
    if isinstance(about, str):
        return "rejected", about
    loaded, problem = about
    if problem.name != stored.problem:
        return "rejected", f"the files describe problem `{problem.name}`"
    evidence = SearchEvidence(found, loaded, stored.source, lambda c: _check_certificate(c, Path()))
    judgement = evidence.judge_artifact()
    if judgement[0] == "accepted" and (why := _statement_mismatch(stored, *evidence.about())) is not None:
        return "rejected", why
    return judgement


def _check_certificate(content: Mapping[str, Any], folder: Path) -> tuple[str, str]:
    """The checker's word on a certificate; files are looked for where it says, then in the folder."""
    try:
        found = judge_certificate(dict(content), base=folder)
    except BadCertificate as error:
        return "rejected", str(error)
    if not found.accepted:
        return "rejected", found.reason
    lines = [
        found.claim,
        f"arithmetic: {found.arithmetic}",
        *(f"not certified: {w}" for w in found.not_certified),
    ]
    return "accepted", "\n  ".join(map(make_visible, lines))


def _claim_mismatch(content: Mapping[str, Any], stored: StoredResult) -> str | None:
    """Why a certificate is not about what the result is about: its files, output and arithmetic."""
    claim, source = content.get("claim"), stored.source
    for part, name in (("network", "network"), ("property", "specification")):
        named = claim.get(part) if isinstance(claim, dict) else None
        file = str(named.get("file")) if isinstance(named, dict) else ""
        if (
            not isinstance(named, dict)
            or stored.inputs.get(file) != named.get("sha256")
            or file != source.get(name)
        ):
            return f"the certificate is about another {part} than the result"
    if isinstance(claim, dict) and claim.get("output") != source.get("output"):
        return "the certificate is about another output than the result"
    return _arithmetic_mismatch(content, stored)


def _file_mismatch(content: Mapping[str, Any], stored: StoredResult) -> str | None:
    """Why a certificate about files is not what the result says about them."""
    if (why := _claim_mismatch(content, stored) or _changed_input(stored)) is not None:
        return why
    loaded = load_source(stored.source)
    (problem,) = loaded.problems.values()
    return _unlisted_input(stored, loaded) or _statement_mismatch(stored, problem)


def _arithmetic_mismatch(content: Mapping[str, Any], stored: StoredResult) -> str | None:
    verdict = stored.result.verdict
    float32 = isinstance(verdict, Proved) and verdict.arithmetic != "proved-real"
    if float32 and content.get("arithmetic") not in ("float32", "exact", "float64"):
        return "the certificate is about real arithmetic, the result about float32"
    return None


def _load_described_problem(stored: StoredResult, trust_python: bool) -> tuple[LoadedModel, Problem] | str:
    """The files of a result and the problem that they describe, or why they are not those of the result."""
    if (why := _changed_input(stored)) is not None:
        return why
    loaded = load_source(stored.source, trust_python=trust_python)
    (problem,) = loaded.problems.values()
    return _unlisted_input(stored, loaded) or (loaded, problem)


def _problem_mismatch(content: Mapping[str, Any], stored: StoredResult, trust_python: bool) -> str | None:
    """Why a certificate is not about the problem that the files of the result describe."""
    found = _load_described_problem(stored, trust_python)
    if isinstance(found, str):
        return found
    loaded, problem = found
    match content.get("claim"):
        case {"kind": "graph"}:
            same = matches_graph_claim(content, problem, loaded.inputs)
        case {"kind": "barrier"}:
            same = matches_barrier_claim(content, discretise(problem, continuous=True))
        case {"kind": "convergence"}:
            same = matches_convergence_claim(content, discretise(problem))
        case _:
            same = is_certificate_about(content, problem, loaded.inputs)
    if not same:
        return "the certificate is about another problem than the files of the result describe"
    return _arithmetic_mismatch(content, stored) or _statement_mismatch(stored, problem)


def _value_mismatch(verdict: Exact | PerStart, stored: StoredResult, trust_python: bool) -> str | None:
    """Why a certificate of values is not about the problem or the numbers of its result."""
    found = _load_described_problem(stored, trust_python)
    if isinstance(found, str):
        return found
    loaded, problem = found
    if not matches_process_claim(verdict, discretise(problem), loaded.inputs):
        return "the certificate is about another problem, or other numbers, than the result"
    return _statement_mismatch(stored, problem)


def _changed_input(stored: StoredResult) -> str | None:
    """Which file is not what it was."""
    for path, digest in stored.inputs.items():
        if file_sha256(Path(path)) != digest:
            return f"`{path}` is not the file that the verdict is about"
    return None


def _unlisted_input(stored: StoredResult, loaded: LoadedModel) -> str | None:
    """Which file was read of which the result does not say what is in it."""
    more = sorted(set(loaded.inputs) - set(stored.inputs))
    return f"the result does not say which `{more[0]}` it is about" if more else None


def _statement_mismatch(stored: StoredResult, problem: Problem, real: bool = False) -> str | None:
    """Why the words of a result are not about the problem that its files describe, or not what it found.

    `real`: what it rests on was shown in exact real arithmetic only.
    """
    verdict = stored.result.verdict
    if problem.name != stored.problem:
        return f"the files describe problem `{problem.name}`"
    if stored.words not in (None, show_property(problem.property)):
        return "the result states another property than its files"
    if stored.statement not in (None, verdict_sentences(problem, verdict)):
        return "the result states something else than what its verdict says of its files"
    if (why := _threshold_mismatch(stored, problem)) is not None:
        return why
    if stored.result.arithmetic != arithmetic_of(problem, real or in_reals_only(verdict)):
        return "the result is about another arithmetic than its verdict"
    return None


def _threshold_mismatch(stored: StoredResult, problem: Problem) -> str | None:
    """Why the result answers the threshold of its property otherwise than its numbers do."""
    verdict = stored.result.verdict
    each = [v for _, v in verdict.table] if isinstance(verdict, PerStart) else []
    for said, about in zip(stored.thresholds, (verdict, *each), strict=True):
        if said not in (None, answer_threshold(problem.property, about)):
            return "the result answers a threshold otherwise than its numbers do"
    return None


def _trace_objection(stored: StoredResult, loaded: LoadedModel, verdict: Violated) -> str | None:
    """Why the stored trace does not refute the property of the problem read again from its files."""
    (problem,) = loaded.problems.values()
    if problem.name != stored.problem:
        return f"the files describe problem `{problem.name}`"
    executed = discretise(problem)
    shown = violation_objection(executed, verdict, loaded.inputs, lambda c: _check_certificate(c, Path()))
    return shown or _decision_mismatch(stored, problem, verdict) or _statement_mismatch(stored, problem)


def _decision_mismatch(stored: StoredResult, problem: Problem, verdict: Violated) -> str | None:
    """Why what the file says of the policy in each state is not what it sees and decides there."""
    if stored.annotations in ((), annotate_trace(problem, verdict.trace)):
        return None
    return "the policy sees or decides something else in the states of the trace than the result says"


def read_stored_results(data: object, path: Path) -> list[StoredResult]:
    """The results in a JSON file, one or several."""
    documents = data.get("results", [data]) if isinstance(data, dict) else []
    if not isinstance(documents, list) or not documents:
        raise InvalidProblem("not a result of surefoot", fix="give a file that --json wrote", where=str(path))
    try:
        return [result_from_json(d) for d in documents]
    except InvalidProblem as error:
        raise error.at(str(path)) from None
