"""Certificates whose numbers, polynomials or starts explode: refused within seconds, not computed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from time import process_time
from typing import Any

import pytest
from tests.checker.barrier.test_forged_systems import _HALVES
from tests.checker.execution.test_problem import NOTHING, accepted, claim
from tests.checker.execution.test_problem import edge as step
from tests.checker.markov.claims import edge, environment, never

from surefoot_checker.check import judge_certificate
from surefoot_checker.claims.values import initial_rows
from surefoot_checker.kernel.strict_json import BadCertificate

X = ["name", "x"]
HUGE = "1e20000"
SECONDS = 15  # of processor time; what is refused at all is refused in less than two


def powers(term: Any, times: int, exponent: int) -> Any:
    for _ in range(times):
        term = ["^", term, exponent]
    return term


def product(*factors: Any) -> Any:
    return ["*", *factors]


def reason(certificate: dict[str, Any]) -> str:
    """Why it is not accepted, in time."""
    start = process_time()
    try:
        verdict = judge_certificate(certificate)
        assert not verdict.accepted
        why = verdict.reason
    except BadCertificate as error:
        why = str(error)
    assert process_time() - start < SECONDS
    return why


LONG: dict[str, Callable[[Any], Any]] = {  # of something that is at least 2
    "30 squarings": lambda x: powers(x, 30, 2),
    "a tower": lambda x: powers(x, 2, 10_000),
    "a product of long numbers": lambda x: product(x, *[HUGE] * 200),
    "nested products of long numbers": lambda x: product(x, *[product(HUGE, HUGE, HUGE)] * 20),
    "a product of constants": lambda _: product(*[HUGE] * 300),
    "a sum over denominators": lambda x: ["+", x, *[["/", 1, ["+", HUGE, n]] for n in range(1, 60)]],
    "a quotient of quotients": lambda x: ["/", ["/", x, "1e-20000"], ["/", "7e-20000", product(HUGE, HUGE)]],
}


WORLDS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "property": lambda kinds, term: never(world(kinds, edge()), ["<", term, 1]),
    "guard": lambda kinds, term: never(world(kinds, edge([("x", 1)], ["<", 1, term])), ["=", X, 2]),
    "update": lambda kinds, term: never(world(kinds, edge([("x", ["min", 3, term])])), ["=", X, 2]),
    "start": lambda kinds, term: never(world(kinds, edge(), ["<", 1, term]), ["=", X, 2]),
}


def world(kinds: Any, step: Any, start: Any = True) -> dict[str, Any]:
    return environment([["x", kinds]], ["and", ["=", X, 0], start], [step])


@pytest.mark.parametrize("long", LONG.values(), ids=LONG.keys())
@pytest.mark.parametrize(
    ("kinds", "place"),
    [
        (["integer", 0, 3], "property"),
        (["integer", None, None], "guard"),
        (["real", 0, 3], "update"),
        (["integer", 0, 3], "start"),
    ],
)
def test_terms_over_states(long: Callable[[Any], Any], kinds: list[Any], place: str) -> None:
    assert "bits" in reason(WORLDS[place](kinds, long(["+", X, 2])))


def test_a_product_of_two_thousand_long_numbers() -> None:
    assert "bits" in reason(WORLDS["property"](["integer", 0, 3], product(["+", X, 2], *[HUGE] * 2000)))


def test_states_that_square_themselves() -> None:
    squares = environment([["x", ["integer", None, None]]], ["=", X, 3], [edge([("x", product(X, X))])])
    assert "bits" in reason(never(squares, ["<", X, 0]))


A, B, C = (["name", name] for name in "abc")
CUBE = [[name, ["integer", 0, 999]] for name in "abc"]


@pytest.mark.parametrize(
    "initial",
    [True, ["<=", 0, A], ["and", ["<=", A, 900], ["not", ["=", B, 7]], ["<=", 0, C]]],
    ids=["all", "one condition", "conditions of each"],
)
def test_a_thousand_million_starts(initial: Any) -> None:
    assert "initial states" in reason(never(environment(CUBE, initial, [edge()]), False))


@pytest.mark.parametrize("initial", [["<=", 0, ["+", A, B, C]], ["<", ["+", A, B, C], 0]])
def test_candidates_for_starts_are_counted(initial: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initial_rows, "MOST_TRIES", 20_000)
    assert "initial states" in reason(never(environment(CUBE, initial, [edge()]), False))


def test_many_starts_that_are_not_too_many() -> None:
    few = environment(CUBE, ["and", ["<", A, 10], ["=", B, 1], ["<", ["+", A, C], 20]], [edge()])
    assert judge_certificate(never(few, ["=", B, 2])).accepted


@pytest.mark.parametrize("name", ["a product of long numbers", "nested products of long numbers"])
def test_linear_terms(name: str) -> None:
    term = LONG[name](X)
    edges = [step("go", [["x", ["min", 1, term]]])]
    argument = {"kind": "parts", "steps": 1, "inside": ["=", X, 0]}
    start = process_time()
    with suppress(BadCertificate):
        assert not accepted(claim({"edges": edges, "policy": NOTHING}, "never", argument))
    assert process_time() - start < SECONDS


@pytest.mark.parametrize("name", ["a product of long numbers", "nested products of long numbers"])
def test_polynomials_with_long_numbers(name: str) -> None:
    forged = copy.deepcopy(_HALVES)
    forged["claim"]["system"]["next"] = [LONG[name](X)]
    assert "bits" in reason(forged)


def test_polynomials_with_many_long_terms() -> None:
    """A power of a long sum: few numbers in the file, very many products of long ones."""
    forged = copy.deepcopy(_HALVES)
    several = ["+", *[product(*[X] * n, "1.7e9000") for n in range(1, 29)]]
    for factors in ([several] * 3, [several] * 2):
        forged["claim"]["system"]["next"] = [product(*factors)]
        assert reason(forged)


@pytest.mark.parametrize("place", ["domain", "initial", "scale"])
def test_boxes_of_long_numbers(place: str) -> None:
    forged = copy.deepcopy(_HALVES)
    system, proof = forged["claim"]["system"], forged["sets"][0]
    system["next"] = [product(*[X] * 55)]
    if place == "domain":
        system["rules"][0]["set"]["domain"] = [[f"-{HUGE}", HUGE]]
    elif place == "initial":
        system["initial"] = [[f"-{HUGE}", HUGE]]
    else:
        proof["scale"] = [[0, HUGE]]
    assert reason(forged)


def test_numbers_of_the_tool_are_read() -> None:
    """What the program computes itself is shorter than what is refused here."""
    shrinks = environment(
        [["x", ["real", 0, None]]], ["=", X, "1e10000"], [edge([("x", ["*", X, "1.5e-9000"])])]
    )
    assert "bits" in reason(never(shrinks, ["<", X, 0]))  # some steps later
    held = environment([["x", ["real", 0, None]]], ["=", X, "1e10000"], [edge([("x", ["/", X, 1])])])
    assert judge_certificate(never(held, ["<", X, "1e9999"])).accepted
