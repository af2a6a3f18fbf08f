"""Value iteration in machine code: bounds contain what policy iteration finds, and are inductive."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.solvers.markov.random_processes import random_rows
from tests.solvers.markov.written import one_of, problem

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.problem.property import Expected, Path, Probability
from surefoot.query.markov import Markov
from surefoot.solvers.markov import qualitative, sound_sweeps
from surefoot.solvers.markov.depth_first import order_states
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate


@pytest.mark.parametrize("optimise", ["min", "max"])
@pytest.mark.parametrize("kind", ["until", "cost"])
def test_sweeps_agree_with_policies(monkeypatch: pytest.MonkeyPatch, kind: str, optimise: str) -> None:
    used: list[bool] = []
    whole = sound_sweeps.bound_by_sweeps

    def counted(*given: Any) -> Any:
        found = whole(*given)
        used.append(found is not None)
        return found

    for seed in range(60):
        rows, _ = random_rows(seed)
        goal, starts = [s % 3 == 2 for s in range(len(rows))], [s == 0 for s in range(len(rows))]
        asked = (
            Probability(Path("F", one_of(goal)), None, optimise)
            if kind == "until"
            else Expected("cost", one_of(goal), None, optimise)
        )
        wanted = problem(rows, asked, starts)
        exact = Explicit(exact=True).check(wanted, Budget(30))
        assert isinstance(exact, Exact)
        with monkeypatch.context() as patched:
            patched.setattr(sound_sweeps, "MANY", 1)
            patched.setattr(qualitative, "MANY", 0)
            patched.setattr("surefoot.solvers.markov.solver.bound_by_sweeps", counted)
            found = Explicit().check(wanted, Budget(30))
        assert isinstance(found, Exact)
        if exact.high is None:
            assert found.high is None
            continue
        assert found.low is not None
        assert found.high is not None
        assert found.low <= exact.low <= found.high  # type: ignore[operator]
        certificate = build_process_certificate(wanted, found)
        assert certificate is not None
        assert judge_certificate(dict(certificate.content)).accepted
    assert any(used)


def test_successors_come_first() -> None:
    count = 50
    pointer = np.minimum(np.arange(count + 1), count - 1).astype(np.int64)
    targets = np.arange(1, count, dtype=np.int64)
    line = Markov(
        pointer, np.arange(count, dtype=np.int64), targets, np.zeros(count - 1, dtype=np.int32),
        (Fraction(1),), np.zeros(1, dtype=np.int64), {}, {}, np.zeros(count, dtype=np.bool_),
    )  # fmt: skip
    assert order_states(line, np.ones(count, dtype=np.bool_)).tolist() == list(reversed(range(count)))
