"""Transient variables: no part of a state, but a value wherever they are read.

In a state a transient variable has its initial value, unless the location of some automaton gives it another.
During a step it has the value that was assigned last, in the order of the indices.

Formulas and labels of other languages come into JANI as transient variables and functions without arguments:
each is a name that questions can use for a term over the state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace

from surefoot.errors import SurefootError
from surefoot.formats.jani.document import Node
from surefoot.formats.jani.expressions import Function, Scope, read_term
from surefoot.formats.jani.fold import fold
from surefoot.formats.jani.instances import Cast, Instance
from surefoot.problem.environment import Kind
from surefoot.problem.names import location_key, location_name
from surefoot.problem.semantics import conforms
from surefoot.problem.show import brief
from surefoot.problem.term import TRUE, Apply, Const, Op, Term, Var, equal, free_names, ite
from surefoot.problem.validate.kinds import describe, unbounded


def location_test(instance: Instance, location: str) -> Term:
    """The component is in this location, as a term over what a state holds."""
    if len(instance.locations) == 1:
        return TRUE
    index = tuple(instance.locations.values()).index(location)
    return equal(Var(location_key(instance.component)), index)


def state_values(cast: Cast, scopes: Mapping[str, Scope]) -> dict[str, Term]:
    """What each transient variable (by its unique name) is worth in a state."""
    values: dict[str, Term] = {}
    setters: dict[str, str] = {}
    for name, declared in cast.all_variables():
        if declared.transient and declared.initial is not None:
            values[name] = declared.initial
    for instance in cast.instances:
        scope = without_transients(cast, instance, scopes[instance.component])
        for location, node in reversed(list(instance.location_nodes())):
            for name, value in _location_values(cast, instance, node, scope).items():
                owner = setters.setdefault(name, instance.component)
                if owner != instance.component:
                    what = f"`{name}` gets values in the locations of both `{owner}`"
                    node.refuse(f"{what} and `{instance.component}`", "let one automaton set it")
                values[name] = fold(ite(location_test(instance, location), value, values[name]))
    return values


def without_transients(cast: Cast, instance: Instance, scope: Scope) -> Scope:
    """The same scope, but transient variables may not be read."""
    own = [n for n, d in instance.variables.items() if d.transient]
    names = [*own, *(n for n, d in cast.variables.items() if d.transient)]
    why = "a transient value that depends on a transient variable is not supported"
    values = {n: t for n, t in scope.values.items() if n not in names}
    return replace(scope, values=values, hidden={**scope.hidden, **dict.fromkeys(names, why)})


def _location_values(cast: Cast, instance: Instance, node: Node, scope: Scope) -> dict[str, Term]:
    fields = node.table(("name",), ("time-progress", "transient-values"))
    found: dict[str, Term] = {}
    for entry in fields["transient-values"].entries() if "transient-values" in fields else []:
        row = entry.table(("ref", "value"))
        if not isinstance(row["ref"].value, str):
            row["ref"].refuse("a transient value for a part of an array", "give the whole array")
        name = row["ref"].name()
        declared = instance.variables.get(name) or cast.variables.get(name)
        if declared is None or not declared.transient:
            row["ref"].fail(f"`{name}` is not a transient variable", "declare it as transient")
        unique = instance.names.get(name) or cast.names[name]
        if unique in found:
            row["ref"].fail(f"`{name}` gets two values in one location", "keep one of them")
        found[unique] = read_term(row["value"], scope, declared.kind)
        check_transient(row["value"], name, found[unique], declared.kind, scope.notes)
    return found


def check_transient(node: Node, name: str, value: Term, kind: Kind, notes: set[str]) -> None:
    """A transient variable is nowhere stored, so that only constant values are compared with its bounds."""
    if isinstance(value, Const):
        if not conforms(value.value, kind):
            node.fail(f"`{name}` is {describe(kind)}, but this value is outside its bounds")
    elif kind != unbounded(kind):
        notes.add(f"whether `{name}`, which is transient, stays within its bounds is not checked")


def for_properties(cast: Cast, term: Term) -> Term:
    """The same term with `at(component, location)` instead of tests on the number of a location."""
    keys = {location_key(i.component): i for i in cast.instances if len(i.locations) > 1}
    if not keys.keys() & free_names(term):
        return term

    def rewritten(part: Term) -> Term:
        match part:
            case Apply(Op.EQ, (Var(key), Const(int() as index))) if key in keys:
                place = tuple(keys[key].locations.values())[index]
                return Var(location_name(keys[key].component, place))
            case Apply(op, args):
                return Apply(op, tuple(rewritten(a) for a in args))
            case _:
                return part

    return rewritten(term)


@dataclass(frozen=True, slots=True)
class Definitions:
    """What each name stands for, and of the names that cannot be used why not."""

    terms: Mapping[str, Term]
    hidden: Mapping[str, str]


def read_definitions(cast: Cast, scopes: Mapping[str, Scope], written: Set[str]) -> Definitions:
    """The names of the whole model; `written` are the variables that some step assigns."""
    terms: dict[str, Term] = {}
    hidden: dict[str, str] = {}
    for name, scope, raw, initial in _transients(cast, scopes):
        value = scope.values[raw]
        if name in written and value == initial:
            what = f"`{name}` is set during steps: in every state it has its initial value {brief(value)}"
            hidden[name] = what
        else:
            terms[name] = for_properties(cast, value)
    variables = {n for n, d in cast.all_variables() if not d.transient}
    constants = {n for n, t in scopes[""].values.items() if isinstance(t, Const) and n not in terms}
    for name, scope, function in _functions(cast, scopes):
        other = "variable" if name in variables else "constant" if name in constants else "transient variable"
        if name in variables | constants | terms.keys() | hidden.keys():
            hidden[name] = f"`{name}` is the name of both a {other} and a function"
            terms.pop(name, None)
        elif function.parameters:
            hidden[name] = (
                f"function `{name}` takes arguments ({len(function.parameters)}), and questions give none"
            )
        else:
            try:
                terms[name] = for_properties(cast, _value(function, scope))
            except SurefootError as error:
                hidden[name] = f"function `{name}` cannot be used: {error.what}"
    return Definitions(terms, hidden)


def _transients(cast: Cast, scopes: Mapping[str, Scope]) -> Iterator[tuple[str, Scope, str, Term | None]]:
    for raw, declared in cast.variables.items():
        if declared.transient:
            yield cast.names[raw], scopes[""], raw, declared.initial
    for instance in cast.instances:
        for raw, declared in instance.variables.items():
            if declared.transient:
                yield instance.names[raw], scopes[instance.component], raw, declared.initial


def _functions(cast: Cast, scopes: Mapping[str, Scope]) -> Iterator[tuple[str, Scope, Function]]:
    """Those of the model by their name; those of an automaton too, if no other one has it."""
    outer = scopes[""].functions
    counts = Counter([*outer, *(name for i in cast.instances for name in i.functions)])
    for name, function in outer.items():
        yield name, scopes[""], function
    for instance in cast.instances:
        for name, function in instance.functions.items():
            full = name if counts[name] == 1 else f"{instance.component}.{name}"
            yield full, scopes[instance.component], function


def _value(function: Function, scope: Scope) -> Term:
    call: dict[str, object] = {"op": "call", "function": function.name, "args": []}
    return read_term(Node(call, function.body, "call"), replace(scope, notes=set()))
