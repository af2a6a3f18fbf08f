"""What was found out, in sentences: what holds or fails, from which starts, in which environment."""

from __future__ import annotations

import re
from decimal import Context
from fractions import Fraction

from surefoot.errors import SurefootError
from surefoot.problem.environment import Choice, Environment
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Property, Recurs, Timed, Within
from surefoot.problem.property_printer import show_property
from surefoot.problem.semantics import State, holds_in_state, names_in_state
from surefoot.problem.window import windows_of
from surefoot.term.decimal_literals import show_number
from surefoot.term.evaluate import evaluate_term
from surefoot.term.lexer import shorten_text
from surefoot.term.number import brief_number
from surefoot.term.printer import show_term
from surefoot.term.term import TRUE, Apply, Const, Op, Term, free_names
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType
from surefoot.verdict.threshold import answer_threshold, best_start_reminder
from surefoot.verdict.verdict import Holds, Proved, Trace, Unknown, Verdict, Violated

LONGEST = 400  # characters of a condition; the whole one is in the files
ROUNDED = Context(prec=10)
LONG_NUMBER = re.compile(r"(?<![\w.])-?(?=[\d.]{19})\d+(?:\.\d+)?(?:e-?\d+)?")  # a float64 written out


def round_long_numbers(text: str) -> str:
    """A term for the eye only, with numbers of ten digits where others fill the line. It stands where its
    reader is told so, never in place of the term: that has to read back as itself."""
    return LONG_NUMBER.sub(lambda found: f"{ROUNDED.create_decimal(found[0]).normalize():f}", text)


def cut_term(text: str) -> str:
    """A term that fills no page; one that is cut ends in `…`, which cannot be read as a term."""
    return shorten_text(text, LONGEST)


def interruption_note(done: int, total: int, what: str) -> str:
    """How far something came of which a part is shown: the mark of every partial result."""
    return f"interrupted after {done} of {total} {what}"


def verdict_sentences(problem: Problem, verdict: Verdict) -> tuple[str, ...]:
    """A few sentences that a reader who has not seen the model understands."""
    return (
        _verdict_sentence(problem, verdict),
        *_threshold_reminder(problem),
        *_start_sentences(problem.environment),
        *_choice_sentences(problem.environment),
        *_policy_sentence(problem),
    )


def _verdict_sentence(problem: Problem, verdict: Verdict) -> str:
    asked = problem.property
    match verdict:
        case Proved(_, arithmetic):
            limited = "" if arithmetic == "proved" else " This is shown for exact real arithmetic only."
            return f"Proved: {property_clause(asked)}.{limited}"
        case Violated(trace):
            return f"Violated: {violation_clause(problem, trace)}."
        case Holds(None, solver, how=how):
            by = f" {how}" if how else ""
            return f"Holds{by}, on the word of `{solver}` and without certificate: {property_clause(asked)}."
        case Holds(int(steps), solver):
            within = property_clause(asked, steps)
            return f"Holds on the word of `{solver}`, without certificate: {within}."
        case Unknown(_, _, int(steps), solver):
            return f"Open. On the word of `{solver}`: {property_clause(asked, steps)}."
        case Unknown():
            return f"Open: whether {property_clause(asked)}."
        case _:
            answer = answer_threshold(asked, verdict)
            return f"{'Asked' if answer is None else answer.capitalize()}: {show_property(asked)}."


