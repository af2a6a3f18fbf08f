"""What a policy may decide over a cell: which rule or network, which values of controls, which actions.

Where a condition is not decided both cases are followed, each over the part of the cell where it may be so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from ...kernel.problem import Control
from ...kernel.strict_json import Refused
from .activation_lines import SLOPE, activation_line
from .affine_form import Form, FormArithmetic, extend_form, form_bounds
from .cell import Cell, policy_terms, tighten_forms
from .flow_program import Truth
from .loop_system import ClosedLoop, LoopDecider
from .term_forms import assumed_forms


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """`cell`: where it may be made. Controls are forms over its symbols and one more for each control."""

    key: str
    cell: Cell
    controls: tuple[Form, ...]
    action: str | None


def enumerate_deciders(loop: ClosedLoop, cell: Cell, bits: int) -> Iterator[tuple[int, LoopDecider, Cell]]:
    """The rules and networks that may decide, and the part of the cell where they do."""
    terms = policy_terms(loop, cell, bits)
    assumed: list[Form] = []
    for number, decider in enumerate(loop.deciders):
        holds = terms.truth(decider.when)
        if holds is False:
            continue
        here = [*assumed, *(assumed_forms(terms, decider.when, True) if holds is None else [])]
        part = tighten_forms(cell.reals, here) if here else list(cell.reals)
        if part is not None:
            yield number, decider, replace(cell, reals=tuple(part))
        if holds:
            return
        assumed += assumed_forms(terms, decider.when, False)


def decide_controls(loop: ClosedLoop, cell: Cell, bits: int, halvings: int) -> list[Decision]:
    """The values that controls may get."""
    if not is_surely_decided(loop, cell, bits):
        raise Refused("it is not sure that a rule sets the controls")
    found = []
    for number, decider, part in enumerate_deciders(loop, cell, bits):
        terms = policy_terms(loop, part, bits)
        if decider.network is None:
            values = [terms.form(term) for term in decider.values]
        else:
            outputs = decider.network.run([terms.form(term) for term in decider.observe], halvings)
            values = [outputs.form(i) for i in range(len(loop.controls))]
        limited = [_limit_control(c, v, terms.arithmetic) for c, v in zip(loop.controls, values, strict=True)]
        wide = part.symbols + len(limited)
        controls = []
        for i, form in enumerate(limited):
            c, a, r = extend_form(form, wide)
            a = list(a)
            a[part.symbols + i] = r
            controls.append((c, a, 0))
        states = tuple(extend_form(x, wide) for x in part.reals)
        found.append(Decision(str(number), replace(part, reals=states), tuple(controls), None))
    return found


def is_surely_decided(loop: ClosedLoop, cell: Cell, bits: int) -> bool:
    """Some rule or network decides wherever in the cell."""
    terms = policy_terms(loop, cell, bits)
    return any(terms.truth(decider.when) is True for decider in loop.deciders)


def _limit_control(control: Control, value: Form, arithmetic: FormArithmetic) -> Form:
    low, high = form_bounds(value)
    bits = arithmetic.bits
    least, most = Fraction(low, 1 << bits), Fraction(high, 1 << bits)
    below = control.low is not None and least < control.low
    above = control.high is not None and most > control.high
    if (below or above) and not control.clipped:
        raise Refused("a control may be outside of its range")
    if not (below or above):
        return value
    bottom, top = control.low, control.high
    if bottom is None:  # one that nothing is beyond
        bottom = least if top is None else min(least, top)
    if top is None:
        top = max(most, bottom)
    line = activation_line(
        "clip", low, high, bits, (bottom, top)
    )  # for both at once: narrower than a line for each
    if line is None:
        return value
    slope, band, _ = line
    return arithmetic.add(arithmetic.scale(value, slope, 1 << SLOPE), arithmetic.enclose_interval(band))


def decide_actions(
    loop: ClosedLoop, cell: Cell, bits: int, halvings: int, enabled: Callable[[Cell, str], Truth]
) -> list[Decision]:
    """The actions that may be picked; `enabled`: is an edge with this action enabled in the cell?"""
    found = []
    for number, decider, part in enumerate_deciders(loop, cell, bits):
        if decider.action is not None:
            found.append(_pick(loop, number, decider.action, part))
            continue
        if decider.choose == "sample" or decider.network is None:
            found += [_pick(loop, number, action, part) for action in dict.fromkeys(decider.actions)]
            continue
        terms = policy_terms(loop, part, bits)
        outputs = decider.network.run([terms.form(term) for term in decider.observe], halvings)
        applies = decider.choose == "argmax-applicable"
        truths = [enabled(part, action) if applies else True for action in decider.actions]
        if all(truth is False for truth in truths):
            found.append(Decision("-", part, (), None))  # the environment moves, or the run ends
        for i, action in enumerate(decider.actions):
            if truths[i] is False:
                continue
            rivals = [j for j, truth in enumerate(truths) if j != i and truth is True]
            behind = [outputs.difference(j, i) for j in rivals]  # each at most 0 where i is picked
            if any(form_bounds(form)[0] > 0 for form in behind):
                continue
            states = tighten_forms(part.reals, behind)
            if states is not None:
                found.append(_pick(loop, number, action, replace(part, reals=tuple(states))))
    return found


def _pick(loop: ClosedLoop, number: int, action: str, part: Cell) -> Decision:
    place = loop.owns.index(action)
    return Decision(f"{number}.{place}", part, (), action)
