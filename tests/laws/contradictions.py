"""What an engine's answer to a finite system says against the truth."""

from __future__ import annotations

from surefoot.engines.protocol import Engine
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.property import Within
from surefoot.run import verify
from surefoot.verdict.verdict import Holds, Proved, Result, Vacuous, Violated
from surefoot.work.budget import Budget


def answer(problem: Problem, engine: Engine, seconds: float, true: str) -> tuple[str, str | None] | None:
    """The word for an engine's answer, and what the truth has against it; None: not for this engine."""
    try:
        result = verify(problem, engine, Budget(seconds))
    except Unsupported:
        return None
    return word(result), contradiction(problem, result, true)


def word(result: Result) -> str:
    match result.verdict:
        case Holds(as_asked=False):
            return "holds in part"
        case other:
            return type(other).__name__.lower()


def contradiction(problem: Problem, result: Result, true: str) -> str | None:
    """None if the truth about the problem allows this answer."""
    match result.verdict:
        case Violated():
            if not result.certified:
                return "violated without a trace that replays"
            return None if true == "violated" else f"violated, but in truth it {true}"
        case Proved() | Holds(as_asked=True):
            # bmc also speaks of errors of the model after the first good state, which do not matter here.
            return None if true == "holds" else f"{word(result)}, but in truth {true}"
        case Vacuous():
            return None if true != "violated" else "vacuous, but in truth violated"
        case Holds(up_to) if isinstance(problem.property, Within):
            return f"holds up to {up_to} only, although the property is bounded"
    return None
