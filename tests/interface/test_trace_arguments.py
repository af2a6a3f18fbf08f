"""Arguments of `trace`: what cannot be meant is refused in one line."""

import threading

import numpy as np
import pytest

import surefoot as sf
from surefoot.api import Law
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real

X = {"x": sf.real(-1, 1)}


def half(x):
    return 0.5 * x


def pushed(x, u):
    return max(-1.0, min(1.0, x + 0.1 * u))


def two(x, v):
    return x, v


BAD = [
    (lambda: sf.trace(3, X), "`3` cannot be called"),
    (lambda: sf.trace(half, {}), "does not say what is in the state"),
    (lambda: sf.trace(half, [1]), "does not say what is in the state"),
    (lambda: sf.trace(half, {"x": 3}), "is not a kind of values"),
    (lambda: sf.trace(half, {"x y": sf.real(-1, 1)}), "is not a name"),
    (lambda: sf.trace(half, {3: sf.real(-1, 1)}), "is not a name"),
    (lambda: sf.trace(half, {"x": sf.Real(1, -1)}), "no values from 1 to -1"),
    (lambda: sf.trace(half, {"x": sf.Real(-1, 1, True)}), "float32"),
    (lambda: sf.trace(half, {"x": sf.array(0, sf.real(-1, 1))}), "no elements"),
    (lambda: sf.trace(half, {"x": sf.real()}), "nothing says where `x` starts"),
    (lambda: sf.trace(half, X, start={"y": 0}), "`y` is not in the state"),
    (lambda: sf.trace(half, X, start={"x": (1, 0)}), "no values from 1 to 0"),
    (lambda: sf.trace(half, X, start={"x": "zero"}), "is not a number"),
    (lambda: sf.trace(half, X, sf.real(-1, 1)), "no parameter for the action"),
    (lambda: sf.trace(pushed, X), "nothing is given for the parameter `u`"),
    (lambda: sf.trace(pushed, X, "left"), "is not an action"),
    (lambda: sf.trace(pushed, X, []), "is not an action"),
    (lambda: sf.trace(pushed, X, [1, 1]), "listed twice"),
    (lambda: sf.trace(pushed, X, sf.integer(0)), "the actions are not listed"),
    (lambda: sf.trace(pushed, X, {"u": sf.integer(0, 1)}), "is no real number"),
    (lambda: sf.trace(pushed, X, noise={"u": sf.real()}), "has no limits"),
    (lambda: sf.trace(pushed, X, sf.real(-1, 1), noise={"w": sf.real(0, 1)}), "no parameter `w`"),
    (lambda: sf.trace(two, X), "nothing is given for the parameter `v`"),
    (lambda: sf.trace(two, {**X, "y": sf.real(0, 1)}), "no parameter `y`"),
    (lambda: sf.trace(half, {"self.x": sf.real(-1, 1)}), "needs an object"),
    (lambda: sf.trace(half, X, returns="state"), "does not say what is returned"),
    (lambda: sf.trace(half, X, returns=("stat",)), "is nothing that is returned"),
    (lambda: sf.trace(half, X, form="vector"), "cannot stand here"),
    (lambda: sf.trace(half, X, arithmetic="float32"), "cannot stand here"),
    (lambda: sf.trace(half, X, paths=0), "out of range"),
    (lambda: sf.trace(half, X, samples=0), "out of range"),
    (lambda: sf.real(1, 2, 3), "is not a name"),
    (lambda: sf.real(2, 1), "no values from 2 to 1"),
]


@pytest.mark.parametrize(("make", "words"), BAD)
def test_bad_arguments_are_refused(make, words):
    with pytest.raises(sf.SurefootError) as caught:
        make()
    said = str(caught.value)
    assert words in said
    assert "; fix: " in said
    assert "\n" not in said
    assert caught.value.exit_code == 2


def test_declarations_without_a_name_are_kinds():
    assert sf.real(-2, 2) == Real(-2, 2)
    assert sf.real() == Real()
    assert sf.integer(0, 9) == Int(0, 9)
    assert sf.boolean() == Bool()
    assert sf.array(3, sf.real(0, 1)) == Array(Real(0, 1), 3)


def test_variables_controls_and_starts_are_as_declared():
    environment = sf.trace(pushed, X, sf.real(-2, 2), start={"x": (-0.1, 0.1)}, name="cart")
    assert environment.name == "cart"
    assert [(c.name, c.low, c.high) for c in environment.controls] == [("u", -2, 2)]
    assert [(v.name, v.kind) for v in environment.variables] == [("x", Real(-1, 1))]
    assert environment.arithmetic is Arithmetic.FLOAT64
    with_text = sf.trace(pushed, X, sf.real(-2, 2), start="x >= 0.5")
    assert "x" in str(with_text.initial)


def test_a_disturbance_may_have_a_law():
    law = sf.Choice("w", sf.real(-0.1, 0.1), Law("uniform", (-0.1, 0.1)))
    environment = sf.trace(lambda x, w: 0.5 * x + w, X, noise={"w": law})
    assert environment.components[0].edges[0].chosen == (law,)


def test_whole_numbers_alone_are_computed_exactly():
    environment = sf.trace(lambda n: (n * 7 + 3) // 2 % 10, {"n": sf.integer(0, 9)})
    assert environment.arithmetic is Arithmetic.EXACT


def test_an_exact_model_says_so():
    environment = sf.trace(half, X, arithmetic="exact")
    assert environment.arithmetic is Arithmetic.EXACT
    assert any("does not round" in note for note in environment.notes)


def test_an_episode_ends_where_it_says_so():
    def step(n, action):
        n = n + (1 if action == "up" else -1)
        return n % 10, 1.0, n > 8

    environment = sf.trace(step, {"n": sf.integer(0, 9)}, ["up", "down"], start={"n": 4})
    n = sf.integer("n", 0, 9)
    up = sf.Policy.program([(n >= 0, "up")], actions=["up", "down"])
    assert sf.check(environment, up, sf.never("terminated")).violated
    assert sf.check(environment, up, sf.never(n == 1)).proved
    never = sf.trace(lambda n: (n, 0.0, False), {"n": sf.integer(0, 9)})
    assert never.definitions == (("terminated", sf.FALSE),)


def test_names_are_put_back_and_modules_are_not_changed():
    before = np.sin, dict(globals())
    with pytest.raises(sf.SurefootError):
        sf.trace(lambda x: np.linalg.inv(np.array([[x]])), X)
    assert np.sin is before[0]
    assert dict(globals()) == before[1]
    assert isinstance(np.zeros(2), np.ndarray)


def test_traces_in_several_threads_do_not_meet():
    found, threads = [], []
    for _ in range(3):
        threads.append(threading.Thread(target=lambda: found.append(sf.trace(half, X, samples=50).name)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert found == ["half"] * 3
