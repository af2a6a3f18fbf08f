"""Forged certificates in continuous time: bounds of one period, worked out by hand, down to the last bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.checker.barrier.forged import (
    NOTHING,
    PROOF,
    RULE,
    SET,
    SYSTEM,
    Change,
    Number,
    X,
    changed,
    closed_interval,
    is_accepted,
    rational,
    step_of,
    weigh,
)

_U: list[Any] = ["name", "u"]
_D: list[Any] = ["name", "d"]
_LITTLE = Fraction(1, 1 << 50)
_BIG = 1 << 30


def square(of: tuple[int, ...], factor: Fraction) -> dict[str, Any]:
    """A product of constraints times a number."""
    return {"of": list(of), "basis": [[0, 0]], "gram": [[factor.numerator]], "over": factor.denominator}


def unsafe_cases(alone: Number, near: Number, far: Number, curved: Number) -> list[dict[str, Any]]:
    """None of x >= 2, 2 <= x <= 9 and x² >= 9 is within 1, with slacks for the comparisons in this order."""
    first, second = Fraction(alone), Fraction(near)
    rest = 8 - Fraction(curved)
    return [
        {"slack": [rational(alone)], "proof": contradiction((1 - first) / 2)},
        {"slack": [rational(near), rational(far)], "proof": contradiction((1 - second) / 2)},
        {"slack": [rational(curved)], "proof": [square((0, 1), 1 / rest), square((3,), 1 / rest)]},
    ]


def contradiction(gap: Fraction) -> dict[str, Any]:
    """From x <= 1 and x >= 1 + gap, or more."""
    return {"weights": [[1, gap.denominator], [3, gap.denominator]], "over": gap.numerator}


_UNSAFE: list[Any] = ["or", ["<=", 2, X], ["and", ["<=", 2, X], ["<=", X, 9]], ["<=", 9, ["*", X, X]]]


def flow(slacks: tuple[Number, ...] = ("9/64", "5/8", "5/8", "105/64"), arithmetic: str = "exact") -> Any:
    """x' = -x + u + d for half a unit of time, u = 0 and |d| <= 1/4, in [-1, 1], to the second order.

    Where |x| <= e solutions are not faster than e + 1/4, and 1 + (e + 1/4)/2 = e says e = 9/4. The state
    after a period is 5/8 x + 3/8 u + d/2, up to h²/2 * 1/4 for the gusts and h³/6 * 5/2 for the order: 1/12.
    Between two samples it is h²/8 * 5/2 + h/4 * 1/2 = 9/64 from the line, and h/2 * 5/2 from an end.
    x² is changed by that by up to (1 + 5/8)² - 1.
    """
    predicted = ["+", ["*", "5/8", X], ["*", "3/8", _U], ["/", _D, 2]]
    system = closed_interval(
        predicted, {0: "5/8", 3: "1/2"}, barrier=["-", X, 1], grows=1, arithmetic=arithmetic
    )
    return changed(
        system,
        ((*SYSTEM, "controls"), [["u", "-1/4", "1/4"]]),
        ((*SYSTEM, "disturbances"), [["d", "-1/4", "1/4"]]),
        ((*SYSTEM, "time"), {"derivatives": [["+", ["negate", X], _U, _D]], "period": "1/2"}),
        ((*SYSTEM, "unsafe"), _UNSAFE),
        ((*RULE, "then"), [0]),
        ((*PROOF, "scale"), [[0, 1], [0, 1]]),
        ((*PROOF, "saturation"), [[NOTHING, NOTHING]]),
        ((*PROOF, "margins"), {"room": 0, "step": ["1/12"], "barrier": "1/12"}),
        ((*PROOF, "unsafe"), unsafe_cases(*slacks)),
        ((*PROOF, "period"), {"order": 2, "enclosure": [["-9/4", "9/4"]], "proposed": None}),
    )


def less(value: str) -> Fraction:
    return Fraction(value) - _LITTLE


SLACKS = [
    (less("9/64"), "5/8", "5/8", "105/64"),
    ("9/64", less("5/8"), "5/8", "105/64"),
    ("9/64", "5/8", less("5/8"), "105/64"),
    ("9/64", "5/8", "5/8", less("105/64")),
]


def test_bounds_by_hand_are_enough() -> None:
    assert is_accepted(flow())


@pytest.mark.parametrize("slacks", SLACKS)
def test_a_slack_of_the_time_between_two_steps(slacks: tuple[Number, ...]) -> None:
    assert not is_accepted(flow(slacks))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*PROOF, "margins", "step"), [str(less("1/12"))]),
        ((*PROOF, "margins", "barrier"), less("1/12")),
        ((*PROOF, "margins", "room"), -_LITTLE),
        ((*PROOF, "period", "enclosure"), [["-9/4", str(less("9/4"))]]),
        ((*PROOF, "period", "enclosure"), [[str(-less("9/4")), "9/4"]]),
        ((*PROOF, "period", "enclosure"), [["1/2", "-1/2"]]),
        ((*PROOF, "period", "order"), 1),
        ((*SYSTEM, "disturbances"), [["d", "-1/4", "1/2"]]),
        ((*SYSTEM, "disturbances"), [["d", "-1/2", "1/4"]]),
        ((*SYSTEM, "time", "period"), Fraction(1, 2) + _LITTLE),
    ],
)
def test_a_bound_that_is_too_small(path: tuple[str | int, ...], value: Any) -> None:
    assert not is_accepted(changed(flow(), (path, value)))


def test_next_is_compared_with_the_solution() -> None:
    """9/16 x is up to 9/64 from 5/8 x where solutions are."""
    other = changed(
        flow(),
        ((*SYSTEM, "next"), [["+", ["*", "9/16", X], ["*", "3/8", _U], ["/", _D, 2]]]),
        ((*PROOF, "steps"), [step_of({0: "9/16", 3: "1/2"}, 1)]),
    )
    assert not is_accepted(other)
    for more, accepted in (("9/64", True), (less("9/64"), False)):
        step = rational(Fraction(1, 12) + Fraction(more))
        margins = {"room": 0, "step": [step], "barrier": step}
        assert is_accepted(changed(other, ((*PROOF, "margins"), margins))) is accepted


@pytest.mark.parametrize(("case", "slack"), [(0, "9/64"), (1, "5/8"), (2, "185/64")])
def test_other_units_change_nothing(case: int, slack: str) -> None:
    """With x = 1/2 + z/2, z is up to 3, and 1/4 + z/2 + z²/4 changes by 5/8 + (3 + 5/4)²/4 - 9/4 at most."""
    slacks = ["9/64", "5/8", "5/8", "185/64"]
    scale: Change = ((*PROOF, "scale"), [["1/2", "1/2"], [0, 1]])
    assert is_accepted(changed(flow(tuple(slacks)), scale))
    place = case + (case == 2)
    assert slacks[place] == slack
    forged: list[Number] = [*slacks]
    forged[place] = less(slack)
    assert not is_accepted(changed(flow(tuple(forged)), scale))


def shielded(slacks: tuple[Number, ...] = ("5/32", "3/4", "3/4", "33/16")) -> dict[str, Any]:
    """The same; u within 1/4 may be proposed, so that 1 + (e + 1/2)/2 = e says e = 5/2, where solutions are
    not faster than 3: a period leaves open 1/32 + 3/48, a line 3/32 + 1/16, an end 3/4.

    The gust changes what is predicted by 1/8 more: a permit keeps 7/32 from the ends of the domain.
    """
    return changed(
        flow(slacks),
        ((*SET, "tested"), True),
        ((*SYSTEM, "shield"), [{"inside": [["-25/32", "25/32"]], "margin": "7/32"}]),
        ((*PROOF, "period", "proposed"), [["-5/2", "5/2"]]),
    )


SHIELDED_SLACKS = [
    (less("5/32"), "3/4", "3/4", "33/16"),
    ("5/32", less("3/4"), "3/4", "33/16"),
    ("5/32", "3/4", "3/4", less("33/16")),
]
PERMIT = (*SYSTEM, "shield", 0)


def test_bounds_of_a_shield_by_hand_are_enough() -> None:
    assert is_accepted(shielded())


@pytest.mark.parametrize("slacks", SHIELDED_SLACKS)
def test_a_slack_for_what_is_proposed(slacks: tuple[Number, ...]) -> None:
    assert not is_accepted(shielded(slacks))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*PROOF, "period", "proposed"), [["-5/2", str(less("5/2"))]]),
        ((*PROOF, "period", "proposed"), [[str(-less("5/2")), "5/2"]]),
        ((*PROOF, "period", "proposed"), None),
        ((*PERMIT, "margin"), less("7/32")),
        ((*PERMIT, "margin"), 0),
        ((*PERMIT, "inside"), [["-25/32", str(Fraction(25, 32) + _LITTLE)]]),
        ((*PERMIT, "inside"), [[str(-Fraction(25, 32) - _LITTLE), "25/32"]]),
        ((*SYSTEM, "controls"), [["u", "-1/4", "1/2"]]),
        ((*SYSTEM, "controls"), [["u", "-1/4", None]]),
    ],
)
def test_a_permit_that_is_too_wide(path: tuple[str | int, ...], value: Any) -> None:
    assert not is_accepted(changed(shielded(), (path, value)))


def held(gain: int, enclosure: int, step: str, ends: Any = None) -> dict[str, Any]:
    """x' = x + u, u = -gain x for a quarter of a unit of time, predicted by x + (x + u)/4."""
    end = None if ends is None else rational(-Fraction(ends))
    slope = Fraction(5 - gain, 4)
    shown = [None, None] if ends is None else [weigh({0: -gain}), weigh({0: gain})]
    return changed(
        closed_interval(["+", X, ["/", ["+", X, _U], 4]], {0: slope}),
        ((*SYSTEM, "controls"), [["u", end, ends]]),
        ((*SYSTEM, "time"), {"derivatives": [["+", X, _U]], "period": "1/4"}),
        ((*SYSTEM, "unsafe"), ["<=", 16, X]),
        ((*RULE, "then"), [["*", -gain, X]]),
        ((*PROOF, "saturation"), [shown]),
        ((*PROOF, "margins", "step"), [step]),
        ((*PROOF, "unsafe"), [{"slack": [1], "proof": weigh({})}]),
        ((*PROOF, "unsafe", 0, "proof"), {"weights": [[1, 1], [3, 1]], "over": 1}),
        ((*PROOF, "period"), {"order": 1, "enclosure": [[-enclosure, enclosure]], "proposed": None}),
    )


