"""Reading a problem as a polynomial system; what does not fit is refused with the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.problem.environment import Choice, Environment, Outcome, Variable
from surefoot.problem.policy import ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs
from surefoot.query.polynomial import Polynomial, polynomial_from_variable
from surefoot.reductions.barrier.polynomials import polynomial_of, relaxed_dnf
from surefoot.reductions.barrier.taylor import SampledFlow, SamplingPeriod, taylor_map
from surefoot.term.evaluate import constant_value
from surefoot.term.printer import show_term
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    is_number,
    split_conjunction,
)
from surefoot.term.traverse import enumerate_parts, fold_term, rebuild_term
from surefoot.term.value_types import Arithmetic, Real

Range: TypeAlias = tuple[Fraction, Fraction]
_MOST = Fraction(10) ** 300  # of numbers in a problem
_OF_INTEGERS = frozenset({Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.MOD, Op.POW, Op.MIN, Op.MAX, Op.ABS})
_ORDERS = {"euler": 1, "taylor": 2}  # of the Taylor polynomials that predict the state after one period


@dataclass(frozen=True, slots=True)
class ControlSystem:
    """next: the value of each variable one step later, of variables, controls and disturbances."""

    name: str
    rounded: bool  # computed in float64
    variables: tuple[str, ...]
    initial: tuple[Range, ...]
    controls: tuple[tuple[str, Fraction | None, Fraction | None], ...]
    disturbances: tuple[tuple[str, Range], ...]
    next: tuple[Term, ...]
    unsafe: Term
    motion: SampledFlow | None = (
        None  # then time is continuous, and `next` close to the state after one period
    )

    @property
    def compares_rounded(self) -> bool:
        """Are states doubles, which conditions compare with doubles?"""
        return self.rounded and self.motion is None

    @property
    def has_control_ends(self) -> bool:
        """Has every control a lower and an upper end?"""
        return all(None not in ends for _, *ends in self.controls)

    def state_polynomial(self, term: Term) -> Polynomial:
        """A term of the variables as a polynomial in them."""
        count = len(self.variables)
        ring = {name: polynomial_from_variable(i, count) for i, name in enumerate(self.variables)}
        return polynomial_of(term, ring, count, self.rounded)

    def unsafe_polynomials(self) -> list[list[Polynomial]]:
        """A state is unsafe where all of one list are at least 0, if `<` is read as `<=`."""
        return [
            [self.state_polynomial(right) - self.state_polynomial(left) for left, right in case]
            for case in relaxed_dnf(self.unsafe)
        ]

    @property
    def period(self) -> SamplingPeriod | None:
        if self.motion is None:
            return None
        names = tuple(name for name, _, _ in self.controls)
        return SamplingPeriod(self.motion, self.variables, names, self.disturbances, self.next, self.rounded)


@dataclass(frozen=True, slots=True)
class ControlBranch:
    """Where `when` holds the controls get these values."""

    when: Term
    then: tuple[Term, ...]


def read_control_system(problem: Problem) -> ControlSystem:
    environment = problem.environment
    edge = _only_step(environment)
    updates = {_target_name(u.target): _fold_integers(u.value) for u in edge.updates}
    if len(updates) < len(edge.updates) or len({u.index for u in edge.updates}) > 1:
        raise Unsupported("updates one after the other in one step")
    _refuse_too_large(problem, edge)
    rounded = environment.arithmetic is Arithmetic.FLOAT64
    names = tuple(v.name for v in environment.variables)
    disturbances = tuple(
        (c.name, _round_outward(_disturbance_range(c), rounded))
        for c in environment.components[0].edges[0].chosen
    )
    motion, flow = _read_flow(environment, edge), environment.flow
    if motion is None and flow is not None:
        raise Unsupported("the steps of the flow are not written as updates")
    following = tuple(updates.get(v.name, Var(v.name)) for v in environment.variables)
    if motion is not None:
        held = [c.name for c in environment.controls]
        motion, following = taylor_map(motion, names, held, disturbances, rounded)
    return ControlSystem(
        environment.name,
        rounded,
        names,
        tuple(_round_outward(ends, rounded) for ends in box_from_bounds(environment.initial, names)),
        tuple(
            (c.name, c.low if c.clipped else None, c.high if c.clipped else None)
            for c in environment.controls
        ),
        disturbances,
        following,
        _unsafe_condition(problem, environment.variables),
        motion,
    )


def _refuse_too_large(problem: Problem, edge: Outcome) -> None:
    """Sets are looked for in floats, and float64 has to compare with every number."""
    environment = problem.environment
    terms = [environment.initial, *(u.value for u in edge.updates)]
    terms += [term for _, term in environment.flow.derivatives] if environment.flow is not None else []
    terms += [problem.property.bad] if isinstance(problem.property, Never) else []
    numbers = [Fraction(part.value) for term in terms for part in enumerate_parts(term) if is_number(part)]
    numbers += [end for c in environment.controls for end in (c.low, c.high) if end is not None]
    kinds = [v.kind for v in environment.variables]
    kinds += [c.kind for c in environment.components[0].edges[0].chosen]
    numbers += [end for k in kinds if isinstance(k, Real) for end in (k.low, k.high) if end is not None]
    if any(abs(number) > _MOST for number in numbers):
        raise Unsupported(f"a number is larger than {float(_MOST):.0e}", fix="write it in another unit")


def _read_flow(environment: Environment, outcome: Outcome) -> SampledFlow | None:
    """The differential equation, if it is meant as such; a variable without a derivative stays as it is."""
    flow = environment.flow
    if flow is None or not flow.continuous:
        return None
    if outcome.updates:
        raise Unsupported("in continuous time variables change by their derivatives alone, not by updates")
    if flow.method not in _ORDERS:
        what = f"unknown method `{flow.method}` in continuous time"
        raise InvalidProblem(what, fix=did_you_mean(flow.method, _ORDERS))
    rates = dict(flow.derivatives)
    derivatives = tuple(rates.get(v.name, Const(0)) for v in environment.variables)
    return SampledFlow(derivatives, flow.control_period, _ORDERS[flow.method])


def without_target(problem: Problem) -> tuple[Problem, Term]:
    """The same runs without a property, and the target of one that asks for it to be reached."""
    match problem.property:
        case Eventually(good) | Recurs(good):
            return replace(problem, property=Never(FALSE)), good
        case _:
            raise Unsupported("a target is asked for by `eventually` or `recurs`")


def control_branches(policy: object) -> tuple[ControlBranch, ...]:
    """The branches of a program, nested ones one after the other."""
    if not isinstance(policy, ProgramPolicy):
        fix = (
            "write one in [policy.program], with controls = [] if there are none; `surefoot shield` finds one"
        )
        raise Unsupported("the policy is not a program", fix=fix)
    found: list[ControlBranch] = []
    for branch in policy.branches:
        match branch.then:
            case tuple() as values:
                settled = tuple(_fold_integers(v) for v in values)
                found.append(ControlBranch(_fold_integers(branch.when), settled))
            case ProgramPolicy() as inner:
                when = _fold_integers(branch.when)
                found += [
                    ControlBranch(conjunction_of((when, r.when)), r.then) for r in control_branches(inner)
                ]
            case _:
                raise Unsupported("a branch of the program is not a list of values")
    return tuple(found)


def _fold_integers(whole: Term) -> Term:
    """Integers that are computed from constants alone are exact, also in float64: one number each."""

    def apply_operator(term: Apply, parts: list[Term]) -> Term:
        integers = all(isinstance(p, Const) and type(p.value) is int for p in parts)
        folded = constant_value(term.op, parts) if integers and term.op in _OF_INTEGERS else None
        return rebuild_term(term, parts) if folded is None else folded

    return fold_term(whole, lambda leaf: leaf, apply_operator)


def _only_step(environment: Environment) -> Outcome:
    components = environment.components
    if len(components) != 1 or len(components[0].edges) != 1 or len(components[0].locations) != 1:
        what = "barriers are for environments with one component, one location and one step"
        raise Unsupported(
            what, fix="write one edge; where actions move it, give every variable a finite range"
        )
    (edge,) = components[0].edges
    if edge.guard != TRUE or edge.assuming != TRUE or len(edge.outcomes) != 1 or edge.action is not None:
        raise Unsupported("barriers are for a step that is always possible and has one outcome")
    return edge.outcomes[0]


def _target_name(target: Term) -> str:
    if not isinstance(target, Var):
        raise Unsupported(f"`{show_term(target)}` is not a variable")
    return target.name


def _disturbance_range(choice: Choice) -> Range:
    match choice.kind:
        case Real(low, high) if low is not None and high is not None:
            return low, high
        case _:
            what = f"the disturbance `{choice.name}` is not a real number between two ends"
            raise Unsupported(what, fix='give it both: "real [-1, 1]"')


def _round_outward(ends: Range, rounded: bool) -> Range:
    """With the doubles nearest to its ends: what float64 compares with an end it compares with those."""
    if not rounded:
        return ends
    low, high = ends
    return min(low, Fraction(float(low))), max(high, Fraction(float(high)))


def _unsafe_condition(problem: Problem, variables: tuple[Variable, ...]) -> Term:
    """What must never hold: the property's condition, and values outside of what is declared."""
    match problem.property:
        case Never(bad, None):
            parts = [_fold_integers(bad)]
        case _:
            what = "barriers answer `never` without a limit in steps or seconds and without a goal"
            raise Unsupported(what, fix="ask `never BAD`")
    for variable in variables:
        match variable.kind:
            case Real(low, high, False):
                parts += [Var(variable.name) < Const(low)] if low is not None else []
                parts += [Var(variable.name) > Const(high)] if high is not None else []
            case _:
                fix = "declare real variables; if `period` is longer than `step`, ask in continuous time"
                raise Unsupported(f"`{variable.name}` is not a real number", fix=fix)
    return disjunction_of(tuple(parts))


