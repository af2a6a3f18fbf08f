"""What a period leaves open, worked out by hand for equations that are not linear."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from benchmarks.old_format import read_flat_system
from tests.checker.barrier.forged import RULE, SET, SYSTEM, X, changed, closed_interval, rational

from surefoot_checker.claims.barrier.sampling_period import PeriodBounds, check_period
from surefoot_checker.claims.barrier.system import bound_max_change
from surefoot_checker.kernel.strict_json import Refused

_Y: list[Any] = ["name", "y"]
_Z: list[Any] = ["name", "z"]
_D: list[Any] = ["name", "d"]
_E: list[Any] = ["name", "e"]


def one_period(rate: Any, following: Any, period: str, low: str, high: str, then: Any = None) -> PeriodBounds:
    """Of x in [-1, 1], to the first order."""
    claim = changed(
        closed_interval(following, {}), ((*SYSTEM, "time"), {"derivatives": [rate], "period": period})
    )
    if then is not None:
        claim = changed(claim, ((*SYSTEM, "controls"), [["u", None, None]]), ((*RULE, "then"), [then]))
    system = read_flat_system(claim)
    assert system.time is not None
    data = {"order": 1, "enclosure": [[low, high]], "proposed": None}
    return check_period(system, system.time, system.rules[0], data)[0]


@pytest.mark.parametrize(("rate", "low", "high"), [(2, -1, 2), (-2, -2, 1), (0, -1, 1)])
def test_solutions_are_enclosed_from_their_start(rate: int, low: int, high: int) -> None:
    """x' = 2 or -2 for half a unit of time: the way from the start counts, not only where it ends."""
    following = ["+", X, rational(Fraction(rate, 2))]
    assert one_period(rate, following, "1/2", str(low), str(high)).step == (0,)
    for ends in ((low + 1, high), (low, high - 1), (f"{8 * low + 1}/8", high), (low, f"{8 * high - 1}/8")):
        with pytest.raises(Refused):
            one_period(rate, following, "1/2", *map(str, ends))


def test_a_square() -> None:
    """x' = x² up to 4 within 2, so that from 1 it is 2 at most after a quarter; x'' = 2 x³ is up to 16."""
    found = one_period(["*", X, X], ["+", X, ["/", ["*", X, X], 4]], "1/4", "-2", "2")
    assert found == PeriodBounds((Fraction(16, 32),), (Fraction(16, 128),), (Fraction(4, 8),))


def test_a_control_that_is_a_square() -> None:
    """u = x² is anywhere from 0 to 1, and u - 1/2 on both sides of 0."""
    rate, following = ["-", ["name", "u"], "1/2"], ["+", X, ["/", ["-", ["name", "u"], "1/2"], 2]]
    square = ["*", X, X]
    assert one_period(rate, following, "1/2", "-5/4", "5/4", square).half == (Fraction(1, 8),)
    for ends in (("-9/8", "5/4"), ("-5/4", "9/8")):
        with pytest.raises(Refused):
            one_period(rate, following, "1/2", *ends, square)


def test_gusts_of_two_times_do_not_cancel() -> None:
    """x' = d y + e z, y' = d, z' = -e: x'' has d d - e e of different times, each up to 1/4."""
    rates: list[Any] = [["+", ["*", _D, _Y], ["*", _E, _Z]], _D, ["negate", _E]]
    box = [[-1, 1]] * 3
    claim = changed(
        closed_interval(X, {}),
        ((*SYSTEM, "variables"), ["x", "y", "z"]),
        ((*SYSTEM, "initial"), box),
        ((*SYSTEM, "disturbances"), [["d", "-1/2", "1/2"], ["e", "-1/2", "1/2"]]),
        ((*SYSTEM, "next"), [["+", name, rate] for name, rate in zip((X, _Y, _Z), rates, strict=True)]),
        ((*SYSTEM, "time"), {"derivatives": rates, "period": 1}),
        ((*SET, "domain"), box),
    )
    system = read_flat_system(claim)
    assert system.time is not None
    enclosure = [["-5/2", "5/2"], ["-3/2", "3/2"], ["-3/2", "3/2"]]
    data = {"order": 1, "enclosure": enclosure, "proposed": None}
    own, proposed = check_period(system, system.time, system.rules[0], data)
    assert own.step == (Fraction(1, 4), 0, 0)
    assert proposed is None


def test_a_shift_is_as_large_as_at_the_farther_end() -> None:
    """-x² from 3, moved by 1/2; the row 2 changes by nothing."""
    claim = closed_interval(X, {})
    system = read_flat_system(claim)
    square = ("negate", ("*", ("name", "x"), ("name", "x")))
    for ends in ((-3, 1), (-1, 3)):
        domain = ((Fraction(ends[0]), Fraction(ends[1])),)
        for rows in ([square, Fraction(2)], [Fraction(2), square]):
            assert bound_max_change(system, rows, domain, [Fraction(1, 2)]) == Fraction(13, 4)
