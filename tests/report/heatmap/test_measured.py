"""Values, gaps and effort of single starts and of several together."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from tests.report.heatmap.tables import estimated, table

from surefoot.report.heatmap.cells import heat_map, parse_view
from surefoot.report.heatmap.heat_figure import Panel, build_figure
from surefoot.report.heatmap.start_values import (
    End,
    StartValue,
    aggregate_values,
    effort_table,
    gap_table,
    value_table,
)


def test_every_kind_of_verdict() -> None:
    found = [value for _, value in value_table(table())]
    assert found[0].displayed_value() == Fraction("0.2")
    assert (found[0].displayed_value("low"), found[0].displayed_value("high")) == (
        Fraction("0.1"),
        Fraction("0.3"),
    )
    assert found[0].confidence == Fraction("0.95")
    assert found[2].confidence is None
    assert found[3].displayed_value() is None
    assert "the time ended" in found[3].trouble
    assert not found[3].is_infinite
    assert found[4].is_infinite


def test_effort_is_the_logarithm_of_the_runs() -> None:
    found = [value for _, value in effort_table(table())]
    assert found[1].displayed_value() == 12
    assert found[1].counts["runs"] == 4096
    assert "no runs" in found[2].trouble


def test_gap_contains_every_difference() -> None:
    state = {"x": 1}
    mine, best = (
        StartValue(Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)),
        StartValue(Fraction(3, 4), Fraction(1)),
    )
    ((_, gap),) = gap_table([(state, mine)], [(state, best)], "max")
    assert (gap.low, gap.high, gap.confidence) == (Fraction(1, 4), Fraction(3, 4), Fraction(9, 10))
    ((_, gap),) = gap_table([(state, mine)], [(state, best)], "min")
    assert (gap.low, gap.high) == (Fraction(-3, 4), Fraction(-1, 4))
    ((_, gap),) = gap_table([(state, mine)], [], "min")
    assert gap.trouble


@pytest.mark.parametrize("end", ["low", "middle", "high"])
def test_values_that_are_not_known_to_differ_have_no_gap(end: End) -> None:
    state, tiny = {"x": 0}, Fraction(1, 10**29)
    half = Fraction(1, 2)
    same = [
        (StartValue(half, half + tiny), StartValue(half + tiny, half + 3 * tiny)),  # they touch
        (StartValue(half, half), StartValue(half + tiny, half + tiny)),  # a difference that nobody prints
        (StartValue(half, half), StartValue(half - tiny, half - tiny)),
        (StartValue(Fraction(2, 5), half), StartValue(Fraction(9, 20), Fraction(3, 5))),
    ]
    for mine, best in same:
        ((_, gap),) = gap_table([(state, mine)], [(state, best)], "max")
        assert gap.displayed_value(end) == 0
        assert gap.low == best.low - mine.high  # type: ignore[operator]
    small = Fraction(1, 10**12)  # of values that are as small it is a difference
    ((_, gap),) = gap_table(
        [(state, StartValue(small, small))], [(state, StartValue(2 * small, 2 * small))], "max"
    )
    assert gap.displayed_value(end) == small
    both = [gap_table([(state, mine)], [(state, best)], "max")[0][1] for mine, best in same[:2]]
    assert aggregate_values(both, "max").displayed_value(end) == 0
    assert StartValue(-half, half).displayed_value("middle") == 0
    assert StartValue(-half, half).displayed_value("high") == half  # only differences are none


def test_a_scale_is_not_made_of_nothing() -> None:
    state, tiny = {"x": 0}, Fraction(1, 10**29)
    table = gap_table([(state, StartValue(tiny, tiny))], [(state, StartValue(tiny, 3 * tiny))], "max")
    view = parse_view([table], "x")
    map = heat_map("gap", table, view)
    panel = Panel("gap", map, "gap of the probability to the optimum", "", {})
    assert build_figure("all", [panel]).scales[panel.unit].high == 1.0


def test_gap_to_infinite_values() -> None:
    """Who never arrives is infinitely far from who does; of two who never do, nothing is said."""
    one, never, state = StartValue(Fraction(3), Fraction(3)), StartValue(None, None), {"x": 1}
    ((_, gap),) = gap_table([(state, never)], [(state, one)], "min")
    assert gap.is_infinite
    ((_, gap),) = gap_table([(state, one)], [(state, never)], "max")
    assert gap.is_infinite
    for mine, best in ((never, never), (one, never)):
        ((_, gap),) = gap_table([(state, mine)], [(state, best)], "min")
        assert gap.trouble


@pytest.mark.parametrize("how", ["min", "max", "mean"])
def test_together_contains_the_aggregate_of_all_values_inside(how: str) -> None:
    """Brute force: whatever values lie between the bounds, their aggregate lies between the joint ones."""
    generator = random.Random(1)
    fold = {"min": min, "max": max, "mean": lambda v: sum(v) / len(v)}[how]
    for _ in range(200):
        ends = [sorted(Fraction(generator.randrange(100), 100) for _ in range(2)) for _ in range(3)]
        joint = aggregate_values([StartValue(low, high) for low, high in ends], how)  # type: ignore[arg-type]
        assert joint.low == fold([low for low, _ in ends])
        assert joint.high == fold([high for _, high in ends])
        inside = fold([low + (high - low) * Fraction(generator.random()) for low, high in ends])
        assert joint.low <= inside <= joint.high


def test_confidence_of_several_is_what_the_union_bound_leaves() -> None:
    one = value_table(table())[0][1]
    assert aggregate_values([one, one, one], "max").confidence == Fraction("0.85")
    assert aggregate_values([one] * 30, "mean").confidence == 0
    assert aggregate_values([one, one], "max").counts["runs"] == 200


def test_an_unknown_start_makes_its_cell_unknown() -> None:
    known, unknown = StartValue(Fraction(1), Fraction(1)), StartValue(None, None, trouble="time")
    assert "1 of 2 starts: time" in aggregate_values([known, unknown], "max").trouble


def test_infinite_values_together() -> None:
    one, infinite = StartValue(Fraction(1), Fraction(2)), StartValue(None, None)
    assert aggregate_values([one, infinite], "min").displayed_value() == Fraction(3, 2)
    assert aggregate_values([one, infinite], "max").is_infinite
    assert aggregate_values([one, infinite], "mean").is_infinite


def test_a_lower_bound_alone_is_no_value() -> None:
    only = StartValue(Fraction(2), None)
    assert not only.is_infinite
    assert only.displayed_value() is None
    assert only.displayed_value("low") == 2


def test_counts_of_an_estimate() -> None:
    assert value_table(table())[0][1].counts == estimated("0.1", "0.3").counts
