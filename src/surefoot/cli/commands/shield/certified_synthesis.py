"""A certified shield on the command line: old rules from a file, and the synthesis as a result."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from surefoot.certify.barrier.claim import read_claimed_rules
from surefoot.cli.read_json_file import read_json
from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.run import unanswered_result
from surefoot.shields.certified_shield import ShieldSynthesis
from surefoot.shields.recheck import OldRule
from surefoot.term.term import free_names
from surefoot.verdict.verdict import Certificate, Proved, Reason, Result, Unknown, Verdict
from surefoot.work.budget import Budget


def read_old_rules(path: Path, problem: Problem) -> tuple[OldRule, ...]:
    """The rules of a certificate, or of what `--json` wrote, for the variables of this problem."""
    system, data = read_control_system(discretise(problem, continuous=True)), read_json(path)
    if isinstance(data, dict) and "surefoot-certificate" not in data:
        data = data.get("certificate")
    try:
        if not isinstance(data, dict):
            raise ValueError("there is no certificate in it")
        found = tuple(OldRule(t, s["domain"], s["barrier"]) for t, s in read_claimed_rules(data))
    except ValueError as error:
        fix = "give what `surefoot shield` wrote by --certificate or --json"
        raise InvalidProblem(str(error), fix=fix, where=str(path)) from None
    known = set(system.variables)
    for rule in found:
        used = free_names(rule.barrier).union(*map(free_names, rule.then))
        if not used <= known or len(rule.domain) != len(known) or len(rule.then) != len(system.controls):
            fix = "the names of variables and the number of controls must be the same"
            raise InvalidProblem("the old shield is for another system", fix=fix, where=str(path))
    if not found:
        raise InvalidProblem("the old shield has no rules", where=str(path))
    return found


def result_from_synthesis(made: ShieldSynthesis, seconds: float, budget: Budget) -> Result:
    """A synthesis as an answer about the problem: proved where all starts are covered, else unknown."""
    if made.accepted and made.certificate is not None and not made.found.uncovered:
        verdict: Verdict = Proved(Certificate("barrier", made.certificate))
    else:
        reason = Reason.TIMEOUT if budget.is_spent() else Reason.INCOMPLETE
        verdict = Unknown(reason, made.found.trouble or made.reason)
    count, share = len(made.found.branches), made.found.covered_share(made.system.initial)
    told = [f"{count} {'rule' if count == 1 else 'rules'}, {render_share(share)} of the starts covered"]
    if made.found.lost:
        told.append(f"{len(made.found.lost)} starts or sides of starts are lost under every control")
    if made.found.uncovered and made.accepted:
        told.append("the certificate about the covered part is accepted")
    result = unanswered_result(made.problem, verdict, budget, {}, {})
    return replace(
        result,
        engine="shield",
        certified=made.accepted and isinstance(verdict, Proved),
        seconds=seconds,
        notes=tuple(told),
    )


def render_share(share: Fraction) -> str:
    """Never 100 % for less than everything."""
    return "100 %" if share == 1 else f"{min(float(share) * 100, 99.99):.2f} %"
