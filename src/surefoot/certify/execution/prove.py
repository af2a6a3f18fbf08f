"""Proofs of the obligations of a problem: the native solver's, for the queries that the checker derives.

The engine that looked at the problem has its own encoding, and its word is not used here: what is proved is
exactly what the checker will ask for, so a certificate that is made here is one that it accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, inf, isfinite, nextafter, prod
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.certify.checker.claim import Places
from surefoot.certify.checker.execution.argument import read_argument
from surefoot.certify.checker.execution.obligations import Obligation, obligations
from surefoot.certify.checker.execution.problem import Problem as Read
from surefoot.certify.checker.execution.problem import read_problem
from surefoot.certify.checker.number import BadCertificate, Refused
from surefoot.certify.checker.proof.cases import choose, conjuncts
from surefoot.certify.checker.query import Formula, Variable, form, inner
from surefoot.certify.checker.query import Linear as Form
from surefoot.certify.checker.query import Query as Derived
from surefoot.certify.execution.argument import Aid, shown_before, stated
from surefoot.certify.execution.policy import decided
from surefoot.errors import SurefootError, Unsupported
from surefoot.network.rounding import error_bounds
from surefoot.problem.environment import Int, Real
from surefoot.problem.network import Network
from surefoot.problem.problem import Problem
from surefoot.problem.term import Apply, Const, Op, Term, conjunction, disjunction
from surefoot.query.bounds import declared, interval
from surefoot.query.linear import Linear, as_term
from surefoot.query.query import NetworkCall, Quantity, Query, Sat, Undecided, Unsat
from surefoot.solve.native import Native
from surefoot.verdict.verdict import Argument, Certificate
from surefoot.work.budget import Budget

MOST_CASES = 256  # of an obligation
MOST_WAYS = 32  # to satisfy the disjunctions, for one question to the solver
_RELATIONS = {"<=": Op.LE, "<": Op.LT, "=": Op.EQ}


def certificate(
    problem: Problem,
    written: Mapping[str, Any],
    argument: Argument,
    budget: Budget,
    arithmetic: str = "float32",
    aid: Aid | None = None,
) -> Certificate | str:
    """A certificate for the canonical problem, or the reason why there is none.

    `arithmetic`: "float32", or "real" for networks that are evaluated without any rounding.
    """
    aid = Aid() if aid is None else aid
    try:
        read = read_problem(written, Places(Path()))
        said = stated(argument, aid, read, [])
        shown = _shown(problem, read, said, shown_before(aid), budget, arithmetic)
    except (Refused, BadCertificate, SurefootError) as error:
        return str(error)
    return Certificate("execution", about_runs(written, said, shown, arithmetic))


def about_runs(
    written: Mapping[str, Any], said: Mapping[str, Any], shown: list[dict[str, Any]], arithmetic: str
) -> dict[str, Any]:
    """The content of a certificate about the runs of a canonical problem."""
    return {
        "surefoot-certificate": 1,
        "claim": {"kind": "execution", "problem": written, "argument": said},
        "arithmetic": arithmetic,
        "obligations": shown,
    }


def _shown(
    problem: Problem,
    read: Read,
    said: Mapping[str, Any],
    before: Mapping[tuple[str, int], list[dict[str, Any]]],
    budget: Budget,
    arithmetic: str,
) -> list[dict[str, Any]]:
    """A proof of every obligation; `Unsupported` says which one has none."""
    _, behind = decided(problem.policy)
    network = None if behind is None else behind.network
    wanted = obligations(read, read_argument(said))
    shown = []
    for number, obligation in enumerate(wanted):
        budget.progress(f"proving obligation {number + 1} of {len(wanted)}")
        cases = before.get((obligation.name, obligation.steps))
        if cases is None:
            cases = _proof(obligation, network, budget, arithmetic)
        shown.append({"obligation": obligation.name, "steps": obligation.steps, "cases": cases})
    return shown


def _proof(
    obligation: Obligation, network: Network | None, budget: Budget, arithmetic: str
) -> list[dict[str, Any]]:
    """The cases that show an obligation; `Unsupported` says what is missing."""
    derived, found = obligation.query, []
    for parts, path in _alternatives(derived, conjuncts(derived.formula), []):
        here = Derived(derived.variables, derived.calls, ("and", *parts), derived.origin)
        for case in _leaf(here, network, budget, arithmetic):
            more = [*path, *case.get("choose", ())]
            found.append({**case, **({"choose": more} if more else {})})
            if len(found) > MOST_CASES:
                raise Unsupported(f"{derived.origin}: too many cases")
    return found


def _alternatives(
    derived: Derived, parts: list[Formula], path: list[list[int]]
) -> Iterator[tuple[list[Formula], list[list[int]]]]:
    """Alternatives that tie numbers by equalities, or are too many at once, one by one.

    The solver takes the others together; also those that tie integers only, if there are very many.
    """
    if ("or",) in parts:
        return
    several = [i for i, part in enumerate(parts) if part[0] == "or"]
    tied = [i for i in several if _ties(parts[i], {v.name for v in derived.variables})]
    if prod(len(parts[i]) - 1 for i in tied) > MOST_CASES:
        tied = [
            i for i in tied if _ties(parts[i], {v.name for v in derived.variables if v.kind != "integer"})
        ]
    if not tied and prod(_ways(parts[i]) for i in several) <= MOST_WAYS:
        yield parts, path
        return
    place = min(tied or several, key=lambda i: len(parts[i]))
    for alternative in range(len(parts[place]) - 1):
        chosen = choose(parts, place, alternative)
        yield from _alternatives(derived, chosen, [*path, [place, alternative]])


def _ways(part: Formula) -> int:
    """How many conjunctions a formula is multiplied out to."""
    if part[0] == "and":
        return prod(map(_ways, inner(part)))
    return sum(map(_ways, inner(part))) if part[0] == "or" else 1


def _ties(part: Formula, names: set[str]) -> bool:
    """Is there an equality that mentions one of these names?"""
    if part[0] in ("and", "or"):
        return any(_ties(p, names) for p in inner(part))
    return part[0] == "=" and not names.isdisjoint(form(part))


def _leaf(
    derived: Derived, network: Network | None, budget: Budget, arithmetic: str
) -> Sequence[Mapping[str, Any]]:
    query = _query(derived, network, arithmetic == "float32")
    with Native(seed=budget.seed).session(query, seconds=budget.remaining()) as ask:
        match ask():
            case Unsat(proof) if proof is not None and (proof.arithmetic == arithmetic or not derived.calls):
                return proof.cases
            case Unsat():
                raise Unsupported(f"no proof in {arithmetic} arithmetic of: {derived.origin}")
            case Sat():
                raise Unsupported(f"not excluded by this argument: {derived.origin}")
            case Undecided(_, detail):
                raise Unsupported(f"no proof of: {derived.origin} ({detail})")


def _query(derived: Derived, network: Network | None, float32: bool) -> Query:
    """The same query for a solver."""
    quantities = tuple(Quantity(v.name, _kind(v)) for v in derived.variables)
    box = declared(quantities)
    calls = []
    for call in derived.calls:
        assert network is not None
        lines = [_linear(line) for line in call.inputs]
        ranges = [interval(line, box) for line in lines]
        single = all(_is_single(line, quantities) for line in lines)
        low = np.array([_below(low) for low, _ in ranges])
        high = np.array([-_below(None if high is None else -high) for _, high in ranges])
        errors = error_bounds(network, low, high, input_rounding=not single)
        slack = tuple(Fraction(float(e)) if isfinite(e) and float32 else Fraction(0) for e in errors)
        calls.append(NetworkCall(network, tuple(map(as_term, lines)), call.outputs, slack, float32))
    return Query(quantities, tuple(map(_term, conjuncts(derived.formula))), tuple(calls))


def _kind(variable: Variable) -> Int | Real:
    low, high = variable.low, variable.high
    if variable.kind == "integer":
        return Int(None if low is None else ceil(low), None if high is None else floor(high))
    return Real(low, high, variable.kind == "float32")


def _linear(line: Form) -> Linear:
    return Linear(tuple((n, c) for n, c in line.items() if n), line.get("", Fraction(0)))


def _is_single(line: Linear, quantities: Sequence[Quantity]) -> bool:
    float32 = {q.name for q in quantities if isinstance(q.kind, Real) and q.kind.float32}
    return not line.constant and len(line.coefficients) == 1 and line.coefficients[0][0] in float32


def _below(value: Fraction | None) -> float:
    if value is None or abs(value) >= 2**1023:
        return -inf
    near = float(value)
    return near if near <= value else nextafter(near, -inf)


def _term(part: Formula) -> Term:
    if part[0] in ("and", "or"):
        parts = tuple(map(_term, inner(part)))
        return conjunction(parts) if part[0] == "and" else disjunction(parts)
    return Apply(_RELATIONS[str(part[0])], (as_term(_linear(form(part))), Const(0)))
