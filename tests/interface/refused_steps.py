"""Step functions that cannot be followed; the comment REFUSED marks the line that is named."""

import functools
import math
import random
import time

import numpy as np

COUNT = 0
SEEN = []
CACHE = {}
RNG = np.random.default_rng(0)


def endless(x):
    while x < 1000.0:
        x = x * 1.5 + 1e-9
    return x * 0.001


def halving(x):
    while x > 1e-300:
        x = x - x * x
    return x


def counter(x):
    global COUNT
    COUNT += 1  # REFUSED
    return x * 0.5 + COUNT


def hidden_list(x):
    SEEN.append(1)
    return x * 0.5 + len(SEEN)


def draws_python(x):
    return 0.5 * x + random.uniform(-0.1, 0.1)  # REFUSED


def draws_numpy(x):
    return 0.5 * x + np.random.normal()  # REFUSED


def draws_generator(x):
    return 0.5 * x + RNG.normal(0.0, 0.1)  # REFUSED


def draws_local(x):
    rng = np.random.default_rng()
    return 0.5 * x + rng.uniform()  # REFUSED


def clock_time(x):
    return 0.5 * x + (time.perf_counter_ns() % 7)


def single_precision(x):
    return np.float32(x) * 0.5  # REFUSED


def raises(x):
    if x > 0.5:
        raise ValueError("too large")  # REFUSED
    return x


def asserts(x):
    assert x < 0.9  # REFUSED
    return x * 0.5


def gives_text(x):
    return f"{x}" if x > 0 else x


def type_check(x):
    return x * 0.5 if type(x) is float else x * 2.0


def identity(x, flag):
    return (x * 0.5 if flag is True else x), flag


def local_import(x):
    from math import erf

    return erf(x)  # REFUSED


def unknown_function(x):
    return math.gamma(x + 3.0)  # REFUSED


def unknown_numpy(x):
    return np.sinc(x)  # REFUSED


def inverse(s):
    return np.linalg.inv(np.array([[s[0] + 3, 1.0], [0.5, s[1] + 3]]))[0]  # REFUSED


def key(x):
    return {0.5: 1.0}.get(x, 0.0)  # REFUSED


def to_text(x):
    return float(str(x))  # REFUSED


def not_whole(n):
    return n / 2


def out_of_range(n):
    return n + 1


def too_many_paths(v):
    total = 0.0
    for i in range(14):
        total += 0.1 if v[i] > 0 else -0.1  # REFUSED
    return v * 0.5 + total


def wrong_length(x, v):
    return x


def infinite(x):
    return x * 0.5 if x < 5 else float("inf")


def quantum(x):
    return complex(x, 1.0).real  # REFUSED


def swallows(x):
    try:
        return math.gamma(x + 3.0)  # REFUSED
    except Exception:  # noqa: BLE001 - as users write it
        return 0.0


def remembers(x, last=[0.0]):  # noqa: B006 - as users write it
    before, last[0] = last[0], x
    return 0.5 * x + 0.1 * before


def bits(x):
    return x.hex()


def matrix_root(s):
    return np.linalg.eigvals(np.array([[s[0], 1.0], [1.0, s[1]]]))  # REFUSED


def big_index(n):
    return [0] * 5000 + [n] if n < 0 else list(range(5000))[n] * 0  # REFUSED


def becomes_truths(cells):
    return cells + np.roll(cells, 1) > 1


@functools.lru_cache
def kept(n):
    return n * 2


def uses_kept(n):
    return kept(n) % 5


class Counter:
    def __init__(self):
        self.x, self.calls = 0.0, 0

    def step(self):
        self.calls += 1
        self.x = 0.5 * self.x + 0.001 * self.calls


def yields(x):
    yield x
