"""Any classifier or function as a policy: a black box that can be sampled, and nothing else.

    from surefoot.integrations.oracle import oracle_policy
    policy = oracle_policy(forest, observe=("x", "y - 1"), actions=("left", "right"), name="forest")

The box reads the observed terms as floats. It is a function of the list of them, or has `predict` for a table
with one row, as classifiers of scikit-learn do. It answers with the number of an action or with its label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.problem.policy import OraclePolicy
from surefoot.term.evaluate import evaluate_term
from surefoot.term.parser import parse_term
from surefoot.term.term import Term
from surefoot.term.value_types import Arithmetic


def oracle_policy(
    box: Any, observe: Sequence[str | Term], actions: Sequence[str], name: str = ""
) -> OraclePolicy:
    """The policy that asks the box in every state; it must answer the same about the same state."""
    terms = tuple(parse_term(t) if isinstance(t, str) else t for t in observe)
    shown = name or type(box).__name__
    if not callable(box) and not callable(getattr(box, "predict", None)):
        raise InvalidProblem(f"`{shown}` is neither a function nor something with `predict`")
    return OraclePolicy(shown, BlackBox(shown, box, terms, tuple(actions)), tuple(actions))


@dataclass(frozen=True, slots=True)
class BlackBox:
    """What is asked. It can be sent to other processes if the box can."""

    name: str
    box: Any
    observe: tuple[Term, ...]
    actions: tuple[str, ...]

    def __call__(self, state: Mapping[str, Any]) -> str:
        seen = [float(evaluate_term(term, state, Arithmetic.EXACT)) for term in self.observe]
        predict = getattr(self.box, "predict", None)
        return self._label(self.box(seen) if predict is None else predict([seen])[0])

    def _label(self, told: Any) -> str:
        told = told.item() if hasattr(told, "item") else told  # of numpy
        if isinstance(told, str) and told in self.actions:
            return told
        if not isinstance(told, str | bool) and told == int(told) and 0 <= int(told) < len(self.actions):
            return self.actions[int(told)]
        known = ", ".join(f"`{a}`" for a in self.actions)
        raise InvalidProblem(
            f"`{self.name}` answers {told!r}", fix=f"a number of an action, or one of {known}"
        )
