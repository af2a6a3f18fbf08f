"""What a search finds: a tipping point, an invariant or an abstract graph, with what was asked on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

from surefoot.problem.semantics import Move, State
from surefoot.term.term import Term, disjunction_of
from surefoot.verdict.verdict import Holds, Proved, Reason, Vacuous, Verdict, Violated

Answer: TypeAlias = Literal["proved", "refuted", "vacuous", "unknown"]


@dataclass(frozen=True, slots=True)
class SuspectedRun:
    """A run in continuous time that was integrated numerically and seems to violate the property.

    That alone proves nothing. Times and states up to the violation; the controls of each period.
    """

    times: tuple[float, ...]
    states: tuple[Mapping[str, float], ...]
    controls: tuple[Mapping[str, float], ...]
    time: float  # of the violation
    runs: int  # that were looked at until then
    method: str
    error: float  # how far its states are from those with coarser steps
    start: State = field(default_factory=dict)  # as it was drawn; files do not have it, nor the moves
    moves: tuple[Move, ...] = ()  # of each period, with what was chosen and held in it
    open_starts: tuple[str, ...] = ()  # variables in which starts differ


@dataclass(frozen=True, slots=True)
class FollowedStarts:
    """A box of starts, and what became of its runs: `done`, `open`, or `mixed` where parts of it are open.

    `until`: up to when those that are open are known to keep the property; None: nothing is known.
    """

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    state: Literal["done", "open", "mixed"]
    until: Fraction | None = None
    why: str = ""  # it was not followed further


@dataclass(frozen=True, slots=True)
class FlowpipePiece:
    """A box that holds all runs of some starts from one moment to another (in steps: both included)."""

    begin: Fraction
    end: Fraction
    cell: int  # place in `Flowpipe.starts`
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Flowpipe:
    """The sets that runs were shown to stay in, box by box, and of which starts what is known.

    Boxes are made for looking: they hold every run, but they are wider than what a proof rests on.
    """

    variables: tuple[str, ...]
    quantities: tuple[str, ...]  # sums that the property compares; boxes have them after the variables
    unit: Literal["time", "step"]
    starts: tuple[FollowedStarts, ...]
    pieces: tuple[FlowpipePiece, ...]
    share: Fraction  # of the starts that are shown to satisfy the property
    until: Fraction | None = None  # all starts keep it up to then; None: not known
    cells: tuple[int, int] = (0, 0)  # that are done and that are open, before they were joined
    horizon: Fraction | None = None  # None: for ever

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.variables, *self.quantities)

    def columns(self) -> dict[str, tuple[float | int, ...]]:
        """All pieces as columns: `begin`, `end`, `cell`, and `x low` and `x high` of each name x."""
        found: dict[str, tuple[float | int, ...]] = {
            "begin": tuple(float(p.begin) for p in self.pieces),
            "end": tuple(float(p.end) for p in self.pieces),
            "cell": tuple(p.cell for p in self.pieces),
        }
        for place, name in enumerate(self.names):
            found[f"{name} low"] = tuple(p.low[place] for p in self.pieces)
            found[f"{name} high"] = tuple(p.high[place] for p in self.pieces)
        return found


@dataclass(frozen=True, slots=True)
class Trial:
    """One value of the parameter and the verdict on the problem that it makes."""

    value: Fraction
    verdict: Verdict
    certified: bool
    seconds: float
    engine: str = ""  # which engine answered, by its reproducible text

    @property
    def answer(self) -> Answer:
        return property_answer(self.verdict, self.certified)


@dataclass(frozen=True, slots=True)
class TippingPoint:
    """Between these two values a property stops to hold; None: no value in the range is of that kind."""

    statement: str  # the bounds at the last proved value, as an inequality
    proved: Trial | None
    refuted: Trial | None
    precision: Fraction
    trials: tuple[Trial, ...]  # in the order in which they were asked
    stopped: str = ""  # why the two values are further apart than the precision
    reason: Reason | None = None  # ... in one word, if there is one
    condition: Term | None = None  # what is proved of every state

    @property
    def is_within_precision(self) -> bool:
        return not self.stopped


@dataclass(frozen=True, slots=True)
class InvariantObligation:
    """A question about an invariant: starts inside, bad states outside, or closed under steps."""

    name: str
    verdict: Verdict
    certified: bool
    seconds: float
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A condition that holds at the start, that no step leaves, and that excludes every bad state."""

    condition: Term
    obligations: tuple[InvariantObligation, ...]  # re-checked from scratch
    candidates: tuple[tuple[str, str], ...]  # what was tried, and what became of it


