"""Planes around a quotient as the checker derives them: true on the whole box, decided exactly.

The difference of x / y and a plane is linear in x, so an end of x is the worst. There, times y^2 > 0 over y,
it is a quadratic function of y, whose least value on an interval is at an end or at its vertex.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from surefoot.network.directed_rounding import BoxArray
from surefoot.network.relaxation import quotient_plane_choice, relax_node
from surefoot.problem.network import Combine, Pairing
from surefoot_checker.bounds import quotient
from surefoot_checker.bounds.quotient import Corners, Plane, quotient_planes

BITS = st.sampled_from((3, 8, 40, 112))
SIZES = st.one_of(st.integers(1, 40), st.integers(1, 1 << 50))
ENDS = st.one_of(st.integers(-40, 40), st.integers(-(1 << 50), 1 << 50))
SHARES = st.one_of(st.sampled_from((0, 128)), st.integers(0, 128))


def grid(bits: int) -> Any:
    return SimpleNamespace(bits=bits, one=1 << bits, float32=False)


@st.composite
def boxes(draw: st.DrawFn) -> Corners:
    """Numerators of either sign, divisors of one."""
    low, high = sorted((draw(ENDS), draw(ENDS)))
    near, far = sorted((draw(SIZES), draw(SIZES)))
    return (low, high, near, far) if draw(st.booleans()) else (low, high, -far, -near)


def least_gap(box: Corners, plane: Plane, bits: int) -> Fraction:
    """The least value of (x / y - plane) |y| on the box; not negative where the plane is below x / y."""
    low, high, near, far = (Fraction(end, 1 << bits) for end in box)
    of_x, of_y, constant = (Fraction(number, 1 << bits) for number in plane)
    sign = 1 if near > 0 else -1

    def gap(x: Fraction, y: Fraction) -> Fraction:
        return sign * (x - (of_x * x + of_y * y + constant) * y)

    found = [gap(x, y) for x in (low, high) for y in (near, far)]
    for x in (low, high):
        vertex = -(of_x * x + constant) / (2 * of_y) if of_y else near
        if near <= vertex <= far:
            found.append(gap(x, vertex))
    return min(found)


def turned(box: Corners, plane: Plane) -> tuple[Corners, Plane]:
    """A plane above x / y as one below -x / y."""
    low, high, near, far = box
    of_x, of_y, constant = plane
    return (-high, -low, near, far), (of_x, -of_y, -constant)


@given(boxes(), SHARES, SHARES, BITS)
@example((-3, 5, 1, 1 << 40), 0, 128, 40)
@example((0, 0, 7, 7), 64, 64, 8)
@example((1, 2, -9, -3), 1, 127, 3)
def test_quotients_lie_between_their_planes(box: Corners, below: int, above: int, bits: int) -> None:
    under, over = quotient_planes(grid(bits), box, below, above)
    assert least_gap(box, under, bits) >= 0
    assert least_gap(*turned(box, over), bits) >= 0


@given(boxes(), BITS)
def test_without_slopes_they_are_constants(box: Corners, bits: int) -> None:
    under, over = quotient_planes(grid(bits), box, None, None)
    corners = [Fraction(x, y) for x in box[:2] for y in box[2:]]
    unit = Fraction(1, 1 << bits)
    assert under[:2] == over[:2] == (0, 0)
    assert min(corners) - unit < under[2] * unit <= min(corners)
    assert max(corners) <= over[2] * unit < max(corners) + unit


@given(boxes(), st.sampled_from((0, 128)), st.sampled_from((0, 128)))
def test_little_is_lost_by_rounding(box: Corners, below: int, above: int) -> None:
    """Each of the planes touches the quotient somewhere, but for what is rounded."""
    fine: Corners = (box[0] << 112, box[1] << 112, box[2] << 112, box[3] << 112)
    under, over = quotient_planes(grid(112), fine, below, above)
    largest = max(map(abs, box))
    for own, plane in ((fine, under), turned(fine, over)):
        assert least_gap(own, plane, 112) <= Fraction(8 * largest**2, 1 << 112)


@pytest.mark.parametrize("mistake", ["chord for tangent", "tangent for chord", "no loss", "wrong end"])
def test_wrong_planes_are_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact test above tells a wrong derivation from a right one."""
    right = quotient._mccormick_plane

    def wrong(own: Any, factor: int, near: int, far: int, end: int) -> Plane:
        if mistake == "wrong end":
            return right(own, factor, near, far, near + far - end)
        if (mistake == "chord for tangent") == (factor >= 0):
            of_x, of_y, constant = right(own, -factor, near, far, end)
            return of_x, -of_y, -constant
        return right(own, factor, near, far, end)

    monkeypatch.setattr(quotient, "_mccormick_plane", wrong)
    if mistake == "no loss":
        monkeypatch.setattr(quotient, "_mccormick_plane", right)
        monkeypatch.setattr(quotient, "max", lambda a, b: 0, raising=False)
    cases = [(-9, -4, 3, 7), (-9, 5, 3, 7), (4, 9, 3, 7), (-5, 9, 3, 7), (-(1 << 40), 3, 3, 7)]
    gaps = [least_gap(box, quotient_planes(grid(3), box, s, s)[0], 3) for box in cases for s in (0, 77, 128)]
    assert min(gaps) < 0


@given(st.lists(boxes(), min_size=1, max_size=4))
def test_the_search_takes_planes_that_the_checker_knows(several: list[Corners]) -> None:
    """The slopes that a certificate names lead to the planes that the search has used."""
    scale = 2.0**-30
    ends = np.array(several, dtype=np.float64) * scale
    left, right = BoxArray(ends[None, :, 0], ends[None, :, 1]), BoxArray(ends[None, :, 2], ends[None, :, 3])
    node = Combine(0, 1, Pairing.DIVIDE)
    used, chosen = relax_node(node, [left, right]), quotient_plane_choice(node, [left, right], 0)
    assert chosen is not None
    for i, box in enumerate(several):
        fine: Corners = (box[0] << 82, box[1] << 82, box[2] << 82, box[3] << 82)
        below, above = (int(128 * side[i]) for side in chosen)
        planes = quotient_planes(grid(112), fine, below, above)
        sides = (used.below, used.below_constant), (used.above, used.above_constant)
        for plane, (slopes, constant) in zip(planes, sides, strict=True):
            found = [float(Fraction(number, 1 << 112)) for number in plane]
            size = max(abs(e) / abs(y) for e in ends[i, :2] for y in ends[i, 2:]) * 1e-9
            assert found[0] == pytest.approx(slopes[0][0, i], rel=1e-9, abs=1e-20)
            assert found[1] == pytest.approx(slopes[1][0, i], rel=1e-9, abs=1e-20)
            assert found[2] == pytest.approx(constant[0, i], rel=1e-9, abs=size + 1e-20)
