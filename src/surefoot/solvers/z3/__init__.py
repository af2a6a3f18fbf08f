"""Satisfiability modulo theories with Z3 (extra `smt`)."""

from surefoot.solvers.z3.solver import Z3

__all__ = ["Z3"]
