"""A shield of a system with real controls: synthesis with its certificate, and the shield as source code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal, TypeAlias

from surefoot.certify.checker_process import NOT_IN_TIME, CheckerAnswer
from surefoot.certify.evidence import certify_sets
from surefoot.engines.barrier.sos_candidate import MANY, Shape, SosTemplate, barrier_shapes
from surefoot.problem.meaning.decision import decide_in_state
from surefoot.problem.policy import OraclePolicy, Policy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.query.polynomial import Monomial
from surefoot.reductions.barrier import ControlSystem, read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.enlarge.fewer_interventions import reduce_interventions
from surefoot.shields.enlarge.larger_sets import enlarge_sets
from surefoot.shields.evaluation.plant import network_oracle
from surefoot.shields.export.c_code import GuardExample, c_source
from surefoot.shields.export.guard import ShieldGuard, guard_of
from surefoot.shields.export.python_code import python_source
from surefoot.shields.program import (
    shield_policy,
    synthesis_evidence,
    synthesis_program,
    with_room_between,
)
from surefoot.shields.recheck import OldRule, RecheckResult, recheck_shield
from surefoot.shields.sketch_rules import HIGHEST_INVARIANT, HIGHEST_RULE, read_sketch
from surefoot.shields.synthesis import RuleSource, Synthesis, synthesise_rules
from surefoot.solvers.sos.gram_blocks import Squares
from surefoot.term.evaluate import Undefined
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time
from surefoot.work.interrupt import stop_if_interrupted

SetKind: TypeAlias = Literal["auto", "polynomial", "polyhedron"]
EXAMPLES = 64  # of the self-test in C
SYNTHESIS = 0.8  # of the time; the rest is for the certificate and its check


@dataclass(frozen=True, slots=True)
class ShieldSynthesis:
    """`problem`: as it is executed, with the shield or the program as its policy."""

    problem: Problem
    system: ControlSystem
    found: Synthesis
    accepted: bool
    reason: str
    certificate: dict[str, Any] | None
    rechecked: RecheckResult | None = None

    def guard(self) -> ShieldGuard:
        return guard_of(self.problem.environment, self.problem.policy)

    def python(self) -> str:
        return python_source(self.guard())

    def c(self, file: str) -> tuple[str, str]:
        return c_source(self.guard(), file, self.examples())

    def examples(self) -> list[GuardExample]:
        """Random states and proposals, decided by the reference meaning."""
        random, found = Random(0), []
        for _ in range(4 * EXAMPLES):
            branch = random.choice(self.found.branches)
            state = tuple(random.uniform(float(a), float(b)) for a, b in branch.set.domain)
            ends = self.guard().controls
            proposed = tuple(
                random.uniform(-1.0 if a is None else a, 1.0 if b is None else b) for _, a, b in ends
            )
            policy = self.problem.policy
            if isinstance(policy, ShieldedPolicy):
                policy = replace(policy, policy=_constant_policy(proposed))
            assert policy is not None
            names = dict(zip(self.system.variables, state, strict=True))
            try:
                made = decide_in_state(policy, self.problem.environment, names)
            except Undefined:
                continue  # in no set: the reference has no answer there
            applied = tuple(float(made.controls[name]) for name, _, _ in ends)
            overruled = made.intervened or not isinstance(policy, ShieldedPolicy)
            found.append(GuardExample(state, proposed, applied, int(overruled)))
        return found[:EXAMPLES]


def _constant_policy(values: tuple[float, ...]) -> OraclePolicy:
    return OraclePolicy("proposed", lambda _: values)


@dataclass(frozen=True, slots=True)
class Sketches:
    """The monomials of rules and of barriers, as they were given; empty: affine rules, whole degrees."""

    rule: str = ""
    invariant: str = ""
    squares: Squares = "auto"  # of the barriers with given monomials

    def rules(self, system: ControlSystem) -> tuple[Monomial, ...] | None:
        return read_sketch(self.rule, system.variables, HIGHEST_RULE, "--rule") if self.rule else None

    def shapes(self, system: ControlSystem, others: tuple[Shape, ...]) -> tuple[Shape, ...]:
        if not self.invariant:
            return others
        monomials = read_sketch(self.invariant, system.variables, HIGHEST_INVARIANT, "--invariant")
        return (SosTemplate(monomials, self.squares),)


_NO_SKETCHES = Sketches()


def shapes_for(
    kind: SetKind = "auto", degrees: tuple[int, ...] = (2, 4), squares: Squares = "auto"
) -> tuple[Shape, ...]:
    """What sets are tried, in this order."""
    if kind == "polyhedron":
        return (MANY,)
    polynomials = tuple(SosTemplate(degree, squares) for degree in degrees)
    return barrier_shapes(polynomials) if kind == "auto" else polynomials


def make_certified_shield(
    problem: Problem,
    given: tuple[Shape, ...],
    budget: Budget,
    old: Sequence[OldRule] = (),
    sketches: Sketches = _NO_SKETCHES,
) -> ShieldSynthesis:
    """Synthesise, certify and check, all in the time of the budget.

    Without two ends for each control there is a program but no shield.

    `given`: what sets are tried, in this order.
    `old`: rules of another shield, of which as much is kept as can be. `sketches`: of new rules and sets.
    """
    stop_if_interrupted()
    executed = discretise(problem, continuous=True)
    system, whole = read_control_system(executed), budget
    budget = replace(whole, seconds=SYNTHESIS * whole.seconds)
    sketch, shapes = sketches.rules(system), sketches.shapes(system, given)
    nothing = Synthesis((), (system.initial,), "the time is over")
    found, again = call_in_time(
        budget,
        lambda: _search_rules(executed, system, shapes, sketch, old, budget),
        lambda: (nothing, None),
    )
    if not found.branches:
        return ShieldSynthesis(
            executed, system, found, False, f"no set was found: {found.trouble}", None, again
        )
    several = found if len(found.branches) > 1 and not found.interrupted else None
    if several is not None and system.motion is not None and system.has_control_ends:
        found = call_in_time(budget, lambda: with_room_between(system, several, budget), lambda: several)
    protected, judged, content = call_in_time(
        whole,
        lambda: _certify_rules(executed, system, found, whole),
        lambda: (executed, CheckerAnswer(False, NOT_IN_TIME), None),
    )
    return ShieldSynthesis(protected, system, found, judged.accepted, judged.text, content, again)


def _search_rules(
    executed: Problem,
    system: ControlSystem,
    shapes: tuple[Shape, ...],
    sketch: tuple[Monomial, ...] | None,
    old: Sequence[OldRule],
    budget: Budget,
) -> tuple[Synthesis, RecheckResult | None]:
    """Rules and their sets: as many as there was time for."""
    oracle = network_oracle(executed, system)
    if old:
        again = recheck_shield(system, old, oracle, shapes, budget)
        return again.found, again
    found = synthesise_rules(system, RuleSource(oracle, sketch), shapes, budget)
    if oracle is not None and found.branches and not (found.interrupted or budget.is_spent()):
        found = enlarge_sets(system, found, oracle, shapes, budget)
        if sketch is None and not (found.interrupted or budget.is_spent()):
            found = reduce_interventions(system, found, oracle, shapes, budget)
    return found, None


def _certify_rules(
    executed: Problem, system: ControlSystem, found: Synthesis, budget: Budget
) -> tuple[Problem, CheckerAnswer, dict[str, Any] | None]:
    """The problem with its shield, or with its program, and what the checker says of it."""
    plain: Policy = synthesis_program(system, found)
    ways: list[tuple[Policy, dict[str, Any]]] = [(plain, synthesis_evidence(found))]
    if system.has_control_ends and system.controls:
        policy, permits = shield_policy(system, found, executed.policy or plain)
        ways.insert(0, (policy, synthesis_evidence(found, permits)))
    if system.motion is None:
        ways = ways[:1]  # in continuous time the program may be safe where its shield is not shown to be
    for acting, shown in ways:
        protected = replace(executed, policy=acting)
        certificate, judged = certify_sets(protected, shown, budget)
        if judged.accepted:
            break
    content = None if certificate is None else json.loads(json.dumps(certificate.content))
    return protected, judged, content
