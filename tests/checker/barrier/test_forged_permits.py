"""What a shield permits, from any state of any set: forged permits of a program with two rules."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.checker.barrier.forged import (
    NOTHING,
    PROOF,
    SET,
    SYSTEM,
    Number,
    X,
    changed,
    closed_interval,
    is_accepted,
    rational,
    step_of,
)

_BIG = 1 << 30
_U: list[Any] = ["name", "u"]


def two_rules(gap: Fraction) -> dict[str, Any]:
    """x becomes (x + x) - 2x + u, computed near 2^31 by the second rule's domain, and near 2 by the first."""
    following = ["+", ["-", ["+", X, X], ["*", 2, X]], _U]
    parts = []
    for width, room in ((1, 1), (_BIG, _BIG)):
        part = changed(
            closed_interval(following, {}, domain=(-width, width), arithmetic="float64"),
            ((*SET, "tested"), True),
            ((*PROOF, "margins", "step"), [rational(Fraction(room, 1 << 48))]),
            ((*PROOF, "saturation"), [[NOTHING, NOTHING]]),
        )
        parts.append(part)
    rules = [p["claim"]["system"]["rules"][0] | {"then": [0]} for p in parts]
    inside = [[rational(gap - 1), rational(1 - gap)]]
    permits = [{"inside": inside, "margin": 0}, {"inside": [[-1, 1]], "margin": 0}]
    return changed(
        parts[0],
        ((*SYSTEM, "controls"), [["u", -1, 1]]),
        ((*SYSTEM, "rules"), rules),
        ((*SYSTEM, "shield"), permits),
        (("sets",), [p["sets"][0] for p in parts]),
    )


def test_a_permit_counts_from_every_set() -> None:
    """From near 2^30 the first permit leads as far as rounding goes there."""
    assert is_accepted(two_rules(Fraction(1, 1 << 16)))
    assert not is_accepted(two_rules(Fraction(1, 1 << 40)))


def gusty_shield(low: Number, high: Number, inside: Number, margin: Number) -> dict[str, Any]:
    """x becomes x/4 + u + d, where x <= 1; u = 0 or what is proposed."""
    system = closed_interval(
        ["+", ["/", X, 4], _U, ["name", "d"]], {0: "1/4", 3: 1}, barrier=["-", X, 1], grows=1
    )
    return changed(
        system,
        ((*SYSTEM, "controls"), [["u", -1, 1]]),
        ((*SYSTEM, "disturbances"), [["d", rational(low), rational(high)]]),
        ((*SYSTEM, "rules", 0, "then"), [0]),
        (
            (*SYSTEM, "shield"),
            [{"inside": [[rational(-Fraction(inside)), rational(inside)]], "margin": margin}],
        ),
        ((*SET, "tested"), True),
        ((*PROOF, "scale"), [[0, 1], [0, 1]]),
        ((*PROOF, "saturation"), [[NOTHING, NOTHING]]),
        ((*PROOF, "steps"), [step_of({0: "1/4", 3: 1}, 1)]),
    )


@pytest.mark.parametrize(("low", "high"), [("-1/4", "1/4"), (0, "1/2"), ("-1/2", 0)])
def test_a_permit_leaves_room_for_disturbances(low: str, high: str) -> None:
    """They are up to 1/4 from their middle, with which is predicted; a range may be on one side of 0."""
    assert is_accepted(gusty_shield(low, high, "3/4", "1/4"))
    assert not is_accepted(gusty_shield(low, high, "7/8", "1/4"))
    assert not is_accepted(gusty_shield(low, high, "3/4", "1/8"))
    assert not is_accepted(gusty_shield(low, high, "3/4", 0))


@pytest.mark.parametrize("low", [-_BIG, 0])
@pytest.mark.parametrize("name", ["u", "d"])
def test_a_permit_leaves_room_for_rounding(name: str, low: int) -> None:
    """x becomes x/4 + v - v, where v is a control or a disturbance of the size of 2^30 on one side of 0."""
    value, ends = ["name", name], [[name, low, low + _BIG]]
    system = closed_interval(["-", ["+", ["/", X, 4], value], value], {0: "1/4"}, arithmetic="float64")
    system = changed(
        system,
        ((*SYSTEM, "controls" if name == "u" else "disturbances"), ends),
        ((*SET, "tested"), True),
        ((*PROOF, "margins", "step"), [f"1/{1 << 18}"]),
    )
    if name == "u":
        system = changed(
            system,
            ((*SYSTEM, "rules", 0, "then"), [0]),
            ((*PROOF, "saturation"), [[NOTHING, NOTHING]]),
        )
    else:
        system = changed(system, ((*PROOF, "scale"), [[0, 1], [0, 1]]))
    for power, accepted in ((20, True), (21, False), (40, False)):
        gap = Fraction(1, 1 << power)
        permit = {"inside": [[rational(gap - 1), rational(1 - gap)]], "margin": 0}
        assert is_accepted(changed(system, ((*SYSTEM, "shield"), [permit]))) is accepted


@pytest.mark.parametrize(("inside", "accepted"), [("21/8", True), ("45/16", False)])
def test_predictions_are_made_with_a_double(inside: str, accepted: bool) -> None:
    """The middle of 2^50 and the next double is rounded to 2^50: that is 1/4 from the other end, not 1/8.

    x becomes x/4 + (d - 2^50): 1/4 for that, and twice 1/4 each for the rounding of prediction and plant,
    since difference and sum are both taken for as large as 2^51.
    """
    low = 1 << 50
    system = changed(
        closed_interval(
            ["+", ["/", X, 4], ["-", ["name", "d"], low]],
            {0: "1/4", 3: 1},
            domain=(-4, 4),
            arithmetic="float64",
        ),
        ((*SYSTEM, "disturbances"), [["d", low, rational(low + Fraction(1, 4))]]),
        ((*SYSTEM, "shield"), [{"inside": [[f"-{inside}", inside]], "margin": 0}]),
        ((*SET, "tested"), True),
        ((*PROOF, "scale"), [[0, 1], [0, 1]]),
        ((*PROOF, "margins", "step"), ["9/16"]),
    )
    assert is_accepted(system) is accepted


def test_a_permit_is_no_wider_than_its_domain_on_either_side() -> None:
    true = gusty_shield("-1/4", "1/4", "3/4", "1/4")
    place = (*SYSTEM, "shield", 0, "inside")
    for box in ([["-7/8", "3/4"]], [["-3/4", "7/8"]]):
        assert not is_accepted(changed(true, (place, box)))


def test_what_is_proposed_has_two_ends() -> None:
    true = gusty_shield("-1/4", "1/4", "3/4", "1/4")
    assert not is_accepted(
        changed(
            true,
            ((*SYSTEM, "controls"), [["u", -1, None]]),
            ((*PROOF, "saturation"), [[NOTHING, None]]),
        )
    )


@pytest.mark.parametrize("end", ["inside", "margin"])
def test_permits_are_doubles(end: str) -> None:
    """A number that is none is compared as another one."""
    true = two_rules(Fraction(1, 1 << 16))
    little = Fraction(1, 1 << 90)
    value: Any = rational(1 + little) if end == "margin" else [[0, rational(Fraction(1, 2) + little)]]
    assert not is_accepted(changed(true, ((*SYSTEM, "shield", 0, end), value)))
    fine: Any = 1 if end == "margin" else [[0, "1/2"]]
    assert is_accepted(changed(true, ((*SYSTEM, "shield", 0, end), fine)))
