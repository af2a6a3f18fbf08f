"""Questions that are answered by verifying several problems: tipping points, invariants, abstractions.

Each function asks `run.verify` about problems made from the one that is given, and its result says what the
answer rests on. The searches themselves are in `engines/`, the making of problems in `reductions/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from surefoot.certify.evidence import IN_REALS, CheckedEvidence, certify_verdict, certify_with_aid
from surefoot.certify.replay import replay
from surefoot.certify.runs.argument import ProofAid
from surefoot.engines.invariant_search import MovingBound, find_bounds, template_bounds
from surefoot.engines.needed_inputs import needed_inputs
from surefoot.engines.protocol import Engine
from surefoot.engines.tipping_point import (
    TippingPointSearch,
    bisect_tipping_point,
    bisection_grid,
    confirm_tipping_point,
    refine_grid,
)
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.reductions.abstraction import FreedValues, NetworkAbstraction, abstract_network_io
from surefoot.reductions.abstraction_request import describe_inputs
from surefoot.reductions.bound_template import BoundTemplate, parse_bound_template
from surefoot.reductions.discretise import discretise
from surefoot.reductions.proof_obligations import assume_invariant, invariance_problem
from surefoot.run import arithmetic_of, build_portfolio, in_reals_only, unanswered_result, verify
from surefoot.term.interval import Span
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import Term, Var
from surefoot.verdict.artifact import TippingPoint, Trial, property_answer
from surefoot.verdict.verdict import (
    Found,
    Holds,
    Proved,
    Reason,
    Result,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)
from surefoot.work.budget import Budget

LAST = 3  # candidates that are named where no invariant was found
SEARCHING = 0.6  # of the time; the rest is for the certificate of what was found


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How the single problems are verified, and what is written into every result."""

    engine: Engine | Sequence[Engine] | None = None
    budget: Budget = field(default_factory=Budget)
    inputs: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, object] = field(default_factory=dict)

    def decide(self, problem: Problem, budget: Budget) -> Result:
        return verify(problem, self.engine, budget, inputs=self.inputs, source=self.source)

    def sketch(self, problem: Problem, budget: Budget) -> Result:
        """The same without certificates: for a search whose result is certified in the end."""
        return verify(
            problem, self.engine, budget, inputs=self.inputs, source=self.source, certificates=False
        )

    def rest(self, part: float = 1.0) -> Budget:
        """A budget of all the time that is left, or of a part of it."""
        return self.budget.begin_part(self.budget.remaining() * part)

    def certify_with_aid(self, problem: Problem, holds: Holds, aid: ProofAid) -> CheckedEvidence:
        """What holds of the problem as it looks with an aid, certified of the problem itself."""
        return certify_with_aid(discretise(problem), holds, aid, self.inputs, self.rest())

    def result(self, problem: Problem, verdict: Verdict, certified: bool, how: str, *notes: str) -> Result:
        plain = unanswered_result(problem, verdict, self.budget, self.inputs, self.source)
        seconds, more = self.budget.elapsed_seconds(), tuple(n for n in notes if n)
        return replace(plain, engine=how, certified=certified, seconds=seconds, notes=plain.notes + more)


def find_tipping_point(
    problem: Problem,
    tighten: BoundTemplate,
    between: tuple[Fraction, Fraction],
    precision: Fraction,
    asking: SearchSettings,
    probes: int = 0,
) -> tuple[Problem, Result]:
    """Where bounds make a property hold: a result, and the problem that it is about."""
    where = refine_grid(bisection_grid(*between, precision, rises=tighten.rises))

    def family(value: Fraction) -> Problem:
        return tighten.at(problem, value)

    search = bisect_tipping_point(family, where, asking.sketch, asking.rest(SEARCHING), probes)
    if search.contradiction is None and search.reason is not Reason.INTERRUPTED:
        search = confirm_tipping_point(search, family, asking.decide, asking.budget)
    if search.contradiction is not None:
        against = Unknown(Reason.INCOMPLETE, search.contradiction)
        return problem, asking.result(problem, against, False, _engine_text(search), _question_count(search))
    if search.proved is None:
        return _nothing_proved(problem, search, family, asking)
    proved, refuted = search.proved, search.refuted
    text = tighten.text(proved.value)
    found = TippingPoint(
        text,
        proved,
        refuted,
        precision,
        search.trials,
        search.stopped,
        search.reason,
        tighten.condition(problem, proved.value),
    )
    certificate = proved.verdict.certificate if isinstance(proved.verdict, Proved) else None
    certified = proved.certified and (refuted is None or refuted.certified)
    while_kept = f"only runs that keep {text} are meant" if tighten.of_inputs else ""
    about = family(proved.value)
    verdict = Found(found, certificate)
    result = asking.result(about, verdict, certified, _engine_text(search), while_kept, _rests_on(proved))
    return about, _with_arithmetic(about, result, proved.verdict)


