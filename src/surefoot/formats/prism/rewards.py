"""Reward structures: what a step with some action is worth in the state that it leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.prism.model_syntax import PrismRewards
from surefoot.formats.prism.terms import PrismScope, read_prism_term
from surefoot.problem.property import STEPS
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, ite
from surefoot.term.types import BOOL, REAL


@dataclass(frozen=True, slots=True)
class RewardStructure:
    """`name` in the environment; `written` in the file (None: without name)."""

    name: str
    written: str | None
    of_states: Term
    of_steps: Mapping[str | None, Term]  # by action

    def amount(self, label: str | None) -> Term:
        more = self.of_steps.get(label, Const(0))
        return _add(self.of_states, more)


def read_reward_structures(
    structures: Sequence[PrismRewards], scope: PrismScope, actions: Sequence[str]
) -> list[RewardStructure]:
    """All structures in the order of the file."""
    found: list[RewardStructure] = []
    taken = {STEPS}
    for number, structure in enumerate(structures, 1):
        if structure.name is not None and any(s.written == structure.name for s in found):
            structure.place.fail(f'rewards "{structure.name}" are declared twice', "rename one of them")
        name = structure.name or f"rewards_{number}"
        while name in taken:
            name += "_"
        taken.add(name)
        of_states: Term = Const(0)
        of_steps: dict[str | None, Term] = {}
        for item in structure.items:
            guard = read_prism_term(item.guard, scope, BOOL)
            value = read_prism_term(item.value, scope, REAL)
            amount = value if guard == TRUE else Const(0) if guard == FALSE else ite(guard, value, 0)
            if item.of_states:
                of_states = _add(of_states, amount)
            else:
                if item.action is not None and item.action not in actions:
                    scope.notes.add(f"rewards of the action `{item.action}`, which no command has")
                of_steps[item.action] = _add(of_steps.get(item.action, Const(0)), amount)
        found.append(RewardStructure(name, structure.name, of_states, of_steps))
    return found


def _add(left: Term, right: Term) -> Term:
    if left == Const(0):
        return right
    return left if right == Const(0) else fold_constant_parts(Apply(Op.ADD, (left, right)))


def reward_amounts(structures: Sequence[RewardStructure], label: str | None) -> tuple[tuple[str, Term], ...]:
    """What a step with this action is worth in each structure."""
    amounts = ((s.name, s.amount(label)) for s in structures)
    return tuple((name, amount) for name, amount in amounts if amount != Const(0))
