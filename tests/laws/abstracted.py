"""Abstractions of random finite systems: what is said with fewer inputs or outputs, against the truth."""

from __future__ import annotations

from random import Random

from tests.laws.brute_force import truth
from tests.laws.contradictions import contradiction, word
from tests.laws.finite_systems import KINDS, problems

from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.errors import Unsupported
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.reductions.abstraction import FreedValues, abstract_network_io
from surefoot.run import verify
from surefoot.search import SearchSettings, verify_abstracted
from surefoot.verdict.artifact import property_answer
from surefoot.work.budget import Budget

ENGINES = (Bmc(depth=5), Induction(depth=3))


def abstraction(seed: int) -> tuple[Problem, FreedValues] | None:
    """A property of a random system and what is freed of its network; None where the policy is none."""
    problem = problems(seed)[KINDS[seed % len(KINDS)]]
    if not isinstance(problem.policy, NeuralPolicy):
        return None
    draw = Random(seed)
    inputs = frozenset(i for i in range(2) if draw.random() < 0.5)
    outputs = frozenset(o for o in range(problem.policy.network.outputs) if draw.random() < 0.2)
    return problem, FreedValues(inputs or frozenset({draw.randint(0, 1)}), outputs)


def said(seed: int, seconds: float = 20) -> tuple[str, str, str | None] | None:
    """The truth, the word for the answer and what is wrong with it; None: nothing to abstract from."""
    made = abstraction(seed)
    if made is None:
        return None
    problem, freed = made
    true = truth(problem)
    for engine in ENGINES:
        try:
            result = verify(abstract_network_io(problem, freed).problem, engine, Budget(seconds))
        except Unsupported:
            continue
        if property_answer(result.verdict, result.certified) == "proved" and true != "holds":
            return true, "proved", f"{engine.name} proves the abstraction, but in truth it {true}"
    asking = SearchSettings(ENGINES, Budget(seconds))
    result = verify_abstracted(problem, freed, asking)
    return true, word(result), contradiction(problem, result, true)
