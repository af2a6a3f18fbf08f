"""One control period in continuous time over a cell: the policy decides once, then sub-steps follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from ...kernel.strict_json import Refused
from .affine_form import Form, extend_form
from .cell import Cell, WalkOptions, reduce_cell, settle_radii
from .decision import Decision, decide_controls
from .interval import Interval
from .loop_system import ClosedLoop
from .question import LoopQuestion
from .sub_step import Flow, SubStep, follow_sub_step


def follow_period(
    loop: ClosedLoop, question: LoopQuestion, cell: Cell, time: Fraction, options: WalkOptions
) -> dict[str, Cell | None]:
    """By key, the cells one period later; None: the property is shown of all of its runs."""
    decisions = decide_controls(loop, cell, question.bits, options.halvings)
    if not decisions:
        raise Refused("nothing sets the controls")  # runs do not end in continuous time
    return {f"{d.key}/0/0/": _follow_decision(loop, question, d, time, options) for d in decisions}


def _follow_decision(
    loop: ClosedLoop, question: LoopQuestion, decision: Decision, time: Fraction, options: WalkOptions
) -> Cell | None:
    assert loop.time is not None
    length = loop.time.period / options.pieces
    states, controls = decision.cell.reals, decision.controls
    cell = decision.cell
    for piece in range(options.pieces):
        start = time + piece * length
        step = make_sub_step(loop, loop.time.flow, question.bits, states, controls, length, options.taylor)
        done, shown = question.ask_sub_step(step, start, length)
        if done:
            return None
        states = tuple(settle_radii(step.end))
        cell = replace(decision.cell, reals=states)
        if question.ask_moment(cell, start + length, shown):
            return None
    return reduce_cell(cell, options.order * len(loop.variables))


def make_sub_step(
    loop: ClosedLoop,
    flow: Flow,
    bits: int,
    states: Sequence[Form],
    controls: Sequence[Form],
    length: Fraction,
    taylor: int,
) -> SubStep:
    """`Refused` if a variable may leave the range that it is declared with.

    A run begins in it, so it does not leave at an end that its derivative never points to.
    """
    wide = len(states[0][1])
    step = follow_sub_step(flow, bits, states, [extend_form(u, wide) for u in controls], length, taylor)
    for i, variable in enumerate(loop.variables):
        if variable.low is not None or variable.high is not None:
            slowest, fastest = step.enclosure[flow.derivatives[i]]
            least = None if slowest >= 0 else variable.low
            most = None if fastest <= 0 else variable.high
            if _is_between(step.enclosure[i], least, most, bits):
                continue
            if not _is_between(step.bound_by_ends(i, Fraction(0), length), least, most, bits):
                raise Refused("a variable may leave the range that it is declared with")
    return step


def _is_between(x: Interval, least: Fraction | None, most: Fraction | None, bits: int) -> bool:
    low, high = (Fraction(end, 1 << bits) for end in x)
    return (least is None or low >= least) and (most is None or high <= most)
