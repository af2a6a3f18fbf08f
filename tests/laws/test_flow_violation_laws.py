"""Runs of linear systems, whose solutions are known: what is shown of a run is true of it, and mostly shown.

The solution is computed in fractions, by a series of which so many terms are taken that the rest is far below
everything that is compared.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest

from surefoot.certify.reach.claim import build_reach_certificate
from surefoot.engines.reach.validate_run import confirm_suspicion
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.problem import Problem
from surefoot.problem.property_parser import parse_property
from surefoot.problem.semantics import Move
from surefoot.reductions.discretise import discretise
from surefoot.verdict.artifact import SuspectedRun
from surefoot.verdict.verdict import Violated
from surefoot_checker.check import judge_certificate

Vector = list[Fraction]
TERMS = 40
PERIODS = 6
SAMPLES = 8  # of a period, where a condition is compared over time


def text_of(value: Fraction) -> str:
    return f"({value.numerator}/{value.denominator})"


@dataclass(frozen=True)
class LinearLoop:
    """x' = A x + u, y' = ... + w: one control from the state, one chosen value; all in fractions."""

    matrix: Sequence[Vector]
    gains: Vector
    winds: Vector  # period by period
    start: Vector
    period: Fraction

    def derivative(self, state: Vector, control: Fraction, wind: Fraction) -> Vector:
        rates = [sum((a * x for a, x in zip(row, state, strict=True)), Fraction(0)) for row in self.matrix]
        return [rates[0] + control, rates[1] + wind]

    def control(self, state: Vector) -> Fraction:
        return sum((k * x for k, x in zip(self.gains, state, strict=True)), Fraction(0))

    def flow(self, state: Vector, wind: Fraction, time: Fraction) -> Vector:
        """After some time of one period: x + t x' + t^2/2 x'' + …"""
        control, zero = self.control(state), Fraction(0)
        total, term = list(state), self.derivative(state, control, wind)
        factor = time
        for k in range(1, TERMS):
            total = [t + factor * d for t, d in zip(total, term, strict=True)]
            term = [sum((a * x for a, x in zip(row, term, strict=True)), zero) for row in self.matrix]
            factor = factor * time / (k + 1)
        return [Fraction(round(x * 10**30), 10**30) for x in total]

    def states_at(self, times: Sequence[Fraction]) -> list[Vector]:
        found, begins = [], {0: self.start}
        for time in times:
            period = int(time / self.period)
            for n in range(period):
                if n + 1 not in begins:
                    begins[n + 1] = self.flow(begins[n], self.winds[n], self.period)
            found.append(self.flow(begins[period], self.winds[period], time - period * self.period))
        return found

    def problem(self, folder: Path, asked: str) -> Problem:
        rates = [
            " + ".join(f"{text_of(a)} * {v}" for a, v in zip(row, "xy", strict=True)) for row in self.matrix
        ]
        control = " + ".join(f"{text_of(k)} * {v}" for k, v in zip(self.gains, "xy", strict=True))
        (folder / "linear.toml").write_text(
            'name = "linear"\ninitial = "-2 <= x <= 2 and -2 <= y <= 2"\n'
            '[variables]\nx = "real"\ny = "real"\n[controls]\nu = "[-1000, 1000]"\n'
            f'[flow]\ntime = "continuous"\nperiod = "{self.period}"\n'
            f'[flow.derivatives]\nx = "{rates[0]} + u"\ny = "{rates[1]} + w"\n'
            '[[edges]]\nchosen = { w = "real [-1/3, 1/3]" }\n'
            f'[policy.program]\nbranches = [{{ controls = ["{control}"] }}]\n'
            '[properties]\nasked = "never x > 5"\n',
            "utf-8",
        )
        read = discretise(read_problem_file(folder / "linear.toml"), continuous=True)
        return replace(read, property=parse_property(asked))

    def suspicion(self, time: Fraction) -> SuspectedRun:
        """As if somebody had seen a violation at that time."""
        moves = tuple(Move(Transition(((0, 0),), None), (0,), {"w": w}) for w in self.winds)
        start = dict(zip("xy", self.start, strict=True))
        shown = {name: float(value) for name, value in start.items()}
        return SuspectedRun((0.0, float(time)), (shown, shown), ({},), float(time), 1, "", 0.0, start, moves)


def random_loop(draw: random.Random) -> LinearLoop:
    def number(size: float) -> Fraction:
        return Fraction(round(draw.uniform(-size, size) * 100), 100)

    winds = [draw.choice([Fraction(-1, 3), Fraction(1, 3), number(0.3)]) for _ in range(PERIODS + 5)]
    return LinearLoop(
        [[number(1.5), number(1.5)], [number(1.5), number(1.5)]],
        [number(1), number(1)],
        winds,
        [number(2), number(2)],
        draw.choice([Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)]),
    )


