"""A control problem as a polynomial system: boxes of starts and disturbances, one map, unsafe states."""

from surefoot.encode.barrier.cases import conjunctions
from surefoot.encode.barrier.inside import inside_set, permitted
from surefoot.encode.barrier.motion import Bounds, Motion, change, range_of
from surefoot.encode.barrier.nested import nested
from surefoot.encode.barrier.polynomials import polynomial_of
from surefoot.encode.barrier.rows import largest_of, rows_of
from surefoot.encode.barrier.system import (
    Rule,
    System,
    box_of,
    rules_of,
    system_of,
    without_target,
)

__all__ = [
    "Bounds",
    "Motion",
    "Rule",
    "System",
    "box_of",
    "change",
    "conjunctions",
    "inside_set",
    "largest_of",
    "nested",
    "permitted",
    "polynomial_of",
    "range_of",
    "rows_of",
    "rules_of",
    "system_of",
    "without_target",
]
