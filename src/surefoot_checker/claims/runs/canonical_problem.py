"""Reading a canonical problem (docs/certificates.md, section 9): one automaton, one network, one property."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ...kernel.network import FlatNetwork
from ...kernel.strict_json import (
    BadCertificate,
    expect_integer,
    expect_list,
    expect_number,
    expect_object,
    expect_text,
)
from ..unsat.query_claim import NORMALISED, FileLocations, read_network_entry, read_normalised
from .term import Term, mentioned_names, read_claimed_term

MOST_STEPS = 1000
KINDS = ("real", "float32", "integer", "boolean")
CHOOSE = ("value", "argmax", "argmax-applicable", "sample")
_PROBLEM = frozenset({"name", "variables", "initial", "controls", "edges", "policy", "property"})
_EDGE = frozenset({"action", "guard", "chosen", "assuming", "outcomes"})
_POLICY = frozenset({"rules", "network", "observe", "choose", "actions", "owns"})
_RULE = frozenset({"when", "then"})


@dataclass(frozen=True, slots=True)
class CanonicalVariable:
    """A state variable or a value that the environment picks; a boolean is 0 or 1."""

    name: str
    low: Fraction | None
    high: Fraction | None
    kind: str


@dataclass(frozen=True, slots=True)
class CanonicalControl:
    name: str
    low: Fraction | None
    high: Fraction | None
    clipped: bool


@dataclass(frozen=True, slots=True)
class CanonicalEdge:
    action: str | None  # of the policy; None: the environment's own
    guard: Term
    chosen: tuple[CanonicalVariable, ...]
    assuming: Term
    outcomes: tuple[dict[str, Term], ...]  # which variables get which values, all at once


@dataclass(frozen=True, slots=True)
class CanonicalProperty:
    kind: str  # "never", "within", "eventually" or "recurs"
    condition: Term
    steps: int | None = None
    after: int = 0
    before: Term = False  # of `never`: a run ends where this holds


@dataclass(frozen=True, slots=True)
class FreeRanges:
    """By number, inputs and outputs of the network that may be anything between two ends, at every time."""

    inputs: Mapping[int, tuple[Fraction, Fraction]] = field(default_factory=dict)
    outputs: Mapping[int, tuple[Fraction, Fraction]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalProblem:
    name: str
    variables: tuple[CanonicalVariable, ...]
    initial: Term
    controls: tuple[CanonicalControl, ...]
    edges: tuple[CanonicalEdge, ...]
    rules: tuple[tuple[Term, Any], ...]  # condition, and an action or a term for each control
    network: FlatNetwork | None
    outputs: int
    observe: tuple[Term, ...]
    choose: str
    actions: tuple[str, ...]  # what the outputs stand for
    owns: tuple[str, ...]  # all actions of the policy
    property: CanonicalProperty
    uncertified: tuple[str, ...]
    free: FreeRanges = field(
        default_factory=FreeRanges
    )  # as an argument looks at the problem; so is the next
    never: Term = False  # a condition that no run meets


def read_canonical_problem(data: object, places: FileLocations) -> CanonicalProblem:
    entry = expect_object(data, _PROBLEM, NORMALISED, "problem")
    variables = tuple(_read_variable(v) for v in expect_list(entry["variables"], "variables"))
    controls = tuple(_read_control(c) for c in expect_list(entry["controls"], "controls"))
    edges = tuple(_read_edge(e) for e in expect_list(entry["edges"], "edges"))
    policy = _read_policy(entry["policy"], places, len(controls))
    names = [v.name for v in variables] + [c.name for c in controls]
    free = {c.name for edge in edges for c in edge.chosen}
    if len(set(names)) < len(names) or free.intersection(names):
        raise BadCertificate("problem: a name is declared twice")
    if any(n in ("deadlocked", "stalled") or n.startswith(("output[", "chosen(")) for n in names):
        raise BadCertificate("problem: a variable or control has a name that conditions have a meaning for")
    known = {v.name for v in variables}
    if any(not known.issuperset(updates) for edge in edges for updates in edge.outcomes):
        raise BadCertificate("problem: an update of something that is no variable")
    asked = _read_property(entry["property"])
    if not mentioned_names(asked.before) <= known:
        raise BadCertificate("problem: where runs end is not a matter of its variables alone")
    if asked.before is not False:
        edges = tuple(replace(e, guard=("and", ("not", asked.before), e.guard)) for e in edges)
        asked = replace(asked, condition=_restrict_to_running(asked.condition, asked.before))
    origin = "where the problem comes from: it is written out in the certificate"
    missing = (origin, *read_normalised(entry), *policy.unsaid)
    return CanonicalProblem(
        expect_text(entry["name"], "name"),
        variables,
        read_claimed_term(entry["initial"]),
        controls,
        edges,
        policy.rules,
        policy.network,
        0 if policy.network is None else policy.network.widths()[-1],
        policy.observe,
        policy.choose,
        policy.actions,
        policy.owns,
        asked,
        missing,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Policy:
    rules: tuple[tuple[Term, Any], ...]
    network: FlatNetwork | None
    observe: tuple[Term, ...]
    choose: str
    actions: tuple[str, ...]
    owns: tuple[str, ...]
    unsaid: tuple[str, ...]


def _read_policy(data: object, places: FileLocations, controls: int) -> _Policy:
    entry = expect_object(data, _POLICY, frozenset(), "policy")
    network, unsaid = (None, ()) if entry["network"] is None else read_network_entry(entry["network"], places)
    inputs, outputs = (0, 0) if network is None else (network.widths()[0], network.widths()[-1])
    observe = tuple(read_claimed_term(t) for t in expect_list(entry["observe"], "observe"))
    choose = expect_text(entry["choose"], "choose")
    actions, owns = (
        tuple(expect_text(a, "action") for a in expect_list(entry[key], key)) for key in ("actions", "owns")
    )
    if choose not in CHOOSE or (choose == "value") is not bool(controls) or (controls and owns):
        raise BadCertificate("policy: controls need `value` and no actions, everything else has no controls")
    if len(observe) != inputs or (network is not None and outputs != (controls or len(actions))):
        raise BadCertificate("policy: it does not fit the inputs and outputs of its network")
    if (network is None and actions) or (network is not None and not outputs):
        raise BadCertificate("policy: actions of outputs without a network, or a network without outputs")
    rules = tuple(_read_rule(r, controls) for r in expect_list(entry["rules"], "rules"))
    named = {*actions, *(then for _, then in rules if not controls)}
    if not named <= set(owns) or (choose == "argmax-applicable" and set(actions) != set(owns)):
        raise BadCertificate("policy: an action that it does not own, or owns without a way to pick it")
    if controls and network is None and (not rules or rules[-1][0] is not True):
        raise BadCertificate("policy: in some states nothing sets the controls")
    return _Policy(rules, network, observe, choose, actions, owns, unsaid)


def _read_rule(data: object, controls: int) -> tuple[Term, Any]:
    entry = expect_object(data, _RULE, frozenset(), "rule")
    if not controls:
        return read_claimed_term(entry["when"]), expect_text(entry["then"], "rule")
    values = tuple(read_claimed_term(t) for t in expect_list(entry["then"], "rule"))
    if len(values) != controls:
        raise BadCertificate("policy: a rule sets as many values as there are controls")
    return read_claimed_term(entry["when"]), values


def _read_bound(data: object) -> Fraction | None:
    return None if data is None else expect_number(data, "bound")


def _read_variable(data: object) -> CanonicalVariable:
    parts = expect_list(data, "variable")
    if len(parts) != 4 or parts[3] not in KINDS or type(parts[0]) is not str or not parts[0]:
        raise BadCertificate("a variable is a list of name, low, high and kind")
    if parts[3] == "boolean":
        if parts[1] is not None or parts[2] is not None:
            raise BadCertificate("a boolean has no bounds")
        return CanonicalVariable(parts[0], Fraction(0), Fraction(1), "boolean")
    return CanonicalVariable(
        expect_text(parts[0], "name"), _read_bound(parts[1]), _read_bound(parts[2]), parts[3]
    )


def _read_control(data: object) -> CanonicalControl:
    parts = expect_list(data, "control")
    if len(parts) != 4 or type(parts[3]) is not bool or not parts[0]:
        raise BadCertificate("a control is a list of name, low, high and whether it is clipped")
    low, high = _read_bound(parts[1]), _read_bound(parts[2])
    if low is not None and high is not None and low > high:
        raise BadCertificate("a control has an empty range")
    return CanonicalControl(expect_text(parts[0], "name"), low, high, parts[3])


def _read_edge(data: object) -> CanonicalEdge:
    entry = expect_object(data, _EDGE, frozenset(), "edge")
    action = None if entry["action"] is None else expect_text(entry["action"], "action")
    chosen = tuple(_read_variable(c) for c in expect_list(entry["chosen"], "chosen"))
    if len({c.name for c in chosen}) < len(chosen):
        raise BadCertificate("an edge chooses two values of one name")
    outcomes = tuple(_read_updates(o) for o in expect_list(entry["outcomes"], "outcomes"))
    if not outcomes:
        raise BadCertificate("an edge without outcomes, so that a run neither goes on nor ends")
    return CanonicalEdge(
        action, read_claimed_term(entry["guard"]), chosen, read_claimed_term(entry["assuming"]), outcomes
    )


def _read_updates(data: object) -> dict[str, Term]:
    found: dict[str, Term] = {}
    for entry in expect_list(data, "outcome"):
        pair = expect_list(entry, "update")
        if len(pair) != 2 or expect_text(pair[0], "update") in found:
            raise BadCertificate("an update is a pair of name and term, one for each name")
        found[pair[0]] = read_claimed_term(pair[1])
    return found


def _read_property(data: object) -> CanonicalProperty:
    entry: dict[str, Any] = expect_object(
        data, frozenset({"kind", "condition"}), frozenset({"steps", "after", "before"}), "property"
    )
    kind, given = entry["kind"], entry.keys() - {"kind", "condition"}
    allowed = {"never": {"steps", "before"}, "within": {"steps", "after"}}
    allowed |= {"eventually": set(), "recurs": set()}
    if kind not in allowed or not given <= allowed[kind] or (kind == "within" and given != allowed[kind]):
        raise BadCertificate("property: of no known kind, or with other bounds than its kind has")
    steps = expect_integer(entry["steps"], 0, MOST_STEPS, "steps") if "steps" in entry else None
    after = expect_integer(entry.get("after", 0), 0, MOST_STEPS, "after")
    if steps is not None and after > steps:
        raise BadCertificate("property: `after` is later than `steps`")
    before = read_claimed_term(entry["before"]) if "before" in entry else False
    return CanonicalProperty(kind, read_claimed_term(entry["condition"]), steps, after, before)


def _restrict_to_running(condition: Term, before: Term) -> Term:
    """Where a run has ended nobody acts, and that nothing is enabled is no deadlock."""
    if type(condition) is not tuple:
        return condition
    if condition[0] == "name":
        acting = condition[1] in ("deadlocked", "stalled") or condition[1].startswith("chosen(")
        return ("and", ("not", before), condition) if acting else condition
    return (condition[0], *(_restrict_to_running(part, before) for part in condition[1:]))
