"""Somebody else's barrier certificate: every condition proved, refuted by a replayed state, or open.

Two systems are looked at. As it is *stated*: exact numbers, controls without limits. As it is *executed*: in
the arithmetic of the problem, controls clipped to their ends. A state counts only after it was evaluated by
`certify/barrier/counterexample.py`, a proof only after the independent checker has accepted it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np

from surefoot.certify.barrier.counterexample import (
    BarrierCounterexample,
    confirm_escaping_step,
    confirm_uncovered_start,
    confirm_unsafe_member,
)
from surefoot.certify.evidence import certify_sets
from surefoot.engines.barrier.engine import invariant_set_content
from surefoot.engines.barrier.falsify import (
    RaySampler,
    falsify_set,
    falsify_starts,
    ray_sampler,
    unsafety_score,
)
from surefoot.engines.barrier.float_system import Floats, evaluate_polynomial, float_system
from surefoot.engines.barrier.foreign_barrier import (
    ForeignBarrier,
    SetProofs,
    cover_starts,
    enumerate_hull_boxes,
    foreign_barrier_term,
    is_proof_too_large,
    prove_foreign_set,
)
from surefoot.formats.barrier_file import ForeignRule
from surefoot.problem.environment import Control
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.query.polynomial import Polynomial
from surefoot.reductions.barrier import ControlSystem, inside_set, read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.term.term import TRUE
from surefoot.term.value_types import Arithmetic
from surefoot.work.budget import Budget

CONDITIONS = ("starts", "unsafe", "steps")
DIGITS = (2, 3, 4, 6, 9, 17)  # a state with few digits is easier to read


@dataclass(frozen=True, slots=True)
class ConditionAnswer:
    """`word`: proved (the checker accepts), shown (by us alone), refuted (by a replayed state) or unknown."""

    word: str
    why: str = ""
    refutation: BarrierCounterexample | None = None
    rule: int = 0


@dataclass(frozen=True, slots=True)
class BarrierJudgement:
    """The answers about one system; `certificate`: if everything is proved and the checker accepts it."""

    system: str
    answers: dict[str, ConditionAnswer]
    certificate: dict[str, Any] | None = None
    interrupted: bool = False

    @property
    def word(self) -> str:
        if any(self.answers[c].word == "refuted" for c in CONDITIONS):
            return "rejected"
        return "accepted" if self.certificate is not None else "not certified"


def as_stated_problem(problem: Problem) -> Problem:
    """In exact numbers, controls without limits."""
    environment = problem.environment
    controls = tuple(Control(c.name, clipped=False) for c in environment.controls)
    return replace(problem, environment=replace(environment, controls=controls, arithmetic=Arithmetic.EXACT))


def judge_foreign_barriers(
    problem: Problem, rules: Sequence[ForeignRule], budget: Budget
) -> tuple[BarrierJudgement, BarrierJudgement]:
    """As it is stated, with half of the time, and as it is executed."""
    half = budget.begin_part(budget.remaining() / 2)
    first = _Case("stated", discretise(as_stated_problem(problem)), rules, half).judge_conditions(grows=True)
    if first.interrupted:
        unasked = {c: ConditionAnswer("unknown", "interrupted") for c in CONDITIONS}
        return first, BarrierJudgement("executed", unasked, interrupted=True)
    return first, _Case("executed", discretise(problem), rules, budget).judge_conditions(grows=False)


def _explain_open_conditions(answers: dict[str, ConditionAnswer], why: str) -> None:
    answers |= {c: ConditionAnswer("unknown", why) for c in CONDITIONS if answers[c].word == "unknown"}


class _Case:
    """One of the two systems."""

    def __init__(self, name: str, problem: Problem, rules: Sequence[ForeignRule], budget: Budget) -> None:
        self.name, self.problem, self.budget = name, problem, budget
        self.system: ControlSystem = read_control_system(problem)
        self.rules = [ForeignBarrier(r.then, Polynomial(r.barrier)) for r in rules]
        self.terms = [
            foreign_barrier_term(self.system, r.barrier, rounded=False) for r in self.rules
        ]  # as published

    def judge_conditions(self, grows: bool) -> BarrierJudgement:
        """An interruption keeps what is known."""
        answers = {
            c: ConditionAnswer("unknown", "no proof and no state against it was found") for c in CONDITIONS
        }
        try:
            certificate = self._answer_conditions(answers, grows)
        except KeyboardInterrupt:
            _explain_open_conditions(answers, "interrupted")
            return BarrierJudgement(self.name, answers, interrupted=True)
        if self.budget.is_spent():
            why = "the time was over before a proof or a state against it was found"
            _explain_open_conditions(answers, why)
        return BarrierJudgement(self.name, answers, certificate)

    def _answer_conditions(self, answers: dict[str, ConditionAnswer], grows: bool) -> dict[str, Any] | None:
        """First states against the conditions, then proofs of those that are left."""
        system, budget = self.system, self.budget
        regions = [ray_sampler(system, r.then, r.barrier) for r in self.rules]
        for state in falsify_starts(system, [r.barrier for r in self.rules], budget):
            found = self._shorten_refutation(
                lambda s, _: confirm_uncovered_start(self.problem, self.terms, s), state
            )
            if found is not None:
                answers["starts"] = ConditionAnswer("refuted", "a start is in no set", found)
                break
        for index, region in enumerate(regions):
            if region is None:
                continue
            for name, answer in self._falsify_rule(index, region):
                if answers[name].word != "refuted":
                    answers[name] = answer
            if grows and (growth := self._falsify_decrease(index, region)) is not None:
                answers["growth"] = growth
        return self._prove_conditions(regions, answers)

    def _falsify_rule(self, index: int, region: RaySampler) -> Iterator[tuple[str, ConditionAnswer]]:
        """States of a set that are unsafe, or that a step takes out of it."""
        system, budget, term = self.system, self.budget, self.terms[index]
        barrier, moving = self.rules[index].barrier, float_system(system, self.rules[index].then)
        alone = self._problem_of_rule(index)
        budget.progress(f"foreign: {self.name}, rule {index + 1}: unsafe states")
        for state, _ in falsify_set(system, region, lambda x, _: unsafety_score(system, x), budget):
            if (
                found := self._shorten_refutation(
                    lambda s, _: confirm_unsafe_member(self.problem, term, s), state
                )
            ) is not None:
                yield "unsafe", ConditionAnswer("refuted", "an unsafe state is in the set", found, index)
                break
        budget.progress(f"foreign: {self.name}, rule {index + 1}: steps")
        ahead = falsify_set(
            system, region, lambda x, d: evaluate_polynomial(barrier, moving.step(x, d)), budget
        )
        for state, drawn in ahead:
            found = self._shorten_refutation(
                lambda s, d: confirm_escaping_step(alone, term, s, d), state, drawn
            )
            if found is not None:
                yield "steps", ConditionAnswer("refuted", "a step leaves the set", found, index)
                break

    def _falsify_decrease(self, index: int, region: RaySampler) -> ConditionAnswer | None:
        """B(next) <= B, everywhere: condition (10) of the paper, which is more than a closed set needs."""
        system, term, alone = self.system, self.terms[index], self._problem_of_rule(index)
        barrier, moving = self.rules[index].barrier, float_system(system, self.rules[index].then)

        def growth(states: Floats, drawn: Floats) -> Floats:
            return evaluate_polynomial(barrier, moving.step(states, drawn)) - evaluate_polynomial(
                barrier, states
            )

        size = len(region.units)
        slope = np.array([float(barrier.terms.get(_unit_exponents(i, size), 0)) for i in range(size)])
        towards = -slope / max(float(np.abs(slope).max()), 1e-300)
        middle = moving.draw_disturbances(1, np.random.default_rng(0))[0]
        near = [(towards * 0.1**k, middle) for k in range(2, 12)]  # a slope at an equilibrium is enough
        for state, drawn in [*falsify_set(system, region, growth, self.budget), *near]:
            found = self._shorten_refutation(
                lambda s, d: confirm_escaping_step(alone, term, s, d, grows=True), state, drawn
            )
            if found is not None:
                return ConditionAnswer("refuted", "the barrier grows by a step", found, index)
        return None

    def _problem_of_rule(self, index: int) -> Problem:
        return replace(self.problem, policy=ProgramPolicy((Branch(TRUE, self.rules[index].then),)))

    def _shorten_refutation(
        self,
        test: Callable[[dict[str, Any], dict[str, Any]], BarrierCounterexample | None],
        state: Floats,
        drawn: Floats | None = None,
    ) -> BarrierCounterexample | None:
        """The state with as few digits as still refute."""
        chosen = {} if drawn is None else self._round_disturbance(drawn)
        for digits in DIGITS:
            values = [Fraction(f"{float(x):.{digits}g}") for x in state]
            named = dict(zip(self.system.variables, values, strict=True))
            if (found := test({n: self._number(v) for n, v in named.items()}, chosen)) is not None:
                return found
        return None

    def _number(self, value: Fraction) -> Fraction | float:
        return float(value) if self.system.rounded else value

    def _round_disturbance(self, drawn: Floats) -> dict[str, Any]:
        """The ends of the ranges that are meant, as numbers of the system that are inside."""
        choices = self.problem.environment.components[0].edges[0].chosen
        found: dict[str, Any] = {}
        for choice, value, (_, (low, high)) in zip(choices, drawn, self.system.disturbances, strict=True):
            kind: Any = choice.kind
            at_low = abs(float(value) - float(low)) <= abs(float(value) - float(high))
            end = kind.low if at_low else kind.high
            number = self._number(end)
            if isinstance(number, float) and not kind.low <= number <= kind.high:
                number = nextafter(number, inf if at_low else -inf)
            found[choice.name] = number
        return found

    def _prove_conditions(
        self, regions: Sequence[RaySampler | None], answers: dict[str, ConditionAnswer]
    ) -> dict[str, Any] | None:
        """Fill in what is proved; the certificate if that is everything."""
        if any(is_proof_too_large(self.system, r) for r in self.rules):
            why = "no state against it was found, and the matrices of a proof are too large"
            _explain_open_conditions(answers, why)
            return None
        found: list[SetProofs] = []
        for index, (rule, region) in enumerate(zip(self.rules, regions, strict=True)):
            if region is None:
                return None
            self.budget.progress(f"foreign: {self.name}, rule {index + 1}: proofs")
            found.append(self._best_proofs(rule, region, answers))
        have = {
            "unsafe": all(f.unsafe is not None for f in found),
            "steps": all(f.steps is not None for f in found),
        }
        have["starts"] = answers["starts"].word == "unknown" and not cover_starts(
            found, self.system, self.budget
        )
        for name in CONDITIONS:
            if answers[name].word == "unknown" and have[name]:
                answers[name] = ConditionAnswer("shown", "in a box around the set; the checker was not asked")
        if any(answers[c].word != "shown" for c in CONDITIONS):
            return None
        sets = [s for f in found if (s := f.as_invariant_set()) is not None]
        branches = tuple(
            Branch(inside_set(self.system, s.domain, s.barrier, s.margin) if s.tested else TRUE, r.then)
            for s, r in zip(sets, self.rules, strict=True)
        )
        problem = replace(self.problem, policy=ProgramPolicy(branches))
        content = {"sets": [invariant_set_content(s) for s in sets]}
        certificate, judged = certify_sets(problem, content, self.budget)
        if certificate is None or not judged.accepted:
            why = f"the checker does not accept the proof: {judged.text}"
            answers |= {c: ConditionAnswer("unknown", why) for c in CONDITIONS}
            return None
        answers |= {c: ConditionAnswer("proved", "for the part of each set in its box") for c in CONDITIONS}
        found_content: dict[str, Any] = json.loads(json.dumps(certificate.content))
        return found_content

    def _best_proofs(
        self, rule: ForeignBarrier, region: RaySampler, answers: dict[str, ConditionAnswer]
    ) -> SetProofs:
        """In the first box in which everything is proved that is not refuted."""
        best: SetProofs | None = None
        for domain in enumerate_hull_boxes(self.system, rule, region, self.budget):
            found = prove_foreign_set(self.system, rule, domain, len(self.rules) > 1, self.budget)
            if best is None or found.count() > best.count():
                best = found
            if found.as_invariant_set() is not None or answers["steps"].word == "refuted":
                break
        assert best is not None
        return best


def _unit_exponents(index: int, size: int) -> tuple[int, ...]:
    return tuple(int(i == index) for i in range(size))
