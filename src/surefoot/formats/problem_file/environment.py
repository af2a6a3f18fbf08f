"""The environment of a problem file: components, synchronisations and flow."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.problem_file.declarations import Declarations, read_constant_entry
from surefoot.formats.problem_file.edges import read_edges
from surefoot.formats.problem_file.variable_types import parse_law
from surefoot.formats.toml_document import TomlEntry
from surefoot.problem.environment import Component, Edge, Environment, Law, Synchronisation
from surefoot.problem.flow import Flow
from surefoot.problem.validate.scope import check_name
from surefoot.term.reserved_names import location_name
from surefoot.term.term import TRUE, Term, free_names
from surefoot.term.types import BOOL, INT, REAL, infer_term_type
from surefoot.term.value_types import Arithmetic, ValueType

MAIN = "main"  # the name of the only component where the file lists its edges at the top


def read_environment_tables(name: str, top: Mapping[str, TomlEntry], declared: Declarations) -> Environment:
    components = _read_components(top, declared)
    initial: Term = TRUE
    if "initial" in top:
        declared.places["environment.initial"] = top["initial"]
        initial = top["initial"].term(declared.seen, declared.constants)
    return Environment(
        name,
        declared.variables,
        initial,
        components,
        declared.controls,
        _read_synchronisations(top, components, declared),
        _read_arithmetic(top),
        _read_flow(top["flow"], declared, components) if "flow" in top else None,
        top["overapproximate"].truth() if "overapproximate" in top else False,
        _read_definitions(top, declared, components),
        top["normalised"].strings() if "normalised" in top else (),
        top["notes"].strings() if "notes" in top else (),
        start_laws=_read_start_laws(top, declared),
    )


def _read_start_laws(top: Mapping[str, TomlEntry], declared: Declarations) -> tuple[tuple[str, Law], ...]:
    laws: list[tuple[str, Law]] = []
    for name, entry in top["starts"].table().items() if "starts" in top else ():
        declared.places[f"environment.start_laws[{len(laws)}]"] = entry
        laws.append((name, entry.inside(lambda text: parse_law(text, declared.constants))))
    return tuple(laws)


def _read_definitions(
    top: Mapping[str, TomlEntry], declared: Declarations, components: tuple[Component, ...]
) -> tuple[tuple[str, Term], ...]:
    """Names that questions may use, each over the state and the names before it."""
    kinds: dict[str, ValueType] = {v.name: v.kind for v in declared.variables}
    kinds |= dict.fromkeys((c.name for c in declared.controls), REAL) | dict.fromkeys(declared.locations, INT)
    kinds |= {location_name(c.name, place): BOOL for c in components for place in c.locations}
    meant: dict[str, Term] = {}
    for name, entry in top["definitions"].table().items() if "definitions" in top else ():
        if name in declared.acting or name in declared.constants:
            what = (
                f"`{name}` is both defined and a {'constant' if name in declared.constants else 'variable'}"
            )
            entry.fail(what, "rename one of them")
        term = meant[name] = entry.term(declared.acting, {**declared.constants, **meant})
        try:
            check_name(name, "")
            if free_names(term) <= kinds.keys():  # what policies decide is known where somebody asks
                infer_term_type(term, kinds, "", InvalidProblem)
        except InvalidProblem as error:
            entry.fail(error.what, error.fix)
    return tuple(meant.items())


def _read_arithmetic(top: Mapping[str, TomlEntry]) -> Arithmetic:
    if "arithmetic" not in top:
        return Arithmetic.EXACT
    known = {a.value: a for a in Arithmetic}
    text = top["arithmetic"].string()
    if text not in known:
        top["arithmetic"].fail(f"unknown arithmetic `{text}`", did_you_mean(text, known))
    return known[text]


def _read_components(top: Mapping[str, TomlEntry], declared: Declarations) -> tuple[Component, ...]:
    if "components" in top:
        if "edges" in top:
            top["edges"].fail("both `edges` and `components`", "move the edges into a component")
        listed = top["components"].entries()
        return tuple(
            _read_component(e, f"environment.components[{i}]", declared) for i, e in enumerate(listed)
        )
    if "edges" not in top:
        if "flow" in top:  # one step, by which nothing but the equation moves the state
            return (Component(MAIN, (Edge(),)),)
        raise InvalidProblem("there are no edges", fix="add at least one [[edges]] table", where="edges")
    return (Component(MAIN, read_edges(top["edges"], "environment.components[0]", declared)),)


def _read_component(entry: TomlEntry, path: str, declared: Declarations) -> Component:
    declared.places[path] = entry
    fields = entry.table("name", "locations", "initial", "edges")
    for key in ("name", "edges"):
        if key not in fields:
            entry.fail(f"a component has no `{key}`", f"add `{key}`")
    name = fields["name"].string()
    edges = read_edges(fields["edges"], path, declared)
    if "locations" not in fields:
        return Component(name, edges)
    declared.places[f"{path}.locations"] = fields["locations"]
    locations = fields["locations"].strings()
    if "initial" not in fields:
        return Component(name, edges, locations, locations[:1])
    initial = declared.places[f"{path}.initial"] = fields["initial"]
    starts = (initial.string(),) if isinstance(initial.value, str) else initial.strings()
    return Component(name, edges, locations, starts)


def _read_synchronisations(
    top: Mapping[str, TomlEntry], components: tuple[Component, ...], declared: Declarations
) -> tuple[Synchronisation, ...]:
    known = [c.name for c in components]
    vectors: list[Synchronisation] = []
    for entry in top["synchronisations"].entries() if "synchronisations" in top else ():
        declared.places[f"environment.synchronisations[{len(vectors)}]"] = entry
        fields = entry.table("actions", "result", "silent")
        if "actions" not in fields:
            entry.fail(
                "a synchronisation has no `actions`", 'write actions = { car = "go", light = "green" }'
            )
        actions = {c: e.string() for c, e in fields["actions"].table().items()}
        for component, own in fields["actions"].table().items():
            if component not in known:
                own.fail(f"there is no component `{component}`", did_you_mean(component, known))
        labels = set(actions.values())
        common = labels.pop() if len(labels) == 1 else None
        result = fields["result"].string() if "result" in fields else common
        if "silent" in fields and fields["silent"].truth():
            if "result" in fields:
                fields["result"].fail("a `result` beside `silent = true`", "keep one of them")
            result = None
        vectors.append(Synchronisation(tuple(actions.get(c) for c in known), result))
    return tuple(vectors)


def _read_flow(entry: TomlEntry, declared: Declarations, components: tuple[Component, ...]) -> Flow:
    declared.places["environment.flow"] = entry
    fields = entry.table("step", "period", "method", "derivatives", "time")
    if "step" not in fields and "period" not in fields:
        entry.fail("the flow has no `step`", "add `step`, or `period` for how long controls are held")
    if "derivatives" not in fields:
        entry.fail("the flow has no `derivatives`", "add `derivatives`")
    chosen = dict.fromkeys(c.name for part in components for e in part.edges for c in e.chosen)
    names = declared.names_with(chosen)
    period = _read_duration("period", fields, declared)
    step = _read_duration("step", fields, declared)
    derivatives: list[tuple[str, Term]] = []
    for name, own in fields["derivatives"].table().items():
        declared.places[f"environment.flow.derivatives[{len(derivatives)}]"] = own
        derivatives.append((name, own.term(names, declared.constants)))
    time = fields["time"].string() if "time" in fields else "steps"
    if time not in ("steps", "continuous"):
        fields["time"].fail(f"unknown time `{time}`", did_you_mean(time, ("steps", "continuous")))
    usual = "taylor" if time == "continuous" else "euler"
    method = fields["method"].string() if "method" in fields else usual
    shortest = step if step is not None else period
    assert shortest is not None
    return Flow(tuple(derivatives), shortest, method, time == "continuous", period)


def _read_duration(key: str, fields: Mapping[str, TomlEntry], declared: Declarations) -> Fraction | None:
    if key not in fields:
        return None
    value = read_constant_entry(fields[key], declared.constants).value
    if isinstance(value, bool):
        fields[key].fail(f"the {key} has to be a number")
    declared.places[f"environment.flow.{key}"] = fields[key]
    return Fraction(value)
