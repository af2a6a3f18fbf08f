"""The rules of a shield that was written before, from its certificate."""

from __future__ import annotations

from pathlib import Path

from surefoot.certify.barrier.claim import read_claimed_rules
from surefoot.errors import InvalidProblem
from surefoot.formats.json_file import read_json
from surefoot.problem.problem import Problem
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields.recheck import OldRule
from surefoot.term.term import free_names


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
