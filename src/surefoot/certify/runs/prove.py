"""Proofs of the obligations of a problem: the native solver's, for the queries that the checker derives.

The engine that looked at the problem has its own encoding, and its word is not used here: what is proved is
exactly what the checker will ask for, so a certificate that is made here is one that it accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import prod
from pathlib import Path
from time import monotonic
from typing import Any

from surefoot.certify.runs.argument import ProofAid, argument_to_json, proved_obligations
from surefoot.certify.runs.policy import rules_and_network
from surefoot.certify.runs.solver_query import solver_query_from_claim
from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.network import Network
from surefoot.problem.problem import Problem
from surefoot.query.query import Assignment, Sat, Undecided, Unsat
from surefoot.solvers.native import Native
from surefoot.verdict.verdict import Certificate, ProofArgument
from surefoot.work.budget import Budget
from surefoot.work.child import WorkerDied
from surefoot.work.task_pool import TaskPool
from surefoot_checker.check import check_no_solution
from surefoot_checker.claims.runs.argument import read_run_argument
from surefoot_checker.claims.runs.canonical_problem import CanonicalProblem as Read
from surefoot_checker.claims.runs.canonical_problem import read_canonical_problem
from surefoot_checker.claims.runs.obligations import RunObligation, enumerate_obligations
from surefoot_checker.claims.unsat.cases import choose_alternative, formula_conjuncts
from surefoot_checker.claims.unsat.proof_tree import ProofCount
from surefoot_checker.claims.unsat.query_claim import FileLocations
from surefoot_checker.kernel.query import ClaimedQuery as Derived
from surefoot_checker.kernel.query import Formula, comparison_form, formula_parts
from surefoot_checker.kernel.strict_json import BadCertificate, Refused

MOST_CASES = 256  # of an obligation
MOST_WAYS = 32  # to satisfy the disjunctions, for one question to the solver
EACH = 0.25  # of the time that is left, for an obligation, before the others had theirs
SHARE = 0.25  # of the time that is left, for a question without its disjunctions
SIMPLE = ("step/violation", "step/escape", "longer")  # obligations about sequences that pass no state twice


def prove_run_certificate(
    problem: Problem,
    written: Mapping[str, Any],
    argument: ProofArgument,
    budget: Budget,
    arithmetic: str = "float32",
    aid: ProofAid | None = None,
    *,
    simple: bool = True,
) -> Certificate | str:
    """A certificate for the canonical problem, or the reason why there is none.

    `arithmetic`: "float32", or "real" for networks that are evaluated without any rounding. `simple`: demand
    that states differ where this helps and is allowed; pairs are added as solutions in which they do not
    differ are met.
    """
    _, behind = rules_and_network(problem.policy)
    network = None if behind is None else behind.network
    return prove_written_problem(network, written, argument, budget, arithmetic, aid, simple=simple)


def prove_written_problem(
    network: Network | None,
    written: Mapping[str, Any],
    argument: ProofArgument,
    budget: Budget,
    arithmetic: str = "float32",
    aid: ProofAid | None = None,
    *,
    simple: bool = True,
) -> Certificate | str:
    """The same, of a canonical problem alone; `network`: the one in it."""
    aid = ProofAid() if aid is None else aid
    try:
        read = read_canonical_problem(written, FileLocations(Path()))
        before = proved_obligations(aid)
        different: list[list[int]] = []
        while True:
            said = argument_to_json(argument, aid, read, different)
            try:
                shown = _prove_obligations(network, read, said, before, budget, arithmetic)
                break
            except _ObligationMet as met:
                more = [pair for pair in met.equal if pair not in different]
                if not simple or not more:
                    raise
                different = sorted([*different, *more])
    except (Refused, BadCertificate, SurefootError, WorkerDied) as error:
        return str(error)
    return Certificate("execution", run_certificate_content(written, said, shown, arithmetic))


def run_certificate_content(
    written: Mapping[str, Any], said: Mapping[str, Any], shown: list[dict[str, Any]], arithmetic: str
) -> dict[str, Any]:
    """The content of a certificate about the runs of a canonical problem."""
    return {
        "surefoot-certificate": 2,
        "claim": {"kind": "execution", "problem": written, "argument": said},
        "arithmetic": arithmetic,
        "obligations": shown,
    }


def _prove_obligations(
    network: Network | None,
    read: Read,
    said: Mapping[str, Any],
    before: dict[tuple[str, int], list[dict[str, Any]]],
    budget: Budget,
    arithmetic: str,
) -> list[dict[str, Any]]:
    """A proof of every obligation; `Unsupported` says which one has none."""
    wanted: list[RunObligation] = []
    for obligation in enumerate_obligations(read, read_run_argument(said)):
        wanted.append(obligation)
        if budget.is_spent():
            raise Unsupported(f"time was up after {len(wanted)} obligations were derived")
    doubtful = sorted(range(len(wanted)), key=lambda n: wanted[n].name not in SIMPLE)  # these fail first
    found = {n: before[name] for n, o in enumerate(wanted) if (name := (o.name, o.steps)) in before}
    left = [number for number in doubtful if number not in found]
    undecided: list[tuple[int, str]] = []
    patient = said["kind"] in ("closed", "parts")  # what is known to be closed, as far as a search tells
    share = EACH if patient and len(wanted) > 1 else 1.0
    here = partial(_prove_or_tell, network, budget.seed, arithmetic)
    with TaskPool(
        budget.processes, partial, _prove_or_tell, network, budget.seed, arithmetic, here=here
    ) as pool:
        tasks = [
            (wanted[number], monotonic() + budget.remaining(), share, patient, budget.processes)
            for number in left
        ]
        for number, shown in zip(left, pool.run(tasks), strict=True):
            budget.progress(f"proving obligation {len(found) + 1} of {len(wanted)}")
            name = (wanted[number].name, wanted[number].steps)
            if isinstance(shown, _Undecided):  # the others first: they have their time whatever becomes of it
                if budget.is_spent():
                    raise Unsupported(shown.words)
                undecided.append((number, shown.words))
                continue
            if isinstance(shown, _Solution):
                met = _ObligationMet(shown.words, shown.assignment)
                if name[0] in SIMPLE and _is_about_all_runs(read):
                    met.equal = _equal_states(read, name[1], met.assignment)
                raise met
            found[number] = shown
            if name[0] not in SIMPLE:
                before[name] = shown
    for number, before_then in undecided:
        try:
            found[number] = prove_in_many_cases(wanted[number], network, budget, arithmetic)
        except _ObligationMet:
            raise
        except Unsupported:
            missing = len(wanted) - len(found)
            raise Unsupported(
                f"{missing} of {len(wanted)} obligations have no proof: {before_then}"
            ) from None
        before[wanted[number].name, wanted[number].steps] = found[number]
    return [{"obligation": o.name, "steps": o.steps, "cases": found[n]} for n, o in enumerate(wanted)]


@dataclass(frozen=True, slots=True)
class _Undecided:
    """Of an obligation that has no proof yet."""

    words: str


@dataclass(frozen=True, slots=True)
class _Solution:
    """Of an obligation, which therefore has no proof."""

    words: str
    assignment: Assignment


def _prove_or_tell(
    network: Network | None,
    seed: int,
    arithmetic: str,
    obligation: RunObligation,
    deadline: float,
    share: float,
    patient: bool,
    workers: int,
) -> list[dict[str, Any]] | _Solution | _Undecided:
    """In any process: the cases of a proof, in a share of the time until this time of `monotonic`.

    `patient`: what cannot be proved is told, not raised.
    """
    budget = Budget(share * max(0.0, deadline - monotonic()), seed, workers=workers)
    try:
        return prove_obligation(obligation, network, budget, arithmetic)
    except _ObligationMet as met:
        return _Solution(met.what, met.assignment)
    except Unsupported as why:
        if not patient:
            raise
        return _Undecided(str(why))


class _ObligationMet(Unsupported):
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


def prove_obligation(
    obligation: RunObligation, network: Network | None, budget: Budget, arithmetic: str
) -> list[dict[str, Any]]:
    """The cases that show an obligation; `Unsupported` says what is missing."""
    asking, found = _ObligationProver(obligation.query, network, budget, arithmetic), []
    for case in _enumerate_cases(asking, formula_conjuncts(obligation.query.formula), []):
        found.append(case)
        if len(found) > MOST_CASES:
            raise Unsupported(f"{obligation.query.origin}: too many cases")
    return found


def prove_in_many_cases(
    obligation: RunObligation, network: Network | None, budget: Budget, arithmetic: str
) -> list[dict[str, Any]]:
    """Another attempt where there was no proof: each alternative of each disjunction by itself."""
    asking = _ObligationProver(obligation.query, network, budget, arithmetic)
    found: list[dict[str, Any]] = []
    waiting: list[tuple[list[Formula], list[list[int]]]] = [(formula_conjuncts(obligation.query.formula), [])]
    while waiting:
        parts, path = waiting.pop()
        if ("or",) in parts:
            continue
        several = [i for i, part in enumerate(parts) if part[0] == "or"]
        if several and len(found) + len(waiting) < MOST_CASES:
            place = min(several, key=lambda i: len(parts[i]))
            for alternative in range(len(parts[place]) - 1):
                chosen = [*path, [place, alternative]]
                waiting.append((choose_alternative(parts, place, alternative), chosen))
            continue
        for case in asking.ask(parts):
            more = [*path, *case.get("choose", ())]
            found.append({**case, **({"choose": more} if more else {})})
    return found


@dataclass(frozen=True, slots=True)
class _ObligationProver:
    """Where a formula comes from, and how it is asked about."""

    derived: Derived
    network: Network | None
    budget: Budget
    arithmetic: str

    def about(self, parts: Sequence[Formula]) -> Derived:
        return replace(self.derived, formula=("and", *parts))

    def ask(self, parts: Sequence[Formula], share: float = 1.0) -> Sequence[Mapping[str, Any]]:
        """The cases of a proof that nothing satisfies all of these; `Unsupported` if there is none."""
        clock = self.budget.begin_part(share * self.budget.remaining())
        return _ask_solver(self.about(parts), self.network, clock, self.arithmetic)


def _enumerate_cases(
    asking: _ObligationProver, parts: list[Formula], path: list[list[int]]
) -> Iterator[dict[str, Any]]:
    """Alternatives that tie numbers by equalities, or are too many at once, one by one.

    The solver takes the others together; also those that tie integers only, if there are very many.
    """
    if ("or",) in parts:
        return
    variables = asking.derived.variables
    several = [i for i, part in enumerate(parts) if part[0] == "or"]
    tied = [i for i in several if _has_equality(parts[i], {v.name for v in variables})]
    if prod(len(parts[i]) - 1 for i in tied) > MOST_CASES:
        tied = [
            i for i in tied if _has_equality(parts[i], {v.name for v in variables if v.kind != "integer"})
        ]
    if not tied and prod(_count_conjunctions(parts[i]) for i in several) <= MOST_WAYS:
        for case in asking.ask(parts):
            more = [*path, *case.get("choose", ())]
            yield {**case, **({"choose": more} if more else {})}
        return
    open_places = tied
    if not tied:
        shown = _prove_without(asking, parts, several)
        if isinstance(shown, list):
            yield from ({**case, **({"choose": path} if path else {})} for case in shown)
            return
        open_places = [i for i in several if not _is_satisfied(parts[i], shown)] or several
    place = min(open_places, key=lambda i: len(parts[i]))
    for alternative in range(len(parts[place]) - 1):
        yield from _enumerate_cases(
            asking, choose_alternative(parts, place, alternative), [*path, [place, alternative]]
        )


def _prove_without(
    asking: _ObligationProver, parts: list[Formula], several: Sequence[int]
) -> list[dict[str, Any]] | Assignment:
    """A proof that needs none of these disjunctions, or what satisfies everything else: {} if not known.

    Whoever satisfies all parts satisfies those that are left, so that the sets of such a proof cover both.
    But the checker takes bounds from disjunctions too, and relaxations in a smaller box are others.
    """
    kept = [i for i in range(len(parts)) if i not in several]
    try:
        cases = [_renumber_conjuncts(case, kept) for case in asking.ask([parts[i] for i in kept], SHARE)]
        check_no_solution(asking.about(parts), cases, asking.arithmetic, {}, ProofCount())
    except _ObligationMet as met:
        if all(_is_satisfied(parts[i], met.assignment) for i in several):
            raise
        return met.assignment
    except (Unsupported, Refused):
        return {}
    return cases


def _renumber_conjuncts(case: Mapping[str, Any], kept: Sequence[int]) -> dict[str, Any]:
    """The same case, where conjuncts are counted with those that were left out."""
    assert not case.get("choose")
    definitions = [[name, kept[place]] for name, place in case.get("define", ())]
    return {**case, **({"define": definitions} if definitions else {})}


def _is_satisfied(part: Formula, found: Assignment) -> bool:
    """Does it hold at this point? Not if the point has no value for something that is compared."""
    if part[0] == "and":
        return all(_is_satisfied(p, found) for p in formula_parts(part))
    if part[0] == "or":
        return any(_is_satisfied(p, found) for p in formula_parts(part))
    linear = comparison_form(part)
    if any(name and name not in found for name in linear):
        return False
    total = sum((c * (Fraction(found[name]) if name else 1) for name, c in linear.items()), Fraction(0))
    return total == 0 if part[0] == "=" else total < 0 or (total == 0 and part[0] == "<=")


def _count_conjunctions(part: Formula) -> int:
    """How many conjunctions a formula is multiplied out to."""
    if part[0] == "and":
        return prod(map(_count_conjunctions, formula_parts(part)))
    return sum(map(_count_conjunctions, formula_parts(part))) if part[0] == "or" else 1


def _has_equality(part: Formula, names: set[str]) -> bool:
    """Is there an equality that mentions one of these names?"""
    if part[0] in ("and", "or"):
        return any(_has_equality(p, names) for p in formula_parts(part))
    return part[0] == "=" and not names.isdisjoint(comparison_form(part))


def _ask_solver(
    derived: Derived, network: Network | None, budget: Budget, arithmetic: str
) -> Sequence[Mapping[str, Any]]:
    query = solver_query_from_claim(derived, network, arithmetic == "float32")
    with Native(seed=budget.seed).session(query, seconds=budget.remaining(), workers=budget.processes) as ask:
        match ask():
            case Unsat(proof) if proof is not None and (proof.arithmetic == arithmetic or not derived.calls):
                return proof.cases
            case Unsat():
                raise Unsupported(f"no proof in {arithmetic} arithmetic of: {derived.origin}")
            case Sat(assignment):
                raise _ObligationMet(f"not excluded by this argument: {derived.origin}", assignment)
            case Undecided(_, detail):
                raise Unsupported(f"no proof of: {derived.origin} ({detail})")
