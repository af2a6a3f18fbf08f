"""Claims about closed loops: all runs keep a property, or one run surely violates it (section 14)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...kernel.share import WHOLE, Share
from ...kernel.strict_json import BadCertificate, expect_integer, expect_list, expect_object
from ...kernel.untrusted_file import quote_for_message
from ..unsat.query_claim import FileLocations
from .loop_system import ClosedLoop, read_closed_loop
from .region_tree import check_regions, read_options, read_regions
from .violation import check_violation

_CLAIM = frozenset({"kind", "plant", "problem"})
_WALK = frozenset({"bits", "order", "taylor", "pieces"})
_REACH = _WALK | {"regions"}
_VIOLATION = _WALK | {"start", "chosen", "at"}
LEAST_BITS, MOST_BITS = 20, 96
PLANTS = {
    "exact": "the plant in real numbers",
    "float64": "the plant in float64, every operation rounded to nearest, in the order written",
}
TIMED_FLOAT64 = "the plant in real numbers, what its policy reads and computes in float64"


@dataclass(frozen=True, slots=True)
class ReachSummary:
    claim: str
    reason: str
    meaning: str
    uncertified: tuple[str, ...]
    cells: int
    periods: int


def check_reach(
    claim_data: object, data: object, places: FileLocations, share: Share = WHOLE
) -> ReachSummary:
    """Every run keeps the property, as far as this share tells; `Refused` if it is not shown."""
    claim = expect_object(claim_data, _CLAIM, "claim")
    walk = expect_object(data, _REACH, "reach", frozenset({"nodes", "halvings"}))
    bits = expect_integer(walk["bits"], LEAST_BITS, MOST_BITS, "bits")
    loop = read_closed_loop(claim["problem"], claim["plant"], bits, places)
    regions = read_regions(loop, walk["regions"])
    nodes = expect_list(walk.get("nodes", []), "nodes")
    count = check_regions(loop, regions, nodes, read_options(walk), bits, share)
    words = _describe_property(loop, f"run of {quote_for_message(loop.name)}, {_describe_loop(loop)},")
    return ReachSummary(
        words,
        "every cell was followed to its end",
        _describe_arithmetic(loop),
        loop.uncertified,
        count.cells,
        count.periods,
    )


def check_reach_violation(claim_data: object, data: object, places: FileLocations) -> ReachSummary:
    """A run from one start violates the property; `Refused` if it is not shown."""
    claim = expect_object(claim_data, _CLAIM, "claim")
    walk = expect_object(data, _VIOLATION, "reach", frozenset({"halvings"}))
    bits = expect_integer(walk["bits"], LEAST_BITS, MOST_BITS, "bits")
    loop = read_closed_loop(claim["problem"], claim["plant"], bits, places)
    if loop.time is None:
        raise BadCertificate("claim: a violation of a closed loop is claimed in continuous time")
    found = check_violation(loop, walk, read_options(walk), bits)
    words = f"the run of {quote_for_message(loop.name)} from a start violates its property: {found}"
    reason = "an enclosure of the run was followed"
    return ReachSummary(words, reason, _describe_arithmetic(loop), loop.uncertified, 1, found.periods)


def _describe_property(loop: ClosedLoop, run: str) -> str:
    asked = loop.property
    unit = "steps" if loop.time is None else "units of time"
    first: Fraction | int = asked.since if loop.time is not None else asked.after
    last: Any = asked.until if loop.time is not None else asked.steps
    since = f" from {first}" if first else ""
    until = " for ever" if last is None else f" up to {last} {unit}"
    where = "at any time, at these moments and between them," if loop.time is not None else "at any step"
    if asked.kind == "never":
        goal = "" if asked.before is None else " before its goal"
        return f"no {run} is in a bad state{goal} {where}{since}{until}"
    span = "at some time" if last is None else f"at some moment{since}{until}"
    return f"every {run} is in a good state {span}"


def _describe_arithmetic(loop: ClosedLoop) -> str:
    if loop.time is not None and loop.policy.rounded:
        return TIMED_FLOAT64
    return PLANTS["float64" if loop.policy.rounded else "exact"]


def _describe_loop(loop: ClosedLoop) -> str:
    networks = sum(1 for decider in loop.deciders if decider.network is not None)
    who = "rules" if not networks else "a network" if networks == 1 else f"{networks} networks"
    if loop.time is None:
        return f"controlled by {who} at every step"
    return f"controlled by {who} every {loop.time.period} units of continuous time"
