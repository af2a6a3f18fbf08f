"""Fixed points of Markov chains and decision processes, with bounds that hold exactly."""

from surefoot.solvers.markov.bellman import MarkovUndecided
from surefoot.solvers.markov.solver import GoalMayBeMissed, solve_markov

__all__ = ["GoalMayBeMissed", "MarkovUndecided", "solve_markov"]
