"""surefoot: proofs, probabilities and shields for neural-network policies.

The names below are the public interface; everything else may change without notice. They are imported when
they are first used, so that `import surefoot` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefoot.api import (
        CheckResult,
        Environment,
        Expression,
        Policy,
        array,
        boolean,
        check,
        check_certificate,
        choose_value,
        eventually,
        expected_reward,
        heatmap,
        integer,
        load,
        never,
        never_before,
        probability,
        probability_of,
        real,
        recurs,
        shield,
        within,
    )
    from surefoot.engines.barrier import Barrier
    from surefoot.engines.bmc import Bmc
    from surefoot.engines.explicit import Explicit
    from surefoot.engines.induction import Induction
    from surefoot.engines.predicates import Predicates
    from surefoot.engines.recurrence import Recurrence
    from surefoot.engines.statistical import Statistical
    from surefoot.errors import InvalidProblem, MissingBackend, SurefootError, Unsupported, WrongType
    from surefoot.formats.policy_file import load_policy
    from surefoot.problem.environment import Choice, Component, Control, Edge, Outcome, Update, Variable
    from surefoot.problem.network import Network
    from surefoot.problem.policy import Branch, NeuralPolicy, ProgramPolicy, ShieldedPolicy
    from surefoot.problem.problem import Problem
    from surefoot.problem.property import Eventually, Never, NeverBefore, Recurs, Within
    from surefoot.problem.property_parser import parse_property
    from surefoot.problem.validate.distribution import normalise_probabilities
    from surefoot.problem.window import window
    from surefoot.report.result_text import render
    from surefoot.run import verify
    from surefoot.term.parser import parse_term
    from surefoot.term.term import FALSE, TRUE, Var, equal, ite
    from surefoot.term.value_types import Array, Bool, Int, Real
    from surefoot.verdict.verdict import (
        Estimated,
        Exact,
        Found,
        Holds,
        PerStart,
        Proved,
        Reason,
        Unknown,
        Vacuous,
        Violated,
    )
    from surefoot.work.budget import Budget

_HOMES = {
    "surefoot.api": (
        *("CheckResult", "Environment", "Expression", "Policy", "array", "boolean"),
        *(
            "check",
            "check_certificate",
            "choose_value",
            "eventually",
            "expected_reward",
            "heatmap",
            "integer",
        ),
        *("load", "never", "never_before", "probability", "probability_of", "real"),
        *("recurs", "shield", "within"),
    ),
    "surefoot.engines.barrier": ("Barrier",),
    "surefoot.engines.bmc": ("Bmc",),
    "surefoot.engines.explicit": ("Explicit",),
    "surefoot.engines.induction": ("Induction",),
    "surefoot.engines.predicates": ("Predicates",),
    "surefoot.engines.recurrence": ("Recurrence",),
    "surefoot.engines.statistical": ("Statistical",),
    "surefoot.errors": (
        "InvalidProblem",
        "MissingBackend",
        "SurefootError",
        "Unsupported",
        "WrongType",
    ),
    "surefoot.formats.policy_file": ("load_policy",),
    "surefoot.problem.environment": (
        "Choice",
        "Component",
        "Control",
        "Edge",
        "Outcome",
        "Update",
        "Variable",
    ),
    "surefoot.problem.network": ("Network",),
    "surefoot.problem.property_parser": ("parse_property",),
    "surefoot.problem.policy": ("Branch", "NeuralPolicy", "ProgramPolicy", "ShieldedPolicy"),
    "surefoot.problem.problem": ("Problem",),
    "surefoot.problem.property": ("Eventually", "Never", "NeverBefore", "Recurs", "Within"),
    "surefoot.term.parser": ("parse_term",),
    "surefoot.term.value_types": ("Array", "Bool", "Int", "Real"),
    "surefoot.term.term": ("FALSE", "TRUE", "Var", "equal", "ite"),
    "surefoot.problem.validate.distribution": ("normalise_probabilities",),
    "surefoot.problem.window": ("window",),
    "surefoot.report.result_text": ("render",),
    "surefoot.run": ("verify",),
    "surefoot.verdict.verdict": (
        *("Estimated", "Exact", "Found", "Holds", "PerStart", "Proved"),
        *("Reason", "Unknown", "Vacuous", "Violated"),
    ),
    "surefoot.work.budget": ("Budget",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "FALSE",
    "TRUE",
    "Array",
    "Barrier",
    "Bmc",
    "Bool",
    "Branch",
    "Budget",
    "CheckResult",
    "Choice",
    "Component",
    "Control",
    "Edge",
    "Environment",
    "Estimated",
    "Eventually",
    "Exact",
    "Explicit",
    "Expression",
    "Found",
    "Holds",
    "Induction",
    "Int",
    "InvalidProblem",
    "MissingBackend",
    "Network",
    "NeuralPolicy",
    "Never",
    "NeverBefore",
    "Outcome",
    "PerStart",
    "Policy",
    "Predicates",
    "Problem",
    "ProgramPolicy",
    "Proved",
    "Real",
    "Reason",
    "Recurrence",
    "Recurs",
    "ShieldedPolicy",
    "Statistical",
    "SurefootError",
    "Unknown",
    "Unsupported",
    "Update",
    "Vacuous",
    "Var",
    "Variable",
    "Violated",
    "Within",
    "WrongType",
    "array",
    "boolean",
    "check",
    "check_certificate",
    "choose_value",
    "equal",
    "eventually",
    "expected_reward",
    "heatmap",
    "integer",
    "ite",
    "load",
    "load_policy",
    "never",
    "never_before",
    "normalise_probabilities",
    "parse_property",
    "parse_term",
    "probability",
    "probability_of",
    "real",
    "recurs",
    "render",
    "shield",
    "verify",
    "window",
    "within",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module `surefoot` has no attribute `{name}`")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
