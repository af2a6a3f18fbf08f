"""Seconds as numbers of steps: limits of a property, and a control period of several steps.

Both are said in the words of a plain problem, by variables that count:

    limits     `never BAD for 5 seconds` is `never BAD for N steps` with N the last step at or before that
               time. Where something counts only from a moment on, `elapsed_steps` says how many steps have
               been made (it stays where it is enough), and the condition asks for it too.
    period     `substep` counts the steps since the policy was asked. Where it is 0 the policy decides, and
               what it decided is kept in `held_u` for every control u, or in `held_action` as the number of
               the action; elsewhere rules in front of the policy return what is kept.

A step stays one step of the integration, so properties see every one of them. States, edges and outcomes
keep their names and numbers, and gain these variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction

from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.environment import Control, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.policy import Branch, Policy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Property, Timed, Within
from surefoot.problem.seconds import numbers_of_steps, period_objection, time_objection
from surefoot.reductions.scalar_layout import fresh_name
from surefoot.term.reserved_names import output_index
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, conjunction_of, equal, free_names
from surefoot.term.value_types import Int, Real

ELAPSED, SUBSTEP, HELD, HELD_ACTION = "elapsed_steps", "substep", "held_", "held_action"


def timed_steps_objection(problem: Problem) -> SurefootError | None:
    """Why seconds and periods of a problem by steps are no numbers of steps, or None."""
    flow, asked = problem.environment.flow, problem.property
    if isinstance(asked, Timed) and (why := time_objection(asked, flow)) is not None:
        return why
    if flow is None or flow.control_period == flow.step:
        return None
    return period_objection(flow) or _hold_objection(problem)


def count_in_steps(problem: Problem) -> Problem:
    """The same question with limits in steps, about an environment whose control period is its step."""
    environment, asked = problem.environment, problem.property
    flow = environment.flow
    assert flow is not None
    if isinstance(asked, Timed):
        first, last = numbers_of_steps(asked, flow.step)
        problem = _limit_in_steps(problem, asked.asked, first, last)
    if flow.control_period != flow.step:
        problem = _hold_decisions(problem, int(flow.control_period / flow.step))
    return problem


def _limit_in_steps(
    problem: Problem, asked: Never | NeverBefore | Eventually, first: int, last: int | None
) -> Problem:
    match asked:
        case Eventually(good) if last is not None:
            return replace(problem, property=Within(good, last, first))
        case Never() | NeverBefore() if first == 0:
            return replace(problem, property=replace(asked, steps=last))
    name = fresh_name(ELAPSED, _used_names(problem.environment))
    counts = Apply(Op.LE, (Const(first), Var(name)))
    counting = _Counting(Variable(name, Int(0, first)), 0, Apply(Op.MIN, (Var(name) + 1, Const(first))))
    environment = _add_counting(problem.environment, (counting,))
    plain: Property
    match asked:
        case Eventually(good):
            plain = Eventually(conjunction_of((counts, good)))
        case Never(bad) | NeverBefore(bad):
            plain = replace(asked, bad=conjunction_of((counts, bad)), steps=last)
    return replace(problem, environment=environment, property=plain)


def _hold_decisions(problem: Problem, steps: int) -> Problem:
    """The problem in which the policy is asked at every so many steps."""
    environment, policy = problem.environment, problem.policy
    assert policy is not None
    taken = _used_names(environment)
    phase = fresh_name(SUBSTEP, taken)
    again = equal(Var(phase), steps - 1)
    counter = _Counting(
        Variable(phase, Int(0, steps - 1)), 0, Apply(Op.ITE, (again, Const(0), Var(phase) + 1))
    )
    between = ~equal(Var(phase), 0)
    # Rules of a program stay rules, so that it is still a program, or one network with rules around it.
    asked = policy.branches if isinstance(policy, ProgramPolicy) else (Branch(TRUE, policy),)
    if environment.controls:
        kept = [fresh_name(f"{HELD}{c.name}", taken) for c in environment.controls]
        held = tuple(
            _Counting(Variable(name, _held_kind(control)), _first_value(control), Var(control.name))
            for name, control in zip(kept, environment.controls, strict=True)
        )
        program = ProgramPolicy((Branch(between, tuple(Var(name) for name in kept)), *asked))
        return replace(problem, environment=_add_counting(environment, (counter, *held)), policy=program)
    actions = action_names(policy, environment)
    name = fresh_name(HELD_ACTION, taken)
    branches = (
        Branch(conjunction_of((between, equal(Var(name), i))), action) for i, action in enumerate(actions)
    )
    number = _Counting(Variable(name, Int(0, len(actions) - 1)), 0, {a: i for i, a in enumerate(actions)})
    program = ProgramPolicy((*branches, *asked), actions)
    return replace(problem, environment=_add_counting(environment, (counter, number)), policy=program)


def _hold_objection(problem: Problem) -> Unsupported | None:
    """Why a decision cannot be held for several steps."""
    environment, policy = problem.environment, problem.policy
    fix = "leave `period` out, or ask in continuous time"
    if policy is None:
        return Unsupported("a control period of several steps needs a policy that decides", fix=fix)
    if any(output_index(name) is not None for name in _names_in(problem.property)):
        what = "a network that is asked only every control period has no outputs between"
        return Unsupported(what, fix="ask about variables and controls", where="property")
    if environment.controls:
        return None
    return _held_action_objection(policy, environment, fix)


def _held_action_objection(policy: Policy, environment: Environment, fix: str) -> Unsupported | None:
    """An action is held where every step carries one: then the last step says which it was."""
    actions = action_names(policy, environment)
    alone = len(environment.components) == 1 and not environment.synchronisations
    own = all(e.action in actions for c in environment.components for e in c.edges)
    if alone and own:
        return None
    what = "with a control period of several steps, every edge has to carry an action of the policy"
    return Unsupported(what, fix=fix)


def _names_in(data: object) -> Iterator[str]:
    """The names in all terms of a property."""
    if isinstance(data, Term):
        yield from free_names(data)
    elif isinstance(data, tuple):
        for part in data:
            yield from _names_in(part)
    elif is_dataclass(data):
        for field in fields(data):
            yield from _names_in(getattr(data, field.name))


def _held_kind(control: Control) -> Real:
    return Real(control.low, control.high) if control.clipped else Real()


def _first_value(control: Control) -> int | Fraction:
    """What is kept before the policy was asked: it is never read."""
    if not control.clipped:
        return 0
    raised = Fraction(0) if control.low is None else max(Fraction(0), Fraction(control.low))
    return raised if control.high is None else min(raised, Fraction(control.high))


@dataclass(frozen=True, slots=True)
class _Counting:
    """A variable that every step writes: by a term, or by a number for each action."""

    variable: Variable
    first: int | Fraction
    next: Term | Mapping[str, int]

    def update(self, edge: Edge, index: int) -> Update:
        value = self.next
        if isinstance(value, Mapping):
            assert edge.action is not None
            value = Const(value[edge.action])
        return Update(Var(self.variable.name), value, index)


def _add_counting(environment: Environment, more: tuple[_Counting, ...]) -> Environment:
    components = tuple(
        replace(c, edges=tuple(_count_on_edge(edge, more) for edge in c.edges))
        for c in environment.components
    )
    starts = (equal(Var(one.variable.name), one.first) for one in more)
    return replace(
        environment,
        variables=(*environment.variables, *(one.variable for one in more)),
        initial=conjunction_of((environment.initial, *starts)),
        components=components,
    )


def _count_on_edge(edge: Edge, more: tuple[_Counting, ...]) -> Edge:
    def count(outcome: Outcome) -> Outcome:
        first = min((u.index for u in outcome.updates), default=0)  # before anything of this step is written
        return replace(outcome, updates=(*outcome.updates, *(one.update(edge, first) for one in more)))

    return replace(edge, outcomes=tuple(count(outcome) for outcome in edge.outcomes))


def _used_names(environment: Environment) -> set[str]:
    used = {v.name for v in environment.variables} | {c.name for c in environment.controls}
    used |= {name for name, _ in environment.definitions}
    return used | {c.name for part in environment.components for e in part.edges for c in e.chosen}
