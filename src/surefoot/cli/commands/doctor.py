"""`surefoot doctor`: what is installed, what each missing extra would add, and a first proof of life."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import click

CORE = ("numpy", "scipy", "onnx", "highspy", "clarabel", "llvmlite", "click", "rich")
EXTRAS = {
    "smt": ("z3", "z3-solver", "the z3 solver, as a second opinion"),
    "ort": ("onnxruntime", "onnxruntime", "comparison with the runtime that deploys the network"),
    "gym": ("gymnasium", "gymnasium", "Gymnasium environments"),
    "marabou": ("maraboupy", "maraboupy", "the back end of the first papers (CPython 3.11 only)"),
    "storm": ("stormpy", "stormpy", "comparison with Storm (GPL)"),
    "train": ("stable_baselines3", "stable-baselines3", "training of policies (torch)"),
    "ray": ("ray", "ray", "work on several machines"),
}


@click.command()
def doctor() -> int:
    """Show versions, missing extras and whether a small question is answered rightly."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    print(f"python       {platform.python_version()} on {machine}")
    missing = 0
    for package in ("surefoot", *CORE):
        found = _installed_version(package)
        missing += found is None
        print(f"{package:<12} {found or 'MISSING: pip install surefoot'}")
    for extra, (module, package, use) in EXTRAS.items():
        present = find_spec(module) is not None
        state = (
            _installed_version(package) or "present"
            if present
            else f'not installed: pip install "surefoot[{extra}]"'
        )
        print(f"{extra:<12} {state}; {use}")
    try:
        return 4 if missing or not _check_solvers() else 0
    except KeyboardInterrupt:
        print("interrupted: not every solver was asked")
        return 130


def _installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _check_solvers() -> bool:
    """Every installed solver finds x in [0, 1] with x >= 1/2 and none with x >= 2."""
    from fractions import Fraction

    from surefoot.query.query import Query, QueryVariable, Sat, Unsat
    from surefoot.solvers import SOLVERS
    from surefoot.solvers.protocol import solve_query
    from surefoot.term.term import Var
    from surefoot.term.value_types import Real

    query = Query((QueryVariable("x", Real(Fraction(0), Fraction(1))),), ())
    healthy = True
    for name, kind in SOLVERS.items():
        solver = kind()
        if solver.objection(query) is not None:
            continue
        some = solve_query(solver, query, Var("x") >= Fraction(1, 2), seconds=20)
        none = solve_query(solver, query, Var("x") >= 2, seconds=20)
        right = isinstance(some, Sat) and isinstance(none, Unsat)
        healthy = healthy and right
        print(f"solver {name:<5} {'answers rightly' if right else 'WRONG ANSWER: do not use'}")
    return healthy
