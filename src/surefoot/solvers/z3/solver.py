"""Z3: exact arithmetic, terms translated as they are; for small networks and second opinions."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from math import isinf
from typing import Any, ClassVar

from surefoot.errors import Unsupported, missing_backend
from surefoot.query.bounds import declared_box, float32_within
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import Answer, Assignment, Number, Query, Sat, Undecided, UndecidedReason, Unsat
from surefoot.solvers.protocol import Ask
from surefoot.solvers.remote import Question, remote_session
from surefoot.solvers.z3.network_encoding import assert_call, neuron_bounds, z3_rational
from surefoot.solvers.z3.term_encoding import term_to_z3, unsupported_operator
from surefoot.term.term import Term
from surefoot.term.value_types import Bool, Int, Real

_LONGEST = 2**31  # milliseconds that Z3 can count


@dataclass(frozen=True, slots=True)
class Z3:
    """Z3 (extra `smt`). Sat answers satisfy the query exactly; Unsat is Z3's word, without tolerance."""

    name: ClassVar[str] = "z3"

    seed: int = 0
    bounds: bool = False
    """Tell it between which numbers each neuron lies on the box of the query."""

    def objection(self, query: Query) -> str | None:
        if find_spec("z3") is None:
            return str(missing_backend("z3-solver", "smt"))
        for call in query.calls:
            if call.network.divisors():
                return f"`z3` does not encode quotients of variables; `{call.network.name}` has some"
            if not call.network.is_piecewise_linear():
                return f"`z3` needs piecewise-linear networks; `{call.network.name}` is not"
        for term in (*query.constraints, *(t for call in query.calls for t in call.inputs)):
            if (why := unsupported_operator(term)) is not None:
                return f"`z3` cannot take this query: {why}"
        return None

    def session(self, base: Query, *, seconds: float, workers: int = 1) -> AbstractContextManager[Ask]:
        return remote_session(prepare_z3, base, self.seed, self.bounds, seconds=seconds)

    def question(self, base: Query) -> Question:
        return prepare_z3(base, self.seed, self.bounds)


def prepare_z3(base: Query, seed: int, bounds: bool = False) -> Question:
    """Assert the base once; every question is a push, a check and a pop."""
    import z3

    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("random_seed", seed)
    names = {q.name: _declare_constant(z3, context, q.name, q.kind) for q in base.quantities}
    for name, (low, high) in declared_box(q for q in base.quantities if not isinstance(q.kind, Bool)).items():
        if low is not None:
            solver.add(names[name] >= z3_rational(z3, context, low))
        if high is not None:
            solver.add(names[name] <= z3_rational(z3, context, high))
    for constraint in base.constraints:
        solver.add(_encode_constraint(z3, context, constraint, names))
    for number, call in enumerate(base.calls):
        known = neuron_bounds(call, declared_box(base.quantities)) if bounds else None
        assert_call(z3, context, solver, call, names, number, known)

    def question(more: tuple[Term, ...], seconds: float) -> Answer:
        if not isinf(seconds):
            solver.set("timeout", min(_LONGEST, max(1, int(seconds * 1000))))
        solver.push()
        try:
            for term in more:
                if (why := unsupported_operator(term)) is not None:
                    raise Unsupported(f"`z3` cannot take this query: {why}")
                solver.add(_encode_constraint(z3, context, term, names))
            query = Query(base.quantities, base.constraints + more, base.calls)
            answer = _check_solver(z3, solver, query, names)
            if isinstance(answer, Sat) and (rounded := _round_float32(query, answer.assignment)):
                for name, value in rounded.items():
                    solver.add(names[name] == z3_rational(z3, context, value))
                answer = _check_solver(z3, solver, query, names)
                if isinstance(answer, Unsat):
                    return Undecided(
                        UndecidedReason.NUMERICS, "no solution at the float32 numbers next to a real one"
                    )
            return _check_witness(query, answer)
        finally:
            solver.pop()

    return question


def _declare_constant(z3: Any, context: Any, name: str, kind: object) -> Any:
    make = z3.Bool if isinstance(kind, Bool) else z3.Int if isinstance(kind, Int) else z3.Real
    return make(name, ctx=context)


def _encode_constraint(z3: Any, context: Any, term: Term, names: dict[str, Any]) -> Any:
    meaning = term_to_z3(z3, context, term, names)
    return z3.And(meaning.value, meaning.defined)


def _check_solver(z3: Any, solver: Any, query: Query, names: dict[str, Any]) -> Answer:
    result = solver.check()
    if result == z3.unsat:
        return Unsat()
    if result == z3.unknown:
        reason = solver.reason_unknown()
        if "timeout" in reason or "canceled" in reason or "interrupted" in reason:
            return Undecided(UndecidedReason.TIMEOUT, "Z3 reached the time limit")
        if "memory" in reason or "memout" in reason:
            return Undecided(UndecidedReason.MEMORY, f"Z3: {reason}")
        return Undecided(UndecidedReason.INCOMPLETE, f"Z3: {reason}")
    model = solver.model()
    assignment: dict[str, Number] = {}
    for name, constant in names.items():
        value = model.eval(constant, model_completion=True)
        if z3.is_algebraic_value(value):
            return Undecided(UndecidedReason.NUMERICS, f"`{name}` = {value} is irrational")
        assignment[name] = _exact_value(z3, value)
    return Sat(assignment)


def _check_witness(query: Query, answer: Answer) -> Answer:
    if isinstance(answer, Sat) and (complaint := assignment_defect(query, answer.assignment)) is not None:
        return Undecided(UndecidedReason.NUMERICS, f"Z3's model fails the exact check: {complaint}")
    return answer


def _round_float32(query: Query, assignment: Assignment) -> dict[str, Fraction]:
    """The float32 quantities at the nearest float32 number within their bounds; nothing if all are there."""
    float32 = [q for q in query.quantities if isinstance(q.kind, Real) and q.kind.float32]
    box = declared_box(float32)
    values = {name: float32_within(Fraction(assignment[name]), bounds) for name, bounds in box.items()}
    return values if any(values[name] != assignment[name] for name in values) else {}


def _exact_value(z3: Any, value: Any) -> Number:
    if z3.is_bool(value):
        return bool(z3.is_true(value))
    return int(value.as_long()) if z3.is_int_value(value) else Fraction(value.as_fraction())
