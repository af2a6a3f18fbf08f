"""Is a problem well formed? The first defect is raised, with its place in the problem."""

from __future__ import annotations

from surefoot.problem.problem import Problem
from surefoot.problem.validate.environment import check_environment
from surefoot.problem.validate.policy import check_policy, environment_labels
from surefoot.problem.validate.property import check_controlled, check_property, property_scope
from surefoot.term.arguments import take_instance

__all__ = ["check_environment", "environment_labels", "property_scope", "validate_problem"]

_take_problem = take_instance(Problem, fix="give Problem(name, environment, policy, property)")


def validate_problem(problem: Problem, *, controlled: bool = True) -> None:
    """Raise `InvalidProblem` unless every name, kind, width and number of the problem fits.

    With `controlled=False` nobody need set the controls yet: a program for them may be what is looked for.
    """
    _take_problem(problem)
    check_environment(problem.environment)
    if controlled:
        check_controlled(problem)
    if problem.policy is not None:
        check_policy(problem.policy, problem.environment)
    check_property(problem)
