"""Changed environments (Zhu et al., PLDI 2019, section 5, Table 3): how much of an old shield can be kept?

In the order of what it costs. `kept`: the old sets are closed and safe in the new system too, as they are.
`level`: the old rules with sets {B <= c}, a little smaller or larger. `sets`: the old rules with new
barriers. `rules`: a synthesis that begins with the old rules, and ends with improvements of them.
The old certificate is only a proposal here: whatever it says, every set gets new proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from surefoot.certify.barrier.claim import read_claimed_rules
from surefoot.engines.barrier.foreign_barrier import Box, SetProofs, cover_starts, prove_invariance
from surefoot.engines.barrier.invariant_set import InvariantSet
from surefoot.engines.barrier.polyhedron.linear_loop import coefficient_matrix
from surefoot.engines.barrier.scaled_system import Unproved, scale_system
from surefoot.engines.barrier.search import search_invariant_set
from surefoot.engines.barrier.sos_candidate import Shape
from surefoot.errors import InvalidProblem
from surefoot.formats.json_file import read_json
from surefoot.problem.problem import Problem
from surefoot.query.polynomial import Polynomial, polynomial_from_constant
from surefoot.reductions.barrier import (
    ControlSystem,
    barrier_rows,
    horner_term,
    largest_of_rows,
    read_control_system,
)
from surefoot.reductions.discretise import discretise
from surefoot.shields.linear_controllers import Gain, Oracle, TunableRule
from surefoot.shields.sketch_rules import combination_from_polynomials
from surefoot.shields.synthesis import RuleSource, ShieldRule, Synthesis, synthesise_rules
from surefoot.term.term import Term, free_names
from surefoot.work.budget import Budget
from surefoot.work.child import processor_time

LEVELS = (Fraction(1, 20), Fraction(-1, 20), Fraction(1, 5), Fraction(-1, 5))  # of what B is in the middle


@dataclass(frozen=True, slots=True)
class OldRule:
    """A rule with its set, as an old certificate has it."""

    then: tuple[Term, ...]
    domain: Box
    barrier: Term


@dataclass(frozen=True, slots=True)
class RecheckResult:
    """`stage`: what sufficed; the last one if nothing did. Processor seconds of each stage that was tried."""

    stage: str
    found: Synthesis
    seconds: dict[str, float]


def read_old_rules(path: Path, problem: Problem) -> tuple[OldRule, ...]:
    """The rules of a certificate, or of what `--json` wrote, for the variables of this problem."""
    system, data = read_control_system(discretise(problem, continuous=True)), read_json(path)
    if isinstance(data, dict) and "surefoot-certificate" not in data:
        data = data.get("certificate")
    try:
        if not isinstance(data, dict):
            raise ValueError("there is no certificate in it")
        found = tuple(OldRule(t, s["domain"], s["barrier"]) for t, s in read_claimed_rules(data))
    except ValueError as error:
        fix = "give what `surefoot shield` wrote by --certificate or --json"
        raise InvalidProblem(str(error), fix=fix, where=str(path)) from None
    known = set(system.variables)
    for rule in found:
        used = free_names(rule.barrier).union(*map(free_names, rule.then))
        if not used <= known or len(rule.domain) != len(known) or len(rule.then) != len(system.controls):
            fix = "the names of variables and the number of controls must be the same"
            raise InvalidProblem("the old shield is for another system", fix=fix, where=str(path))
    if not found:
        raise InvalidProblem("the old shield has no rules", where=str(path))
    return found


def recheck_shield(
    system: ControlSystem,
    old: Sequence[OldRule],
    oracle: Oracle | None,
    shapes: tuple[Shape, ...],
    budget: Budget,
) -> RecheckResult:
    """The first stage after which every start is covered."""
    stages: dict[str, Callable[[], Synthesis]] = {
        "kept": lambda: _with_sets(system, old, budget),
        "level": lambda: _shifted_level_sets(system, old, budget),
        "sets": lambda: _new_sets(system, old, shapes, budget),
        "rules": lambda: synthesise_rules(
            system, RuleSource(oracle, None, _tunable_rules(system, old)), shapes, budget
        ),
    }
    seconds: dict[str, float] = {}
    found = Synthesis((), (system.initial,), "nothing was tried")
    for stage, attempt in stages.items():
        budget.progress(f"recheck: {stage}")
        began = processor_time()
        try:
            found = attempt()
        except KeyboardInterrupt:
            found = replace(found, interrupted=True)
        seconds[stage] = round(processor_time() - began, 3)
        if found.interrupted or not found.uncovered:
            return RecheckResult(stage, found, seconds)
    return RecheckResult(stage, found, seconds)


def _with_sets(system: ControlSystem, rules: Sequence[OldRule], budget: Budget) -> Synthesis:
    """Those of the sets that are closed and safe here, and the starts that they contain."""
    shown: list[tuple[OldRule, SetProofs]] = []
    for rule in rules:
        try:
            where = scale_system(system, rule.then, rule.domain, tested=True)
        except Unproved:
            continue
        found = prove_invariance(where, rule.barrier, True, budget)
        if found.as_invariant_set() is not None:
            shown.append((rule, found))
    if not shown:
        return Synthesis((), (system.initial,), "no old set is closed and safe in the new system")
    left = cover_starts([p for _, p in shown], system, budget)
    branches = [
        ShieldRule(rule.then, closed)
        for rule, p in shown
        if p.covers and (closed := p.as_invariant_set()) is not None
    ]
    return Synthesis(tuple(branches), tuple(left), "a part of the starts is in no old set" if left else "")


def _shifted_level_sets(system: ControlSystem, old: Sequence[OldRule], budget: Budget) -> Synthesis:
    found = Synthesis((), (system.initial,), "nothing was tried")
    for share in LEVELS:
        if budget.is_spent():
            break
        found = _with_sets(system, [_shift_level(system, rule, share) for rule in old], budget)
        if not found.uncovered:
            break
    return found


def _shift_level(system: ControlSystem, rule: OldRule, share: Fraction) -> OldRule:
    """The barrier plus a share of what it is in the middle of the domain, where it is deep in the set."""
    size = len(system.variables)
    rows = [system.state_polynomial(row) for row in barrier_rows(rule.barrier)]
    middle = [polynomial_from_constant((low + high) / 2, size) for low, high in rule.domain]
    depth = abs(
        max(row.substitute_variables(middle, size).terms.get((0,) * size, Fraction(0)) for row in rows)
    )
    moved = [row + polynomial_from_constant(depth * share, size) for row in rows]
    if system.rounded:
        moved = [Polynomial({m: Fraction(float(c)) for m, c in p.terms.items() if float(c)}) for p in moved]
    return replace(rule, barrier=largest_of_rows([horner_term(p, system.variables) for p in moved]))


def _new_sets(
    system: ControlSystem, old: Sequence[OldRule], shapes: tuple[Shape, ...], budget: Budget
) -> Synthesis:
    """One of the old rules with a new set that contains all starts."""
    trouble = "nothing was tried"
    for rule in old:
        found = search_invariant_set(system, rule.then, shapes, budget, tested=True)
        if isinstance(found, InvariantSet):
            return Synthesis((ShieldRule(rule.then, found),), ())
        trouble = found.detail
    return Synthesis((), (system.initial,), trouble)


def _tunable_rules(system: ControlSystem, old: Sequence[OldRule]) -> tuple[TunableRule, ...]:
    """The old rules, as numbers that the random search can change."""
    found = list[TunableRule]()
    for rule in old:
        values = [system.state_polynomial(term) for term in rule.then]
        if all(p.degree <= 1 for p in values):
            matrix = coefficient_matrix(values, len(system.variables))
            found.append(Gain(matrix[:, 1:], matrix[:, 0]))
        else:
            found.append(combination_from_polynomials(values, system.initial))
    return tuple(found)
