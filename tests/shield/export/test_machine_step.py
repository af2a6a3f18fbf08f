"""The step of a Python shield in machine code: the same bits and the same errors."""

from __future__ import annotations

import gc
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import count
from math import inf, isnan, nan
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any
from weakref import ref

import numpy as np
import pytest
from tests.shield.export.test_source import ENVIRONMENT, bits, module, shield

from surefoot.problem.term import FALSE, Apply, Const, Op, Term, Var, conjunction_of, disjunction_of
from surefoot.shield.export import ShieldGuard, guard_of, python_source
from surefoot.shield.export.cpython_step import machine_step
from surefoot.shield.export.guard import GuardRule

TINY, HUGE = 5e-324, 1.7976931348623157e308
(PAYLOAD,) = struct.unpack("d", struct.pack("Q", 0xFFF8000000000123))
SPECIAL = (0.0, -0.0, nan, PAYLOAD, inf, -inf, TINY, -TINY, 1e-310, HUGE, -HUGE, 1e200, 1.0, -1.0)


def coefficient(random: Random) -> Const:
    return Const(Fraction(random.uniform(-1, 1)))


def form(names: Sequence[Term], random: Random, degree: int) -> Term:
    """A polynomial with all products of at most two names, or of at most four of few."""
    total: Term = coefficient(random)
    for index, name in enumerate(names):
        total = total + coefficient(random) * name
        for other in names[index:]:
            product = coefficient(random) * name * other
            total = total + (product * name * other if degree == 4 else product)
    return total


def random_guard(variables: int, rules: int, seed: int, *, degree: int = 2, rows: int = 0) -> ShieldGuard:
    """`rows`: so many sides of a polyhedron instead of a polynomial."""
    random = Random(seed)
    states = [Var(f"s{i}") for i in range(variables)]
    controls = [Var(f"c{i}") for i in range(random.randint(1, 3))]
    ends = [random.choice([(None, None), (-0.5, 0.25), (None, 0.5), (0.125, 1.0)]) for _ in controls]

    def inside(values: Sequence[Term], parts: Random) -> tuple[Term, Term]:
        linear = [sum((coefficient(parts) * v for v in values), start=Const(-1) + 0) for _ in range(rows)]
        barrier = Apply(Op.MAX, tuple(linear)) if rows else form(values, parts, degree)
        sides = [side for v in values for side in (Const(-1) <= v, v <= Const(Fraction(3, 4)))]
        return conjunction_of((*sides, barrier <= coefficient(parts))), barrier - coefficient(parts)

    made = []
    for number in range(rules):
        when, gap = inside(states, Random(seed + number))
        then = tuple(coefficient(random) * random.choice(states) - coefficient(random) for _ in controls)
        made.append(GuardRule(when, gap, then))
    following = [s + coefficient(random) * random.choice(controls) - s * s / 7 for s in states]
    found = [inside(following, Random(seed + number))[0] for number in range(rules)]
    permits = FALSE if seed % 5 == 4 else disjunction_of(tuple(found)) if rules > 1 else found[0]
    named = tuple((f"c{i}", low, high) for i, (low, high) in enumerate(ends))
    return ShieldGuard("random", tuple(f"s{i}" for i in range(variables)), named, permits, tuple(made))


def loaded(text: str, folder: Path, numbers: Iterator[int] = count()) -> ModuleType:  # noqa: B008
    """As a module that no other test has written."""
    return module(text, folder / f"guard_{next(numbers)}.py")


def answer(step: Callable[..., Any], *given: Any, **named: Any) -> tuple[object, object]:
    """With the bits of the controls, or the kind and words of an error."""
    try:
        applied, intervened = step(*given, **named)
    except Exception as problem:  # noqa: BLE001 (whatever it is, it has to be the same)
        return type(problem), str(problem)
    assert type(applied) is tuple
    assert type(intervened) is int
    assert all(type(value) is float for value in applied)
    return bits(applied), intervened


CASES = [
    (2, 1, 0, 4, 0), (2, 3, 1, 2, 0), (2, 2, 2, 2, 7), (4, 1, 3, 4, 0), (4, 2, 4, 2, 0), (4, 2, 5, 2, 12),
    (7, 1, 6, 2, 0), (15, 1, 7, 2, 0), (15, 2, 8, 2, 30), (18, 1, 10, 2, 0), (18, 1, 9, 2, 0),
]  # fmt: skip


@pytest.mark.parametrize(("variables", "rules", "seed", "degree", "rows"), CASES)
def test_machine_code_agrees_bit_for_bit(
    tmp_path: Path, variables: int, rules: int, seed: int, degree: int, rows: int
) -> None:
    guard = random_guard(variables, rules, seed, degree=degree, rows=rows)
    made = loaded(python_source(guard), tmp_path)
    fast, random, seen = machine_step(made.step), Random(seed), set()
    for index in range(1200):
        size, kind = 10 ** random.uniform(-3, 0.3), (list, tuple)[index % 2]
        values = [random.uniform(-size, size) for _ in range(variables + len(guard.controls))]
        if index % 5 == 0:
            for _ in range(random.randint(1, 3)):
                values[random.randrange(len(values))] = random.choice(SPECIAL)
        state, proposed = kind(values[:variables]), tuple(values[variables:])
        expected = answer(made.step, state, proposed)
        assert answer(fast, state, proposed) == expected
        seen.add(expected[1])
    assert {0, 1, 2} - seen <= ({0} if guard.permits == FALSE else set())


