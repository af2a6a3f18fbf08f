"""What is asked along all runs of a closed loop: what must not happen, what has to, and when."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Timed, Within
from surefoot.reductions.closed_loop import plant_arithmetic
from surefoot.reductions.expand import TreeScope, expand_scalar
from surefoot.term.reserved_names import is_reserved
from surefoot.term.term import Term, free_names


@dataclass(frozen=True, slots=True)
class LoopQuestion:
    """Times are those of the flow; where there is none a step takes 1.

    With `goal` alone it has to hold at some moment from `since` to `until`; with `bad` alone that must not
    hold at any of these; with both, not before the goal, which may hold at any moment.
    """

    bad: Term | None
    goal: Term | None
    since: Fraction
    until: Fraction | None  # None: for ever


def read_question(problem: Problem, scope: TreeScope, period: Fraction) -> LoopQuestion:
    zero = Fraction(0)

    def limit(steps: int | None) -> Fraction | None:
        return None if steps is None else steps * period

    controls = {control.name for control in problem.environment.controls}

    def state_condition(term: Term) -> Term:
        unknown = (n for n in free_names(term) if n in controls or (is_reserved(n) and n not in scope))
        if acting := sorted(unknown):
            raise Unsupported(f"reach looks at conditions on the state, not at `{acting[0]}`")
        return expand_scalar(term, scope, plant_arithmetic(problem.environment))

    flow = problem.environment.flow
    if isinstance(problem.property, Timed) and (flow is None or not flow.continuous):
        raise Unsupported("a limit in seconds, and no differential equation that says how long a step is")
    match problem.property:
        case Timed(Never(bad), until, since):
            return LoopQuestion(state_condition(bad), None, since, until)
        case Timed(NeverBefore(bad, goal), until, since):
            return LoopQuestion(state_condition(bad), state_condition(goal), since, until)
        case Timed(Eventually(good), until, since):
            return LoopQuestion(None, state_condition(good), since, until)
        case Never(bad, steps):
            return LoopQuestion(state_condition(bad), None, zero, limit(steps))
        case NeverBefore(bad, goal, steps):
            return LoopQuestion(state_condition(bad), state_condition(goal), zero, limit(steps))
        case Within(good, steps, after):
            return LoopQuestion(None, state_condition(good), after * period, limit(steps))
        case Eventually(good):
            return LoopQuestion(None, state_condition(good), zero, None)
        case other:
            raise Unsupported(f"reach answers questions about all runs, not {type(other).__name__}")
