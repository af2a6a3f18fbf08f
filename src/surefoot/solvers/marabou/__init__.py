"""Marabou (extra `marabou`): questions over real variables and piecewise-linear networks, in floats."""

from surefoot.solvers.marabou.solver import Marabou

__all__ = ["Marabou"]
