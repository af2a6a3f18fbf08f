"""What a policy permits: rules first, then perhaps a network; what it does not own is the environment's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...kernel.float32 import fraction_to_float32
from ...kernel.inference import Values, network_function
from ...kernel.network import FlatNetwork
from ...kernel.problem import Policy
from ...kernel.strict_json import BadCertificate, Refused
from ...kernel.term import term_names
from ..unsat.query_claim import FileLocations, read_network_entry
from .term import Function, Row, compile_row_function
from .transitions import JointTransitions, ModelStep

MEMORY = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ClaimedPolicy:
    moves: JointTransitions
    rules: tuple[tuple[Function, str], ...]
    outputs: Callable[[Values], Values] | None
    observe: tuple[Function, ...]
    applicable: bool  # the best of the enabled actions; otherwise the best may stall
    actions: tuple[str, ...]
    owns: frozenset[str]
    unsaid: tuple[str, ...]
    network: FlatNetwork | None
    known: dict[tuple[float, ...], tuple[float, ...]]
    of_step: dict[ModelStep, str | None]
    reads: frozenset[int]  # slots of what rules and network look at

    def action_of(self, step: ModelStep) -> str | None:
        """Which action of the policy a joint step carries out; None: the environment's own."""
        if step not in self.of_step:
            self.of_step[step] = self._action_of(step)
        return self.of_step[step]

    def _action_of(self, step: ModelStep) -> str | None:
        if step.label in self.owns:
            return step.label
        model = self.moves.model
        for edge in step.edges:
            component = model.problem.components[model.component_of[edge]]
            if (name := f"{component.name}#{component.edges.index(edge)}") in self.owns:
                return name
        return None

    def permitted_steps(self, row: Row, steps: list[ModelStep]) -> list[ModelStep]:
        named = [(step, self.action_of(step)) for step in steps]
        picked = self.picked_action(row, {action for _, action in named if action is not None})
        return [step for step, action in named if action is None or action == picked]

    def enabled_actions(self, row: Row) -> set[str]:
        """The policy's actions that are enabled."""
        return {a for step in self.moves.enabled_steps(row) if (a := self.action_of(step)) is not None}

    def stalls(self, row: Row) -> bool:
        own = self.enabled_actions(row)
        return bool(own) and self.picked_action(row, own) not in own

    def picks(self, row: Row, action: str) -> bool:
        return self.picked_action(row, self.enabled_actions(row)) == action

    def picked_action(self, row: Row, own: set[str]) -> str | None:
        """The action, enabled or not; None where nothing of the policy's is enabled or no rule decides."""
        if not own:
            return None
        for when, then in self.rules:
            if when(row):
                return then
        if self.outputs is None:
            return None
        values = self._network_outputs(self.observe_row(row))
        return self.actions[max(self.choice(own), key=lambda i: (values[i], -i))]

    def observe_row(self, row: Row) -> tuple[float, ...]:
        return tuple(fraction_to_float32(term(row)) for term in self.observe)

    def choice(self, own: set[str]) -> list[int]:
        """The outputs among which the network picks."""
        found = [i for i, a in enumerate(self.actions) if not self.applicable or a in own]
        if not found:
            raise Refused("none of the actions of the network is enabled where it is asked")
        return found

    def _network_outputs(self, inputs: tuple[float, ...]) -> tuple[float, ...]:
        assert self.outputs is not None
        if (found := self.known.get(inputs)) is None:
            found = tuple(self.outputs(inputs))
            if len(self.known) < MEMORY:
                self.known[inputs] = found
        return found


def build_claimed_policy(policy: Policy, moves: JointTransitions, places: FileLocations) -> ClaimedPolicy:
    """The policy of a finite system, its terms compiled and its network read."""
    model = moves.model
    slots = {name: slot for name, slot in model.slots.items() if slot < model.width}
    kinds, entry = model.sure, policy.network
    network, unsaid = (None, ()) if entry is None else read_network_entry(entry, places)
    if policy.choose not in ("argmax", "argmax-applicable") or policy.shield is not None:
        raise BadCertificate("policy: this way to choose is not covered")
    if any(len(set(several)) < len(several) for several in (policy.actions, policy.owns)):
        raise BadCertificate("policy: an action twice")
    widths = (0, 0) if network is None else (network.widths()[0], network.widths()[-1])
    if (len(policy.observe), len(policy.actions)) != widths:
        raise BadCertificate("policy: it does not fit the inputs and outputs of its network")
    return ClaimedPolicy(
        moves,
        tuple((compile_row_function(when, slots, kinds), then) for when, then in policy.rules),
        None if network is None else network_function(network),
        tuple(compile_row_function(t, slots, kinds) for t in policy.observe),
        policy.choose == "argmax-applicable",
        policy.actions,
        frozenset(policy.owns),
        tuple(unsaid),
        network,
        {},
        {},
        frozenset(slots[n] for t in (*(w for w, _ in policy.rules), *policy.observe) for n in term_names(t)),
    )
