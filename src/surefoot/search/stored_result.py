"""The evidence of a stored result, checked again on the problem that is read anew from its files.

A certificate must be about exactly that problem, a trace must replay on it, and the words of the result must
be what its verdict says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from surefoot.certify.barrier.claim import matches_barrier_claim
from surefoot.certify.barrier.convergence import matches_convergence_claim
from surefoot.certify.checker_process import judge_with_workers
from surefoot.certify.reach.claim import matches_reach_claim
from surefoot.certify.replay import replay
from surefoot.certify.runs.unfinished import finish_certificate, is_unfinished
from surefoot.certify.values.claim import matches_graph_claim, matches_process_claim
from surefoot.errors import InvalidProblem
from surefoot.formats.model_file import LoadedModel, file_sha256, read_model, set_time_semantics
from surefoot.formats.policy_file import load_policy
from surefoot.formats.result_json import StoredResult, annotate_trace
from surefoot.formats.vnnlib import no_float32_point, problem_from_vnnlib, read_vnnlib_file
from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.reductions.discretise import discretise
from surefoot.run import arithmetic_of, in_reals_only
from surefoot.search.search_evidence import (
    SearchEvidence,
    apply_moved_bound,
    is_certificate_about,
    violation_objection,
)
from surefoot.verdict.sentences import earlier_statement, verdict_sentences
from surefoot.verdict.threshold import answer_threshold
from surefoot.verdict.verdict import (
    Certificate,
    Exact,
    Found,
    Holds,
    PerStart,
    Proved,
    Violated,
    trace_key,
)
from surefoot.visible import make_visible
from surefoot.work.budget import Budget
from surefoot.work.child import WorkerDied
from surefoot_checker.kernel.strict_json import BadCertificate

Reload = Callable[[Mapping[str, Any]], LoadedModel]
Judge = Callable[[Mapping[str, Any]], tuple[str, str]]


def reload_source(
    source: Mapping[str, Any], *, trust_python: bool = False, load_study: Reload | None = None
) -> LoadedModel:
    """Read the problem of a stored result again, as the result says it was read.

    `load_study` reads the problem of a study, for those who have the studies.
    """
    fix = "give a file that --json wrote"
    constants = source.get("constants", [])
    others = [v for k, v in source.items() if k != "constants" and v is not None]
    if not isinstance(constants, list) or not all(isinstance(v, str) for v in (*constants, *others)):
        raise InvalidProblem("how the problem was read is not told in words", fix=fix, where="source")
    loaded = set_time_semantics(
        _read_again(source, trust_python, load_study), source.get("time"), source.get("method")
    )
    if len(loaded.problems) != 1:
        raise InvalidProblem("the result does not say which property it is about", fix=fix, where="source")
    return loaded


def _read_again(source: Mapping[str, Any], trust_python: bool, load_study: Reload | None) -> LoadedModel:
    match source:
        case {"kind": "vnnlib", "network": str(network), "specification": str(specification)}:
            spec = read_vnnlib_file(Path(specification))
            name = Path(specification).name
            read = load_policy(network, output=source.get("output")).network
            problem = problem_from_vnnlib(read, spec, name, float32=no_float32_point(spec) is None)
            inputs = {path: file_sha256(Path(path)) for path in (network, specification)}
            return LoadedModel({name: problem}, inputs, source)
        case {"kind": "study", "study": str()} if load_study is not None:
            return load_study(source)
        case {"kind": "model", "model": str(model)}:
            said = {k: v for k, v in source.items() if v is not None}
            given: dict[str, Any] = {
                k: Path(said[k]) for k in ("policy", "normalize", "property_file") if k in said
            }
            given |= {k: str(said[k]) for k in ("observe", "actions", "choose", "output") if k in said}
            given["constants"] = tuple(str(c) for c in source.get("constants", ()))
            given |= {k: said.get(k) == "yes" for k in ("no_policy", "ignore_goal", "normalise")}
            given["properties"] = (said["property"],) if "property" in said else ()
            return read_model(Path(model), trust_python=trust_python, **given)
        case _:
            what = "the result does not say from which files its problem was read"
            raise InvalidProblem(what, fix="give a file that --json wrote")


Keep = Callable[[Mapping[str, Any]], object]


def judge_stored_result(
    stored: StoredResult, reload: Reload, workers: int = 1, keep: Keep | None = None
) -> tuple[str, str]:
    """Accepted, rejected or not certified, and the reason; `reload` reads the problem that a source names."""
    judge = partial(judge_certificate_content, folder=Path(), workers=workers)
    if isinstance(stored.result.verdict, Proved):
        content = stored.result.verdict.certificate.content
        about_runs = stored.result.verdict.certificate.kind in (
            "execution",
            "graph",
            "barrier",
            "convergence",
            "reach",
        )
        why = (
            _problem_mismatch(content, stored, reload)
            if about_runs
            else _file_mismatch(content, stored, reload)
        )
        return judge(content) if why is None else ("rejected", why)
    if isinstance(stored.result.verdict, Exact | PerStart) and stored.result.verdict.certificate is not None:
        why = _value_mismatch(stored.result.verdict, stored, reload)
        content = stored.result.verdict.certificate.content
        return judge(content) if why is None else ("rejected", why)
    if stored.result.unchecked is not None:
        return _judge_unchecked(stored, stored.result.unchecked, reload, partial(judge, keep=keep))
    if isinstance(stored.result.verdict, Found):
        return _judge_search(stored, stored.result.verdict, reload, judge)
    if not isinstance(stored.result.verdict, Violated):
        return "not certified", f"`{stored.kind}` carries no evidence that can be checked"
    if (why := _changed_input(stored)) is not None:
        return "rejected", why
    loaded = apply_moved_bound(reload(stored.source), stored.source)
    why = _unlisted_input(stored, loaded) or _trace_objection(stored, loaded, stored.result.verdict)
    if why is not None:
        return "rejected", why
    if stored.result.verdict.trace.times:
        return "accepted", "the checker accepts that the run in continuous time violates the property"
    endless = ", and the checker accepts that the run can stay in its recurrence set"
    several = len(stored.result.witnesses)
    said = (
        f"the trace and all {several} witnesses replay exactly"
        if several > 1
        else "the trace replays exactly"
    )
    return "accepted", said + (endless if stored.result.verdict.certificate else "")


def _judge_unchecked(
    stored: StoredResult, kept: Certificate, reload: Reload, judge: Judge
) -> tuple[str, str]:
    """What there was no time to check when the result was written."""
    verdict = stored.result.verdict
    if isinstance(verdict, Exact | PerStart):
        why = _value_mismatch(replace(verdict, certificate=kept), stored, reload)
    elif isinstance(verdict, Holds):
        why = _problem_mismatch(kept.content, stored, reload)
    else:
        return "not certified", f"`{stored.kind}` carries no evidence that can be checked"
    return judge(kept.content) if why is None else ("rejected", why)


def _judge_search(stored: StoredResult, found: Found, reload: Reload, judge: Judge) -> tuple[str, str]:
    """What the evidence of a search is worth: both ends of a tipping point, or three obligations."""
    about = _load_described_problem(stored, reload)
    if isinstance(about, str):
        return "rejected", about
    loaded, problem = about
    if problem.name != stored.problem:
        return "rejected", f"the files describe problem `{problem.name}`"
    evidence = SearchEvidence(found, loaded, stored.source, judge)
    judgement = evidence.judge_artifact()
    if judgement[0] == "accepted" and (why := _statement_mismatch(stored, *evidence.about())) is not None:
        return "rejected", why
    return judgement


def judge_certificate_content(
    content: Mapping[str, Any], folder: Path, workers: int = 1, keep: Keep | None = None
) -> tuple[str, str]:
    """The checker's word on a certificate; files are looked for where it says, then in the folder.

    One that is unfinished is finished first; `keep` is called with what was accepted.
    """
    if is_unfinished(content):
        finished = finish_certificate(content, Budget(workers=workers), folder)
        if isinstance(finished, str):
            return "not certified", f"it is unfinished, and no proof was found: {finished}"
        content = finished.content
    try:
        found = judge_with_workers(content, folder, workers)
    except (BadCertificate, WorkerDied) as error:
        return "rejected", str(error)
    if not found.accepted:
        return "rejected", found.reason
    if keep is not None:
        keep(content)
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


def _file_mismatch(content: Mapping[str, Any], stored: StoredResult, reload: Reload) -> str | None:
    """Why a certificate about files is not what the result says about them."""
    if (why := _claim_mismatch(content, stored) or _changed_input(stored)) is not None:
        return why
    loaded = reload(stored.source)
    (problem,) = loaded.problems.values()
    return _unlisted_input(stored, loaded) or _statement_mismatch(stored, problem)


def _arithmetic_mismatch(content: Mapping[str, Any], stored: StoredResult) -> str | None:
    verdict = stored.result.verdict
    float32 = isinstance(verdict, Proved) and verdict.arithmetic != "proved-real"
    if float32 and content.get("arithmetic") not in ("float32", "exact", "float64"):
        return "the certificate is about real arithmetic, the result about float32"
    return None


def _load_described_problem(stored: StoredResult, reload: Reload) -> tuple[LoadedModel, Problem] | str:
    """The files of a result and the problem that they describe, or why they are not those of the result."""
    if (why := _changed_input(stored)) is not None:
        return why
    loaded = reload(stored.source)
    (problem,) = loaded.problems.values()
    return _unlisted_input(stored, loaded) or (loaded, problem)


def _problem_mismatch(content: Mapping[str, Any], stored: StoredResult, reload: Reload) -> str | None:
    """Why a certificate is not about the problem that the files of the result describe."""
    found = _load_described_problem(stored, reload)
    if isinstance(found, str):
        return found
    loaded, problem = found
    match content.get("claim"):
        case {"kind": "graph"}:
            same = matches_graph_claim(content, problem, loaded.inputs)
        case {"kind": "barrier"}:
            same = matches_barrier_claim(content, discretise(problem, continuous=True))
        case {"kind": "reach"}:
            same = matches_reach_claim(content, discretise(problem, continuous=True), loaded.inputs)
        case {"kind": "convergence"}:
            same = matches_convergence_claim(content, discretise(problem))
        case _:
            same = is_certificate_about(content, problem, loaded.inputs)
    if not same:
        return "the certificate is about another problem than the files of the result describe"
    return _arithmetic_mismatch(content, stored) or _statement_mismatch(stored, problem)


def _value_mismatch(verdict: Exact | PerStart, stored: StoredResult, reload: Reload) -> str | None:
    """Why a certificate of values is not about the problem or the numbers of its result."""
    found = _load_described_problem(stored, reload)
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
    told = (verdict_sentences(problem, verdict), earlier_statement(problem, verdict))
    if stored.statement not in (None, *told):
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
    executed = discretise(problem, continuous=True)
    shown = violation_objection(
        executed, verdict, loaded.inputs, partial(judge_certificate_content, folder=Path())
    )
    return (
        shown
        or _decision_mismatch(stored, problem, verdict)
        or _witness_mismatch(stored, problem, executed, verdict)
        or _statement_mismatch(stored, problem)
    )


def _witness_mismatch(
    stored: StoredResult, problem: Problem, executed: Problem, verdict: Violated
) -> str | None:
    """Why one of several runs does not refute the property, or is not told as it is."""
    runs = stored.result.witnesses
    if runs and (runs[0] != verdict.trace or len(set(map(trace_key, runs))) < len(runs)):
        return "its witnesses do not begin with its trace, or one of them stands there twice"
    if verdict.trace.recurrence or verdict.trace.times:
        return None if len(runs) < 2 else "its further witnesses cannot be replayed"
    for number, trace in enumerate(runs):
        if (why := replay(executed, trace)) is not None:
            return f"witness {number + 1} does not replay: {why}"
        if stored.decisions[number] not in ((), annotate_trace(problem, trace)):
            return f"the policy sees or decides something else in the states of witness {number + 1}"
    return None


def _decision_mismatch(stored: StoredResult, problem: Problem, verdict: Violated) -> str | None:
    """Why what the file says of the policy in each state is not what it sees and decides there."""
    if stored.annotations in ((), annotate_trace(problem, verdict.trace)):
        return None
    return "the policy sees or decides something else in the states of the trace than the result says"
