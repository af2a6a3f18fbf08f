# ruff: noqa: E501 - one case on each line
"""What a trace cannot follow is refused: the line, and what to write instead."""

import inspect

import pytest
from tests.interface import refused_steps as steps

import surefoot as sf

R, N = sf.real, sf.integer
X = {"x": R(-1, 1)}
CASES = {
    "endless": X, "halving": {"x": R(0, 0.5)}, "counter": X, "hidden_list": X, "draws_python": X, "draws_numpy": X,
    "draws_generator": X, "draws_local": X, "clock_time": X, "single_precision": X, "raises": X, "asserts": X,
    "gives_text": X, "type_check": X, "identity": {"x": R(-1, 1), "flag": sf.boolean()}, "local_import": X,
    "unknown_function": X, "unknown_numpy": X, "inverse": {"s": sf.array(2, R(-1, 1))}, "key": X, "to_text": X,
    "not_whole": {"n": N(0, 9)}, "out_of_range": {"n": N(0, 9)}, "too_many_paths": {"v": sf.array(14, R(-1, 1))},
    "wrong_length": {"x": R(-1, 1), "v": R(-1, 1)}, "infinite": {"x": R(0, 10)}, "quantum": X, "swallows": X,
    "remembers": X, "bits": X, "matrix_root": {"s": sf.array(2, R(-1, 1))}, "big_index": {"n": N(0, 4999)}, "yields": X,
    "becomes_truths": {"cells": sf.array(4, N(0, 1))}, "uses_kept": {"n": N(0, 4)},
}  # fmt: skip


def marked_line(step):
    lines, first = inspect.getsourcelines(step)
    marked = [first + i for i, line in enumerate(lines) if "# REFUSED" in line]
    return f"refused_steps.py:{marked[0]}: " if marked else "refused_steps.py:"


@pytest.mark.parametrize("name", CASES)
def test_a_step_that_cannot_be_followed_is_refused(name):
    step = getattr(steps, name)
    with pytest.raises(sf.SurefootError) as caught:
        sf.trace(step, CASES[name])
    said = str(caught.value)
    assert said.startswith(marked_line(step)), said
    assert "; fix: " in said
    assert "\n" not in said
    assert caught.value.exit_code == 2


def test_an_attribute_that_counts_is_refused():
    with pytest.raises(sf.Unsupported, match=r"self.calls.* changes and is read"):
        sf.trace(steps.Counter().step, {"self.x": R(-1, 1)})
