"""Runs to look at, with and without a shield, made by the reference semantics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import isfinite
from random import Random

from surefoot.errors import SurefootError
from surefoot.problem.meaning.simulate import simulate_run
from surefoot.problem.policy import Branch, NeuralPolicy, OraclePolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State, holds_in_state, policy_decision
from surefoot.reductions.barrier import ControlSystem
from surefoot.term.term import TRUE, Const

RUNS, STEPS = 8, 250
FEWER_RUNS, FEWER_STEPS, MANY_VARIABLES = 4, 100, 5  # the reference semantics is slow with many variables
FARTHEST = 1e9  # a run that is further away has left every picture
Range = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class SampleRun:
    """`interventions`: how often a shield overruled what was proposed; `unsafe`: its last state is."""

    shielded: bool
    states: tuple[tuple[float, ...], ...]
    unsafe: bool
    interventions: int = 0


def sample_shield_runs(
    problem: Problem, system: ControlSystem, boxes: Sequence[Sequence[Range]], seed: int
) -> tuple[tuple[SampleRun, ...], str]:
    """Runs from these boxes of starts, and who proposes the controls.

    `problem`: as it is executed. If its policy is a shield, every start has a run with it and one without. A
    network proposes its own controls; if there is none, controls are proposed that push to one side.
    """
    random, policy = Random(seed), problem.policy
    starts = _sample_starts(system, boxes, random)
    if not isinstance(policy, ShieldedPolicy):
        return tuple(_simulate_run(problem, system, s, random, shielded=False) for s in starts), "the program"
    inner = policy.policy
    pushed = not isinstance(inner, NeuralPolicy | OraclePolicy)
    found = []
    for number, start in enumerate(starts):
        proposing = _extreme_policy(system, up=number % 2 == 0) if pushed else inner
        without = replace(problem, policy=proposing)
        shielded = replace(problem, policy=replace(policy, policy=proposing))
        found.append(_simulate_run(without, system, start, random, shielded=False))
        found.append(_simulate_run(shielded, system, start, random, shielded=True))
    return tuple(found), "all controls at one end of their range are proposed" if pushed else "the network"


def _sample_starts(system: ControlSystem, boxes: Sequence[Sequence[Range]], random: Random) -> list[State]:
    """Half of them at corners, the others anywhere."""
    count = RUNS if len(system.variables) < MANY_VARIABLES else FEWER_RUNS
    corners = list(product((0.0, 1.0), repeat=min(len(system.variables), 10)))
    random.shuffle(corners)
    found: list[State] = []
    for number in range(count):
        box, corner = boxes[number % len(boxes)], corners[number % len(corners)]
        shares = [
            corner[i % len(corner)] if number < count // 2 else random.random() for i in range(len(box))
        ]
        values = (
            min(max(float(low) + (float(high) - float(low)) * share, float(low)), float(high))
            for (low, high), share in zip(box, shares, strict=True)
        )
        exact = (v if system.rounded else Fraction(v) for v in values)
        found.append(dict(zip(system.variables, exact, strict=True)))
    return found


def _extreme_policy(system: ControlSystem, *, up: bool) -> Policy:
    """All controls at their upper, or at their lower end."""
    ends = [(high if up else low) or Fraction(0) for _, low, high in system.controls]
    return ProgramPolicy((Branch(TRUE, tuple(Const(e) for e in ends)),))


def _simulate_run(
    problem: Problem, system: ControlSystem, start: State, random: Random, *, shielded: bool
) -> SampleRun:
    """Until the first unsafe state, or as far as there is anything to see."""
    states, interventions = [start], 0
    for _ in range(STEPS if len(system.variables) < MANY_VARIABLES else FEWER_STEPS):
        here = states[-1]
        if holds_in_state(problem, here, system.unsafe):
            break
        try:
            made = policy_decision(problem, here) if shielded else None
            following = simulate_run(problem, here, 1, random).states[-1]
        except SurefootError:
            break
        interventions += made is not None and made.intervened
        if not all(isfinite(float(v)) and abs(float(v)) < FARTHEST for v in following.values()):
            break
        states.append(following)
    last = holds_in_state(problem, states[-1], system.unsafe)
    shown = tuple(tuple(float(s[n]) for n in system.variables) for s in states)
    return SampleRun(shielded, shown, last, interventions)