def violation_clause(problem: Problem, trace: Trace) -> str:
    """What goes wrong in a run, and when: with the number that is out of bounds where there is one."""
    asked, steps = problem.property, len(trace.moves)
    when = f"after {count_noun(steps, 'step')}" if steps else "at its start"
    if isinstance(asked, Timed):
        asked = asked.asked
        when = f"at time {show_number(trace.times[-1])}" if trace.times else when
    elif trace.times:
        when = f"at time {show_number(trace.times[-1])}"
    ever = (
        "a run that goes round for ever"
        if trace.loop is not None
        else "a run that stays in a set of states for ever"
    )
    match asked:
        case Never(bad) | NeverBefore(bad):
            before = f", before `{_shorten_term(asked.goal)}`" if isinstance(asked, NeverBefore) else ""
            limit = None if trace.times else _broken_limit(problem, trace.states[-1], bad)
            if limit is not None:
                return f"{limit[0]} {when}{before}; {limit[1]}"
            return f"a run reaches `{_shorten_term(bad)}` {when}{before}"
        case Eventually(good) if trace.loop is not None or trace.recurrence:
            return f"{ever} never comes to `{_shorten_term(good)}`"
        case Recurs(good) if trace.loop is not None or trace.recurrence:
            return f"{ever} does not come to `{_shorten_term(good)}` again"
        case Eventually(good) | Recurs(good):
            return f"a run ends {when} and does not come to `{_shorten_term(good)}`"
        case Within(good):
            return f"a run of {count_noun(steps, 'step')} does not come to `{_shorten_term(good)}`"
        case _:
            return f"a run of {count_noun(steps, 'step')} shows that not {property_clause(problem.property)}"


LIMITS = {  # of `term op number` and `number op term`, where that is bad
    (Op.LE, "right"): "it must stay above {}",
    (Op.LT, "right"): "it must not be below {}",
    (Op.LE, "left"): "it must stay below {}",
    (Op.LT, "left"): "it must not be above {}",
    (Op.EQ, "right"): "it must never be {}",
    (Op.EQ, "left"): "it must never be {}",
}


def _broken_limit(problem: Problem, state: State, bad: Term) -> tuple[str, str] | None:
    """Of a comparison with a number, or the first of several that holds: what is, and what must be."""
    if isinstance(bad, Apply) and bad.op is Op.OR:
        return next((found for part in bad.args if (found := _broken_limit(problem, state, part))), None)
    if not isinstance(bad, Apply) or (bad.op, "left") not in LIMITS:
        return None
    left, right = bad.args
    side = "left" if isinstance(left, Const) else "right"
    limit, term = (left, right) if isinstance(left, Const) else (right, left)
    if not isinstance(limit, Const) or isinstance(limit.value, bool) or isinstance(term, Const):
        return None
    try:
        if not holds_in_state(problem, state, bad):
            return None
        names = names_in_state(problem, state, free_names(term))
        value = evaluate_term(term, names, problem.environment.arithmetic)
    except SurefootError:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return None
    return f"`{_shorten_term(term)}` is {_brief_text(value)}", LIMITS[bad.op, side].format(
        _brief_text(limit.value)
    )


def _brief_text(value: float | Fraction) -> str:
    return brief_number(value) if isinstance(value, int) else f"{float(value):.6g}"


def earlier_statement(problem: Problem, verdict: Verdict) -> tuple[str, ...]:
    """`verdict_sentences` as version 0.1 wrote them: stored results keep their words."""
    told = verdict_sentences(problem, verdict)
    if not isinstance(verdict, Violated):
        return told
    trace, clause = verdict.trace, property_clause(problem.property)
    shown = f"a run of {count_noun(len(trace.moves), 'step')} shows it"
    if trace.loop is not None:
        shown = "a run that goes round for ever shows it"
    elif trace.recurrence:
        shown = "a run that never leaves a set of states shows it"
    elif trace.times:
        shown = f"a run in continuous time shows it, at time {show_number(trace.times[-1])}"
    return (f"Violated: it is not so that {clause}; {shown}.", *told[1:])


def _threshold_reminder(problem: Problem) -> tuple[str, ...]:
    told = best_start_reminder(problem.property, problem.environment)
    return (f"{told[0].upper()}{told[1:]}.",) if told else ()


