"""Charts: every point is drawn inside the frame, ticks are round and few."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from surefoot.report.drawing.frame import tick_values
from surefoot.report.run_chart import HEIGHT, WIDTH, Series, line_chart

values = st.floats(-1e30, 1e30, allow_nan=False)


@given(st.lists(values, min_size=1, max_size=12))
def test_points_lie_in_the_frame(given_values: list[float]) -> None:
    drawn = line_chart("y", [Series("y", tuple(enumerate(given_values)))])
    spots = re.findall(r'<circle cx="(.*?)" cy="(.*?)"', drawn)
    assert len(spots) == len(given_values)
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in spots)


@given(values, st.floats(1e-6, 1e6))
def test_few_ticks(low: float, width: float) -> None:
    high = low + width
    if high > low:
        assert len(tick_values(low, high)) <= 9
        assert all(low - width <= t <= high + width for t in tick_values(low, high))


def test_without_points_there_is_no_chart() -> None:
    assert line_chart("y", [Series("y", ((0, float("nan")),))]) == ""


def test_labels_are_escaped() -> None:
    assert "<b>" not in line_chart("<b>", [Series("<b>", ((0, 1.0), (1, 2.0)))])
