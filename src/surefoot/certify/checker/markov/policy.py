"""What a policy permits: rules first, then perhaps a network; what it does not own is the environment's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..claim import Places, read_network_entry
from ..inference import Values, evaluator, nearest
from ..network import Network
from ..number import BadCertificate, Refused, items, record, text
from .moves import Moves, Step
from .term import Function, Kind, Row, compiled

_POLICY = frozenset({"rules", "network", "observe", "choose", "actions", "owns"})
_RULE = frozenset({"when", "then"})
MEMORY = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    moves: Moves
    rules: tuple[tuple[Function, str], ...]
    outputs: Callable[[Values], Values] | None
    observe: tuple[Function, ...]
    applicable: bool  # the best of the enabled actions; otherwise the best may stall
    actions: tuple[str, ...]
    owns: frozenset[str]
    unsaid: tuple[str, ...]
    network: Network | None
    known: dict[tuple[float, ...], tuple[float, ...]]
    of_step: dict[Step, str | None]

    def action_of(self, step: Step) -> str | None:
        """Which action of the policy a joint step carries out; None: the environment's own."""
        if step not in self.of_step:
            self.of_step[step] = self._action_of(step)
        return self.of_step[step]

    def _action_of(self, step: Step) -> str | None:
        if step.label in self.owns:
            return step.label
        for edge in step.edges:
            if (name := f"{self.moves.model.names[edge.component]}#{edge.number}") in self.owns:
                return name
        return None

    def permitted(self, row: Row, steps: list[Step]) -> list[Step]:
        named = [(step, self.action_of(step)) for step in steps]
        picked = self.picked(row, {action for _, action in named if action is not None})
        return [step for step, action in named if action is None or action == picked]

    def enabled(self, row: Row) -> set[str]:
        """The policy's actions that are enabled."""
        return {a for step in self.moves.enabled(row) if (a := self.action_of(step)) is not None}

    def stalls(self, row: Row) -> bool:
        own = self.enabled(row)
        return bool(own) and self.picked(row, own) not in own

    def picks(self, row: Row, action: str) -> bool:
        return self.picked(row, self.enabled(row)) == action

    def picked(self, row: Row, own: set[str]) -> str | None:
        """The action, enabled or not; None where nothing of the policy's is enabled or no rule decides."""
        if not own:
            return None
        for when, then in self.rules:
            if when(row):
                return then
        if self.outputs is None:
            return None
        values = self._computed(self.observed(row))
        return self.actions[max(self.choice(own), key=lambda i: (values[i], -i))]

    def observed(self, row: Row) -> tuple[float, ...]:
        return tuple(nearest(term(row)) for term in self.observe)

    def choice(self, own: set[str]) -> list[int]:
        """The outputs among which the network picks."""
        found = [i for i, a in enumerate(self.actions) if not self.applicable or a in own]
        if not found:
            raise Refused("none of the actions of the network is enabled where it is asked")
        return found

    def _computed(self, inputs: tuple[float, ...]) -> tuple[float, ...]:
        assert self.outputs is not None
        if (found := self.known.get(inputs)) is None:
            found = tuple(self.outputs(inputs))
            if len(self.known) < MEMORY:
                self.known[inputs] = found
        return found


def read_policy(data: object, moves: Moves, places: Places) -> Policy:
    entry = record(data, _POLICY, frozenset(), "policy")
    model = moves.model
    slots = {name: slot for name, slot in model.slots.items() if slot < model.width}
    kinds = model.sure()
    network, unsaid = (None, ()) if entry["network"] is None else read_network_entry(entry["network"], places)
    observe = tuple(compiled(t, slots, kinds) for t in items(entry["observe"], "observe"))
    actions, owns = (_names(entry[key], key) for key in ("actions", "owns"))
    rules = tuple(_rule(r, slots, kinds) for r in items(entry["rules"], "rules"))
    if entry["choose"] not in ("argmax", "argmax-applicable"):
        raise BadCertificate("policy: this way to choose is not covered")
    applicable = entry["choose"] == "argmax-applicable"
    widths = (0, 0) if network is None else (network.widths()[0], network.widths()[-1])
    if (len(observe), len(actions)) != widths:
        raise BadCertificate("policy: it does not fit the inputs and outputs of its network")
    if not {*actions, *(then for _, then in rules)} <= set(owns):
        raise BadCertificate("policy: an action that it does not own")
    run = None if network is None else evaluator(network)
    return Policy(
        moves, rules, run, observe, applicable, actions, frozenset(owns), tuple(unsaid), network, {}, {}
    )


def _names(data: Any, what: str) -> tuple[str, ...]:
    found = tuple(text(a, "action") for a in items(data, what))
    if len(set(found)) != len(found):
        raise BadCertificate("policy: an action twice")
    return found


def _rule(data: object, slots: dict[str, int], kinds: Mapping[int, Kind]) -> tuple[Function, str]:
    entry = record(data, _RULE, frozenset(), "rule")
    return compiled(entry["when"], slots, kinds), text(entry["then"], "rule")
