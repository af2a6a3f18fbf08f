"""How often the intervals of engine `statistical` contain the true value: repeated experiments.

    python -m benchmarks.coverage --experiments 10000
    python -m benchmarks.coverage --experiments 10000 --break-off
    python -m benchmarks.coverage --racetrack FOLDER --experiments 200

Each experiment has its own seed and goes through simulation and plan as in a check. The first command asks
for the probabilities of 12 chains that are known: 0, 0.001, 0.01, 0.1, 0.5, 0.9, 1, a walk of several steps,
and mixtures with runs that stall and runs that are cut off. Beside it stands the normal approximation (Wald),
stopped at the same width after 100 runs or more, as a control: it must fail. With `--break-off` somebody who
knows the true value looks again and again while runs come in, and breaks the experiment off as soon as its
interval does not contain that value: the worst that a timeout or a key could do. The third one takes the ten
published policies of FOLDER (`jani/racetrack-policies`) on the published Racetrack model beside it, and the
values of engine `explicit`. Exit 1 if a share of misses is more than three standard deviations above delta
(chains) or refused by a binomial test at 1 % (policies), or if the control passes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from tests.engines.statistical.chains import mix, walk  # noqa: E402

from surefoot.engines.explicit import Explicit  # noqa: E402
from surefoot.engines.pctl_question import pctl_question  # noqa: E402
from surefoot.engines.statistical import Statistical  # noqa: E402
from surefoot.engines.statistical.answer import (  # noqa: E402
    build_simulator,
    simulation_options,
    statistical_question,
    watched_runs,
)
from surefoot.engines.statistical.question import ProbabilityQuestion, StartCell, run_outcomes  # noqa: E402
from surefoot.formats.jani import read_jani  # noqa: E402
from surefoot.formats.onnx import read_onnx_network  # noqa: E402
from surefoot.problem.policy import EdgesOf, NeuralPolicy  # noqa: E402
from surefoot.problem.problem import Problem  # noqa: E402
from surefoot.problem.property import Probability  # noqa: E402
from surefoot.simulate.path_property import RunOutcomes  # noqa: E402
from surefoot.solvers.sampling.fixed_plans import next_look  # noqa: E402
from surefoot.solvers.sampling.plan import ConfidenceInterval  # noqa: E402
from surefoot.term.term import Var  # noqa: E402
from surefoot.term.value_types import Arithmetic  # noqa: E402
from surefoot.verdict.verdict import Exact  # noqa: E402
from surefoot.work.budget import Budget  # noqa: E402

_PART = Fraction(1, 20)
OBSERVED = (
    *("car_dx", "car_dy", "car_x", "car_y", "dist_east", "dist_north", "dist_north_east", "dist_north_west"),
    *(
        "dist_south",
        "dist_south_east",
        "dist_south_west",
        "dist_west",
        "goal_dist",
        "goal_dist_x",
        "goal_dist_y",
    ),
)
EPISODES = (999, *range(2999, 19999, 2000))
WALD_LEAST, WALD_QUANTILE = 100, 1.959963984540054


def chains() -> dict[str, tuple[Problem, Fraction]]:
    """By name: a problem and its probability."""
    plain = ("0", "0.001", "0.01", "0.1", "0.5", "0.9", "1")
    found = {f"p = {text}": (mix(Fraction(text)), Fraction(text)) for text in plain}
    steps = walk("P=? [ F x = 4 ]")
    found["walk of several steps"] = (steps, Fraction(1, 15))
    doubles = replace(steps.environment, arithmetic=Arithmetic.FLOAT64)  # in columns; 1/3 is off by 2^-54
    found["walk in float64"] = (replace(steps, environment=doubles), Fraction(1, 15))
    for text, good, long, stuck in (
        ("2 % cut off", Fraction(1, 2), Fraction(1, 50), 0),
        ("5 % cut off", Fraction(1, 10), _PART, 0),
        ("30 % stall", Fraction(3, 10), 0, Fraction(3, 10)),
        ("3 % cut off, 20 % stall", Fraction(1, 5), Fraction(3, 100), Fraction(1, 5)),
    ):
        leaving = (
            Fraction(1, 10**9) if long else Fraction(0)
        )  # half of those that turn round come to the good end
        problem = mix(good, Fraction(long), Fraction(stuck), leaving)
        found[f"p = {float(good):g}, {text}"] = (problem, good + Fraction(long) / 2)
    return found


@dataclass(frozen=True, slots=True)
class Row:
    """The experiments on one problem."""

    name: str
    value: float
    experiments: int
    missed: int
    wald_missed: int
    mean_runs: float
    seconds: float  # of processor time


def measured(
    name: str,
    problem: Problem,
    value: tuple[Fraction, Fraction],
    engine: Statistical,
    seeds: range,
    break_off: bool = False,
) -> Row:
    """A miss: no number between the two ends of the true value is in the interval."""
    assert isinstance(problem.property, Probability)
    simulated, path = watched_runs(problem, pctl_question(problem.property, "max"))
    simulator = build_simulator(simulated, path, *simulation_options(engine, problem))
    question = statistical_question(engine, problem, 1, Budget())
    assert isinstance(question, ProbabilityQuestion)
    longest = int(WALD_QUANTILE**2 / (4 * float(engine.eps) ** 2)) + 1  # runs after which Wald has stopped
    missed = wald = runs = 0
    started = time.process_time()
    start = 0 if len(simulator.starts) == 1 else None
    for seed in seeds:
        cell, sample = StartCell(start, question, question.begin()), np.empty(0, dtype=np.uint8)
        while cell.open:
            more = simulator.runs(seed, start, cell.runs, max(64, question.ahead(cell.state)))
            sample = np.concatenate([sample, run_outcomes(more, question.negated)])
            if break_off:
                if looked_away(cell, more, value):
                    break
            else:
                cell.arrive(cell.runs, more)
        if len(sample) < longest:
            rest = simulator.runs(seed, start, len(sample), longest - len(sample))
            sample = np.concatenate([sample, run_outcomes(rest, question.negated)])
        missed += not is_hit(question.interval(cell.state), value)
        runs += cell.runs
        wald += wald_misses(sample, float(value[0]), float(engine.eps))
    spent = time.process_time() - started
    return Row(name, float(value[0]), len(seeds), missed, wald, runs / len(seeds), round(spent, 1))


def looked_away(cell: StartCell, runs: RunOutcomes, value: tuple[Fraction, Fraction]) -> bool:
    """Take some of these runs after the other; true as soon as the interval does not contain the value."""
    first, end = cell.runs, cell.runs + len(runs.outcome)
    while cell.open and cell.runs < end:
        part = slice(cell.runs - first, min(next_look(cell.runs), end) - first)
        columns = (runs.outcome, runs.steps, runs.reward_low, runs.reward_high)
        cell.arrive(cell.runs, RunOutcomes(*(column[part] for column in columns)))
        if not is_hit(cell.question.interval(cell.state), value):
            return True
    return False


def is_hit(known: ConfidenceInterval, value: tuple[Fraction, Fraction]) -> bool:
    return known.low <= value[1] and value[0] <= known.high


def wald_misses(sample: NDArray[np.uint8], value: float, eps: float) -> bool:
    """The normal approximation on the same runs; a run that was cut off counts as a failure."""
    runs = np.arange(1, len(sample) + 1)
    share = np.cumsum(sample == 1) / runs
    half = WALD_QUANTILE * np.sqrt(share * (1 - share) / runs)
    stopped = np.flatnonzero((runs >= WALD_LEAST) & (half <= eps))
    at = stopped[0] if len(stopped) else len(sample) - 1
    return bool(abs(share[at] - value) > half[at])


def allowed(experiments: int, delta: Fraction) -> float:
    """Delta and three standard deviations."""
    nominal = float(delta)
    return experiments * nominal + 3 * (experiments * nominal * (1 - nominal)) ** 0.5


def racetrack(
    folder: Path, episodes: Sequence[int] = EPISODES
) -> dict[str, tuple[Problem, tuple[Fraction, Fraction]]]:
    """The published policies, and their goal probabilities as `explicit` has them."""
    model = read_jani(folder.parent / "racetrack" / "racetrack_barto_sml.jani", {})
    found = {}
    for episode in episodes:
        network = read_onnx_network(folder / f"ep{episode}.onnx")
        policy = NeuralPolicy(network, tuple(map(Var, OBSERVED)), EdgesOf("car"))
        problem = Problem(f"ep{episode}", model.environment, policy, model.properties["goalProbability"])
        value = Explicit().check(problem, Budget(300))
        assert isinstance(value, Exact)
        assert value.low is not None
        assert value.high is not None
        found[problem.name] = (problem, (value.low, value.high))
    return found


def accepted(missed: int, experiments: int, delta: Fraction) -> bool:
    """A binomial test at 1 %: so many misses or more are not less likely than that."""
    from scipy.stats import binom

    return float(binom.sf(missed - 1, experiments, float(delta))) >= 0.01


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--experiments", type=int, default=10_000)
    parser.add_argument("--eps", type=Fraction, default=Fraction(1, 20))
    parser.add_argument("--delta", type=Fraction, default=Fraction(1, 20))
    parser.add_argument("--method", default="clopper-pearson")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--break-off", action="store_true")
    parser.add_argument("--racetrack", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    steps = 10_000 if given.racetrack else 100
    engine = Statistical(given.eps, given.delta, given.method, max_steps=steps)
    seeds = range(given.first_seed, given.first_seed + given.experiments)
    if given.racetrack:
        problems = racetrack(given.racetrack)
    else:
        problems = {name: (problem, (p, p)) for name, (problem, p) in chains().items()}
    rows = []
    for name, (problem, value) in problems.items():
        row = measured(name, problem, value, engine, seeds, given.break_off)
        rows.append(row)
        shares = f"missed {row.missed / row.experiments:7.4f}, Wald {row.wald_missed / row.experiments:7.4f}"
        print(
            f"{name:28} {row.value:9.6f}  {shares}  {row.mean_runs:9.1f} runs  {row.seconds:6.1f} s",
            flush=True,
        )
    limit = allowed(given.experiments, given.delta)
    if given.racetrack:
        failed = [r.name for r in rows if not accepted(r.missed, r.experiments, given.delta)]
        wrong = bool(failed)
    else:
        failed = [r.name for r in rows if r.missed > limit]
        control = [r.name for r in rows if r.wald_missed > limit]
        print(f"allowed: {limit / given.experiments:.4f}; the control fails on {len(control)} of {len(rows)}")
        wrong = bool(failed) or not control
    print(f"too many misses: {', '.join(failed) or 'none'}")
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
