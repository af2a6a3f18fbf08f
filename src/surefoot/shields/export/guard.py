"""A shield of real controls as straight-line code in no language yet: tests of sets, rules, clipping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment
from surefoot.problem.policy import Policy, ProgramPolicy, ShieldedPolicy
from surefoot.term.term import FALSE, Apply, Op, Term
from surefoot.term.value_types import Arithmetic
from surefoot.visible import is_visible

# State and proposed controls to applied controls and 0, 1 (overruled) or 2 (the state is in no set).
StepFunction: TypeAlias = Callable[[Sequence[float], Sequence[float]], tuple[tuple[float, ...], int]]


@dataclass(frozen=True, slots=True)
class GuardRule:
    """`when` it holds the controls get these values; `gap`: how far the last comparison is from holding."""

    when: Term
    gap: Term
    then: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class ShieldGuard:
    name: str
    variables: tuple[str, ...]
    controls: tuple[tuple[str, float | None, float | None], ...]
    permits: Term  # of variables and controls; false: nothing that is proposed is ever used
    rules: tuple[GuardRule, ...]

    def at_rest(self) -> tuple[float, ...]:
        """The controls nearest to 0: what is applied where nothing can be computed."""
        found = []
        for _, low, high in self.controls:
            value = 0.0 if low is None else max(0.0, low)
            found.append(value if high is None else min(value, high))
        return tuple(found)


def find_export_obstacle(environment: Environment, actions: bool = False) -> Unsupported | None:
    """Why no shield (of `actions`) can be written as source code; known before there is one."""
    if environment.arithmetic is not Arithmetic.FLOAT64:
        fix = (
            'write arithmetic = "float64" in the problem file, Environment(…, arithmetic="float64") in Python'
        )
        return Unsupported("source code computes in float64, this environment in exact numbers", fix=fix)
    if not environment.controls and not actions:
        return Unsupported(
            "there are no controls that a shield could set", fix="leave it out, or declare controls"
        )
    return None


def guard_of(environment: Environment, policy: Policy | None) -> ShieldGuard:
    """Of a shield with a program behind it, or of a program alone, whose tests end with a comparison."""
    permits, program = (
        (policy.permits, policy.fallback) if isinstance(policy, ShieldedPolicy) else (FALSE, policy)
    )
    if (why := find_export_obstacle(environment)) is not None:
        raise why
    if not isinstance(program, ProgramPolicy):
        raise Unsupported("source code is written for programs and for shields with a program")
    rules = []
    for branch in program.branches:
        match branch.when, branch.then:
            case Apply(Op.AND, (*_, Apply(Op.LE, (left, right)))), tuple() as then:
                rules.append(GuardRule(branch.when, left - right, then))
            case _:
                raise Unsupported("a rule of the program has no test of a set")
    return ShieldGuard(
        environment.name,
        tuple(v.name for v in environment.variables),
        tuple(
            (
                c.name,
                None if c.low is None or not c.clipped else float(c.low),
                None if c.high is None or not c.clipped else float(c.high),
            )
            for c in environment.controls
        ),
        permits,
        tuple(rules),
    )


def comment_text(text: str) -> str:
    """Text for a comment: nothing in it can end the comment."""
    kept = "".join(
        c if (c.isalnum() and is_visible(c)) or c in " _-.,:;[]()<>=!+*/^|&" else "_" for c in text
    )
    return kept.replace("*/", "* /").replace("/*", "/ *")


def c_symbol(file: str) -> str:
    """A name in C, made of that of the file."""
    symbol = "".join(c if c.isascii() and c.isalnum() else "_" for c in file)
    return symbol if symbol[:1].isalpha() else f"shield_{symbol}"
