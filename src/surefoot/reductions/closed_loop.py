"""A problem as a closed loop: who decides, what moves, and what is asked, over scalars.

Arrays are taken apart, locations are numbers, and automata that move together are one whose edges are their
joint steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from surefoot.errors import Unsupported
from surefoot.problem.environment import Control, Environment, Outcome
from surefoot.problem.meaning.decision import action_among, action_names
from surefoot.problem.meaning.transition import Transition, joint_transitions
from surefoot.problem.network import Network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, Policy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.reductions.expand import TreeScope, expand_scalar, expand_term, tree_leaves
from surefoot.reductions.scalar_layout import ScalarLayout, declare_scalars, in_location, lay_out_scalars
from surefoot.reductions.simultaneous_updates import compose_updates, named_kinds
from surefoot.term.interval import Scalar
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import location_key
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, conjunction_of
from surefoot.term.traverse import enumerate_parts
from surefoot.term.value_types import Arithmetic, Bool, Int, Real

MOST_EDGES = 2000
_PIECEWISE_LINEAR = frozenset(
    {Op.ADD, Op.SUB, Op.NEG, Op.MIN, Op.MAX, Op.ABS, Op.SIGN, Op.ITE}
    | {Op.NOT, Op.AND, Op.OR, Op.IMPLIES, Op.LE, Op.LT, Op.EQ}
)


@dataclass(frozen=True, slots=True, eq=False)
class LoopBranch:
    """Where `when` holds: a network, values of the controls, or an action."""

    when: Term
    network: Network | None = None
    observe: tuple[Term, ...] = ()
    choose: Choose = Choose.VALUE
    actions: tuple[str, ...] = ()
    values: tuple[Term, ...] = ()
    action: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LoopEdge:
    action: str | None  # of the policy; None: the environment's own
    guard: Term
    chosen: tuple[tuple[str, Scalar], ...]
    assuming: Term
    outcomes: tuple[Mapping[str, Term], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ClosedLoop:
    kinds: Mapping[str, Scalar]  # of the state
    initial: Term
    controls: tuple[Control, ...]
    branches: tuple[LoopBranch, ...]
    edges: tuple[LoopEdge, ...]
    arithmetic: Arithmetic
    scope: TreeScope
    derivatives: tuple[Term, ...] | None = None  # in continuous time, one for each scalar
    period: Fraction = Fraction(1)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    @property
    def actions(self) -> tuple[str, ...]:
        """Of the policy."""
        several = (a for b in self.branches for a in (*b.actions, *((b.action,) if b.action else ())))
        return tuple(dict.fromkeys(several))

    def is_truth(self, name: str) -> bool:
        return isinstance(self.kinds.get(name), Bool)


def read_closed_loop(problem: Problem) -> ClosedLoop:
    """`Unsupported` says what does not fit."""
    environment, policy = problem.environment, problem.policy
    layout = lay_out_scalars(environment, set())
    names: TreeScope = {**layout.scope, **{c.name: Var(c.name) for c in environment.controls}}
    branches = () if policy is None else tuple(_read_branches(policy, environment, layout, TRUE))
    derivatives, period = None, Fraction(1)
    flow = environment.flow
    if flow is not None:
        if not flow.continuous:
            raise Unsupported("the steps of the flow are not written as updates")
        given = dict(flow.derivatives)
        if unknown := given.keys() - layout.kinds.keys():
            raise Unsupported(f"the flow mentions `{min(unknown)}`, which is no number of the state")
        if any(o.updates for c in environment.components for e in c.edges for o in e.outcomes):
            raise Unsupported(
                "in continuous time variables change by their derivatives alone: an edge has updates"
            )
        period = flow.control_period
    edges = tuple(_read_edges(environment, policy, layout, names))
    if flow is not None:
        if (
            len(edges) != 1
            or edges[0].guard != TRUE
            or edges[0].assuming != TRUE
            or edges[0].action is not None
        ):
            raise Unsupported(
                "in continuous time there is one edge, without guard, condition and action",
                fix='for a network that picks actions write choose = "value", name its outputs in [controls] '
                "and compare them in derivatives: ite(left > right, 1, -1)",
            )
        if any(not isinstance(kind, Real) for kind in layout.kinds.values()):
            raise Unsupported("in continuous time all variables are real numbers")
        scope = {**names, **{name: Var(name) for name, _ in edges[0].chosen}}
        derivatives = tuple(
            expand_scalar(given.get(name, Const(0)), scope, Arithmetic.EXACT) for name in layout.kinds
        )
    return ClosedLoop(
        layout.kinds,
        _initial_condition(environment, layout),
        environment.controls,
        branches,
        edges,
        environment.arithmetic,
        names,
        derivatives,
        period,
    )


def plant_arithmetic(environment: Environment) -> Arithmetic:
    """In continuous time only the policy computes: the plant, its starts and its bad states are exact."""
    timed = environment.flow is not None and environment.flow.continuous
    return Arithmetic.EXACT if timed else environment.arithmetic


def _initial_condition(environment: Environment, layout: ScalarLayout) -> Term:
    places = []
    for number, component in enumerate(environment.components):
        if len(component.locations) > 1:
            if len(component.initial) != 1:
                raise Unsupported("a component begins in several locations")
            places.append(in_location(layout, environment, number, component.initial[0]))
    return conjunction_of(
        (*places, expand_scalar(environment.initial, layout.scope, plant_arithmetic(environment)))
    )


def _read_branches(
    policy: Policy, environment: Environment, layout: ScalarLayout, when: Term
) -> list[LoopBranch]:
    match policy:
        case NeuralPolicy(network, observe, _, choose):
            if choose is Choose.SAMPLE:
                raise Unsupported(
                    "reach looks at policies that do not draw", fix='choose = "argmax" instead of "sample"'
                )
            actions = () if environment.controls else action_names(policy, environment)
            terms = tuple(expand_scalar(t, layout.scope, environment.arithmetic) for t in observe)
            return [LoopBranch(when, network, terms, choose, actions)]
        case ProgramPolicy(branches):
            found: list[LoopBranch] = []
            for branch in branches:
                found += _read_rule(branch, environment, layout, when)
            return found
    raise Unsupported("reach looks at networks and programs, not at shields or oracles")


def _read_rule(
    branch: Branch, environment: Environment, layout: ScalarLayout, when: Term
) -> list[LoopBranch]:
    def expand(term: Term) -> Term:
        return expand_scalar(term, layout.scope, environment.arithmetic)

    where = conjunction_of((when, expand(branch.when)))
    if isinstance(branch.then, str):
        return [LoopBranch(where, action=branch.then, choose=Choose.ARGMAX)]
    if isinstance(branch.then, tuple):
        return [LoopBranch(where, values=tuple(expand(t) for t in branch.then))]
    if when != TRUE and isinstance(branch.then, ProgramPolicy):
        raise Unsupported("reach looks at programs of rules, not at programs within programs")
    return _read_branches(branch.then, environment, layout, where)


def _read_edges(
    environment: Environment, policy: Policy | None, layout: ScalarLayout, names: TreeScope
) -> list[LoopEdge]:
    own = () if policy is None else action_names(policy, environment)
    steps = list(joint_transitions(environment, [list(range(len(c.edges))) for c in environment.components]))
    if len(steps) > MOST_EDGES:
        raise Unsupported(f"there are more than {MOST_EDGES} joint steps")
    return [_read_edge(environment, own, layout, names, step) for step in steps]


def _read_edge(
    environment: Environment, own: tuple[str, ...], layout: ScalarLayout, names: TreeScope, step: Transition
) -> LoopEdge:
    edges = [environment.components[c].edges[e] for c, e in step.edges]
    kinds: dict[str, Scalar] = {}
    chosen = {c.name: c for edge in edges for c in edge.chosen}
    scope = {
        **names,
        **{c.name: declare_scalars(c.name, c.kind, kinds, set(layout.kinds)) for c in chosen.values()},
    }
    computing = environment.arithmetic
    here = [
        in_location(layout, environment, n, e.source) for (n, _), e in zip(step.edges, edges, strict=True)
    ]
    guard = conjunction_of((*here, *(expand_scalar(e.guard, names, computing) for e in edges)))
    assuming = conjunction_of(tuple(expand_scalar(e.assuming, scope, computing) for e in edges))
    outcomes = []
    for several in product(*(e.outcomes for e in edges)):
        if all(_is_possible(o) for o in several):
            outcomes.append(_read_updates(environment, layout, scope, step, several))
    return LoopEdge(
        action_among(own, environment, step), guard, tuple(kinds.items()), assuming, tuple(outcomes)
    )


def _is_possible(outcome: Outcome) -> bool:
    return not (isinstance(outcome.probability, Const) and outcome.probability.value == 0)


def _read_updates(
    environment: Environment,
    layout: ScalarLayout,
    scope: TreeScope,
    step: Transition,
    outcomes: tuple[Outcome, ...],
) -> Mapping[str, Term]:
    chosen = [c for number, e in step.edges for c in environment.components[number].edges[e].chosen]
    updates = compose_updates(
        [u for o in outcomes for u in o.updates], named_kinds(environment, chosen), environment.arithmetic
    )
    found: dict[str, Term] = {}
    for update in updates:
        targets = tree_leaves(expand_term(update.target, {**scope, **layout.scope}))
        values = tree_leaves(expand_term(update.value, scope, environment.arithmetic))
        if len(targets) != len(values):
            raise Unsupported(f"`{show_term(update.target)}` is assigned an array of another length")
        for target, value in zip(targets, values, strict=True):
            if not isinstance(target, Var) or target.name in found:
                raise Unsupported(
                    f"which element of `{show_term(update.target)}` is assigned varies, or twice one"
                )
            found[target.name] = value
    for (number, _), outcome in zip(step.edges, outcomes, strict=True):
        component = environment.components[number]
        if len(component.locations) > 1:
            found[location_key(component.name)] = Const(component.locations.index(outcome.target))
    return found


def is_curved(loop: ClosedLoop) -> bool:
    """Does an update, or what the policy sees or sets, multiply variables or take a sine of one?"""
    updates = [t for edge in loop.edges for outcome in edge.outcomes for t in outcome.values()]
    decided = [t for branch in loop.branches for t in (*branch.observe, *branch.values)]
    return any(_is_curved(part) for term in (*updates, *decided) for part in enumerate_parts(term))


def _is_curved(part: Term) -> bool:
    match part:
        case Apply(Op.MUL, args):
            return sum(not isinstance(a, Const) for a in args) > 1
        case Apply(Op.DIV, (_, divisor)):
            return not isinstance(divisor, Const)
        case Apply(op):
            return op not in _PIECEWISE_LINEAR
        case _:
            return False


def is_discrete(kind: Scalar) -> bool:
    return isinstance(kind, Bool | Int)
