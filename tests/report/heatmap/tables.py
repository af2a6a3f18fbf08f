"""A small table with every kind of answer: two rows of three cells, one of them empty."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from surefoot.report.heatmap.cells import heat_map, parse_view
from surefoot.report.heatmap.heat_figure import Figure, Panel, build_figure
from surefoot.report.heatmap.start_values import Aggregate, Table, value_table
from surefoot.verdict.verdict import Estimated, Exact, PerStart, Reason, Unknown


def estimated(low: str, high: str, runs: int = 100) -> Estimated:
    return Estimated(
        Fraction(low), Fraction(high), Fraction("0.95"), {"runs": runs, "succeeded": runs // 2, "failed": 3}
    )


def table() -> PerStart:
    return PerStart(
        (
            ({"x": 0, "y": 0, "speed": 0}, estimated("0.1", "0.3")),
            ({"x": 1, "y": 0, "speed": 0}, estimated("0.85", "0.95", 4096)),
            ({"x": 2, "y": 0, "speed": 0}, Exact(Fraction(1), Fraction(1), None)),
            ({"x": 0, "y": 1, "speed": 0}, Unknown(Reason.TIMEOUT, "the time ended <soon> & late")),
            ({"x": 2, "y": 1, "speed": 0}, Exact(None, None, None)),
        )
    )


def small(found: Table | None = None, aggregate: Aggregate = "max", down: bool = False) -> Figure:
    rows = value_table(table()) if found is None else found
    view = parse_view([rows])
    map = heat_map("value", rows, view, aggregate)
    return build_figure(
        "a <small> map", [Panel("first & last", map, "probability", "P=? [ F goal ]")], down=down
    )


def write_constant(path: Path, biases: tuple[float, float]) -> None:
    """A network of two inputs whose outputs do not depend on them."""
    lines = ["2,2,2,2,", "2,2,2,", "0,", "-9.0,-9.0,", "9.0,9.0,", "0.0,0.0,0.0,", "1.0,1.0,1.0,"]
    lines += ["0.0,0.0,", "0.0,0.0,", "0.0,", "0.0,", "0.0,0.0,", "0.0,0.0,", *(f"{b}," for b in biases)]
    path.write_text("\n".join(lines) + "\n")
