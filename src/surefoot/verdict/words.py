"""What was found out, in sentences: what holds or fails, from which starts, in which environment."""

from __future__ import annotations

import re
from decimal import Context
from fractions import Fraction

from surefoot.problem.environment import Array, Bool, Choice, Environment, Int, Kind, Real
from surefoot.problem.parse.lexer import shorten
from surefoot.problem.parse.number import show_number
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Property, Recurs, Within
from surefoot.problem.show import show, show_property
from surefoot.problem.term import TRUE, Term
from surefoot.problem.window import windows_of
from surefoot.verdict.threshold import answer_threshold, best_start_counts
from surefoot.verdict.verdict import Holds, Proved, Unknown, Verdict, Violated

LONGEST = 400  # characters of a condition; the whole one is in the files
ROUNDED = Context(prec=10)
LONG_NUMBER = re.compile(r"(?<![\w.])-?(?=[\d.]{19})\d+(?:\.\d+)?(?:e-?\d+)?")  # a float64 written out


def round_long_numbers(text: str) -> str:
    """A term for the eye only, with numbers of ten digits where others fill the line. It stands where its
    reader is told so, never in place of the term: that has to read back as itself."""
    return LONG_NUMBER.sub(lambda found: f"{ROUNDED.create_decimal(found[0]).normalize():f}", text)


def cut_term(text: str) -> str:
    """A term that fills no page; one that is cut ends in `…`, which cannot be read as a term."""
    return shorten(text, LONGEST)


def cut_short(done: int, total: int, what: str) -> str:
    """How far something came of which a part is shown: the mark of every partial result."""
    return f"interrupted after {done} of {total} {what}"


def statement(problem: Problem, verdict: Verdict) -> tuple[str, ...]:
    """A few sentences that a reader who has not seen the model understands."""
    return (
        _answer(problem.property, verdict),
        *_reminder(problem),
        *_starts(problem.environment),
        *_moves(problem.environment),
        *_who(problem),
    )


def _answer(asked: Property, verdict: Verdict) -> str:
    match verdict:
        case Proved(_, arithmetic):
            limited = "" if arithmetic == "proved" else " This is shown for exact real arithmetic only."
            return f"Proved: {claim(asked)}.{limited}"
        case Violated(trace):
            if trace.loop is not None:
                return f"Violated: it is not so that {claim(asked)}; a run that goes round for ever shows it."
            if trace.recurrence:
                return (
                    f"Violated: it is not so that {claim(asked)}; a run that never leaves a set of states "
                    "shows it."
                )
            steps = counted(len(trace.moves), "step")
            return f"Violated: it is not so that {claim(asked)}; a run of {steps} shows it."
        case Holds(None, solver, how=how):
            by = f" {how}" if how else ""
            return f"Holds{by}, on the word of `{solver}` and without certificate: {claim(asked)}."
        case Holds(int(steps), solver):
            within = claim(asked, steps)
            return f"Holds on the word of `{solver}`, without certificate: {within}."
        case Unknown(_, _, int(steps), solver):
            return f"Open. On the word of `{solver}`: {claim(asked, steps)}."
        case Unknown():
            return f"Open: whether {claim(asked)}."
        case _:
            answer = answer_threshold(asked, verdict)
            return f"{'Asked' if answer is None else answer.capitalize()}: {show_property(asked)}."


def _reminder(problem: Problem) -> tuple[str, ...]:
    told = best_start_counts(problem.property, problem.environment)
    return (f"{told[0].upper()}{told[1:]}.",) if told else ()


def claim(asked: Property, up_to: int | None = None) -> str:
    """What a property says, as a clause; `up_to`: as far as runs of so many steps show."""
    limit = "" if up_to is None else f" (looking at {up_to} steps only)"
    match asked:
        case Never(bad, 0):
            return f"no start satisfies `{_short(bad)}`"
        case Never(bad, steps):
            within = up_to if steps is None else steps if up_to is None else min(steps, up_to)
            far = "" if within is None else f" within {within} steps"
            return f"no run reaches `{_short(bad)}`{far}"
        case NeverBefore(bad, _, 0):
            return claim(Never(bad, 0))
        case NeverBefore(bad, goal, steps):
            return f"{claim(Never(bad, steps), up_to)} before it reaches `{_short(goal)}`"
        case Eventually(good):
            return f"every run comes to `{_short(good)}`{limit}"
        case Recurs(good):
            return f"every run comes to `{_short(good)}` again and again{limit}"
        case Within(good, steps, after):
            since = f" after state {after}" if after else ""
            return f"every run comes to `{_short(good)}` within {steps} steps{since}{limit}"
        case _:
            return f"`{show_property(asked)}`"


def _starts(environment: Environment) -> tuple[str, ...]:
    """The region: ranges of all variables and the initial condition."""
    ranges = ", ".join(region(environment))
    told = [f"Variables: {ranges}."] if ranges else []
    if environment.initial == TRUE:
        told.append("Every state in these ranges is a start.")
    else:
        told.append(f"Starts: `{_short(environment.initial)}`.")
    return tuple(told)


def region(environment: Environment) -> tuple[str, ...]:
    """The range of every variable; the values of a history buffer together."""
    buffers = windows_of(environment)
    inside = {name for buffer in buffers for name in buffer.names}
    told = [f"{b.name} in {_range(b.kind)} ({b.length} newest values)" for b in buffers]
    told += [f"{v.name} in {_range(v.kind)}" for v in environment.variables if v.name not in inside]
    return tuple(told)


def _moves(environment: Environment) -> tuple[str, ...]:
    picked: dict[str, Choice] = {}
    for component in environment.components:
        for edge in component.edges:
            picked |= {choice.name: choice for choice in edge.chosen}
    if not picked:
        return ()
    ranges = ", ".join(f"{c.name} in {_range(c.kind)}" for c in picked.values())
    return (f"In a step the environment may pick any {ranges}, as far as its assumptions allow.",)


def _who(problem: Problem) -> tuple[str, ...]:
    match problem.policy:
        case NeuralPolicy(network=network):
            sizes = f"{counted(network.width, 'input')} and {counted(network.outputs, 'output')}"
            return (f"The policy is a network with {sizes}.",)
        case None:
            return ()
        case _:
            return ("The policy is a program.",)


def _range(kind: Kind) -> str:
    match kind:
        case Bool():
            return "{false, true}"
        case Int(low, high):
            return "{" + f"{_end(low, '…')}, …, {_end(high, '…')}" + "}"
        case Real(low, high, float32):
            kind_name = " (float32 numbers)" if float32 else ""
            return f"[{_end(low, '-∞')}, {_end(high, '∞')}]{kind_name}"
        case Array(element, length):
            return f"{_range(element)} × {length}"


def _end(value: int | Fraction | None, unbounded: str) -> str:
    return unbounded if value is None else show_number(value)


def counted(number: int, noun: str) -> str:
    """So many of something: `1 step`, `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _short(term: Term) -> str:
    return cut_term(show(term))
