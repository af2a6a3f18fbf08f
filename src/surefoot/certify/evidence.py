"""The evidence of a verdict, checked by other code than the engine's.

Traces are replayed, certificates are given to the independent checker. What an engine holds for its own
reasons is proved once more, in the form that the checker derives itself; where that fails the verdict stays
what it was, the word of a solver, and a note says what is not certified. All of that is done in the time of
the question: what could not be checked by then is kept, so that it can be checked later.

What proves and what checks proofs is imported where it is used: a run is replayed without it, and a command
that shows a violation should not take a second to begin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from surefoot.certify.checker_process import CheckerAnswer, ask_checker
from surefoot.certify.replay import replay, replay_stem
from surefoot.certify.runs.argument import ProofAid
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, NeverBefore, Property, Recurs
from surefoot.term.term import Term
from surefoot.verdict.verdict import (
    AbstractInvariant,
    Certificate,
    Exact,
    Holds,
    PerStart,
    ProofArgument,
    Proved,
    Reason,
    Result,
    Trace,
    Unknown,
    Verdict,
    Violated,
)
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

LEAST_SECONDS = 10.0  # for a proof, on top of so many times the time of the search
TIMES = 4.0
IN_REALS = "proved for exact real arithmetic only"
NOT_WANTED = "not certified: no other code than the engine's has checked the answer, as was asked for"
NOT_EXCLUDED = "not excluded by this argument"
LONGEST = 8  # for an argument that no engine has asked for
TOO_LATE = "the certificate could not be checked in time"
Beside = Proved | Violated | Holds | Unknown  # verdicts with which something else may have been found


@dataclass(frozen=True, slots=True)
class CheckedEvidence:
    """A verdict after its evidence was checked."""

    verdict: Verdict
    certified: bool
    notes: tuple[str, ...] = ()
    unchecked: Certificate | None = None  # for want of time
    claim: str = ""  # of the certificate, in the words of the checker


def certify_verdict(
    problem: Problem,
    verdict: Verdict,
    solver: str,
    source: Mapping[str, object],
    inputs: Mapping[str, str],
    budget: Budget,
) -> CheckedEvidence:
    """Replay what claims a violation, check what claims a proof; without that neither is an answer."""
    checked = call_in_time(
        budget,
        lambda: _certify_by_kind(problem, verdict, solver, source, inputs, budget),
        lambda: _leave_unchecked(problem, verdict, solver, inputs),
    )
    checked = _keep_unfinished(problem, checked)
    beside = verdict.artifact if isinstance(verdict, Beside) else None
    if beside is None or not isinstance(checked.verdict, Beside):
        return checked
    return replace(checked, verdict=replace(checked.verdict, artifact=beside))


def _keep_unfinished(problem: Problem, checked: CheckedEvidence) -> CheckedEvidence:
    """Beside what could not be proved again in time: what is needed to do it later, elsewhere."""
    verdict = checked.verdict
    if checked.certified or checked.unchecked is not None or not isinstance(verdict, Holds):
        return checked
    if any(NOT_EXCLUDED in note for note in checked.notes):
        return checked  # more time would not help
    from surefoot.certify.runs.unfinished import build_unfinished_certificate

    return replace(checked, unchecked=build_unfinished_certificate(problem, verdict))


def _build_without_check(problem: Problem, verdict: Verdict, inputs: Mapping[str, str]) -> Certificate | None:
    """The certificate of what an engine has shown, as far as it is a matter of writing it down."""
    from surefoot.certify.barrier.claim import build_barrier_certificate
    from surefoot.certify.barrier.convergence import build_convergence_certificate
    from surefoot.certify.reach.claim import build_reach_certificate
    from surefoot.certify.values.claim import build_graph_certificate, build_process_certificate

    found: Certificate | str | None = None
    try:
        match verdict:
            case Proved(Certificate("barrier", sets)):
                found = build_barrier_certificate(problem, sets)
            case Proved(Certificate("convergence", sets)):
                found = build_convergence_certificate(problem, sets)
            case Proved(Certificate("reach", shown)):
                found = build_reach_certificate(problem, shown, inputs)
            case Exact() | PerStart():
                found = build_process_certificate(problem, verdict, inputs)
            case Holds(argument=ProofArgument("graph")):
                found = build_graph_certificate(problem, inputs)
            case Holds(
                argument=ProofArgument("closed", invariant=None, states=AbstractInvariant() as states)
            ):
                found = build_graph_certificate(problem, inputs, states)
    except Unsupported:
        return None
    return found if isinstance(found, Certificate) else None


def _leave_unchecked(
    problem: Problem, verdict: Verdict, solver: str, inputs: Mapping[str, str]
) -> CheckedEvidence:
    """What is left of a verdict whose evidence was not looked at in time."""
    kept = _build_without_check(problem, verdict, inputs)
    match verdict:
        case Violated():
            late = "a violation was found, but it could not be replayed and certified in time"
            return CheckedEvidence(Unknown(Reason.TIMEOUT, late), False)
        case Proved():
            word = _weaken_proof(verdict, solver)
            return CheckedEvidence(word, False, (f"not certified: {TOO_LATE}",), kept)
        case Exact() | PerStart():
            return _uncertified_values(verdict, TOO_LATE, kept)
        case Holds(as_asked=True, argument=ProofArgument()):
            return CheckedEvidence(verdict, False, (f"not certified: {TOO_LATE}",), kept)
        case _:
            return CheckedEvidence(verdict, False)


def _certify_by_kind(
    problem: Problem,
    verdict: Verdict,
    solver: str,
    source: Mapping[str, object],
    inputs: Mapping[str, str],
    budget: Budget,
) -> CheckedEvidence:
    match verdict:
        case Violated(trace) if trace.recurrence:
            return _certify_recurrence(problem, trace, inputs, budget)
        case Violated(trace, Certificate("reach-violation", shown)):
            return _certify_flow_run(problem, trace, shown, inputs, budget)
        case Violated(trace):
            if (why := replay(problem, trace)) is not None:
                return CheckedEvidence(Unknown(Reason.SPURIOUS, f"the trace does not replay: {why}"), False)
            return CheckedEvidence(verdict, True)
        case Proved(Certificate("barrier" | "convergence" as kind, sets)):
            from surefoot.certify.barrier.claim import build_barrier_certificate
            from surefoot.certify.barrier.convergence import build_convergence_certificate

            build = build_barrier_certificate if kind == "barrier" else build_convergence_certificate
            try:
                closed: Certificate | str = build(problem, sets)
            except Unsupported as why:
                closed = str(why)
            return _check_claimed(closed, "proved", Holds(None, solver, as_asked=True), budget)
        case Proved(Certificate("reach", shown)):
            from surefoot.certify.reach.claim import build_reach_certificate

            try:
                followed: Certificate | str = build_reach_certificate(problem, shown, inputs)
            except Unsupported as why:
                followed = str(why)
            return _check_claimed(followed, "proved", Holds(None, solver, as_asked=True), budget)
        case Proved(found, arithmetic):
            from surefoot.certify.vnnlib_claim import restate_for_files

            content = restate_for_files(found.content, source, inputs)
            otherwise = Holds(0, solver, as_asked=True)
            if content is None:
                return _certify_start(problem, verdict, otherwise, inputs, budget)
            return _check_claimed(Certificate(found.kind, content), arithmetic, otherwise, budget)
        case Exact() | PerStart():
            return _certify_values(problem, verdict, inputs, budget)
        case Holds(as_asked=True, argument=ProofArgument("graph")):
            from surefoot.certify.values.claim import build_graph_certificate

            return _check_claimed(build_graph_certificate(problem, inputs), "proved", verdict, budget)
        case Holds(
            as_asked=True, argument=ProofArgument("closed" | "parts", invariant=invariant, states=states)
        ):
            return _certify_closed_set(problem, verdict, invariant, states, inputs, budget)
        case Holds(as_asked=True, argument=ProofArgument()):
            return certify_with_aid(problem, verdict, ProofAid(), inputs, budget)
        case _:
            return CheckedEvidence(verdict, False)


def _certify_closed_set(
    problem: Problem,
    holds: Holds,
    invariant: Term | None,
    states: AbstractInvariant | None,
    inputs: Mapping[str, str],
    budget: Budget,
) -> CheckedEvidence:
    """No run leaves a set of states: shown by proofs about a condition, or by looking at all of its states.

    If that fails all reachable states are looked at; a set may be closed and yet leave no room for rounding.
    """
    from surefoot.certify.values.claim import build_graph_certificate

    shown = CheckedEvidence(holds, False)
    if invariant is not None:
        shown = _certify_invariant(problem, holds, invariant, inputs, budget)
    if shown.certified or states is None:
        return shown
    for claimed in (
        build_graph_certificate(problem, inputs, states),
        build_graph_certificate(problem, inputs),
    ):
        shown = _check_claimed(claimed, "proved", holds, budget)
        if shown.certified or budget.is_spent():
            break
    return shown


def _certify_invariant(
    problem: Problem, holds: Holds, invariant: Term, inputs: Mapping[str, str], budget: Budget
) -> CheckedEvidence:
    """A condition that no run leaves and that excludes what is bad: as a whole, or part by part."""
    many = holds.argument is not None and holds.argument.kind == "parts"
    why = ""
    for way in (_prove_by_parts,) if many else (_prove_whole, _prove_by_parts):
        claimed = way(problem, invariant, inputs, budget)
        if isinstance(claimed, Certificate):
            return _check_claimed(claimed, "proved", holds, budget)
        why = why or claimed
    return CheckedEvidence(holds, False, (f"not certified: that no run leaves the abstract states: {why}",))


def _prove_whole(
    problem: Problem, invariant: Term, inputs: Mapping[str, str], budget: Budget
) -> Certificate | str:
    lemma = replace(problem, property=_never_outside(problem, invariant))
    closed = _certify_runs(lemma, ProofArgument("closed", 1), inputs, budget)
    if isinstance(closed, str):
        return closed
    return _certify_runs(
        problem, ProofArgument("induction", 1), inputs, budget, aid=ProofAid(invariant=closed)
    )


def _never_outside(problem: Problem, invariant: Term) -> Never | NeverBefore:
    """That the runs which the property is about, perhaps only up to a goal, keep a condition."""
    asked = problem.property
    return NeverBefore(~invariant, asked.goal) if isinstance(asked, NeverBefore) else Never(~invariant)


def _prove_by_parts(
    problem: Problem, invariant: Term, inputs: Mapping[str, str], budget: Budget
) -> Certificate | str:
    try:
        written = _write_problem(replace(problem, property=_never_outside(problem, invariant)), inputs)
    except Unsupported as why:
        return str(why)
    inside = ProofAid(inside=["not", written["property"]["condition"]])
    return _certify_runs(problem, ProofArgument("parts", 1), inputs, budget, aid=inside)


def certify_with_aid(
    problem: Problem, holds: Holds, aid: ProofAid, inputs: Mapping[str, str], budget: Budget
) -> CheckedEvidence:
    """What an engine holds of the problem as it looks with an aid, proved of the problem itself."""
    if holds.argument is None or not holds.as_asked:
        return CheckedEvidence(holds, False)
    argument = holds.argument
    return call_in_time(
        budget,
        lambda: _prove_again(problem, holds, argument, aid, inputs, budget),
        lambda: _leave_unchecked(problem, holds, holds.uncertified_by, inputs),
    )


def _prove_again(
    problem: Problem,
    holds: Holds,
    argument: ProofArgument,
    aid: ProofAid,
    inputs: Mapping[str, str],
    budget: Budget,
) -> CheckedEvidence:
    others = _other_arguments(problem.property, argument)
    never = isinstance(problem.property, Never | NeverBefore) and problem.property.steps is None
    simple = [(argument, True)] if never else []
    first = ""
    for attempt, differing in [(argument, False), *((other, False) for other in others), *simple]:
        claimed = _certify_runs(problem, attempt, inputs, budget, aid=aid, simple=differing)
        if isinstance(claimed, Certificate):
            return _check_claimed(claimed, "proved", holds, budget)
        first = first or claimed
    return _check_claimed(first, "proved", holds, budget)


def _certify_values(
    problem: Problem, verdict: Exact | PerStart, inputs: Mapping[str, str], budget: Budget
) -> CheckedEvidence:
    """Bounds of a value: the checker derives the process again and looks at every state."""
    from surefoot.certify.values.claim import build_process_certificate

    try:
        claimed = build_process_certificate(problem, verdict, inputs)
    except Unsupported as why:
        return _uncertified_values(verdict, str(why))
    if claimed is None:
        return CheckedEvidence(verdict, False)
    budget.progress("checking the certificate")
    found = ask_checker(claimed.content, budget)
    if found.accepted:
        certified = replace(verdict, certificate=claimed)
        return CheckedEvidence(certified, True, _near_ties(verdict), claim=found.text)
    if found.refused:
        rejected = f"the checker rejects the certificate: {found.text}"
        return CheckedEvidence(Unknown(Reason.NUMERICS, rejected), False)
    return _uncertified_values(verdict, f"there is a certificate, but {found.text}", claimed)


def _uncertified_values(
    verdict: Exact | PerStart, why: str, unchecked: Certificate | None = None
) -> CheckedEvidence:
    notes = (f"not certified: {why}", *_near_ties(verdict))
    return CheckedEvidence(_drop_certificate(verdict), False, notes, unchecked)


def _near_ties(verdict: Exact | PerStart) -> tuple[str, ...]:
    """States where another order of summation in the network might pick another action."""
    found = None if verdict.certificate is None else verdict.certificate.content.get("near ties")
    if not isinstance(found, list) or not found:
        return ()
    shown = ", ".join(f"{name} = {value}" for name, value in found[0].items() if not isinstance(value, tuple))
    return (f"near tie: where {shown}, another order of summation may decide otherwise",)


def _drop_certificate(verdict: Exact | PerStart) -> Exact | PerStart:
    """The same values without a certificate."""
    if isinstance(verdict, Exact):
        return replace(verdict, certificate=None)
    rows = ((s, _drop_certificate(v) if isinstance(v, Exact) else v) for s, v in verdict.table)
    return PerStart(tuple(rows), None)


def certify_sets(
    problem: Problem, sets: Mapping[str, object], budget: Budget
) -> tuple[Certificate | None, CheckerAnswer]:
    """The certificate that no step of this program or shield leaves its sets, and what the checker says.

    The claim is about the starts that the sets cover: whether these are all is for the caller to say.
    """
    from surefoot.certify.barrier.claim import build_barrier_certificate

    try:
        claimed = build_barrier_certificate(problem, sets)
    except Unsupported as why:
        return None, CheckerAnswer(False, str(why))
    budget.progress("checking the certificate")
    return claimed, ask_checker(claimed.content, budget)


def leave_uncertified(problem: Problem, verdict: Verdict, solver: str, budget: Budget) -> CheckedEvidence:
    """Replay what claims a violation; what claims a proof stays the word of the solver, unchecked."""
    match verdict:
        case Violated():
            return certify_verdict(problem, verdict, solver, {}, {}, budget)
        case Proved():
            return CheckedEvidence(_weaken_proof(verdict, solver), False)
        case _:
            return CheckedEvidence(verdict, False)


def say_unwanted(result: Result) -> Result:
    """The answer of a search whose evidence nobody wanted, which says so."""
    verdict = result.verdict
    if isinstance(verdict, Exact | PerStart):
        verdict = _drop_certificate(verdict)
    elif not (isinstance(verdict, Holds) and verdict.as_asked):
        return result
    return replace(result, verdict=verdict, notes=(*result.notes, NOT_WANTED))


def _weaken_proof(proved: Proved, solver: str) -> Holds | Unknown:
    """A proof as what it is without its certificate."""
    match proved:
        case Proved(Certificate("barrier" | "convergence" | "reach")):
            return Holds(None, solver, as_asked=True)
        case Proved(_, "proved"):
            return Holds(0, solver, as_asked=True, argument=ProofArgument("unrolled", 0))
        case _:
            return Unknown(Reason.NUMERICS, IN_REALS)


def _certify_recurrence(
    problem: Problem, trace: Trace, inputs: Mapping[str, str], budget: Budget
) -> CheckedEvidence:
    """A run into a set that it need not leave: replayed, and the set certified; or no answer."""
    if (why := replay_stem(problem, trace)) is not None:
        return CheckedEvidence(Unknown(Reason.SPURIOUS, f"the trace does not replay: {why}"), False)
    from surefoot.certify.runs.recurrence import recurrence_certificate

    found = recurrence_certificate(problem, trace, inputs, _proof_budget(budget))
    if isinstance(found, str):
        what = "a run was found that stays among states that are not good, but that is not certified"
        return CheckedEvidence(Unknown(Reason.INCOMPLETE, f"{what}: {found}"), False)
    budget.progress("checking the certificate")
    answer = ask_checker(found.content, budget)
    if not answer.accepted:
        reason = Reason.NUMERICS if answer.refused else Reason.INCOMPLETE
        what = f"the checker does not accept the certificate of a violation: {answer.text}"
        return CheckedEvidence(Unknown(reason, what), False)
    return CheckedEvidence(Violated(trace, found), True, claim=answer.text)


def _certify_flow_run(
    problem: Problem, trace: Trace, shown: Mapping[str, object], inputs: Mapping[str, str], budget: Budget
) -> CheckedEvidence:
    """A run in continuous time: the checker follows it in enclosures of its own; or there is no answer."""
    from surefoot.certify.reach.claim import build_reach_certificate

    what = "a run was followed that violates the property, but that is not certified"
    try:
        claimed = build_reach_certificate(problem, shown, inputs, "reach-violation")
    except Unsupported as why:
        return CheckedEvidence(Unknown(Reason.INCOMPLETE, f"{what}: {why}"), False)
    budget.progress("checking the certificate")
    answer = ask_checker(claimed.content, budget)
    if answer.accepted:
        return CheckedEvidence(Violated(trace, claimed), True, claim=answer.text)
    if answer.refused:
        why_not = f"the checker does not accept the certificate of a violation: {answer.text}"
        return CheckedEvidence(Unknown(Reason.NUMERICS, why_not), False)
    return CheckedEvidence(Unknown(Reason.TIMEOUT, f"{what}: {answer.text}"), False, (), claimed)


def _proof_budget(budget: Budget) -> Budget:
    """The time for a proof."""
    seconds = min(budget.remaining(), LEAST_SECONDS + TIMES * budget.elapsed_seconds())
    return budget.begin_part(seconds)


def _certify_start(
    problem: Problem, proved: Proved, otherwise: Holds, inputs: Mapping[str, str], budget: Budget
) -> CheckedEvidence:
    """A proof about the first state alone: the engine's, if it also shows what the checker derives."""
    from surefoot.certify.runs.prove import run_certificate_content
    from surefoot.certify.vnnlib_claim import cases_without_controls

    argument, content = ProofArgument("unrolled", 0), proved.certificate.content
    try:
        written = _write_problem(problem, inputs)
    except Unsupported as why:
        return _check_claimed(str(why), proved.arithmetic, otherwise, budget)
    shown = [{"obligation": "violation", "steps": 0, "cases": cases_without_controls(content)}]
    said = {"kind": argument.kind, "steps": argument.steps}
    restated = run_certificate_content(written, said, shown, str(content["arithmetic"]))
    evidence = _check_claimed(Certificate("execution", restated), proved.arithmetic, otherwise, budget)
    if not isinstance(evidence.verdict, Unknown):
        return evidence
    claimed = _certify_runs(problem, argument, inputs, budget, proved.arithmetic)
    return _check_claimed(claimed, proved.arithmetic, otherwise, budget)


