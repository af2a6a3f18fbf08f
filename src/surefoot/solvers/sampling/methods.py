"""Plans by name."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.solvers.sampling import fixed_plans
from surefoot.solvers.sampling.boundary.coverage import prove_boundary
from surefoot.solvers.sampling.boundary.store import load_or_prove
from surefoot.solvers.sampling.boundary.table import Boundary, chen_boundary, clopper_pearson_boundary
from surefoot.solvers.sampling.interruptible import Interruptible, plan_share
from surefoot.solvers.sampling.plan import SamplingPlan, bonferroni_share
from surefoot.solvers.sampling.sequential import Sequential

BOUNDARIES: dict[str, Callable[[Fraction, Fraction], Boundary]] = {
    "clopper-pearson": clopper_pearson_boundary,
    "chen": chen_boundary,
}
PLANS: dict[str, Callable[[Fraction, Fraction], SamplingPlan]] = {
    "clopper-pearson-fixed": fixed_plans.fixed_clopper_pearson,
    "okamoto": fixed_plans.okamoto_plan,
    "spending": fixed_plans.spending_plan,
    "mixture": fixed_plans.Mixture,
}
METHODS = ("clopper-pearson", "clopper-pearson-fixed", "okamoto", "chen", "mixture", "spending")


def choose_interruptible_plan(
    method: str, eps: Fraction, delta: Fraction, *, folder: Path | None = None
) -> SamplingPlan:
    """As `choose_plan`, with an interval that is valid whenever the experiment is broken off."""
    if method == "mixture":  # which is that by itself
        return choose_plan(method, eps, delta)
    return Interruptible(choose_plan(method, eps, plan_share(delta), folder=folder), delta)


def choose_plan(
    method: str, eps: Fraction, delta: Fraction, *, questions: int = 1, folder: Path | None = None
) -> SamplingPlan:
    """The plan of this name for a precision of eps and a risk of delta, shared by so many questions.

    `folder` keeps proved boundaries. `clopper-pearson` becomes `spending` where eps is too small for one.
    """
    if method not in METHODS:
        raise InvalidProblem(f"there is no method `{method}`", fix=did_you_mean(method, METHODS))
    if not 0 < eps < Fraction(1, 2) or not 0 < delta < 1:
        raise InvalidProblem(
            f"a precision of {eps} with a risk of {delta}", fix="0 < eps < 1/2 and 0 < delta < 1"
        )
    risk = bonferroni_share(delta, questions)
    if method in PLANS:
        return PLANS[method](eps, risk)
    try:
        rule = BOUNDARIES[method]
        proved = load_or_prove(folder, method, eps, risk, lambda: prove_boundary(rule, eps, risk))
        return Sequential(proved, risk)
    except Unsupported:
        if method != "clopper-pearson":
            raise
        return fixed_plans.spending_plan(eps, risk)