def _with_arithmetic(problem: Problem, result: Result, *shown: Verdict) -> Result:
    """The result with the arithmetic in which everything that it rests on was shown."""
    if any(map(in_reals_only, shown)):
        return replace(result, arithmetic=arithmetic_of(problem, real=True))
    return result


def _engine_text(search: TippingPointSearch) -> str:
    """The search, and the engine that answered its questions."""
    decisive = search.proved or search.refuted or (search.trials[0] if search.trials else None)
    return f"tipping point with {decisive.engine}" if decisive and decisive.engine else "tipping point"


def _nothing_proved(
    problem: Problem,
    search: TippingPointSearch,
    family: Callable[[Fraction], Problem],
    asking: SearchSettings,
) -> tuple[Problem, Result]:
    """No value in the range is proved: the easy end tells why."""
    how, counted = _engine_text(search), _question_count(search)
    first = search.trials[0] if search.trials else None
    match None if first is None else first.verdict:
        case Violated() as violated if first is not None and first.certified:
            note = f"violated already at the easy end of the range, {first.value}"
            about = family(first.value)
            return about, asking.result(about, violated, True, how, note, counted)
        case Vacuous(why):
            return problem, asking.result(problem, Vacuous(why), False, how, counted)
        case _:
            unknown = Unknown(search.reason or Reason.INCOMPLETE, search.stopped)
            return problem, asking.result(problem, unknown, False, how, counted)


def _rests_on(trial: Trial) -> str:
    match trial.verdict:
        case Holds(uncertified_by=name):
            return f"the proof rests on the word of `{name}`: no certificate"
        case Proved(arithmetic="proved-real"):
            return IN_REALS
        case _:
            return ""


def _question_count(search: TippingPointSearch) -> str:
    return f"{len(search.trials)} questions" if len(search.trials) != 1 else "1 question"


def parse_moving_bounds(
    problem: Problem, text: str, low: Fraction, high: Fraction, precision: Fraction | None = None
) -> tuple[MovingBound, ...]:
    """The bounds of a template that move between two values, by default in a hundred steps."""
    step = (high - low) / 100 if precision is None else precision
    return template_bounds(problem, parse_bound_template(text, problem), low, high, step)


def find_invariant(problem: Problem, moving: tuple[MovingBound, ...], asking: SearchSettings) -> Result:
    """Bounds that hold at the start, that no step leaves, and that exclude every bad state."""
    outcome = find_bounds(problem, moving, asking.sketch, asking.budget, asking.decide)
    how = "invariant by weakening and strengthening"
    tried = f"{len(outcome.candidates)} candidates"
    if outcome.invariant is None:
        nothing = outcome.verdict or Unknown(Reason.INCOMPLETE, "no invariant was found")
        last = tuple(f"tried {text}: {became}" for text, became in outcome.candidates[-LAST:])
        return asking.result(problem, nothing, False, how, tried, *last)
    how += f" with {outcome.invariant.obligations[-1].engine}"
    certified = all(o.certified for o in outcome.invariant.obligations)
    words = {o.verdict.uncertified_by for o in outcome.invariant.obligations if isinstance(o.verdict, Holds)}
    note = f"the obligations rest on the word of {', '.join(sorted(words))}: no certificate" if words else ""
    shown = [o.verdict for o in outcome.invariant.obligations]
    real = IN_REALS if any(map(in_reals_only, shown)) else ""
    result = asking.result(problem, Found(outcome.invariant, None), certified, how, note, real, tried)
    return _with_arithmetic(problem, result, *shown)


