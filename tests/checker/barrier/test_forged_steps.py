"""Forged certificates about steps: each differs from a true one in what one comparison is about."""

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
    X,
    changed,
    closed_interval,
    is_accepted,
    rational,
    step_of,
    weigh,
)

_BIG = 1 << 30
_TINY = Fraction(1, 1 << 24)
_FUZZY: list[Any] = ["-", ["+", X, _BIG], _BIG]  # x, which is rounded to a multiple of 2^-23 or 2^-22
_HALF: list[Any] = ["/", X, 2]


def is_unsafe(condition: Any, *weights: list[int], slack: Any = 0) -> list[Change]:
    """The condition, and that it contradicts the sides of the domain."""
    proof = {"weights": list(weights), "over": 1}
    return [
        ((*SYSTEM, "unsafe"), condition),
        ((*PROOF, "unsafe"), [{"slack": [slack], "proof": proof}]),
    ]


# In doubles, from within 1 to a half; tested is whether x <= 3/4, with room.
_TESTED = changed(
    closed_interval(_HALF, {0: "1/2"}, barrier=["-", X, "3/4"], grows=1, arithmetic="float64"),
    ((*SYSTEM, "initial"), [[-1, "1/2"]]),
    ((*PROOF, "covers"), [[[-1, "1/2"]]]),
    ((*SET, "tested"), True),
    ((*SET, "margin"), Fraction(1, 1 << 20)),
    (
        (*PROOF, "margins"),
        {"room": f"1/{1 << 19}", "step": [f"1/{1 << 40}"], "barrier": f"1/{1 << 40}"},
    ),
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*PROOF, "margins", "room"), Fraction(1, 1 << 20)),  # without the rounding of the test
        ((*PROOF, "margins", "room"), 0),
        ((*PROOF, "margins", "room"), -1),
        ((*PROOF, "margins", "step"), [0]),
        ((*PROOF, "margins", "barrier"), 0),
        ((*PROOF, "margins", "barrier"), Fraction(1, 1 << 41)),
        ((*SET, "margin"), Fraction(1, 1 << 60)),  # the test passes outside of the set
        ((*SET, "margin"), Fraction(1, 1 << 20) + Fraction(1, 1 << 100)),
        ((*SET, "domain"), [[-1, f"{(1 << 80) + 1}/{1 << 80}"]]),
        ((*SET, "domain"), [[f"{-(1 << 80) - 1}/{1 << 80}", 1]]),
    ],
)
def test_margins_of_rounding(path: tuple[str | int, ...], value: Any) -> None:
    assert is_accepted(_TESTED)
    assert not is_accepted(changed(_TESTED, (path, value)))


def test_starts_are_as_deep_as_the_room() -> None:
    """A start at 3/4 is in the set, but its test may fail."""
    assert is_accepted(_TESTED)
    for high in ("3/4", Fraction(3, 4) - Fraction(1, 1 << 20)):
        starts = [[-1, str(high)]]
        forged = changed(_TESTED, ((*SYSTEM, "initial"), starts), ((*PROOF, "covers"), [starts]))
        assert not is_accepted(forged)


@pytest.mark.parametrize("start", [-2, 2])
def test_starts_are_in_the_domain(start: int) -> None:
    """-2 and 2 are unsafe; the barrier is below 0 there, but no other proof looks at them."""
    unsafe = ["<=", X, -2] if start < 0 else ["<=", 2, X]
    side = [0, 1] if start < 0 else [1, 1]
    system = changed(closed_interval(_HALF, {0: "1/2"}), *is_unsafe(unsafe, side, [3, 1]))
    assert is_accepted(system)
    box = [[min(start, 0), max(start, 0)]]
    assert not is_accepted(changed(system, ((*SYSTEM, "initial"), box), ((*PROOF, "covers"), [box])))


