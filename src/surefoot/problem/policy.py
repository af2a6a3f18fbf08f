"""Who acts. A shield is a policy like the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem, WrongType
from surefoot.problem.environment import Environment
from surefoot.problem.network import Network
from surefoot.term.arguments import (
    check_fields,
    describe_value,
    take_callable,
    take_enum,
    take_instance,
    take_optional,
    take_text,
    take_tuple,
    whole_number,
)
from surefoot.term.term import Term, term_from_python


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

    def __post_init__(self) -> None:
        check_fields(self, component=take_text, order=take_tuple(whole_number, "numbers of edges"))


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

    def __post_init__(self) -> None:
        check_fields(
            self,
            network=take_instance(
                Network, fix="read it with load_policy(path).network", LoadedPolicy="give its `.network`"
            ),
            observe=take_tuple(term_from_python, "terms"),
            actions=_take_actions,
            choose=take_enum(Choose),
            notes=take_tuple(take_text, "notes"),
        )


def _take_actions(given: object) -> object:
    return given if isinstance(given, EdgesOf) else take_tuple(take_text, "names of actions")(given)


@dataclass(frozen=True, slots=True)
class Branch:
    """`when` it holds: an action label, one term per control, or another policy that decides."""

    when: Term
    then: str | tuple[Term, ...] | Policy

    def __post_init__(self) -> None:
        check_fields(self, when=term_from_python, then=_take_decision)


def _take_decision(given: object) -> object:
    if isinstance(given, str | NeuralPolicy | ProgramPolicy | ShieldedPolicy | OraclePolicy):
        return given
    if isinstance(given, tuple | list):
        return take_tuple(term_from_python, "terms")(given)
    what = f"{describe_value(given)} is no decision"
    raise WrongType(what, fix="give an action's name, a tuple with one term for each control, or a policy")


@dataclass(frozen=True, slots=True)
class ProgramPolicy:
    """The first branch whose condition holds decides; if none does, the run stalls."""

    branches: tuple[Branch, ...]
    actions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(
            self,
            branches=take_tuple(take_instance(Branch), "branches"),
            actions=take_tuple(take_text, "names of actions"),
        )


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

    def __post_init__(self) -> None:
        model = take_optional(take_instance(Environment))
        check_fields(self, policy=take_policy, permits=term_from_python, fallback=take_policy, model=model)


@dataclass(frozen=True, slots=True)
class OraclePolicy:
    """Any Python callable from a state to an action label or to control values: it can only be simulated."""

    name: str
    decide: Callable[[Mapping[str, Any]], str | tuple[float, ...]]
    actions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(
            self, name=take_text, decide=take_callable, actions=take_tuple(take_text, "names of actions")
        )


def _not_asked(_: Mapping[str, Any]) -> str:
    raise InvalidProblem("the random policy has no actions of its own")


RANDOM = OraclePolicy("random", _not_asked)  # leaves all open: simulation makes it equally likely if asked to

Policy: TypeAlias = NeuralPolicy | ProgramPolicy | ShieldedPolicy | OraclePolicy


def nested_policies(policy: Policy) -> Iterator[Policy]:
    """The policy and every policy inside it."""
    yield policy
    match policy:
        case ProgramPolicy(branches):
            for branch in branches:
                if not isinstance(branch.then, str | tuple):
                    yield from nested_policies(branch.then)
        case ShieldedPolicy(inner, _, fallback):
            yield from nested_policies(inner)
            yield from nested_policies(fallback)


take_policy = take_instance(
    *(NeuralPolicy, ProgramPolicy, ShieldedPolicy, OraclePolicy),
    fix="give a NeuralPolicy, ProgramPolicy or ShieldedPolicy",
    str="read the network with load_policy(path).network and put it into a NeuralPolicy",
    LoadedPolicy="put its `.network` into a NeuralPolicy",
    Network="put it into a NeuralPolicy",
)
