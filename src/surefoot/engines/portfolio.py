"""The portfolio (whiRL 2.0, Figure 4): engines take turns until one of them has an answer.

The paper alternates bounded model checking and k-induction and adds 1 to k after each pair. Here the turns
are turns of time: each engine lets k grow on its own, and a turn ends after so many seconds, which double
from round to round. So one hard query does not keep the other engine waiting. An engine with a method `begin`
goes on where its last turn ended; others start afresh, which the doubling makes twice their time at most.

An engine may have a method `suits` which says that a problem is of the kind that it was made for, and the
others were not. Then its turns are longer, but for the first: what is easy is answered before.

An engine may have a method `is_quick` which says that a problem is so small that it answers at once. Then it
is asked first.

An engine may only look for violations: that it found none says nothing, and it never knows that it has looked
enough. Its turns are short, but together a part of the whole time, and it has one before each turn of another
engine, the longer the longer that will be; when nobody else has anything more to say, it has a longer one.

To find out who can take a problem may mean to encode steps, which may take long. Meanwhile those who look
for violations go on.

An engine of last resort (an estimate where a computed value was not to be had) takes no turns: it begins when
all others have given up, or have used their part of the time.

A run in continuous time that was integrated numerically is a suspicion. It is followed inside validated
enclosures at once; where these show nothing the search for others goes on, and so do the turns.

A turn may last longer than it should, where an engine does not look at the clock; the whole may not: whoever
is at work soon after its end is interrupted, and what was found out before is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile
from math import isfinite
from typing import TypeAlias

from surefoot.engines.protocol import Engine, Falsifier, LookingTurns, Resumable, Turns
from surefoot.engines.selection import next_solver
from surefoot.errors import SolverFailure, Unsupported
from surefoot.problem.problem import Problem
from surefoot.verdict.artifact import Flowpipe, SuspectedRun
from surefoot.verdict.verdict import Exact, Holds, Reason, Unknown, Verdict, Violated, is_interrupted
from surefoot.work.budget import Budget
from surefoot.work.child import WorkerDied
from surefoot.work.deadline import call_in_time

FIRST_TURN = 1.0  # seconds
FIRST_LOOK = 0.05  # of the time, at most: before it is known who can take a problem
SUITED = 5  # times as long are the turns of an engine that suits the problem, after the first
LOOKING = 0.25  # of a turn, and of all time, is for an engine that goes on where it stopped
LOOKING_MEANWHILE = 0.5  # of the time in which it is found out who can take a problem
SHORTEST_MEANWHILE = 0.25  # seconds of such a look
CONFIRMING = 0.25  # of the time that is left, at most: to follow the first suspected run in enclosures
LAST_LOOK = 2.0  # seconds at least of its last turn, if there are so many
LAST_LOOK_SHARE = 0.1  # of the time, at least
OTHERS = 0.75  # of the time, before an engine of last resort begins

INTERRUPTED_TURN = "the time ended before it had found anything"

Partial: TypeAlias = Unknown | Holds
Check: TypeAlias = Callable[[Problem, Budget], Verdict]


@dataclass(frozen=True, slots=True)
class PortfolioAnswer:
    """A verdict and the engines that stand behind it."""

    verdict: Verdict
    engines: tuple[Engine, ...]


def look_first(
    engines: Sequence[Engine], problem: Problem, budget: Budget
) -> tuple[PortfolioAnswer | None, dict[str, ConfirmingTurns]]:
    """What a short look finds, before it is known who can take the problem; and who goes on from there.

    To know that may take much longer. Where somebody is quick nobody has to look.
    """
    begun: dict[str, ConfirmingTurns] = {}
    if any(_is_quick(e, problem) and e.objection(problem) is None for e in engines):
        return None, begun
    for engine in engines:
        if isinstance(engine, Falsifier) and engine.objection(problem) is None:
            turns = begun[engine.name] = ConfirmingTurns(engine.begin(problem, budget.seed), budget)
            seconds = min(FIRST_TURN, FIRST_LOOK * budget.remaining())
            share = budget.begin_part(seconds)
            verdict = take_turn(turns.look_first, problem, share, budget)
            if isinstance(verdict, Violated) or is_interrupted(verdict):
                return PortfolioAnswer(verdict, (engine,)), begun
    return None, begun


@dataclass(slots=True)
class Meanwhile:
    """What goes on while it is found out who can take a problem: those who have begun to look for violations
    have a part of the time that this takes."""

    engines: Sequence[Engine]
    problem: Problem
    budget: Budget
    begun: Mapping[str, ConfirmingTurns]
    answer: PortfolioAnswer | None = None
    due: float = 0.0  # seconds

    def look_on(self, seconds: float) -> bool:
        """Something else took so many seconds. True: it is answered."""
        self.due += LOOKING_MEANWHILE * seconds
        if self.due < SHORTEST_MEANWHILE or self.answer is not None:
            return self.answer is not None
        for engine in self.engines:
            if (turns := self.begun.get(engine.name)) is None:
                continue
            share = self.budget.begin_part(min(self.due, self.budget.remaining()))
            verdict = take_turn(turns.check, self.problem, share, self.budget)
            if isinstance(verdict, Violated) or is_interrupted(verdict):
                self.answer = PortfolioAnswer(verdict, (engine,))
                break
        self.due = 0.0
        return self.answer is not None


def look_last(
    engines: Sequence[Engine], problem: Problem, budget: Budget, begun: Mapping[str, ConfirmingTurns]
) -> tuple[PortfolioAnswer | None, str]:
    """What the rest of the time finds where nobody else can take the problem, or what was looked at."""
    told: list[str] = []
    for engine in engines:
        turns = begun.get(engine.name)
        if turns is None:
            continue
        verdict = take_turn(turns.check, problem, budget, budget)
        seen = isinstance(verdict, Unknown) and verdict.artifact is not None
        if isinstance(verdict, Violated) or is_interrupted(verdict) or seen:
            return PortfolioAnswer(verdict, (engine,)), ""
        if isinstance(verdict, Unknown):
            told.append(f"{engine.name}: {_as_told_before(turns, verdict).detail}")
    return None, "; ".join(told)


def take_turns(
    engines: Sequence[Engine],
    problem: Problem,
    budget: Budget,
    begun: Mapping[str, ConfirmingTurns] | None = None,
    reserves: Sequence[Engine] = (),
) -> PortfolioAnswer:
    """The first conclusive verdict, or all that is known when time or engines have run out.

    `begun`: by name, what goes on from a look before. `reserves`: the same engines with other solvers, each
    asked after numerical trouble of the one before.
    """
    reserves = [e for e in reserves if e not in engines]
    last = [e for e in engines if getattr(e, "last_resort", False)]
    others = [e for e in engines if e not in last]
    if not last or not others:
        return _in_turns(engines, problem, budget, begun or {}, reserves)
    before = budget.begin_part(OTHERS * budget.remaining())
    try:
        first = _in_turns(others, problem, before, begun or {}, reserves)
    except (Unsupported, SolverFailure) as why:
        first = PortfolioAnswer(Unknown(Reason.INCOMPLETE, str(why)), tuple(others))
    found = first.verdict
    if not (_is_cut_short(found) or isinstance(found, Unknown)) or is_interrupted(found) or budget.is_spent():
        return first
    second = take_turn(last[0].check, problem, budget, budget)
    if not isinstance(second, Unknown):
        return PortfolioAnswer(second, (last[0],))
    if not isinstance(found, Unknown):
        return first
    detail = f"{first.engines[0].name}: {found.detail}; {last[0].name}: {second.detail}"
    return PortfolioAnswer(Unknown(second.reason, detail), tuple(engines))


def _in_turns(
    engines: Sequence[Engine],
    problem: Problem,
    budget: Budget,
    begun: Mapping[str, ConfirmingTurns],
    reserves: Sequence[Engine],
) -> PortfolioAnswer:
    if len(engines) == 1:
        return _ask_alone(engines[0], problem, budget, begun, reserves)
    engines, reserves = list(engines), list(reserves)
    looking = {
        n: begun.get(e.name) or ConfirmingTurns(e.begin(problem, budget.seed), budget)
        for n, e in enumerate(engines)
        if isinstance(e, Falsifier)
    }
    heard: dict[int, Partial] = {n: t.told for n, t in looking.items() if t.told is not None}
    resumed = {n: _begin_turns(e, problem, budget) for n, e in enumerate(engines) if n not in looking}
    quick = {n for n, engine in enumerate(engines) if _is_quick(engine, problem)}
    waiting = sorted(range(len(engines)), key=lambda n: n not in quick)
    share = [SUITED if _is_suited(engine, problem) else 1 for engine in engines]
    turn, known = FIRST_TURN, Unknown(Reason.TIMEOUT, "")
    cut: PortfolioAnswer | None = None
    while waiting and not budget.is_spent():
        order = _order_of_round(waiting, looking, quick if turn == FIRST_TURN else ())
        if turn == FIRST_TURN and begun:  # who looks has just done so
            order = tuple(dropwhile(looking.__contains__, order)) or order
        own = {n: turn if turn == FIRST_TURN else turn * share[n] for n in waiting}
        for place, number in enumerate(order):
            if number not in waiting or budget.is_spent():
                continue
            alone = len(waiting) == 1
            if number in looking:
                after = next((own[n] for n in order[place:] if n in waiting and n not in looking), turn)
                looked = sum(turns.seconds for turns in looking.values())
                seconds = _last_look(budget) if alone else _look_seconds(after, looked, budget)
            else:
                seconds = budget.remaining() if alone else _turn_seconds(turn, own[number], budget)
            share_of_time = budget.begin_part(seconds)
            asked = looking.get(number) or resumed[number]
            verdict = take_turn(asked.check, problem, share_of_time, budget)
            if _is_cut_short(verdict):
                cut = PortfolioAnswer(verdict, (engines[number],))
                continue
            if not isinstance(verdict, Partial) or (isinstance(verdict, Holds) and verdict.as_asked):
                return PortfolioAnswer(verdict, (engines[number],))
            if number in looking and isinstance(verdict, Unknown):
                verdict = _as_told_before(looking[number], verdict)
            heard[number] = verdict
            known = _better_known(known, verdict)
            if isinstance(verdict, Unknown) and verdict.reason is Reason.INTERRUPTED:
                told = replace(verdict, detail=_join_details(engines, heard))
                return PortfolioAnswer(_with_knowledge(told, known), tuple(engines))
            late = isinstance(verdict, Unknown) and verdict.reason is Reason.TIMEOUT
            if (other := _next_after_trouble(engines[number], verdict, reserves, problem)) is not None:
                reserves.remove(other)
                engines[number], resumed[number] = other, _begin_turns(other, problem, budget)
                continue
            if not late or (alone and number in looking):
                waiting.remove(number)  # it would say the same again
        turn *= 2
    return cut or _combine_answers(engines, heard, known, set(looking))


def _ask_alone(
    engine: Engine,
    problem: Problem,
    budget: Budget,
    begun: Mapping[str, ConfirmingTurns],
    reserves: Sequence[Engine],
) -> PortfolioAnswer:
    """One engine, and after numerical trouble itself with the next solver; the best of what they know."""
    asked = begun.get(engine.name) or _begin_turns(engine, problem, budget)
    answer = PortfolioAnswer(_check_guarded(asked.check, problem, budget, budget), (engine,))
    while not budget.is_spent():
        other = _next_after_trouble(engine, answer.verdict, reserves, problem)
        if other is None:
            break
        engine, reserves = other, [e for e in reserves if e != other]
        verdict, before = take_turn(other.check, problem, budget, budget), answer.verdict
        if isinstance(verdict, Unknown) and isinstance(before, Unknown):
            known = _better_known(_better_known(Unknown(Reason.TIMEOUT, ""), before), verdict)
            verdict = _with_knowledge(Unknown(verdict.reason, f"{before.detail}; {verdict.detail}"), known)
        answer = PortfolioAnswer(verdict, (other,))
    return answer


def _next_after_trouble(
    engine: Engine, verdict: Verdict, reserves: Sequence[Engine], problem: Problem
) -> Engine | None:
    """Who is asked where numbers kept a solver from an answer."""
    if not isinstance(verdict, Unknown) or verdict.reason is not Reason.NUMERICS:
        return None
    return next_solver(engine, reserves, problem)


def _order_of_round(
    waiting: Sequence[int], looking: Collection[int], quick: Collection[int]
) -> Sequence[int]:
    """Who is asked one after the other: those that look for violations before each of the others."""
    lookers, found = [n for n in waiting if n in looking], list[int]()
    for number in waiting:
        if number not in looking:
            found += [number] if number in quick else [*lookers, number]
    return found or lookers


def _look_seconds(after: float, looked: float, budget: Budget) -> float:
    """A part of the turn that follows, and more where turns of others lasted longer than they should."""
    return min(max(LOOKING * after, LOOKING * budget.elapsed_seconds() - looked), budget.remaining())


def _last_look(budget: Budget) -> float:
    """As long as everything before it."""
    share = LAST_LOOK_SHARE * budget.seconds if isfinite(budget.seconds) else 0.0
    return min(max(LAST_LOOK, budget.elapsed_seconds(), share), budget.remaining())


def _begin_turns(engine: Engine, problem: Problem, budget: Budget) -> Engine | Turns:
    if isinstance(engine, Falsifier):
        return ConfirmingTurns(engine.begin(problem, budget.seed), budget)
    return engine.begin(problem, budget.seed) if isinstance(engine, Resumable) else engine


@dataclass(slots=True)
class ConfirmingTurns:
    """A search for violations whose suspicions are followed inside validated enclosures."""

    turns: LookingTurns
    whole: Budget
    tried: list[SuspectedRun] = field(default_factory=list)
    known: SuspectedRun | None = None  # of which the words below tell what is missing
    missing: str = ""
    told: Unknown | None = None  # by the last turn
    seconds: float = 0.0  # of all turns

    def look_first(self, problem: Problem, budget: Budget) -> Verdict:
        return self._look(self.turns.look_first, problem, budget)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        return self._look(self.turns.check, problem, budget)

    def _look(self, check: Check, problem: Problem, budget: Budget) -> Verdict:
        before = budget.elapsed_seconds()
        verdict = self._follow(check, problem, budget)
        self.seconds += budget.elapsed_seconds() - before
        self.told = verdict if isinstance(verdict, Unknown) else None
        return verdict

    def _follow(self, check: Check, problem: Problem, budget: Budget) -> Verdict:
        while True:
            verdict = check(problem, budget)
            if not (isinstance(verdict, Unknown) and isinstance(verdict.artifact, SuspectedRun)):
                return verdict
            if verdict.artifact is self.known:  # nothing new was seen
                return replace(verdict, detail=f"{verdict.detail}: {self.missing}")
            found = self._confirm(problem, verdict.artifact, budget)
            if isinstance(found, Violated):
                return found
            if self.known is None:
                self.known, self.missing = verdict.artifact, found
            if budget.is_spent():
                detail = f"{verdict.detail}: {found}"
                return Unknown(Reason.TIMEOUT, detail, artifact=verdict.artifact)

    def _confirm(self, problem: Problem, suspected: SuspectedRun, budget: Budget) -> Violated | str:
        """The more have failed, the less time is for the next one."""
        from surefoot.engines.reach.validate_run import confirm_suspicion  # with all that it needs

        if any(one.start == suspected.start and one.moves == suspected.moves for one in self.tried):
            return self.missing
        seconds = max(budget.remaining(), CONFIRMING * self.whole.remaining() / 2 ** len(self.tried))
        self.tried.append(suspected)
        share = Budget(min(seconds, self.whole.remaining()))
        return confirm_suspicion(problem, suspected, share.is_spent)


def _as_told_before(turns: ConfirmingTurns, verdict: Unknown) -> Unknown:
    """A turn that was interrupted says nothing; the one before it may have said something."""
    if verdict.detail != INTERRUPTED_TURN or turns.told is None:
        return verdict
    return replace(verdict, detail=turns.told.detail)


def _is_cut_short(verdict: Verdict) -> bool:
    """An interval that more time, or another engine, may make narrower."""
    return isinstance(verdict, Exact) and bool(verdict.stop)


def _is_suited(engine: Engine, problem: Problem) -> bool:
    suits = getattr(engine, "suits", None)
    return suits is not None and suits(problem)


def _is_quick(engine: Engine, problem: Problem) -> bool:
    quick = getattr(engine, "is_quick", None)
    return quick is not None and quick(problem)


def _turn_seconds(turn: float, longer: float, budget: Budget) -> float:
    """A longer turn is at most half of the time that is left."""
    return min(max(turn, min(longer, 0.5 * budget.remaining())), budget.remaining())


def take_turn(check: Check, problem: Problem, budget: Budget, whole: Budget) -> Verdict:
    """What an engine finds in its part of the whole time."""
    try:
        return _check_guarded(check, problem, budget, whole)
    except (Unsupported, SolverFailure) as why:  # only while at work; another engine may still answer
        return Unknown(Reason.INCOMPLETE, str(why))


def _check_guarded(check: Check, problem: Problem, budget: Budget, whole: Budget) -> Verdict:
    """An engine that runs out of memory, whose workers die, or that the user or the clock interrupts, has not
    answered."""

    def late() -> Verdict:
        return Unknown(Reason.TIMEOUT, INTERRUPTED_TURN)

    try:
        return call_in_time(whole, lambda: check(problem, budget), late)
    except MemoryError:
        return Unknown(Reason.MEMORY, "not enough memory")
    except WorkerDied as why:  # twice at the same task
        return Unknown(Reason.MEMORY if why.memory else Reason.INCOMPLETE, str(why))
    except KeyboardInterrupt:
        return Unknown(Reason.INTERRUPTED, "interrupted by the user")


def _better_known(known: Unknown, verdict: Partial) -> Unknown:
    """Whichever excludes violations up to more steps."""
    steps = verdict.up_to if isinstance(verdict, Holds) else verdict.holds_up_to
    if steps is None or (known.holds_up_to is not None and known.holds_up_to >= steps):
        return known
    return Unknown(known.reason, known.detail, steps, verdict.uncertified_by)


def _with_knowledge(unknown: Unknown, known: Unknown) -> Unknown:
    return replace(unknown, holds_up_to=known.holds_up_to, uncertified_by=known.uncertified_by)


def _combine_answers(
    engines: Sequence[Engine], heard: Mapping[int, Partial], known: Unknown, looking: Collection[int]
) -> PortfolioAnswer:
    """All that was found out, as one answer."""
    for number, verdict in heard.items():
        if isinstance(verdict, Holds):  # as far as the depth that was asked for
            return PortfolioAnswer(verdict, (engines[number],))
    answers = [v for _, v in sorted(heard.items()) if isinstance(v, Unknown)]
    said = [n for n in sorted(heard) if n not in looking] or sorted(heard)
    reasons = [v.reason for n in said if isinstance(v := heard[n], Unknown)]
    late = Reason.TIMEOUT in reasons or not reasons  # more time might help
    detail = _join_details(engines, heard) or "the budget was spent at once"
    seen = [v.artifact for v in answers if isinstance(v.artifact, SuspectedRun)]
    drawn = [v.artifact for v in answers if isinstance(v.artifact, Flowpipe)]
    unknown = Unknown(Reason.TIMEOUT if late else reasons[0], detail)
    told = next(iter([*seen, *drawn]), None)
    return PortfolioAnswer(replace(_with_knowledge(unknown, known), artifact=told), tuple(engines))


def _join_details(engines: Sequence[Engine], heard: Mapping[int, Partial]) -> str:
    said = {engines[n].name: v.detail for n, v in sorted(heard.items()) if isinstance(v, Unknown)}
    return "; ".join(f"{name}: {detail}" for name, detail in said.items())
