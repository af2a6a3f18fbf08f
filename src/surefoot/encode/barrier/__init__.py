"""A control problem as a polynomial system: boxes of starts and disturbances, one map, unsafe states."""

from surefoot.encode.barrier.cases import relaxed_dnf
from surefoot.encode.barrier.inside import inside_set, next_state_inside
from surefoot.encode.barrier.motion import (
    FlowpipeBounds,
    SampledFlow,
    polynomial_box_range,
    polynomial_change_bound,
)
from surefoot.encode.barrier.nested import horner_term
from surefoot.encode.barrier.polynomials import polynomial_of
from surefoot.encode.barrier.rows import barrier_rows, largest_of_rows
from surefoot.encode.barrier.system import (
    ControlBranch,
    ControlSystem,
    box_from_bounds,
    control_branches,
    read_control_system,
    without_target,
)

__all__ = [
    "ControlBranch",
    "ControlSystem",
    "FlowpipeBounds",
    "SampledFlow",
    "barrier_rows",
    "box_from_bounds",
    "control_branches",
    "horner_term",
    "inside_set",
    "largest_of_rows",
    "next_state_inside",
    "polynomial_box_range",
    "polynomial_change_bound",
    "polynomial_of",
    "read_control_system",
    "relaxed_dnf",
    "without_target",
]
