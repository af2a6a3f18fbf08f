"""Certificates about runs whose proof is missing: the claim with all that is needed to finish it, anywhere.

A search may end so late that no time is left to prove its argument again. What it found is kept as a file:
the problem written out, networks included, and the argument. `finish_certificate` proves it when there is
time; the checker refuses the file until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.certify.runs.argument import ProofAid
from surefoot.certify.runs.canonical import run_problem_to_json
from surefoot.certify.runs.prove import prove_written_problem
from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.network import Network
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, NeverBefore
from surefoot.query.unsat_claim import network_from_claim
from surefoot.verdict.verdict import Certificate, Holds, ProofArgument
from surefoot.work.budget import Budget
from surefoot_checker.claims.unsat.query_claim import FileLocations, read_network_entry
from surefoot_checker.kernel.strict_json import BadCertificate, Refused

LONGEST = 8  # for an argument that no engine has asked for
_KINDS = ("unrolled", "induction", "closed", "parts")


def build_unfinished_certificate(problem: Problem, holds: Holds) -> Certificate | None:
    """What has to be proved later; None where certificates have no words for it."""
    argument = holds.argument
    if argument is None or argument.kind not in _KINDS or not holds.as_asked:
        return None
    said: dict[str, Any] = {"kind": argument.kind, "steps": argument.steps, "good": argument.good}
    try:
        written = run_problem_to_json(problem, {})
        if argument.kind in ("closed", "parts"):
            if argument.invariant is None:
                return None
            lemma = run_problem_to_json(replace(problem, property=_never_outside(problem, argument)), {})
            said["lemma"] = lemma["property"]
    except (Unsupported, BadCertificate):
        return None
    claim = {"kind": "execution", "problem": written, "argument": {"kind": argument.kind, "steps": 0}}
    content = {"surefoot-certificate": 2, "claim": claim, "arithmetic": "float32", "unfinished": said}
    return Certificate("execution", content)


def _never_outside(problem: Problem, argument: ProofArgument) -> Never | NeverBefore:
    asked = problem.property
    assert argument.invariant is not None
    outside = ~argument.invariant
    return NeverBefore(outside, asked.goal) if isinstance(asked, NeverBefore) else Never(outside)


def is_unfinished(content: object) -> bool:
    return isinstance(content, Mapping) and "unfinished" in content


def finish_certificate(
    content: Mapping[str, Any], budget: Budget, folder: Path = Path()
) -> Certificate | str:
    """The same claim with its proofs, or why there are none."""
    try:
        written, said = content["claim"]["problem"], content["unfinished"]
        network = _read_network(written, folder)
        argument = ProofArgument(str(said["kind"]), int(said["steps"]), said.get("good"))
        if argument.kind in ("closed", "parts"):
            return _prove_invariant(written, said["lemma"], argument, network, budget)
        return _prove_argument(written, argument, network, budget)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"not an unfinished certificate: {error}"
    except (BadCertificate, Refused, SurefootError) as error:
        return str(error)


def _read_network(written: Mapping[str, Any], folder: Path) -> Network | None:
    entry = None if written["policy"] is None else written["policy"]["network"]
    if entry is None:
        return None
    flat, _ = read_network_entry(entry, FileLocations(folder))
    return network_from_claim(flat)


def _prove_argument(
    written: Mapping[str, Any], argument: ProofArgument, network: Network | None, budget: Budget
) -> Certificate | str:
    """The argument as it is, then others of which it is known that they may do as well."""
    asked = written["property"]
    endless = asked["kind"] == "never" and asked.get("steps") is None
    whole, others = argument.steps + 1, list[ProofArgument]()
    if argument.kind != "induction" and endless:
        others = [ProofArgument("induction", k) for k in sorted({1, 2, whole}) if k <= LONGEST]
    attempts = [(argument, False), *((other, False) for other in others), *([(argument, True)] * endless)]
    first = ""
    for attempt, differing in attempts:
        found = prove_written_problem(network, written, attempt, budget, simple=differing)
        if isinstance(found, Certificate):
            return found
        first = first or found
    return first


def _prove_invariant(
    written: Mapping[str, Any],
    lemma: Mapping[str, Any],
    argument: ProofArgument,
    network: Network | None,
    budget: Budget,
) -> Certificate | str:
    """That no run leaves a condition which excludes what is bad: as a whole, or part by part."""
    first = ""
    if argument.kind == "closed":
        closed = prove_written_problem(
            network, {**written, "property": lemma}, ProofArgument("closed", 1), budget, simple=False
        )
        if isinstance(closed, Certificate):
            aid = ProofAid(invariant=closed)
            closed = prove_written_problem(
                network, written, ProofArgument("induction", 1), budget, aid=aid, simple=False
            )
        if isinstance(closed, Certificate):
            return closed
        first = closed
    inside = ProofAid(inside=["not", lemma["condition"]])
    found = prove_written_problem(
        network, written, ProofArgument("parts", 1), budget, aid=inside, simple=False
    )
    return found if isinstance(found, Certificate) or not first else first