@pytest.mark.parametrize("covered", [[[0, 1]], [[-1, 0]], [[-1, "-1/4"]]])
def test_starts_are_covered(covered: list[Any]) -> None:
    system = closed_interval(_HALF, {0: "1/2"})
    assert not is_accepted(changed(system, ((*PROOF, "covers"), [covered])))
    both = [covered, [["-1/4", 1]], [[-1, 0]]]
    assert is_accepted(changed(system, ((*PROOF, "covers"), both), ((*PROOF, "start"), [NOTHING] * 3)))


def test_ends_are_the_doubles_nearest_to_them() -> None:
    """The double 0.1 is above 1/10, and a start."""
    system = closed_interval(_HALF, {0: "1/2"}, arithmetic="float64")
    system = changed(
        system, ((*PROOF, "margins", "step"), [f"1/{1 << 40}"]), ((*SYSTEM, "initial"), [[0, "1/10"]])
    )
    for covered, accepted in ((Fraction(0.1), True), (Fraction(1, 10), False)):
        assert is_accepted(changed(system, ((*PROOF, "covers"), [[[0, str(covered)]]]))) is accepted


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (-1, "1/2"), ("-1/2", 1), (1, -1)])
def test_every_disturbance_counts(low: Any, high: Any) -> None:
    """x becomes x/2 + d: up to 1/2 either way the interval is closed."""
    system = closed_interval(["+", _HALF, ["name", "d"]], {0: "1/2", 3: 1})
    true = changed(
        system,
        ((*PROOF, "scale"), [[0, 1], [0, 1]]),
        ((*SYSTEM, "disturbances"), [["d", "-1/2", "1/2"]]),
    )
    assert is_accepted(true)
    assert not is_accepted(changed(true, ((*SYSTEM, "disturbances"), [["d", low, high]])))


def controlled(low: Any, high: Any, then: Any, slope: str) -> dict[str, Any]:
    """x becomes 2x + u with u = slope * x; that u never reaches an end is said to be shown."""
    value = Fraction(slope)
    system = closed_interval(["+", ["*", 2, X], ["name", "u"]], {0: 2 + value})
    return changed(
        system,
        ((*SYSTEM, "controls"), [["u", low, high]]),
        ((*RULE, "then"), [then]),
        ((*PROOF, "saturation"), [[weigh({0: value}), weigh({0: -value})]]),
    )


@pytest.mark.parametrize(("low", "high"), [("-3/2", "1/8"), ("-1/8", "3/2"), ("-1/8", "1/8")])
def test_controls_do_not_go_beyond_their_ends(low: str, high: str) -> None:
    """From 1 a step leads to 2 - 1/8, from -1 to -2 + 1/8: where u is clipped x escapes."""
    assert is_accepted(controlled("-3/2", "3/2", ["*", "-3/2", X], "-3/2"))
    assert not is_accepted(controlled(low, high, ["*", "-3/2", X], "-3/2"))


def test_every_case_of_a_clipped_control_is_a_step() -> None:
    """x becomes x + u, u = -x within 1/4: shown case by case; with the ends exchanged x is pushed out."""
    value, low, high = step_of({}), step_of({3: 1}), step_of({3: -1})
    low[2], high[1] = weigh({0: -1}), weigh({0: 1})
    high[2] = {"weights": [[3, 1]], "over": 1}
    system = changed(
        closed_interval(["+", X, ["name", "u"]], {}),
        ((*SYSTEM, "controls"), [["u", "-1/4", "1/4"]]),
        ((*RULE, "then"), [["negate", X]]),
        ((*PROOF, "saturation"), [[None, None]]),
        ((*PROOF, "steps"), [value, low, high]),
    )
    assert is_accepted(system)
    assert not is_accepted(changed(system, ((*PROOF, "steps"), [value, low])))
    assert not is_accepted(changed(system, ((*PROOF, "steps"), [value, high])))
    assert not is_accepted(changed(system, ((*RULE, "then"), [X])))


_D: list[Any] = ["name", "d"]
_U: list[Any] = ["name", "u"]
_WITH_D: list[Any] = ["-", ["+", _HALF, _D], _D]
_WITH_U: list[Any] = ["-", ["+", _HALF, _U], _U]


