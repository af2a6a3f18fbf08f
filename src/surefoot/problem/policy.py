"""Who acts. A shield is a policy like the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Environment
from surefoot.problem.network import Network
from surefoot.problem.term import Term


class Choose(Enum):
    """How network outputs become an action."""

    ARGMAX = "argmax"  # the best output; if its action is not enabled the run stalls
    ARGMAX_APPLICABLE = "argmax-applicable"  # the best output among the enabled actions
    VALUE = "value"  # the outputs are the controls, clipped to their bounds
    SAMPLE = "sample"  # softmax over all outputs; an action that is not enabled stalls


@dataclass(frozen=True, slots=True)
class EdgesOf:
    """Output i stands for edge `order[i]` of a component; an empty order means the order of declaration."""

    component: str
    order: tuple[int, ...] = ()


Actions: TypeAlias = tuple[str, ...] | EdgesOf


@dataclass(frozen=True, slots=True)
class NeuralPolicy:
    """A network that reads `observe` (in order) and decides among `actions` (in order).

    With `choose` = value there are no actions: output i is the environment's control i.
    """

    network: Network
    observe: tuple[Term, ...]
    actions: Actions = ()
    choose: Choose = Choose.ARGMAX
    notes: tuple[str, ...] = ()  # e.g. "observations are normalised: folded into the first layer"


@dataclass(frozen=True, slots=True)
class Branch:
    """`when` it holds: an action label, one term per control, or another policy that decides."""

    when: Term
    then: str | tuple[Term, ...] | Policy


@dataclass(frozen=True, slots=True)
class ProgramPolicy:
    """The first branch whose condition holds decides; if none does, the run stalls."""

    branches: tuple[Branch, ...]
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShieldedPolicy:
    """Follow `policy` where `permits` holds of state and proposed action; elsewhere `fallback`.

    `permits` may mention state variables, controls (the proposed values) and `chosen(a)`.
    `model` is the environment for which `permits` was established.
    """

    policy: Policy
    permits: Term
    fallback: Policy
    model: Environment | None = None


@dataclass(frozen=True, slots=True)
class OraclePolicy:
    """Any Python callable from a state to an action label or to control values: it can only be simulated."""

    name: str
    decide: Callable[[Mapping[str, Any]], str | tuple[float, ...]]
    actions: tuple[str, ...] = ()


def _not_asked(_: Mapping[str, Any]) -> str:
    raise InvalidProblem("the random policy has no actions of its own")


RANDOM = OraclePolicy("random", _not_asked)  # leaves all open: simulation makes it equally likely if asked to

Policy: TypeAlias = NeuralPolicy | ProgramPolicy | ShieldedPolicy | OraclePolicy
