"""Who takes part: the automata of the composition, each with its own copies of local variables and names.

An automaton that is used twice becomes two components. A name that occurs once in the whole model stays as it
is; others get the name of their component in front.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.jani.declarations import JaniVariable, nodes_by_name, read_functions, read_variables
from surefoot.formats.jani.expressions import JaniFunction, JaniScope
from surefoot.formats.jani.json_document import JsonNode
from surefoot.term.reserved_names import is_reserved, location_key, location_name, location_parts
from surefoot.term.term import Const, Term, free_names
from surefoot.term.traverse import substitute_names

AUTOMATON = ("name", "locations", "initial-locations", "edges")
AUTOMATON_OPTIONAL = ("variables", "functions", "restrict-initial")
LOCATION = ("name",)
LOCATION_OPTIONAL = ("time-progress", "transient-values")


@dataclass(frozen=True, slots=True)
class AutomatonInstance:
    """An automaton at its place in the composition; `names` turns names of the file into unique ones."""

    component: str
    automaton: str
    node: JsonNode
    fields: Mapping[str, JsonNode]
    variables: Mapping[str, JaniVariable]
    functions: Mapping[str, JaniFunction]
    names: Mapping[str, str]
    locations: Mapping[str, str]  # name in the file -> name of the location
    initial: tuple[str, ...]
    enabled: tuple[str, ...]  # actions for which it is always ready (`input-enable`)

    def location_nodes(self) -> Iterable[tuple[str, JsonNode]]:
        return zip(self.locations.values(), self.fields["locations"].entries(), strict=True)

    def fix_location(self, term: Term, location: str) -> Term:
        """The term where the component's own location is known."""
        key = location_key(self.component)
        if key not in free_names(term):
            return term
        index = tuple(self.locations.values()).index(location)
        return fold_constant_parts(substitute_names(term, {key: Const(index)}))


@dataclass(frozen=True, slots=True)
class ModelInstances:
    """All instances, and the unique names of global variables."""

    instances: tuple[AutomatonInstance, ...]
    variables: Mapping[str, JaniVariable]
    names: Mapping[str, str]
    transients: frozenset[str] = frozenset()  # unique names

    def all_variables(self) -> Iterable[tuple[str, JaniVariable]]:
        """Every variable with its unique name, global ones first."""
        for name, declared in self.variables.items():
            yield self.names[name], declared
        for instance in self.instances:
            for name, declared in instance.variables.items():
                yield instance.names[name], declared


def read_instances(
    automata: Mapping[str, JsonNode],
    elements: list[JsonNode],
    variables: Mapping[str, JaniVariable],
    actions: Mapping[str, JsonNode],
    scope: JaniScope,
) -> ModelInstances:
    """The instances of the composition, in its order."""
    rows = [element.table(("automaton",), ("input-enable",)) for element in elements]
    chosen = [row["automaton"].declared_name(automata, "automaton") for row in rows]
    components = _component_names(chosen)
    fields = {name: automata[name].table(AUTOMATON, AUTOMATON_OPTIONAL) for name in dict.fromkeys(chosen)}
    taken = {**scope.values, **variables}
    local: list[dict[str, JaniVariable]] = []
    functions: list[dict[str, JaniFunction]] = []
    for name in chosen:
        entries = fields[name]["variables"].entries() if "variables" in fields[name] else []
        local.append(read_variables(entries, scope, taken))
        entries = fields[name]["functions"].entries() if "functions" in fields[name] else []
        functions.append(read_functions(entries, scope))
    names = _Names(Counter([*variables, *(n for own in local for n in own)]), {*components})
    outer = {name: names.unique_name(name, "model") for name in variables}
    instances = []
    for number, (component, name, row) in enumerate(zip(components, chosen, rows, strict=True)):
        own = fields[name]
        locations = _location_names(component, own["locations"])
        initial = tuple(
            locations[n.declared_name(locations, "location")] for n in own["initial-locations"].entries()
        )
        if not initial:
            own["initial-locations"].fail(f"automaton `{name}` has no initial location", "name one")
        enabling = row["input-enable"].entries() if "input-enable" in row else []
        instances.append(
            AutomatonInstance(
                component,
                name,
                automata[name],
                own,
                local[number],
                functions[number],
                {n: names.unique_name(n, component) for n in local[number]},
                locations,
                tuple(dict.fromkeys(initial)),
                tuple(n.declared_name(actions, "action") for n in enabling),
            )
        )
    cast = ModelInstances(tuple(instances), variables, outer)
    return replace(cast, transients=frozenset(n for n, d in cast.all_variables() if d.transient))


def _component_names(automata: list[str]) -> list[str]:
    """The names of the automata; numbered where one is used several times."""
    counts, seen = Counter(automata), Counter[str]()
    names: list[str] = []
    for name in automata:
        seen[name] += 1
        wanted = name if counts[name] == 1 else f"{name}_{seen[name]}"
        while wanted in names or (wanted != name and wanted in counts):
            wanted += "_"
        names.append(wanted)
    return names


class _Names:
    """Hands out names, none of them twice."""

    def __init__(self, counts: Mapping[str, int], components: set[str]) -> None:
        self._counts, self._components = counts, components
        self._used: set[str] = {n for n, count in counts.items() if count == 1 and _is_free(n)}

    def unique_name(self, name: str, component: str) -> str:
        if self._counts[name] == 1 and _is_free(name):
            return name
        wanted = f"{component}.{name}"
        while wanted in self._used or not _is_free(wanted):
            wanted += "_"
        self._used.add(wanted)
        return wanted


def _is_free(name: str) -> bool:
    return not is_reserved(name) and not name.startswith("@")


def _location_names(component: str, node: JsonNode) -> dict[str, str]:
    entries = node.entries()
    if not entries:
        node.fail("the automaton has no location", "add one")
    found: dict[str, str] = {}
    for name, entry in nodes_by_name(entries, "location").items():
        fields = entry.table(LOCATION, LOCATION_OPTIONAL)
        if "time-progress" in fields:
            progress = fields["time-progress"]
            if progress.table(("exp",))["exp"].value is not True:
                progress.refuse("`time-progress` needs a timed model", "only discrete models are read")
        wanted = name
        while wanted in found.values() or location_parts(location_name(component, wanted)) != (
            component,
            wanted,
        ):
            wanted = wanted.replace(", ", ",") if ", " in wanted else f"{wanted}_"
        found[name] = wanted
    return found