def box_from_bounds(term: Term, names: tuple[str, ...]) -> tuple[Range, ...]:
    """The box that a conjunction of bounds of single variables is."""
    low: dict[str, Fraction] = {}
    high: dict[str, Fraction] = {}

    for part in split_conjunction(term):
        match part:
            case Apply(Op.LE, (Var(name), Const(value))):
                high[name] = min(high.get(name, Fraction(value)), Fraction(value))
            case Apply(Op.LE, (Const(value), Var(name))):
                low[name] = max(low.get(name, Fraction(value)), Fraction(value))
            case Apply(Op.EQ, (Var(name), Const(value)) | (Const(value), Var(name))):
                low[name] = max(low.get(name, Fraction(value)), Fraction(value))
                high[name] = min(high.get(name, Fraction(value)), Fraction(value))
            case Apply(Op.LE, (Apply(Op.NEG, (Var(name),)), Const(value))):
                low[name] = max(low.get(name, -Fraction(value)), -Fraction(value))
            case _:
                fix = "give every variable two bounds in `initial`, joined by and: -1 <= x <= 1 and …"
                raise Unsupported(f"the starts are not a box: `{show_term(part)}`", fix=fix)
    for name in names:
        fix = f"bound it in `initial` from below and above: -1 <= {name} <= 1"
        if name not in low or name not in high:
            raise Unsupported(f"the starts are not a box: `{name}` lacks a bound there", fix=fix)
        if low[name] > high[name]:
            raise Unsupported(f"there is no start: the bounds of `{name}` exclude each other", fix=fix)
    return tuple((low[name], high[name]) for name in names)
