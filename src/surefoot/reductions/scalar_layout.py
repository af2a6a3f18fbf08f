"""Which scalar quantities make up one state, and what the names in terms stand for.

Everything is laid out once, without step numbers; step i's copy of quantity `x` is called `x@i`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment
from surefoot.problem.semantics import State
from surefoot.query.reduction import Reduction
from surefoot.reductions.expand import ScalarTree, TreeScope, require_scalar
from surefoot.term.interval import Scalar
from surefoot.term.reserved_names import fresh_name as fresh_name
from surefoot.term.reserved_names import location_key, location_name
from surefoot.term.term import FALSE, TRUE, Term, Var, equal
from surefoot.term.traverse import map_variables
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType

MOST_SCALARS = 50_000


@dataclass(frozen=True, slots=True)
class ScalarLayout:
    kinds: Mapping[str, Scalar]  # the scalars of a state, in order
    trees: Mapping[str, ScalarTree]  # per state variable and `@component`: its scalars
    scope: TreeScope  # `trees` and `at(component, location)`

    def invert(self, environment: Environment, values: Mapping[str, Any], in_float64: bool = False) -> State:
        """The state of the reference semantics that these values of its scalars stand for."""
        return {
            name: invert_value(kind, self.trees[name], values, in_float64)
            for name, kind in state_kinds(environment)
        }


def state_kinds(environment: Environment) -> Iterator[tuple[str, ValueType]]:
    """What a state maps to values: the variables, and the location of every component that has several."""
    yield from ((v.name, v.kind) for v in environment.variables)
    for component in environment.components:
        if len(component.locations) > 1:
            yield location_key(component.name), Int(0, len(component.locations) - 1)


def at_step(term: Term, step: int) -> Term:
    """The same term about the quantities of one step."""
    return map_variables(term, lambda v: Var(f"{v.name}@{step}"))


def scalar_count(kind: ValueType) -> int:
    return kind.length * scalar_count(kind.element) if isinstance(kind, Array) else 1


def layout_objection(environment: Environment) -> Unsupported | None:
    size = sum(scalar_count(v.kind) for v in environment.variables)
    if size <= MOST_SCALARS:
        return None
    return Unsupported(f"a state has {size} values; at most {MOST_SCALARS} can be encoded")


def declare_scalars(name: str, kind: ValueType, kinds: dict[str, Scalar], taken: set[str]) -> ScalarTree:
    """Add the scalars of a variable: `a[0]`, `a[1]`, … for an array."""
    if isinstance(kind, Array):
        return tuple(declare_scalars(f"{name}[{i}]", kind.element, kinds, taken) for i in range(kind.length))
    own = fresh_name(name, taken)
    kinds[own] = kind
    return Var(own)


def lay_out_scalars(environment: Environment, taken: set[str]) -> ScalarLayout:
    """The scalars of every variable and the location of every component that has several."""
    if (why := layout_objection(environment)) is not None:
        raise why
    kinds: dict[str, Scalar] = {}
    trees = {v.name: declare_scalars(v.name, v.kind, kinds, taken) for v in environment.variables}
    places: dict[str, ScalarTree] = {}
    for component in environment.components:
        several = len(component.locations) > 1
        if several:
            key = location_key(component.name)
            trees[key] = declare_scalars(key, Int(0, len(component.locations) - 1), kinds, taken)
        for number, location in enumerate(component.locations):
            here = equal(require_scalar(trees[key]), number) if several else TRUE
            places[location_name(component.name, location)] = here
    return ScalarLayout(kinds, trees, {**places, **trees})


def in_location(layout: ScalarLayout, environment: Environment, component: int, location: str) -> Term:
    """Is the component in this location?"""
    name = location_name(environment.components[component].name, location)
    return require_scalar(layout.scope.get(name, FALSE))


def invert_value(
    kind: ValueType, tree: ScalarTree, values: Mapping[str, Any], in_float64: bool = False
) -> Any:
    """The Python value of a variable or chosen value, as the reference semantics has it."""
    if isinstance(kind, Array):
        assert isinstance(tree, tuple)
        return tuple(invert_value(kind.element, t, values, in_float64) for t in tree)
    assert isinstance(tree, Var)
    number = values[tree.name]
    match kind:
        case Bool():
            return number > Fraction(1, 2)  # also where a solver gives truth values as numbers
        case Int():
            return round(number)
        case Real():
            return float(number) if in_float64 else Fraction(number)


EXPAND = Reduction("expand", layout_objection, lay_out_scalars, ScalarLayout.invert)
