"""Deep statistical model checking (Gros, Hermanns, Hoffmann, Klauck, Steinmetz, FORTE 2020): sampled runs.

The policy resolves what the environment leaves open, so that a Markov chain remains. Its runs are drawn
(`simulate`), and a plan of `solvers/sampling` says when enough of them have been seen and what is
then known with which confidence. Beyond the paper: the interval's coverage is proved; a run that stalls, ends
or is cut off is an outcome of its own, never silently another one; any policy can be sampled, also a program,
a shield or a black box; the answer does not depend on the number of workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from surefoot.engines.engine_text import show_changes
from surefoot.engines.pctl_question import pctl_question
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Probability
from surefoot.term.arguments import (
    check_fields,
    exact_fraction,
    take_bool,
    take_in_range,
    take_optional,
    whole_number,
)
from surefoot.term.evaluate import Undefined
from surefoot.verdict.verdict import Reason, Unknown, Verdict
from surefoot.work.budget import Budget

AVERAGED = ("max", "avg")  # filters that may be meant where starts are drawn; `max` is written by nobody
START_LAWS = ("uniform",)
_OVER = ("min", "max", "avg", "sum", "values")
WAYS = (  # of choosing a plan; those between the first and the last are `solve.sampling.METHODS`
    *("auto", "clopper-pearson", "clopper-pearson-fixed", "okamoto", "chen", "mixture", "spending", "sprt"),
)


@dataclass(frozen=True, slots=True, repr=False)
class Statistical:
    name: ClassVar[str] = "statistical"
    last_resort: ClassVar[bool] = True  # an estimate is no answer where a computed value can be had

    eps: Fraction = Fraction(1, 100)
    """Half the width of the interval, in the unit of what is estimated; around a threshold, what may be left
    undecided on either side of it."""
    delta: Fraction = Fraction(1, 20)
    """The risk that the interval does not contain the true value."""
    method: str = "auto"
    """Which plan (docs/reference/statistics.md); auto: clopper-pearson, with a threshold sprt."""
    max_steps: int = 10_000
    """A run that is not decided after so many steps is cut off and counts as undecided."""
    uniform: bool = False
    """What policy and environment leave open is equally likely. Without it that is refused."""
    starts: str | None = None
    """`uniform`: every run draws its start uniformly from the initial condition, and by the laws in [starts]
    of a problem file where there are some; the value is an average over starts."""
    cells: str | None = None
    """With `starts`: variables whose start ranges are cut into so many parts (`x:10, y:5`); one value for
    each cell."""
    family_wise: bool = False
    """For many starts: all intervals together are right with confidence 1 - delta, not each for itself."""
    least: Fraction | None = None
    """No run has a smaller reward (if the model does not say so itself)."""
    most: Fraction | None = None
    """No run has a larger reward."""
    importance: str | None = None
    """For rare events: a term that grows towards them; runs are split whenever its whole part grows."""
    factor: int = 4
    """Into how many runs each is split."""
    trees: int = 10_000
    """How many runs are begun to be split."""
    workers: int | None = None
    """Processes that make runs. Default: those of the budget; if it has no number, one, and all if it takes
    long."""
    ray: str | None = None
    """Address of a Ray cluster whose processors make the runs; `local`: one on this machine."""
    run_directory: str | None = None
    """Results are recorded in this folder as they arrive."""
    resume: bool = False
    """Go on with what the folder has."""

    __repr__ = show_changes

    def __post_init__(self) -> None:
        number, count = take_optional(exact_fraction), take_in_range(whole_number, 1)
        check_fields(
            self,
            starts=take_optional(_take_law),
            eps=take_in_range(exact_fraction, 0, inside=True),
            delta=take_in_range(exact_fraction, 0, 1, inside=True),
            max_steps=count,
            uniform=take_bool,
            family_wise=take_bool,
            least=number,
            most=number,
            factor=count,
            trees=count,
            workers=take_optional(count),
            resume=take_bool,
        )

    def objection(self, problem: Problem) -> str | None:
        wanted = problem.property
        if not isinstance(wanted, Probability | Expected):
            return (
                f"statistical estimates probabilities and rewards; this property is {type(wanted).__name__}"
            )
        if wanted.over not in _OVER:
            return f"statistical does not know the filter `{wanted.over}` over start states"
        if wanted.starts is not None:
            return "statistical begins runs in the initial states only"
        if self.starts is None and self.cells is not None:
            return "cells are parts of a law of starts: `starts` has to name one"
        if self.starts is not None and wanted.over not in (*AVERAGED, "values"):
            return f"starts that are drawn give one average, not what `over {wanted.over}` asks for"
        try:
            if (why_not := _bounds_objection(problem, wanted)) is not None:
                return why_not
        except Unsupported as why:
            return f"statistical does not cover {why}"
        if self.uniform and wanted.optimise is not None:
            return f"equally likely choices give one value, not the {wanted.optimise}imum that is asked for"
        if isinstance(wanted, Expected) and self.importance is not None:
            return "splitting estimates probabilities, not rewards"
        if isinstance(wanted, Expected) and (unbounded := self._without_range(problem, wanted)) is not None:
            return unbounded
        return _without_law(problem)

    def _without_range(self, problem: Problem, wanted: Expected) -> str | None:
        from surefoot.engines.statistical.reward_range import reward_range
        from surefoot.solvers.sampling.empirical_bernstein import range_objection

        return range_objection(reward_range(problem.environment, wanted, self.least, self.most))

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        from surefoot.engines.statistical.answer import (
            statistical_verdict,
        )  # with all that it needs, when it is needed

        try:
            return statistical_verdict(self, problem, budget)
        except Undefined as why:  # of a state that a run comes to
            return Unknown(Reason.INCOMPLETE, str(why))


def _take_law(given: object) -> str:
    if given not in START_LAWS:
        raise InvalidProblem(f"there is no law of starts `{given}`", fix="use uniform")
    return str(given)


def _bounds_objection(problem: Problem, wanted: Probability | Expected) -> str | None:
    asked = pctl_question(wanted, "max")
    if not asked.bounds:
        return None
    from surefoot.engines.statistical.bounded_rewards import bounds_objection

    return bounds_objection(problem.environment, asked)


def _without_law(problem: Problem) -> str | None:
    for component in problem.environment.components:
        for edge in component.edges:
            for choice in edge.chosen:
                if choice.law is None:
                    return (
                        f"`{choice.name}` is chosen freely and has no sampling law, so it cannot be simulated"
                    )
    return None
