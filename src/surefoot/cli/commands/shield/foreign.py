"""Somebody else's barrier certificate: every condition proved, refuted by a replayed state, or open.

Two systems are looked at. As it is *stated*: exact numbers, controls without limits. As it is *executed*: in
the arithmetic of the problem, controls clipped to their ends. A state counts only after it was evaluated by
`certify/barrier/refuted.py`, a proof only after the independent checker has accepted it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np

from surefoot.certify.barrier.claim import about_sets
from surefoot.certify.barrier.refuted import Refutation, left_by_a_step, start_outside, unsafe_in_set
from surefoot.certify.checker.check import check
from surefoot.encode.barrier import System, inside_set, system_of
from surefoot.engines.barrier.attack import Rays, among_starts, inside, rays
from surefoot.engines.barrier.engine import content
from surefoot.engines.barrier.given import Given, Proofs, as_term, boxes, cover, proofs, too_large
from surefoot.engines.barrier.sampled import Floats, evaluated, sampled
from surefoot.engines.barrier.unsafe import how_unsafe
from surefoot.formats.barrier_file import ForeignRule
from surefoot.problem.environment import Arithmetic, Control
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.term import TRUE
from surefoot.query.polynomial import Polynomial
from surefoot.transform.discretise import discretise
from surefoot.work.budget import Budget

CONDITIONS = ("starts", "unsafe", "steps")
DIGITS = (2, 3, 4, 6, 9, 17)  # a state with few digits is easier to read


@dataclass(frozen=True, slots=True)
class Answer:
    """`word`: proved (the checker accepts), shown (by us alone), refuted (by a replayed state) or unknown."""

    word: str
    why: str = ""
    refutation: Refutation | None = None
    rule: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answers about one system; `certificate`: if everything is proved and the checker accepts it."""

    system: str
    answers: dict[str, Answer]
    certificate: dict[str, Any] | None = None
    interrupted: bool = False

    @property
    def word(self) -> str:
        if any(self.answers[c].word == "refuted" for c in CONDITIONS):
            return "rejected"
        return "accepted" if self.certificate is not None else "not certified"


def stated(problem: Problem) -> Problem:
    """In exact numbers, controls without limits."""
    environment = problem.environment
    controls = tuple(Control(c.name, clipped=False) for c in environment.controls)
    return replace(problem, environment=replace(environment, controls=controls, arithmetic=Arithmetic.EXACT))


def judged(problem: Problem, rules: Sequence[ForeignRule], budget: Budget) -> tuple[Judgement, Judgement]:
    """As it is stated, with half of the time, and as it is executed."""
    half = Budget(budget.remaining() / 2, budget.seed, budget.progress)
    first = _Case("stated", discretise(stated(problem))[0], rules, half).judged(grows=True)
    if first.interrupted:
        unasked = {c: Answer("unknown", "interrupted") for c in CONDITIONS}
        return first, Judgement("executed", unasked, interrupted=True)
    return first, _Case("executed", discretise(problem)[0], rules, budget).judged(grows=False)


