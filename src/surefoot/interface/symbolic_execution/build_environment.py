"""The environment of a trace: one edge for each action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surefoot.interface.environment import Environment
from surefoot.interface.symbolic_execution.declarations import start_condition
from surefoot.interface.symbolic_execution.record_step import RecordedStep, list_part_names
from surefoot.interface.symbolic_execution.step_function import StepFunction
from surefoot.interface.symbolic_execution.step_layout import REWARD, TERMINATED, TRUNCATED
from surefoot.interface.symbolic_execution.step_request import TraceRequest, variable_name
from surefoot.problem.environment import Choice, Component, Control, Edge, Outcome, Update, Variable
from surefoot.problem.validate.environment import check_environment
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of
from surefoot.term.value_types import Arithmetic, Array, Bool, Real, ValueType


def build_environment(
    request: TraceRequest,
    function: StepFunction,
    declared: Mapping[str, ValueType],
    controls: Mapping[str, ValueType],
    recorded: Sequence[RecordedStep],
    rounding: Arithmetic,
    notes: tuple[str, ...],
) -> Environment:
    start = request.start
    if isinstance(start, Mapping):
        start = {variable_name(name) if isinstance(name, str) else name: v for name, v in start.items()}
    ends, facts = _ending_names(recorded, function.kinds)
    initial = conjunction_of(
        (start_condition(start, declared, function.kinds), *(Apply(Op.NOT, (Var(n),)) for n in ends))
    )
    guard = conjunction_of(tuple(Apply(Op.NOT, (Var(n),)) for n in ends))
    chosen = tuple(request.noise.values())
    edges = tuple(_build_edge(one, function.kinds, guard, chosen, ends) for one in recorded)
    variables = [Variable(name, kind) for name, kind in function.kinds.items()]
    variables += [Variable(name, Bool()) for name in ends]
    driven = tuple(
        Control(name, kind.low, kind.high) for name, kind in controls.items() if isinstance(kind, Real)
    )
    environment = Environment(
        request.name,
        tuple(variables),
        initial,
        (Component("main", edges),),
        driven,
        arithmetic=rounding,
        notes=notes,
        definitions=facts,
    )
    check_environment(environment)
    return environment


def _ending_names(
    recorded: Sequence[RecordedStep], kinds: Mapping[str, ValueType]
) -> tuple[list[str], tuple[tuple[str, Term], ...]]:
    """`terminated` and `truncated` as variables; where they never become true, as names of `false`."""
    found: dict[str, list[Term]] = {}
    for one in recorded:
        for name, term in zip(list_part_names(one.parts), one.terms, strict=True):
            if name in (TERMINATED, TRUNCATED) and name not in kinds:
                found.setdefault(name, []).append(term)
    never = [n for n, terms in found.items() if all(t == Const(False) for t in terms)]
    return [n for n in found if n not in never], tuple((n, Const(False)) for n in never)


def _build_edge(
    one: RecordedStep,
    kinds: Mapping[str, ValueType],
    guard: Term,
    chosen: tuple[Choice, ...],
    ends: Sequence[str],
) -> Edge:
    updates, rewards = [], []
    targets = [place for name, kind in one.parts for place in _places(Var(name), kind)]
    for (name, target), term in zip(
        zip(list_part_names(one.parts), targets, strict=True), one.terms, strict=True
    ):
        if name in kinds or name in ends:
            if term != target:
                updates.append(Update(target, term))
        elif name == REWARD:
            rewards.append((REWARD, term))
    return Edge(
        action=one.label,
        guard=guard,
        chosen=chosen,
        outcomes=(Outcome(updates=tuple(updates), rewards=tuple(rewards)),),
    )


def _places(place: Term, kind: ValueType) -> list[Term]:
    if not isinstance(kind, Array):
        return [place]
    return [p for i in range(kind.length) for p in _places(Apply(Op.SELECT, (place, Const(i))), kind.element)]