def fuzzy_step(following: Any, *changes: Change) -> dict[str, Any]:
    return changed(
        closed_interval(_HALF, {0: "1/2"}, arithmetic="float64"), ((*SYSTEM, "next"), [following]), *changes
    )


def gusty_step(low: int, high: int) -> dict[str, Any]:
    return fuzzy_step(
        _WITH_D, ((*SYSTEM, "disturbances"), [["d", low, high]]), ((*PROOF, "scale"), [[0, 1], [0, 1]])
    )


def controlled_step(
    following: Any, then: Any, low: int, high: int | None, shown: list[Any]
) -> dict[str, Any]:
    cases = 1 + (shown[0] is None) + (shown[1] is None and high is not None)
    return fuzzy_step(
        following,
        ((*SYSTEM, "controls"), [["u", low, high]]),
        ((*RULE, "then"), [then]),
        ((*PROOF, "saturation"), [shown]),
        ((*PROOF, "steps"), [step_of({0: "1/2"})] * cases),
    )


@pytest.mark.parametrize(
    "system",
    [
        fuzzy_step(["/", _FUZZY, 2]),
        gusty_step(-_BIG, 0),
        gusty_step(0, _BIG),
        controlled_step(_WITH_U, _BIG, -1, None, [NOTHING, None]),
        controlled_step(_WITH_U, 0, _BIG, 2 * _BIG, [None, NOTHING]),
        controlled_step(["+", _HALF, _U], ["-", _FUZZY, X], -1, 1, [NOTHING, NOTHING]),
    ],
    ids=["next", "gusts below 0", "gusts above 0", "no high end", "clipped to 2^30", "a fuzzy control"],
)
def test_a_step_is_off_by_what_rounding_does(system: dict[str, Any]) -> None:
    """Values of the size of 2^30 are rounded by 2^-23 or more, though they cancel."""
    for power, accepted in ((18, True), (26, False), (40, False)):
        step: Change = ((*PROOF, "margins", "step"), [f"1/{1 << power}"])
        assert is_accepted(changed(system, step)) is accepted


def test_every_variable_has_its_margin() -> None:
    """x and y are halved in doubles."""
    one = closed_interval(_HALF, {0: "1/2"}, arithmetic="float64")
    step = [f"1/{1 << 40}"] * 2
    box = [[-1, 1], [-1, 1]]
    _, low, high = step_of({0: "1/2"})
    _, left, right = step_of({2: "1/2"})
    both = changed(
        one,
        ((*SYSTEM, "variables"), ["x", "y"]),
        ((*SYSTEM, "initial"), box),
        ((*SYSTEM, "next"), [_HALF, ["/", ["name", "y"], 2]]),
        ((*SET, "domain"), box),
        ((*PROOF, "scale"), [[0, 1], [0, 1]]),
        ((*PROOF, "margins", "step"), step),
        ((*PROOF, "covers"), [box]),
        ((*PROOF, "steps"), [[NOTHING, low, high, left, right]]),
    )
    assert is_accepted(both)
    for i in (0, 1):
        assert not is_accepted(changed(both, ((*PROOF, "margins", "step", i), 0)))


@pytest.mark.parametrize(
    ("sign", "bits", "accepted"), [(1, 40, False), (-1, 40, False), (1, 2, True), (-1, 2, True)]
)
def test_a_step_keeps_its_margin_from_the_ends(sign: int, bits: int, accepted: bool) -> None:
    """x becomes x/2 + (1/2 - 2^-bits) or the opposite, with a margin of 2^-30."""
    offset = sign * (Fraction(1, 2) - Fraction(1, 1 << bits))
    system = changed(
        closed_interval(["+", _HALF, rational(offset)], {0: "1/2"}, arithmetic="float64"),
        ((*PROOF, "margins", "step"), [f"1/{1 << 30}"]),
    )
    assert is_accepted(system) is accepted


