"""Mixed-integer linear programming with HiGHS."""

from surefoot.solvers.milp.milp import Milp

__all__ = ["Milp"]
