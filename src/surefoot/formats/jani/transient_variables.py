"""Transient variables: no part of a state, but a value wherever they are read.

In a state a transient variable has its initial value, unless the location of some automaton gives it another.
During a step it has the value that was assigned last, in the order of the indices.

Formulas and labels of other languages come into JANI as transient variables and functions without arguments:
each is a name that questions can use for a term over the state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from surefoot.errors import SurefootError
from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.jani.expressions import JaniFunction, JaniScope, read_jani_term
from surefoot.formats.jani.instances import AutomatonInstance, ModelInstances
from surefoot.formats.jani.json_document import JsonNode
from surefoot.problem.semantics import has_value_type
from surefoot.term.printer import abbreviate_term
from surefoot.term.reserved_names import location_key, location_name
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, equal, free_names, ite
from surefoot.term.traverse import fold_term, rebuild_term
from surefoot.term.types import describe_type, unbounded_type
from surefoot.term.value_types import ValueType


def _location_test(instance: AutomatonInstance, location: str) -> Term:
    """The component is in this location, as a term over what a state holds."""
    if len(instance.locations) == 1:
        return TRUE
    index = tuple(instance.locations.values()).index(location)
    return equal(Var(location_key(instance.component)), index)


def state_values(cast: ModelInstances, scopes: Mapping[str, JaniScope]) -> dict[str, Term]:
    """What each transient variable (by its unique name) is worth in a state."""
    values: dict[str, Term] = {}
    setters: dict[str, str] = {}
    for name, declared in cast.all_variables():
        if declared.transient and declared.initial is not None:
            values[name] = declared.initial
    for instance in cast.instances:
        scope = _without_transients(cast, instance, scopes[instance.component])
        for location, node in reversed(list(instance.location_nodes())):
            for name, value in _location_values(cast, instance, node, scope).items():
                owner = setters.setdefault(name, instance.component)
                if owner != instance.component:
                    what = f"`{name}` gets values in the locations of both `{owner}`"
                    node.refuse(f"{what} and `{instance.component}`", "let one automaton set it")
                values[name] = fold_constant_parts(
                    ite(_location_test(instance, location), value, values[name])
                )
    return values


def _without_transients(cast: ModelInstances, instance: AutomatonInstance, scope: JaniScope) -> JaniScope:
    """The same scope, but transient variables may not be read."""
    own = [n for n, d in instance.variables.items() if d.transient]
    names = [*own, *(n for n, d in cast.variables.items() if d.transient)]
    why = "a transient value that depends on a transient variable is not supported"
    values = {n: t for n, t in scope.values.items() if n not in names}
    return replace(scope, values=values, hidden={**scope.hidden, **dict.fromkeys(names, why)})


def _location_values(
    cast: ModelInstances, instance: AutomatonInstance, node: JsonNode, scope: JaniScope
) -> dict[str, Term]:
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
        found[unique] = read_jani_term(row["value"], scope, declared.kind)
        check_transient(row["value"], name, found[unique], declared.kind, scope.notes)
    return found


def check_transient(node: JsonNode, name: str, value: Term, kind: ValueType, notes: set[str]) -> None:
    """A transient variable is nowhere stored, so that only constant values are compared with its bounds."""
    if isinstance(value, Const):
        if not has_value_type(value.value, kind):
            node.fail(f"`{name}` is {describe_type(kind)}, but this value is outside its bounds")
    elif kind != unbounded_type(kind):
        notes.add(f"whether `{name}`, which is transient, stays within its bounds is not checked")


def rewrite_locations(cast: ModelInstances, term: Term) -> Term:
    """The same term with `at(component, location)` instead of tests on the number of a location."""
    keys = {location_key(i.component): i for i in cast.instances if len(i.locations) > 1}
    if not keys.keys() & free_names(term):
        return term

    def rewrite(part: Apply, args: list[Term]) -> Term:
        match part:
            case Apply(Op.EQ, (Var(key), Const(int() as index))) if key in keys:
                place = tuple(keys[key].locations.values())[index]
                return Var(location_name(keys[key].component, place))
        return rebuild_term(part, args)

    return fold_term(term, lambda leaf: leaf, rewrite)


def read_definitions(
    cast: ModelInstances, scopes: Mapping[str, JaniScope], written: Set[str]
) -> tuple[dict[str, Term], dict[str, str]]:
    """What each name of the whole model stands for, and of the names that cannot be used why not.

    `written` are the variables that some step assigns.
    """
    terms: dict[str, Term] = {}
    hidden: dict[str, str] = {}
    for name, scope, raw, initial in _iterate_transients(cast, scopes):
        value = scope.values[raw]
        if name in written and value == initial:
            what = (
                f"`{name}` is set during steps: in every state it has its initial value "
                f"{abbreviate_term(value)}"
            )
            hidden[name] = what
        else:
            terms[name] = rewrite_locations(cast, value)
    variables = {n for n, d in cast.all_variables() if not d.transient}
    constants = {n for n, t in scopes[""].values.items() if isinstance(t, Const) and n not in terms}
    for name, scope, function in _iterate_functions(cast, scopes):
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
                terms[name] = rewrite_locations(cast, _function_value(function, scope))
            except SurefootError as error:
                hidden[name] = f"function `{name}` cannot be used: {error.what}"
    return terms, hidden


def _iterate_transients(
    cast: ModelInstances, scopes: Mapping[str, JaniScope]
) -> Iterator[tuple[str, JaniScope, str, Term | None]]:
    for raw, declared in cast.variables.items():
        if declared.transient:
            yield cast.names[raw], scopes[""], raw, declared.initial
    for instance in cast.instances:
        for raw, declared in instance.variables.items():
            if declared.transient:
                yield instance.names[raw], scopes[instance.component], raw, declared.initial


def _iterate_functions(
    cast: ModelInstances, scopes: Mapping[str, JaniScope]
) -> Iterator[tuple[str, JaniScope, JaniFunction]]:
    """Those of the model by their name; those of an automaton too, if no other one has it."""
    outer = scopes[""].functions
    counts = Counter([*outer, *(name for i in cast.instances for name in i.functions)])
    for name, function in outer.items():
        yield name, scopes[""], function
    for instance in cast.instances:
        for name, function in instance.functions.items():
            full = name if counts[name] == 1 else f"{instance.component}.{name}"
            yield full, scopes[instance.component], function


def _function_value(function: JaniFunction, scope: JaniScope) -> Term:
    call: dict[str, object] = {"op": "call", "function": function.name, "args": []}
    return read_jani_term(JsonNode(call, function.body, "call"), replace(scope, notes=set()))
