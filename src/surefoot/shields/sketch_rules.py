"""Sketches, and candidates for a rule in the monomials of a sketch (section 4.1 of Zhu et al., PLDI 2019).

A sketch says which monomials a rule or a barrier may have (Figure 5 and (7)), as a text like `1, x, x*y^2`;
its numbers are what the synthesis looks for.

The start is a regression: on what the network does along its own runs, on linear-quadratic regulators, and on
regulators that also take back what is not linear in the plant, as far as the monomials can (feedback
linearisation). Algorithm 1 searches from there. Its objective is equation (5): how far the rule is from the
network along runs of the rule, with a penalty for unsafe states; without a network it is what states and
controls cost. Nothing here decides anything: a candidate counts only with a proved set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from surefoot.engines.barrier.float_system import FloatSystem, float_system
from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.query.polynomial import Monomial, Polynomial, polynomial_from_variable
from surefoot.reductions.barrier import ControlSystem, polynomial_of
from surefoot.shields.linear_controllers import (
    STEPS,
    UNSAFE,
    Floats,
    Gain,
    Oracle,
    Range,
    TunableRule,
    enumerate_regulators,
    linearise_system,
    record_rollouts,
    rollout_cost,
    round_to_six_digits,
    sample_starts,
    unsafe_states,
)
from surefoot.term.parser import parse_term
from surefoot.term.term import Const, Term, Var
from surefoot.work.budget import Budget

EVERY, COMPARED = 20, 32  # the network is asked in every 20th state of so many runs
FAR, NOTHING = 1e6, 1e-9  # states that are not followed; parts of a control that are left out
HIGHEST_RULE, HIGHEST_INVARIANT = 5, 12  # degrees


def read_sketch(text: str, variables: Sequence[str], highest: int, where: str) -> tuple[Monomial, ...]:
    """The monomials in their order; `where`: what an error names, an option for example."""
    found: dict[Monomial, str] = {}
    for part in (p.strip() for p in text.split(",")):
        if not part:
            raise InvalidProblem("a monomial is missing at a comma", fix="leave the comma out", where=where)
        monomial = _parse_monomial(part, variables, where)
        if sum(monomial) > highest:
            what = f"`{part}` has degree {sum(monomial)}"
            raise InvalidProblem(what, fix=f"{highest} is the highest", where=where)
        if monomial in found:
            what = f"`{part}` is the same monomial as `{found[monomial]}`"
            raise InvalidProblem(what, fix="name it once", where=where)
        found[monomial] = part
    return tuple(found)


def _parse_monomial(text: str, variables: Sequence[str], where: str) -> Monomial:
    count = len(variables)
    names = {name: polynomial_from_variable(i, count) for i, name in enumerate(variables)}
    fix = f"write products of {', '.join(variables)} like `1, {variables[0]}, {variables[0]}^2`"
    try:
        terms = polynomial_of(parse_term(text, names=variables), names, count, rounded=False).terms
    except Unsupported:
        terms = {}
    except SurefootError as error:
        raise InvalidProblem(f"`{text}`: {error.what}", fix=error.fix, where=where) from None
    if list(terms.values()) != [1]:
        raise InvalidProblem(f"`{text}` is not a monomial", fix=fix, where=where)
    return next(iter(terms))


@dataclass(frozen=True, slots=True)
class Combination:
    """controls = weights * monomials of the state; `scales`: how large each monomial is among the starts."""

    monomials: tuple[Monomial, ...]
    weights: Floats
    scales: Floats

    def sizes(self) -> Floats:
        """Each is changed by a share of itself, or of what the largest part of its control is."""
        parts: Floats = np.abs(self.weights) * self.scales
        sizes: Floats = np.maximum(parts, parts.max(axis=1, keepdims=True) * 0.1 + 1e-6) / self.scales
        return sizes

    def weighing(self, weights: Floats) -> Combination:
        return Combination(self.monomials, weights, self.scales)

    def controls(self, states: Floats) -> Floats:
        return _evaluate_monomials(self.monomials, states) @ self.weights.T

    def terms(self, system: ControlSystem) -> tuple[Term, ...]:
        """Sums of products, with numbers that people can read."""
        found = []
        for row in self.weights:
            parts = [
                _monomial_term(number, monomial, system.variables)
                for monomial, weight in zip(self.monomials, row, strict=True)
                if (number := round_to_six_digits(weight))
            ]
            total: Term = parts[0] if parts else Const(0)
            for part in parts[1:]:
                total = total + part
            found.append(total)
        return tuple(found)


def _monomial_term(number: Fraction, monomial: Monomial, names: Sequence[str]) -> Term:
    found: Term = Const(number)
    for name, exponent in zip(names, monomial, strict=True):
        for _ in range(exponent):
            found = found * Var(name)
    return found


def _evaluate_monomials(monomials: Sequence[Monomial], states: Floats) -> Floats:
    """Of each state a row with the monomials' values."""
    values: Floats = np.prod(states[:, None, :] ** np.array(monomials), axis=2)
    return values