def test_a_prediction_is_not_the_solution() -> None:
    """With a gain of 9 the prediction goes from 1 to -1 and back; the solution goes from 1 to
    exp(1/4) - 9 (exp(1/4) - 1) < -5/4, and grows for ever."""
    assert is_accepted(held(3, 3, "3/16"))
    assert not is_accepted(held(9, 5, "0"))
    assert not is_accepted(changed(held(9, 5, "0"), ((*PROOF, "period", "order"), 0)))


def test_time_does_not_go_back() -> None:
    still = changed(
        closed_interval(X, {0: 1}),
        ((*SYSTEM, "time"), {"derivatives": [0], "period": 1}),
        ((*PROOF, "period"), {"order": 1, "enclosure": [[-1, 1]], "proposed": None}),
    )
    assert is_accepted(still)
    assert not is_accepted(changed(still, ((*SYSTEM, "time", "period"), -1)))


def test_units_are_positive() -> None:
    """A change divided by a negative unit would be one of less than nothing."""
    for sign in (1, -1):
        scale: Change = ((*PROOF, "scale"), [[0, sign], [0, 1]])
        assert is_accepted(changed(flow(), scale)) is (sign > 0)
        assert not is_accepted(changed(flow((0, 0, 0, 0)), scale))


def two_rules(slack: Number, inside: Number, margin: Number) -> dict[str, Any]:
    """Beside [-1, 1] a second set, [-2, 2], from which what is proposed is faster.

    There 2 + (e + 1/4)/2 = e says 17/4 for the rule, and 9/2 for proposals: speeds of 9/2 and 5, so that a
    period leaves open 1/32 + 9/96 and 1/32 + 10/96, and a line 5/32 + 1/16 for proposals.
    """
    narrow = shielded()
    wide = changed(
        narrow,
        ((*SET, "domain"), [[-2, 2]]),
        ((*SET, "barrier"), ["-", X, 2]),
        ((*PROOF, "margins"), {"room": 0, "step": ["1/8"], "barrier": "1/8"}),
        ((*PROOF, "period"), {"order": 2, "enclosure": [["-17/4", "17/4"]], "proposed": [["-9/2", "9/2"]]}),
    )
    permits = [
        {"inside": [[rational(-Fraction(end)), rational(end)]], "margin": rational(margin)}
        for end in (inside, 1 + Fraction(inside))
    ]
    proof = {"weights": [[1, 1], [3, 1]], "over": 1}
    shown = [[{"slack": [rational(own)], "proof": proof}] for own in (slack, "7/32")]
    sets = [part["sets"][0] | {"unsafe": own} for part, own in zip((narrow, wide), shown, strict=True)]
    return changed(
        narrow,
        ((*SYSTEM, "unsafe"), ["<=", 8, X]),
        ((*SYSTEM, "rules"), [part["claim"]["system"]["rules"][0] for part in (narrow, wide)]),
        ((*SYSTEM, "shield"), permits),
        (("sets",), sets),
    )


