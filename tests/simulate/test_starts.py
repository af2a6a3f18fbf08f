"""Starts of initial conditions of all kinds: what they are, how they are described, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from time import process_time

import numpy as np
import pytest

from surefoot.errors import Unsupported
from surefoot.problem.environment import Component, Edge, Environment, Variable
from surefoot.problem.semantics import State, is_initial
from surefoot.simulate.starts import StartSamples, draw_starts, prepare_starts, with_corners
from surefoot.simulate.starts.start_cases import NoStart
from surefoot.term.number import bits_of
from surefoot.term.parser import parse_term
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

EXACT, FLOAT64 = Arithmetic.EXACT, Arithmetic.FLOAT64
UNIT = Real(Fraction(0), Fraction(1))


def environment_of(
    kinds: Mapping[str, ValueType], initial: str, arithmetic: Arithmetic = EXACT, *components: Component
) -> Environment:
    variables = tuple(Variable(name, kind) for name, kind in kinds.items())
    parts = components or (Component("c", (Edge(),)),)
    return Environment("starts", variables, parse_term(initial), parts, arithmetic=arithmetic)


def draw(
    environment: Environment, count: int = 500, *, corners: bool = False
) -> tuple[StartSamples, list[State]]:
    found = draw_starts(environment, count, np.random.default_rng(11), corners=corners)
    states = list(found.states(environment))
    assert len(states) == len(found) == count
    assert all(is_initial(environment, state) for state in states)
    return found, states


def test_seventeen_blocks_have_thousands_of_starts() -> None:
    found, states = draw(
        environment_of({n: Int(0, 17) for n in "abcdef"}, "17 = a + b + c + d + e + f"), 5000
    )
    assert (found.law, found.how, found.failed) == ("uniform", "list of 26334 starts", 0)
    assert len({tuple(s.values()) for s in states}) > 4000


def test_large_integer_systems_are_walked() -> None:
    kinds = {n: Int() for n in "abcdefgh"}
    limits = " & ".join(f"{n} >= 0" for n in kinds)
    found, states = draw(
        environment_of(kinds, f"{limits} & a+b+c+d+e+f+g+h = 60 & a + 2*b <= 30 & 3*g = c + 1")
    )
    assert (found.law, found.how) == ("spread", "lattice steps in 6 directions")
    assert len({tuple(s.values()) for s in states}) > 490
    assert {s["g"] for s in states} >= set(range(1, 8))


def test_ten_thousand_points_of_ten_dimensions_take_seconds() -> None:
    kinds = {f"x{i}": Real() for i in range(10)}
    limits = " & ".join(f"{n} >= 0" for n in kinds)
    environment = environment_of(kinds, f"{limits} & {' + '.join(kinds)} <= 1")
    began = process_time()
    found = draw_starts(environment, 10_000, np.random.default_rng(1))
    assert process_time() - began < 20  # about two on an idle machine
    assert (found.how, found.failed) == ("hit-and-run in a polytope of dimension 10", 0)
    total = sum(found.columns.values())
    # The mean of each coordinate is 1/11, and the sum is at most 0.9 with probability 0.9 ** 10.
    assert all(abs(c.mean() - 1 / 11) < 0.005 for c in found.columns.values())
    assert abs((total <= 0.9).mean() - 0.9**10) < 0.03


@pytest.mark.parametrize("arithmetic", [EXACT, FLOAT64])
@pytest.mark.parametrize(
    ("initial", "dimension"),
    [
        ("x + y + z = 1", 2),
        ("0.1 * x + 0.3 * y - 0.7 * z = 0.05", 2),
        ("x + y = 0.7 & y + z = 1/3 + 0.5", 1),
        ("x <= y & y <= x & z >= 0.25", 1),
        ("y = 2 * x - 0.3 & z = x / 3", 1),
        ("x + y + z >= 3", 0),
    ],
)
def test_equations_hold_without_tolerance(initial: str, dimension: int, arithmetic: Arithmetic) -> None:
    found, states = draw(environment_of({"x": UNIT, "y": UNIT, "z": UNIT}, initial, arithmetic), 200)
    assert arithmetic is FLOAT64 or not found.failed  # few doubles meet some of these
    if dimension:
        assert len({tuple(s.values()) for s in states}) > 190


def test_exact_starts_are_short() -> None:
    _, states = draw(environment_of({"x": UNIT, "y": UNIT, "z": UNIT}, "x + y + z = 1 & x <= 2 * y"))
    assert max(bits_of(value) for state in states for value in state.values()) <= 24


def test_numbers_that_no_double_is_are_kept_as_fractions() -> None:
    found, states = draw(environment_of({"x": Real(), "y": UNIT}, "x = 1/3 & y <= 0.1"), 50)
    assert set(found.exact) == {"x"}
    assert {state["x"] for state in states} == {Fraction(1, 3)}
    assert set(found.columns["x"]) == {1 / 3}
    found, states = draw(environment_of({"x": Real(), "y": UNIT}, "3 * x + y = 1"), 50)
    assert all(3 * state["x"] + state["y"] == 1 for state in states)


@pytest.mark.parametrize("arithmetic", [EXACT, FLOAT64])
@pytest.mark.parametrize(
    "initial",
    [
        "x * x + y * y <= 1 & x * x + y * y >= 0.98",
        "y = x * x + 0.1",
        "x * y = 1/2",
        "sin(x) > 0.9 & y <= cos(x)",
        "x ^ 3 - y > 0.999 & y > -1.0001",
        "(x - 1) ^ 2 + (y + 1) ^ 2 <= 0.0001",
        "abs(x) + abs(y) = 1 & max(x, y) > 0.75",
    ],
)
def test_conditions_that_are_not_linear(initial: str, arithmetic: Arithmetic) -> None:
    wide = Real(Fraction(-2), Fraction(2))
    _, states = draw(environment_of({"x": wide, "y": wide}, initial, arithmetic), 200)
    assert len({tuple(s.values()) for s in states}) > 150


@pytest.mark.parametrize(
    ("initial", "how"),
    [
        ("x = 0.5 & y = 1 | x = 0.25 & y = 1/3 | y = 1 & x = 1/2", "list of 2 starts"),
        ("x > 0.1 => x > 0.9 & y < 0.5", "uniform in 2 boxes"),
        ("x = 0 | y > 0.5", "one of 2 boxes, each as often"),
        ("ite(x > y, x > 0.9, y > 0.9)", "one of 2 cases; hit-and-run in a polytope of dimension 2"),
    ],
)
def test_cases(initial: str, how: str) -> None:
    found, _ = draw(environment_of({"x": UNIT, "y": UNIT}, initial), 300)
    assert found.how == how
    assert found.law == ("uniform" if how[0] in "lu" else "spread")


def test_sums_of_truth_values() -> None:
    kinds = {f"b{i}": Bool() for i in range(40)}
    total = " + ".join(f"ite({n}, 1, 0)" for n in kinds)
    found, states = draw(environment_of(kinds, f"{total} = 20 & (b0 | b1)"))
    assert found.law == "spread"
    assert len({tuple(s.values()) for s in states}) > 490
    assert all(0.2 < found.columns[n].mean() < 0.9 for n in kinds)


def test_mixed_conditions_move_whole_and_real_numbers_together() -> None:
    found, states = draw(environment_of({"x": Real(), "n": Int()}, "n <= x & x < n + 1 & n >= 0 & n <= 10"))
    assert {s["n"] for s in states} == set(range(11))
    assert found.law == "spread"


def test_independent_parts_are_drawn_each_by_itself() -> None:
    kinds = {"x": UNIT, "n": Int(0, 6), "m": Int(0, 6), "y": UNIT, "z": UNIT}
    found, _ = draw(environment_of(kinds, "x < 0.5 & n + m = 6"))
    assert (found.law, found.how) == ("uniform", "uniform in a box; list of 7 starts")
    found, _ = draw(environment_of(kinds, "x < 0.5 & n + m = 6 & y + z <= 1"))
    assert found.law == "spread"


def test_arrays_locations_and_float32() -> None:
    two = Component("two", (Edge(source="a"),), ("a", "b", "c"), ("a", "c"))
    kinds = {"a": Array(UNIT, 4), "i": Int(0, 3), "f": Real(Fraction(0), Fraction(1), True)}
    environment = environment_of(kinds, "a[0] + a[1] + a[2] + a[3] = 1 & a[i] >= 0.5", EXACT, two)
    found, states = draw(environment)
    assert found.columns["a"].shape == (500, 4)
    assert {s["i"] for s in states} == {0, 1, 2, 3}
    assert {s["@two"] for s in states} == {0, 2}
    assert (found.columns["f"].astype(np.float32) == found.columns["f"]).all()


def test_corners_hold_the_ends() -> None:
    environment = environment_of({"x": Real(Fraction(1, 3), Fraction(2, 3)), "n": Int(2, 90)}, "true")
    found, states = draw(environment, corners=True)
    assert found.law == "spread"
    ends = {(Fraction(1, 3), 2), (Fraction(1, 3), 90), (Fraction(2, 3), 2), (Fraction(2, 3), 90)}
    assert {(s["x"], s["n"]) for s in states} >= ends
    _, states = draw(environment_of({"x": UNIT, "y": UNIT}, "x + y <= 1"), corners=True)
    assert {(s["x"], s["y"]) for s in states} >= {(0, 0), (0, 1), (1, 0)}
    assert sum(s["x"] + s["y"] > Fraction(999_999, 1_000_000) for s in states) > 30


def test_numbers_without_a_limit_are_spread() -> None:
    found, _ = draw(
        environment_of({"x": Real(), "n": Int(), "y": Real(), "z": Real()}, "n > 3 & y + z > 100")
    )
    assert (found.law, found.how) == (
        "spread",
        "spread over an unbounded range; hit-and-run in a polytope of dimension 2",
    )
    assert np.ptp(found.columns["x"]) > 1000
    _, states = draw(environment_of({"x": Real(), "y": Real()}, "x + y > 50000 & x < y"), 50)
    assert len({s["x"] for s in states}) == 50


@pytest.mark.parametrize(
    ("initial", "what"),
    [
        ("x > 3", "the initial condition is false for all values"),
        ("x > 0.5 & x < 0.25", "the conditions on `x` exclude each other"),
        ("x + y = 1 & 2 * x + 2 * y = 3", "exclude each other"),
        ("2 * n + 4 * m = 7", "no combination of values"),
        ("n * n = 3 & m = n", "no combination of values"),
    ],
)
def test_conditions_that_nothing_meets_are_noticed(initial: str, what: str) -> None:
    environment = environment_of({"x": UNIT, "y": UNIT, "n": Int(0, 9), "m": Int(0, 9)}, initial)
    with pytest.raises(NoStart) as refused:
        draw_starts(environment, 5, np.random.default_rng(0))
    assert what in str(refused.value)


def test_rounding_may_meet_what_exact_numbers_do_not() -> None:
    large = environment_of({"x": Real(Fraction(1), Fraction(2))}, f"x + {10**20}.5 <= {10**20}.5", FLOAT64)
    assert is_initial(large, {"x": 1.5})
    with pytest.raises(Unsupported, match="no start state was found: without rounding") as refused:
        draw_starts(large, 5, np.random.default_rng(0))
    assert not isinstance(refused.value, NoStart)


def test_values_that_a_case_fixes_make_products_linear() -> None:
    kinds = {"n": Int(0, 9), "x": UNIT, "y": UNIT}
    found, states = draw(environment_of(kinds, "(n = 2 | n = 7) & n * x <= 1 & x ^ n + y <= n"), 300)
    assert found.how.startswith("one of 2 cases")
    assert {s["n"] for s in states} == {2, 7}


def test_what_is_not_found_is_refused() -> None:
    environment = environment_of({"x": UNIT, "y": UNIT}, "x * x + y * y = 1.9 & x > 2 * y")
    with pytest.raises(Unsupported, match="no start state was found"):
        draw_starts(environment, 5, np.random.default_rng(0))


def test_the_same_numbers_give_the_same_starts() -> None:
    environment = environment_of({"x": UNIT, "y": UNIT}, "x + y <= 1")
    first, second = (draw_starts(environment, 20, np.random.default_rng(4)) for _ in range(2))
    assert all((first.columns[n] == second.columns[n]).all() for n in "xy")


def test_a_source_is_drawn_from_again() -> None:
    rng = np.random.default_rng(4)
    source = prepare_starts(environment_of({"x": UNIT, "y": UNIT}, "x + y <= 1"), rng)
    first, second = source.draw(300, rng), source.draw(300, rng)
    assert len(set(first.columns["x"]) & set(second.columns["x"])) < 30
    assert len(source.draw(0, rng)) == 0


@pytest.mark.parametrize(
    "initial", ["0 <= x <= 1 and 0 <= y <= 1", "x + y + z = 1 and x >= 0 and y >= 0 and z >= 0"]
)
def test_one_preparation_is_for_starts_with_and_without_corners(initial: str) -> None:
    environment = environment_of({n: Real(Fraction(-9), Fraction(9)) for n in "xyz"}, initial)
    source = prepare_starts(environment, np.random.default_rng(0))
    pushed = with_corners(source, np.random.default_rng(0))
    assert pushed.sources is source.sources
    rng = np.random.default_rng(1)
    ends = [np.mean(np.abs(s.draw(400, rng).columns["x"] - 0.5) >= 0.5 - 1e-4) for s in (source, pushed)]
    assert ends[0] < 0.02 < 0.05 < ends[1]
    assert pushed.draw(10, rng).law == "spread"
