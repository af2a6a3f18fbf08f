"""The colours of a heat map: equal steps of a value look equally far apart, also to colour-blind readers.

A way through the colour space OKLab (Ottosson 2020) from dark blue to bright yellow, along which lightness
only grows; points on it are equally far from each other. Lightness alone tells the order, so that the picture
survives grey paper and every kind of colour blindness.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil, cos, dist, floor, isfinite, log10, radians, sin

STEPS = 256
OUTSIDE = "#e4e4e4"  # no start has these values
UNKNOWN = "#f7f7f7"  # with a question mark
INFINITE = "#ffffff"  # with the sign
_WAY = (  # lightness, chroma, hue in degrees
    (0.27, 0.105, 285.0),
    (0.45, 0.105, 255.0),
    (0.62, 0.100, 200.0),
    (0.79, 0.135, 150.0),
    (0.94, 0.165, 106.0),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Which values have the first and the last colour; values beyond them are drawn like these."""

    low: float
    high: float

    def position(self, value: float) -> float:
        """Between 0 and 1."""
        if self.high <= self.low:
            return 0.5
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def colour(self, value: float) -> str:
        return colour_map()[min(STEPS - 1, int(self.position(value) * STEPS))]

    def digit(self, value: float) -> str:
        """One of ten levels, for terminals without colours."""
        return str(min(9, int(self.position(value) * 10)))

    def ticks(self) -> tuple[float, ...]:
        """Round numbers from the lower to the upper end."""
        if self.high <= self.low or not isfinite(self.high - self.low):
            return (self.low,)
        step = 10.0 ** floor(log10(self.high - self.low))
        for factor in (1.0, 0.5, 0.25, 0.2, 0.1):
            if (self.high - self.low) / (step * factor) >= 4:
                step *= factor
                break
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return tuple(round(n * step, 12) for n in range(first, last + 1))


@cache
def colour_map() -> tuple[str, ...]:
    """All colours from the lowest to the highest value, as "#rrggbb"."""
    corners = [(light, c * cos(radians(h)), c * sin(radians(h))) for light, c, h in _WAY]
    lengths = [dist(a, b) for a, b in pairwise(corners)]
    found = []
    for number in range(STEPS):
        left, piece = sum(lengths) * number / (STEPS - 1), 0
        while piece < len(lengths) - 1 and left > lengths[piece]:
            left, piece = left - lengths[piece], piece + 1
        part = left / lengths[piece]
        start, end = corners[piece], corners[piece + 1]
        red, green, blue = _oklab_to_srgb(*(a + (b - a) * part for a, b in zip(start, end, strict=True)))
        found.append(f"#{red:02x}{green:02x}{blue:02x}")
    return tuple(found)


def _oklab_to_srgb(light: float, green_red: float, blue_yellow: float) -> tuple[int, int, int]:
    """An OKLab colour as sRGB bytes."""
    long = (light + 0.3963377774 * green_red + 0.2158037573 * blue_yellow) ** 3
    middle = (light - 0.1055613458 * green_red - 0.0638541728 * blue_yellow) ** 3
    short = (light - 0.0894841775 * green_red - 1.2914855480 * blue_yellow) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    red, green, blue = (round(255 * _compand_channel(min(1.0, max(0.0, part)))) for part in linear)
    return red, green, blue


def _compand_channel(linear: float) -> float:
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
