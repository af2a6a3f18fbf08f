"""The frame of a chart: which numbers are at its edges, and where a number between them is."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10

from surefoot.report.drawing.shapes import Polyline

# colours of several lines in one chart, in this order
LINE_COLOURS = (
    *("#1f5fa8", "#c0392b", "#1e8449", "#7d3c98", "#b9770e"),
    *("#117a8b", "#5d6d7e", "#943126", "#2e4053"),
)
_ALMOST = 1e-9  # of a step: an end that rounding has missed by less has its number


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle in pixels, with the numbers from its left to its right and from its bottom to its top edge.

    Where both numbers are the same, everything is in the middle.
    """

    left: float
    right: float
    top: float
    bottom: float
    across: tuple[float, float]
    along: tuple[float, float]

    def x(self, value: float) -> float:
        return self.left + _relative_position(value, self.across) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.bottom - _relative_position(value, self.along) * (self.bottom - self.top)

    def place(self, x: float, y: float) -> tuple[float, float]:
        return self.x(x), self.y(y)


def _relative_position(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return (value - low) / (high - low) if high > low else 0.5


def tick_values(low: float, high: float, *, whole: bool = False) -> tuple[float, ...]:
    """At most eight round numbers between low and high; `whole`: integers only."""
    if low == high:
        return (low,)
    step = 10.0 ** floor(log10(max(high - low, 1e-300)))
    while (high - low) / step < 3:
        step /= 2
    while (high - low) / step > 8:
        step *= 2
    step = max(1.0, round(step)) if whole else step
    first = -floor(-low / step + _ALMOST)
    return tuple(n * step for n in range(first, floor(high / step + _ALMOST) + 1))


def axes_line(frame: Frame, colour: str = "#000000") -> Polyline:
    """The left and the lower edge of a frame."""
    corners = ((frame.left, frame.top), (frame.left, frame.bottom), (frame.right, frame.bottom))
    return Polyline(corners, colour)
