"""`R=? [ I=k ]` as an accumulated reward: steps are counted, and only what number k leaves earns anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surefoot.formats.prism.questions import InstantReward, PrismQuestion
from surefoot.formats.prism.rewards import RewardStructure
from surefoot.problem.environment import Edge, Environment, Update, Variable
from surefoot.problem.property import Expected, Property
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, equal, ite
from surefoot.term.value_types import Int


def count_instant(
    environment: Environment, question: PrismQuestion, rewards: Sequence[RewardStructure]
) -> tuple[Environment, Property]:
    """The environment and the property of a question; with a counter of steps where it needs one."""
    instant = question.instant
    if instant is None:
        return environment, question.asked
    assert isinstance(question.asked, Expected)
    value = next(s.of_states for s in rewards if s.name == instant.reward)
    counter = _fresh_name("steps_so_far", [v.name for v in environment.variables])
    reward = _fresh_name(f"{instant.reward}_at_{instant.step}", [s.name for s in rewards])
    counting = _counting_members(environment)
    components = tuple(
        replace(
            component,
            edges=tuple(
                _count_step(edge, Var(counter), instant, reward, value)
                if (number, edge.action) in counting
                else edge
                for edge in component.edges
            ),
        )
        for number, component in enumerate(environment.components)
    )
    variable = Variable(counter, Int(0, instant.step + 1))
    counted = replace(
        environment,
        variables=(*environment.variables, variable),
        initial=conjunction_of((environment.initial, equal(Var(counter), 0))),
        components=components,
    )
    return counted, replace(question.asked, reward=reward)


def _count_step(edge: Edge, counter: Var, instant: InstantReward, reward: str, value: Term) -> Edge:
    update = Update(counter, Apply(Op.MIN, (counter + 1, Const(instant.step + 1))))
    earned = ite(equal(counter, instant.step), value, 0)
    outcomes = tuple(
        replace(o, updates=(*o.updates, update), rewards=(*o.rewards, (reward, earned)))
        for o in edge.outcomes
    )
    return replace(edge, outcomes=outcomes)


def _counting_members(environment: Environment) -> set[tuple[int, str | None]]:
    """Component and action of edges of which every step has exactly one: no action is in two vectors."""
    if not environment.synchronisations and len(environment.components) == 1:
        return {(0, edge.action) for edge in environment.components[0].edges}
    found: set[tuple[int, str | None]] = {(n, None) for n in range(len(environment.components))}
    for vector in environment.synchronisations:
        found.add(next((n, a) for n, a in enumerate(vector.actions) if a is not None))
    return found


def _fresh_name(wanted: str, taken: Sequence[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted
