"""Automata networks in certificates: their joint steps mean in the checker what the reference semantics says.

Formulas of the checker are evaluated in every state and for pairs of states, as in `test_execution_laws.py`.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from tests.engines.predicates.enumeration import states
from tests.laws.automata_networks import automata_network
from tests.laws.test_execution_laws import (
    agrees,
    condition_of,
    escapes,
    is_tied,
    numbers,
    picks,
    reached,
    read,
    satisfied,
)

from surefoot.problem.semantics import holds_in_state, is_initial, may_end
from surefoot_checker.claims.runs.time_frame import TimeFrame
from surefoot_checker.claims.runs.unroll import escape_formula as may_escape
from surefoot_checker.claims.runs.unroll import transition_formula as moves

SEEDS = [s for s in range(24) if read(automata_network(s)) is not None]
PAIRS = 400  # of states that are looked at


def test_there_are_networks_of_which_every_joint_step_can_be_written() -> None:
    assert len(SEEDS) >= 6


@pytest.mark.parametrize("seed", SEEDS[:6])
def test_joint_steps_have_the_same_meaning(seed: int) -> None:
    problem, draw = automata_network(seed), Random(seed)
    found = read(problem)
    assert found is not None
    moment, several = TimeFrame(found, 0), picks(found)
    initial, may_hold, may_fail = moment.initial(), moment.condition(True), moment.condition(False)
    ended, escape, move = moment.may_end(), may_escape(moment), moves(moment)
    asked, everything = condition_of(problem), states(problem)
    for state in draw.sample(everything, min(len(everything), 60)):
        values, tied = numbers(problem, state, 0), is_tied(problem, state)
        assert satisfied(initial, values) is is_initial(problem.environment, state)
        true = holds_in_state(problem, state, asked)
        assert agrees(satisfied(may_hold, values), true, tied)
        assert agrees(satisfied(may_fail, values), not true, tied)
        assert agrees(satisfied(ended, values), may_end(problem, state), tied)
        wrong = escapes(problem, state)
        assert agrees(any(satisfied(escape, values | p) for p in several), wrong, tied)
        after = reached(problem, state)
        others = [*after, *draw.sample(everything, min(len(everything), PAIRS // 60))]
        for other in others:
            pair = values | {f"{name}@1": Fraction(v) for name, v in other.items()}
            said = any(satisfied(move, pair | pick) for pick in several)
            assert agrees(said, other in after, tied or wrong)
