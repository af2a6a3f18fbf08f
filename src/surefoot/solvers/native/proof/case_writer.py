"""The case of a certificate (docs/certificates.md, section 5) that a finished ledger stands for."""

from __future__ import annotations

from surefoot.query.query import Json
from surefoot.query.unsat_claim import linear_form_to_json
from surefoot.solvers.native.compiled_query import CompiledQuery
from surefoot.solvers.native.proof.proof_log import DeferredSteps, ProofLog, ProofStep, write_waiting_steps


def render_proof_case(ledger: ProofLog) -> Json:
    """Definitions, atoms, sets and all steps in preorder."""
    write_waiting_steps(ledger)
    problem, goal = ledger.problem, ledger.goal
    found: dict[str, object] = {}
    if problem.equations:
        found["define"] = [[name, position] for name, position in problem.equations]
    found["atoms"] = [
        [_relation_symbol(problem, j), linear_form_to_json(form)] for j, form in enumerate(problem.forms)
    ]
    found["sets"] = [list(several) for several in (*goal.sets, *goal.opposed)]
    found["steps"] = [*_opposed_steps(ledger), *_preorder_steps(ledger)]
    return found


def _relation_symbol(problem: CompiledQuery, atom: int) -> str:
    return "=" if problem.equal[atom] else "<" if problem.strict[atom] else "<="


def _opposed_steps(ledger: ProofLog) -> list[list[object]]:
    """The sets that were left out of the search: one or two atoms of each hold nowhere."""
    first = len(ledger.goal.sets)
    return [
        ["exact" if pair.strict else "drop", [first + i], {"atoms": [[j, str(w)] for j, w in pair.atoms]}]
        for i, pair in enumerate(ledger.goal.opposed.values())
    ]


def _preorder_steps(ledger: ProofLog) -> list[ProofStep]:
    steps: list[ProofStep] = []
    waiting = [0] if ledger.goal.sets else []
    while waiting:
        node = waiting.pop()
        begun: list[ProofStep] = []
        for entry in ledger.steps[node]:
            if isinstance(entry, DeferredSteps):
                entry.write(begun)
            else:
                begun.append(entry)
        steps.extend(begun)
        if node in ledger.splits:
            step, first, second = ledger.splits[node]
            steps.append(step)
            waiting += [second, first]
    return steps
