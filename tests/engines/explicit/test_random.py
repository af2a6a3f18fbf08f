"""Random decision processes from a problem to a certificate that the checker accepts."""

from fractions import Fraction
from random import Random

import pytest
from tests.solve.markov.random_processes import cost_of_chain, random_rows, reach_of_chain, schedulers
from tests.solve.markov.written import one_of, problem

from surefoot.certify.checker.check import check
from surefoot.certify.process.claim import about_values
from surefoot.engines.explicit import Explicit
from surefoot.problem.property import Expected, Path, Probability
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget


@pytest.mark.parametrize("seeds", [range(s, s + 25) for s in range(0, 200, 25)], ids=lambda b: str(b.start))
def test_certified(seeds: range) -> None:
    for seed in seeds:
        draw = Random(seed)
        rows, _ = random_rows(seed)
        starts = [draw.random() < 0.5 for _ in rows]
        starts[draw.randrange(len(rows))] = True
        left, right = ([draw.random() < share for _ in rows] for share in (0.8, 0.3))
        optimise, over = draw.choice(("min", "max")), draw.choice(("min", "max", "sum", "avg"))
        asked = Probability(Path("U", one_of(right), one_of(left)), None, optimise, over)
        every = [reach_of_chain(chain, left, right) for chain in schedulers(rows)]
        _agree(problem(rows, asked, starts), _over(every, starts, optimise, over), seed)
        cost = Expected("cost", one_of(right), None, optimise, over)
        paid = [cost_of_chain(chain, right) for chain in schedulers(rows)]
        wanted = problem(rows, cost, starts)
        if any(p for s in rows for c in s for _, _, p in c):
            _agree(wanted, _over(paid, starts, optimise, over), seed)


def _over(every: list, starts: list[bool], optimise: str, over: str) -> Fraction | None:
    values: list[Fraction | None] = []
    for s, flag in enumerate(starts):
        several = [v[s] for v in every]
        finite = [v for v in several if v is not None]
        if flag and optimise == "max":
            values.append(max(finite) if len(finite) == len(several) else None)
        elif flag:
            values.append(min(finite, default=None))
    finite = [v for v in values if v is not None]
    if over == "min":
        return min(finite, default=None)
    if len(finite) < len(values):
        return None
    return max(finite) if over == "max" else sum(finite) / (len(finite) if over == "avg" else 1)


def _agree(wanted, expected: Fraction | None, seed: int) -> None:
    engines = [Explicit(exact=exact, tier=tier) for exact, tier in ((False, "interpreter"), (True, "llvm"))]
    for engine in engines:
        assert engine.objection(wanted) is None
        verdict = engine.check(wanted, Budget(60))
        assert isinstance(verdict, Exact), seed
        certificate = about_values(wanted, verdict)
        assert certificate is not None
        found = check(dict(certificate.content))
        assert found.accepted, (seed, found.reason)
        if expected is None:
            assert (verdict.low, verdict.high) == (None, None), seed
            continue
        assert verdict.low is not None, seed
        assert verdict.high is not None, seed
        assert verdict.low <= expected <= verdict.high, seed
        assert verdict.high - verdict.low <= expected / 10**6
        assert not engine.exact or verdict.low == verdict.high
