"""What can happen in one step, case by case: a transition, an outcome, and what the policy picks.

The encoding of a problem says which output counts as the best by a quantity of its own. Here that quantity is
a number: each move has its own condition over the state, the chosen values and the outputs of the network.
Steps that do not depend on what the policy picks are one move.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import TypeAlias

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.meaning.decision import action_of
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.reductions.expand import ScalarTree, expand_scalar, fold_operator, undefined_condition
from surefoot.reductions.network_call import EncodedCall
from surefoot.reductions.scalar_layout import ScalarLayout
from surefoot.reductions.transition_branch import TransitionBranch
from surefoot.reductions.transition_system import TransitionSystem, build_transition_system
from surefoot.term.interval import Kinds, Scalar
from surefoot.term.normal_form import fold_condition
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
    free_names,
    negate_condition,
    split_conjunction,
)
from surefoot.term.traverse import enumerate_parts
from surefoot.term.types import TRUTHS, infer_term_type, is_truth_value
from surefoot.term.value_types import Bool, Int, Real
from surefoot.verdict.verdict import Refused

Picks: TypeAlias = Mapping[str, Const]


class OutOfTime(Exception):
    """The budget ended while states were enumerated."""


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """One way to move: where it is possible, and the next value of every scalar."""

    label: str  # the action, or the label of the joint step
    leap: TransitionBranch
    guard: Term  # over the state and the chosen values alone
    choice: Term  # over the outputs too: what the policy has to say for it
    after: Mapping[str, Term]

    @property
    def condition(self) -> Term:
        return conjunction_of((self.choice, self.guard))


@dataclass(frozen=True, slots=True)
class UnsafeCase:
    """A condition that no run should come to, where the policy picks something."""

    condition: Term  # the two below together
    about: Term  # state, outputs and chosen values, but for the pick
    choice: Term  # what the policy has to say for its pick


@dataclass(frozen=True, slots=True)
class Dynamics:
    """A problem as predicate abstraction looks at it."""

    problem: Problem
    layout: ScalarLayout
    kinds: Kinds  # of everything that occurs
    chosen: tuple[str, ...]  # quantities that the environment picks
    copies: tuple[str, ...]  # what it would pick on a step that fails
    outputs: tuple[str, ...]
    call: EncodedCall | None
    initial: Term
    steps: tuple[PolicyStep, ...]
    bad: tuple[UnsafeCase, ...]  # alternatives: the property is violated
    trouble: tuple[UnsafeCase, ...]  # alternatives: the property has no value, or a step leaves a range
    doubt: Refused | None

    @property
    def bad_conditions(self) -> list[Term]:
        return [case.condition for case in self.bad]

    @property
    def trouble_conditions(self) -> list[Term]:
        return [case.condition for case in self.trouble]

    @property
    def scalars(self) -> tuple[str, ...]:
        return tuple(self.layout.kinds)

    def expand_predicate(self, predicate: Term) -> Term:
        """A predicate over the variables, as a condition over the scalars of a state."""
        unclear = undefined_condition(predicate, self.layout.scope, self.layout.kinds)
        if unclear != FALSE:
            raise Unsupported("a predicate has no value in some states", fix="leave it out")
        condition = expand_scalar(predicate, self.layout.scope)
        if not isinstance(infer_term_type(condition, self.layout.kinds, "", _undeclared_error), Bool):
            raise Unsupported(f"the predicate `{show_term(predicate)}` is no condition", fix="compare it")
        return condition

    def model_term(self, condition: Term) -> Term:
        """A condition over the scalars, as the model would write it."""
        return expand_scalar(condition, scalar_terms(self.layout))


def _undeclared_error(name: str) -> InvalidProblem:
    return InvalidProblem(f"`{name}` is not declared")


def scalar_terms(layout: ScalarLayout) -> dict[str, Term]:
    """What each scalar is called in the model: `a[0]` is an element of the array `a`."""
    found: dict[str, Term] = {}

    def visit(tree: ScalarTree, term: Term) -> None:
        if isinstance(tree, tuple):
            for i, part in enumerate(tree):
                visit(part, Apply(Op.SELECT, (term, Const(i))))
        elif isinstance(tree, Var):
            found[tree.name] = term

    for name, tree in layout.trees.items():
        visit(tree, Var(name))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _OneProblem:
    """A problem that is the same as itself alone: to compare two of them takes long."""

    problem: Problem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _OneProblem) and self.problem is other.problem

    def __hash__(self) -> int:
        return id(self.problem)


def build_dynamics(problem: Problem) -> Dynamics:
    """All moves of a problem; `Unsupported` says what is in the way.

    Who asks whether a problem can be taken has the answer at hand when it is.
    """
    return _build_once(_OneProblem(problem))


@lru_cache(maxsize=1)
def _build_once(one: _OneProblem) -> Dynamics:
    problem = one.problem
    assert isinstance(problem.property, Never)
    system = build_transition_system(problem, rounding=True)
    if len(system.calls) > 1:
        raise Unsupported("a policy with several networks is not covered by predicate abstraction")
    call = system.calls[0] if system.calls else None
    outputs = call.outputs if call is not None else ()
    fixed = _PickEvaluator(system, _argmax_selectors(system, outputs))
    bad = problem.property.bad
    names = system.names_in(bad)
    violated = expand_scalar(bad, names)
    unclear = undefined_condition(bad, names, {**system.layout.kinds, **system.decision_kinds})
    if free_names(unclear) & set(outputs):
        raise Unsupported("a quotient of network outputs is not covered by predicate abstraction")
    if free_names(violated) & set(outputs):
        violated = _positive_form(violated, frozenset(outputs))
    trouble = [unclear, *([] if system.escape is None else [system.escape])]
    about_state: dict[int, bool] = {}
    for constraint in system.constraints:
        _check_positive(constraint, frozenset(outputs), about_state)
    return Dynamics(
        problem,
        system.layout,
        {**system.layout.kinds, **system.decision_kinds, **system.chosen_kinds, **system.escape_kinds},
        tuple(system.chosen_kinds),
        tuple(system.escape_kinds),
        outputs,
        call,
        system.initial,
        tuple(_enumerate_steps(problem, system, fixed)),
        tuple(_enumerate_cases(conjunction_of((negate_condition(unclear), violated)), fixed)),
        tuple(case for t in trouble if t != FALSE for case in _enumerate_cases(t, fixed)),
        system.doubt,
    )


def _argmax_selectors(system: TransitionSystem, outputs: tuple[str, ...]) -> dict[str, range]:
    """The quantities that say which output counts as the best."""
    found: dict[str, range] = {}
    for name, kind in system.decision_kinds.items():
        if name in outputs:
            continue
        match kind:
            case Int(int() as low, int() as high):
                found[name] = range(low, high + 1)
            case _:
                raise Unsupported("predicate abstraction takes policies that pick actions, not controls")
    return found


def _enumerate_steps(
    problem: Problem, system: TransitionSystem, fixed: _PickEvaluator
) -> Iterator[PolicyStep]:
    environment, policy = problem.environment, problem.policy
    for when, leap in system.leaps:
        parts = (when, leap.possible, *leap.after.values())
        action = None if policy is None else action_of(policy, environment, leap.transition)
        label = action or leap.transition.label or leap.transition.describe(environment)
        for picks in fixed.enumerate_picks(parts):
            guard = fixed.conjunction((when, leap.possible, system.orderly), picks)
            if guard != FALSE and (choice := fixed.demands(picks)) != FALSE:
                after = {n: fixed(v, picks) for n, v in leap.after.items()}
                yield PolicyStep(label, leap, guard, choice, after)


def _enumerate_cases(condition: Term, fixed: _PickEvaluator) -> Iterator[UnsafeCase]:
    """A condition for every pick, beside what the pick demands of the outputs."""
    for picks in fixed.enumerate_picks((condition,)):
        case = fixed(condition, picks)
        if case != FALSE and (choice := fixed.demands(picks)) != FALSE:
            yield UnsafeCase(conjunction_of((choice, case)), case, choice)


class _PickEvaluator:
    """Fixes what the policy picks; which parts mention it is found out once, by the identity of the part.

    What a pick demands of the outputs is one term, however many steps there are that need this pick.
    """

    def __init__(self, system: TransitionSystem, selectors: Mapping[str, range]) -> None:
        self.constraints, self.selectors = system.constraints, selectors
        self.mentions: dict[int, bool] = {}
        self.kept: list[Term] = []  # an identity is that of a term which still exists
        self.demanded: dict[tuple[int, ...], Term] = {}

    def __call__(self, term: Term, values: Picks) -> Term:
        """The term simplified; parts without these names stay the same objects."""
        if not values or not self.mentions_picks(term):
            return term
        match term:
            case Var(name):
                return values[name]
            case Apply(Op.EQ, (Var(name), Const(value))) if name in values:
                return TRUE if values[name].value == value else FALSE
            case Apply(Op.AND as op, args):
                return self.conjunction(args, values)
            case Apply(op, args):
                return fold_operator(op, tuple(self(argument, values) for argument in args))
            case _:
                return term

    def conjunction(self, parts: tuple[Term, ...], values: Picks) -> Term:
        """All of them, looked at as far as none is false."""
        found = []
        for part in parts:
            found.append(self(part, values))
            if found[-1] == FALSE:
                return FALSE
        return conjunction_of(tuple(found))

    def enumerate_picks(self, parts: tuple[Term, ...]) -> Iterator[Picks]:
        """Every pick, or one without a name if none matters to these parts.

        Whatever the state, some pick satisfies the demands: the best output, or any where nothing is enabled.
        """
        if not any(map(self.mentions_picks, parts)):
            yield {}
            return
        demanded = self._demanded_values(parts)
        several = ((demanded[n],) if n in demanded else values for n, values in self.selectors.items())
        for values in product(*several):
            yield {n: Const(v) for n, v in zip(self.selectors, values, strict=True)}

    def _demanded_values(self, parts: tuple[Term, ...]) -> dict[str, int]:
        """The picks that these parts name outright: with others the first of them is false."""
        found: dict[str, int] = {}
        for part in split_conjunction(parts[0]):
            match part:
                case Apply(Op.EQ, (Var(name), Const(int() as value))) if value in self.selectors.get(
                    name, ()
                ):
                    found[name] = value
        return found

    def demands(self, picks: Picks) -> Term:
        """What the policy has to say for this pick; TRUE for the one without a name."""
        if not picks:
            return TRUE
        key = tuple(int(c.value) for c in picks.values())
        if key not in self.demanded:
            self.demanded[key] = conjunction_of(tuple(self(c, picks) for c in self.constraints))
        return self.demanded[key]

    def mentions_picks(self, term: Term) -> bool:
        if isinstance(term, Var):
            return term.name in self.selectors
        if not isinstance(term, Apply):
            return False
        known = self.mentions.get(id(term))
        if known is None:
            self.kept.append(term)
            known = self.mentions[id(term)] = any(self.mentions_picks(a) for a in term.args)
        return known


def _positive_form(term: Term, outputs: frozenset[str]) -> Term:
    """The same condition in which no comparison of outputs is negated.

    Outputs are known up to rounding: of a comparison it is asked whether it may hold, and so of its opposite.
    """

    def literal(part: Term, sign: bool) -> Term:
        match part:
            case _ if not free_names(part) & outputs:
                return part if sign else negate_condition(part)
            case Apply(Op.LE | Op.LT | Op.EQ as op, (left, right)) if not any(
                _has_output_condition(t, outputs) for t in (left, right)
            ):
                if op is Op.EQ and sign:
                    return (left <= right) & (right <= left)
                if op is Op.EQ:
                    return (right < left) | (left < right)
                opposed = Op.LT if op is Op.LE else Op.LE
                return part if sign else Apply(opposed, (right, left))
            case _:
                raise Unsupported("this use of network outputs is not covered by predicate abstraction")

    return fold_condition(
        term,
        True,
        literal,
        lambda parts: conjunction_of(tuple(parts)),
        lambda parts: disjunction_of(tuple(parts)),
        is_truth=lambda part: is_truth_value(part, {}),
        is_literal=lambda part: not free_names(part) & outputs,
    )


def _has_output_condition(term: Term, outputs: frozenset[str]) -> bool:
    """Does a number depend on whether outputs satisfy a condition? Then its opposite counts as well."""
    return any(
        isinstance(part, Apply) and (part.op in TRUTHS or part.op is Op.ITE) and free_names(part) & outputs
        for part in enumerate_parts(term)
    )


def _check_positive(term: Term, outputs: frozenset[str], about_state: dict[int, bool]) -> None:
    """Outputs are compared, and no such comparison is negated: so "may hold" is all that need be known.

    `about_state`: of terms that occur many times, by identity, whether they mention no output.
    """
    match term:
        case Apply(Op.AND | Op.OR, args):
            for part in args:
                _check_positive(part, outputs, about_state)
        case Apply(Op.LE | Op.LT, (left, right)) if all(isinstance(t, Var | Const) for t in (left, right)):
            pass
        case _:
            if id(term) not in about_state:
                about_state[id(term)] = free_names(term).isdisjoint(outputs)
            if not about_state[id(term)]:
                raise Unsupported("this use of network outputs is not covered by predicate abstraction")


def count_states(layout: ScalarLayout) -> float:
    """How many states there are; infinity where there is no end of them."""
    ranges = [scalar_domain(k) for k in layout.kinds.values()]
    return prod(len(r) for r in ranges if r is not None) if None not in ranges else float("inf")


def scalar_domain(kind: Scalar) -> range | None:
    """The values of a scalar as whole numbers, truth values as 0 and 1; None if there is no end of them."""
    match kind:
        case Bool():
            return range(2)
        case Int(int() as low, int() as high):
            return range(low, high + 1)
        case Int() | Real():
            return None
