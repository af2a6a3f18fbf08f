"""Our own solver: batched branch and bound with rigorous bounds."""

from surefoot.solvers.native.native import Native

__all__ = ["Native"]
