"""Simple paths: runs that pass no state twice, with the constraints added only where they are needed.

A model in which two states are equal is refused by demanding that these two differ, and the question is asked
again (lazily, as Eén and Sörensson do it in temporal induction); most questions need few of the pairs.
"""

from __future__ import annotations

from itertools import combinations

from surefoot.query.query import Answer, Assignment, Sat
from surefoot.reductions.unroll import Unrolling
from surefoot.solvers.protocol import Ask
from surefoot.term.term import Term, negate_condition


def simple_run(
    encoded: Unrolling, ask: Ask, demands: tuple[Term, ...], found: Assignment | None = None
) -> Answer:
    """A run with these demands that passes no state twice; `found` is one that meets them, if it is known.

    Sat where the solver cannot tell two states apart: the answer is only used where it is Unsat.
    """
    answer = ask(*demands) if found is None else Sat(found)
    distinct: dict[tuple[int, int], Term] = {}
    while isinstance(answer, Sat):
        equal_pairs = [
            pair
            for pair in combinations(range(encoded.steps + 1), 2)
            if encoded.are_same(answer.assignment, *pair) and pair not in distinct
        ]
        if not equal_pairs:
            return answer
        distinct.update((pair, negate_condition(encoded.same_state(*pair))) for pair in equal_pairs)
        answer = ask(*demands, *distinct.values())
    return answer
