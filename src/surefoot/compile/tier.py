"""Exploration of the reachable states of any problem that has finitely many, by the tier that suits it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from surefoot.compile.explored import Explored
from surefoot.compile.interpret.interpreter import Interpreter
from surefoot.compile.limits import Limits
from surefoot.problem.problem import Problem
from surefoot.problem.term import Term
from surefoot.work.budget import Budget

Tier: TypeAlias = Literal["auto", "interpreter"]


def explore(
    problem: Problem,
    *,
    labels: Mapping[str, Term],
    rewards: tuple[str, ...] = (),
    quantities: Mapping[str, Term] | None = None,
    budget: Budget | None = None,
    max_states: int | None = None,
    memory: int | None = None,
    tier: Tier = "auto",
) -> Explored:
    """The reachable part of a problem as a Markov decision process, with exact probabilities.

    Without a policy every enabled transition is a choice; a policy leaves what it decides, and what is the
    environment's own. `labels` are conditions, `quantities` numbers, both found out for every state;
    `rewards` are names of rewards of the environment. `memory` is in bytes.
    """
    limits = Limits(budget or Budget(), max_states, memory)
    return Interpreter(problem, labels, quantities or {}, rewards).run(limits)
