"""Marabou (Katz et al. 2019, 2024) as a solver of questions over real variables.

It computes in floats with tolerances. A point that it finds counts only if it satisfies the query exactly,
perhaps moved a little; otherwise the answer is undecided with that point `near`. Its "unsat" is its word.

Linear comparisons and network calls in the form that Marabou takes: bounds, equations and ReLUs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.util import find_spec
from itertools import product
from math import ceil, inf, prod
from typing import Any, ClassVar, TypeAlias

from surefoot.errors import Unsupported, missing_backend
from surefoot.query.bounds import declared_box, is_empty
from surefoot.query.formula import (
    All,
    AnyOf,
    Formula,
    LinearAtom,
    Relation,
    conjoin_formulas,
    negation_normal_form,
)
from surefoot.query.lower import lower_query
from surefoot.query.network_constraints import Factor, Place, ReluWriter, write_network
from surefoot.query.objection import lowering_objection
from surefoot.query.query import Answer, NetworkCall, Query, Sat, Undecided, UndecidedReason, Unsat
from surefoot.solvers.protocol import Ask
from surefoot.solvers.remote import Question, remote_session
from surefoot.solvers.witness_rounding import round_to_witness
from surefoot.term.linear import LinearForm, linearise_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Bool, Int

Coefficients: TypeAlias = dict[int, float]


@dataclass(frozen=True, slots=True)
class _LinearForm:
    """A linear expression over numbered variables."""

    terms: Mapping[int, float]
    constant: float = 0.0


@dataclass(slots=True)
class MarabouProgram:
    """Variables with bounds, rows `terms relation value`, ReLUs (before, after), and who is who."""

    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    rows: list[tuple[Coefficients, Relation, float]] = field(default_factory=list)
    relus: list[tuple[int, int]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def variable(self, low: float = -inf, high: float = inf) -> int:
        self.low.append(low)
        self.high.append(high)
        return len(self.low) - 1

    def variable_for(self, form: _LinearForm) -> int:
        """A variable that has the value of an expression."""
        if not form.constant and list(form.terms.values()) == [1.0]:
            return next(iter(form.terms))
        made = self.variable()
        self.rows.append(({made: -1.0, **form.terms}, Relation.EQ, -form.constant))
        return made

    def form_of(self, linear: LinearForm) -> _LinearForm:
        terms = {self.names[n]: float(c) for n, c in linear.coefficients}
        return _LinearForm(terms, float(linear.constant))


def encode_marabou(query: Query, atoms: Sequence[LinearAtom]) -> MarabouProgram:
    """The query's quantities and calls, with these comparisons for its constraints.

    A strict comparison is taken as one that is not: what is impossible then is impossible.
    """
    made = MarabouProgram()
    for name, (low, high) in declared_box(query.quantities).items():
        made.names[name] = made.variable(*_bounds_to_floats(low, high))
    for call in query.calls:
        _encode_call(made, call)
    for atom in atoms:
        form = made.form_of(atom.linear)
        relation = Relation.EQ if atom.relation is Relation.EQ else Relation.LE
        _encode_atom(made, form, relation)
    return made


def _bounds_to_floats(low: Fraction | None, high: Fraction | None) -> tuple[float, float]:
    return -inf if low is None else float(low), inf if high is None else float(high)


def _encode_atom(made: MarabouProgram, form: _LinearForm, relation: Relation) -> None:
    """Comparisons of one variable are bounds, which Marabou makes more of."""
    if relation is Relation.LE and len(form.terms) == 1:
        ((variable, factor),) = form.terms.items()
        end = -form.constant / factor
        if factor > 0:
            made.high[variable] = min(made.high[variable], end)
        else:
            made.low[variable] = max(made.low[variable], end)
    else:
        made.rows.append((dict(form.terms), relation, -form.constant))


class _MarabouWriter(ReluWriter[_LinearForm]):
    def __init__(self, made: MarabouProgram) -> None:
        self.made = made

    def affine(self, inputs: Sequence[tuple[float, _LinearForm]], bias: float, place: Place) -> _LinearForm:
        return _LinearForm({self.made.variable_for(self.combine(inputs, bias, place)): 1.0})

    def combine(
        self, parts: Sequence[tuple[Factor, _LinearForm]], constant: Factor, place: Place | None
    ) -> _LinearForm:
        terms: Coefficients = {}
        total = float(constant)
        for factor, form in parts:
            total += float(factor) * form.constant
            for variable, coefficient in form.terms.items():
                terms[variable] = terms.get(variable, 0.0) + float(factor) * coefficient
        return _LinearForm({v: c for v, c in terms.items() if c}, total)

    def relu(self, x: _LinearForm, source: Place | None) -> _LinearForm:
        after = self.made.variable(0.0)
        self.made.relus.append((self.made.variable_for(x), after))
        return _LinearForm({after: 1.0})


def _encode_call(made: MarabouProgram, call: NetworkCall) -> None:
    inputs = [made.variable_for(made.form_of(linearise_term(t))) for t in call.inputs]
    made.inputs += [v for v in inputs if v not in made.inputs]
    outputs = write_network(call.network, [_LinearForm({v: 1.0}) for v in inputs], _MarabouWriter(made))
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, value, extra in zip(call.outputs, outputs, slack, strict=True):
        error = {made.variable(-float(extra), float(extra)): 1.0} if extra else {}
        made.rows.append(({made.names[name]: -1.0, **value.terms, **error}, Relation.EQ, -value.constant))
        made.outputs.append(made.names[name])


MOST_ALTERNATIVES = 256  # alternatives of a query
BOUND_TOLERANCE = 1e-9  # bounds that are further apart than this contradict each other


@dataclass(frozen=True, slots=True)
class Marabou:
    """Marabou (extra `marabou`, CPython 3.11). Whole numbers need `Branch(Marabou())`."""

    name: ClassVar[str] = "marabou"

    def objection(self, query: Query) -> str | None:
        if find_spec("maraboupy") is None:
            return str(missing_backend("maraboupy", "marabou"))
        whole = [q.name for q in query.quantities if isinstance(q.kind, Bool | Int)]
        if whole:
            return f"`marabou` takes real variables; `{whole[0]}` is not one"
        for call in query.calls:
            if call.network.has_trees():
                return f"`marabou` does not encode decision trees; `{call.network.name}` has some"
            if not call.network.is_piecewise_linear():
                return f"`marabou` needs piecewise-linear networks; `{call.network.name}` is not"
        why = lowering_objection(query)
        if why is None and not _has_few_alternatives(query):
            try:
                _disjunctive_normal_form(lower_query(query).query.constraints)
            except Unsupported as found:
                why = found
        return None if why is None else f"`marabou` cannot take this query: {why}"

    def session(self, base: Query, *, seconds: float, workers: int = 1) -> AbstractContextManager[Ask]:
        return remote_session(_prepare_marabou, base, seconds=seconds)

    def question(self, base: Query) -> Question:
        return _prepare_marabou(base)


def _has_few_alternatives(query: Query) -> bool:
    """Whether the constraints, as they stand, have so few alternatives that lowering makes no more."""
    counts = [_count_alternatives(c, True) for c in query.constraints]
    return prod(counts) <= MOST_ALTERNATIVES


def _count_alternatives(term: Term, positive: bool) -> float:
    """At most so many conjunctions; infinitely many where a comparison needs auxiliary quantities."""
    match term:
        case Apply(Op.LE | Op.LT | Op.EQ as op, args):
            plain = all(_needs_no_auxiliary(a) for a in args)
            return (2 if op is Op.EQ and not positive else 1) if plain else inf
        case Apply(Op.NOT, (inner,)):
            return _count_alternatives(inner, not positive)
        case Apply(Op.AND | Op.OR as op, args):
            parts = [_count_alternatives(a, positive) for a in args]
            return prod(parts) if (op is Op.AND) is positive else sum(parts)
        case Const():
            return 1
        case _:
            return inf


def _needs_no_auxiliary(term: Term) -> bool:
    match term:
        case Const() | Var():
            return True
        case Apply(Op.ADD | Op.SUB | Op.NEG, args):
            return all(map(_needs_no_auxiliary, args))
        case Apply(Op.MUL, args):
            return sum(not isinstance(a, Const) for a in args) <= 1 and all(map(_needs_no_auxiliary, args))
        case _:
            return False


def _disjunctive_normal_form(constraints: tuple[Term, ...]) -> list[tuple[LinearAtom, ...]]:
    """The constraints as conjunctions of which one must hold."""
    return _expand_cases(conjoin_formulas(negation_normal_form(c) for c in constraints))


def _expand_cases(formula: Formula) -> list[tuple[LinearAtom, ...]]:
    match formula:
        case LinearAtom():
            return [(formula,)]
        case AnyOf(parts):
            found = [case for part in parts for case in _expand_cases(part)]
        case All(parts):
            found = [()]
            for part in parts:
                found = [(*first, *second) for first, second in product(found, _expand_cases(part))]
                if len(found) > MOST_ALTERNATIVES:
                    break
    if len(found) > MOST_ALTERNATIVES:
        raise Unsupported(f"it has more than {MOST_ALTERNATIVES} alternatives")
    return found


def _prepare_marabou(base: Query) -> Question:
    """Every question is a program of its own: Marabou has no sessions."""

    def question(more: tuple[Term, ...], seconds: float) -> Answer:
        query = Query(base.quantities, base.constraints + more, base.calls)
        lowered = lower_query(query)
        if any(is_empty(b) for b in declared_box(lowered.query.quantities).values()):
            return Unsat()
        doubt: Undecided | None = None
        for atoms in _disjunctive_normal_form(lowered.query.constraints):
            answer = _solve_alternative(lowered.query, atoms, seconds)
            if isinstance(answer, Sat):
                return Sat(lowered.invert(answer.assignment))
            if isinstance(answer, Undecided):
                near = None if answer.near is None else lowered.invert(answer.near)
                doubt = Undecided(answer.why, answer.detail, near=near)
        return doubt or Unsat()

    return question


def _solve_alternative(query: Query, atoms: tuple[LinearAtom, ...], seconds: float) -> Answer:
    made = encode_marabou(query, atoms)
    for variable, (low, high) in enumerate(zip(made.low, made.high, strict=True)):
        if low > high:
            if low - high > BOUND_TOLERANCE * (1 + abs(low)):
                return Unsat()
            made.low[variable] = made.high[variable] = high  # the same number, rounded in two ways
    word, values = _run_marabou(made, seconds)
    if word == "unsat":
        return Unsat()
    if word != "sat":
        why = UndecidedReason.TIMEOUT if "TIMEOUT" in word.upper() else UndecidedReason.INCOMPLETE
        return Undecided(why, f"Marabou: {word}")
    floats = {name: values[variable] for name, variable in made.names.items()}
    found = round_to_witness(query, floats, atoms)
    if found.exact:
        return Sat(found.assignment)
    return Undecided(UndecidedReason.NUMERICS, "Marabou's point fails the exact check", near=found.assignment)


def _run_marabou(made: MarabouProgram, seconds: float) -> tuple[str, dict[int, float]]:
    from maraboupy import Marabou as Options
    from maraboupy import MarabouCore as Core

    query: Any = Core.InputQuery()
    query.setNumberOfVariables(len(made.low))
    kinds = {Relation.EQ: Core.Equation.EquationType.EQ, Relation.LE: Core.Equation.EquationType.LE}
    for terms, relation, value in made.rows:
        equation = Core.Equation(kinds[relation])
        for variable, coefficient in terms.items():
            equation.addAddend(coefficient, variable)
        equation.setScalar(value)
        query.addEquation(equation)
    for variable, (low, high) in enumerate(zip(made.low, made.high, strict=True)):
        if low != -inf:
            query.setLowerBound(variable, low)
        if high != inf:
            query.setUpperBound(variable, high)
    for number, variable in enumerate(made.inputs):
        query.markInputVariable(variable, number)
    for number, variable in enumerate(made.outputs):
        query.markOutputVariable(variable, number)
    for before, after in made.relus:
        Core.addReluConstraint(query, before, after)
    limit = 0 if seconds == inf else max(1, ceil(seconds))
    word, values, _ = Core.solve(query, Options.createOptions(verbosity=0, timeoutInSeconds=limit), "")
    return word, values
