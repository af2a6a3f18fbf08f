"""A traced program does what the program does, whatever its branches, loops and operators."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.interface.test_traced_steps import next_state, plain
from tests.laws.random_programs import ProgramMaker, load_step

import surefoot as sf
from surefoot.interface.symbolic_execution.recording import KnownBounds, Recording
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.term import free_names
from surefoot.term.value_types import Arithmetic, Bool, Int, Real

STATE = {
    "x": sf.real(-9, 9), "y": sf.real(-9, 9), "n": sf.integer(0, 5), "k": sf.integer(0, 5), "b": sf.boolean(),
}  # fmt: skip
SPECIAL = [0.0, 0.5, 1.0, -1.25, 2.0, -0.7, 9.0, -9.0]


def draw_names(rng):
    real = [rng.choice([rng.uniform(-9, 9), rng.choice(SPECIAL)]) for _ in range(2)]
    state = {
        "x": real[0],
        "y": real[1],
        "n": rng.randint(0, 5),
        "k": rng.randint(0, 5),
        "b": rng.random() < 0.5,
    }
    return {**state, "u": rng.uniform(-1, 1)}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9))
def test_a_traced_program_gives_the_same_states(tmp_path_factory, seed):
    step = load_step(ProgramMaker(seed).source(), tmp_path_factory.mktemp("steps"), seed)
    try:
        environment = sf.trace(step, STATE, sf.real(-1, 1), samples=100)
    except sf.Unsupported:
        return
    exact = not any("rounds" in note for note in environment.notes)
    rng = random.Random(seed)
    for _ in range(200):
        names = draw_names(rng)
        expected = plain(step(**names))
        found = next_state(environment, environment.components[0].edges[0], names)
        for name, value in zip(STATE, expected, strict=True):
            if exact or not isinstance(value, float):
                assert value == found[name], names
            else:
                assert abs(value - found[name]) <= 1e-9, names


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9))
def test_bounds_hold_for_every_state_of_the_path(tmp_path_factory, seed):
    """What a condition says about the sizes of terms: never narrower than what is computed."""
    step = load_step(ProgramMaker(seed).source(), tmp_path_factory.mktemp("steps"), seed)
    try:
        environment = sf.trace(step, STATE, sf.real(-1, 1), samples=50)
    except sf.Unsupported:
        return
    kinds = {
        "x": Real(-9, 9),
        "y": Real(-9, 9),
        "n": Int(0, 5),
        "k": Int(0, 5),
        "b": Bool(),
        "u": Real(-1, 1),
    }
    recording = Recording(kinds)
    terms = [rebuild(recording, u.value) for u in environment.components[0].edges[0].outcomes[0].updates]
    rng = random.Random(seed)
    for condition in terms:
        if recording.sort(condition) != Bool() or not free_names(condition):
            continue
        bounds = {side: KnownBounds(recording) for side in (True, False)}
        possible = {side: bounds[side].narrow(condition, side) for side in (True, False)}
        for _ in range(100):
            names = draw_names(rng)
            side = evaluate_term(condition, names, Arithmetic.FLOAT64)
            assert possible[side]
            for term in terms:
                low, high = bounds[side].interval(term)
                try:
                    assert low <= evaluate_term(term, names, Arithmetic.FLOAT64) <= high
                except Undefined:
                    continue


def rebuild(recording, whole):
    from surefoot.term.term import Const, Var
    from surefoot.term.traverse import fold_term

    def leaf(part):
        return (
            recording.name(part.name)
            if isinstance(part, Var)
            else recording.constant(Const(part.value).value)
        )

    return fold_term(whole, leaf, lambda part, args: recording.apply(part.op, *args))


@pytest.mark.parametrize("seed", range(10))
def test_the_remainder_has_the_bits_of_python(tmp_path, seed):
    rng = random.Random(seed)
    by = rng.choice([2 * 3.141592653589793, 0.1, 3.0, 1.0, 0.3, 360.0, 0.7, 1e-3, rng.uniform(0.01, 9)])
    sign = rng.choice([1, -1])
    source = f"def step(x, q, c):\n    return x % {sign * by!r}, x // {sign * by!r}, c\n"
    step = load_step(source, tmp_path, seed)
    state = {"x": sf.real(-60, 60), "q": sf.real(-60, 60), "c": sf.real(0, 1)}
    environment = sf.trace(step, state, returns=("x", "q", "c"))
    for number in range(2000):
        near = by * rng.randint(-5, 5) * (1 + rng.choice([0, 1, -1]) * 2.0**-52)
        x = max(-60.0, min(60.0, near if number % 2 else rng.uniform(-60, 60)))
        found = next_state(environment, environment.components[0].edges[0], {"x": x, "q": 0.0, "c": 0.0})
        assert (found["x"], found["q"]) == (x % (sign * by), x // (sign * by)), x
