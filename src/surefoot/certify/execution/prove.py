"""Proofs of the obligations of a problem: the native solver's, for the queries that the checker derives.

The engine that looked at the problem has its own encoding, and its word is not used here: what is proved is
exactly what the checker will ask for, so a certificate that is made here is one that it accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

from surefoot.certify.checker.claim import Places
from surefoot.certify.checker.execution.argument import read_argument
from surefoot.certify.checker.execution.obligations import Obligation, each
from surefoot.certify.checker.execution.problem import Problem as Read
from surefoot.certify.checker.execution.problem import read_problem
from surefoot.certify.checker.number import BadCertificate, Refused
from surefoot.certify.checker.proof.cases import choose, conjuncts
from surefoot.certify.checker.query import Formula, form, inner
from surefoot.certify.checker.query import Query as Derived
from surefoot.certify.execution.argument import Aid, shown_before, stated
from surefoot.certify.execution.policy import decided
from surefoot.certify.execution.question import as_question
from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.network import Network
from surefoot.problem.problem import Problem
from surefoot.query.query import Assignment, Sat, Undecided, Unsat
from surefoot.solve.native import Native
from surefoot.verdict.verdict import Argument, Certificate
from surefoot.work.budget import Budget

MOST_CASES = 256  # of an obligation
MOST_WAYS = 32  # to satisfy the disjunctions, for one question to the solver
SIMPLE = ("step/violation", "step/escape", "longer")  # obligations about sequences that pass no state twice


def certificate(
    problem: Problem,
    written: Mapping[str, Any],
    argument: Argument,
    budget: Budget,
    arithmetic: str = "float32",
    aid: Aid | None = None,
    *,
    simple: bool = True,
) -> Certificate | str:
    """A certificate for the canonical problem, or the reason why there is none.

    `arithmetic`: "float32", or "real" for networks that are evaluated without any rounding. `simple`: demand
    that states differ where this helps and is allowed; pairs are added as solutions in which they do not
    differ are met.
    """
    aid = Aid() if aid is None else aid
    try:
        read = read_problem(written, Places(Path()))
        before = shown_before(aid)
        different: list[list[int]] = []
        while True:
            said = stated(argument, aid, read, different)
            try:
                shown = _shown(problem, read, said, before, budget, arithmetic)
                break
            except _Met as met:
                more = [pair for pair in met.equal if pair not in different]
                if not simple or not more:
                    raise
                different = sorted([*different, *more])
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
    before: dict[tuple[str, int], list[dict[str, Any]]],
    budget: Budget,
    arithmetic: str,
) -> list[dict[str, Any]]:
    """A proof of every obligation; `Unsupported` says which one has none."""
    _, behind = decided(problem.policy)
    network = None if behind is None else behind.network
    wanted: list[Obligation] = []
    for obligation in each(read, read_argument(said)):
        wanted.append(obligation)
        if budget.spent():
            raise Unsupported(f"time was up after {len(wanted)} obligations were derived")
    doubtful = sorted(range(len(wanted)), key=lambda n: wanted[n].name not in SIMPLE)  # these fail first
    found: dict[int, list[dict[str, Any]]] = {}
    for done, number in enumerate(doubtful):
        budget.progress(f"proving obligation {done + 1} of {len(wanted)}")
        name = (wanted[number].name, wanted[number].steps)
        if name not in before:
            try:
                found[number] = proof(wanted[number], network, budget, arithmetic)
            except _Met as met:
                if name[0] in SIMPLE and _is_about_all_runs(read):
                    met.equal = _equal_states(read, name[1], met.assignment)
                raise
            if name[0] not in SIMPLE:
                before[name] = found[number]
        else:
            found[number] = before[name]
    return [{"obligation": o.name, "steps": o.steps, "cases": found[n]} for n, o in enumerate(wanted)]


class _Met(Unsupported):
    """An obligation that has a solution: the argument does not show the property, at least not like this."""

    def __init__(self, what: str, assignment: Assignment) -> None:
        super().__init__(what)
        self.assignment = assignment
        self.equal: list[list[int]] = []  # times at which the states are the same, if that may be excluded


def _is_about_all_runs(read: Read) -> bool:
    return read.property.kind == "never" and read.property.steps is None


def _equal_states(read: Read, steps: int, found: Assignment) -> list[list[int]]:
    """The times at which a solution has the same state; a variable that it does not mention may differ."""

    def state(time: int) -> list[object]:
        return [found.get(f"{v.name}@{time}") for v in read.variables]

    return [[i, j] for i, j in combinations(range(steps + 1), 2) if state(i) == state(j)]


def proof(
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
    query = as_question(derived, network, arithmetic == "float32")
    with Native(seed=budget.seed).session(query, seconds=budget.remaining()) as ask:
        match ask():
            case Unsat(proof) if proof is not None and (proof.arithmetic == arithmetic or not derived.calls):
                return proof.cases
            case Unsat():
                raise Unsupported(f"no proof in {arithmetic} arithmetic of: {derived.origin}")
            case Sat(assignment):
                raise _Met(f"not excluded by this argument: {derived.origin}", assignment)
            case Undecided(_, detail):
                raise Unsupported(f"no proof of: {derived.origin} ({detail})")
