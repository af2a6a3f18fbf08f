"""Forged certificates of convergence: a target that runs never come to, and rounding that stops them."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

import pytest
from benchmarks.old_format import judge_both_formats
from tests.checker.barrier.forged import (
    NOTHING,
    PROOF,
    SYSTEM,
    X,
    changed,
    closed_interval,
    is_accepted,
    rational,
    weigh,
)


def converging(system: dict[str, Any], target: Any, ranking: dict[str, Any]) -> dict[str, Any]:
    found = changed(system, (("claim", "kind"), "convergence"), (("claim", "target"), target))
    return found | {"ranking": ranking}


def case(weights: list[list[int]], slack: int | str = 0) -> dict[str, Any]:
    return {"slack": [slack], "proof": {"weights": weights, "over": 1}}


def test_every_way_outside_of_a_target_is_looked_at() -> None:
    """x stays where it is: always within 1, never beyond 5."""
    still = closed_interval(X, {0: 1})
    impossible = case([[0, 2], [3, 2]])  # x >= -1 and x <= -3/2
    ranking = {"function": 0, "least": 1, "drift": 0, "cases": [[impossible, impossible]]}
    inner = ["<", "-3/2", X]
    assert is_accepted(converging(still, ["and", inner, inner], ranking))
    for proof in (impossible, case([]), case([[1, 1], [3, 1]])):
        cases = [[impossible, proof]]
        assert not is_accepted(converging(still, ["and", inner, ["<", 5, X]], ranking | {"cases": cases}))
        turned = [[proof, impossible]]
        assert not is_accepted(converging(still, ["and", ["<", 5, X], inner], ranking | {"cases": turned}))
    assert not is_accepted(
        converging(still, ["and", inner, ["<", 5, X]], ranking | {"cases": [[impossible]]})
    )


def test_every_disturbance_counts_for_a_ranking() -> None:
    """x becomes x/2 + d; with d = 1/2 it stays at 1 for ever, with |d| <= 1/8 it comes below 1/2."""
    system = changed(
        closed_interval(["+", ["/", X, 2], ["name", "d"]], {0: "1/2", 3: 1}),
        ((*PROOF, "scale"), [[0, 1], [0, 1]]),
    )
    # x - (x/2 + d) - least = (x - 1/2)/2 + (1/8 - d) + rest
    proof = {"slack": [0], "proof": {"weights": [[5, 1], [4, 2]], "over": 2}}
    ranking = {"function": X, "least": "1/8", "drift": 0, "cases": [[proof]]}
    for gust, accepted in (("1/8", True), ("1/4", False), ("1/2", False)):
        gusts = ((*SYSTEM, "disturbances"), [["d", f"-{gust}", gust]])
        assert is_accepted(converging(changed(system, gusts), ["<", X, "1/2"], ranking)) is accepted


_CUBE: list[Any] = ["-", X, ["/", ["*", X, X, X], 2]]


def gram(basis: list[int], rows: list[list[Fraction]], of: tuple[int, ...] = ()) -> dict[str, Any]:
    over = lcm(*(entry.denominator for row in rows for entry in row))
    whole = [[int(entry * over) for entry in row] for row in rows]
    return {"of": list(of), "basis": [[e] for e in basis], "gram": whole, "over": over}


def number(value: Fraction, of: tuple[int, ...] = ()) -> dict[str, Any]:
    return gram([0], [[value]], of)


def cubic(near: Fraction, least: Fraction, drift: Fraction) -> dict[str, Any]:
    """x becomes x - x³/2 in doubles, and comes within `near` of 0: V = x² falls by x⁴ - x⁶/4.

    Steps: 1 + x - x³/2 = (x + 1/2)²/2 + 3/8 + (1 - x²)(1 + x)/2, and the same for -x.
    Ranking, with a = near and y = x or -x: x⁴ - x⁶/4 = x⁴ (1 - x²)/4 + 3/4 x⁴, and
    x⁴ - a⁴ = (y - a)² (x² + a²) + 2a (y - a)(x² + a²).
    """
    step = Fraction(1, 1 << 40)
    half, quarter, share = Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)
    ends = [
        [
            gram([0, 1], [[Fraction(1, 8)], [sign * quarter, half]]),
            number(Fraction(3, 8) - step),
            number(half, (0, 1, side)),
        ]
        for sign, side in ((1, 0), (-1, 1))
    ]
    rest = share * near**4 - least - drift
    cases = []
    for sign in (-1, 1):
        # (y - a)² (x² + a²) = (x (x - sign a))² + (a (x - sign a))²
        a = sign * near
        zero = Fraction(0)
        squares = [
            [share * near**4],
            [-share * a * near**2, share * (near**2 + near**2)],
            [zero, -share * a, share],
        ]
        proof = [
            gram([2], [[quarter]], (0, 1)),
            gram([0, 1, 2], squares),
            gram([0, 1], [[share * 2 * near**3], [zero, share * 2 * near]], (3,)),
            number(rest),
        ]
        cases.append({"slack": [0], "proof": proof})
    system = changed(
        closed_interval(_CUBE, {}, arithmetic="float64"),
        ((*PROOF, "margins", "step"), [rational(step)]),
        ((*PROOF, "steps"), [[NOTHING, *ends]]),
    )
    target = ["and", ["<", rational(-near), X], ["<", X, rational(near)]]
    ranking = {
        "function": ["*", X, X],
        "least": rational(least),
        "drift": rational(drift),
        "cases": [cases],
    }
    return converging(system, target, ranking)


def test_rounding_can_stop_a_ranking() -> None:
    """Near 2^-30 x³ is below the last bit of x, which stays where it is for ever."""
    near = 1.5 * 2.0**-30
    assert near - near * near * near / 2 == near
    little = Fraction(1, 1 << 30)
    assert not is_accepted(cubic(little, little**4 / 2, Fraction(0)))
    step = Fraction(1, 1 << 40)
    drift, least = 2 * step + step**2, Fraction(1, 1 << 10)  # (1 + step)² - 1
    assert is_accepted(cubic(Fraction(1, 4), least, drift))
    assert not is_accepted(cubic(Fraction(1, 4), least, drift - step**2))
    assert not is_accepted(cubic(Fraction(1, 4), least, Fraction(0)))


@pytest.mark.parametrize(("power", "slack", "accepted"), [(3, 50, True), (3, 60, False), (60, 70, False)])
def test_a_target_is_computed(power: int, slack: int, accepted: bool) -> None:
    """1 < 1 + x, where x is near 2^-60: in doubles that is never so."""
    unit = Fraction(1, 1 << power)
    system = changed(
        closed_interval(
            ["+", ["/", X, 2], rational(unit)], {0: "1/2"}, domain=(unit, 3 * unit), arithmetic="float64"
        ),
        ((*PROOF, "margins", "step"), [rational(unit / (1 << 50))]),
    )
    inside = weigh({})
    assert is_accepted(changed(system, ((*PROOF, "start"), [inside])))
    weight = 2 << power
    outside = case([[0, weight], [3, weight]], f"1/{1 << slack}")
    ranking = {"function": 0, "least": "1/2", "drift": 0, "cases": [[outside]]}
    for target in (["<", 1, ["+", X, 1]], ["<", ["negate", ["+", X, 1]], -1]):
        assert is_accepted(converging(system, target, ranking)) is accepted


def test_how_many_steps_a_ranking_allows() -> None:
    """V = x is between -1 and 1, and falls by 1/4: nine states outside of the target may follow each other,
    from 1 to -1, if nothing is known but that."""
    system = closed_interval(["-", ["/", X, 2], "1/2"], {0: "1/2"})
    # x - (x/2 - 1/2) - 1/4 = (x + 1)/2 - 1/4 = (x + 1/2)/2
    proof = {"slack": [0], "proof": {"weights": [[3, 1]], "over": 2}}
    ranking = {"function": X, "least": "1/4", "drift": 0, "cases": [[proof]]}
    found = judge_both_formats(converging(system, ["<", X, "-1/2"], ranking))
    assert found.accepted
    assert "never for 9 steps in a row" in found.claim


def test_convergence_is_about_steps() -> None:
    """x' = x grows for ever; that x becomes x/2 - 1/2 is said beside it."""
    system = closed_interval(["-", ["/", X, 2], "1/2"], {0: "1/2"})
    proof = {"slack": [0], "proof": {"weights": [[3, 1]], "over": 2}}
    ranking = {"function": X, "least": "1/4", "drift": 0, "cases": [[proof]]}
    true = converging(system, ["<", X, "-1/2"], ranking)
    assert is_accepted(true)
    assert not is_accepted(changed(true, ((*SYSTEM, "time"), {"derivatives": [X], "period": 1})))
