"""The two templates of whiRL 2.0, section IV: bounds that one parameter moves together.

    output[0] >=                      the property becomes: in every state output[0] >= parameter
    send_ratio <=                     the property stays; runs must keep send_ratio <= parameter
    gradient, -gradient, ratio - 1 <= several bounds at once, each linear in one variable

`send_ratio` may be a window: then the bound is one of all its entries. The second kind leaves the property
alone, so the answer reads "… holds while send_ratio <= parameter".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, NeverBefore
from surefoot.reductions.restriction import restrict_variables
from surefoot.term.interval import Span, span_of
from surefoot.term.linear import LinearForm, linearise_term
from surefoot.term.parser import parse_term
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, disjunction_of, free_names
from surefoot.term.traverse import substitute_names

_Relation: TypeAlias = Literal["<=", "<", ">=", ">"]
_SHAPE = re.compile(r"(?P<terms>.+?)\s*(?P<relation><=|>=|<|>)\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BoundTemplate:
    """`terms` stand in one relation to the parameter, all of them."""

    terms: tuple[Term, ...]
    relation: _Relation
    of_inputs: bool  # they bound variables of the state, not what the policy puts out

    @property
    def rises(self) -> bool:
        """Is the property harder to show for larger parameters?"""
        upper = self.relation in ("<=", "<")
        return upper if self.of_inputs else not upper

    def at(self, problem: Problem, value: Fraction) -> Problem:
        """The problem for one value of the parameter."""
        if self.of_inputs:
            return restrict_variables(problem, self.spans(problem, value))
        steps = problem.property.steps if isinstance(problem.property, Never | NeverBefore) else None
        goal = problem.property.goal if isinstance(problem.property, NeverBefore) else None
        broken = disjunction_of(
            tuple(_comparison_term(t, _OPPOSITE[self.relation], value) for t in self.terms)
        )
        asked = Never(broken, steps) if goal is None else NeverBefore(broken, goal, steps)
        return replace(problem, property=asked)

    def spans(self, problem: Problem, value: Fraction) -> dict[str, Span]:
        """The bounds of each variable for one value of the parameter."""
        spans: dict[str, Span] = {}
        for term in self.terms:
            for name, span in _solve_for_variables(term, self.relation, value, problem).items():
                spans[name] = spans.get(name, Span()).meet(span)
        return spans

    def text(self, value: Fraction) -> str:
        """The bounds as an inequality."""
        return f"{', '.join(show_term(t) for t in self.terms)} {self.relation} {show_term(Const(value))}"

    def condition(self, problem: Problem, value: Fraction) -> Term | None:
        """What is then true of every state, as one condition; None if it is not about single states."""
        if isinstance(problem.property, NeverBefore):
            return None  # nothing is said about states beyond the goal
        if not self.of_inputs:
            return conjunction_of(tuple(_comparison_term(t, self.relation, value) for t in self.terms))
        if not isinstance(problem.property, Never):
            return None
        spans = self.spans(problem, value).items()
        within = conjunction_of(tuple(span.condition(Var(name)) for name, span in spans))
        return Apply(Op.IMPLIES, (within, ~problem.property.bad))


_OPPOSITE: dict[_Relation, _Relation] = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}


def _comparison_term(term: Term, relation: _Relation, value: Fraction) -> Term:
    match relation:
        case "<=":
            return term <= value
        case "<":
            return term < value
        case ">=":
            return term >= value
        case ">":
            return term > value


def parse_bound_template(text: str, problem: Problem) -> BoundTemplate:
    """From `TERM, … <=`; a term over variables or windows of the state bounds inputs, any other outputs."""
    found = _SHAPE.match(text.strip())
    if found is None:
        fix = "write a term and a relation, such as `output[0]>=` or `send_ratio<=`"
        raise InvalidProblem(f"`{text}` does not say which bound to move", fix=fix)
    read = parse_term(f"min({found['terms']}, 0, 0)")
    assert isinstance(read, Apply)
    return _bound_template(problem, read.args[:-2], found["relation"])  # type: ignore[arg-type]


def _bound_template(problem: Problem, terms: tuple[Term, ...], relation: _Relation) -> BoundTemplate:
    """The template for these terms, checked against the names of the problem."""
    declared = {v.name for v in problem.environment.variables}
    mentioned = frozenset[str]().union(*(free_names(t) for t in terms))
    if not mentioned:
        raise InvalidProblem("a bound that mentions no name cannot be moved")
    of_inputs = [bool(n in declared or _window_entries(problem, n)) for n in sorted(mentioned)]
    if any(of_inputs) and not all(of_inputs):
        what = "bounds of inputs and of outputs cannot be moved together"
        raise Unsupported(what, fix="search for one of them at a time")
    made = BoundTemplate(terms, relation, all(of_inputs))
    if made.of_inputs:
        if relation in ("<", ">"):
            raise Unsupported("bounds of inputs are not strict", fix=f"write `{relation}=`")
        made.spans(problem, Fraction(0))  # raises where a term is not linear in one variable
    return made


def _window_entries(problem: Problem, name: str) -> tuple[str, ...]:
    """The variables `name_0`, `name_1`, … of a window."""
    own = re.compile(re.escape(name) + r"_\d+\Z")
    return tuple(v.name for v in problem.environment.variables if own.match(v.name))


def _solve_for_variables(
    term: Term, relation: _Relation, value: Fraction, problem: Problem
) -> dict[str, Span]:
    """What the comparison says about its variable, or about each entry of its window."""
    kinds = {v.name: v.kind for v in problem.environment.variables}
    names = sorted(free_names(term))
    if len(names) != 1:
        raise Unsupported(f"`{show_term(term)}` bounds no single variable", fix="give one bound per variable")
    entries = (names[0],) if names[0] in kinds else _window_entries(problem, names[0])
    if not entries:
        fix = did_you_mean(names[0], kinds)
        raise InvalidProblem(f"`{names[0]}` is neither a variable nor a window", fix=fix)
    spans: dict[str, Span] = {}
    for entry in entries:
        if span_of(kinds[entry]) is None:
            raise Unsupported(f"`{entry}` is not a number, so it has no bounds to move")
        spans[entry] = _isolate_bound(
            linearise_term(substitute_names(term, {names[0]: Var(entry)})), relation, value, term
        )
    return spans


def _isolate_bound(linear: LinearForm, relation: _Relation, value: Fraction, term: Term) -> Span:
    if linear.is_constant():
        raise InvalidProblem(f"`{show_term(term)}` does not depend on its variable")
    ((_, factor),) = linear.coefficients
    bound = (value - linear.constant) / factor
    return Span(high=bound) if (relation in ("<=", "<")) == (factor > 0) else Span(low=bound)
