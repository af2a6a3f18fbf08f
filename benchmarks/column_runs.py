"""Steps per second of `statistical` on CartPole with a 4-64-64-2 ReLU policy: interpreted, and in columns.

`python -m benchmarks.column_runs` prints processor seconds. Both make the same runs, with the same bits, from
starts that are drawn uniformly; the run ends when the pole falls or after 500 steps.
"""

from __future__ import annotations

from fractions import Fraction
from time import process_time
from typing import Literal

from benchmarks.batch_simulation import cart_pole
from surefoot.simulate.path_property import PathProperty
from surefoot.simulate.simulator import make_simulator
from surefoot.term.parser import parse_term

FALLEN = "x > 2.4 or x < -2.4 or angle > 0.2095 or angle < -0.2095"
STEPS = 500


def steps_per_second(tier: Literal["columns", "interpreter"], runs: int) -> tuple[float, list[int]]:
    """And how many steps each of the first runs made."""
    watched = PathProperty(parse_term(FALLEN), high=STEPS)
    simulator = make_simulator(cart_pole(), watched, max_steps=STEPS, tier=tier, drawn=True)
    simulator.runs(1, None, 0, 8 if tier == "interpreter" else 16_384)  # what is compiled when first used
    before = process_time()
    found = simulator.runs(0, None, 0, runs)
    seconds = process_time() - before
    return int(found.steps.sum()) / seconds, found.steps[:100].tolist()


def main() -> None:
    slow, expected = steps_per_second("interpreter", 100)
    print(f"interpreted: {slow:,.0f} steps a second", flush=True)
    for runs in (256, 4_096, 65_536):
        fast, found = steps_per_second("columns", runs)
        assert found == expected, "the runs are not the same"
        times = Fraction(round(fast), round(slow))
        print(f"columns, {runs:,} runs: {fast:,.0f} steps a second ({float(times):,.0f} times)", flush=True)


if __name__ == "__main__":
    main()
