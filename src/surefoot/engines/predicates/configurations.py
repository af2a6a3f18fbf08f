"""Which tests of Algorithm 2 are asked, when, and who answers: by name, those of the paper among them.

The paper's experiments (Vinzent and Hoffmann 2021, "Evaluated Methods"): PA tests without the network by Z3
(lines 2 and 11); PA+Marabou adds relaxed tests (lines 3 and 12) by Marabou; PA+BB(Marabou) and PA+Marabou+Z3
add exact transition tests (line 13), by Algorithm 1 over Marabou or by Z3, which gets bounds of the neurons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from surefoot.engines.predicates.symbolic.external_solvers import SolversByTest
from surefoot.solvers.branch_and_bound import BranchAndBound
from surefoot.solvers.marabou import Marabou
from surefoot.solvers.milp import Milp
from surefoot.solvers.z3 import Z3

TESTS = ("guard", "relaxed", "exact", "relations", "fixing")


@dataclass(frozen=True, slots=True)
class Configuration:
    """`leaves`: transition tests for complete successors only (lines 10 to 13), line 4 left out."""

    tests: str
    leaves: bool
    answerers: Callable[[], SolversByTest]


CONFIGURATIONS: dict[str, Configuration] = {
    "native": Configuration("guard exact", False, SolversByTest),
    "pa": Configuration("guard", True, lambda: SolversByTest(Z3())),
    "pa-marabou": Configuration("guard relaxed", True, lambda: SolversByTest(Z3(), Marabou())),
    "pa-bb-marabou": Configuration(
        "guard relaxed exact", True, lambda: SolversByTest(Z3(), Marabou(), BranchAndBound(Marabou()))
    ),
    "pa-marabou-z3": Configuration(
        "guard relaxed exact", True, lambda: SolversByTest(Z3(), Marabou(), Z3(bounds=True))
    ),
    "pa-z3": Configuration("guard exact", True, lambda: SolversByTest(Z3(), None, Z3(bounds=True))),
    "pa-milp": Configuration("guard relaxed", True, lambda: SolversByTest(Milp(), Milp())),
    "pa-bb-milp": Configuration(
        "guard relaxed exact", True, lambda: SolversByTest(Milp(), Milp(), BranchAndBound(Milp()))
    ),
}
