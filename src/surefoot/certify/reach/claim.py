"""A closed loop written out for a certificate, with the cells that show a claim about its runs.

The checker follows the cells itself (docs/certificates.md). What the search adds is where they are halved,
how far they are followed and how finely.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from surefoot.certify.runs.canonical import variable_to_json
from surefoot.certify.runs.policy import network_entry_to_json
from surefoot.certify.term_json import end_to_json, exact_to_json, term_to_json
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.reductions.closed_loop import ClosedLoop, LoopBranch, LoopEdge, read_closed_loop
from surefoot.reductions.loop_question import LoopQuestion, read_question
from surefoot.term.term import TRUE, Op, Term
from surefoot.term.value_types import Arithmetic
from surefoot.verdict.verdict import Certificate

COVERED = frozenset(Op) - {Op.MOD, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.ARRAY, Op.SELECT}


def build_reach_certificate(
    problem: Problem, shown: Mapping[str, object], inputs: Mapping[str, str], kind: str = "reach"
) -> Certificate:
    """What the engine shows about the problem; `Unsupported` says why it cannot be written down."""
    loop = read_closed_loop(problem)
    question = read_question(problem, loop.scope, loop.period)
    plant = "float64" if loop.arithmetic is Arithmetic.FLOAT64 else "exact"
    claim = {"kind": kind, "plant": plant, "problem": loop_to_json(problem.name, loop, question, inputs)}
    content = {"surefoot-certificate": 2, "arithmetic": "float32", "claim": claim, "reach": dict(shown)}
    return Certificate(kind, content)


def matches_reach_claim(
    content: Mapping[str, Any], problem: Problem, inputs: Mapping[str, str], kind: str = "reach"
) -> bool:
    """Is this a certificate about exactly this problem?"""
    try:
        made = build_reach_certificate(problem, {}, inputs, kind)
    except Unsupported:
        return False
    return bool(content.get("claim") == json.loads(json.dumps(made.content["claim"])))


def loop_to_json(
    name: str, loop: ClosedLoop, question: LoopQuestion, inputs: Mapping[str, str]
) -> dict[str, Any]:
    """The canonical problem; the numbers of edges, rules and variables are those of the loop."""
    found: dict[str, Any] = {
        "name": name,
        "variables": [variable_to_json(v, kind) for v, kind in loop.kinds.items()],
        "initial": _to_json(loop.initial),
        "controls": [[c.name, end_to_json(c.low), end_to_json(c.high), c.clipped] for c in loop.controls],
        "components": [
            {"name": "", "locations": [""], "initial": [""], "edges": [_edge_to_json(e) for e in loop.edges]}
        ],
        "synchronisations": [],
        "policy": _policy_to_json(loop, inputs),
        "property": _question_to_json(loop, question),
    }
    if loop.derivatives is not None:
        derivatives = [_to_json(t) for t in loop.derivatives]
        found["time"] = {"derivatives": derivatives, "period": exact_to_json(loop.period)}
    return found


def _to_json(term: Term) -> Any:
    return term_to_json(term, COVERED, "has no rule in certificates of closed loops")


def _edge_to_json(edge: LoopEdge) -> dict[str, Any]:
    return {
        "source": "",
        "action": edge.action,
        "guard": _to_json(edge.guard),
        "chosen": [variable_to_json(name, kind) for name, kind in edge.chosen],
        "assuming": _to_json(edge.assuming),
        "outcomes": [
            {
                "probability": None,
                "updates": [[["name", target], _to_json(value), 0] for target, value in outcome.items()],
                "rewards": [],
                "target": "",
            }
            for outcome in edge.outcomes
        ],
    }


def _policy_to_json(loop: ClosedLoop, inputs: Mapping[str, str]) -> dict[str, Any]:
    choose = "value" if loop.controls else "argmax"
    owns = list(loop.actions)
    if len(loop.branches) == 1 and loop.branches[0].network is not None and loop.branches[0].when == TRUE:
        return {"rules": [], **_network_to_json(loop.branches[0], inputs), "owns": owns}
    rules = [{"when": _to_json(b.when), "then": _decision_to_json(b, inputs)} for b in loop.branches]
    return {"rules": rules, "network": None, "observe": [], "choose": choose, "actions": [], "owns": owns}


def _network_to_json(branch: LoopBranch, inputs: Mapping[str, str]) -> dict[str, Any]:
    assert branch.network is not None
    return {
        "network": network_entry_to_json(branch.network, inputs),
        "observe": [_to_json(t) for t in branch.observe],
        "choose": branch.choose.value,
        "actions": list(branch.actions),
    }


def _decision_to_json(branch: LoopBranch, inputs: Mapping[str, str]) -> Any:
    if branch.action is not None:
        return branch.action
    return (
        [_to_json(t) for t in branch.values] if branch.network is None else _network_to_json(branch, inputs)
    )


def _question_to_json(loop: ClosedLoop, question: LoopQuestion) -> dict[str, Any]:
    window: dict[str, Any] = {}
    if loop.derivatives is not None:
        window |= {} if question.until is None else {"until": exact_to_json(question.until)}
        window |= {"since": exact_to_json(question.since)} if question.since else {}
    else:
        window |= {} if question.until is None else {"steps": int(question.until)}
        window |= {"after": int(question.since)} if question.since or "steps" in window else {}
    if question.bad is not None:
        if not question.since:
            window.pop("after", None)
        before = {} if question.goal is None else {"before": _to_json(question.goal)}
        return {"kind": "never", "condition": _to_json(question.bad), **window, **before}
    assert question.goal is not None
    kind = "within" if "steps" in window else "eventually"
    return {"kind": kind, "condition": _to_json(question.goal), **window}
