"""What a property asks of a decision process: terms to look at in every state, limits, and the question.

Every path formula is `left U right` or its opposite: F b = true U b, G b = not F not b, X b = b after exactly
one step, a W b = not (not b U neither), a R b = not (not a U not b). Where the opposite is asked, least and
greatest change places and the answer is taken from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment
from surefoot.problem.property import STEPS, Bound, Expected, Optimise, Path, Probability, counts_steps
from surefoot.term.reserved_names import location_parts
from surefoot.term.term import FALSE, TRUE, Const, Term, equal, free_names

_OPPOSITE: Mapping[Optimise, Optimise] = {"min": "max", "max": "min"}


@dataclass(frozen=True, slots=True)
class PctlQuestion:
    """A probability or an expected reward in the form that is solved."""

    optimise: Optimise
    negated: bool
    left: Term
    right: Term
    steps: int | None
    after: int
    bounds: tuple[Bound, ...]  # on rewards
    reward: str | Term | None  # None: a probability is asked

    def labels(self) -> dict[str, Term]:
        return {"left": self.left, "right": self.right}

    def rewards(self) -> tuple[str, ...]:
        names = [b.reward for b in self.bounds if b.reward is not None]
        if isinstance(self.reward, str) and self.reward != STEPS:
            names.append(self.reward)
        return tuple(dict.fromkeys(names))

    def quantities(self) -> dict[str, Term]:
        return {} if self.reward is None or isinstance(self.reward, str) else {"reward": self.reward}

    def decided_states(self, environment: Environment) -> Term:
        """Where the question is decided whatever happens next, as far as the variables alone tell.

        Runs need not be followed beyond, and what would happen there may even be undefined.
        """
        outside = FALSE if self.left == TRUE else ~self.left
        if self.reward is not None:
            found = self.right
        elif self.after:
            found = outside if outside == FALSE else outside & ~self.right
        elif self.bounds or outside == FALSE:
            found = outside if self.bounds else self.right
        else:
            found = self.right | outside
        return _of_variables(found, environment)

    def skippable_states(self, environment: Environment) -> Term:
        """Where a state may be passed through if it has a single way on that earns nothing.

        Its value is then that of the state behind it, unless steps are counted.
        """
        if self.steps is not None or self.after or counts_steps(self.reward):
            return FALSE
        found = ~self.right if self.left == TRUE else self.left & ~self.right
        for earned in self.quantities().values():
            found &= equal(earned, Const(0))
        return _of_variables(found, environment)


def _of_variables(condition: Term, environment: Environment) -> Term:
    """The condition, unless it needs more than the variables and locations of a state."""
    own = {v.name for v in environment.variables}
    return condition if all(n in own or location_parts(n) for n in free_names(condition)) else FALSE


def pctl_question(wanted: Probability | Expected, unresolved: Optimise) -> PctlQuestion:
    """`unresolved`: least or greatest, where the property does not say."""
    optimise: Optimise = wanted.optimise or unresolved
    if isinstance(wanted, Expected):
        if wanted.steps is not None and wanted.steps < 0:
            raise Unsupported("a negative number of steps")
        return PctlQuestion(optimise, False, TRUE, wanted.until, wanted.steps, 0, (), wanted.reward)
    left, right, negated = _until_form(wanted.path)
    steps, after, bounds = _step_and_reward_bounds(wanted.path)
    return PctlQuestion(
        _OPPOSITE[optimise] if negated else optimise, negated, left, right, steps, after, bounds, None
    )


def _until_form(path: Path) -> tuple[Term, Term, bool]:
    match path.operator:
        case "F" | "X":
            return TRUE, path.right, False
        case "U":
            return path.left, path.right, False
        case "G":
            return TRUE, ~path.right, True
        case "W":
            return ~path.right, ~path.right & ~path.left, True
        case "R":
            return ~path.left, ~path.right, True


def _step_and_reward_bounds(path: Path) -> tuple[int | None, int, tuple[Bound, ...]]:
    steps, after = (1, 1) if path.operator == "X" else (None, 0)
    rewards = tuple(b for b in path.bounds if b.reward not in (None, STEPS))
    for bound in path.bounds:
        low, high = constant_bound(bound.low), constant_bound(bound.high)
        if bound.reward in (None, STEPS):
            if steps is not None or high is None:
                raise Unsupported("bounds on steps other than one with an upper limit")
            steps = -((-high.numerator) // high.denominator) - 1 if bound.strict else int(high)
            after = 0 if low is None else -((-low.numerator) // low.denominator)
            if steps < max(after, 0):
                raise Unsupported("a bound on steps that nothing can meet")
        if path.operator == "W" and low is not None and low > 0:
            raise Unsupported("`W` with a lower bound")
    return steps, after, rewards


def constant_bound(term: Term | None) -> Fraction | None:
    match term:
        case None:
            return None
        case Const(bool()):
            raise Unsupported("a bound that is a truth value")
        case Const(value):
            return Fraction(value)
        case _:
            raise Unsupported("a bound that is not a constant")