@dataclass(frozen=True, slots=True)
class StartGroup:
    """Starts that satisfy a condition, with one answer for all of them; a refuted group has a run of one."""

    condition: Term  # besides the start condition
    verdict: Verdict  # on the problem with these starts only
    certified: bool
    count: int | None  # how many starts these are, if that is known

    @property
    def answer(self) -> Answer:
        return property_answer(self.verdict, self.certified)


@dataclass(frozen=True, slots=True)
class SafeStarts:
    """The starts, sorted by what is known of them; refuted starts may also lie in a group that is open."""

    count: int | None  # of all starts, if that is known
    groups: tuple[StartGroup, ...]
    stopped: str = ""  # why something was left open that could have been asked

    def of(self, answer: Answer) -> tuple[StartGroup, ...]:
        return tuple(g for g in self.groups if g.answer == answer)

    def count_starts(self, answer: Answer) -> int | None:
        """How many starts have this answer."""
        counts = [g.count for g in self.of(answer)]
        return None if None in counts else sum(c for c in counts if c is not None)

    @property
    def condition(self) -> Term:
        """What every start satisfies that is proved to be safe, and no other."""
        return disjunction_of(tuple(g.condition for g in self.of("proved")))


@dataclass(frozen=True, slots=True)
class AbstractState:
    """All states with these locations and these truth values of the predicates, in their order."""

    locations: tuple[tuple[str, str], ...]  # component and location, where a component has several
    values: tuple[bool, ...]
    start: bool
    unsafe: bool
    distance: int  # steps from a start
    witness: State | None  # one of its states, if one is known


@dataclass(frozen=True, slots=True)
class QueryStatistics:
    """How many questions of a kind were asked, how many were answered with yes, and how long it took."""

    kind: str
    number: int
    possible: int
    seconds: float


@dataclass(frozen=True, slots=True)
class AbstractGraph:
    """The reachable abstract states of a policy and the steps between them."""

    predicates: tuple[Term, ...]
    states: tuple[AbstractState, ...]
    edges: tuple[tuple[int, str, int], ...]  # from, action, to
    means: str  # how the tests were answered
    exact: bool  # every edge is one of some state; else there may be more edges than that
    tests: tuple[QueryStatistics, ...] = ()
    refinements: tuple[tuple[str, Term], ...] = ()  # why a path was spurious, and the predicate that followed
    complete: bool = True  # every reachable abstract state is there
    splits: tuple[PredicateSplit, ...] = ()  # what some more predicates would make of it, one at a time


@dataclass(frozen=True, slots=True)
class PredicateSplit:
    """What an abstraction becomes with one more predicate: all of it is built again."""

    predicate: Term
    origin: str  # property, guard, step (what a step needs for one of these), or half (of a range)
    states: int
    edges: int
    unsafe: int  # unsafe abstract states that can be reached
    pieces: tuple[int, ...]  # how many of the new states are in each state of the graph: 0, 1 or 2
    graph: AbstractGraph | None  # if it is small; its states are in the order of `inside`
    inside: tuple[int, ...] = ()  # for each state of that graph, in which one of the old graph it is


def property_answer(verdict: Verdict, certified: bool) -> Answer:
    """What a verdict says about the property itself: only a whole proof counts, only a replayed trace."""
    match verdict:
        case Proved() | Holds(as_asked=True):
            return "proved"
        case Violated() if certified:
            return "refuted"
        case Vacuous():
            return "vacuous"
        case _:
            return "unknown"
