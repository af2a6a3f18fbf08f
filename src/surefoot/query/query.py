"""The one language between encoders and solvers: is there an assignment that satisfies all of this?

Constraints are boolean terms over the declared quantities. Outputs of a network call are quantities too:
output i lies within `slack[i]` of the exact real value of the network at the inputs, so slack 0 means real
arithmetic and a positive slack covers rounding. A call with `float32` means more: the outputs are those of
some float32 evaluation, and the slack is what a solver without an account of roundings may take instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from surefoot.problem.network import Network
from surefoot.term.term import Term
from surefoot.term.value_types import Bool, Int, Real

Number: TypeAlias = bool | int | Fraction
Assignment: TypeAlias = Mapping[str, Number]
Json: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class QueryVariable:
    """A variable of a query: truth value, bounded integer or bounded real."""

    name: str
    kind: Bool | Int | Real


@dataclass(frozen=True, slots=True)
class NetworkCall:
    """|outputs[i] - network(inputs)[i]| <= slack[i] in exact arithmetic; an empty slack means 0."""

    network: Network
    inputs: tuple[Term, ...]
    outputs: tuple[str, ...]
    slack: tuple[Fraction, ...] = ()
    float32: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    quantities: tuple[QueryVariable, ...]
    constraints: tuple[Term, ...]
    calls: tuple[NetworkCall, ...] = ()


class UndecidedReason(Enum):
    """Why a solver did not decide."""

    TIMEOUT = "timeout"
    MEMORY = "memory"
    INCOMPLETE = "incomplete"  # the method cannot decide this one
    NUMERICS = "numerics"  # its arithmetic was not good enough


@dataclass(frozen=True, slots=True)
class Sat:
    """An assignment to every quantity; the solver claims that it satisfies the query within its tolerance."""

    assignment: Assignment


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """Evidence that nothing satisfies a query: plain JSON data as docs/certificates.md describes it.

    `cases` speak of the names of the lowered query, which `claim` writes out. `arithmetic` says for which
    evaluation of the networks this holds: "float32" or "real".
    """

    claim: Json
    arithmetic: str
    cases: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Unsat:
    """No assignment exists. `proof` is evidence that the checker can read; None: only the solver's word."""

    proof: Proof | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Undecided:
    """`proof`: evidence for real arithmetic, where only the rounding of float32 is in doubt.

    `near`: a point that satisfies the query up to the tolerances of a solver, but not exactly.
    """

    why: UndecidedReason
    detail: str
    proof: Proof | None = field(default=None, compare=False)
    near: Assignment | None = field(default=None, compare=False)


Answer: TypeAlias = Sat | Unsat | Undecided
