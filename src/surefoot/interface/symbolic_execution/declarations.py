"""What a user declares for a trace: kinds of variables, actions, disturbances, and where runs start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surefoot.errors import InvalidProblem, WrongType
from surefoot.interface.expression import Expression, expression_from, number_from
from surefoot.problem.environment import Choice
from surefoot.term.arguments import describe_value
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, equal, term_from_python
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType

KIND_FIX = "give sf.real(-2, 2), sf.integer(0, 9), sf.boolean() or sf.array(3, sf.real(-1, 1))"


def take_kind(given: object, where: str) -> ValueType:
    """A kind, or the kind of a declared variable."""
    if isinstance(given, Expression) and isinstance(given.term, Var) and len(given.variables) == 1:
        given = given.variables[0].kind
    if not isinstance(given, Bool | Int | Real | Array):
        raise WrongType(f"{describe_value(given)} is not a kind of values", fix=KIND_FIX, where=where)
    inner: ValueType = given
    while isinstance(inner, Array):
        if inner.length < 1:
            raise WrongType("an array has no elements", fix="give a length of at least 1", where=where)
        inner = inner.element
    if isinstance(inner, Real) and inner.float32:
        raise WrongType("float32 numbers are not followed", fix=KIND_FIX, where=where)
    if (
        isinstance(inner, Int | Real)
        and inner.low is not None
        and inner.high is not None
        and inner.low > inner.high
    ):
        raise WrongType(
            f"there are no values from {inner.low} to {inner.high}",
            fix="give the lower limit first",
            where=where,
        )
    return given


def take_kinds(given: object, where: str) -> dict[str, ValueType]:
    if not isinstance(given, Mapping) or not given:
        raise WrongType(
            f"{describe_value(given)} does not say what is in the state",
            fix='give {"x": sf.real(-2, 2)}',
            where=where,
        )
    for name in given:
        if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
            raise WrongType(
                f"{describe_value(name)} is not a name", fix="write the name of a variable", where=where
            )
    return {name: take_kind(kind, f"{where}[{name!r}]") for name, kind in given.items()}


@dataclass(frozen=True, slots=True)
class Actions:
    """Either labels with the values that the step gets, or controls; neither: there is no action."""

    labels: tuple[tuple[str | None, Any], ...] = ((None, None),)
    control: ValueType | None = None  # a single one, or an array of them
    named: Mapping[str, ValueType] | None = None  # a dictionary of controls

    @property
    def is_none(self) -> bool:
        return self.control is None and self.named is None and self.labels == ((None, None),)


def take_actions(given: Any) -> Actions:
    where = "action"
    if given is None:
        return Actions()
    if isinstance(given, Mapping):
        named = take_kinds(given, where)
        for name, kind in named.items():
            if not isinstance(kind, Real):
                raise WrongType(
                    f"the control `{name}` is no real number", fix="give sf.real(-1, 1)", where=where
                )
        return Actions(named=named)
    if isinstance(given, Expression | Bool | Int | Real | Array):
        kind = take_kind(given, where)
        if isinstance(kind, Bool):
            return Actions(labels=(("false", False), ("true", True)))
        if isinstance(kind, Int):
            return Actions(labels=_whole_labels(kind))
        if isinstance(kind, Array) and not isinstance(kind.element, Real):
            raise WrongType(
                "an array of actions that are no real numbers is not followed",
                fix='list the actions: action=["left", "right"]',
                where=where,
            )
        return Actions(control=kind)
    if isinstance(given, str) or not isinstance(given, Sequence | range) or not given:
        raise WrongType(
            f"{describe_value(given)} is not an action",
            fix='give sf.real(-1, 1), or a list such as ["left", "right"]',
            where=where,
        )
    labels = tuple((_label_of(value), value) for value in given)
    if len({label for label, _ in labels}) < len(labels):
        raise InvalidProblem("an action is listed twice", fix="list each action once", where=where)
    return Actions(labels=labels)


def _label_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and not value.strip():
        raise WrongType("an action has no name", fix='give names: ["left", "right"]', where="action")
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else str(value)


def _whole_labels(kind: Int) -> tuple[tuple[str, int], ...]:
    if kind.low is None or kind.high is None or kind.high - kind.low >= 1_000:
        raise WrongType("the actions are not listed", fix="give sf.integer(0, 3)", where="action")
    return tuple((str(value), value) for value in range(kind.low, kind.high + 1))


def take_noise(given: Any) -> dict[str, Choice]:
    """Disturbances by the parameter that gets them; a kind alone is that of the parameter `noise`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        given = {"noise": given}
    found = {}
    for name, one in given.items():
        choice = one if isinstance(one, Choice) else Choice(name, take_kind(one, f"noise[{name!r}]"))
        if choice.name != name:
            raise InvalidProblem(
                f"the disturbance of `{name}` is called `{choice.name}`",
                fix="give it the name of the parameter",
                where="noise",
            )
        if isinstance(choice.kind, Array):
            raise WrongType(
                f"the disturbance `{name}` is an array",
                fix="give one parameter for each number",
                where="noise",
            )
        if isinstance(choice.kind, Int | Real) and None in (choice.kind.low, choice.kind.high):
            raise WrongType(
                f"the disturbance `{name}` has no limits", fix="give sf.real(-0.1, 0.1)", where="noise"
            )
        found[name] = choice
    return found