def check_loop(seed: int, folder: Path) -> tuple[int, int]:
    """How often a violation is clear, and how often it was shown."""
    draw = random.Random(seed)
    loop = random_loop(draw)
    seen = [n * loop.period / SAMPLES for n in range(PERIODS * SAMPLES + 1)]
    states = loop.states_at(seen)
    sums = [x + y for x, y in states]
    bound = sums[draw.randrange(len(sums))] + Fraction(
        draw.choice([-1, 0, 0, 1]), draw.choice([10, 10**4, 10**9])
    )
    until, since = seen[-1], seen[draw.randrange(len(seen))]
    level = text_of(bound)
    inside = [s for t, s in zip(seen, sums, strict=True) if t >= since]
    first = next((n for n, s in enumerate(sums) if s > bound), len(sums))
    goal = Fraction(round(draw.uniform(-3, 3) * 100), 100)
    reached = any(x < goal for x, _ in states[:first])
    margin = Fraction(1, 10**6)
    cases = {  # what is asked: is it violated, as far as the samples tell; and clearly so?
        f"never x + y > {level} for {until} seconds": (max(sums) > bound, max(sums) > bound + margin),
        f"never x + y > {level} from {since} to {until} seconds": (
            max(inside) > bound,
            max(inside) > bound + margin,
        ),
        f"x + y > {level} at time {since}": (inside[0] <= bound, inside[0] < bound - margin),
        f"within {until} seconds x + y > {level} after {since} seconds": (max(inside) <= bound, False),
        f"never x + y > {level} before x < {goal} for {until} seconds": (
            first < len(sums) and not reached,
            False,
        ),
    }
    clear = shown = 0
    for asked, (violated, surely) in cases.items():
        problem = loop.problem(folder, asked)
        time = since if "at time" in asked else seen[min(first, len(seen) - 1)]
        time = max(time, since) if "from" in asked else time
        found = confirm_suspicion(problem, loop.suspicion(time))
        late = "from" in asked and isinstance(found, str)  # it may be bad much later than the moment told
        clear += surely and not late
        if isinstance(found, Violated):
            shown += surely
            assert violated or _is_between(loop, asked, found, bound), (seed, asked)
            assert found.certificate is not None
            last = loop.states_at([found.trace.times[-1]])[0]
            for value, told in zip(last, found.trace.states[-1].values(), strict=True):
                assert abs(value - Fraction(told)) < Fraction(1, 10**4) * (1 + abs(value))
            written = build_reach_certificate(problem, found.certificate.content, {}, "reach-violation")
            judged = judge_certificate(dict(written.content))
            assert judged.accepted, (seed, asked, judged.reason)
    return clear, shown


def _is_between(loop: LinearLoop, asked: str, found: Violated, bound: Fraction) -> bool:
    """A violation between the samples: at the moment that is told the sum is above the bound."""
    x, y = loop.states_at([found.trace.times[-1]])[0]
    return asked.startswith("never") and "before" not in asked and x + y > bound


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_what_is_shown_is_true(first: int, tmp_path: Path) -> None:
    counts = [check_loop(seed, tmp_path) for seed in range(first, first + 10)]
    clear, shown = (sum(column) for column in zip(*counts, strict=True))
    assert clear >= 5
    assert shown >= 0.9 * clear


@pytest.mark.parametrize("centre", [Fraction(1, 2), Fraction(3, 4), Fraction(11, 10)])
@pytest.mark.parametrize(("level", "violated"), [("0", False), ("1e-3", True), ("-1e-3", False)])
def test_touching_is_not_shown(centre: Fraction, level: str, violated: bool, tmp_path: Path) -> None:
    """x is (t - c)^2: at most 0 at one moment, below 0 never."""
    (tmp_path / "square.toml").write_text(
        f'name = "square"\ninitial = "x = {centre**2} and v = {-2 * centre}"\n'
        '[variables]\nx = "real"\nv = "real"\n[controls]\nu = "[-1, 1]"\n'
        '[flow]\ntime = "continuous"\nperiod = 0.5\n[flow.derivatives]\nx = "v"\nv = "2 + u"\n[[edges]]\n'
        '[policy.program]\nbranches = [{ controls = ["0"] }]\n[properties]\nasked = "never x <= 0"\n',
        "utf-8",
    )
    read = read_problem_file(tmp_path / "square.toml")
    for compare in ("<", "<="):
        problem = replace(read, property=parse_property(f"never x {compare} {level} for 2 seconds"))
        start = {"x": centre**2, "v": -2 * centre}
        shown = {name: float(value) for name, value in start.items()}
        moves = (Move(Transition(((0, 0),), None), (0,)),) * 3
        seen = SuspectedRun((0.0,), (shown,), ({},), float(centre), 1, "", 0.0, start, moves)
        found = confirm_suspicion(problem, seen)
        assert isinstance(found, Violated) is violated, found
