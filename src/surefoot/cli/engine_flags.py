"""The flags that engines have, as data: a command's help and its usage errors import no engine.

One line for each field of an engine: its type, its default and the first sentence of what stands under it.
tests/cli/test_engine_options.py holds this table equal to the engines themselves.
"""

# ruff: noqa: E501 - the sentences are those of the engines
from __future__ import annotations

from typing import NamedTuple


class EngineFlag(NamedTuple):
    """A field of an engine; `kind`: its type as it is written there."""

    kind: str
    default: str  # as it is written on a command line; empty: nothing
    help: str
    choices: tuple[str, ...] = ()


SOLVER_NAMES = ("milp", "z3", "native")
ENGINE_FLAGS: dict[str, dict[str, EngineFlag]] = {
    "falsify": {
        "steps": EngineFlag(
            "int | None", "", "The longest run that is made; without it they grow to 4096 steps"
        ),
        "runs": EngineFlag("int | None", "", "Stop after so many runs; without it when the budget ends"),
    },
    "bmc": {
        "solver": EngineFlag("Solver", "milp", "Who answers the queries", SOLVER_NAMES),
        "depth": EngineFlag(
            "int | None", "", "Stop after this many steps; without it k grows until the budget ends"
        ),
    },
    "induction": {
        "solver": EngineFlag("Solver", "milp", "Who answers the queries", SOLVER_NAMES),
        "depth": EngineFlag(
            "int | None", "", "The largest k that is tried; without it k grows until the budget ends"
        ),
    },
    "recurrence": {
        "solver": EngineFlag(
            "Solver",
            "milp",
            "Who looks for runs; sets are always left to `native`, which has to prove them in the end",
            SOLVER_NAMES,
        ),
        "depth": EngineFlag(
            "int | None", "", "The longest run to a set that is looked for; without it 12 steps"
        ),
    },
    "explicit": {
        "width": EngineFlag(
            "Fraction", "1/1000000", "How wide the interval of an answer may be, relative to its lower end"
        ),
        "exact": EngineFlag("bool", "", "Compute in fractions: the answer is the number itself"),
        "max_states": EngineFlag(
            "int | None", "", "Stop exploring here; bounds then cover whatever the rest could do"
        ),
        "memory": EngineFlag("int | None", "", "Stop exploring when the states take so many megabytes"),
        "fuse": EngineFlag(
            "bool",
            "",
            "Pass through states with a single way on that the question cannot see; there is no certificate then",
        ),
        "tier": EngineFlag(
            "Literal['auto', 'interpreter', 'llvm', 'delayed']",
            "auto",
            "How states are explored; the answer is the same",
            ("auto", "interpreter", "llvm", "delayed"),
        ),
    },
    "predicates": {
        "predicates": EngineFlag("tuple[Term, ...]", "", "Conditions over the state to begin with"),
        "fixed": EngineFlag(
            "bool",
            "",
            "Keep to the given predicates: no refinement, and the whole reachable abstraction is built",
        ),
        "max_predicates": EngineFlag("int", "300", "Give up refining beyond so many"),
        "means": EngineFlag(
            "Literal['auto', 'table', 'cells']",
            "auto",
            "How steps are found: all states in a table, questions to the native solver, or the cheaper of both",
            ("auto", "table", "cells"),
        ),
        "configuration": EngineFlag(
            "str",
            "native",
            "Who answers which tests: native, or as in the paper pa, pa-marabou, pa-bb-marabou, pa-marabou-z3",
            (
                "native",
                "pa",
                "pa-marabou",
                "pa-bb-marabou",
                "pa-marabou-z3",
                "pa-z3",
                "pa-milp",
                "pa-bb-milp",
            ),
        ),
        "tests": EngineFlag(
            "str | None",
            "",
            "Which optional tests are asked: guard, relaxed, exact, relations, fixing; else the configuration's",
        ),
        "strategy": EngineFlag(
            "Literal['both', 'refinement', 'invariants']",
            "both",
            "Without a table: refine an abstraction, seek an invariant from the property, or both in turns",
            ("both", "refinement", "invariants"),
        ),
        "bounds": EngineFlag(
            "bool", "", "Bound the probability of a property `P`, from a table of all states"
        ),
    },
    "barrier": {
        "degree": EngineFlag(
            "int", "6", "The highest degree of the polynomial; 2, 4, … are tried in this order"
        ),
        "polynomial": EngineFlag(
            "bool", "", "Only polynomials: no polyhedra, which are tried too if the system is linear"
        ),
        "squares": EngineFlag(
            "Literal['auto', 'sos', 'sdsos']",
            "auto",
            "Sums of squares with any matrices, with sums of 2x2 ones (sdsos: many variables), or by their size",
            ("auto", "sos", "sdsos"),
        ),
    },
    "reach": {
        "order": EngineFlag(
            "int | None", "", "Symbols for each variable; without it as many as were found useful"
        ),
        "taylor": EngineFlag(
            "int | None", "", "The order of series in time; without it as the plant needs it"
        ),
        "pieces": EngineFlag(
            "int | None", "", "Sub-steps of a control period; without it as the plant needs them"
        ),
        "halvings": EngineFlag(
            "int | None",
            "",
            "How often the set that a network sees is halved; without it as its outputs need it",
        ),
        "run_directory": EngineFlag("str | None", "", "Cells that are done are recorded in this folder"),
        "resume": EngineFlag(
            "bool",
            "",
            "Go on with what the folder has; what it says goes through the checker like anything else",
        ),
    },
    "statistical": {
        "eps": EngineFlag(
            "Fraction",
            "1/100",
            "Half the width of the interval, in the unit of what is estimated; around a threshold, what may be left undecided on either side of it",
        ),
        "delta": EngineFlag("Fraction", "1/20", "The risk that the interval does not contain the true value"),
        "method": EngineFlag(
            "str",
            "auto",
            "Which plan (docs/reference/statistics.md); auto: clopper-pearson, with a threshold sprt",
            (
                "auto",
                "clopper-pearson",
                "clopper-pearson-fixed",
                "okamoto",
                "chen",
                "mixture",
                "spending",
                "sprt",
            ),
        ),
        "max_steps": EngineFlag(
            "int", "10000", "A run that is not decided after so many steps is cut off and counts as undecided"
        ),
        "uniform": EngineFlag("bool", "", "What policy and environment leave open is equally likely"),
        "starts": EngineFlag(
            "str | None",
            "",
            "`uniform`: every run draws its start uniformly from the initial condition, and by the laws in [starts] of a problem file where there are some; the value is an average over starts",
            ("uniform",),
        ),
        "cells": EngineFlag(
            "str | None",
            "",
            "With `starts`: variables whose start ranges are cut into so many parts (`x:10, y:5`); one value for each cell",
        ),
        "family_wise": EngineFlag(
            "bool",
            "",
            "For many starts: all intervals together are right with confidence 1 - delta, not each for itself",
        ),
        "least": EngineFlag(
            "Fraction | None", "", "No run has a smaller reward (if the model does not say so itself)"
        ),
        "most": EngineFlag("Fraction | None", "", "No run has a larger reward"),
        "importance": EngineFlag(
            "str | None",
            "",
            "For rare events: a term that grows towards them; runs are split whenever its whole part grows",
        ),
        "factor": EngineFlag("int", "4", "Into how many runs each is split"),
        "trees": EngineFlag("int", "10000", "How many runs are begun to be split"),
        "ray": EngineFlag(
            "str | None",
            "",
            "Address of a Ray cluster whose processors make the runs; `local`: one on this machine",
        ),
        "run_directory": EngineFlag("str | None", "", "Results are recorded in this folder as they arrive"),
        "resume": EngineFlag("bool", "", "Go on with what the folder has"),
    },
}