def property_clause(asked: Property, up_to: int | None = None) -> str:
    """What a property says, as a clause; `up_to`: as far as runs of so many steps show."""
    limit = "" if up_to is None else f" (looking at {up_to} steps only)"
    match asked:
        case Never(bad, 0):
            return f"no start satisfies `{_shorten_term(bad)}`"
        case Never(bad, steps):
            within = up_to if steps is None else steps if up_to is None else min(steps, up_to)
            far = "" if within is None else f" within {within} steps"
            return f"no run reaches `{_shorten_term(bad)}`{far}"
        case NeverBefore(bad, _, 0):
            return property_clause(Never(bad, 0))
        case NeverBefore(bad, goal, steps):
            return f"{property_clause(Never(bad, steps), up_to)} before it reaches `{_shorten_term(goal)}`"
        case Eventually(good):
            return f"every run comes to `{_shorten_term(good)}`{limit}"
        case Recurs(good):
            return f"every run comes to `{_shorten_term(good)}` again and again{limit}"
        case Within(good, steps, after):
            since = f" after state {after}" if after else ""
            return f"every run comes to `{_shorten_term(good)}` within {steps} steps{since}{limit}"
        case Timed(plain, until, since):
            return f"{property_clause(plain)}{_time_phrase(until, since)}{limit}"
        case _:
            return f"`{show_property(asked)}`"


def _time_phrase(until: Fraction | None, since: Fraction) -> str:
    """From when to when something is asked, after a clause."""
    if until is None:
        return f" from time {show_number(since)} on"
    if until == since:
        return f" at time {show_number(since)}"
    return f" from time {show_number(since)} to time {show_number(until)}"


def _start_sentences(environment: Environment) -> tuple[str, ...]:
    """The region: ranges of all variables and the initial condition."""
    ranges = ", ".join(variable_ranges(environment))
    told = [f"Variables: {ranges}."] if ranges else []
    if environment.initial == TRUE:
        told.append("Every state in these ranges is a start.")
    else:
        told.append(f"Starts: `{_shorten_term(environment.initial)}`.")
    return tuple(told)


def variable_ranges(environment: Environment) -> tuple[str, ...]:
    """The range of every variable; the values of a history buffer together."""
    buffers = windows_of(environment)
    inside = {name for buffer in buffers for name in buffer.names}
    told = [f"{b.name} in {_range_text(b.kind)} ({b.length} newest values)" for b in buffers]
    told += [f"{v.name} in {_range_text(v.kind)}" for v in environment.variables if v.name not in inside]
    return tuple(told)


def _choice_sentences(environment: Environment) -> tuple[str, ...]:
    picked: dict[str, Choice] = {}
    for component in environment.components:
        for edge in component.edges:
            picked |= {choice.name: choice for choice in edge.chosen}
    if not picked:
        return ()
    ranges = ", ".join(f"{c.name} in {_range_text(c.kind)}" for c in picked.values())
    return (f"In a step the environment may pick any {ranges}, as far as its assumptions allow.",)


def _policy_sentence(problem: Problem) -> tuple[str, ...]:
    match problem.policy:
        case NeuralPolicy(network=network):
            sizes = f"{count_noun(network.width, 'input')} and {count_noun(network.outputs, 'output')}"
            return (f"The policy is a network with {sizes}.",)
        case None:
            return ()
        case _:
            return ("The policy is a program.",)


def _range_text(kind: ValueType) -> str:
    match kind:
        case Bool():
            return "{false, true}"
        case Int(low, high):
            return "{" + f"{_limit_text(low, '…')}, …, {_limit_text(high, '…')}" + "}"
        case Real(low, high, float32):
            kind_name = " (float32 numbers)" if float32 else ""
            return f"[{_limit_text(low, '-∞')}, {_limit_text(high, '∞')}]{kind_name}"
        case Array(element, length):
            return f"{_range_text(element)} × {length}"


def _limit_text(value: int | Fraction | None, unbounded: str) -> str:
    return unbounded if value is None else show_number(value)


def count_noun(number: int, noun: str) -> str:
    """So many of something: `1 step`, `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _shorten_term(term: Term) -> str:
    return cut_term(show_term(term))