def test_proposals_from_every_set_count() -> None:
    assert is_accepted(two_rules("7/32", "71/96", "25/96"))
    assert not is_accepted(two_rules(less("7/32"), "71/96", "25/96"))
    assert not is_accepted(two_rules("5/32", "71/96", "25/96"))
    assert not is_accepted(two_rules("7/32", "25/32", "25/96"))
    assert not is_accepted(two_rules("7/32", "71/96", "7/32"))


@pytest.mark.parametrize("path", [(), (0,), (1,)])
def test_a_clipped_control_does_less_than_it_says(path: tuple[int, ...]) -> None:
    """u = -3x within 3 holds x; within 1/8 a solution from 1 grows for ever."""
    assert is_accepted(held(3, 3, "3/16", 3))
    forged = held(3, 3, "3/16", "1/8")
    for side in path:
        forged = changed(forged, ((*SYSTEM, "controls", 0, 2 - side), 3 if side == 0 else -3))
    assert not is_accepted(forged)


def gusty(step: Fraction) -> dict[str, Any]:
    """x' = -x + d x, |d| <= 1/2, for an eighth of a unit of time, predicted by x + (d x - x)/8.

    In |x| <= 4/3 the gust of one time after that of another leaves open h²/2 * (1/2 + 1/4) 4/3, the order
    h²/2 * 3/2 * 4/3.
    """
    const = square((), Fraction(1, 16) - step)
    low = [
        square((0, 3), Fraction(1, 8)),
        square((0,), Fraction(13, 16)),
        square((4,), Fraction(1, 8)),
        const,
    ]
    high = [
        square((1, 3), Fraction(1, 8)),
        square((1,), Fraction(13, 16)),
        square((4,), Fraction(1, 8)),
        const,
    ]
    rate = ["-", ["*", _D, X], X]
    return changed(
        closed_interval(["+", X, ["/", rate, 8]], {}),
        ((*SYSTEM, "disturbances"), [["d", "-1/2", "1/2"]]),
        ((*SYSTEM, "time"), {"derivatives": [rate], "period": "1/8"}),
        ((*PROOF, "scale"), [[0, 1], [0, 1]]),
        ((*PROOF, "margins", "step"), [str(step)]),
        ((*PROOF, "steps"), [[NOTHING, low, high]]),
        ((*PROOF, "period"), {"order": 1, "enclosure": [["-4/3", "4/3"]], "proposed": None}),
    )