def verify_assuming(problem: Problem, invariant: Term, asking: SearchSettings) -> Result:
    """Decide a problem with the help of an invariant, which is proved first."""
    text, asking = show_term(invariant), _for_runs(asking)
    asking.budget.progress(f"proving the assumed invariant {text}")
    first = asking.decide(invariance_problem(problem, invariant), asking.rest(0.5))
    match property_answer(first.verdict, first.certified):
        case "proved" if not in_reals_only(first.verdict):
            pass
        case "refuted":
            what = f"the assumed invariant is wrong: {text} is violated after a run that replays"
            raise Unsupported(what, fix="assume an invariant of this very problem")
        case _:
            why = f"the assumed invariant {text} could not be proved"
            return asking.result(problem, Unknown(Reason.INCOMPLETE, why), False, first.engine)
    result = asking.sketch(assume_invariant(problem, invariant), asking.rest(SEARCHING))
    note = f"with the invariant {text}, which was proved first ({_proof_text(first)})"
    match result.verdict:
        case Violated(trace) if trace.recurrence or trace.times:  # its certificate is about the other problem
            original = asking.decide(problem, asking.rest())
            return replace(original, seconds=asking.budget.elapsed_seconds())
        case Violated(trace):
            return _replay_violation(problem, trace, result, asking, note)
        case Holds() as holds:
            carried = _carry_over(holds, f"with an invariant that was proved first: {text}")
            found = CheckedEvidence(
                carried, False, ("not certified: the assumed invariant has no certificate about runs",)
            )
            if isinstance(first.verdict, Proved) and first.verdict.certificate.kind == "execution":
                aid = ProofAid(invariant=first.verdict.certificate)
                found = asking.certify_with_aid(problem, carried, aid)
            return asking.result(problem, found.verdict, found.certified, result.engine, note, *found.notes)
        case other:
            return asking.result(problem, other, False, result.engine, note)


def _for_runs(asking: SearchSettings) -> SearchSettings:
    """Of several engines those that prove of runs, and know what to do with an invariant."""
    if asking.engine is not None and not isinstance(asking.engine, Sequence):
        return asking
    engines = build_portfolio() if asking.engine is None else asking.engine
    proving = [e for e in engines if e.name in ("bmc", "induction", "recurrence")]
    return replace(asking, engine=proving or engines)


def _proof_text(result: Result) -> str:
    kind = "certified" if result.certified else "not certified"
    how = result.verdict.how if isinstance(result.verdict, Holds) else ""
    return f"{how}, {kind}" if how else kind


def _replay_violation(
    problem: Problem, trace: Trace, result: Result, asking: SearchSettings, note: str
) -> Result:
    """A violation of a problem with the same runs is one of the original, if its evidence is about that."""
    executed, rest = discretise(problem), asking.rest()
    found = certify_verdict(executed, Violated(trace), "", asking.source, asking.inputs, rest)
    return asking.result(problem, found.verdict, found.certified, result.engine, note)


def _carry_over(holds: Holds, how: str) -> Holds:
    """What holds of another problem, as a statement about this one."""
    return replace(holds, how=f"{how}; {holds.how}" if holds.how else how)


