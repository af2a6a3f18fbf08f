"""Satisfiability modulo theories with Z3 (extra `smt`)."""

from surefoot.solve.z3.solver import Z3

__all__ = ["Z3"]
