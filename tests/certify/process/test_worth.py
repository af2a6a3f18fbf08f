"""Expected sums of a term of the state: the same as a reward that every step pays, and certified."""

from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

from tests.solvers.markov.random_processes import random_rows
from tests.solvers.markov.written import one_of, problem

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.problem.property import Expected
from surefoot.term.term import Var
from surefoot.verdict.verdict import Exact
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


def test_a_negative_worth_is_refused() -> None:
    rows = [[[(Fraction(1), 1, 0)]], []]
    wanted = problem(rows, Expected(Var("where"), one_of([False, True]), None, "max"), [True, False])
    verdict = Explicit(exact=True).check(wanted, Budget(20))
    assert isinstance(verdict, Exact)
    certificate = build_process_certificate(wanted, verdict)
    assert certificate is not None
    content: dict[str, Any] = deepcopy(dict(certificate.content))
    content["claim"]["problem"]["property"]["reward"] = ["of", ["-", ["name", "where"], 1]]
    assert "negative" in judge_certificate(content).reason
