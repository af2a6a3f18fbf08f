"""What a policy permits: rules first, then perhaps a network; what it does not own is the environment's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...kernel.inference import Values, fraction_to_float32, network_function
from ...kernel.network import FlatNetwork
from ...kernel.strict_json import BadCertificate, Refused, expect_list, expect_object, expect_text
from ..unsat.query_claim import FileLocations, read_network_entry
from .term import Function, Kind, Row, compile_row_function
from .transitions import JointTransitions, ModelStep

_POLICY = frozenset({"rules", "network", "observe", "choose", "actions", "owns"})
_RULE = frozenset({"when", "then"})
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

    def action_of(self, step: ModelStep) -> str | None:
        """Which action of the policy a joint step carries out; None: the environment's own."""
        if step not in self.of_step:
            self.of_step[step] = self._action_of(step)
        return self.of_step[step]

    def _action_of(self, step: ModelStep) -> str | None:
        if step.label in self.owns:
            return step.label
        for edge in step.edges:
            if (name := f"{self.moves.model.names[edge.component]}#{edge.number}") in self.owns:
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


def read_claimed_policy(data: object, moves: JointTransitions, places: FileLocations) -> ClaimedPolicy:
    entry = expect_object(data, _POLICY, frozenset(), "policy")
    model = moves.model
    slots = {name: slot for name, slot in model.slots.items() if slot < model.width}
    kinds = model.sure()
    network, unsaid = (None, ()) if entry["network"] is None else read_network_entry(entry["network"], places)
    observe = tuple(compile_row_function(t, slots, kinds) for t in expect_list(entry["observe"], "observe"))
    actions, owns = (_read_actions(entry[key], key) for key in ("actions", "owns"))
    rules = tuple(_read_rule(r, slots, kinds) for r in expect_list(entry["rules"], "rules"))
    if entry["choose"] not in ("argmax", "argmax-applicable"):
        raise BadCertificate("policy: this way to choose is not covered")
    applicable = entry["choose"] == "argmax-applicable"
    widths = (0, 0) if network is None else (network.widths()[0], network.widths()[-1])
    if (len(observe), len(actions)) != widths:
        raise BadCertificate("policy: it does not fit the inputs and outputs of its network")
    if not {*actions, *(then for _, then in rules)} <= set(owns):
        raise BadCertificate("policy: an action that it does not own")
    run = None if network is None else network_function(network)
    return ClaimedPolicy(
        moves, rules, run, observe, applicable, actions, frozenset(owns), tuple(unsaid), network, {}, {}
    )


def _read_actions(data: Any, what: str) -> tuple[str, ...]:
    found = tuple(expect_text(a, "action") for a in expect_list(data, what))
    if len(set(found)) != len(found):
        raise BadCertificate("policy: an action twice")
    return found


def _read_rule(data: object, slots: dict[str, int], kinds: Mapping[int, Kind]) -> tuple[Function, str]:
    entry = expect_object(data, _RULE, frozenset(), "rule")
    return compile_row_function(entry["when"], slots, kinds), expect_text(entry["then"], "rule")
