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

from surefoot import api


def oracle_policy(
    box: Any, observe: Sequence[str | api.Term], actions: Sequence[str], name: str = ""
) -> api.OraclePolicy:
    """The policy that asks the box in every state; it must answer the same about the same state."""
    terms = tuple(api.parse_term(t) if isinstance(t, str) else t for t in observe)
    shown = name or type(box).__name__
    if not callable(box) and not callable(getattr(box, "predict", None)):
        raise api.InvalidProblem(f"`{shown}` is neither a function nor something with `predict`")
    return api.OraclePolicy(shown, BlackBox(shown, box, terms, tuple(actions)), tuple(actions))


@dataclass(frozen=True, slots=True)
class BlackBox:
    """What is asked. It can be sent to other processes if the box can."""

    name: str
    box: Any
    observe: tuple[api.Term, ...]
    actions: tuple[str, ...]

    def __call__(self, state: Mapping[str, Any]) -> str:
        seen = [float(api.evaluate_term(term, state, api.Arithmetic.EXACT)) for term in self.observe]
        predict = getattr(self.box, "predict", None)
        return self._label(self.box(seen) if predict is None else predict([seen])[0])

    def _label(self, told: Any) -> str:
        told = told.item() if hasattr(told, "item") else told  # of numpy
        if isinstance(told, str) and told in self.actions:
            return told
        if not isinstance(told, str | bool) and told == int(told) and 0 <= int(told) < len(self.actions):
            return self.actions[int(told)]
        known = ", ".join(f"`{a}`" for a in self.actions)
        raise api.InvalidProblem(
            f"`{self.name}` answers {told!r}", fix=f"a number of an action, or one of {known}"
        )
