"""A figure for a terminal: a cell is a digit for its tenth of the scale, on its colour if there are any."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.report.heatmap.colours import Scale, colour_map
from surefoot.report.heatmap.heat_figure import (
    Figure,
    Panel,
    SpecialCell,
    drawn_number,
    short_number,
    shown_numbers,
    special_kind,
    special_kinds,
)
from surefoot.report.heatmap.learning_curve import Curve
from surefoot.report.run_table import format_number
from surefoot.visible import join_visible

SIGNS: dict[SpecialCell, str] = {"no start here": "·", "unknown": "?", "infinite": "∞", "wide interval": "~"}
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class ColouredText:
    """Text, and the colour behind it."""

    text: str
    colour: str | None = None


def terminal_lines(figure: Figure, width: int = 80) -> list[list[ColouredText]]:
    """The figure line by line; a map that is wider than the terminal is cut, and says so."""
    told: list[list[ColouredText]] = [
        [ColouredText(figure.title)],
        *([ColouredText(f"  {note}")] for note in figure.notes),
    ]
    if figure.curve is not None:
        told += _curve_lines(figure.curve, width)
    for panel in figure.panels:
        told += [[], *_panel_lines(figure, panel, width)]
    for unit, scale in figure.scales.items():
        told += [[], *_legend_lines(figure, unit, scale)]
    return told


def terminal_text(figure: Figure, width: int = 80) -> str:
    """The same without colours."""
    return (
        join_visible("".join(p.text for p in line).rstrip() for line in terminal_lines(figure, width)) + "\n"
    )


def _panel_lines(figure: Figure, panel: Panel, width: int) -> list[list[ColouredText]]:
    map, scale = panel.map, figure.scales[panel.unit]
    labels = [""] if map.y is None else [format_number(v) for v in map.y.values]
    margin = max(len(label) for label in labels)
    columns = len(map.x.values)
    wide = 2 if margin + 1 + 2 * columns <= width else 1
    fits = max(1, min(columns, (width - margin - 1) // wide))
    inside = map.places()
    order = range(map.rows) if figure.down else reversed(range(map.rows))
    head = panel.title if map.y is None else f"{panel.title} ({map.y.name} {'down' if figure.down else 'up'})"
    told = [[ColouredText(head)]]
    for row in order:
        line = [ColouredText(labels[row].rjust(margin) + " ")]
        for column in range(fits):
            cell = inside.get((column, row))
            shown, kind = drawn_number(figure, panel.unit, cell), special_kind(figure, panel.unit, cell)
            if shown is not None:
                digits = scale.digit(shown) if kind is None else SIGNS[kind]
                line.append(ColouredText((scale.digit(shown) + digits)[-wide:], scale.colour(shown)))
            else:
                line.append(ColouredText(SIGNS[kind or "unknown"] * wide))
        told.append(line)
    first, last = format_number(map.x.values[0]), format_number(map.x.values[fits - 1])
    room = max(1, fits * wide - len(first) - len(last))
    ends = first if fits == 1 else f"{first}{' ' * room}{last}"
    told.append([ColouredText(f"{' ' * (margin + 1)}{ends}  {map.x.name}")])
    if fits < columns:
        cut = f"{columns - fits} columns do not fit; a wider terminal, --svg or --report shows them"
        told.append([ColouredText(cut)])
    return told


def _legend_lines(figure: Figure, unit: str, scale: Scale) -> list[list[ColouredText]]:
    bar = [
        ColouredText(f"{level} ", colour_map()[int((level + 0.5) / 10 * len(colour_map()))])
        for level in range(10)
    ]
    step = (scale.high - scale.low) / 10
    words = (
        f"0 = from {short_number(scale.low)}, 1 = from {short_number(scale.low + step)}, … 9 = up "
        f"to {short_number(scale.high)}"
    )
    told = [[ColouredText(f"{unit}: "), *bar], [ColouredText(f"  {words}")]]
    signs = [f"{SIGNS[word]} {word}" for word in special_kinds(figure, unit)]
    if numbers := shown_numbers(figure, unit):
        signs.append(f"least {short_number(min(numbers))}, greatest {short_number(max(numbers))}")
    return [*told, [ColouredText(f"  {'; '.join(signs)}")]] if signs else told


def _curve_lines(curve: Curve, width: int) -> list[list[ColouredText]]:
    """One bar for each checkpoint, or for points spread evenly."""
    at = [x for x, _ in curve.marks] or [x for x, _ in curve.points]
    at = at[:: max(1, len(at) // max(1, width - 20))]
    heights = [min(curve.points, key=lambda p: abs(p[0] - x))[1] for x in at]
    low, high = min(y for _, y in curve.points), max(y for _, y in curve.points)
    scale = Scale(low, high)
    drawn = "".join(BARS[min(len(BARS) - 1, int(scale.position(h) * len(BARS)))] for h in heights)
    where = "at the checkpoints" if curve.marks else f"over {curve.x}"
    return [
        [
            ColouredText(
                f"  {curve.y} {where}: {drawn}  least {short_number(low)}, greatest {short_number(high)}"
            )
        ]
    ]
