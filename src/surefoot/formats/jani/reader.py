"""Read a JANI model: constants folded, functions expanded, transient variables as terms and rewards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from surefoot.errors import SurefootError
from surefoot.formats.jani.composition import read_vectors
from surefoot.formats.jani.declarations import (
    ConstantOverride,
    nodes_by_name,
    read_constants,
    read_functions,
    read_variables,
)
from surefoot.formats.jani.edges import EdgeReader, RawEdge, collect_assignments, input_enabled_edges
from surefoot.formats.jani.expressions import JaniScope, read_jani_term
from surefoot.formats.jani.instances import AutomatonInstance, ModelInstances, read_instances
from surefoot.formats.jani.json_document import JsonNode, read_json_document
from surefoot.formats.jani.properties import PropertyReader, read_jani_properties
from surefoot.formats.jani.rewards import Rewards
from surefoot.formats.jani.transient_variables import read_definitions, state_values
from surefoot.formats.untrusted.regular_file import error_in_file
from surefoot.problem.environment import Component, Environment, Variable
from surefoot.problem.property import Property
from surefoot.problem.validate.distribution import normalise_probabilities
from surefoot.term.reserved_names import DEADLOCKED, location_key
from surefoot.term.term import Const, Term, Var, conjunction_of, equal, free_names
from surefoot.term.types import BOOL, INT
from surefoot.term.value_types import ValueType

KEYS = ("jani-version", "name", "type", "automata", "system")
OPTIONAL = ("features", "actions", "constants", "variables", "functions", "restrict-initial", "properties")
KINDS = ("lts", "dtmc", "mdp")
OTHER_KINDS = ("ctmc", "ctmdp", "ma", "ta", "pta", "sta", "ha", "pha", "sha")
FEATURES = (
    "arrays",
    "datatypes",
    "derived-operators",
    "edge-priorities",
    "functions",
    "hyperbolic-functions",
    "named-expressions",
    "nondet-selection",
    "state-exit-rewards",
    "tradeoff-properties",
    "trigonometric-functions",
)


@dataclass(frozen=True, slots=True)
class JaniModel:
    """A model as surefoot's own types; `refused` says of each property that cannot be asked why not."""

    name: str
    kind: str  # lts, dtmc or mdp
    environment: Environment
    properties: Mapping[str, Property]
    refused: Mapping[str, SurefootError]
    constants: Mapping[str, Const]
    notes: tuple[str, ...]
    hidden: Mapping[str, str]  # names that questions cannot use although the file has them, and why
    names: Mapping[tuple[int | None, str], str]  # place in the composition (None: global), name in the file


def read_jani(
    path: str | Path,
    constants: Mapping[str, ConstantOverride] | None = None,
    *,
    rewards: Iterable[str] = (),
    normalise: bool = False,
) -> JaniModel:
    """The model in a file; `constants` give values to those that the file leaves open, or replace them.

    `rewards`: transient variables that are rewards although no property of the file accumulates them.
    `normalise`: probabilities that add up to 1 within 1e-9 are divided by their sum.
    """
    try:
        top = read_json_document(Path(path))
        model = model_from_document(top, constants or {}, rewards=rewards, normalise=normalise)
    except SurefootError as error:
        raise error_in_file(error, Path(path)) from None
    refused = {name: error_in_file(error, Path(path)) for name, error in model.refused.items()}
    return replace(model, refused=refused)


