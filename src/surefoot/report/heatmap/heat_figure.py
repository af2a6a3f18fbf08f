"""Heat maps side by side: what is told beside them, and one common scale for what can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any, Literal, TypeAlias

from surefoot.formats.result_json.exact_numbers import round_ends_outward
from surefoot.problem.property import Expected, Probability, Property
from surefoot.report.heatmap.cells import HeatCell, HeatMap
from surefoot.report.heatmap.colours import Scale
from surefoot.report.heatmap.learning_curve import Curve
from surefoot.report.heatmap.start_values import End, StartValue, Which, joint_confidence
from surefoot.report.run_table import format_number

Limits: TypeAlias = tuple[float, float] | Literal["auto"] | None
SpecialCell: TypeAlias = Literal["no start here", "unknown", "infinite", "wide interval"]
WIDE, TOO_WIDE = 0.2, 0.5  # of what is possible: such intervals are marked, and have no colour
CLOSE = 0.2  # probabilities that differ by no more have all colours for themselves
EVERY_PROBABILITY = Scale(0.0, 1.0)
DIGITS = 4  # of a number in a picture; JSON has them all
AGGREGATES = {"min": "least", "max": "greatest", "mean": "mean"}


@dataclass(frozen=True, slots=True)
class Panel:
    """One heat map with its heading. `facts`: the result it was made from, for JSON and for the page."""

    title: str
    map: HeatMap
    unit: str  # probability, expected steps, …; panels of one unit share a scale
    asked: str = ""  # the property
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels row by row. `down`: the second variable grows downwards, as in a text map."""

    title: str
    panels: tuple[Panel, ...]
    columns: int = 1
    down: bool = False
    end: End = "middle"
    scales: Mapping[str, Scale] = field(default_factory=dict)  # of each unit
    notes: tuple[str, ...] = ()
    curve: Curve | None = None


def measure_of(asked: Property) -> str:
    """What a property measures."""
    if isinstance(asked, Expected) and isinstance(asked.reward, str):
        return f"expected {asked.reward}"
    return "probability" if isinstance(asked, Probability) else "expected value"


def unit_of(which: Which, measure: str) -> str:
    """What the numbers of a map are."""
    match which:
        case "effort":
            return "log2 of the number of runs"
        case "gap":
            return f"gap of the {measure} to the optimum"
        case _:
            return measure


def build_figure(
    title: str,
    panels: Iterable[Panel],
    *,
    columns: int = 1,
    down: bool = False,
    end: End = "middle",
    limits: Limits = None,
    notes: Iterable[str] = (),
    curve: Curve | None = None,
) -> Figure:
    """Panels with scales that fit them; `limits` replace the ends of every scale."""
    shown = tuple(panels)
    scales = {unit: _choose_scale(unit, shown, end, limits) for unit in dict.fromkeys(p.unit for p in shown)}
    told = (*notes, *_figure_notes(shown, end))
    return Figure(title, shown, max(1, columns), down, end, scales, told, curve)


def _choose_scale(unit: str, panels: tuple[Panel, ...], end: End, limits: Limits) -> Scale:
    """As far as the numbers go; probabilities that are not close together from 0 to 1, unless `auto`."""
    if isinstance(limits, tuple):
        return Scale(*limits)
    shown = [c.value.displayed_value(end) for p in panels if p.unit == unit for c in p.map.cells]
    numbers = [float(n) for n in shown if n is not None] or [0.0]
    low, high = min(numbers), max(numbers)
    if unit == "probability" and limits is None and (high - low > CLOSE or low == high):
        return EVERY_PROBABILITY
    if unit.startswith("log2"):
        return Scale(float(floor(low)), float(max(ceil(high), floor(low) + 1)))
    if unit.startswith("gap"):
        return Scale(min(0.0, low), high if high > 0.0 else 1.0)
    return Scale(low, high if high > low else low + 1.0)


def with_every_probability(figure: Figure) -> Figure | None:
    """The same with colours from 0 to 1, if it has other ones for probabilities."""
    scales = {u: EVERY_PROBABILITY if u == "probability" else s for u, s in figure.scales.items()}
    return None if scales == figure.scales else replace(figure, scales=scales)


