"""Solvers by name."""

from surefoot.errors import WrongType, did_you_mean
from surefoot.solvers.milp import Milp
from surefoot.solvers.native import Native
from surefoot.solvers.protocol import Solver
from surefoot.solvers.z3 import Z3
from surefoot.term.arguments import describe_value

SOLVERS: dict[str, type[Solver]] = {"milp": Milp, "z3": Z3, "native": Native}


def take_solver(given: object) -> Solver:
    """A solver, or the one of this name."""
    if isinstance(given, str):
        if given not in SOLVERS:
            raise WrongType(f"unknown solver {given!r}", fix=did_you_mean(given, SOLVERS))
        return SOLVERS[given]()
    if isinstance(given, type) or not hasattr(given, "session"):
        raise WrongType(
            f"{describe_value(given)} is not a solver", fix='give its name: "milp", "z3", "native"'
        )
    return given  # type: ignore[return-value]
