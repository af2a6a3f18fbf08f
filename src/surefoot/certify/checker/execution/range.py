"""That the policy's network has a value in every state: no float32 evaluation of it overflows anywhere."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ..bounds.box import root
from ..bounds.problem import Problem as Values
from ..bounds.problem import number_values
from ..bounds.state import Grid
from ..number import Refused
from .problem import Problem
from .unroll import Moment

_BITS = 40


def check_overflow(problem: Problem) -> None:
    """Refuse if some state within the declared ranges might make the network overflow."""
    start = Moment(problem, 0)
    call = start.call()
    read = {name for line in call.inputs for name in line if name}
    free = []
    for variable in start.declared():
        if variable.name in read:
            if variable.low is None or variable.high is None:
                raise Refused(f"`{variable.name[:60]}` has no bounds, and the network reads it")
            if variable.low > variable.high:
                return  # there is no state at all
            free.append(variable)
    if not free:  # the network reads constants only
        free = [replace(next(iter(start.declared())), name="", low=Fraction(0), high=Fraction(0))]
    values = number_values(tuple(free), [call]).values
    root(Grid(Values(tuple(free), tuple(values), (), (frozenset(),), True), _BITS, {}))
