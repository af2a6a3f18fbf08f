# ruff: noqa: E501 - one property with its words on each line
"""Properties in words."""

import pytest

from surefoot.problem.property_parser import parse_property
from surefoot.verdict.property_phrases import LONGEST, property_in_words

WORDS = {
    "never x = 3": "is it so that no run reaches `x = 3`?",
    "Pmax=? [ F (x = 3) ]": "the largest probability that `x = 3` is reached (the largest value over all starts)",
    "Pmin=? [ true U<=7 (x = 3) ] over values": "the smallest probability that `x = 3` is reached with at most 7 steps (for each start)",
    "P<0.1 [ (x < 3) U{cost}[1, 4) (x = 3) ]": "is the probability that `x < 3` holds until `x = 3` is reached with at least 1 and less than 4 `cost` below 0.1?",
    "Pmin>=1 [ G (x < 3) ]": "is the smallest probability that `x < 3` always holds at least 1?",
    "P=? [ X (x = 3) ] over avg": "the probability that `x = 3` holds after one step (the average over all starts)",
    "P=? [ a W b ] over min": "the probability that `a` holds for ever or until `b` is reached (the smallest value over all starts)",
    "P=? [ a R b ] over sum": "the probability that `b` holds for ever or until `a` holds with it (the sum over all starts)",
    "Emin=? [ steps until goal ]": "the smallest expected number of steps until `goal` (the largest value over all starts)",
    "Emax<=7 [ gold for 20 steps ]": "is the largest expected sum of `gold` in the first 20 steps at most 7?",
    "E=? [ (x + 1) until goal for 2 steps ]": "the expected sum of `x + 1` until `goal` in the first 2 steps (the largest value over all starts)",
}


@pytest.mark.parametrize("text", WORDS)
def test_words(text: str) -> None:
    assert property_in_words(parse_property(text)) == WORDS[text]


def test_long_conditions_are_cut() -> None:
    many = " + ".join(f"variable{i}" for i in range(60))
    assert len(property_in_words(parse_property(f"Pmax=? [ F ({many} > 3) ]"))) < LONGEST + 120
