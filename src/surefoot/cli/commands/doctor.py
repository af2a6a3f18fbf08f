"""`surefoot doctor`: what is installed, what each missing extra would add, and a first proof of life."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import click

from surefoot import api

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
    """Every installed solver finds what there is and nothing else."""
    healthy = True
    for name, right in api.probe_solvers():
        healthy = healthy and right
        print(f"solver {name:<5} {'answers rightly' if right else 'WRONG ANSWER: do not use'}")
    return healthy
