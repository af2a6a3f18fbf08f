"""Chains: what is enabled together is drawn, not chosen.

In a dtmc each of the enabled choices is equally likely, in a ctmc the rates decide (of which only the
embedded chain is kept), and in an ma the commands with rates move only where no other command can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    place: PrismPlace


def joint_choices(modules: Sequence[CommandModule], steps: Sequence[JointAction]) -> list[JointChoice]:
    """Every choice of the whole model."""
    found = [
        JointChoice(None, c.markovian, c.guard, c.branches, c.place)
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
    return JointChoice(label, commands[0].markovian, guard, tuple(branches), commands[0].place)


def _product(left: Term, right: Term) -> Term:
    if left == Const(1):
        return right
    return left if right == Const(1) else fold_constant_parts(left * right)


def overlapping_groups(choices: Sequence[JointChoice], compare: GuardComparison) -> list[list[JointChoice]]:
    """Choices that may be enabled together, directly or by way of others, in the order of the model."""
    parent = list(range(len(choices)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for second in range(len(choices)):
        for first in range(second):
            if root(first) != root(second) and compare.may_hold_together(
                choices[first].guard, choices[second].guard
            ):
                parent[root(second)] = root(first)
    groups: dict[int, list[JointChoice]] = {}
    for number, choice in enumerate(choices):
        groups.setdefault(root(number), []).append(choice)
    return list(groups.values())


def drawn_edge(group: Sequence[JointChoice], amounts: _Amounts) -> Edge:
    """One edge that draws among the choices of a group by rates, or evenly where they have probabilities."""
    by_rate = group[0].markovian
    totals = [_sum([w for w, _ in c.branches]) if by_rate else Const(1) for c in group]
    if len(group) == 1 and not by_rate:
        choice = group[0]
        outcomes = tuple(Outcome(w, updates, amounts(choice.label)) for w, updates in choice.branches)
        return Edge("here", choice.label, choice.guard, outcomes=outcomes)
    shares = [t if len(group) == 1 else ite(c.guard, t, 0) for c, t in zip(group, totals, strict=True)]
    total = _sum(shares)
    outcomes = tuple(
        Outcome(_share(choice, weight, total, alone=len(group) == 1), updates, amounts(choice.label))
        for choice in group
        for weight, updates in choice.branches
    )
    guard = disjunction_of(tuple(_positive(c, t) for c, t in zip(group, totals, strict=True)))
    label = group[0].label if len(group) == 1 else None
    return Edge("here", label, fold_constant_parts(guard), outcomes=outcomes)


def _positive(choice: JointChoice, total: Term) -> Term:
    """Enabled, and with a rate above 0."""
    if isinstance(total, Const):
        return choice.guard if total != Const(0) else Const(False)
    return conjunction_of((choice.guard, total > 0))


def _share(choice: JointChoice, weight: Term, total: Term, *, alone: bool) -> Term:
    if weight == total:
        return Const(1)
    share = fold_constant_parts(Apply(Op.DIV, (weight, total)))
    return share if alone else ite(choice.guard, share, 0)


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