def test_states_at_the_edge_of_a_set_are_decided_alike(tmp_path: Path) -> None:
    made = loaded(python_source(guard_of(ENVIRONMENT, shield())), tmp_path)
    fast, random, edges = machine_step(made.step), Random(1), 0
    for _ in range(60):
        direction = random.uniform(-1, 1), random.uniform(-1, 1)
        low, high, asked = 0.0, 50.0, (random.uniform(-1, 1), random.uniform(0.5, 2.5))
        first = made.step((0.0, 0.0), asked)[1]
        while (middle := (low + high) / 2) not in (low, high):
            state = [middle * part for part in direction]
            found = answer(fast, state, asked)
            assert found == answer(made.step, state, asked)
            low, high = (middle, high) if found[1] == first else (low, middle)
        edges += high < 50
    assert edges > 40


def test_python_is_not_asked_where_numbers_are_plain(tmp_path: Path) -> None:
    made = loaded(python_source(guard_of(ENVIRONMENT, shield())), tmp_path)
    fast = machine_step(made.step)
    expected = made.step((9.0, 9.0), (0.0, 1.0))

    def stopped(*_: float) -> None:
        raise AssertionError("asked")

    made.program = stopped  # type: ignore[attr-defined]
    assert fast((9.0, 9.0), (0.0, 1.0)) == fast([9.0, 9.0], [0.0, 1.0]) == expected
    with pytest.raises(AssertionError, match="asked"):
        fast((9, 9), (0, 1))


def test_what_is_given_in_another_way_is_as_in_python(tmp_path: Path) -> None:
    made = loaded(python_source(guard_of(ENVIRONMENT, shield())), tmp_path)
    fast = machine_step(made.step)
    good, wanted = (0.1, -0.2), (0.0, 1.5)
    others: list[tuple[Any, ...]] = [
        ((1, -1), (0, 1)), (np.array(good), np.array(wanted, np.float32)), ([*map(Fraction, good)], wanted),
        (("0.1", "-0.2"), wanted), ((np.float64(0.1), -0.2), wanted), ((True, False), wanted), ("12", "12"),
        ((0.1,), wanted), (good, (0.0,)), ((*good, 0.3), (0.0,)), ((0.1,), (0.0, 1.0, 2.0)), ((), ()),
        ((0.1, "x"), wanted), ((0.1, None), wanted), ((0.1, 1j), wanted), (None, wanted), (good, 3.0),
        ((10**400, 0.1), wanted), ({0.1: 1, 0.2: 2}, wanted), (good,), (good, wanted, 1), (),
        (np.array([good]), wanted), (good, [[0.0], [1.0]]),
    ]  # fmt: skip
    assert answer(fast, good, wanted) == answer(made.step, good, wanted)
    for given in others:
        assert answer(fast, *given) == answer(made.step, *given), given
    assert answer(fast, iter(good), iter(wanted)) == answer(made.step, good, wanted)
    assert answer(fast, proposed=wanted, state=good) == answer(made.step, good, wanted)
    assert answer(fast, good, other=wanted)[0] is answer(made.step, good, other=wanted)[0] is TypeError


def test_errors_and_results_without_an_end_are_those_of_python(tmp_path: Path) -> None:
    head = "def program(x0, x1):"
    text = python_source(guard_of(ENVIRONMENT, shield())).replace(head, f"{head}\n    t = 1.0 / x0")
    made = loaded(text, tmp_path)
    fast = machine_step(made.step)
    assert answer(fast, (0.0, 9.0), (0.0, 1.0)) == answer(made.step, (0.0, 9.0), (0.0, 1.0))
    assert answer(fast, (0.0, 9.0), (0.0, 1.0))[0] is ZeroDivisionError
    assert answer(fast, (-0.0, 9.0), (0.0, 1.0))[0] is ZeroDivisionError
    assert answer(fast, (TINY, 9.0), (0.0, 1.0)) == answer(made.step, (TINY, 9.0), (0.0, 1.0))
    x = Var("x")
    large = x * Const(Fraction(1e300)) * Const(Fraction(1e300))
    rule = GuardRule(Const(-9) <= x, x, (large - large,))
    made = loaded(python_source(ShieldGuard("large", ("x",), (("u", None, None),), FALSE, (rule,))), tmp_path)
    fast = machine_step(made.step)
    assert isnan(fast((2.0,), (0.0,))[0][0])
    for value in (2.0, -2.0, -0.0, TINY):
        assert answer(fast, (value,), (0.0,)) == answer(made.step, (value,), (0.0,))


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    made = loaded(python_source(guard_of(ENVIRONMENT, shield())), tmp_path)
    fast, state, proposed = machine_step(made.step), [0.1234, -0.2345], (0.3456, 1.5678)
    held = (made.step, state, proposed, state[0], proposed[1], fast, 0, 1, 2)
    before, blocks = [*map(sys.getrefcount, held)], sys.getallocatedblocks()
    for _ in range(10_000):
        fast(state, proposed)
        fast(state, (nan, 1.5))
        fast(state, (0.0, 2))
    after, more = [*map(sys.getrefcount, held)], sys.getallocatedblocks() - blocks
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 50
    assert more < 1_000
    code = ref(fast.__self__[1])  # type: ignore[attr-defined]
    assert code() is not None
    del fast, held
    gc.collect()
    assert code() is None
