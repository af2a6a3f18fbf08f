"""The last decision of a violating run that could have been different, and what is known about it.

A state is *won* if the policy, picking among the actions that the environment offers, can keep the property
whatever else happens: any transition, any chosen value, any outcome of positive probability. It is *lost*
otherwise. A fault is a decision in a won state after which the run violates the property.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from surefoot.problem.semantics import State

if TYPE_CHECKING:
    from surefoot.verdict.verdict import Trace

ClaimKind: TypeAlias = Literal["exact", "by shield", "bounded", "sampled", "computed"]

FaultKind: TypeAlias = Literal["last", "costliest"]


@dataclass(frozen=True, slots=True)
class Claim:
    """How something about a state is known.

    `exact`: by the game itself. `by shield`: the state is in a set that a certified shield does not leave.
    `bounded`: against everything that the environment may do, but for `steps` steps only. `sampled`: in
    `runs` runs of `steps` steps. `computed`: by probabilities in floating point (see `Fault.risk`).
    """

    kind: ClaimKind
    steps: int | None = None
    runs: int | None = None


EXACTLY = Claim("exact")
COMPUTED = Claim("computed")


@dataclass(frozen=True, slots=True)
class Alternative:
    """What a policy may pick: an action, or values of the controls; neither: it stalls."""

    action: str | None = None
    controls: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """A decision in a state from which the property could still be kept.

    `saved`: how it is known that `safe` would have kept it. `lost`: how it is known that nothing could later;
    None: the run could have been saved later too, each time it came back to this state. `risk`: of the
    costliest decision, how likely a violation was at best before it, and after it.
    """

    step: int  # the number of the state
    state: State
    observation: tuple[float, ...]
    chosen: tuple[Alternative, ...]  # several where the policy draws and it is not known what it drew
    stalls: bool  # what it picked is not enabled
    safe: tuple[Alternative, ...]
    saved: Claim
    lost: Claim | None
    untried: bool = False  # there are infinitely many alternatives: `safe` are some that were tried
    risk: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class FaultFinding:
    """About one run: the fault, or how it is known that there is none (`lost`), or why it is not known.

    `costliest`: where chance has a part, the decision that made a violation more likely than any other did.
    """

    fault: Fault | None = None
    lost: Claim | None = None
    unknown: str = ""
    costliest: Fault | None = None


@dataclass(frozen=True, slots=True)
class CountedFault:
    """A decision, in how many violating runs it is the fault, and one of these runs."""

    fault: Fault
    count: int
    example: Trace


@dataclass(frozen=True, slots=True)
class FaultTable:
    """The faults of many violating runs, the most frequent first.

    `tried`: runs that were drawn to find these `runs`; those that were known before are not counted in it.
    `by`: which decision of a run is counted, the last that could have been different or the costliest one.
    `stop`: why there are not as many as were asked for.
    """

    decisions: tuple[CountedFault, ...] = ()
    runs: int = 0
    tried: int = 0
    lost: int = 0  # runs whose start is lost
    lost_claim: Claim | None = None
    unknown: tuple[tuple[str, int], ...] = ()  # why a run has no fault that is known, and how many
    stop: str = ""
    by: FaultKind = "last"
    blameless: int = 0  # runs in which no decision made a violation more likely