@pytest.mark.parametrize(("gap", "accepted"), [("room", False), ("barrier", False), ("both", True)])
def test_a_step_is_as_deep_as_the_margins(gap: str, accepted: bool) -> None:
    """From x <= 3/4 to as much below 3/4: the room of the test, and what rounding adds."""
    room, barrier = Fraction(1, 1 << 19), Fraction(1, 1 << 30)
    below = {"room": room, "barrier": barrier, "both": room + barrier}[gap]
    deeper = changed(
        _TESTED,
        ((*SYSTEM, "next"), [["+", _HALF, rational(Fraction(3, 8) - below)]]),
        ((*PROOF, "margins", "barrier"), barrier),
        ((*PROOF, "steps", 0, 0), {"weights": [[2, 1]], "over": 2}),
    )
    assert is_accepted(deeper) is accepted


def with_rows(order: int, following: Any, slope: str, high: str) -> dict[str, Any]:
    """The barrier is the larger of -1 and x - 3/4, or these in the other order."""
    rows: list[Any] = [-1, ["-", X, "3/4"]][::order]
    box = [[-1, high]]
    low, up = step_of({0: slope})[1:]
    return changed(
        closed_interval(following, {}),
        ((*SYSTEM, "initial"), box),
        ((*SET, "barrier"), ["max", *rows]),
        ((*PROOF, "covers"), [box]),
        ((*PROOF, "start"), [[NOTHING, weigh({0: -1})][::order]]),
        ((*PROOF, "steps"), [[*[NOTHING, weigh({0: -Fraction(slope)})][::order], low, up]]),
    )


@pytest.mark.parametrize("order", [1, -1])
def test_every_row_of_a_barrier(order: int) -> None:
    """x <= 3/4 at the start and after a step; and in doubles with room for rounding."""
    assert is_accepted(with_rows(order, _HALF, "1/2", "1/2"))
    assert not is_accepted(with_rows(order, _HALF, "1/2", "1"))
    assert not is_accepted(with_rows(order, ["+", _HALF, "1/2"], "1/2", "1/2"))
    step: Change = ((*PROOF, "margins", "step"), [f"1/{1 << 40}"])
    rounded = changed(with_rows(order, _HALF, "1/2", "1/2"), (("arithmetic",), "float64"), step)
    assert not is_accepted(rounded)
    assert is_accepted(changed(rounded, ((*PROOF, "margins", "barrier"), Fraction(1, 1 << 40))))


def test_what_is_unsafe_is_computed() -> None:
    """1 - 2^-24 is a start, and computed to be 1, which is unsafe."""
    high = 1 - _TINY
    system = closed_interval(_HALF, {0: "1/2"}, domain=(-1, high), arithmetic="float64")
    system = changed(system, ((*PROOF, "margins", "step"), [f"1/{1 << 40}"]))
    one, two = (["<=", limit, _FUZZY] for limit in (1, 2))
    assert is_accepted(changed(system, *is_unsafe(two, [1, 2], [3, 2], slack="1/4")))
    for slack in (0, f"1/{1 << 25}"):
        forged = is_unsafe(one, [1, 1 << 25], [3, 1 << 25], slack=slack)
        assert not is_accepted(changed(system, *forged))
        assert not is_accepted(changed(system, *is_unsafe(two, [1, 2], [3, 2], slack=slack)))


def test_a_negative_margin_is_refused() -> None:
    """The start 2 is unsafe; with a margin of -1 the test of x <= 1 passes there, and no set has it."""
    system = changed(
        closed_interval(_HALF, {0: "1/2"}, domain=(-1, 3), barrier=["-", X, 1], grows=1),
        *is_unsafe(["<=", 2, X], [2, 1], [3, 1]),
        ((*SYSTEM, "initial"), [[1, 1]]),
        ((*SET, "tested"), True),
        ((*PROOF, "covers"), [[[1, 1]]]),
    )
    system["sets"][0]["steps"][0] = [{"weights": [[2, 1]], "over": 2}, *step_of({0: "1/2"})[1:]]
    assert is_accepted(system)
    forged = changed(
        system,
        ((*SYSTEM, "initial"), [[2, 2]]),
        ((*SET, "margin"), -1),
        ((*PROOF, "margins", "room"), -1),
        ((*PROOF, "covers"), [[[2, 2]]]),
    )
    assert not is_accepted(forged)


