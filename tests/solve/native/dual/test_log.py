"""The log of a refutation convinces a reader in exact arithmetic, and a damaged one does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.solve.native.dual.exact_log import Reader
from tests.solve.native.dual.instances import least_violation, shifted

from surefoot.solve.native.dual import Layered, Refuted, Settings, layered, refute
from surefoot.solve.native.dual.log import Closed, Log


def question(seed: int, copies: int = 2, whole: bool = False) -> Layered:
    r = np.random.default_rng(seed)
    inputs = 5 + copies - 1
    weights = (r.normal(0, 1, (7, 5)), r.normal(0, 1, (1, 7)))
    biases = (r.normal(0, 0.5, 7), r.normal(0, 0.5, 1))
    index = np.arange(5)[None] + np.arange(copies)[:, None]
    marked = np.arange(inputs) < (2 if whole else 0)
    return layered(
        weights,
        biases,
        -np.ones(inputs),
        np.ones(inputs),
        np.eye(copies),
        np.zeros(copies),
        index=index,
        whole=marked,
    )


def refuted(problem: Layered) -> Log:
    answer = refute(problem, Settings(log=True))
    assert isinstance(answer, Refuted)
    return answer.log


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("whole", [False, True])
def test_an_exact_reader_follows(seed: int, whole: bool) -> None:
    problem = question(seed, whole=whole)
    problem = shifted(problem, least_violation(problem) - 0.01)
    assert Reader(problem).accepts(refuted(problem))


def test_a_reader_refuses_what_is_not_proved() -> None:
    problem = question(3)
    least = least_violation(problem)
    log = refuted(shifted(problem, least - 0.01))
    assert not Reader(shifted(problem, least + 0.001)).accepts(log)
    for i, entry in enumerate(log.entries):
        if isinstance(entry, Closed):
            without = Log(True, log.entries[:i] + log.entries[i + 1 :], log.nodes)
            assert not Reader(shifted(problem, least - 0.01)).accepts(without)
    wider = replace(problem, low=problem.low * 2, high=problem.high * 2)
    assert not Reader(shifted(wider, least - 0.01)).accepts(log)
