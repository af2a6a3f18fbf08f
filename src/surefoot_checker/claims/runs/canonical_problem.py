"""Claims about runs: the part of the canonical problem that they cover, one automaton of scalars.

Locations of components are variables here, and automata that move together are one, whose edges are their
joint steps: whoever writes the certificate does this, and it is part of the problem that is claimed about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ...kernel.asked_property import RunProperty
from ...kernel.network import FlatNetwork
from ...kernel.problem import Control, Edge, Outcome, Policy, Variable, read_problem
from ...kernel.query import ClaimedVariable
from ...kernel.strict_json import BadCertificate
from ...kernel.term import Term, is_number
from ..unsat.query_claim import FileLocations, read_network_entry

MOST_STEPS = 1000
DEEPEST = 100  # nesting of terms
ORIGIN = "where the problem comes from: it is written out in the certificate"


@dataclass(frozen=True, slots=True)
class CanonicalEdge:
    action: str | None  # of the policy; None: the environment's own
    guard: Term
    chosen: tuple[ClaimedVariable, ...]
    assuming: Term
    outcomes: tuple[dict[str, Term], ...]  # which variables get which values, all at once


@dataclass(frozen=True, slots=True)
class FreeRanges:
    """By number, inputs and outputs of the network that may be anything between two ends, at every time."""

    inputs: Mapping[int, tuple[Fraction, Fraction]] = field(default_factory=dict)
    outputs: Mapping[int, tuple[Fraction, Fraction]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalProblem:
    name: str
    variables: tuple[ClaimedVariable, ...]  # their `kind` may be "boolean": 0 or 1
    initial: Term
    controls: tuple[Control, ...]
    edges: tuple[CanonicalEdge, ...]
    rules: tuple[tuple[Term, Any], ...]  # condition, and an action or a term for each control
    network: FlatNetwork | None
    outputs: int
    observe: tuple[Term, ...]
    choose: str
    actions: tuple[str, ...]  # what the outputs stand for
    owns: tuple[str, ...]  # all actions of the policy
    property: RunProperty
    uncertified: tuple[str, ...]
    free: FreeRanges = field(
        default_factory=FreeRanges
    )  # as an argument looks at the problem; so is the next
    never: Term = False  # a condition that no run meets


def read_canonical_problem(data: object, places: FileLocations) -> CanonicalProblem:
    """A canonical problem of format 2 that claims about runs cover."""
    problem = read_problem(data, DEEPEST)
    asked, policy = problem.property, problem.policy
    if len(problem.components) != 1 or problem.synchronisations or problem.time is not None:
        raise BadCertificate("problem: claims about runs cover one component that moves alone, in steps")
    (component,) = problem.components
    if len(component.locations) > 1:
        raise BadCertificate("problem: locations are variables in claims about runs")
    if not isinstance(asked, RunProperty) or policy is None or policy.shield is not None:
        raise BadCertificate("problem: claims about runs are about runs under a policy without a shield")
    if (asked.steps or 0) > MOST_STEPS:
        raise BadCertificate(f"property: claims about runs cover up to {MOST_STEPS} steps")
    names = [v.name for v in problem.variables] + [c.name for c in problem.controls]
    if any(name.startswith(("output[", "chosen(")) for name in names):
        raise BadCertificate("problem: a variable or control has a name that queries have a meaning for")
    network, unsaid = (None, ()) if policy.network is None else read_network_entry(policy.network, places)
    _check_policy(policy, network, len(problem.controls))
    return CanonicalProblem(
        problem.name,
        tuple(scalar_variable(v) for v in problem.variables),
        problem.initial,
        problem.controls,
        tuple(scalar_edge(e) for e in component.edges),
        policy.rules,
        network,
        0 if network is None else network.widths()[-1],
        policy.observe,
        policy.choose,
        policy.actions,
        policy.owns,
        asked,
        (ORIGIN, *problem.unsaid, *unsaid),
    )


def _check_policy(policy: Policy, network: FlatNetwork | None, controls: int) -> None:
    inputs, outputs = (0, 0) if network is None else (network.widths()[0], network.widths()[-1])
    actions = policy.actions
    if (policy.choose == "value") is not bool(controls):
        raise BadCertificate("policy: controls need `value` and no actions, everything else has no controls")
    if len(policy.observe) != inputs or (network is not None and outputs != (controls or len(actions))):
        raise BadCertificate("policy: it does not fit the inputs and outputs of its network")
    if (network is None and actions) or (network is not None and not outputs):
        raise BadCertificate("policy: actions of outputs without a network, or a network without outputs")
    if policy.choose == "argmax-applicable" and set(actions) != set(policy.owns):
        raise BadCertificate("policy: it owns an action without a way to pick it")
    if controls and network is None and (not policy.rules or policy.rules[-1][0] is not True):
        raise BadCertificate("policy: in some states nothing sets the controls")


def scalar_variable(variable: Variable) -> ClaimedVariable:
    match variable.kind:
        case ("boolean",):
            return ClaimedVariable(variable.name, Fraction(0), Fraction(1), "boolean")
        case ("array", _, _):
            raise BadCertificate("problem: claims about runs cover no arrays")
        case (kind, *ends):
            low, high = (None if end is None else Fraction(end) for end in ends)
            return ClaimedVariable(variable.name, low, high, kind)
    raise AssertionError(variable.kind)


def scalar_edge(edge: Edge) -> CanonicalEdge:
    chosen = tuple(scalar_variable(c) for c in edge.chosen)
    outcomes = tuple(_updates_at_once(o) for o in edge.outcomes)
    return CanonicalEdge(edge.action, edge.guard, chosen, edge.assuming, outcomes)


def _updates_at_once(outcome: Outcome) -> dict[str, Term]:
    """Rewards do not matter; an outcome is possible, however probable it is."""
    share, updates = outcome.probability, outcome.updates
    if share is not None and not (is_number(share) and 0 < share <= 1):
        raise BadCertificate("problem: an outcome that is not possible, or whose probability varies")
    if len({u.index for u in updates}) > 1 or any(u.path for u in updates):
        raise BadCertificate("problem: updates one after the other, or of elements of an array")
    found = {u.variable: u.value for u in updates}
    if len(found) < len(updates):
        raise BadCertificate("problem: a variable is updated twice")
    return found
