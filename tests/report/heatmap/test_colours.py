"""The colours are equally far apart, grow lighter only, and stay apart for colour-blind readers."""

from __future__ import annotations

from itertools import pairwise
from math import dist

import pytest

from surefoot.report.heatmap.colours import OUTSIDE, Scale, colour_map

# Viénot, Brettel, Mollon 1999: linear RGB as a reader without red or green cones sees it.
BLIND = {
    "protanope": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    "deuteranope": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
}


def linear(colour: str) -> list[float]:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def oklab(rgb: list[float]) -> tuple[float, float, float]:
    r, g, b = rgb
    cone = (
        0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b,
        0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
        0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b,
    )
    x, y, z = (max(c, 0.0) ** (1 / 3) for c in cone)
    return (
        0.2104542553 * x + 0.7936177850 * y - 0.0040720468 * z,
        1.9779984951 * x - 2.4285922050 * y + 0.4505937099 * z,
        0.0259040371 * x + 0.7827717662 * y - 0.8086757660 * z,
    )


def test_equal_steps_look_equal() -> None:
    every = [oklab(linear(c)) for c in colour_map()[::15]]
    steps = [dist(a, b) for a, b in pairwise(every)]
    assert max(steps) < 1.12 * min(steps)  # bytes round a little
    assert all(a[0] < b[0] for a, b in pairwise(every))


@pytest.mark.parametrize("kind", BLIND)
def test_colour_blind_readers_tell_ten_levels_apart(kind: str) -> None:
    seen = []
    for colour in colour_map()[12::25]:
        rgb = linear(colour)
        seen.append(oklab([sum(w * v for w, v in zip(row, rgb, strict=True)) for row in BLIND[kind]]))
    assert all(dist(a, b) > 0.04 for i, a in enumerate(seen) for b in seen[i + 1 :])
    assert all(a[0] < b[0] for a, b in pairwise(seen))


def test_walls_look_like_no_value() -> None:
    wall = oklab(linear(OUTSIDE))
    assert min(dist(wall, oklab(linear(c))) for c in colour_map()) > 0.1


def test_scale() -> None:
    scale = Scale(0.0, 2.0)
    assert (scale.colour(-1.0), scale.colour(9.0)) == (colour_map()[0], colour_map()[-1])
    assert [scale.digit(v) for v in (0.0, 0.19, 0.2, 1.99, 2.0)] == ["0", "0", "1", "9", "9"]
    assert scale.ticks() == (0.0, 0.5, 1.0, 1.5, 2.0)
    assert Scale(3.0, 3.0).position(3.0) == 0.5
    assert Scale(3.0, 3.0).ticks() == (3.0,)
    for low, high in ((0.0, 0.8616), (5.0, 13.0), (-0.02, 0.31), (1e-9, 3e-9)):
        found = Scale(low, high).ticks()
        assert 3 <= len(found) <= 11
        assert low - 1e-12 <= found[0]
        assert found[-1] <= high + 1e-12
