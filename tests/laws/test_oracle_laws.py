"""surefoot and an oracle that was written from the documentation alone agree about random problems.

The oracle (tests/laws/oracle) shares no code with surefoot. It makes a problem, prints it as a problem file or
as a JANI model, finds the truth by looking at every state, and holds against it what `surefoot check` says:
without `--engine`, with one engine per question, and what `surefoot certify` says of a share of the results.
`python -m tests.laws.oracle --count 5000` is the same at length.
"""

from hashlib import sha256
from pathlib import Path

import pytest
from tests.laws.oracle.campaign import Figures, run_problem

import surefoot

FIXED = range(90)
GRAVE = ("wrong", "failed", "refused", "odd", "certify", "late")


def fresh_seeds() -> list[int]:
    """Ten problems that change with the version."""
    digest = sha256(surefoot.__version__.encode()).digest()
    return [10**6 + int.from_bytes(digest[2 * i : 2 * i + 2], "big") for i in range(10)]


def grave_findings(figures: Figures) -> list[str]:
    return [line for line in figures.found if line.split()[3].startswith(GRAVE)]


@pytest.mark.parametrize("tens", range(len(FIXED) // 10))
def test_surefoot_agrees_with_the_oracle(tens: int, tmp_path: Path) -> None:
    figures = Figures()
    for seed in FIXED[10 * tens : 10 * tens + 10]:
        run_problem(seed, tmp_path / str(seed), figures, timeout=1.0, engines=1, certify=0.1)
    assert figures.problems > 0
    assert grave_findings(figures) == []


def test_surefoot_agrees_with_the_oracle_on_fresh_problems(tmp_path: Path) -> None:
    figures = Figures()
    for seed in fresh_seeds():
        run_problem(seed, tmp_path / str(seed), figures, timeout=1.0, engines=1, certify=0.1)
    assert grave_findings(figures) == []
