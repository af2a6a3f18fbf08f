"""Stronger rules, and further rules with sets of their own, where a shield overrules its network.

A shield permits what leads into any of its sets; otherwise the rule of the first set that contains the state
decides. So a further set leaves the network alone where it lies beside the others, and a rule that pushes
back harder, or leads around what the network runs into, lets it act for longer afterwards. More room alone
need not mean fewer interventions: a network that wants to leave is stopped for as long as it is near a limit.
So candidates are compared by simulation, and that with the fewest interventions is taken, one after the other
(Algorithm 2 of Zhu et al., PLDI 2019, with visited states in the place of starts). Simulations only choose:
every set is proved like any other. Linear systems only.

Each time a shield intervenes, its rule moves the state back by as much as it is strong. The controls that
push furthest into a set {B <= 0} are those against B's slope, u = -c * (dB/du), and for a large c they are at
their ends. Here they are made an affine rule by least squares over states of the set (of degree 2 they are
one), and the same set is proved anew with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from surefoot.engines.barrier.float_system import Floats, float_system, is_linear
from surefoot.engines.barrier.invariant_set import InvariantSet, cover_start_box, prove_invariant_set
from surefoot.engines.barrier.scaled_system import Unproved, scale_system
from surefoot.engines.barrier.search import saturation_cases
from surefoot.engines.barrier.sos_candidate import Polyhedron, Shape
from surefoot.reductions.barrier import ControlSystem, barrier_rows
from surefoot.shields.enlarge.float_shield import (
    FloatRule,
    InterventionCount,
    count_interventions,
    float_rules,
)
from surefoot.shields.enlarge.larger_sets import covered_by
from surefoot.shields.enlarge.two_speed_rules import two_speed_candidates
from surefoot.shields.enlarge.visited_states import visited_states
from surefoot.shields.linear_controllers import Gain, Oracle
from surefoot.shields.linear_system import LinearSystem, disturbed_linear_system
from surefoot.shields.synthesis import ShieldRule, Synthesis
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late

RUNS, FIRST_STEPS = 96, 400  # of the network behind the shield that there is
MOST_RUNS, STEPS = 32, 1000  # by which shields are compared
MOST_MORE = 4  # branches
BETTER = 0.9  # of the interventions: what a change has to leave at most
LEAST_SECONDS = 30.0
TIMES = 1.0  # of what the synthesis took
STRENGTHS = (8.0, 4.0, 3.0, 2.5, 2.0, 1.7, 1.4, 1.2)  # of a control's room: what a rule asks for at most
DRAWN, LEAST = 20000, 200  # states of the domain; so many in the set
CLOSE = 1e-4  # of the domain: between two states of a slope


def reduce_interventions(
    system: ControlSystem, found: Synthesis, oracle: Oracle, shapes: Sequence[Shape], budget: Budget
) -> Synthesis:
    """What leaves the network alone more often, if it is proved in time; what was covered stays covered."""
    if not system.controls or not system.has_control_ends or not is_linear(system):
        return found
    seconds = min(budget.remaining(), max(LEAST_SECONDS, TIMES * budget.elapsed_seconds()))
    work = _Work(system, oracle, budget.begin_part(seconds), found.branches)
    try:
        if work.begin():
            work.push()
            if any(isinstance(shape, Polyhedron) for shape in shapes):
                work.add()
    except Late:
        return replace(found, branches=work.branches)
    except KeyboardInterrupt:
        return replace(found, branches=work.branches, interrupted=True)
    return replace(found, branches=work.branches)


@dataclass(slots=True)
class _Work:
    system: ControlSystem
    oracle: Oracle
    budget: Budget
    branches: tuple[ShieldRule, ...]
    moving: LinearSystem = field(init=False)
    known: list[FloatRule] = field(init=False)  # of the branches
    starts: Floats = field(init=False)
    seen: InterventionCount = field(init=False)

    def begin(self) -> bool:
        """Is the network overruled? From here on only such runs are simulated: more sets change no others."""
        self.moving = disturbed_linear_system(self.system)
        self.known = float_rules(self.system, self.branches)
        generator = np.random.default_rng((self.budget.seed, 3))
        low, high = (np.array([float(r[i]) for r in self.system.initial]) for i in (0, 1))
        self.starts = generator.uniform(low, high, (RUNS, len(low)))
        first = self._simulate_shield(self.known, steps=FIRST_STEPS)
        self.starts = self.starts[first.runs][:MOST_RUNS]
        if first.count:
            self.seen = self._simulate_shield(self.known)
        return first.count > 0

    def push(self) -> None:
        """Stronger rules for the same sets, where they leave fewer interventions."""
        for index, branch in enumerate(self.branches):
            other = next(
                _enumerate_stronger_rules(self.system, branch, self.known[index], self.moving, self.budget),
                None,
            )
            if other is None:
                continue
            tried = (*self.branches[:index], other, *self.branches[index + 1 :])
            shield = float_rules(self.system, tried)
            now = self._simulate_shield(shield)
            if now.count <= BETTER * self.seen.count and not self.budget.is_spent():
                self.branches, self.known, self.seen = tried, shield, now

    def add(self) -> None:
        """Branches before the others, one after the other."""
        states = visited_states(self.system, self.oracle, self.budget)
        candidates = two_speed_candidates(self.system, self.moving, states, self.budget)
        more = [(c.piece, branch) for c in candidates if (branch := c.prove_rule(self.budget)) is not None]
        for _ in range(MOST_MORE):
            told = f"{len(self.branches)} rules, {self.seen.count} interventions in simulation"
            self.budget.progress(f"shield: {told}")
            best, least = None, BETTER * self.seen.count
            for piece, branch in more:
                now = self._simulate_shield([piece, *self.known], least)
                if self.budget.is_spent():
                    return
                if now.count < least:
                    best, least = (branch, now), now.count
            if best is None:
                return
            self.branches, self.seen = (best[0], *self.branches), best[1]
            self.known = float_rules(self.system, self.branches)

    def _simulate_shield(
        self, shield: Sequence[FloatRule], most: float = np.inf, steps: int = STEPS
    ) -> InterventionCount:
        return count_interventions(self.moving, shield, self.oracle, self.starts, steps, self.budget, most)


def _enumerate_stronger_rules(
    system: ControlSystem, branch: ShieldRule, piece: FloatRule, moving: LinearSystem, budget: Budget
) -> Iterator[ShieldRule]:
    """The branch with the same set and stronger rules, as far as they are proved; the strongest first."""
    if len(barrier_rows(branch.set.barrier)) > 1:
        return
    states = np.random.default_rng(budget.seed).uniform(piece.low, piece.high, (DRAWN, len(piece.low)))
    states = states[piece.contains(states)]
    if len(states) < LEAST:
        return
    slopes = _barrier_slopes(piece, states) @ moving.control
    known = np.column_stack([states, np.ones(len(states))])
    solved = -np.linalg.lstsq(known, slopes, rcond=None)[0].astype(np.float64)
    largest = np.abs(known @ solved).max(axis=0)
    if not np.all(largest > 0):
        return
    room = np.array([float((high or 0) - (low or 0)) / 2 for _, low, high in system.controls])
    for times in STRENGTHS:
        if budget.is_spent():
            return
        rule = solved * (times * float((room / largest).min()))
        gain = Gain(rule[:-1].T, rule[-1])
        controls = float_system(system, ()).clip_controls(gain.controls(states))
        if not piece.contains(moving.step(states, controls)).all():
            continue
        if (made := _prove_same_set(system, branch, gain, budget)) is not None:
            yield ShieldRule(gain.terms(system), made)


def _barrier_slopes(piece: FloatRule, states: Floats) -> Floats:
    steps = np.diag((piece.high - piece.low) * CLOSE)
    return np.column_stack([
        (piece.highest(states + step) - piece.highest(states - step)) / (2 * step.max()) for step in steps
    ])  # fmt: skip


def _prove_same_set(
    system: ControlSystem, branch: ShieldRule, gain: Gain, budget: Budget
) -> InvariantSet | None:
    covers = covered_by(branch.set)
    where = scale_system(system, gain.terms(system), branch.set.domain, tested=True)
    rows = [where.of(row) for row in barrier_rows(branch.set.barrier)]
    try:
        made = prove_invariant_set(
            where, rows, covers[0] if covers else None, saturation_cases(system)[-1], True, budget
        )
        for cover in covers[1:]:
            made = cover_start_box(where, made, cover, budget)
    except Unproved:
        return None
    return made