def _figure_notes(panels: tuple[Panel, ...], end: End) -> list[str]:
    told = []
    if end != "middle":
        told.append(f"drawn: the {'lower' if end == 'low' else 'upper'} end of each interval")
    elif any(c.value.confidence is not None for p in panels for c in p.map.cells):
        told.append("drawn: the middle of each confidence interval")
    if any(c.value.average_over for p in panels for c in p.map.cells):
        told.append("the value of a cell is an average over starts that were drawn in it")
    for aggregate in dict.fromkeys(p.map.aggregate for p in panels):
        if aggregate is not None:
            names = {n: None for p in panels for n in p.map.others if p.map.aggregate == aggregate}
            over = f" over {', '.join(names)}" if names else ""
            told.append(f"a cell shows the {AGGREGATES[aggregate]} value of its starts{over}")
    sure = {c.value.confidence for p in panels for c in p.map.cells if c.value.confidence is not None}
    if sure:
        of_maps = (joint_confidence(c.value for c in p.map.cells) for p in panels)
        together = min(c for c in of_maps if c is not None)
        whole = f"; of all in a map together: at least {_floor_confidence(together)}" if together > 0 else ""
        told.append(f"confidence of each interval: {_floor_confidence(min(sure))}{whole}")
    return told


def _floor_confidence(confidence: Fraction) -> str:
    """Never more than it is."""
    return f"{floor(confidence * 10**6) / 10**6:.6g}"


def shown_numbers(figure: Figure, unit: str) -> list[float]:
    """All numbers that are drawn on one scale."""
    shown = [drawn_number(figure, unit, c) for p in figure.panels if p.unit == unit for c in p.map.cells]
    return [n for n in shown if n is not None]


def drawn_number(figure: Figure, unit: str, cell: HeatCell | None) -> float | None:
    """What gives a cell its colour: nothing, where the middle of an interval would say nothing."""
    number = None if cell is None else cell.value.displayed_value(figure.end)
    if cell is None or number is None or _relative_width(figure, unit, cell) > TOO_WIDE:
        return None
    return float(number)


def _relative_width(figure: Figure, unit: str, cell: HeatCell) -> float:
    """How wide an interval is, as a share of all that is possible; 0 if one of its ends is drawn."""
    low, high = cell.value.low, cell.value.high
    if figure.end != "middle" or low is None or high is None:
        return 0.0
    scale = figure.scales[unit]
    possible = 1.0 if "probability" in unit else scale.high - scale.low
    return float(high - low) / possible


def special_kind(figure: Figure, unit: str, cell: HeatCell | None) -> SpecialCell | None:
    """What is special about a cell, if anything is."""
    if cell is None:
        return "no start here"
    if cell.value.is_infinite:
        return "infinite"
    if cell.value.displayed_value(figure.end) is None:
        return "unknown"
    return "wide interval" if _relative_width(figure, unit, cell) > WIDE else None


def special_kinds(figure: Figure, unit: str) -> list[SpecialCell]:
    """Which kinds of special cells the maps of one scale have."""
    maps = [p.map for p in figure.panels if p.unit == unit]
    found = {special_kind(figure, unit, c) for m in maps for c in m.cells}
    found |= {special_kind(figure, unit, None) for m in maps if len(m.cells) < len(m.x.values) * m.rows}
    return sorted(kind for kind in found if kind is not None)


def short_number(value: Fraction | float) -> str:
    """A number for a picture."""
    return f"{float(value):.{DIGITS}g}"


def value_text(figure: Figure, unit: str, cell: HeatCell) -> str:
    """The number of a cell in a few characters."""
    shown = drawn_number(figure, unit, cell)
    return short_number(shown) if shown is not None else special_kind(figure, unit, cell) or "unknown"


def interval_text(measured: StartValue) -> str:
    """Both ends, rounded outward, and with what confidence they hold."""
    if measured.trouble:
        return measured.trouble
    if measured.low is None:
        return "infinite"
    if measured.high is None:
        return f"at least {round_ends_outward(measured.low, measured.low, DIGITS + 2)[0]}"
    low, high = round_ends_outward(measured.low, measured.high, DIGITS + 2)
    sure = "" if measured.confidence is None else f" at {_floor_confidence(measured.confidence)}"
    return f"[{low}, {high}]{sure}"


def state_text(state: Mapping[str, Any]) -> str:
    """The variables of a state; locations are left out."""
    return ", ".join(
        f"{name} = {format_number(value)}" for name, value in state.items() if not name.startswith("@")
    )


def place_text(map: HeatMap, column: int, row: int) -> str:
    """Where a cell is."""
    told = {map.x.name: map.x.values[column]}
    if map.y is not None:
        told[map.y.name] = map.y.values[row]
    return state_text(told)


def cell_text(figure: Figure, panel: Panel, cell: HeatCell) -> str:
    """All of a cell in one line, for a pointer that rests on it."""
    place = place_text(panel.map, cell.column, cell.row)
    told = f"{place}: {value_text(figure, panel.unit, cell)}, {interval_text(cell.value)}"
    if runs := cell.value.counts.get("runs"):
        told += f", {runs} runs"
    return told if len(cell.starts) == 1 else f"{told}, {len(cell.starts)} starts"