def _write_problem(problem: Problem, inputs: Mapping[str, str]) -> dict[str, Any]:
    """The problem as a certificate has it; `Unsupported` where it has no words for it."""
    from surefoot.certify.runs.canonical import run_problem_to_json

    return run_problem_to_json(problem, inputs)


def _other_arguments(asked: Property, tried: ProofArgument) -> tuple[ProofArgument, ...]:
    """Where every run of some length returns to an earlier state, there may be a proof by induction."""
    if tried.kind == "induction":
        return ()
    whole = tried.steps + 1
    match asked:
        case Never(_, None) | NeverBefore(_, _, None):
            return tuple(ProofArgument("induction", k) for k in sorted({1, 2, whole}) if k <= LONGEST)
        case Recurs() if whole <= LONGEST:
            return (ProofArgument("induction", whole, whole),)
        case _:
            return ()


def _certify_runs(
    problem: Problem,
    argument: ProofArgument,
    inputs: Mapping[str, str],
    budget: Budget,
    arithmetic: str = "proved",
    aid: ProofAid | None = None,
    simple: bool = False,
) -> Certificate | str:
    """A certificate that has the problem and the argument in it, or why there is none."""
    try:
        written = _write_problem(problem, inputs)
    except Unsupported as why:
        return str(why)
    from surefoot.certify.runs.prove import prove_run_certificate

    single = "float32" if arithmetic == "proved" else "real"
    return prove_run_certificate(
        problem, written, argument, _proof_budget(budget), single, aid, simple=simple
    )


def _check_claimed(
    claimed: Certificate | str, arithmetic: str, otherwise: Holds, budget: Budget
) -> CheckedEvidence:
    """The proof, if the checker accepts it; `otherwise` if there is none for want of words or time."""
    unchecked: Certificate | None = None
    if isinstance(claimed, Certificate):
        budget.progress("checking the certificate")
        found = ask_checker(claimed.content, budget)
        if found.accepted:
            return CheckedEvidence(Proved(claimed, arithmetic), True, claim=found.text)
        if found.refused:
            why = f"the checker rejects the certificate: {found.text}"
            return CheckedEvidence(Unknown(Reason.NUMERICS, why), False)
        unchecked, claimed = claimed, f"there is a certificate, but {found.text}"
    if arithmetic != "proved":
        why = f"shown in real arithmetic only, and not certified: {claimed}"
        return CheckedEvidence(Unknown(Reason.NUMERICS, why), False, (), unchecked)
    return CheckedEvidence(otherwise, False, (f"not certified: {claimed}",), unchecked)
