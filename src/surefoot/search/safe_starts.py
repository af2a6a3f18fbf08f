"""Which starts are safe: the largest subset of a start condition for which a property is proved.

Where all states fit into a table every start is decided at once (predicates, `enumerative/sorted_starts.py`),
and one certificate covers all that are safe. Otherwise the box of starts is asked about as a whole, and
halved wherever the answer is not a proof, until parts or time run out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from math import prod
from typing import Any

from surefoot.certify.evidence import certify_verdict
from surefoot.certify.replay import replay
from surefoot.engines.predicates.dynamics import OutOfTime
from surefoot.engines.predicates.enumerative.sorted_starts import (
    StartPart,
    sort_starts,
    start_sorting_objection,
)
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Probability
from surefoot.problem.validate import validate_problem
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.reductions.proof_obligations import starting_in
from surefoot.search import SearchSettings
from surefoot.term.reserved_names import location_key, location_name
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, conjunction_of, split_conjunction
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType
from surefoot.verdict.artifact import SafeStarts, StartGroup
from surefoot.verdict.verdict import (
    Certificate,
    Found,
    Holds,
    ProofArgument,
    Proved,
    Reason,
    Result,
    Unknown,
    Vacuous,
    Violated,
)
from surefoot.work.deadline import call_in_time

LEAST_SECONDS = 2.0  # for one part
SHARE = 4  # of the time that is left, one of so many parts goes to the next question
BY_TABLE = "starts sorted in a table of all states"
STARTS_INTERRUPTED = "it was interrupted"
TABLE = 0.8  # of the time; what a table cannot tell by then is asked about part by part
SAFE = Holds(None, "predicates", as_asked=True, argument=ProofArgument("graph", 0))


def find_safe_starts(
    problem: Problem, asking: SearchSettings, parts: int = 32, by_table: bool = True
) -> Result:
    """Which starts are proved safe, which are refuted, which are open."""
    validate_problem(problem)
    if isinstance(problem.property, Probability | Expected):
        what = "starts are sorted by a property that holds or not, and this one asks for a number"
        raise Unsupported(what, fix="ask `never BAD`; `surefoot check` gives the number of every start")
    executed = discretise(problem)
    if by_table and start_sorting_objection(end_at_goal(executed)) is None:
        try:
            return _sort_by_table(problem, executed, asking)
        except (OutOfTime, Unsupported):  # then it is split
            pass
    return _sort_by_splitting(problem, asking, parts)


def _sort_by_table(problem: Problem, executed: Problem, asking: SearchSettings) -> Result:
    try:
        rest, ending = asking.rest(TABLE), end_at_goal(executed)
        found = call_in_time(rest, lambda: sort_starts(ending, rest), lambda: None)
    except KeyboardInterrupt:
        nothing = Unknown(Reason.INTERRUPTED, "interrupted by the user before any start was decided")
        left = SafeStarts(None, (StartGroup(TRUE, nothing, False, None),), STARTS_INTERRUPTED)
        return _starts_result(problem, left, None, asking, BY_TABLE)
    if found is None:
        raise OutOfTime
    if not found.count:
        return asking.result(problem, Vacuous("there is no start state"), False, BY_TABLE)
    groups, stopped = [], STARTS_INTERRUPTED if found.interrupted else ""
    for part in found.safe:
        group = None if stopped else _certify_part(executed, part, asking)
        stopped = stopped if group is not None else STARTS_INTERRUPTED
        groups.append(group or StartGroup(part.condition, SAFE, False, part.count))
    for part in found.refuted:
        assert part.trace is not None
        doubt = replay(executed, part.trace)
        verdict = Violated(part.trace) if doubt is None else Unknown(Reason.NUMERICS, doubt)
        groups.append(StartGroup(part.condition, verdict, doubt is None, part.count))
    why = "only rounding away from the reference or an error of the model decides, or the budget ended"
    unknown = Unknown(Reason.INTERRUPTED, "interrupted by the user") if found.interrupted else None
    unknown = unknown or Unknown(Reason.NUMERICS, why)
    groups += [StartGroup(p.condition, unknown, False, p.count) for p in found.open]
    certificate = next((_group_certificate(g) for g in groups if _group_certificate(g) is not None), None)
    return _starts_result(
        problem, SafeStarts(found.count, tuple(groups), stopped), certificate, asking, BY_TABLE
    )


def _certify_part(executed: Problem, part: StartPart, asking: SearchSettings) -> StartGroup | None:
    """The checker visits everything that can be reached from these starts; None: the user did not wait."""
    restricted = starting_in(executed, part.condition)
    try:
        shown = certify_verdict(restricted, SAFE, "predicates", {}, asking.inputs, asking.rest())
    except KeyboardInterrupt:
        return None
    return StartGroup(part.condition, shown.verdict, shown.certified, part.count)


def _group_certificate(group: StartGroup) -> Certificate | None:
    return group.verdict.certificate if isinstance(group.verdict, Proved) else None


def _starts_result(
    problem: Problem, found: SafeStarts, certificate: Certificate | None, asking: SearchSettings, how: str
) -> Result:
    certified = all(g.certified for g in found.groups if g.answer in ("proved", "refuted"))
    return asking.result(problem, Found(found, certificate), certified, how)


@dataclass(frozen=True, slots=True)
class _StartSide:
    """The range of one variable in a part of the starts; truth values are 0 and 1."""

    name: str
    low: Fraction
    high: Fraction
    kind: Bool | Int | Real

    @property
    def whole(self) -> bool:
        return not isinstance(self.kind, Real)

    def condition(self) -> tuple[Term, ...]:
        if isinstance(self.kind, Bool):
            return () if self.low < self.high else (Var(self.name) if self.low else ~Var(self.name),)
        low, high = (Const(int(e) if e.denominator == 1 else e) for e in (self.low, self.high))
        if self.low == self.high:
            return (Apply(Op.EQ, (Var(self.name), low)),)
        return (low <= Var(self.name), Var(self.name) <= high)

    def halves(self) -> tuple[_StartSide, _StartSide]:
        middle = (self.low + self.high) / 2
        if self.whole:
            below = Fraction(middle.numerator // middle.denominator)
            return replace(self, high=below), replace(self, low=below + 1)
        return replace(self, high=middle), replace(self, low=middle)


def _sort_by_splitting(problem: Problem, asking: SearchSettings, parts: int) -> Result:
    """Ask about a box of starts; where that is not proved, about its halves, the largest ones first."""
    whole = tuple(_enumerate_sides(problem))
    exact = _is_box(problem, whole)
    waiting: list[tuple[float, int, tuple[_StartSide, ...]]] = [(0.0, 0, whole)]
    groups: list[StartGroup] = []
    asked, stopped, engine = 0, "", ""
    while waiting:
        depth, _, sides = heappop(waiting)
        changed = _narrowing_condition(sides, whole)
        if asked >= parts or asking.budget.is_spent():
            stopped = stopped or ("there are enough parts" if asked >= parts else "the budget ended")
            groups.append(_open_group(changed, stopped, _count_starts(sides, exact)))
            continue
        asked += 1
        asking.budget.progress(f"starts: {asked} parts asked, {len(waiting)} waiting")
        seconds = max(LEAST_SECONDS, asking.budget.remaining() / SHARE)
        budget = asking.budget.begin_part(min(seconds, asking.budget.remaining()))
        result = asking.decide(starting_in(problem, changed), budget)
        engine = engine or result.engine
        group = StartGroup(changed, result.verdict, result.certified, _count_starts(sides, exact))
        if isinstance(result.verdict, Unknown) and result.verdict.reason is Reason.INTERRUPTED:
            groups.append(group)
            stopped, parts = STARTS_INTERRUPTED, asked
            continue
        if group.answer == "vacuous":
            continue
        longest = max(range(len(sides)), key=lambda i: _relative_length(sides[i], whole[i]), default=None)
        single = longest is None or sides[longest].low == sides[longest].high
        if group.answer == "proved":
            groups.append(group)
            continue
        if isinstance(result.verdict, Violated):
            groups.append(replace(group, condition=_start_condition(problem, result.verdict), count=1))
        if longest is None or single:
            if not (isinstance(result.verdict, Violated) and _is_one(problem, sides)):
                groups.append(
                    _open_group(changed, "it is not split any further", _count_starts(sides, exact))
                )
            continue
        for number, half in enumerate(sides[longest].halves()):
            heappush(
                waiting, (depth + 1, 2 * asked + number, (*sides[:longest], half, *sides[longest + 1 :]))
            )
    how = f"starts split, {asked} parts asked: {engine}"
    if not groups:
        return asking.result(problem, Vacuous("there is no start state"), False, how)
    total = _count_starts(whole, exact)
    found = SafeStarts(total, tuple(_enumerate_distinct(groups)), stopped)
    return _starts_result(
        problem, found, next(filter(None, map(_group_certificate, groups)), None), asking, how
    )


def _enumerate_distinct(groups: list[StartGroup]) -> Iterator[StartGroup]:
    """A start may be found again when a half is asked about."""
    seen: set[Term] = set()
    for group in groups:
        if group.answer != "refuted" or group.condition not in seen:
            yield group
        seen.add(group.condition)


def _open_group(condition: Term, why: str, count: int | None) -> StartGroup:
    return StartGroup(condition, Unknown(Reason.INCOMPLETE, why), False, count)


def _start_condition(problem: Problem, violated: Violated) -> Term:
    """The start of a run: all of its variables, and locations where runs may start in several."""
    state, world = violated.trace.states[0], problem.environment
    values = [c for v in world.variables for c in _equality_terms(Var(v.name), v.kind, state[v.name])]
    places = [
        Var(location_name(c.name, c.locations[state[location_key(c.name)]]))
        for c in world.components
        if len(c.initial) > 1
    ]
    return conjunction_of((*values, *places))


def _equality_terms(name: Term, kind: ValueType, value: Any) -> tuple[Term, ...]:
    match kind:
        case Bool():
            return (name if value else ~name,)
        case Array(element):
            return tuple(c for i, v in enumerate(value) for c in _equality_terms(name[i], element, v))
        case _:
            return (Apply(Op.EQ, (name, Const(value if isinstance(value, int) else Fraction(value)))),)


def _enumerate_sides(problem: Problem) -> Iterator[_StartSide]:
    """Declared ranges, narrowed by bounds that the start condition states of single variables."""
    for variable in problem.environment.variables:
        match variable.kind:
            case Bool():
                low, high = Fraction(0), Fraction(1)
            case Int(int() as least, int() as most):
                low, high = Fraction(least), Fraction(most)
            case Real(least, most) if least is not None and most is not None:
                low, high = Fraction(least), Fraction(most)
            case _:
                continue
        for name, above, below in filter(
            None, map(_range_of_comparison, split_conjunction(problem.environment.initial))
        ):
            if name == variable.name:
                low = low if above is None else max(low, above)
                high = high if below is None else min(high, below)
        if low <= high:
            yield _StartSide(variable.name, low, high, variable.kind)


def _is_one(problem: Problem, sides: tuple[_StartSide, ...]) -> bool:
    """Can there be no more than one start in a box of single values?"""
    world = problem.environment
    return len(sides) == len(world.variables) and all(len(c.initial) == 1 for c in world.components)


def _range_of_comparison(term: Term) -> tuple[str, Fraction | None, Fraction | None] | None:
    """`x <= 3`, `3 <= x` or `x = 3` as a range of x."""
    match term:
        case Apply(Op.LE, (Var(name), Const(value))) if not isinstance(value, bool):
            return name, None, Fraction(value)
        case Apply(Op.LE, (Const(value), Var(name))) if not isinstance(value, bool):
            return name, Fraction(value), None
        case Apply(Op.EQ, (Var(name), Const(value))) if not isinstance(value, bool):
            return name, Fraction(value), Fraction(value)
        case _:
            return None


def _is_box(problem: Problem, sides: tuple[_StartSide, ...]) -> bool:
    """Are the starts all whole points of the box?"""
    world = problem.environment
    stated = all(_range_of_comparison(c) is not None for c in split_conjunction(world.initial))
    return stated and _is_one(problem, sides) and all(s.whole for s in sides)


def _count_starts(sides: tuple[_StartSide, ...], exact: bool) -> int | None:
    return prod(int(s.high - s.low) + 1 for s in sides) if exact else None


def _relative_length(side: _StartSide, whole: _StartSide) -> Fraction:
    """Relative to the whole side."""
    return (side.high - side.low) / (whole.high - whole.low) if whole.high > whole.low else Fraction(0)


def _narrowing_condition(sides: tuple[_StartSide, ...], whole: tuple[_StartSide, ...]) -> Term:
    parts = tuple(
        c for side, all_of_it in zip(sides, whole, strict=True) if side != all_of_it for c in side.condition()
    )
    return conjunction_of(parts) if parts else TRUE
