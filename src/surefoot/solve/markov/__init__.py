"""Fixed points of Markov chains and decision processes, with bounds that hold exactly."""

from surefoot.solve.markov.optimum import Undecided
from surefoot.solve.markov.solver import solve

__all__ = ["Undecided", "solve"]
