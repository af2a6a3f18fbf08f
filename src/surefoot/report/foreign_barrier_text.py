"""What a foreign barrier certificate is worth, in words and as JSON."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from surefoot.certify.barrier.counterexample import BarrierCounterexample
from surefoot.shields.foreign_judgement import BarrierJudgement, ConditionAnswer
from surefoot.term.printer import show_term
from surefoot.term.term import Const

_SYSTEMS = {
    "stated": "as stated (exact numbers, controls without limits)",
    "executed": "as executed (the problem's arithmetic, controls clipped)",
}
_CONDITIONS = {
    "starts": "starts in the sets",
    "unsafe": "no unsafe state in a set",
    "steps": "no step leaves a set",
    "growth": "B(next) <= B everywhere",
}


def describe_judgement(judgement: BarrierJudgement) -> list[str]:
    """The system, and below it the answer about each condition, in lines."""
    conditions = [f"  {_CONDITIONS[n]:<25} {_describe_answer(a)}" for n, a in judgement.answers.items()]
    return [f"{_SYSTEMS[judgement.system]}: {judgement.word}", *conditions]


def _describe_answer(answer: ConditionAnswer) -> str:
    if answer.refutation is None:
        return f"{answer.word}: {answer.why}" if answer.why else answer.word
    found = answer.refutation
    at = ", ".join(f"{n} = {_show_number(v)}" for n, v in (*found.state.items(), *found.chosen.items()))
    values = f"B = {float(found.barrier):.6g}"
    values += "" if found.after is None else f", after the step {float(found.after):.6g}"
    return f"refuted: {answer.why} (rule {answer.rule + 1}): {at}: {values}"


def _show_number(value: Any) -> str:
    return repr(value) if isinstance(value, float) else show_term(Const(value))


def judgement_to_json(judgement: BarrierJudgement) -> dict[str, Any]:
    return {
        "verdict": judgement.word,
        "conditions": {n: _answer_to_json(a) for n, a in judgement.answers.items()},
    }


def _answer_to_json(answer: ConditionAnswer) -> dict[str, Any]:
    found = answer.refutation
    shown = {} if found is None else {"rule": answer.rule + 1, "counterexample": _refutation_to_json(found)}
    return {"word": answer.word, "why": answer.why, **shown}


def _refutation_to_json(found: BarrierCounterexample) -> dict[str, Any]:
    """Exact numbers, also of doubles."""
    data: dict[str, Any] = {
        "state": {n: str(Fraction(v)) for n, v in found.state.items()},
        "disturbance": {n: str(Fraction(v)) for n, v in found.chosen.items()},
        "barrier": str(found.barrier),
    }
    if found.following is not None:
        data["next"] = {n: str(Fraction(v)) for n, v in found.following.items()}
        data["barrier after"] = str(found.after)
    return data
