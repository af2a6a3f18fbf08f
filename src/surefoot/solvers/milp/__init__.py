"""Mixed-integer linear programming with HiGHS."""

from surefoot.solvers.milp.solver import Milp

__all__ = ["Milp"]
