"""Proofs of obligations with many alternatives, of which they need few."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from surefoot.certify.runs import prove
from surefoot.errors import Unsupported
from surefoot.problem.network import Network, dense_network
from surefoot.query.unsat_claim import network_to_json
from surefoot.work.budget import Budget
from surefoot_checker.check import check_no_solution
from surefoot_checker.claims.runs.obligations import RunObligation
from surefoot_checker.claims.unsat.proof_tree import ProofCount
from surefoot_checker.kernel.network import read_network
from surefoot_checker.kernel.query import ClaimedQuery, ClaimedVariable, FlatNetworkCall, Formula

NAMES = ("x", "y", "z")
SATISFIABLE = (0, 1)  # of the seeds below


def a_network(draw: Random) -> Network:
    width = draw.choice((6, 10))
    shapes = ((3, width), (width, width), (width, 2))
    weights = [[[draw.uniform(-1, 1) for _ in range(n)] for _ in range(m)] for n, m in shapes]
    biases = [[draw.uniform(-1, 1) for _ in range(m)] for _, m in shapes]
    return dense_network(list(zip(weights, biases, strict=True)))


def asked(network: Network, *parts: Formula) -> ClaimedQuery:
    ranges = [ClaimedVariable(n, Fraction(0), Fraction(4), "real") for n in NAMES]
    outputs = [ClaimedVariable(n, None, None, "real") for n in ("first", "second")]
    inputs = tuple({n: Fraction(1)} for n in NAMES)
    call = FlatNetworkCall(read_network(network_to_json(network)), inputs, ("first", "second"))
    return ClaimedQuery((*ranges, *outputs), (call,), ("and", *parts), "a question")


def gap(limit: Fraction) -> Formula:
    return ("<=", {"first": Fraction(1), "second": Fraction(-1), "": -limit})


def below(name: str, *limits: int) -> Formula:
    return ("or", *(("<=", {name: Fraction(1), "": Fraction(-limit)}) for limit in limits))


def above(name: str, *limits: int) -> Formula:
    return ("or", *(("<=", {name: Fraction(-1), "": Fraction(limit)}) for limit in limits))


def test_what_is_shown_in_a_wider_box_is_checked_in_the_box_that_alternatives_leave() -> None:
    """A proof without the alternatives is refused there; then they are gone through."""
    network = a_network(Random(421))
    several = (below("y", 1, 3), below("y", 1, 3), below("x", 2, 1), below("x", 2, 4), above("x", 1, 3))
    query = asked(network, gap(Fraction(993, 1000)), *several, below("x", 2, 4))
    cases = prove.prove_obligation(RunObligation("o", 0, query), network, Budget(60), "float32")
    check_no_solution(query, cases, "float32", {}, ProofCount())


@pytest.mark.parametrize("seed", [0, 1, 4, 5, 10, 12])
def test_proofs_with_few_alternatives_at_a_time_are_accepted(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prove, "MOST_WAYS", 1)
    draw = Random(seed)
    network = a_network(draw)
    parts = [
        draw.choice((below, above))(draw.choice(NAMES), draw.randint(0, 4), draw.randint(0, 4))
        for _ in range(draw.randint(2, 6))
    ]
    query = asked(network, gap(Fraction(draw.randint(-6, -1), 2)), *parts)
    obligation = RunObligation("o", 0, query)
    if seed in SATISFIABLE:
        with pytest.raises(Unsupported, match="not excluded by this argument"):
            prove.prove_obligation(obligation, network, Budget(60), "float32")
    else:
        cases = prove.prove_obligation(obligation, network, Budget(60), "float32")
        check_no_solution(query, cases, "float32", {}, ProofCount())
