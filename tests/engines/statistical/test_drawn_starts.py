"""Starts that are drawn by a law: averages over them, in every tier, in words and in JSON."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from tests.simulate.test_compiled import same

from surefoot.engines.explicit import Explicit
from surefoot.engines.statistical import Statistical
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.problem import Problem
from surefoot.problem.property import Probability
from surefoot.simulate.drawn_starts import DrawnStarts
from surefoot.simulate.path_property import UNDECIDED, PathProperty
from surefoot.simulate.simulator import make_simulator
from surefoot.term.parser import parse_term
from surefoot.verdict.verdict import Estimated, PerStart
from surefoot.work.budget import Budget

SLIDE = """
name = "slide"
arithmetic = "float64"
initial = "0 <= x <= 1 and -1 <= v <= 1"
[variables]
x = "real"
v = "real"
{laws}
[[edges]]
chosen = {{ w = {{ kind = "real", law = "uniform(-0.1, 0.1)" }} }}
updates = {{ x = "x + 0.5 * v + w" }}
[properties]
out = "Pmax=? [ F<=3 x > 1 ]"
high = "Pmax=? [ F<=0 x > 0.7 ]"
"""
LAWS = '[starts]\nx = "normal(0.5, 0.1)"'
DICE = """
initial = "1 <= n <= 6"
[variables]
n = "int 0..9"
[[edges]]
updates = { n = "n" }
[properties]
low = "Pmax=? [ F n <= 2 ]"
"""


def slide(tmp_path: Path, laws: str = "", name: str = "out") -> Problem:
    path = tmp_path / "slide.toml"
    path.write_text(SLIDE.format(laws=laws))
    return read_problem_file(path, property=name)


def estimate(problem: Problem, **options: object) -> Estimated:
    engine = Statistical(**options)  # type: ignore[arg-type]
    assert engine.objection(problem) is None
    found = engine.check(problem, Budget(60))
    assert isinstance(found, Estimated)
    return found


@pytest.mark.parametrize("laws", ["", LAWS])
def test_tiers_make_the_same_runs(tmp_path: Path, laws: str) -> None:
    asked, what = slide(tmp_path, laws), PathProperty(parse_term("x > 1"), high=4, reward=parse_term("x"))
    fast, slow = (
        make_simulator(asked, what, max_steps=10, tier=t, drawn=True) for t in ("columns", "interpreter")
    )
    assert same(fast, slow, 3, None, 200, 120) == "same"
    parts = [fast.runs(3, None, first, 40).steps for first in (200, 240, 280)]
    assert np.concatenate(parts).tolist() == slow.runs(3, None, 200, 120).steps.tolist()
    assert make_simulator(asked, what, max_steps=10, drawn=True).tier == "columns"


def test_a_box_is_a_uniform_law(tmp_path: Path) -> None:
    found = estimate(slide(tmp_path, name="high"), starts="uniform", eps=Fraction(1, 50))
    assert found.low <= Fraction(3, 10) <= found.high
    assert found.starts == "uniform in a box"


def test_declared_laws_are_used_where_an_average_is_asked_for(tmp_path: Path) -> None:
    asked = slide(tmp_path, LAWS, "high")
    assert isinstance(asked.property, Probability)
    average = replace(asked, property=replace(asked.property, over="avg"))
    for found in (
        estimate(average, eps=Fraction(1, 50)),
        estimate(asked, starts="uniform", eps=Fraction(1, 50)),
    ):
        assert found.low <= Fraction("0.02275") <= found.high
        assert found.starts == "by the laws of `x`; uniform in a box"
    assert "these have laws" in (Explicit().objection(average) or "")
    with pytest.raises(Unsupported, match="over avg"):  # the greatest value of all starts
        Statistical().check(asked, Budget(60))


def test_a_list_is_a_uniform_law_in_machine_code(tmp_path: Path) -> None:
    path = tmp_path / "dice.toml"
    path.write_text(DICE)
    asked = read_problem_file(path)
    assert make_simulator(asked, PathProperty(parse_term("n <= 2")), max_steps=9, drawn=True).tier == "llvm"
    found = estimate(asked, starts="uniform", eps=Fraction(1, 50))
    assert found.low <= Fraction(1, 3) <= found.high
    assert found.starts == "list of 6 starts"
    plain = estimate(asked, eps=Fraction(1, 50))  # the greatest of all starts, as before
    assert (plain.high, plain.starts) == (1, "")


def test_what_is_no_law_is_refused(tmp_path: Path) -> None:
    asked = slide(tmp_path)
    tied = replace(
        asked.environment, initial=parse_term("0 <= x <= 1 and 0 <= v and x + v <= 1 and v <= x * x")
    )
    with pytest.raises(Unsupported, match="not a uniform law that can be drawn") as refused:
        DrawnStarts(tied)
    assert "declare their laws in [starts]" in refused.value.fix
    assert isinstance(asked.property, Probability)
    summed = replace(asked, property=replace(asked.property, over="sum"))
    assert "one average" in (Statistical(starts="uniform").objection(summed) or "")
    with pytest.raises(InvalidProblem, match="no law of starts `even`"):
        Statistical(starts="even")
    with pytest.raises(Unsupported, match="--starts uniform"):
        Statistical().check(asked, Budget(60))


def test_cells_of_a_box(tmp_path: Path) -> None:
    asked = slide(tmp_path)
    assert isinstance(asked.property, Probability)
    every = replace(asked, property=replace(asked.property, over="values"))
    found = Statistical(starts="uniform", cells="v:4", eps=Fraction(1, 20)).check(every, Budget(60))
    assert isinstance(found, PerStart)
    assert [state for state, _ in found.table] == [{"v": v} for v in (-0.75, -0.25, 0.25, 0.75)]
    values = [verdict for _, verdict in found.table]
    assert all(isinstance(v, Estimated) for v in values)
    assert values[0].high < values[3].low  # type: ignore[union-attr]
    assert values[3].starts == "uniform in a box, with v from 0.5 to 1"  # type: ignore[union-attr]
    for wrong, what in (
        ("z:3", "`z` is no number"),
        ("x:0", "no number of cells"),
        ("x:900,v:900", "too many"),
    ):
        with pytest.raises(InvalidProblem, match=what):
            Statistical(starts="uniform", cells=wrong).check(every, Budget(60))


HALF = """
arithmetic = "float64"
initial = "-1 <= x <= 1 and n = 0"
[variables]
x = "real"
n = "real"
[[edges]]
updates = { n = "n + 1" }
[properties]
quick = "Pmax=? [ F x > 0 and n >= 3 ]"
"""


def test_runs_that_are_over_count_where_others_of_their_batch_take_longer_than_there_is_time(
    tmp_path: Path,
) -> None:
    """Half of all runs succeed after three steps, the others never: the first batch never ends."""
    path = tmp_path / "half.toml"
    path.write_text(HALF)
    asked = read_problem_file(path, property="quick")
    engine = Statistical(starts="uniform", max_steps=10**9)
    found = engine.check(asked, Budget(4))
    assert isinstance(found, Estimated)
    assert found.stop == "timeout"
    assert Fraction(1, 3) < found.low < Fraction(1, 2)
    assert found.high == 1  # who is under way may still succeed
    assert found.counts["undecided"] > found.counts["runs"] // 4


def test_runs_end_at_a_moment_if_they_are_in_step(tmp_path: Path) -> None:
    path = tmp_path / "half.toml"
    path.write_text(HALF)
    asked = read_problem_file(path, property="quick")
    what = PathProperty(parse_term("x > 0 and n >= 3"), reward="steps")
    simulator = make_simulator(asked, what, max_steps=10**9, drawn=True)
    assert simulator.tier == "columns"
    made = simulator.runs(5, None, 0, 6000, monotonic() + 1)
    whole = make_simulator(asked, what, max_steps=50, drawn=True).runs(5, None, 0, 6000)
    begun = len(made.outcome)
    assert 4096 <= begun <= 6000
    over = made.outcome != UNDECIDED
    assert (made.outcome[over] == whole.outcome[:begun][over]).all()
    assert (whole.outcome[:begun][~over] == UNDECIDED).mean() > 0.9  # the others were really under way
    assert over.any()
    assert not over.all()