def verify_abstracted(
    problem: Problem,
    freed: FreedValues | None,
    asking: SearchSettings,
    ranges: Mapping[int, Span] | None = None,
) -> Result:
    """Prove a problem with fewer inputs, or decide it as it is.

    Without `freed` find out which inputs a proof needs; `ranges`: in which the others are freed then.
    """
    if freed is None:
        return _find_needed_inputs(problem, asking, ranges or {})
    for index, span in freed.output_ranges.items():
        if (refused := _unproved_range(problem, index, span, asking)) is not None:
            return refused
    made = abstract_network_io(problem, freed)
    result = asking.sketch(made.problem, asking.rest(0.5))
    match result.verdict:
        case Holds() as holds:
            fewer = _with_fewer(problem, made, holds, result.engine, asking)
            if not isinstance(fewer.verdict, Unknown):
                return fewer
            note = f"with {made.words()} {fewer.verdict.detail}: all inputs were used"
        case Violated(trace):
            real = made.invert(trace)
            if (why := replay(problem, real)) is None:
                note = f"found with {made.words()}; the trace replays on the problem itself"
                return asking.result(problem, Violated(real), True, result.engine, note)
            note = f"with {made.words()} there is a trace, but it is spurious ({why}): all inputs were used"
        case Unknown(Reason.NUMERICS, detail):
            note = f"with {made.words()} {detail}: all inputs were used"
        case _:
            note = f"with {made.words()} there was no answer: all inputs were used"
    original = asking.decide(problem, asking.rest())
    return replace(original, notes=(*original.notes, note), seconds=asking.budget.elapsed_seconds())


def _unproved_range(problem: Problem, index: int, span: Span, asking: SearchSettings) -> Result | None:
    """Why a range that is given for an output must not be used; None if it is proved."""
    inside = span.condition(Var(network_output_name(index)))
    result = asking.decide(invariance_problem(problem, inside), asking.rest(0.5))
    if property_answer(result.verdict, result.certified) == "proved" and not in_reals_only(result.verdict):
        return None
    why = f"that output[{index}] keeps the given range could not be proved"
    return asking.result(problem, Unknown(Reason.INCOMPLETE, why), False, result.engine)


def _with_fewer(
    problem: Problem, made: NetworkAbstraction, holds: Holds, how: str, asking: SearchSettings
) -> Result:
    """What holds with fewer inputs, certified of the problem itself."""
    carried = _carry_over(holds, f"proved with {made.words()}")
    found = asking.certify_with_aid(problem, carried, ProofAid(*made.ranges()))
    depends = f"depends only on: {describe_inputs(made.kept, problem)}"
    carry = "the other inputs may be anything within their ranges at every step, so every run is covered"
    return asking.result(problem, found.verdict, found.certified, how, depends, carry, *found.notes)


def _find_needed_inputs(problem: Problem, asking: SearchSettings, ranges: Mapping[int, Span]) -> Result:
    """The problem itself first; if it holds, with as few inputs as a proof needs."""
    original = asking.decide(problem, asking.rest(0.4))
    if property_answer(original.verdict, original.certified) != "proved":
        return original
    try:
        needed = needed_inputs(problem, asking.sketch, asking.rest(SEARCHING), ranges)
    except Unsupported as why:
        return replace(original, notes=(*original.notes, f"no abstraction: {why}"))
    if needed.abstraction is None or needed.result is None:
        note = f"depends on every input, as far as {needed.questions} questions tell"
        return replace(original, notes=(*original.notes, note), seconds=asking.budget.elapsed_seconds())
    made = needed.abstraction
    assert isinstance(needed.result.verdict, Holds)
    found = asking.certify_with_aid(problem, needed.result.verdict, ProofAid(*made.ranges()))
    if isinstance(found.verdict, Unknown):
        note = "the inputs that a proof needs are not known: an answer was not confirmed"
        return replace(original, notes=(*original.notes, note), seconds=asking.budget.elapsed_seconds())
    how = "no proof without any of these" if needed.complete else "perhaps on fewer: the time ran out"
    names = (
        f"{describe_inputs(made.kept, problem)} ({how})"
        if made.kept
        else "nothing but the ranges of the inputs"
    )
    note = f"proved with {made.words()} as well; depends only on: {names}"
    rests = f"of the proof with fewer inputs, {found.notes[0]}" if found.notes else ""
    verdict, certified = original.verdict, original.certified
    if found.certified:
        verdict, certified = found.verdict, True
    notes = tuple(n for n in (*original.notes, note, rests) if n)
    return replace(
        original, verdict=verdict, certified=certified, notes=notes, seconds=asking.budget.elapsed_seconds()
    )


__all__ = [
    "IN_REALS",
    "SearchSettings",
    "find_invariant",
    "find_tipping_point",
    "verify_abstracted",
    "verify_assuming",
]
