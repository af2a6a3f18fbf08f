"""The answer. A verdict carries its own evidence; there is nothing to call later."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from surefoot.problem.meaning.transition import Transition
from surefoot.problem.semantics import Move, State
from surefoot.term.term import Term
from surefoot.verdict.fault import FaultFinding


@dataclass(frozen=True, slots=True)
class RecurrenceRegion:
    """A set of states, and the step that the environment can make from each of them."""

    where: Term  # over state variables and locations
    transition: Transition
    outcomes: tuple[int, ...]
    chosen: tuple[tuple[str, Term], ...] = ()  # values that it picks, as terms of state and controls


@dataclass(frozen=True, slots=True)
class Trace:
    """A run: states and the moves between them; `loop` = index of the state to which the last one returns.

    `recurrence`: the last state is in the first of these regions, from each of which a step leads to the next
    one and from the last one to the first, so that the run goes on for ever. That needs a certificate.

    `times`: of a run in continuous time, those of its states: the start, the control times, the violation.
    The start is exact, later states are close to those of the run; the violation needs a certificate.
    """

    states: tuple[State, ...]
    moves: tuple[Move, ...]
    loop: int | None = None
    recurrence: tuple[RecurrenceRegion, ...] = ()
    times: tuple[Fraction, ...] = ()


def trace_key(trace: Trace) -> Hashable:
    """Equal for runs with the same states."""
    return tuple(tuple(sorted(state.items())) for state in trace.states), trace.loop


@dataclass(frozen=True, slots=True)
class Certificate:
    """Evidence for the stand-alone checker: its kind and its content as JSON-like data."""

    kind: str
    content: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Proved:
    """`arithmetic`: `proved` (float32 as deployed, any summation order) or `proved-real` (exact only)."""

    certificate: Certificate
    arithmetic: str = "proved"
    artifact: object = field(default=None, compare=False)  # what was found beside the answer


@dataclass(frozen=True, slots=True)
class Violated:
    trace: Trace
    certificate: Certificate | None = None
    """Of what cannot be replayed: that a run stays in a recurrence set, or is bad in continuous time."""
    artifact: object = field(default=None, compare=False)


Box: TypeAlias = tuple[tuple[int, int], ...]  # the least and the greatest value of every scalar of a state


@dataclass(frozen=True, slots=True)
class AbstractInvariant:
    """The states of these boxes that belong to one of these abstract states: every run stays among them."""

    predicates: tuple[Term, ...]
    states: tuple[tuple[tuple[int, ...], tuple[bool, ...]], ...]  # locations by position, truth values
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class ProofArgument:
    """Why a property holds along all runs, in a form that can be proved again.

    `unrolled`: no run of 0, 1, … steps violates it, and unless the property itself stops at `steps` there is
    no run of that length (that matters). `induction`: k = `steps`; of `good` states in a row one is good.
    `closed`: no run leaves some set of states, none of which is bad: those of a condition (`invariant`), or
    those of a list of abstract states (`states`), which can be looked at one by one; or both are the same.
    `parts`: the same, of a condition that is better looked at one part after the other.
    `graph`: all reachable states can be looked at one by one.
    """

    kind: str
    steps: int
    good: int | None = None
    invariant: Term | None = None
    states: AbstractInvariant | None = None


@dataclass(frozen=True, slots=True)
class Holds:
    """No violation within `up_to` steps (None: at all), resting on the word of `uncertified_by`."""

    up_to: int | None
    uncertified_by: str
    as_asked: bool  # the property itself asked for no more than this bound
    how: str = ""  # the argument in a few words, where it is more than "every run was looked at"
    argument: ProofArgument | None = field(default=None, compare=False)
    artifact: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Estimated:
    """With this confidence the value is in the interval. `stop`: why no more runs were made.

    `mean`: an unbiased estimate, where it is far from the middle of the interval.
    """

    low: Fraction
    high: Fraction
    confidence: Fraction
    counts: Mapping[str, int]
    stop: str = ""
    mean: Fraction | None = None
    starts: str = ""
    """The law by which the starts were drawn, where the value is an average over them."""

    @property
    def complete(self) -> bool:
        """Was it estimated as precisely as was asked for?"""
        return self.stop in COMPLETE


@dataclass(frozen=True, slots=True)
class Exact:
    """The value lies between these ends (None: infinite). Without a certificate it is computed only.

    `stop`: why the interval is wider than was asked for.
    """

    low: Fraction | None
    high: Fraction | None
    certificate: Certificate | None
    stop: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Something that was asked for: a shield, tipping point, invariant, abstract graph, scheduler."""

    artifact: object
    certificate: Certificate | None


@dataclass(frozen=True, slots=True)
class PerStart:
    """A verdict for each start; those that are values rest on one certificate for all of them."""

    table: tuple[tuple[State, Verdict], ...]
    certificate: Certificate | None = None


@dataclass(frozen=True, slots=True)
class Vacuous:
    """The property holds only because nothing satisfies its premise."""

    why: str


# Ways to stop that leave nothing to do.
COMPLETE = ("", "precise enough", "on one side of the threshold", "as many runs as were asked for")


class Reason(Enum):
    """Why there is no answer."""

    TIMEOUT = "timeout"
    MEMORY = "memory"
    DEPTH = "depth limit"
    INCOMPLETE = "incomplete method"
    SPURIOUS = "spurious trace"
    OVERFLOW = "overflow"
    NUMERICS = "numerical trouble"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why something was not found or cannot be done: the reason to decide by, and words for people."""

    reason: Reason
    detail: str

    def __str__(self) -> str:
        return self.detail


@dataclass(frozen=True, slots=True)
class Unknown:
    reason: Reason
    detail: str
    holds_up_to: int | None = None  # partial knowledge: no violation within this many steps
    uncertified_by: str = ""  # ... on whose word
    artifact: object = field(default=None, compare=False)


Verdict: TypeAlias = Proved | Violated | Holds | Estimated | Exact | Found | PerStart | Vacuous | Unknown


def is_interrupted(verdict: Verdict) -> bool:
    """Was it cut short by the user? Then it is a part of an answer, and no more questions are asked."""
    match verdict:
        case Unknown(reason=Reason.INTERRUPTED) | Estimated(stop=Reason.INTERRUPTED.value):
            return True
        case PerStart(table):
            return any(is_interrupted(found) for _, found in table)
        case Found(artifact):
            return getattr(artifact, "reason", None) is Reason.INTERRUPTED
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Result:
    """A verdict and everything needed to reproduce and judge it."""

    problem: str
    engine: str
    verdict: Verdict
    certified: bool
    arithmetic: str
    seed: int
    versions: Mapping[str, str]
    inputs: Mapping[str, str]  # path -> sha256
    seconds: float
    timings: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    source: Mapping[str, object] = field(default_factory=dict)  # how to read the problem again
    unchecked: Certificate | None = field(default=None, compare=False)  # not accepted: there was no time left
    fault: FaultFinding | None = field(
        default=None, compare=False
    )  # of a violation: not a part of its evidence
    witnesses: tuple[Trace, ...] = ()  # where several were asked for: the shortest run found, then others
