"""Which start falls into which cell, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.report.heatmap.tables import table

from surefoot.errors import InvalidProblem
from surefoot.report.heatmap.cells import HeatMap, heat_map, parse_view
from surefoot.report.heatmap.start_values import Aggregate, StartValue, Table, value_table


def drawn(
    rows: Table, x: str | None = None, y: str | None = None, *where: str, how: Aggregate = "max"
) -> HeatMap:
    view = parse_view([rows], x, y, where)
    return heat_map("value", rows, view, how)


def grid() -> Table:
    return [
        (
            {"x": x, "v": v, "f": Fraction(v, 3), "on": x > 1, "a": (x, v)},
            StartValue(Fraction(x * v), Fraction(x * v)),
        )
        for x in (0, 1, 4)
        for v in (-1, 0, 1)
    ]


def test_variables_that_differ_are_the_axes() -> None:
    map = drawn(value_table(table()))
    assert map.x.name == "x"
    assert map.y is not None
    assert map.y.name == "y"
    assert set(map.places()) == {(0, 0), (1, 0), (2, 0), (0, 1), (2, 1)}
    assert map.aggregate is None


def test_whole_numbers_between_are_cells_too() -> None:
    map = drawn(grid(), "x", "v")
    assert map.x.values == (0, 1, 2, 3, 4)
    assert set(map.places()) == {(x, v) for x in (0, 1, 4) for v in (0, 1, 2)}
    assert map.places()[(4, 0)].value.displayed_value() == -4


@pytest.mark.parametrize(("how", "value"), [("min", -4), ("max", 4), ("mean", 0)])
def test_the_rest_is_aggregated(how: Aggregate, value: int) -> None:
    map = drawn(grid(), "x", how=how)
    cell = map.places()[(4, 0)]
    assert cell.value.displayed_value() == value
    assert len(cell.starts) == 3
    assert map.aggregate == how
    assert map.others == ("v", "f", "a")
    if how != "mean":
        assert cell.starts[0]["x"] * cell.starts[0]["v"] == value


def test_or_fixed() -> None:
    map = drawn(grid(), "x", None, "v = 1", "x < 4")
    assert [c.starts for c in map.cells] == [(grid()[2][0],), (grid()[5][0],)]
    assert map.aggregate is None


def test_terms_fractions_truth_values_and_elements() -> None:
    assert drawn(grid(), "x + v", "f").x.values == tuple(range(-1, 6))
    assert drawn(grid(), "f").x.values == (Fraction(-1, 3), 0, Fraction(1, 3))
    assert drawn(grid(), "on").x.values == (False, True)
    assert drawn(grid(), "a[0]").x.values == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("x", "y", "where", "said"),
    [
        ("speed_x", None, (), "no state variable `speed_x`"),
        ("a", None, (), "`a` is an array"),
        (None, "x", (), "--y needs --x"),
        (None, None, (), "do not differ in one or two variables"),
        ("x", None, ("x > 7",), "no start satisfies"),
        ("1 / x", None, (), "no value in some start"),
    ],
)
def test_refused(x: str | None, y: str | None, where: tuple[str, ...], said: str) -> None:
    with pytest.raises(InvalidProblem, match=said):
        drawn(grid(), x, y, *where)


def test_nothing_to_draw() -> None:
    with pytest.raises(InvalidProblem, match="no start"):
        parse_view([[]])


def test_two_tables_share_their_axes() -> None:
    first, second = grid()[:3], grid()[3:6]
    view = parse_view([first, second], "x", "v")
    assert heat_map("value", second, view).cells[0].column == 1
