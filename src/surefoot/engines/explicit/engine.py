"""Explicit states: probabilities, expected rewards and runs of everything that is reachable.

The reachable part of the problem becomes a Markov decision process (`compile`), where a policy has already
decided what is its own; what stays open is resolved for the least or the greatest value. The solver
(`solvers/markov`) answers with bounds that hold exactly, for all states at once. What the checker needs are
these bounds, sorted by state: it derives the process again from the problem (docs/certificates.md, 11).
Deep statistical model checking (the induced chain of a policy) samples what is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import ClassVar, Literal

from surefoot.engines.engine_text import show_changes
from surefoot.engines.pctl_question import pctl_question
from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment
from surefoot.problem.policy import Choose, NeuralPolicy, OraclePolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Never, Probability
from surefoot.term.arguments import (
    check_fields,
    exact_fraction,
    take_bool,
    take_in_range,
    take_optional,
    take_word,
    whole_number,
)
from surefoot.term.evaluate import Undefined
from surefoot.term.reserved_names import output_index
from surefoot.term.term import TRUE, free_names
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, ValueType
from surefoot.verdict.verdict import Reason, Unknown, Verdict
from surefoot.work.budget import Budget

FEW_STATES, FEW_CHOICES = 100_000, 100  # of a system that is explored at once


@dataclass(frozen=True, slots=True, repr=False)
class Explicit:
    name: ClassVar[str] = "explicit"

    width: Fraction = Fraction(1, 10**6)
    """How wide the interval of an answer may be, relative to its lower end."""
    exact: bool = False
    """Compute in fractions: the answer is the number itself. For models that are not too large."""
    max_states: int | None = None
    """Stop exploring here; bounds then cover whatever the rest could do."""
    memory: int | None = None
    """Stop exploring when the states take so many megabytes."""
    fuse: bool = False
    """Pass through states with a single way on that the question cannot see; there is no certificate then."""
    tier: Literal["auto", "interpreter", "llvm", "delayed"] = "auto"
    """How states are explored; the answer is the same."""

    __repr__ = show_changes

    def __post_init__(self) -> None:
        whole = take_optional(take_in_range(whole_number, 0))
        check_fields(
            self,
            width=take_in_range(exact_fraction, 0, inside=True),
            exact=take_bool,
            max_states=whole,
            memory=whole,
            fuse=take_bool,
            tier=take_word("auto", "interpreter", "llvm", "delayed"),
        )

    def objection(self, problem: Problem) -> str | None:
        if not isinstance(problem.property, Probability | Expected):
            return _objection_to_runs(problem)
        if problem.property.starts is not None and _has_reward_bound(problem.property):
            return "explicit counts rewards from the initial states only"
        if problem.property.over == "avg" and problem.environment.start_laws:
            return "explicit averages over starts that count alike, and these have laws"
        try:
            pctl_question(problem.property, "max")
        except Unsupported as why:
            return f"explicit does not cover {why}"
        return None

    def is_quick(self, problem: Problem) -> bool:
        """Few states, and few ways to choose in each."""
        environment = problem.environment
        edges = [edge for c in environment.components for edge in c.edges]
        states = prod(len(c.locations) for c in environment.components)
        for variable in environment.variables:
            states *= count_values_at_most(variable.kind, FEW_STATES + 1)
        ways = (prod(count_values_at_most(c.kind, FEW_CHOICES + 1) for c in edge.chosen) for edge in edges)
        return states <= FEW_STATES and all(way <= FEW_CHOICES for way in ways)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        from surefoot.engines.explicit.answer import explicit_verdict
        from surefoot.explore.initial_states import LateStarts  # with all that they need, when it is needed

        try:
            return explicit_verdict(self, problem, budget)
        except LateStarts as why:
            return Unknown(Reason.TIMEOUT, str(why))
        except (Unsupported, Undefined) as why:  # of a state that only exploration comes to
            return Unknown(Reason.INCOMPLETE, str(why))

    def bytes(self) -> int | None:
        return None if self.memory is None else self.memory << 20


def _objection_to_runs(problem: Problem) -> str | None:
    """Runs of finite systems, as far as it is known what any evaluation of the policy may decide."""
    environment, asked = problem.environment, problem.property
    if environment.arithmetic is not Arithmetic.EXACT:
        return "explicit looks at runs of systems with exact arithmetic"
    if not has_finitely_many_states(environment):
        return "explicit looks at all states; a variable here has infinitely many values"
    if problem.policy is None:
        return None
    for part in asked_parts(problem.policy):
        if isinstance(part, OraclePolicy):
            return f"the policy `{part.name}` is a Python function, which can only be simulated"
        if part.choose is Choose.SAMPLE:
            return "explicit looks at runs of policies that do not draw; ask for a probability"
    condition = asked.bad if isinstance(asked, Never) else getattr(asked, "good", TRUE)
    if any(output_index(name) is not None for name in free_names(condition)):
        return "explicit does not cover conditions about outputs of the network, which are rounded"
    return None


def has_finitely_many_states(environment: Environment) -> bool:
    """Also: are there finitely many values to choose from?"""
    chosen = [c.kind for part in environment.components for e in part.edges for c in e.chosen]
    return all(map(_is_finite, [*(v.kind for v in environment.variables), *chosen]))


def count_values_at_most(kind: ValueType, limit: int) -> int:
    """How many values a kind has, and the limit where there are more."""
    match kind:
        case Bool():
            return 2
        case Int(int() as low, int() as high):
            return min(max(high - low + 1, 0), limit)
        case Array(element, length):
            each = count_values_at_most(element, limit)
            return limit if each > 1 and length > limit.bit_length() else min(each**length, limit)
        case _:
            return limit


def _is_finite(kind: ValueType) -> bool:
    match kind:
        case Bool() | Int(int(), int()):
            return True
        case Array(element):
            return _is_finite(element)
        case _:
            return False


def asked_parts(policy: Policy) -> Iterator[NeuralPolicy | OraclePolicy]:
    """The networks and functions that a policy may ask."""
    match policy:
        case NeuralPolicy() | OraclePolicy():
            yield policy
        case ProgramPolicy(branches):
            for branch in branches:
                if not isinstance(branch.then, str | tuple):
                    yield from asked_parts(branch.then)
        case ShieldedPolicy(inner, _, fallback):
            yield from asked_parts(inner)
            yield from asked_parts(fallback)


def _has_reward_bound(wanted: Probability | Expected) -> bool:
    return isinstance(wanted, Probability) and any(b.reward is not None for b in wanted.path.bounds)