def test_gusts_of_two_times() -> None:
    assert is_accepted(gusty(Fraction(3, 128)))
    assert not is_accepted(gusty(Fraction(3, 128) - _LITTLE))
    assert not is_accepted(gusty(Fraction(2, 128)))
    assert not is_accepted(gusty(Fraction(1, 128)))


@pytest.mark.parametrize(("gust", "accepted"), [(_D, True), (["*", _D, _D], False)])
def test_a_gust_is_not_squared(gust: Any, accepted: bool) -> None:
    """A mean of squares is not the square of a mean."""
    little = ["/", gust, 1 << 20]
    system = changed(
        flow(("1/2", "3/4", "3/4", 2)),
        ((*SYSTEM, "time", "derivatives"), [["+", ["negate", X], _U, _D, little]]),
        ((*PROOF, "margins"), {"room": 0, "step": ["1/8"], "barrier": "1/8"}),
        ((*PROOF, "period", "enclosure"), [["-5/2", "5/2"]]),
    )
    assert is_accepted(system) is accepted


# In doubles: what is read, and what the program computes, is rounded.
_ZERO: list[Any] = ["-", ["-", ["+", X, _BIG], _BIG], X]  # off by up to 5 * 2^-23


def rounded(width: Fraction, *changes: Change) -> dict[str, Any]:
    """Only x >= 2 is unsafe."""
    return changed(
        flow(arithmetic="float64"),
        ((*SYSTEM, "unsafe"), ["<=", 2, X]),
        ((*PROOF, "unsafe"), [unsafe_cases("1/2", 0, 0, 0)[0]]),
        ((*PROOF, "margins"), {"room": 0, "step": ["1/8"], "barrier": "1/8"}),
        ((*PROOF, "period", "enclosure"), [[rational(-width), rational(width)]]),
        *changes,
    )


