"""Forged certificates about processes in which outcomes stay open."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from tests.explore.test_delayed import coins, flips, guessing, reaches

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected
from surefoot.term.term import Var, disjunction_of, equal
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.claims.values.open_outcomes import Varies, normal_state
from surefoot_checker.kernel.strict_json import BadCertificate

T = Var("t")


def certificate(tier: str = "delayed", asked: Problem | None = None) -> dict[str, Any]:
    goal = equal(T, 5) & disjunction_of(tuple(equal(c, 1) for c in coins(5)))
    problem = asked or Problem("p", flips(5), None, reaches(goal))
    verdict = Explicit(exact=True, tier=tier).check(problem, Budget(60))  # type: ignore[arg-type]
    assert isinstance(verdict, Exact)
    made = build_process_certificate(problem, verdict)
    assert made is not None
    written: dict[str, Any] = json.loads(json.dumps(made.content))
    return written


def is_accepted(content: dict[str, Any]) -> bool:
    return judge_certificate(content).accepted


def test_what_was_found_is_accepted() -> None:
    delayed, plain = certificate(), certificate("interpreter")
    assert is_accepted(delayed)
    assert is_accepted(plain)
    assert delayed["outcomes"] == "delayed"
    assert "outcomes" not in plain
    assert delayed["claim"] == plain["claim"]
    assert delayed["values"][0]["states"] < plain["values"][0]["states"]


def test_the_two_kinds_are_not_taken_for_one_another() -> None:
    delayed, plain = certificate(), certificate("interpreter")
    del delayed["outcomes"]
    assert not is_accepted(delayed)
    assert not is_accepted({**plain, "outcomes": "delayed"})


@pytest.mark.parametrize("word", ["early", True, None, ["delayed"]])
def test_other_words_are_refused(word: object) -> None:
    with pytest.raises(BadCertificate):
        judge_certificate({**certificate(), "outcomes": word})


def test_runs_have_no_open_outcomes() -> None:
    with pytest.raises(BadCertificate):
        judge_certificate({**certificate(), "claim": {"kind": "graph"}})


def test_another_claim_is_refused() -> None:
    for end, value in (("low", "32/32"), ("high", "30/32")):
        forged = certificate()
        forged["claim"][end] = value
        assert not is_accepted(forged)


def test_every_bound_counts() -> None:
    """Each state's bounds moved inwards, towards what the value is not."""
    whole = certificate()
    entry = whole["values"][0]
    for side in ("low", "high"):
        for state in range(entry["states"]):
            forged = json.loads(json.dumps(whole))
            changed = forged["values"][0]
            value = changed["numbers"][changed[side][state]]
            number = (
                Fraction(int(value[0], 16), int(value[1], 16)) if isinstance(value, list) else int(value, 16)
            )
            scale = int(changed["scale"], 16)
            other = number + Fraction(scale, 64) if side == "low" else number - Fraction(scale, 64)
            ratio = Fraction(other)
            changed["numbers"].append([hex(ratio.numerator), hex(ratio.denominator)])
            changed[side][state] = len(changed["numbers"]) - 1
            decided = number in (0, scale) and is_accepted(forged)  # states whose value is set anyway
            assert decided or not is_accepted(forged), (side, state)


def test_another_probability_is_another_process() -> None:
    forged = certificate()
    outcomes = forged["claim"]["problem"]["components"][0]["edges"][2]["outcomes"]
    outcomes[0]["probability"], outcomes[1]["probability"] = "1/3", "2/3"
    assert not is_accepted(forged)


def test_a_reward_below_0_is_refused() -> None:
    forged = certificate(asked=Problem("p", flips(3), None, Expected("steps", equal(T, 3))))
    assert is_accepted(forged)
    problem = forged["claim"]["problem"]
    problem["property"]["reward"] = "won"
    for edge in problem["components"][0]["edges"]:
        for outcome in edge["outcomes"]:
            outcome["rewards"] = [["won", ["-", 0, 1]]]
    assert not is_accepted(forged)


def test_who_chooses_is_not_kept_in_the_dark() -> None:
    (coin,) = coins(1)
    right = (equal(T, 2) & equal(coin, 0)) | (equal(T, 3) & equal(coin, 1))
    content = certificate(asked=Problem("p", guessing(), None, reaches(right, "max")))
    assert is_accepted(content)
    content["claim"]["low"] = content["claim"]["high"] = "1/2"
    assert not is_accepted(content)


def test_values_that_are_chosen_are_not_covered() -> None:
    forged = certificate()
    forged["claim"]["problem"]["components"][0]["edges"][0]["chosen"] = [["w", ["integer", 0, 1]]]
    with pytest.raises(BadCertificate):
        judge_certificate(forged)


def test_one_way_to_write_a_state() -> None:
    half = Fraction(1, 2)
    default = (0, 0, 0)
    swapped = [
        normal_state((7, 7, 3), {0: Varies(0, (a, b)), 1: Varies(0, (c, d))}, [[half, half]], default)
        for a, b, c, d in ((0, 1, 1, 0), (1, 0, 0, 1))
    ]
    assert swapped[0].row == swapped[1].row == (0, 0, 3)
    assert swapped[0].sources == swapped[1].sources == (((0, 1), (((0, 1), half), ((1, 0), half))),)
    same = normal_state((7, 7, 3), {0: Varies(0, (4, 4)), 1: Varies(0, (2, 2))}, [[half, half]], default)
    assert (same.row, same.sources) == ((4, 2, 3), ())
