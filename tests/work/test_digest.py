from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
from tests.engines.statistical.chains import mix, walk

from surefoot.problem.property import Never
from surefoot.term.term import TRUE
from surefoot.work.fingerprint import content_fingerprint


def test_equal_values_have_equal_fingerprints() -> None:
    assert content_fingerprint(walk("P=? [ F x = 4 ]")) == content_fingerprint(walk("P=? [ F x = 4 ]"))
    assert content_fingerprint({"a": 1, "b": 2}) == content_fingerprint({"b": 2, "a": 1})


def test_every_difference_shows() -> None:
    problem = walk("P=? [ F x = 4 ]")
    others = [
        problem,
        walk("P=? [ F x = 3 ]"),
        walk("P=? [ F x = 4 ]", up=Fraction(1, 4)),
        mix(Fraction(1, 2)),
        replace(problem, property=Never(TRUE)),
        1, True, 1.0, "1", b"1", Fraction(1), None, (1,), ((1,),), (1, 1), frozenset((1,)),
        np.zeros(2), np.zeros(2, dtype=np.float32), np.zeros((2, 1)), np.array([0.0, -0.0]),
    ]  # fmt: skip
    assert len({content_fingerprint(value) for value in others}) == len(others)


def test_it_is_the_same_in_another_process() -> None:
    code = "from tests.work.test_digest import *; print(content_fingerprint(walk('P=? [ F x = 4 ]')))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == content_fingerprint(walk("P=? [ F x = 4 ]"))