def test_only_the_last_rule_goes_without_a_test() -> None:
    """From 2 the rule u = 5/2 stays above 3/2; u = -x, if it always decides, leads to -2."""
    still = changed(closed_interval(["name", "u"], {}, domain=(2, 3)), ((*SET, "tested"), True))
    turning = closed_interval(["name", "u"], {0: -1})
    rules = [
        still["claim"]["system"]["rules"][0] | {"then": ["5/2"]},
        turning["claim"]["system"]["rules"][0] | {"then": [["negate", X]]},
    ]
    unsafe = ["<=", X, "-3/2"]
    shown = {"slack": [0], "proof": {"weights": [[0, 2], [3, 2]], "over": 1}}
    sets = [s["sets"][0] | {"saturation": [[None, None]], "unsafe": [shown]} for s in (still, turning)]
    system = changed(
        still,
        ((*SYSTEM, "controls"), [["u", None, None]]),
        ((*SYSTEM, "unsafe"), unsafe),
        ((*SYSTEM, "rules"), rules),
        (("sets",), sets),
    )
    assert is_accepted(system)
    assert not is_accepted(changed(system, ((*SYSTEM, "rules"), rules[::-1]), (("sets",), sets[::-1])))


def test_a_program_does_not_see_disturbances() -> None:
    """u = -d would make up for any gust."""
    system = changed(
        closed_interval(["+", _HALF, _D, _U], {0: "1/2", 3: 1}),
        ((*SYSTEM, "controls"), [["u", None, None]]),
        ((*SYSTEM, "disturbances"), [["d", "-1/2", "1/2"]]),
        ((*RULE, "then"), [0]),
        ((*PROOF, "scale"), [[0, 1], [0, 1]]),
        ((*PROOF, "saturation"), [[None, None]]),
    )
    assert is_accepted(system)
    forged = changed(system, ((*RULE, "then"), [["negate", _D]]), ((*PROOF, "steps"), [step_of({0: "1/2"})]))
    assert not is_accepted(forged)
    assert not is_accepted(changed(forged, ((*SYSTEM, "disturbances"), [["d", -9, 9]])))


def test_a_name_means_one_thing() -> None:
    """x doubles; if x is the control as well, it seems to become 0."""
    system = changed(
        closed_interval(["*", 2, _U], {}),
        ((*SYSTEM, "controls"), [["u", None, None]]),
        ((*RULE, "then"), [0]),
        ((*PROOF, "saturation"), [[None, None]]),
    )
    assert is_accepted(system)
    twice = changed(system, ((*SYSTEM, "controls"), [["x", None, None]]), ((*SYSTEM, "next"), [["*", 2, X]]))
    assert not is_accepted(twice)


@pytest.mark.parametrize(("factor", "accepted"), [(9, True), (10, False)])
def test_a_control_is_clipped_to_a_double(factor: int, accepted: bool) -> None:
    """x becomes u = 1 clipped to 1/10, which is the double above: 10 x - 1 is above 0 there."""
    beyond = [{"weights": [[4, 20]], "over": 1}, NOTHING, NOTHING]
    system = changed(
        closed_interval(_U, {}, barrier=["-", ["*", factor, X], 1], grows=factor, arithmetic="float64"),
        ((*SYSTEM, "initial"), [[-1, 0]]),
        ((*SYSTEM, "controls"), [["u", -1, "1/10"]]),
        ((*RULE, "then"), [1]),
        ((*PROOF, "covers"), [[[-1, 0]]]),
        ((*PROOF, "saturation"), [[NOTHING, None]]),
        ((*PROOF, "steps"), [beyond, [NOTHING] * 3]),
    )
    assert is_accepted(system) is accepted
