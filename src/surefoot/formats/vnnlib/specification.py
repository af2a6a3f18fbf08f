"""What a VNN-LIB file says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from surefoot.term.term import Apply, Const, Op, Term, Var


@dataclass(frozen=True, slots=True)
class Specification:
    """A box of inputs and a constraint over inputs `X_i` and outputs `Y_i` that describes the bad points."""

    inputs: int
    outputs: int
    low: tuple[Fraction, ...]  # the smallest box that the bounds of the inputs allow, over all disjuncts
    high: tuple[Fraction, ...]
    constraint: Term  # all assertions at once, the bounds of the inputs included


def vnnlib_input_name(index: int) -> str:
    return f"X_{index}"


def vnnlib_output_name(index: int) -> str:
    return f"Y_{index}"


def is_input(name: str) -> bool:
    return name.startswith("X_")


def input_bound(comparison: Term) -> tuple[str, Fraction | None, Fraction | None] | None:
    """(input, low, high) if it compares one input with a number; a strict bound counts like the other."""
    match comparison:
        case Apply(Op.LE | Op.LT, (Const(value), Var(name))) if is_input(name):
            return name, Fraction(value), None
        case Apply(Op.LE | Op.LT, (Var(name), Const(value))) if is_input(name):
            return name, None, Fraction(value)
        case Apply(Op.EQ, (Var(name), Const(value)) | (Const(value), Var(name))) if is_input(name):
            return name, Fraction(value), Fraction(value)
        case _:
            return None
