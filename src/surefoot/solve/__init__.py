"""Solvers by name. `Scripted` is not listed: it has to be given its answers."""

from surefoot.solve.milp import Milp
from surefoot.solve.native import Native
from surefoot.solve.protocol import Solver
from surefoot.solve.z3 import Z3

SOLVERS: dict[str, type[Solver]] = {"milp": Milp, "z3": Z3, "native": Native}