def start_condition(given: Any, declared: Mapping[str, ValueType], kinds: Mapping[str, ValueType]) -> Term:
    """Where runs start: within the declared limits, or as is said."""
    if given is not None and not isinstance(given, Mapping):
        return expression_from(given).term
    asked = dict(given or {})
    for name in asked:
        if name not in declared:
            raise InvalidProblem(
                f"`{name}` is not in the state", fix=f"its variables are {', '.join(declared)}", where="start"
            )
    parts: list[Term] = []
    for name, kind in declared.items():
        if name in asked:
            parts.append(_start_part(Var(name), asked[name], kind, f"start[{name!r}]"))
        elif not _is_limited(kind):
            fix = f'give start={{"{name}": (-0.1, 0.1)}}'
            raise InvalidProblem(f"nothing says where `{name}` starts", fix=fix, where="start")
        elif kinds[name] != kind:
            parts.append(_within(Var(name), kind))
    return conjunction_of(tuple(parts))


def _is_limited(kind: ValueType) -> bool:
    while isinstance(kind, Array):
        kind = kind.element
    return isinstance(kind, Bool) or (kind.low is not None and kind.high is not None)


def _within(place: Term, kind: ValueType) -> Term:
    if isinstance(kind, Array):
        return conjunction_of(
            tuple(_within(Apply(Op.SELECT, (place, Const(i))), kind.element) for i in range(kind.length))
        )
    if isinstance(kind, Bool):
        return Const(True)
    low = () if kind.low is None else (Apply(Op.LE, (Const(kind.low), place)),)
    high = () if kind.high is None else (Apply(Op.LE, (place, Const(kind.high))),)
    return conjunction_of((*low, *high))


def _start_part(place: Term, given: Any, kind: ValueType, where: str) -> Term:
    if isinstance(kind, Array):
        if not hasattr(given, "__len__") or len(given) != kind.length or isinstance(given, str):
            raise WrongType(
                f"{describe_value(given)} does not give {kind.length} start values",
                fix="give one for each element",
                where=where,
            )
        return conjunction_of(
            tuple(
                _start_part(Apply(Op.SELECT, (place, Const(i))), v, kind.element, where)
                for i, v in enumerate(given)
            )
        )
    if isinstance(kind, Bool):
        if not isinstance(given, bool):
            raise WrongType(
                f"{describe_value(given)} is not a truth value", fix="give True or False", where=where
            )
        return place if given else Apply(Op.NOT, (place,))
    if isinstance(given, tuple | list):
        if len(given) != 2:
            raise WrongType(f"{describe_value(given)} is no range", fix="give (low, high)", where=where)
        low, high = (number_from(end) for end in given)
        if low > high:
            raise WrongType(
                f"there are no values from {given[0]} to {given[1]}",
                fix="give the lower limit first",
                where=where,
            )
        return _within(place, Real(Fraction(low), Fraction(high)))
    try:
        return equal(place, term_from_python(number_from(given)))
    except WrongType as error:
        raise error.at(where) from None


def scalar_kind(kind: ValueType) -> Bool | Int | Real:
    """The kind of the numbers in an array, or the kind itself."""
    while isinstance(kind, Array):
        kind = kind.element
    return kind
