"""Expected sums of a term of the state: the same as a reward that every step pays, and certified."""

from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from tests.solvers.markov.random_processes import cost_of_chain, random_rows, schedulers
from tests.solvers.markov.written import one_of, problem

from surefoot.certify.term_json import exact_to_json
from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.problem.property import Expected
from surefoot.term.term import Var
from surefoot.verdict.verdict import Exact, Unknown
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate


def test_a_term_pays_in_every_step() -> None:
    finite = 0
    for seed in range(60):
        draw = Random(seed)
        rows, _ = random_rows(seed)
        paying = [
            [[(p, t, s + 1) for p, t, _ in choice] for choice in several] for s, several in enumerate(rows)
        ]
        goal = [draw.random() < 0.4 for _ in rows]
        starts = [s == 0 for s in range(len(rows))]
        optimise = draw.choice(("min", "max"))
        asked = Expected(Var("where") + 1, one_of(goal), None, optimise)  # type: ignore[arg-type]
        wanted = problem(rows, asked, starts)
        named = problem(paying, replace(asked, reward="cost"), starts)
        verdict, other = (Explicit(exact=True).check(p, Budget(20)) for p in (wanted, named))
        assert isinstance(verdict, Exact)
        assert isinstance(other, Exact)
        assert (verdict.low, verdict.high) == (other.low, other.high), seed
        certificate = build_process_certificate(wanted, verdict)
        assert certificate is not None
        content: dict[str, Any] = deepcopy(dict(certificate.content))
        assert judge_certificate(content).accepted, seed
        if verdict.low:
            finite += 1
            content["claim"]["problem"]["property"]["reward"] = ["of", ["+", ["name", "where"], 2]]
            assert not judge_certificate(content).accepted, seed
    assert finite > 5


def test_another_worth_is_another_question() -> None:
    rows = [[[(Fraction(1), 1, 0)]], []]
    wanted = problem(rows, Expected(Var("where"), one_of([False, True]), None, "max"), [True, False])
    verdict = Explicit(exact=True).check(wanted, Budget(20))
    assert isinstance(verdict, Exact)
    certificate = build_process_certificate(wanted, verdict)
    assert certificate is not None
    content: dict[str, Any] = deepcopy(dict(certificate.content))
    content["claim"]["problem"]["property"]["reward"] = ["of", ["-", ["name", "where"], 1]]
    assert not judge_certificate(content).accepted


@pytest.mark.parametrize("exact", [False, True])
def test_what_is_paid_may_be_negative(exact: bool) -> None:
    """By name and as a term, against every way to choose; where the goal may be missed there is no answer."""
    finite = refused = 0
    for seed in range(120):
        draw = Random(seed)
        rows, _ = random_rows(seed)
        last = len(rows)
        ending = seed % 4 > 0
        rows = [
            [
                [*((p / (1 + ending), t, s - 2) for p, t, _ in c), *[(Fraction(1, 2), last, s - 2)] * ending]
                for c in own
            ]
            or [[(Fraction(1), last, s - 2)]]
            for s, own in enumerate(rows)
        ] + [[]]
        goal = [s == last for s in range(last + 1)]
        optimise = draw.choice(("min", "max"))
        start = draw.randrange(last)
        starts = [s == start for s in range(last + 1)]
        for reward in ("cost", Var("where") - 2):
            wanted = problem(rows, Expected(reward, one_of(goal), None, optimise), starts)  # type: ignore[arg-type]
            verdict = Explicit(exact=exact).check(wanted, Budget(20))
            if isinstance(verdict, Unknown):
                assert "the goal may be missed" in verdict.detail
                assert not ending
                refused += 1
                continue
            assert isinstance(verdict, Exact)
            every = [cost_of_chain(chain, goal)[start] for chain in schedulers(rows)]
            if verdict.low is None:
                assert None in every
                continue
            known = [value for value in every if value is not None]
            value = max(known) if optimise == "max" else min(known)
            assert verdict.low <= value <= verdict.high, seed
            certificate = build_process_certificate(wanted, verdict)
            assert certificate is not None
            content: dict[str, Any] = deepcopy(dict(certificate.content))
            assert judge_certificate(content).accepted, seed
            finite += 1
            for side, by in (("low", 1), ("high", -1)):
                moved = deepcopy(content)
                moved["claim"][side] = exact_to_json((verdict.high if by > 0 else verdict.low) + by)
                assert not judge_certificate(moved).accepted, seed
    assert finite > 100
    assert refused > 3