def with_step(over: Fraction) -> Change:
    step = rational(Fraction(1, 12) + over)
    return ((*PROOF, "margins"), {"room": 0, "step": [step], "barrier": "1/8"})


def test_states_are_read_beyond_the_domain() -> None:
    """1 + 2^-54 is read as 1, so that the set has it."""
    assert is_accepted(rounded(Fraction(9, 4) + Fraction(1, 1 << 50)))
    assert not is_accepted(rounded(Fraction(9, 4)))
    for gap, accepted in ((Fraction(1, 1 << 40), True), (Fraction(1, 1 << 53), False)):
        single = ["<=", rational(Fraction(3, 2) + gap), X]
        weight = 1 << 60
        shown = {"slack": ["1/2"], "proof": {"weights": [[1, weight], [3, weight]], "over": 1}}
        changes = [((*SYSTEM, "unsafe"), single), ((*PROOF, "unsafe"), [shown])]
        assert is_accepted(rounded(Fraction(9, 4) + Fraction(1, 1 << 50), *changes)) is accepted


def test_unsafe_numbers_are_exact() -> None:
    """2^-53 + 2^-80 above a double: that is rounded up where a program computes, not here."""
    unit, weight = Fraction(1, 1 << 52), 1 << 60
    limit = Fraction(3, 2) + 3 * unit / 2 + Fraction(1, 1 << 80)
    slack = Fraction(1, 2) + unit / 2 + Fraction(1, 1 << 70)
    proof = {"weights": [[1, weight], [3, weight]], "over": 1}
    for more, accepted in ((0, False), (unit, True)):
        forged = rounded(
            Fraction(9, 4) + Fraction(1, 1 << 50),
            ((*SYSTEM, "unsafe"), ["<=", rational(limit + more), X]),
            ((*PROOF, "unsafe"), [{"slack": [rational(slack)], "proof": proof}]),
        )
        assert is_accepted(forged) is accepted


def test_the_rounding_of_a_control_is_held_for_a_period() -> None:
    """It moves the next state by 3/8 of it, and makes solutions faster."""
    unit = Fraction(1, 1 << 20)
    then: Change = ((*RULE, "then"), [_ZERO])
    assert is_accepted(rounded(Fraction(9, 4) + unit, then, with_step(unit / 2)))
    assert not is_accepted(rounded(Fraction(9, 4) + unit, then, with_step(unit / 8)))
    assert not is_accepted(rounded(Fraction(9, 4) + unit, then, with_step(unit / 4)))
    assert not is_accepted(rounded(Fraction(9, 4) + unit / 4, then, with_step(unit / 2)))


@pytest.mark.parametrize(("units", "accepted"), [(4, True), (1, False), (Fraction(3, 2), False)])
def test_a_test_reads_rounded_states(units: Number, accepted: bool) -> None:
    """Reading x near 1 is off by 2^-52, and x - 1 then by as much again."""
    system = rounded(
        Fraction(9, 4) + Fraction(1, 1 << 50),
        ((*PROOF, "margins", "room"), Fraction(1, 1 << 40)),
        ((*SET, "tested"), True),
        ((*SET, "margin"), Fraction(units) / (1 << 52)),
        ((*SYSTEM, "initial"), [[-1, "1/2"]]),
        ((*PROOF, "covers"), [[[-1, "1/2"]]]),
    )
    assert is_accepted(system) is accepted


def test_steps_are_shown_for_both_ends() -> None:
    """The proof of one end is not one of the other."""
    step = step_of({0: "5/8", 3: "1/2"}, 1)
    assert is_accepted(changed(flow(), ((*PROOF, "steps"), [step])))
    assert not is_accepted(changed(flow(), ((*PROOF, "steps"), [[step[0], step[2], step[1]]])))
