"""surefoot: proofs, probabilities and shields for neural-network policies.

The names below are the public interface; everything else may change without notice. They are imported when
they are first used, so that `import surefoot` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefoot.engines.bmc import Bmc
    from surefoot.engines.induction import Induction
    from surefoot.errors import SurefootError
    from surefoot.formats.policy_file import load_policy
    from surefoot.problem.environment import (
        Array,
        Bool,
        Choice,
        Component,
        Control,
        Edge,
        Environment,
        Int,
        Outcome,
        Real,
        Update,
        Variable,
    )
    from surefoot.problem.network import Network
    from surefoot.problem.parse import parse_property, parse_term
    from surefoot.problem.policy import Branch, NeuralPolicy, ProgramPolicy, ShieldedPolicy
    from surefoot.problem.problem import Problem
    from surefoot.problem.property import Eventually, Never, NeverBefore, Recurs, Within
    from surefoot.problem.term import FALSE, TRUE, Var, equal, ite
    from surefoot.problem.validate.distribution import normalise_probabilities
    from surefoot.problem.window import window
    from surefoot.report.result_text import render
    from surefoot.run import verify
    from surefoot.work.budget import Budget

_HOMES = {
    "surefoot.engines.bmc": ("Bmc",),
    "surefoot.engines.induction": ("Induction",),
    "surefoot.errors": ("SurefootError",),
    "surefoot.formats.policy_file": ("load_policy",),
    "surefoot.problem.environment": (
        *("Array", "Bool", "Choice", "Component", "Control", "Edge", "Environment"),
        *("Int", "Outcome", "Real", "Update", "Variable"),
    ),
    "surefoot.problem.network": ("Network",),
    "surefoot.problem.parse": ("parse_property", "parse_term"),
    "surefoot.problem.policy": ("Branch", "NeuralPolicy", "ProgramPolicy", "ShieldedPolicy"),
    "surefoot.problem.problem": ("Problem",),
    "surefoot.problem.property": ("Eventually", "Never", "NeverBefore", "Recurs", "Within"),
    "surefoot.problem.term": ("FALSE", "TRUE", "Var", "equal", "ite"),
    "surefoot.problem.validate.distribution": ("normalise_probabilities",),
    "surefoot.problem.window": ("window",),
    "surefoot.report.result_text": ("render",),
    "surefoot.run": ("verify",),
    "surefoot.work.budget": ("Budget",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "FALSE",
    "TRUE",
    "Array",
    "Bmc",
    "Bool",
    "Branch",
    "Budget",
    "Choice",
    "Component",
    "Control",
    "Edge",
    "Environment",
    "Eventually",
    "Induction",
    "Int",
    "Network",
    "NeuralPolicy",
    "Never",
    "NeverBefore",
    "Outcome",
    "Problem",
    "ProgramPolicy",
    "Real",
    "Recurs",
    "ShieldedPolicy",
    "SurefootError",
    "Update",
    "Var",
    "Variable",
    "Within",
    "equal",
    "ite",
    "load_policy",
    "normalise_probabilities",
    "parse_property",
    "parse_term",
    "render",
    "verify",
    "window",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module `surefoot` has no attribute `{name}`")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
