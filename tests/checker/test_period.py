"""Certificates in continuous time that were tampered with: whatever is false is refused."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from fractions import Fraction
from math import exp
from random import Random
from typing import Any

import pytest
from benchmarks.old_format import judge_both_formats, to_format_1
from tests.engines.held import plant

from surefoot.engines.barrier import Barrier
from surefoot.problem.problem import in_time
from surefoot.run import verify
from surefoot.shields.certified_shield import make_certified_shield
from surefoot.verdict.verdict import Proved
from surefoot.work.budget import Budget
from surefoot_checker.kernel.strict_json import BadCertificate


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """x' = x/2 + u + d, u = -2 x at the last sample within 4: from within 1 never beyond 2."""
    problem = plant(
        {"x": "x/2 + u0 + d"}, "0.1", "-1 <= x <= 1", "x < -2 or x > 2", rule=("-2*x",), limit="4", gust="0.1"
    )
    verdict = verify(problem, Barrier(degree=2), Budget(60)).verdict
    assert isinstance(verdict, Proved)
    return to_format_1(verdict.certificate.content)


def accepted(data: dict[str, Any]) -> bool:
    try:
        return judge_both_formats(data).accepted
    except BadCertificate:
        return False


def numbers(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the numbers of a claim are."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from numbers(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from numbers(value, (*path, index))
    elif not isinstance(data, bool) and data is not None:
        try:
            Fraction(data)
        except ValueError:
            return
        yield path


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def put(data: Any, path: tuple[Any, ...], value: Fraction) -> None:
    at(data, path[:-1])[path[-1]] = value.numerator if value.denominator == 1 else str(value)


def is_false(claim: dict[str, Any]) -> bool:
    """Does a run, computed by the solution in closed form, become unsafe? Of claims of this form."""
    system = claim["system"]
    rate = 1 / float(Fraction(at(system, ("time", "derivatives", 0, 1, 1, 2))))
    gain = float(Fraction(at(system, ("rules", 0, "then", 0, 1))))
    h = float(Fraction(system["time"]["period"]))
    low, high = (float(Fraction(e)) for e in system["controls"][0][1:])
    gusts = [float(Fraction(e)) for e in system["disturbances"][0][1:]]
    bad = [float(Fraction(at(system, ("unsafe", 1, 2)))), float(Fraction(at(system, ("unsafe", 2, 1))))]
    moves = [(exp(rate * h * k / 8), (exp(rate * h * k / 8) - 1) / rate) for k in range(9)]
    for start in system["initial"][0]:
        for gust in gusts:
            state = float(Fraction(start))
            for _ in range(300):
                held = min(max(gain * state, low), high) + gust
                between = [grown * state + pushed * held for grown, pushed in moves]
                if min(between) < bad[0] - 1e-9 or max(between) > bad[1] + 1e-9:
                    return True
                state = between[-1]
    return False


def test_the_certificate_is_accepted_and_says_what_it_is_about(shown: dict[str, Any]) -> None:
    verdict = judge_both_formats(shown)
    assert verdict.accepted
    assert "every 1/10 units of continuous time" in verdict.claim
    assert "at these times and between them" in verdict.claim
    assert "differential equation in real numbers" in verdict.arithmetic
    assert not is_false(shown["claim"])


def test_a_claim_that_was_changed_is_false_or_refused(shown: dict[str, Any]) -> None:
    """150 changes of numbers of the claim, one or two at once."""
    random, places = Random(3), [*numbers(shown["claim"])]
    factors = [Fraction(f) for f in ("-1", "0", "1/10", "1/2", "9/10", "11/10", "3/2", "2", "5", "30")]
    refused = refuted = 0
    for _ in range(150):
        data = copy.deepcopy(shown)
        for path in random.sample(places, random.choice([1, 1, 2])):
            put(data["claim"], path, Fraction(at(data["claim"], path)) * random.choice(factors))
        if data["claim"] == shown["claim"]:
            continue
        try:
            false = is_false(data["claim"])
        except (ValueError, ZeroDivisionError, KeyError, IndexError, OverflowError):
            false = False
        refuted += false
        if accepted(data):
            assert not false, data["claim"]
        else:
            refused += 1
    assert refuted > 20
    assert refused > 100


SMALLER = [
    ("sets", 0, "margins", "step", 0),
    ("sets", 0, "margins", "barrier"),
    ("sets", 0, "unsafe", 0, "slack", 0),
    ("sets", 0, "unsafe", 1, "slack", 0),
    ("sets", 0, "period", "enclosure", 0, 0),
    ("sets", 0, "period", "enclosure", 0, 1),
]


@pytest.mark.parametrize("path", SMALLER)
@pytest.mark.parametrize("factor", ["98/100", "1/2", "0", "-1"])
def test_what_leaves_too_little_room_is_refused(
    shown: dict[str, Any], path: tuple[Any, ...], factor: str
) -> None:
    """The reader knows itself how much room a period needs: even where the sums of squares still fit."""
    data = copy.deepcopy(shown)
    put(data, path, Fraction(at(data, path)) * Fraction(factor))
    assert not accepted(data)


@pytest.mark.parametrize("wrong", [0, 1 << 50000, [1 << 50000]], ids=["0", "long", "list"])
def test_a_wrong_integer_is_told_however_long_it_is(shown: dict[str, Any], wrong: Any) -> None:
    data = copy.deepcopy(shown)
    data["sets"][0]["start"][0] = [{"of": [], "basis": [[0, 0]], "gram": [[1]], "over": wrong}]
    with pytest.raises(BadCertificate, match="over: not an integer"):
        judge_both_formats(data)


def test_a_remainder_is_not_believed(shown: dict[str, Any]) -> None:
    """No margin at all, with every proof of a step made for that: what is refused is the margin itself."""
    data = copy.deepcopy(shown)
    data["sets"][0]["margins"] |= {"step": [0], "barrier": 0}
    with_reason = judge_both_formats(data)
    assert not with_reason.accepted
    assert "a period leaves open" in with_reason.reason


def _without_time(data: dict[str, Any]) -> None:
    del data["claim"]["system"]["time"]


def _without_period(data: dict[str, Any]) -> None:
    del data["sets"][0]["period"]


def _first_order(data: dict[str, Any]) -> None:
    data["sets"][0]["period"]["order"] = 1


def _no_order(data: dict[str, Any]) -> None:
    data["sets"][0]["period"]["order"] = 0


def _squared_gust(data: dict[str, Any]) -> None:
    rates = data["claim"]["system"]["time"]["derivatives"]
    rates[0] = ["+", rates[0], ["*", ["name", "d"], ["name", "d"]]]


def _unknown_name(data: dict[str, Any]) -> None:
    data["claim"]["system"]["time"]["derivatives"][0] = ["name", "z"]


def _no_derivative(data: dict[str, Any]) -> None:
    data["claim"]["system"]["time"]["derivatives"] = []


def _backwards(data: dict[str, Any]) -> None:
    data["claim"]["system"]["time"]["period"] = "-1/10"


def _other_prediction(data: dict[str, Any]) -> None:
    data["claim"]["system"]["next"][0] = ["*", "1/2", ["name", "x"]]


def _as_convergence(data: dict[str, Any]) -> None:
    data["claim"] |= {"kind": "convergence", "target": ["<=", ["name", "x"], 3]}
    data["ranking"] = {"function": ["name", "x"], "least": 1, "drift": 0, "cases": []}


@pytest.mark.parametrize(
    "change",
    [
        _without_time,
        _without_period,
        _first_order,
        _no_order,
        _squared_gust,
        _unknown_name,
        _no_derivative,
        _backwards,
        _other_prediction,
        _as_convergence,
    ],
)
def test_another_form_is_refused(shown: dict[str, Any], change: Any) -> None:
    data = copy.deepcopy(shown)
    change(data)
    assert not accepted(data)


def test_a_shield_needs_room_for_what_is_proposed() -> None:
    """Margins and boxes of a permit, and slacks for controls that the rule itself never uses."""
    problem = plant({"x": "x/2 + u0"}, "0.1", "-1 <= x <= 1", "x < -2 or x > 2", rule=("-2*x",), limit="4")
    made = make_certified_shield(in_time(problem, "continuous"), (2,), Budget(60))
    assert made.accepted
    assert made.certificate is not None
    certificate = to_format_1(made.certificate)
    assert accepted(certificate)
    for path in (
        ("claim", "system", "shield", 0, "margin"),
        ("claim", "system", "shield", 0, "inside", 0, 0),
        ("sets", 0, "unsafe", 0, "slack", 0),
        ("sets", 0, "period", "proposed", 0, 1),
    ):
        data = copy.deepcopy(certificate)
        factor = Fraction(1001, 1000) if "inside" in path else Fraction(9, 10)
        value = Fraction(float(Fraction(at(data, path)) * factor))
        put(data, path, value)
        assert not accepted(data), path
    data = copy.deepcopy(certificate)
    data["sets"][0]["period"]["proposed"] = None
    assert not accepted(data)
