"""Mixed-integer linear programming with HiGHS."""

from surefoot.solve.milp.solver import Milp

__all__ = ["Milp"]
