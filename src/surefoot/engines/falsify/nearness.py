"""How near the nearest run came to a violation, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from surefoot.engines.falsify.watch import watched_condition
from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Recurs
from surefoot.problem.semantics import State, holds_in_state
from surefoot.term.evaluate import evaluate_term
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Op, Term, free_names
from surefoot.verdict.sentences import count_noun

MissedPart: TypeAlias = tuple[str, float | None]  # a condition, and by how much it is missed
MOST_PARTS = 3
_OPPOSITE = {Op.LT: Op.LE, Op.LE: Op.LT}


def describe_nearest(problem: Problem, state: State | None, slowest: int) -> str:
    """Of a property about bad states by the nearest one, of others by the time until one was good."""
    if not isinstance(problem.property, Never):
        if slowest < 0:
            return ""
        word = (
            "longest time without a good state was"
            if isinstance(problem.property, Recurs)
            else ("latest first good state came after")
        )
        return f"the {word} {count_noun(slowest, 'step')}"
    if state is None:
        return ""
    try:
        missed = missed_parts(problem, state, watched_condition(problem), holds=True)
    except SurefootError:
        return ""
    if not missed:
        return ""
    more = f" and {len(missed) - MOST_PARTS} more" if len(missed) > MOST_PARTS else ""
    return f"the nearest missed {', '.join(map(_show_part, missed[:MOST_PARTS]))}{more}"


def _show_part(part: MissedPart) -> str:
    text, by = part
    return f"`{text}`" if by is None else f"`{text}` by {by:.4g}"


def missed_parts(problem: Problem, state: State, term: Term, *, holds: bool) -> Sequence[MissedPart]:
    """The comparisons that keep a condition from holding (or from not holding), and by how much."""
    match term:
        case Apply(Op.NOT, (inner,)):
            return missed_parts(problem, state, inner, holds=not holds)
        case Apply(Op.AND | Op.OR as op, args):
            parts = [missed_parts(problem, state, a, holds=holds) for a in args]
            if (op is Op.AND) is holds:
                return [missed for part in parts for missed in part]
            return min(parts, key=lambda part: (len(part), sum(by or 0.0 for _, by in part)))
        case _:
            if holds_in_state(problem, state, term) is holds:
                return ()
            return (_missed_comparison(problem, state, term, holds=holds),)


def _missed_comparison(problem: Problem, state: State, term: Term, *, holds: bool) -> MissedPart:
    environment = problem.environment
    own = {v.name for v in environment.variables}
    shown: Term
    match term:
        case Apply(Op.LT | Op.LE as op, (left, right)):
            shown = term if holds else Apply(_OPPOSITE[op], (right, left))
            if free_names(term) <= own:
                by = evaluate_term(left, state, environment.arithmetic) - evaluate_term(
                    right, state, environment.arithmetic
                )
                return show_term(shown), abs(float(by))
        case _:
            shown = term if holds else Apply(Op.NOT, (term,))
    return show_term(shown), None
