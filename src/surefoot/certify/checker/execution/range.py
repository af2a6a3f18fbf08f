"""That the policy's network has a value in every state: no float32 evaluation of it overflows anywhere."""

from __future__ import annotations

from fractions import Fraction

from ..bounds.box import root
from ..bounds.problem import Problem as Values
from ..bounds.problem import number_values
from ..bounds.state import Grid
from ..number import Refused
from ..query import Call, Variable
from .formula import line_range
from .problem import Problem
from .state import Moment
from .term import value

_BITS = 40


def check_overflow(problem: Problem) -> None:
    """Refuse if some state within the declared ranges might make the network, if there is one, overflow."""
    if problem.network is None:
        return
    start = Moment(problem, 0)
    bounds = {v.name: (v.low, v.high) for v in start.declared()}
    if any(v.low is not None and v.high is not None and v.low > v.high for v in problem.variables):
        return  # there is no state at all
    inputs, plain = [], start.plain
    for number, seen in enumerate(problem.observe):
        ends = [line_range(line, bounds) for _, line in value(seen, plain)]
        lows, highs = (
            [low for low, _ in ends if low is not None],
            [high for _, high in ends if high is not None],
        )
        if len(lows) < len(ends) or len(highs) < len(ends):
            raise Refused(f"observed term {number} has no bounds")
        inputs.append(Variable(f"input[{number}]", min(lows), max(highs), "real"))
    call = Call(problem.network, tuple({v.name: Fraction(1)} for v in inputs), start.outputs)
    values = number_values(tuple(inputs), [call]).values
    root(Grid(Values(tuple(inputs), tuple(values), (), (frozenset(),), True), _BITS, {}))
