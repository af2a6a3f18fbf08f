"""Arrays at places that wrap around, masks, results that look like the state, and what methods return."""

import math
import random

import numpy as np
import pytest
from tests.interface.test_traced_steps import next_state, plain

import surefoot as sf

R, N, V = sf.real, sf.integer, sf.array


def one_before(v, k):
    v = v.copy()
    v[k], v[k - 1] = v[k - 1], v[k]
    v[-1] = v[:2].max()
    return v, (k + 1) % len(v)


def damped_where(v, k):
    w = v.copy()
    w[w > 0.25] *= 0.5
    w[(w < 0) & (v != -1)] += v[(w < 0) & (v != -1)] * 0.1
    return w, k


def as_long_as_the_state(v):
    after = v * 0.5
    return after, -float(after[0]), bool(np.any(np.abs(after) > 0.9))


class Cart:
    def __init__(self):
        self.x = 0.0

    def ends(self, u):
        self.x = self.x + 0.1 * u
        return abs(self.x) > 0.5

    def pays_and_ends(self, u):
        self.x = self.x + 0.1 * u
        return -abs(self.x), abs(self.x) > 0.5

    def shows_and_ends(self, u):
        self.x = self.x + 0.1 * u
        return np.array([self.x, 1.0]), bool(abs(self.x) > 0.5)


def test_log1p_is_followed_and_copysign_of_a_zero_is_not():
    env = sf.trace(lambda x: math.log1p(x) * 0.5 + math.expm1(-x) * 0.1, {"x": R(0, 2)})
    edge = env.components[0].edges[0]
    for i in range(200):
        x = i / 100
        found = next_state(env, edge, {"x": x})["x"]
        assert found == pytest.approx(math.log1p(x) * 0.5 + math.expm1(-x) * 0.1, abs=1e-12)
    with pytest.raises(sf.SurefootError, match=r"may be 0.0 or -0.0"):
        sf.trace(lambda x: 0.5 * math.copysign(0.1, x), {"x": R(-1, 1)})
    with pytest.raises(sf.SurefootError, match=r"`math.modf` is not followed"):
        sf.trace(lambda x: math.modf(x)[0], {"x": R(-1, 1)})


@pytest.mark.parametrize("step", [one_before, damped_where])
def test_places_and_masks_mean_what_they_mean_in_numpy(step):
    env = sf.trace(step, {"v": V(3, R(-1, 1)), "k": N(0, 2)})
    rng = random.Random(1)
    for _ in range(500):
        v = np.array([rng.choice([rng.uniform(-1, 1), 0.0, 1.0, -1.0, 0.25]) for _ in range(3)])
        k = rng.randint(0, 2)
        found = next_state(env, env.components[0].edges[0], {"v": tuple(v.tolist()), "k": k})
        assert (found["v"], found["k"]) == plain(step(v, k))


@pytest.mark.parametrize("length", [2, 3, 4])
def test_a_result_as_long_as_the_state_is_no_state(length):
    env = sf.trace(as_long_as_the_state, {"v": V(length, R(-2, 2))})
    assert [v.name for v in env.variables] == ["v", "terminated"]
    assert env.components[0].edges[0].outcomes[0].rewards[0][0] == "reward"


@pytest.mark.parametrize("method", ["ends", "pays_and_ends", "shows_and_ends"])
@pytest.mark.parametrize("said", [False, True])
def test_the_end_that_a_method_returns_is_read(method, said):
    roles = {"ends": ("terminated",), "pays_and_ends": ("reward", "terminated")}
    returns = roles.get(method, ("ignored", "terminated")) if said else None
    env = sf.trace(getattr(Cart(), method), {"self.x": R(-1, 1)}, R(-1, 1), returns=returns)
    edge = env.components[0].edges[0]
    for x, u in [(0.0, 1.0), (0.45, 1.0), (-0.5, -1.0), (0.5, 0.0), (0.6, -1.0)]:
        names = {"x": x, "u": u, "terminated": False}
        assert next_state(env, edge, names)["terminated"] == (abs(x + 0.1 * u) > 0.5)
    assert bool(edge.outcomes[0].rewards) == (method == "pays_and_ends")