class _Case:
    """One of the two systems."""

    def __init__(self, name: str, problem: Problem, rules: Sequence[ForeignRule], budget: Budget) -> None:
        self.name, self.problem, self.budget = name, problem, budget
        self.system: System = system_of(problem)
        self.rules = [Given(r.then, Polynomial(r.barrier)) for r in rules]
        self.terms = [as_term(self.system, r.barrier, rounded=False) for r in self.rules]  # as published

    def judged(self, grows: bool) -> Judgement:
        """An interruption keeps what is known."""
        answers = {c: Answer("unknown", "no proof and no state against it was found") for c in CONDITIONS}
        try:
            certificate = self._answered(answers, grows)
        except KeyboardInterrupt:
            answers |= {
                c: Answer("unknown", "interrupted") for c in CONDITIONS if answers[c].word == "unknown"
            }
            return Judgement(self.name, answers, interrupted=True)
        if self.budget.spent():
            late = Answer("unknown", "the time was over before a proof or a state against it was found")
            answers |= {c: late for c in CONDITIONS if answers[c].word == "unknown"}
        return Judgement(self.name, answers, certificate)

    def _answered(self, answers: dict[str, Answer], grows: bool) -> dict[str, Any] | None:
        """First states against the conditions, then proofs of those that are left."""
        system, budget = self.system, self.budget
        regions = [rays(system, r.then, r.barrier) for r in self.rules]
        for state in among_starts(system, [r.barrier for r in self.rules], budget):
            found = self._short(lambda s, _: start_outside(self.problem, self.terms, s), state)
            if found is not None:
                answers["starts"] = Answer("refuted", "a start is in no set", found)
                break
        for index, region in enumerate(regions):
            if region is None:
                continue
            for name, answer in self._attacked(index, region):
                if answers[name].word != "refuted":
                    answers[name] = answer
            if grows and (growth := self._growing(index, region)) is not None:
                answers["growth"] = growth
        return self._proved(regions, answers)

    def _attacked(self, index: int, region: Rays) -> Iterator[tuple[str, Answer]]:
        """States of a set that are unsafe, or that a step takes out of it."""
        system, budget, term = self.system, self.budget, self.terms[index]
        barrier, moving = self.rules[index].barrier, sampled(system, self.rules[index].then)
        alone = self._alone(index)
        budget.progress(f"foreign: {self.name}, rule {index + 1}: unsafe states")
        for state, _ in inside(system, region, lambda x, _: how_unsafe(system, x), budget):
            if (found := self._short(lambda s, _: unsafe_in_set(self.problem, term, s), state)) is not None:
                yield "unsafe", Answer("refuted", "an unsafe state is in the set", found, index)
                break
        budget.progress(f"foreign: {self.name}, rule {index + 1}: steps")
        ahead = inside(system, region, lambda x, d: evaluated(barrier, moving.step(x, d)), budget)
        for state, drawn in ahead:
            found = self._short(lambda s, d: left_by_a_step(alone, term, s, d), state, drawn)
            if found is not None:
                yield "steps", Answer("refuted", "a step leaves the set", found, index)
                break

    def _growing(self, index: int, region: Rays) -> Answer | None:
        """B(next) <= B, everywhere: condition (10) of the paper, which is more than a closed set needs."""
        system, term, alone = self.system, self.terms[index], self._alone(index)
        barrier, moving = self.rules[index].barrier, sampled(system, self.rules[index].then)

        def growth(states: Floats, drawn: Floats) -> Floats:
            return evaluated(barrier, moving.step(states, drawn)) - evaluated(barrier, states)

        size = len(region.units)
        slope = np.array([float(barrier.terms.get(_unit(i, size), 0)) for i in range(size)])
        towards = -slope / max(float(np.abs(slope).max()), 1e-300)
        middle = moving.drawn(1, np.random.default_rng(0))[0]
        near = [(towards * 0.1**k, middle) for k in range(2, 12)]  # a slope at an equilibrium is enough
        for state, drawn in [*inside(system, region, growth, self.budget), *near]:
            found = self._short(lambda s, d: left_by_a_step(alone, term, s, d, grows=True), state, drawn)
            if found is not None:
                return Answer("refuted", "the barrier grows by a step", found, index)
        return None

    def _alone(self, index: int) -> Problem:
        return replace(self.problem, policy=ProgramPolicy((Branch(TRUE, self.rules[index].then),)))

    def _short(
        self,
        test: Callable[[dict[str, Any], dict[str, Any]], Refutation | None],
        state: Floats,
        drawn: Floats | None = None,
    ) -> Refutation | None:
        """The state with as few digits as still refute."""
        chosen = {} if drawn is None else self._chosen(drawn)
        for digits in DIGITS:
            values = [Fraction(f"{float(x):.{digits}g}") for x in state]
            named = dict(zip(self.system.variables, values, strict=True))
            if (found := test({n: self._number(v) for n, v in named.items()}, chosen)) is not None:
                return found
        return None

    def _number(self, value: Fraction) -> Fraction | float:
        return float(value) if self.system.rounded else value

    def _chosen(self, drawn: Floats) -> dict[str, Any]:
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

    def _proved(self, regions: Sequence[Rays | None], answers: dict[str, Answer]) -> dict[str, Any] | None:
        """Fill in what is proved; the certificate if that is everything."""
        if any(too_large(self.system, r) for r in self.rules):
            why = "no state against it was found, and the matrices of a proof are too large"
            answers |= {c: Answer("unknown", why) for c in CONDITIONS if answers[c].word == "unknown"}
            return None
        found: list[Proofs] = []
        for index, (rule, region) in enumerate(zip(self.rules, regions, strict=True)):
            if region is None:
                return None
            self.budget.progress(f"foreign: {self.name}, rule {index + 1}: proofs")
            found.append(self._best(rule, region, answers))
        have = {
            "unsafe": all(f.unsafe is not None for f in found),
            "steps": all(f.steps is not None for f in found),
        }
        have["starts"] = answers["starts"].word == "unknown" and not cover(found, self.system, self.budget)
        for name in CONDITIONS:
            if answers[name].word == "unknown" and have[name]:
                answers[name] = Answer("shown", "in a box around the set; the checker was not asked")
        if any(answers[c].word != "shown" for c in CONDITIONS):
            return None
        sets = [s for f in found if (s := f.closed()) is not None]
        branches = tuple(
            Branch(inside_set(self.system, s.domain, s.barrier, s.margin) if s.tested else TRUE, r.then)
            for s, r in zip(sets, self.rules, strict=True)
        )
        problem = replace(self.problem, policy=ProgramPolicy(branches))
        certificate: dict[str, Any] = json.loads(
            json.dumps(about_sets(problem, {"sets": [content(s) for s in sets]}).content)
        )
        verdict = check(certificate)
        if not verdict.accepted:
            why = f"the checker does not accept the proof: {verdict.reason}"
            answers |= {c: Answer("unknown", why) for c in CONDITIONS}
            return None
        answers |= {c: Answer("proved", "for the part of each set in its box") for c in CONDITIONS}
        return certificate

    def _best(self, rule: Given, region: Rays, answers: dict[str, Answer]) -> Proofs:
        """In the first box in which everything is proved that is not refuted."""
        best: Proofs | None = None
        for domain in boxes(self.system, rule, region, self.budget):
            found = proofs(self.system, rule, domain, len(self.rules) > 1, self.budget)
            if best is None or found.count() > best.count():
                best = found
            if found.closed() is not None or answers["steps"].word == "refuted":
                break
        assert best is not None
        return best


def _unit(index: int, size: int) -> tuple[int, ...]:
    return tuple(int(i == index) for i in range(size))