def model_from_document(
    top: JsonNode,
    given: Mapping[str, ConstantOverride],
    *,
    rewards: Iterable[str] = (),
    normalise: bool = False,
) -> JaniModel:
    """The model of a document that is read already; errors carry the path of the value, not a file."""
    if isinstance(top.value, list) or (isinstance(top.value, dict) and "automata" not in top.value):
        top.fail("this is not a JANI model: it has no `automata`", "give a model")
    if isinstance(top.value, dict) and "plugins" in top.value:
        plugins = JsonNode(top.value["plugins"], top, "plugins")
        plugins.refuse("`plugins` (code outside the model) is not supported", "write it as automata")
    fields = top.table(KEYS, OPTIONAL)
    kind = _model_type(fields)
    notes: set[str] = set()
    constants = read_constants(_optional_entries(fields, "constants"), given, notes)
    outer = JaniScope(constants, {}, notes=notes)
    actions = nodes_by_name(_optional_entries(fields, "actions"), "action")
    variables = read_variables(_optional_entries(fields, "variables"), outer, constants)
    automata = nodes_by_name(fields["automata"].entries(), "automaton")
    system = fields["system"].table(("elements",), ("syncs",))
    elements = system["elements"].entries()
    if not elements:
        system["elements"].fail("the composition is empty", "name at least one automaton")
    functions = read_functions(_optional_entries(fields, "functions"), outer)
    cast = read_instances(automata, elements, variables, actions, outer)
    scopes = _component_scopes(cast, replace(outer, functions=functions))
    writes = collect_assignments(cast)
    edges: dict[str, list[RawEdge]] = {}
    for instance in cast.instances:
        scope = scopes[instance.component]
        own = EdgeReader(cast, instance, scope, writes, actions, kind == "lts", normalise).edges()
        edges[instance.component] = [*own, *input_enabled_edges(instance, own)]
    components = [i.component for i in cast.instances]
    vectors = read_vectors(system, components, edges, actions, notes)
    asked = replace(scopes[""], predicates={"deadlock": Var(DEADLOCKED)})
    defaults = {n: d.initial for n, d in cast.all_variables() if d.transient and d.initial is not None}
    earned = Rewards(cast, scopes[""], defaults, edges, vectors)
    properties, refused = read_jani_properties(
        PropertyReader(cast, asked, earned),
        nodes_by_name(_optional_entries(fields, "properties"), "property"),
    )
    for name in rewards:
        earned.request_named_reward(name)
    rewarded, vectors = earned.rewarded_system()
    definitions, hidden = read_definitions(cast, scopes, {name for _, name in writes})
    environment = Environment(
        name=fields["name"].string() or "model",
        variables=tuple(Variable(n, d.kind) for n, d in cast.all_variables() if not d.transient),
        initial=_initial_condition(fields, cast, scopes),
        components=tuple(
            Component(
                i.component,
                rewarded[i.component],
                tuple(i.locations.values()),
                i.initial,
            )
            for i in cast.instances
        ),
        synchronisations=vectors,
        definitions=tuple(definitions.items()),
        notes=tuple(sorted(notes)),
    )
    if normalise:
        environment = normalise_probabilities(environment)
    plain = {name: value for name, value in constants.items() if isinstance(value, Const)}
    names: dict[tuple[int | None, str], str] = {(None, raw): name for raw, name in cast.names.items()}
    names |= {(n, raw): name for n, i in enumerate(cast.instances) for raw, name in i.names.items()}
    return JaniModel(
        *(environment.name, kind, environment, properties, refused, plain, environment.notes),
        hidden=hidden,
        names=names,
    )


def _model_type(fields: Mapping[str, JsonNode]) -> str:
    if fields["jani-version"].integer() != 1:
        fields["jani-version"].refuse("only version 1 of JANI is read", "write the model in version 1")
    kind = fields["type"].string()
    if kind not in KINDS:
        supported = f"read are {', '.join(KINDS)}"
        if kind in OTHER_KINDS:
            fields["type"].refuse(f"models of type `{kind}` are not supported", supported)
        fields["type"].fail(f"unknown type of model `{kind}`", supported)
    for feature in _optional_entries(fields, "features"):
        if (name := feature.string()) not in FEATURES:
            feature.refuse(f"feature `{name}` is not supported", "write the model without it")
    return kind


def _optional_entries(fields: Mapping[str, JsonNode], key: str) -> list[JsonNode]:
    return fields[key].entries() if key in fields else []


def _component_scopes(cast: ModelInstances, outer: JaniScope) -> dict[str, JaniScope]:
    """What names stand for in each component, and (under the empty name) in the whole model."""
    kinds: dict[str, ValueType] = {n: d.kind for n, d in cast.all_variables() if not d.transient}
    kinds |= {location_key(i.component): INT for i in cast.instances if len(i.locations) > 1}
    kinds[DEADLOCKED] = BOOL
    stored = {n: Var(cast.names[n]) for n, d in cast.variables.items() if not d.transient}
    scopes = {"": replace(outer, values={**outer.values, **stored}, kinds=kinds)}
    for instance in cast.instances:
        own = {n: Var(instance.names[n]) for n, d in instance.variables.items() if not d.transient}
        scopes[instance.component] = replace(
            scopes[""],
            values={**scopes[""].values, **own},
            functions={**outer.functions, **instance.functions},
        )
    transient = state_values(cast, scopes)
    return {
        component: replace(scope, values={**scope.values, **_visible_transients(cast, component, transient)})
        for component, scope in scopes.items()
    }


def _visible_transients(cast: ModelInstances, component: str, values: Mapping[str, Term]) -> dict[str, Term]:
    """The transient variables that can be named here, by the names of the file."""
    owner: AutomatonInstance | None = next((i for i in cast.instances if i.component == component), None)
    names = {**cast.names, **(owner.names if owner else {})}
    return {raw: values[name] for raw, name in names.items() if name in values}


def _initial_condition(
    fields: Mapping[str, JsonNode], cast: ModelInstances, scopes: Mapping[str, JaniScope]
) -> Term:
    parts: list[Term] = [
        equal(Var(n), d.initial) for n, d in cast.all_variables() if not d.transient and d.initial is not None
    ]
    if "restrict-initial" in fields:
        parts.append(_initial_restriction(fields["restrict-initial"], scopes[""]))
    for instance in cast.instances:
        if "restrict-initial" in instance.fields:
            parts.append(
                _initial_restriction(instance.fields["restrict-initial"], scopes[instance.component])
            )
    return conjunction_of(tuple(parts))


def _initial_restriction(node: JsonNode, scope: JaniScope) -> Term:
    exp = node.table(("exp",))["exp"]
    term = read_jani_term(exp, scope, BOOL)
    if any(name.startswith("@") for name in free_names(term)):
        exp.refuse("a restriction of the initial states that depends on values of locations")
    return term
