"""A small scene: a ball in three variables, unsafe beyond 2, one run that is safe and one that is not."""

from __future__ import annotations

from fractions import Fraction

from surefoot.query.polynomial import Polynomial
from surefoot.report.region.sample_runs import SampleRun
from surefoot.report.region.scene import ClosedRegion, Scene

ONE, TWO = Fraction(1), Fraction(2)
BALL = Polynomial(
    {(2, 0, 0): ONE, (0, 2, 0): ONE, (0, 0, 2): 4 * ONE, (0, 0, 0): -ONE}
)  # x^2 + y^2 + 4 z^2 - 1


def ball() -> Scene:
    beyond = tuple(
        (Polynomial({tuple(int(i == j) for j in range(3)): sign, (0, 0, 0): -TWO}),)
        for i in range(3)
        for sign in (ONE, -ONE)
    )
    runs = (
        SampleRun(False, ((0.1, 0.1, 0.0), (1.0, 0.5, 0.0), (2.5, 0.9, 0.1)), True),
        SampleRun(True, ((0.1, 0.1, 0.0), (0.5, 0.2, 0.0), (0.4, 0.1, 0.1)), False, 2),
    )
    return Scene(
        "a <ball>",
        ("x", "y", "z"),
        ((Fraction(-1, 2), Fraction(1, 2)),) * 2 + ((Fraction(-1, 4), Fraction(1, 4)),),
        (ClosedRegion(((-TWO, TWO),) * 3, (BALL,), "u = -x"),),
        beyond,
        runs,
        "the network",
        True,
    )
