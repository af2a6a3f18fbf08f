"""Claims about closed loops: the part of the canonical problem that they cover (docs/certificates.md,
section 14).

One automaton of scalars in steps, as in claims about runs, or one edge in continuous time; a policy of rules
and networks, of which the first whose condition holds decides; a property of all runs, about the variables
alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...kernel.asked_property import RunProperty
from ...kernel.problem import Control, Decider, Policy, Problem, read_problem
from ...kernel.query import ClaimedVariable
from ...kernel.strict_json import BadCertificate
from ...kernel.term import Term, same_term, term_atoms
from ..runs.canonical_problem import ORIGIN, CanonicalEdge, scalar_edge, scalar_variable
from ..unsat.query_claim import FileLocations, read_network_entry
from .flow_program import Condition, FlowProgram
from .network_forms import NetworkOnForms
from .sub_step import Flow
from .term_forms import EXACT_TIME, PlantArithmetic, nearest_double

DEEPEST = 100  # nesting of terms
MOST_NETWORKS = 1000
Range = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class LoopDecider:
    """Decides where `when` holds and none before it does: by an action, values of controls, or a network."""

    when: Term
    action: str | None
    values: tuple[Term, ...]
    network: NetworkOnForms | None
    observe: tuple[Term, ...]
    choose: str
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TimedConditions:
    """In continuous time: the flow, and conditions over what its program computes."""

    flow: Flow
    condition: Condition
    before: Condition | None
    period: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class ClosedLoop:
    name: str
    plant: PlantArithmetic
    policy: PlantArithmetic  # what the policy computes with
    variables: tuple[ClaimedVariable, ...]
    reals: tuple[str, ...]
    initial: Term
    controls: tuple[Control, ...]
    edges: tuple[CanonicalEdge, ...]
    deciders: tuple[LoopDecider, ...]  # the last one holds everywhere, or none decides elsewhere
    chooses: str
    owns: tuple[str, ...]
    property: RunProperty
    time: TimedConditions | None
    uncertified: tuple[str, ...]

    def constants(self) -> frozenset[str]:
        """Real variables that nothing changes."""
        if self.time is not None:
            flow = self.time.flow
            rates = (flow.program.nodes[place] for place in flow.derivatives)
            return frozenset(n for n, rate in zip(self.reals, rates, strict=True) if rate == ("number", 0))
        changed = {
            name
            for edge in self.edges
            for outcome in edge.outcomes
            for name, term in outcome.items()
            if term != ("name", name)
        }
        return frozenset(self.reals) - changed

    def real_range(self, name: str) -> tuple[Fraction | None, Fraction | None]:
        return next((v.low, v.high) for v in self.variables if v.name == name)


@contextmanager
def finest_sets(loop: ClosedLoop) -> Iterator[None]:
    """Networks have the units of the claim, and sub-steps all symbols: that takes longer, and sets are
    narrower."""
    several: list[NetworkOnForms | FlowProgram] = [d.network for d in loop.deciders if d.network is not None]
    several += [] if loop.time is None else [loop.time.flow.program]
    before = [one.finest for one in several]
    for one in several:
        one.finest = True
    try:
        yield
    finally:
        for one, was in zip(several, before, strict=True):
            one.finest = was


def read_closed_loop(data: object, plant: object, bits: int, places: FileLocations) -> ClosedLoop:
    if plant not in ("exact", "float64"):
        raise BadCertificate("claim: its `plant` is neither `exact` nor `float64`")
    problem = read_problem(data, DEEPEST, closed_loop=True)
    asked, policy = problem.property, problem.policy
    if len(problem.components) != 1 or problem.synchronisations or len(problem.components[0].locations) > 1:
        raise BadCertificate("problem: claims about closed loops cover one component of one location")
    if not isinstance(asked, RunProperty) or policy is None or policy.shield is not None:
        raise BadCertificate("problem: claims about closed loops are about runs under a policy, no shield")
    variables = tuple(scalar_variable(v) for v in problem.variables)
    names = {v.name for v in variables}
    for term in (asked.condition, *(() if asked.before is None else (asked.before,))):
        if not all(atom[0] == "name" and atom[1] in names for atom in term_atoms(term)):
            raise BadCertificate("property: of other things than the variables")
    edges = tuple(scalar_edge(e) for e in problem.components[0].edges)
    updated = {name for edge in edges for outcome in edge.outcomes for name in outcome}
    if any(v.kind == "float32" and v.name in updated for v in variables):
        raise BadCertificate("problem: claims about closed loops cover no updates of float32 variables")
    deciders, unsaid = _read_deciders(policy, len(problem.controls), bits, places)
    timed = None if problem.time is None else _read_flow(problem, edges[0] if edges else None, asked)
    rounded = plant == "float64"
    computing = PlantArithmetic(rounded, True)
    return ClosedLoop(
        problem.name,
        computing if timed is None else EXACT_TIME,
        computing,
        variables,
        tuple(v.name for v in variables if v.kind in ("real", "float32")),
        problem.initial,
        tuple(_double_ends(c) if rounded else c for c in problem.controls),
        edges,
        deciders,
        policy.choose,
        policy.owns,
        asked,
        timed,
        (ORIGIN, *problem.unsaid, *unsaid),
    )


def _double_ends(control: Control) -> Control:
    low, high = (
        None if end is None else Fraction(nearest_double(end)) for end in (control.low, control.high)
    )
    return Control(control.name, low, high, control.clipped)


def _read_deciders(
    policy: Policy, controls: int, bits: int, places: FileLocations
) -> tuple[tuple[LoopDecider, ...], tuple[str, ...]]:
    if (policy.choose == "value") is not bool(controls):
        raise BadCertificate("policy: controls need `value` and no actions, everything else has no controls")
    if len(policy.rules) > MOST_NETWORKS:
        raise BadCertificate("policy: more rules than are covered")
    found: list[LoopDecider] = []
    unsaid: dict[str, None] = {}

    def add_network(when: Term, asked: Policy | Decider) -> None:
        network, more = read_network_entry(asked.network, places)
        widths = network.widths()
        unsaid.update(dict.fromkeys(more))
        if (
            len(asked.observe) != widths[0]
            or widths[-1] != (controls or len(asked.actions))
            or not widths[-1]
        ):
            raise BadCertificate("policy: it does not fit the inputs and outputs of its network")
        if asked.choose == "argmax-applicable" and set(asked.actions) != set(policy.owns):
            raise BadCertificate("policy: it owns an action without a way to pick it")
        prepared = NetworkOnForms(network, bits)
        found.append(LoopDecider(when, None, (), prepared, asked.observe, asked.choose, asked.actions))

    for when, then in policy.rules:
        if isinstance(then, Decider):
            add_network(when, then)
        elif controls:
            found.append(LoopDecider(when, None, then, None, (), "value", ()))
        else:
            found.append(LoopDecider(when, then, (), None, (), policy.choose, ()))
    if policy.network is not None:
        add_network(True, policy)
    elif policy.observe or policy.actions:
        raise BadCertificate("policy: it observes, or has actions of outputs, without a network")
    return tuple(found), tuple(unsaid)


def _read_flow(problem: Problem, edge: CanonicalEdge | None, asked: RunProperty) -> TimedConditions:
    """The updates of the edge are what somebody may predict; the system is the differential equation."""
    if problem.time is None or edge is None or len(problem.components[0].edges) != 1:
        raise BadCertificate("problem: in continuous time there is one edge")
    going: Any = True if asked.before is None else ("and", ("not", asked.before), True)
    if edge.action is not None or edge.assuming is not True or len(edge.outcomes) != 1:
        raise BadCertificate("problem: in continuous time the edge has no action, no assumption, one outcome")
    if not same_term(edge.guard, going):
        raise BadCertificate("problem: in continuous time the edge is always enabled")
    if not problem.controls:
        raise BadCertificate("problem: in continuous time a policy sets controls")
    if any(v.kind[0] != "real" for v in problem.variables) or not problem.variables:
        raise BadCertificate("problem: in continuous time variables are real")
    ranges = [_chosen_range(c) for c in edge.chosen]
    names = [v.name for v in problem.variables]
    inputs = [*names, *(c.name for c in problem.controls), *(c.name for c in edge.chosen)]
    program = FlowProgram(inputs)
    derivatives = tuple(program.add_term(term) for term in problem.time.derivatives)
    size = len(program.nodes)
    condition = program.add_condition(asked.condition)
    before = None if asked.before is None else program.add_condition(asked.before)
    flow = Flow(program, derivatives, size, len(problem.controls), tuple(ranges))
    return TimedConditions(flow, condition, before, problem.time.period)


def _chosen_range(variable: ClaimedVariable) -> Range:
    if variable.kind not in ("real", "float32") or variable.low is None or variable.high is None:
        raise BadCertificate("problem: what is chosen at any time is a real number between two ends")
    if variable.low > variable.high:
        raise BadCertificate("problem: what is chosen has an empty range")
    return variable.low, variable.high
