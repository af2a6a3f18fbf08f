"""Reading the canonical problem (docs/certificates.md, section 9), the same for all claims about one.

Each kind of claim covers a part of what can be written here, and refuses the rest: claims about runs one
automaton of scalars, claims about polynomial systems one edge and rules, claims about finite systems no
controls. Here the form is checked, and that every term has a type and knows its names.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from .asked_property import ExpectedReward, Probability, RunProperty, read_property
from .strict_json import (
    BadCertificate,
    expect_list,
    expect_number,
    expect_object,
    expect_text,
)
from .term import (
    ACTING,
    ARRAY,
    BOOLEAN,
    DEEPEST,
    NUMBER,
    Kind,
    Term,
    check_scalar,
    integer_if_whole,
    read_term,
    replace_atoms,
    term_atoms,
    term_type,
)
from .untrusted_file import quote_for_message

LARGEST_ARRAY = 100_000
CHOOSE = ("value", "argmax", "argmax-applicable", "sample")
_MOST_EDGES = 12  # that are named
_PROBLEM = frozenset(
    {"name", "variables", "initial", "controls", "components", "synchronisations", "policy", "property"}
)
_COMPONENT = frozenset({"name", "locations", "initial", "edges"})
_EDGE = frozenset({"source", "action", "guard", "chosen", "assuming", "outcomes"})
_OUTCOME = frozenset({"probability", "updates", "rewards", "target"})
_POLICY = frozenset({"rules", "network", "observe", "choose", "actions", "owns"})
_DECIDER = frozenset({"network", "observe", "choose", "actions"})
_PERMIT = frozenset({"inside", "barrier", "margin"})

Range = tuple[Fraction, Fraction]
Box = tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """Of the state, or a value that the environment picks."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Control:
    name: str
    low: Fraction | None
    high: Fraction | None
    clipped: bool


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """A variable, or the element of it that the path says, gets a value; lower indices come first."""

    variable: str
    path: tuple[Term, ...]
    value: Term
    index: int


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    probability: Term | None  # None: it is possible, nothing else is said
    updates: tuple[Update, ...]
    rewards: tuple[tuple[str, Term], ...]
    target: int


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    source: int
    action: str | None
    guard: Term
    chosen: tuple[Variable, ...]
    assuming: Term
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    name: str
    locations: tuple[str, ...]
    initial: tuple[int, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Permit:
    """Proposed controls are used where the predicted state is in the box, its barrier at most -margin."""

    inside: Box
    barrier: Term
    margin: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class Decider:
    """A network, what it reads and what its outputs stand for."""

    network: object | None  # as it is written
    observe: tuple[Term, ...]
    choose: str
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """The first rule whose condition holds decides, and where none does the network."""

    # Condition, and an action or a term for each control; for closed loops perhaps a `Decider`
    rules: tuple[tuple[Term, Any], ...]
    network: object | None  # as it is written
    observe: tuple[Term, ...]
    choose: str
    actions: tuple[str, ...]  # what the outputs stand for
    owns: tuple[str, ...]  # all actions of the policy
    shield: tuple[Permit, ...] | None = None  # None: nobody proposes anything


@dataclass(frozen=True, slots=True)
class ContinuousTime:
    """Variables have these derivatives, and controls are held for the period."""

    derivatives: tuple[Term, ...]
    period: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    name: str
    variables: tuple[Variable, ...]
    initial: Term
    controls: tuple[Control, ...]
    components: tuple[Component, ...]
    synchronisations: tuple[tuple[tuple[str | None, ...], str | None], ...]
    policy: Policy | None
    property: RunProperty | Probability | ExpectedReward
    time: ContinuousTime | None
    unsaid: tuple[str, ...]  # what is not certified about it, in words


def read_problem(data: object, deepest: int = DEEPEST, *, closed_loop: bool = False) -> Problem:
    """`deepest`: how far terms may be nested. Where runs end at a goal, guards and condition say so.

    `closed_loop`: with elementary functions, limits in seconds and several networks (section 14), which other
    claims give no meaning to and so refuse.
    """
    entry = expect_object(data, _PROBLEM, "problem", frozenset({"normalised", "time"}))
    variables = tuple(read_variable(v) for v in expect_list(entry["variables"], "variables"))
    controls = tuple(_read_control(c) for c in expect_list(entry["controls"], "controls"))
    parts = [
        expect_object(c, _COMPONENT, "component") for c in expect_list(entry["components"], "components")
    ]
    names = [expect_text(c["name"], "component") for c in parts]
    several = [_read_distinct_texts(c["locations"], "locations") for c in parts]
    locations = dict(zip(names, several, strict=True))
    if len(locations) < len(names):
        raise BadCertificate("two components have one name")
    types: dict[str, str | None] = {v.name: kind_type(v.kind) for v in variables}
    places = [f"@{name}" for name, those in locations.items() if len(those) > 1]
    declared = [*types, *(c.name for c in controls), *places]
    if len(types) < len(variables) or len(set(declared)) < len(declared):
        raise BadCertificate("problem: a name is declared twice")
    start = _TermReader(types, deepest, elementary=closed_loop)
    state = start.with_types(dict.fromkeys(places, NUMBER))
    step = state.with_types(dict.fromkeys((c.name for c in controls), NUMBER))
    chosen = _chosen_types(parts, declared)
    problem = Problem(
        expect_text(entry["name"], "name"),
        variables,
        start.scalar(entry["initial"]),
        controls,
        tuple(_read_component(c, locations[n], step, chosen) for n, c in zip(names, parts, strict=True)),
        tuple(
            _read_synchronisation(v, len(parts))
            for v in expect_list(entry["synchronisations"], "synchronisations")
        ),
        None if entry["policy"] is None else _read_policy(entry["policy"], state, len(controls), closed_loop),
        read_property(
            entry["property"],
            replace(step, locations=locations, known={}).scalar,
            "time" in entry if closed_loop else None,
        ),
        _read_time(entry["time"], step.with_types(chosen), len(variables)) if "time" in entry else None,
        _read_normalised(entry),
    )
    outcomes = [o for c in problem.components for edge in c.edges for o in edge.outcomes]
    if any(update.variable not in types for o in outcomes for update in o.updates):
        raise BadCertificate("problem: an update of something that is no variable")
    return _end_at_goal(problem, {*types, *places})


def _end_at_goal(problem: Problem, state: Collection[str]) -> Problem:
    """Runs that end where `before` holds: no edge is enabled there, and what is said of acting is false."""
    asked = problem.property
    if not isinstance(asked, RunProperty) or asked.before is None:
        return problem
    if not all(atom[0] == "name" and atom[1] in state for atom in term_atoms(asked.before)):
        raise BadCertificate("problem: where runs end is not a matter of its state alone")
    going = ("not", asked.before)
    components = tuple(
        replace(c, edges=tuple(replace(e, guard=("and", going, e.guard)) for e in c.edges))
        for c in problem.components
    )
    condition = replace_atoms(asked.condition, lambda a: ("and", going, a) if a[0] in ACTING else a)
    return replace(problem, components=components, property=replace(asked, condition=condition))


@dataclass(frozen=True, slots=True)
class _TermReader:
    """Terms over names of known types; with `locations`, conditions of properties."""

    types: Mapping[str, str | None]
    deepest: int
    locations: Mapping[str, tuple[str, ...]] | None = None
    elementary: bool = False
    known: dict[str, Term] = field(default_factory=dict)  # by their text: terms that occur many times

    def with_types(self, more: Mapping[str, str | None]) -> _TermReader:
        return replace(self, types={**self.types, **more}, known={})

    def _type_of(self, atom: Term) -> str | None:
        if atom[0] == "name":
            if atom[1] not in self.types:
                raise BadCertificate(f"a term mentions the unknown name {quote_for_message(atom[1])}")
            return self.types[atom[1]]
        return NUMBER if atom[0] == "output" else BOOLEAN

    def _read(self, data: object) -> Term:
        asks = self.locations is not None
        term = read_term(data, condition=asks, deepest=self.deepest, elementary=self.elementary)
        return term if self.locations is None else resolve_locations(term, self.locations)

    def scalar(self, data: object) -> Term:
        return check_scalar(self._read(data), self._type_of)

    def known_scalar(self, data: object) -> Term:
        """The same, as one object wherever it is written alike."""
        text = json.dumps(data)
        if text not in self.known:
            self.known[text] = self.scalar(data)
        return self.known[text]

    def any(self, data: object) -> Term:
        term_type(term := self._read(data), self._type_of)
        return term


def resolve_locations(term: Term, locations: Mapping[str, tuple[str, ...]]) -> Term:
    """With `@component`, which is the number of its location, where a condition names the location."""

    def resolve(atom: Term) -> Term:
        if atom[0] != "at":
            return atom
        known = locations.get(atom[1], ())
        if atom[2] not in known:
            raise BadCertificate("a condition mentions an unknown component or location")
        return ("=", ("name", f"@{atom[1]}"), known.index(atom[2])) if len(known) > 1 else True

    return replace_atoms(term, resolve)


def kind_type(kind: Kind) -> str:
    return kind[0] if kind[0] in (BOOLEAN, ARRAY) else NUMBER


def read_variable(data: object) -> Variable:
    name, kind = _read_pair(data, "a variable")
    if not expect_text(name, "name of a variable") or name.startswith("\0"):
        raise BadCertificate("the name of a variable is empty, or begins with a zero byte")
    return Variable(name, read_kind(kind))


def read_kind(data: object) -> Kind:
    if data == "boolean":
        return ("boolean",)
    parts = expect_list(data, "kind")
    if len(parts) == 3 and parts[0] in ("integer", "real", "float32"):
        return (
            parts[0],
            *(None if e is None else integer_if_whole(expect_number(e, "bound")) for e in parts[1:]),
        )
    if len(parts) == 3 and parts[0] == "array" and type(parts[1]) is int and 0 <= parts[1] <= LARGEST_ARRAY:
        return ("array", parts[1], read_kind(parts[2]))
    raise BadCertificate("a kind that is not known")


def _read_control(data: object) -> Control:
    parts = expect_list(data, "control")
    if len(parts) != 4 or type(parts[3]) is not bool or not parts[0]:
        raise BadCertificate("a control is a list of name, low, high and whether it is clipped")
    low, high = (None if end is None else expect_number(end, "bound") for end in parts[1:3])
    if low is not None and high is not None and low > high:
        raise BadCertificate("a control has an empty range")
    return Control(expect_text(parts[0], "name"), low, high, parts[3])


def _read_pair(data: object, what: str) -> list[Any]:
    return expect_list(data, what, 2, f"{what}: not a pair")


def _read_distinct_texts(data: object, what: str) -> tuple[str, ...]:
    found = tuple(expect_text(t, what) for t in expect_list(data, what))
    if not found or len(set(found)) != len(found):
        raise BadCertificate(f"{what}: none, or one twice")
    return found


def _location_index(data: object, several: tuple[str, ...], what: str) -> int:
    if (name := expect_text(data, what)) not in several:
        raise BadCertificate(f"an unknown location: {quote_for_message(name)}")
    return several.index(name)


def _chosen_types(components: Sequence[dict[str, Any]], declared: Collection[str]) -> dict[str, str | None]:
    """The values that edges choose; those of one name in different edges may be of different types."""
    found: dict[str, str | None] = {}
    for component in components:
        for edge in expect_list(component["edges"], "edges"):
            for data in expect_list(expect_object(edge, _EDGE, "edge")["chosen"], "chosen"):
                value = read_variable(data)
                kind = kind_type(value.kind)
                found[value.name] = kind if found.get(value.name, kind) == kind else None
    if not found.keys().isdisjoint(declared):
        raise BadCertificate("problem: a chosen value has the name of something else")
    return found


def _read_component(
    data: dict[str, Any], locations: tuple[str, ...], reader: _TermReader, chosen: Mapping[str, str | None]
) -> Component:
    initial = _read_distinct_texts(data["initial"], "initial locations")
    several = reader.with_types(chosen)
    edges = tuple(_read_edge(edge, locations, reader, several) for edge in data["edges"])
    first = tuple(_location_index(place, locations, "location") for place in initial)
    return Component(data["name"], locations, first, edges)


def _read_edge(
    data: dict[str, Any], locations: tuple[str, ...], reader: _TermReader, with_chosen: _TermReader
) -> Edge:
    own = tuple(read_variable(c) for c in data["chosen"])
    if len({c.name for c in own}) < len(own):
        raise BadCertificate("an edge chooses two values of one name")
    inner = with_chosen.with_types({c.name: kind_type(c.kind) for c in own}) if own else with_chosen
    outcomes = tuple(_read_outcome(o, locations, inner) for o in expect_list(data["outcomes"], "outcomes"))
    if not outcomes:
        raise BadCertificate("an edge without outcomes, so that a run neither goes on nor ends")
    return Edge(
        _location_index(data["source"], locations, "source"),
        None if data["action"] is None else expect_text(data["action"], "action"),
        reader.scalar(data["guard"]),
        own,
        inner.scalar(data["assuming"]),
        outcomes,
    )


def _read_outcome(data: object, locations: tuple[str, ...], reader: _TermReader) -> Outcome:
    entry = expect_object(data, _OUTCOME, "outcome")
    rewards = [_read_pair(r, "reward") for r in expect_list(entry["rewards"], "rewards")]
    return Outcome(
        None if entry["probability"] is None else reader.scalar(entry["probability"]),
        tuple(_read_update(u, reader) for u in expect_list(entry["updates"], "updates")),
        tuple((expect_text(name, "reward"), reader.known_scalar(amount)) for name, amount in rewards),
        _location_index(entry["target"], locations, "target"),
    )


def _read_update(data: object, reader: _TermReader) -> Update:
    parts = expect_list(data, "update")
    if len(parts) != 3 or type(parts[2]) is not int:
        raise BadCertificate("an update that is not [target, value, index]")
    target = reader.any(parts[0])
    path: list[Term] = []
    while type(target) is tuple and target[0] == "select":
        path.insert(0, target[2])
        target = target[1]
    if type(target) is not tuple or target[0] != "name":
        raise BadCertificate("the target of an update is not a variable")
    return Update(target[1], tuple(path), reader.any(parts[1]), parts[2])


def _read_synchronisation(data: object, count: int) -> tuple[tuple[str | None, ...], str | None]:
    actions, result = _read_pair(data, "a synchronisation")
    found = tuple(None if a is None else expect_text(a, "action") for a in expect_list(actions, "actions"))
    if len(found) != count:
        raise BadCertificate("a synchronisation of another length than there are components")
    if all(a is None for a in found):
        raise BadCertificate("a synchronisation in which no component takes part")
    return found, None if result is None else expect_text(result, "result")


def _read_policy(data: object, reader: _TermReader, controls: int, several: bool) -> Policy:
    entry = expect_object(data, _POLICY, "policy", frozenset({"shield"}))
    actions, owns = (
        tuple(expect_text(a, "action") for a in expect_list(entry[key], key)) for key in ("actions", "owns")
    )
    if (choose := expect_text(entry["choose"], "choose")) not in CHOOSE:
        raise BadCertificate("policy: this way to choose is not known")
    sets = choose == "value"
    rules = tuple(
        _read_rule(r, reader, controls if sets else None, several)
        for r in expect_list(entry["rules"], "rules")
    )
    if (controls and not sets) or (sets and owns):
        raise BadCertificate("policy: controls need `value` and no actions, everything else has no controls")
    named = [then.actions if isinstance(then, Decider) else (then,) for _, then in rules if not sets]
    if not {*actions, *(action for those in named for action in those)} <= set(owns):
        raise BadCertificate("policy: an action that it does not own")
    observe = tuple(reader.scalar(t) for t in expect_list(entry["observe"], "observe"))
    shield = None
    if "shield" in entry:
        shield = tuple(_read_permit(p, reader) for p in expect_list(entry["shield"], "shield"))
    return Policy(rules, entry["network"], observe, choose, actions, owns, shield)


def _read_rule(data: object, reader: _TermReader, controls: int | None, several: bool) -> tuple[Term, Any]:
    """A value for each control, or an action; or, where there may be `several`, another network."""
    entry = expect_object(data, frozenset({"when", "then"}), "rule")
    when = reader.scalar(entry["when"])
    if several and type(entry["then"]) is dict:
        return when, _read_decider(entry["then"], reader, controls)
    if controls is None:
        return when, expect_text(entry["then"], "rule")
    values = tuple(reader.scalar(t) for t in expect_list(entry["then"], "rule"))
    if len(values) != controls:
        raise BadCertificate("policy: a rule sets as many values as there are controls")
    return when, values


def _read_decider(data: object, reader: _TermReader, controls: int | None) -> Decider:
    entry = expect_object(data, _DECIDER, "rule")
    choose = expect_text(entry["choose"], "choose")
    if choose not in CHOOSE or (choose == "value") is (controls is None) or entry["network"] is None:
        raise BadCertificate("policy: a rule asks a network in another way than the policy does, or none")
    return Decider(
        entry["network"],
        tuple(reader.scalar(t) for t in expect_list(entry["observe"], "observe")),
        choose,
        tuple(expect_text(a, "action") for a in expect_list(entry["actions"], "actions")),
    )


def _read_permit(data: object, reader: _TermReader) -> Permit:
    entry = expect_object(data, _PERMIT, "permit")
    inside, margin = read_box(entry["inside"]), expect_number(entry["margin"], "margin")
    return Permit(inside, reader.scalar(entry["barrier"]), margin)


def read_box(data: object) -> Box:
    """A range for each of several things."""
    return tuple(_read_range(r) for r in expect_list(data, "box"))


def _read_range(data: object) -> Range:
    low, high = (expect_number(end, "range") for end in _read_pair(data, "range"))
    if low > high:
        raise BadCertificate("a range is empty")
    return low, high


def _read_time(data: object, reader: _TermReader, variables: int) -> ContinuousTime:
    entry = expect_object(data, frozenset({"derivatives", "period"}), "time")
    derivatives = tuple(reader.scalar(t) for t in expect_list(entry["derivatives"], "derivatives"))
    if len(derivatives) != variables:
        raise BadCertificate("time: one derivative for each variable")
    if (period := expect_number(entry["period"], "period")) <= 0:
        raise BadCertificate("time: the period is positive")
    return ContinuousTime(derivatives, period)


def _read_normalised(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """What a problem says of probabilities that its file has otherwise: said again, not checked."""
    if "normalised" not in entry:
        return ()
    edges = [
        quote_for_message(expect_text(e, "normalised"))
        for e in expect_list(entry["normalised"], "normalised")
    ]
    if not edges:
        raise BadCertificate("normalised: no edge is named")
    named = ", ".join(edges[:_MOST_EDGES]) + (", …" if len(edges) > _MOST_EDGES else "")
    meant = "that probabilities may be divided by their sum, which was within 1e-9 of 1 but not 1"
    return (f"{meant} ({len(edges)} edges: {named})",)
