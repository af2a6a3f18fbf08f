"""Modules, or the choices of a chain, as components of an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.prism.choices import (
    DrawnChoice,
    JointChoice,
    drawn_edge,
    joint_choices,
    overlapping_groups,
    prefer_immediate,
    surely_apart,
)
from surefoot.formats.prism.modules import Command, CommandModule
from surefoot.formats.prism.overlap import GuardComparison
from surefoot.formats.prism.process_algebra import JointAction, combinations_of
from surefoot.formats.prism.rewards import RewardStructure, reward_amounts
from surefoot.problem.environment import Component, Edge, Outcome, Synchronisation
from surefoot.term.term import FALSE, TRUE, Const, Term, conjunction_of, disjunction_of
from surefoot.term.value_types import ValueType

LOOPS = "a state in which no command is enabled goes on as it is: PRISM adds such loops"
DRAWN = "where several commands are enabled together each is equally likely, as in PRISM's dtmc"
EMBEDDED = "only the embedded chain is read, without time"


@dataclass(frozen=True, slots=True)
class ModuleSystem:
    """`stuck`: where no command is enabled."""

    components: tuple[Component, ...]
    synchronisations: tuple[Synchronisation, ...]
    stuck: Term


def build_module_system(
    kind: str,
    modules: Sequence[CommandModule],
    steps: Sequence[JointAction],
    rewards: Sequence[RewardStructure],
    kinds: Mapping[str, ValueType],
    notes: set[str],
) -> ModuleSystem:
    """The components of a model of this kind, with loops where PRISM adds them."""
    possible = [step for step in steps if combinations_of(step, modules)]
    compare = GuardComparison(kinds)
    made: ModuleSystem | None = None
    if kind == "mdp" or (kind == "dtmc" and surely_apart(modules, possible, compare)):
        made = _synchronised_system(modules, possible, rewards, compare)
    elif kind == "dtmc":
        choices = joint_choices(modules, possible)
        groups = overlapping_groups(choices, compare)
        if all(len(group) == 1 for group in groups):
            made = _synchronised_system(modules, possible, rewards, compare)
        else:
            notes.add(DRAWN)
            made = _drawn_system(groups, rewards)
    else:
        notes.add(EMBEDDED)
        made = _timed_system(joint_choices(modules, possible), compare, rewards)
    return _add_loops(made, rewards, compare, notes)


def _timed_system(
    choices: list[JointChoice], compare: GuardComparison, rewards: Sequence[RewardStructure]
) -> ModuleSystem:
    """The race of the commands with rates as one draw; commands with probabilities stay a choice."""
    preferred = prefer_immediate(choices)
    immediate = [[DrawnChoice(c, ())] for c in preferred if not c.markovian]
    racing = overlapping_groups([c for c in preferred if c.markovian], compare)
    return _drawn_system([*immediate, *racing], rewards)


def _drawn_system(
    groups: Sequence[Sequence[DrawnChoice]], rewards: Sequence[RewardStructure]
) -> ModuleSystem:
    edges = tuple(drawn_edge(group, lambda label: reward_amounts(rewards, label)) for group in groups)
    stuck = fold_constant_parts(~disjunction_of(tuple(edge.guard for edge in edges)))
    return ModuleSystem((Component("system", edges),), (), stuck)


def _synchronised_system(
    modules: Sequence[CommandModule],
    steps: Sequence[JointAction],
    rewards: Sequence[RewardStructure],
    compare: GuardComparison,
) -> ModuleSystem:
    """A component for each module. The first member of every joint step earns its rewards."""
    edges: list[list[Edge]] = [
        [_edge(c, None, rewards, None, earns=True) for c in module.commands if c.action is None]
        for module in modules
    ]
    vectors: list[Synchronisation] = []
    used: dict[tuple[int, str], int] = {}
    alone = len(modules) == 1
    for step in steps:
        slots: list[str | None] = [None] * len(modules)
        for place, (number, action) in enumerate(step.members):
            commands = [c for c in modules[number].commands if c.action == action]
            times = used.get((number, action), 0)
            used[number, action] = times + 1
            name: str | None = action if times == 0 else f"{action} ({times + 1})"
            if alone:
                name = step.label
            slots[number] = name
            edges[number] += [_edge(c, name, rewards, step.label, earns=place == 0) for c in commands]
        vectors.append(Synchronisation(tuple(slots), step.label))
    components = tuple(Component(m.name, tuple(own)) for m, own in zip(modules, edges, strict=True))
    return ModuleSystem(components, () if alone else tuple(vectors), _stuck(modules, steps, compare))


def _edge(
    command: Command,
    action: str | None,
    rewards: Sequence[RewardStructure],
    label: str | None,
    *,
    earns: bool,
) -> Edge:
    amounts = reward_amounts(rewards, label) if earns else ()
    outcomes = tuple(Outcome(weight, updates, amounts) for weight, updates in command.branches)
    return Edge("here", action, command.guard, outcomes=outcomes)


def _stuck(modules: Sequence[CommandModule], steps: Sequence[JointAction], compare: GuardComparison) -> Term:
    """No command without action is enabled, and of every joint step some member is not ready."""
    ways = [c.guard for module in modules for c in module.commands if c.action is None]
    for step in steps:
        ready = [
            _ready([c.guard for c in modules[number].commands if c.action == action], compare)
            for number, action in step.members
        ]
        ways.append(conjunction_of(tuple(ready)))
    return fold_constant_parts(~disjunction_of(tuple(dict.fromkeys(ways))))


def _ready(guards: Sequence[Term], compare: GuardComparison) -> Term:
    """Some command of a module is enabled; `true` if that is so in every state."""
    whole = disjunction_of(tuple(dict.fromkeys(guards)))
    return whole if compare.may_hold_together(~whole) else TRUE


def _add_loops(
    made: ModuleSystem, rewards: Sequence[RewardStructure], compare: GuardComparison, notes: set[str]
) -> ModuleSystem:
    if not compare.may_hold_together(made.stuck):
        return _name_unpaid(replace(made, stuck=FALSE), rewards)
    notes.add(LOOPS)
    states = tuple((s.name, s.of_states) for s in rewards if s.of_states != Const(0))
    loop = Edge("here", None, made.stuck, outcomes=(Outcome(rewards=states),))
    first, *others = made.components
    looped = replace(made, components=(replace(first, edges=(*first.edges, loop)), *others))
    return _name_unpaid(looped, rewards)


def _name_unpaid(made: ModuleSystem, rewards: Sequence[RewardStructure]) -> ModuleSystem:
    """Rewards that no step earns are known all the same: nothing is earned for them somewhere."""
    outcomes = (o for c in made.components for e in c.edges for o in e.outcomes)
    earned = {name for o in outcomes for name, _ in o.rewards}
    unpaid = tuple((s.name, Const(0)) for s in rewards if s.name not in earned)
    number = next((n for n, c in enumerate(made.components) if c.edges), None)
    if not unpaid or number is None:
        return made
    first, *edges = made.components[number].edges
    outcome, *rest = first.outcomes
    first = replace(first, outcomes=(replace(outcome, rewards=(*outcome.rewards, *unpaid)), *rest))
    components = list(made.components)
    components[number] = replace(components[number], edges=(first, *edges))
    return replace(made, components=tuple(components))
