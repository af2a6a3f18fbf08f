"""A problem `eventually` or `recurs` with a program as a claim of convergence (docs/certificates.md, 13)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from surefoot.certify.barrier.claim import (
    build_barrier_certificate,
    matches_barrier_claim,
    translate_old_format,
)
from surefoot.certify.term_json import exact_to_json, polynomial_to_json
from surefoot.errors import Unsupported
from surefoot.problem.policy import ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.reductions.barrier import without_target
from surefoot.verdict.verdict import Certificate
from surefoot_checker.kernel.strict_json import BadCertificate


def build_convergence_certificate(problem: Problem, content: Mapping[str, Any]) -> Certificate:
    """The certificate for a closed set and a ranking function; `Unsupported` where nothing fits."""
    closed, target = without_target(problem)
    if isinstance(problem.policy, ShieldedPolicy):
        raise Unsupported("convergence is claimed of programs, not of what a shield permits")
    data: dict[str, Any] = dict(build_barrier_certificate(closed, content).content)
    ranking = content["ranking"]
    data["claim"] = {**data["claim"], "kind": "convergence", "target": polynomial_to_json(target)}
    data["ranking"] = {
        "function": polynomial_to_json(ranking["function"]),
        "least": exact_to_json(ranking["least"]),
        "drift": exact_to_json(ranking["drift"]),
        "cases": ranking["cases"],
    }
    return Certificate("convergence", data)


def matches_convergence_claim(content: Mapping[str, Any], problem: Problem) -> bool:
    """Is this a certificate about exactly this problem?"""
    try:
        closed, target = without_target(problem)
        content = translate_old_format(content)
        claim = content["claim"]
        same = json.loads(json.dumps(polynomial_to_json(target))) == claim["target"]
        return bool(
            same
            and claim["kind"] == "convergence"
            and not isinstance(problem.policy, ShieldedPolicy)
            and matches_barrier_claim(
                {**content, "claim": {k: v for k, v in claim.items() if k != "target"}}, closed
            )
        )
    except (Unsupported, BadCertificate, TypeError, KeyError):
        return False
