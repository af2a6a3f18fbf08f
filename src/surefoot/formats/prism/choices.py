"""Chains: what is enabled together is drawn, not chosen.

In a dtmc each of the enabled choices is equally likely, in a ctmc the rates decide (of which only the
embedded chain is kept), and in an ma the commands with rates move only where no other command can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.prism.modules import Command, CommandModule
from surefoot.formats.prism.overlap import GuardComparison
from surefoot.formats.prism.process_algebra import JointAction, combinations_of
from surefoot.formats.prism.tokens import PrismPlace
from surefoot.problem.environment import Edge, Outcome, Update
from surefoot.term.term import TRUE, Apply, Const, Op, Term, conjunction_of, disjunction_of, ite

MOST_CHOICES = 5_000
_Amounts = Callable[[str | None], tuple[tuple[str, Term], ...]]


@dataclass(frozen=True, slots=True)
class JointChoice:
    """One command of every module that takes part."""

    label: str | None
    markovian: bool
    guard: Term
    branches: tuple[tuple[Term, tuple[Update, ...]], ...]
    commands: tuple[Command, ...]

    @property
    def place(self) -> PrismPlace:
        return self.commands[0].place


def joint_choices(modules: Sequence[CommandModule], steps: Sequence[JointAction]) -> list[JointChoice]:
    """Every choice of the whole model."""
    found = [
        JointChoice(None, c.markovian, c.guard, c.branches, (c,))
        for module in modules
        for c in module.commands
        if c.action is None
    ]
    count = len(found) + sum(combinations_of(step, modules) for step in steps)
    if count > MOST_CHOICES and modules:
        what = f"{count} combinations of commands, and chains draw among those that are enabled together"
        modules[0].commands[0].place.refuse(what, f"use at most {MOST_CHOICES}")
    for step in steps:
        several = [
            [c for c in modules[number].commands if c.action == action] for number, action in step.members
        ]
        found += [_join_commands(commands, step.label) for commands in product(*several)]
    return found


def _join_commands(commands: tuple[Command, ...], label: str | None) -> JointChoice:
    guard = fold_constant_parts(conjunction_of(tuple(c.guard for c in commands)))
    branches: list[tuple[Term, tuple[Update, ...]]] = [(Const(1), ())]
    for command in commands:
        branches = [
            (_product(weight, more), (*updates, *others))
            for weight, updates in branches
            for more, others in command.branches
        ]
    if len({c.markovian for c in commands}) > 1:
        what = "a command with rates and one with probabilities move together"
        commands[0].place.refuse(what, "give both rates, or both probabilities")
    return JointChoice(label, commands[0].markovian, guard, tuple(branches), commands)


def _product(left: Term, right: Term) -> Term:
    if left == Const(1):
        return right
    return left if right == Const(1) else fold_constant_parts(left * right)


@dataclass(frozen=True, slots=True)
class DrawnChoice:
    """A choice, and those others that may be enabled together with it."""

    choice: JointChoice
    rivals: tuple[JointChoice, ...]


def overlapping_groups(choices: Sequence[JointChoice], compare: GuardComparison) -> list[list[DrawnChoice]]:
    """Choices that may be enabled together, directly or by way of others, in the order of the model."""
    rivals: list[list[int]] = [[] for _ in choices]
    parent = list(range(len(choices)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for first, second in _overlapping_pairs(choices, compare):
        rivals[first].append(second)
        rivals[second].append(first)
        parent[root(second)] = root(first)
    groups: dict[int, list[DrawnChoice]] = {}
    for number, choice in enumerate(choices):
        drawn = DrawnChoice(choice, tuple(choices[n] for n in sorted(rivals[number])))
        groups.setdefault(root(number), []).append(drawn)
    return list(groups.values())


class CommandPairs:
    """Which commands exclude each other: asked many times, decided once."""

    def __init__(self, compare: GuardComparison) -> None:
        self._compare = compare
        self._known: dict[tuple[int, int], bool] = {}

    def exclude(self, one: Command, other: Command) -> bool:
        key = (id(one), id(other))
        if key not in self._known:
            apart = one is not other and not self._compare.may_hold_together(one.guard, other.guard)
            self._known[key] = self._known[key[::-1]] = apart
        return self._known[key]

    def all_exclude(self, some: Sequence[Command], others: Sequence[Command]) -> bool:
        return all(self.exclude(a, b) for a in some for b in others)


def surely_apart(
    modules: Sequence[CommandModule], steps: Sequence[JointAction], compare: GuardComparison
) -> bool:
    """Is never more than one choice enabled? Seen without listing the choices, which may be very many."""
    pairs = CommandPairs(compare)
    groups: list[list[list[Command]]] = [[[c]] for m in modules for c in m.commands if c.action is None]
    for step in steps:
        members = [
            [c for c in modules[number].commands if c.action == action] for number, action in step.members
        ]
        for several in members:
            if any(not pairs.exclude(a, b) for n, a in enumerate(several) for b in several[:n]):
                return False
        groups.append(members)
    return all(
        any(pairs.all_exclude(mine, theirs) for mine in group for theirs in other)
        for number, group in enumerate(groups)
        for other in groups[:number]
    )


def _overlapping_pairs(choices: Sequence[JointChoice], compare: GuardComparison) -> Iterator[tuple[int, int]]:
    """The numbers of choices that may be enabled together. Two commands that exclude each other decide it."""
    pairs = CommandPairs(compare)
    for second, later in enumerate(choices):
        for first, earlier in enumerate(choices[:second]):
            if any(pairs.exclude(a, b) for a in earlier.commands for b in later.commands):
                continue
            single = len(earlier.commands) == len(later.commands) == 1
            if single or compare.may_hold_together(earlier.guard, later.guard):
                yield first, second


def drawn_edge(group: Sequence[DrawnChoice], amounts: _Amounts) -> Edge:
    """One edge that draws among the choices of a group by rates, or evenly where they have probabilities."""
    outcomes: list[Outcome] = []
    for drawn in group:
        choice = drawn.choice
        shares = [_rate(choice), *(ite(r.guard, _rate(r), 0) for r in drawn.rivals)]
        total = _sum(shares)
        earned = amounts(choice.label)
        for weight, updates in choice.branches:
            share = Const(1) if weight == total else weight / total
            outcomes.append(
                Outcome(share if len(group) == 1 else ite(choice.guard, share, 0), updates, earned)
            )
    guard = disjunction_of(tuple(_positive(d.choice, _rate(d.choice)) for d in group))
    label = group[0].choice.label if len(group) == 1 else None
    return Edge("here", label, guard, outcomes=tuple(outcomes))


def _rate(choice: JointChoice) -> Term:
    """How much a choice counts among others: the sum of its rates, or 1."""
    return _sum([weight for weight, _ in choice.branches]) if choice.markovian else Const(1)


def _positive(choice: JointChoice, total: Term) -> Term:
    """Enabled, and with a rate above 0."""
    if isinstance(total, Const):
        return choice.guard if total != Const(0) else Const(False)
    return conjunction_of((choice.guard, total > 0))


def _sum(parts: Sequence[Term]) -> Term:
    return parts[0] if len(parts) == 1 else fold_constant_parts(Apply(Op.ADD, tuple(parts)))


def prefer_immediate(choices: Sequence[JointChoice]) -> list[JointChoice]:
    """Of an ma: commands with rates only where no other command is enabled."""
    immediate = [c.guard for c in choices if not c.markovian]
    idle = fold_constant_parts(~disjunction_of(tuple(immediate))) if immediate else TRUE
    return [
        replace(c, guard=fold_constant_parts(conjunction_of((c.guard, idle)))) if c.markovian else c
        for c in choices
    ]
