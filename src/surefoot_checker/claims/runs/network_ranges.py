"""What the policy's network may read in the states within the declared ranges.

Nothing of it makes a float32 evaluation overflow, so the network has a value in every state; and all of it
lies in the ranges of those inputs that an argument lets be free.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ...bounds.case_problem import CaseProblem as Values
from ...bounds.case_problem import number_values
from ...bounds.subdomain import PrecisionGrid
from ...bounds.variable_box import root_state
from ...kernel.query import ClaimedVariable, FlatNetworkCall
from ...kernel.strict_json import BadCertificate, Refused
from .canonical_problem import CanonicalProblem, FreeRanges
from .formula import form_range
from .term import number_cases
from .time_frame import TimeFrame

_BITS = 40


def check_overflow(problem: CanonicalProblem) -> None:
    """Refuse if some state within the declared ranges might make the network, if there is one, overflow."""
    if problem.network is None:
        return
    if any(v.low is not None and v.high is not None and v.low > v.high for v in problem.variables):
        return  # there is no state at all
    spans = observation_ranges(problem, range(len(problem.observe)))
    inputs = [ClaimedVariable(f"input[{number}]", *ends, "real") for number, ends in enumerate(spans)]
    outputs = TimeFrame(problem, 0).outputs
    call = FlatNetworkCall(problem.network, tuple({v.name: Fraction(1)} for v in inputs), outputs)
    values = number_values(tuple(inputs), [call]).values
    root_state(PrecisionGrid(Values(tuple(inputs), tuple(values), (), (frozenset(),), True), _BITS, {}))


def observation_ranges(problem: CanonicalProblem, numbers: Iterable[int]) -> list[tuple[Fraction, Fraction]]:
    """Between which numbers these observed terms lie in every state within the declared ranges."""
    start = TimeFrame(problem, 0)
    bounds = {v.name: (v.low, v.high) for v in start.frame_variables()}
    found = []
    for number in numbers:
        ends = [form_range(line, bounds) for _, line in number_cases(problem.observe[number], start.plain)]
        lows = [low for low, _ in ends if low is not None]
        highs = [high for _, high in ends if high is not None]
        if len(lows) < len(ends) or len(highs) < len(ends):
            raise Refused(f"observed term {number} has no bounds")
        found.append((min(lows), max(highs)))
    return found


def check_free_ranges(problem: CanonicalProblem, free: FreeRanges) -> None:
    """Refuse unless a free input may be all that its term may be; outputs have obligations of their own."""
    if any(number >= len(problem.observe) for number in free.inputs):
        raise BadCertificate("argument: a free input that the network does not have")
    if any(number >= problem.outputs for number in free.outputs):
        raise BadCertificate("argument: a free output that the network does not have")
    ranges = observation_ranges(problem, free.inputs)
    for (number, (low, high)), (least, most) in zip(free.inputs.items(), ranges, strict=True):
        if least < low or high < most:
            raise Refused(f"free input {number}: its range does not contain all that the network may read")
