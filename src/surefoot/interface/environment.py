"""Environments as users write them: a start, and edges that are added one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem, WrongType
from surefoot.interface.expression import Expression, Operand, expression_from, merge_declarations
from surefoot.problem.environment import Choice, Component, Control, Edge, Outcome, Update, Variable
from surefoot.problem.environment import Environment as _Environment
from surefoot.term.arguments import describe_value, take_instance, take_optional, take_text, take_tuple
from surefoot.term.term import TRUE, term_from_python
from surefoot.term.value_types import Real

EnvironmentData: TypeAlias = _Environment  # with all parts, as engines take it


class Environment(_Environment):
    """Where the policy acts: `start` says where runs begin, `edge` adds a step. Its variables are those that
    start and edges mention. It is never changed: `edge` gives a new one.

    >>> from surefoot import Environment, integer
    >>> x = integer("x", 0, 9)
    >>> counter = Environment("counter", start=x == 0)
    >>> counter = counter.edge("up", guard=x < 9, update={x: x + 1}).edge("reset", update={x: 0})
    >>> [edge.action for edge in counter.components[0].edges]
    ['up', 'reset']

    `location` is where it begins, if edges lead from one location to another. The other arguments are those
    of the data that it is: `variables` with their order, `controls`, `components`, `arithmetic`, ….
    """

    __slots__ = ()

    def __init__(
        self,
        name: str,
        variables: Sequence[Variable | Expression] = (),
        initial: Operand | None = None,
        components: Sequence[Component] | None = None,
        controls: Sequence[Control | Expression] = (),
        *others: Any,
        start: Operand | None = None,
        location: str | None = None,
        **more: Any,
    ) -> None:
        if (initial is None) == (start is None):
            what = (
                "both `start` and `initial` are given"
                if start is not None
                else "nothing says where runs start"
            )
            raise WrongType(what, fix="write Environment(name, start=x == 0)", where="Environment.start")
        if start is None and isinstance(initial, str):
            term_from_python(initial)  # type: ignore[arg-type]  # as all data: text is not read there
        if location is not None and components is not None:
            fix = "write it into the component: Component(name, edges, locations, initial)"
            raise WrongType(
                "both `location` and `components` are given", fix=fix, where="Environment.location"
            )
        begin = expression_from(initial if start is None else start)
        declared = _take_all(variables, _declared_variables, "variables")
        driven = _take_all(controls, _declared_controls, "controls")
        merged = merge_declarations(declared, begin.variables)
        names = {control.name for control in driven if isinstance(control, Control)}
        super().__init__(
            name,
            tuple(v for v in merged if v.name not in names),
            begin.term,
            _first_component(location) if components is None else components,  # type: ignore[arg-type]
            driven,
            *others,
            **more,
        )

    def edge(
        self,
        action: str | None = None,
        *,
        guard: Operand = TRUE,
        update: Mapping[Any, Operand] | None = None,
        outcomes: Iterable[tuple[Any, ...] | Outcome] | None = None,
        source: str | None = None,
        target: str | None = None,
        chosen: Sequence[Choice | Expression] = (),
        assuming: Operand = TRUE,
        rewards: Mapping[str, Operand] | None = None,
    ) -> Environment:
        """The environment with one more step, which is possible where `guard` holds.

        `update` gives variables their next values, all at once; a random step has `outcomes`, pairs of a
        probability and an update. `chosen` are values that the environment picks freely such that
        `assuming` holds; `rewards` are earned by the step. An edge leads from the location `source` (by
        default where the environment begins) to the location `target` (by default the same); an outcome may
        name its own target as a third part.

        >>> from surefoot import Environment, integer
        >>> x = integer("x", 0, 9)
        >>> walk = Environment("walk", start=x == 4)
        >>> walk = walk.edge("go", outcomes=[("1/3", {x: x + 1}), ("2/3", {x: x - 1})])
        >>> lamp = Environment("lamp", start=x == 0, location="off").edge("press", target="on")
        >>> lamp.edge("press", source="on", target="off").components[0].locations
        ('off', 'on')
        >>> walk.edge("go", update={x: 0}, outcomes=[])
        Traceback (most recent call last):
        surefoot.errors.InvalidProblem: edge `go`: both `update` and `outcomes` are given; fix: keep one
        """
        place = f"edge `{action}`" if action is not None else "edge"
        if len(self.components) != 1:
            fix = "write Component(name, edges) for each of them"
            raise InvalidProblem("the environment has several components", fix=fix, where=place)
        if update is not None and outcomes is not None:
            fix = "keep one"
            raise InvalidProblem("both `update` and `outcomes` are given", fix=fix, where=place)
        try:
            take_optional(take_text)(action)
            declared: list[Variable] = []
            picked = _take_all(chosen, _declared_choices, "chosen values")
            earned = {key: _term_of(value, declared) for key, value in (rewards or {}).items()}
            branches = [(1, update or {})] if outcomes is None else outcomes
            own = self.components[0]
            begins = own.initial[0] if source is None else take_text(source)
            leads = begins if target is None else take_text(target)
            edge = Edge(
                source=begins,
                action=action,
                guard=_term_of(guard, declared),
                chosen=picked,
                assuming=_term_of(assuming, declared),
                outcomes=tuple(_build_outcome(branch, leads, earned, declared) for branch in branches),
            )
            local = {c.name for c in picked} | {c.name for c in self.controls}
            variables = merge_declarations(self.variables, (v for v in declared if v.name not in local))
        except WrongType as error:
            raise error.at(place) from None
        places = (*own.locations, begins, *(outcome.target for outcome in edge.outcomes))
        grown = replace(own, edges=(*own.edges, edge), locations=tuple(dict.fromkeys(places)))
        return replace(self, variables=variables, components=(grown,))

    def as_gym(self, **settings: Any) -> Any:
        """A Gymnasium environment of this model; settings as those of `surefoot.as_gym`."""
        from surefoot.interface.as_gym import as_gym

        return as_gym(self, **settings)

    def __repr__(self) -> str:
        edges = sum(len(c.edges) for c in self.components)
        return f"Environment({self.name!r}: {', '.join(v.name for v in self.variables)}; {edges} edges)"


def plain_environment(given: EnvironmentData) -> EnvironmentData:
    """The data that engines read, without the way in which it was written.

    Where there is a differential equation and no edge, it alone moves the state: one edge that does nothing.
    """
    if type(given) is EnvironmentData:
        return given
    parts = {field.name: getattr(given, field.name) for field in fields(EnvironmentData)}
    if given.flow is not None and [c.edges for c in given.components] == [()]:
        (alone,) = given.components
        begins = alone.initial[0]
        parts["components"] = (replace(alone, edges=(Edge(begins, outcomes=(Outcome(target=begins),)),)),)
    return EnvironmentData(**parts)


def _first_component(location: str | None) -> tuple[Component, ...]:
    """The component that edges are added to."""
    return (
        (Component("main", ()),) if location is None else (Component("main", (), (location,), (location,)),)
    )


def _build_outcome(given: Any, leads: str, rewards: Mapping[str, Any], declared: list[Variable]) -> Outcome:
    if isinstance(given, Outcome):
        return replace(given, rewards=(*given.rewards, *rewards.items()))
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        raise WrongType(f"{describe_value(given)} is not an outcome", fix="give (probability, {x: x + 1})")
    probability, update = given[:2]
    if not isinstance(update, Mapping):
        raise WrongType(f"{describe_value(update)} is not an update", fix="give {x: x + 1}")
    updates = tuple(
        Update(_term_of(target, declared), _term_of(value, declared)) for target, value in update.items()
    )
    where: Any = given[2] if len(given) == 3 else leads
    return Outcome(_term_of(probability, declared), updates, tuple(rewards.items()), where)


def _term_of(given: Any, declared: list[Variable]) -> Any:
    """The term; the variables that it declares are noted."""
    found = expression_from(given)
    declared.extend(found.variables)
    return found.term


def _take_all(given: Any, take: Any, what: str) -> tuple[Any, ...]:
    found: tuple[Any, ...] = take_tuple(lambda one: one, what)(given)  # type: ignore[assignment]
    return tuple(part for one in found for part in take(one))


def _declared_variables(given: Any) -> Sequence[Any]:
    return given.variables if isinstance(given, Expression) else (_take_variable(given),)


_take_variable = take_instance(Variable)


def _declared_controls(given: Any) -> Sequence[Any]:
    if not isinstance(given, Expression):
        return (given,)
    for variable in given.variables:
        if not isinstance(variable.kind, Real):
            raise WrongType(f"the control `{variable.name}` is no real number", fix="declare it with real(…)")
    return [Control(v.name, v.kind.low, v.kind.high) for v in given.variables if isinstance(v.kind, Real)]


def _declared_choices(given: Any) -> Sequence[Any]:
    return [Choice(v.name, v.kind) for v in given.variables] if isinstance(given, Expression) else (given,)