def enumerate_sketch_rules(
    system: ControlSystem,
    starts: Sequence[Range],
    oracle: Oracle | None,
    monomials: tuple[Monomial, ...],
    budget: Budget,
) -> Iterator[Combination]:
    """Candidates, those first that simulation finds safe and cheap; as many as there is time for."""
    scored: dict[bytes, tuple[float, int, Combination]] = {}
    for index, rule in enumerate(_enumerate_regressions(system, starts, oracle, monomials)):
        key = rule.weights.round(9).tobytes()
        if key not in scored:
            scored[key] = (rollout_cost(system, rule, starts), index, rule)
        if budget.is_spent():
            break
    yield from (rule for _, _, rule in sorted(scored.values(), key=lambda s: s[:2]))


def _enumerate_regressions(
    system: ControlSystem, starts: Sequence[Range], oracle: Oracle | None, monomials: tuple[Monomial, ...]
) -> Iterator[Combination]:
    if oracle is not None:
        yield fit_combination(monomials, starts, *record_rollouts(system, starts, oracle))
    moving = float_system(system)
    for gain in enumerate_regulators(system):
        states, _ = record_rollouts(system, starts, _clipped_oracle(moving, gain))
        states = states[np.abs(states).max(axis=1) < FAR]
        controls = gain.controls(states)
        for wanted in (controls, controls - _not_linear(system, moving, gain, states)):
            if np.all(np.isfinite(wanted)):
                yield fit_combination(monomials, starts, states, wanted)


def fit_combination(
    monomials: tuple[Monomial, ...], starts: Sequence[Range], states: Floats, controls: Floats
) -> Combination:
    """Least squares in units in which all monomials are of one size."""
    scales = _monomial_scales(monomials, starts)
    solved = np.linalg.lstsq(_evaluate_monomials(monomials, states) / scales, controls, rcond=None)[0].astype(
        np.float64
    )
    weights = np.where(np.abs(solved) > NOTHING * np.abs(solved).max(axis=0), solved, 0.0).T / scales
    return Combination(monomials, weights, scales)


def combination_from_polynomials(values: Sequence[Polynomial], starts: Sequence[Range]) -> Combination:
    """A rule that is there already: one polynomial for each control."""
    monomials = tuple(sorted({m for value in values for m in value.terms}))
    weights = np.array([[float(value.terms.get(m, 0)) for m in monomials] for value in values])
    return Combination(monomials, weights, _monomial_scales(monomials, starts))


def _monomial_scales(monomials: Sequence[Monomial], starts: Sequence[Range]) -> Floats:
    values = _evaluate_monomials(monomials, sample_starts(starts, np.random.default_rng(0)))
    scales: Floats = np.sqrt((values**2).mean(axis=0))
    return np.where(scales > 0, scales, 1.0)


def _clipped_oracle(moving: FloatSystem, gain: Gain) -> Oracle:
    return lambda states: moving.clip_controls(gain.controls(states))


def _not_linear(system: ControlSystem, moving: FloatSystem, gain: Gain, states: Floats) -> Floats:
    """The controls that have the effect of what a step of the regulator adds to the linear system."""
    state, control, drift = linearise_system(system)
    middle = np.array([float(a + b) / 2 for _, (a, b) in system.disturbances])
    still, controls = np.broadcast_to(middle, (len(states), len(middle))), gain.controls(states)
    more = moving.next_states(states, still, controls) - (states @ state.T + controls @ control.T + drift)
    return np.asarray(np.linalg.lstsq(control, more.T, rcond=None)[0].T, dtype=np.float64)


def imitation_distance(
    system: ControlSystem, rule: TunableRule, starts: Sequence[Range], oracle: Oracle
) -> float:
    """Minus equation (5), for one state of a run: distance to the network, or the penalty if it is unsafe."""
    generator, moving = np.random.default_rng(1), float_system(system)
    states, is_unsafe, seen, total = sample_starts(starts, generator), unsafe_states(system), [], 0.0
    for step in range(STEPS):
        if step % EVERY == 0:
            seen.append(states[:: len(states) // COMPARED])
        total += UNSAFE * float(np.mean(is_unsafe(states)))
        actions = moving.clip_controls(rule.controls(states))
        states = moving.next_states(states, moving.draw_disturbances(len(states), generator), actions)
        if not np.all(np.isfinite(states)) or np.abs(states).max() > FAR:
            return float("inf")
    rows = np.vstack(seen)
    gaps = np.linalg.norm(moving.clip_controls(rule.controls(rows)) - oracle(rows), axis=1)
    return total / STEPS + float(gaps[~is_unsafe(rows)].sum()) / len(rows)
