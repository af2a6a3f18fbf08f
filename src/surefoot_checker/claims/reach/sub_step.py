"""One sub-step of a differential equation x' = f(x, u, w) of length d, from a set of states.

Enclosure. If B + [0, d] f(E, U, W) is inside E for the box B around the starts, then every solution from B
exists for the time d and stays in E (Picard-Lindelöf; for any measurable w within W, by the same argument).

Series. By Taylor's theorem x_i(t) = sum over k < K of c_k(x(0)) t^k + c_K(x(s)) t^K for some s of [0, t],
c_k being the coefficients that the recursion c_(k+1) = f_k / (k + 1) gives: those below K as forms of the
starts, the last over E in intervals. The same holds of every other term along the flow.

Where starts and controls are over many symbols, the coefficients are forms over symbols of their own: input i
is c_i + w_i s_i with w_i its width (network_outputs.py). What changes over the sub-step and what is asked
about is turned into forms over the symbols of the cell again. That keeps linear relations between inputs, and
loses what they would add to the rest of a product; a condition that is not decided is looked at without it,
and a cell that is refused is followed again without it.

Only derivatives have their series computed at once. Terms of conditions are mostly decided by their values
over E; where they are not, their series are added.

Chosen values w change at any time. Let y be the solution for their middle, and z = x - y. Over E, which
contains both, |z_i|' <= sum_j J_ij |z_j| + D_i with J_ij the largest magnitude of df_i/dx_j and D_i the sum
of those of df_i/dw times half the width of w. If d (J Z + D) <= Z then |z| <= Z for the whole time: the
integral operator is monotone, maps Z below Z, and all its iterates from |z| upwards have the same limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from ...kernel.strict_json import Refused
from .affine_form import Form, FormArithmetic, form_bounds, form_width, widen_form
from .flow_gradient import Gradient, enclose_gradients
from .flow_program import Condition, FlowProgram, SeriesRun, Truth, decide_condition, enclose_values
from .interval import Interval, IntervalArithmetic, meet_intervals
from .network_outputs import SHARE, InputBasis

_TRIES = 24
MANY = 2  # symbols for each input, from which on inputs have symbols of their own
_ROOM = 16  # bits that forms may be larger than inputs


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """`program` computes the derivatives by its first `size` operations, then terms of conditions.

    Inputs are states, controls and chosen values in this order.
    """

    program: FlowProgram
    derivatives: tuple[int, ...]
    size: int
    controls: int
    chosen: tuple[tuple[Fraction, Fraction], ...]


Known = tuple[list[Form | None], Interval | None, int]


@dataclass(slots=True, eq=False)
class SubStep:
    """The states at its end, and what is known of the time between.

    Of an operation: coefficients in time, of the starts (none: rough); the last one, over the whole sub-step;
    how far it may be from all that because of chosen values. `describe` finds these where they are asked for.
    """

    flow: Flow
    arithmetic: IntervalArithmetic
    end: list[Form]
    enclosure: list[Interval]  # of everything that the program computes, over the whole sub-step
    describe: Callable[[int], Known]
    basis: InputBasis | None = None  # what coefficients are over
    finer: Callable[[], SubStep] | None = None  # the same over the symbols of the cell
    _known: dict[int, Known] = field(default_factory=dict)

    def look_up(self, number: int) -> Known:
        """Of an operation, over the symbols of the cell."""
        if number not in self._known:
            found, rest, error = self.describe(number)
            if self.basis is not None:
                found = [expand_form(self.basis, c) for c in found]
                if number < self.basis.count:
                    found[:1] = [self.basis.inputs[number]]
            self._known[number] = found, rest, error
        return self._known[number]

    def series(self, number: int) -> list[Form | None]:
        return self.look_up(number)[0]

    def bound_operation(self, number: int, first: Fraction, last: Fraction) -> Interval:
        """Between two times of the sub-step, by Horner's rule."""
        over = self.enclosure[number]
        series, rest, error = self.look_up(number)
        if not series:
            return over
        bounds = [None if c is None else form_bounds(c) for c in series]
        low, high = _bound_polynomial([*bounds, rest], first, last)
        return meet_intervals((low - error, high + error), over)

    def bound_by_ends(self, number: int, first: Fraction, last: Fraction) -> Interval:
        """Both ends as forms, and how far from a line between them: at most (last - first)^2 / 8 of the
        second derivative, whose series has the coefficients (k + 2) (k + 1) c_(k+2)."""
        known = self.bound_operation(number, first, last)
        series, rest, error = self.look_up(number)
        if not series:
            return known
        every = [*(None if c is None else form_bounds(c) for c in series), rest]
        bent = [
            None if c is None else self.arithmetic.scale(c, (k + 1) * (k + 2), 1)
            for k, c in enumerate(every[2:])
        ]
        low, high = _bound_polynomial(bent, first, last) if bent else (0, 0)
        if len(every) == 2:  # nothing is known of a second derivative
            return known
        share = (last - first) ** 2 / 8
        down, up = (-(-max(x, 0) * share.numerator // share.denominator) for x in (high, -low))
        (a, b), (c, d) = self._bound_moment(number, first), self._bound_moment(number, last)
        return meet_intervals((min(a, c) - down - error, max(b, d) + up + error), known)

    def _bound_moment(self, number: int, time: Fraction) -> Interval:
        (series, rest, _), power = self.look_up(number), Fraction(1)
        forms = FormArithmetic(self.arithmetic.bits, len(self.end[0][1]))
        total = forms.enclose_number(0)
        for c in series:
            if c is not None and power:
                total = forms.add(
                    total, c if power == 1 else forms.scale(c, power.numerator, power.denominator)
                )
            power *= time
        low, high = form_bounds(total)
        if rest is not None:
            a, b = self.arithmetic.scale(rest, power.numerator, power.denominator)
            low, high = low + a, high + b
        return low, high

    def decide(self, condition: Condition, first: Fraction, last: Fraction) -> Truth:
        """Is the condition true, or false, at all times between two of the sub-step?"""
        found = decide_condition(condition, self.enclosure.__getitem__)
        if found is not None:
            return found
        try:
            found = self._decide_by_series(condition, first, last)
        except Refused:  # a basis has no room for the coefficients
            if self.finer is None:
                raise
        if found is None and self.finer is not None:
            found = self.finer().decide(condition, first, last)
        return found

    def _decide_by_series(self, condition: Condition, first: Fraction, last: Fraction) -> Truth:
        for bound in (self.bound_operation, self.bound_by_ends):
            found = decide_condition(condition, partial(bound, first=first, last=last))
            if found is not None:
                return found
        nodes, count = self.flow.program.nodes, len(self.flow.derivatives)
        states = [self.bound_by_ends(i, first, last) for i in range(count)]
        others = self.enclosure[count : count + self.flow.controls + len(self.flow.chosen)]
        values, _, _ = enclose_values(nodes, self.arithmetic, [*states, *others])
        return decide_condition(condition, values.__getitem__)


def _bound_polynomial(coefficients: Sequence[Interval | None], first: Fraction, last: Fraction) -> Interval:
    low = high = 0
    for c in reversed(coefficients):
        low, high = _times_span((low, high), first, last)
        if c is not None:
            low, high = low + c[0], high + c[1]
    return low, high


def _times_span(x: Interval, first: Fraction, last: Fraction) -> Interval:
    """Times any number of [first, last], first >= 0."""
    low, high = (first if x[0] >= 0 else last), (last if x[1] >= 0 else first)
    return x[0] * low.numerator // low.denominator, -(-x[1] * high.numerator // high.denominator)


def follow_sub_step(
    flow: Flow, bits: int, starts: Sequence[Form], controls: Sequence[Form], length: Fraction, order: int
) -> SubStep:
    """Forms over one common list of symbols. `Refused` if no enclosure is found."""
    exact = IntervalArithmetic(bits)
    box = [form_bounds(x) for x in starts]
    fixed = [form_bounds(u) for u in controls]
    chosen = [(exact.enclose_number(low)[0], exact.enclose_number(high)[1]) for low, high in flow.chosen]
    enclosure = _enclose_solutions(flow, exact, box, [*fixed, *chosen], length)
    nodes = flow.program.nodes
    values, choices, rough = enclose_values(nodes, exact, [*enclosure, *fixed, *chosen])
    count = len(starts)
    if not rough.isdisjoint(flow.derivatives):
        return _hold_interval(flow, exact, starts, values, length)
    spread: list[int] = [0] * count
    gradients: Sequence[Gradient] = ()
    middles: list[Fraction] = [(low + high) / 2 for low, high in flow.chosen]
    if flow.chosen:
        first = count + len(fixed)
        moving = [*range(count), *range(first, first + len(chosen))]
        gradients = enclose_gradients(nodes, exact, values, choices, rough, moving)
        halves = [(high - low + 1) // 2 + 1 for low, high in chosen]
        spread = _bound_deviation(flow, gradients, halves, first, length, bits)
    forms = FormArithmetic(bits, len(starts[0][1]) if starts else 0)
    inputs, basis = [*starts, *controls], None
    if not flow.program.finest and forms.count > MANY * len(inputs):
        basis = _give_symbols(inputs)
        inputs = basis.own_forms()
    own = FormArithmetic(bits, len(inputs[0][1]) if inputs else 0)
    known = (values, choices, rough)
    run = _expand(flow, own, [*inputs, *map(own.enclose_number, middles)], known, order)
    rest = _expand(
        flow,
        exact,
        [*enclosure, *fixed, *[exact.enclose_number(m) for m in middles]],
        known,
        order + 1,
    )
    end = []
    for i, start in enumerate(starts):
        last = rest.series[i][order]
        change = _change_over(own, run.series[i][:order], last, exact, length)
        if basis is not None:
            change = expand_form(basis, change)
        end.append(widen_form(start if change is None else forms.add(start, change), spread[i]))

    def describe(run: SeriesRun, number: int) -> Known:
        if number in rough:
            return [], None, 0
        if number >= flow.size:
            run.catch_up(flow.size)
            rest.catch_up(flow.size)
        error = _bound_change(gradients[number], spread, bits) if gradients else 0
        return run.series[number][:order], rest.series[number][order], error

    def look_closer() -> SubStep:
        numbers = map(forms.enclose_number, middles)
        fine = _expand(flow, forms, [*starts, *controls, *numbers], known, order)
        return SubStep(flow, exact, end, values, partial(describe, fine))

    finer = None if basis is None else look_closer
    return SubStep(flow, exact, end, values, partial(describe, run), basis, finer)


def _give_symbols(inputs: Sequence[Form]) -> InputBasis:
    largest = max(map(form_width, inputs)).bit_length()
    return InputBasis(inputs, (largest + _ROOM + SHARE + 3) // 64 + 1)


def expand_form(basis: InputBasis, x: Form | None) -> Form | None:
    """Over the symbols that the inputs are forms of."""
    if x is None:
        return None
    if not any(x[1]):
        return x[0], [0] * basis.symbols, x[2]
    basis.check_room(sum(map(abs, x[1])))
    coefficients, off = basis.expand([x[0], *x[1]])
    return x[0], coefficients, x[2] + off


def _change_over(
    forms: FormArithmetic,
    series: Sequence[Form | None],
    last: Interval | None,
    exact: IntervalArithmetic,
    length: Fraction,
) -> Form | None:
    """What a state changes over the sub-step; None: nothing."""
    total, power = None, Fraction(1)
    for c in series[1:]:
        power *= length
        if c is not None:
            moved = forms.scale(c, power.numerator, power.denominator)
            total = moved if total is None else forms.add(total, moved)
    power *= length
    if last is not None:
        rest = forms.enclose_interval(exact.scale(last, power.numerator, power.denominator))
        total = rest if total is None else forms.add(total, rest)
    return total


def _expand(
    flow: Flow,
    arithmetic: Any,
    inputs: Sequence[Any],
    known: tuple[list[Interval], dict[int, int], frozenset[int]],
    count: int,
) -> SeriesRun:
    """So many coefficients of what derivatives need, inputs that do not change having one."""
    run = SeriesRun(flow.program.nodes, arithmetic, inputs, *known)
    states = len(flow.derivatives)
    for k in range(1, count + 1):
        run.advance(0, flow.size)
        if k == count:
            break
        for i, place in enumerate(flow.derivatives):
            rate = run.series[place][k - 1]
            run.set_input(i, None if rate is None else rate if k == 1 else arithmetic.scale(rate, 1, k))
        for i in range(states, len(inputs)):
            run.set_input(i, None)
    return run


def _enclose_solutions(
    flow: Flow, exact: IntervalArithmetic, box: list[Interval], held: list[Interval], length: Fraction
) -> list[Interval]:
    """A box E with box + [0, length] f(E) inside E."""
    nodes = flow.program.nodes[: flow.size]
    zero = Fraction(0)

    def image(candidate: Sequence[Interval]) -> list[Interval]:
        values, _, _ = enclose_values(nodes, exact, [*candidate, *held])
        found = []
        for (low, high), place in zip(box, flow.derivatives, strict=True):
            slow, fast = _times_span(values[place], zero, length)
            found.append((low + min(slow, 0), high + max(fast, 0)))
        return found

    reached = image(box)
    for attempt in range(1, _TRIES + 1):  # around the last image alone: what grew once need not stay
        candidate = [(a - (b - a) * attempt // 20 - 2, b + (b - a) * attempt // 20 + 2) for a, b in reached]
        reached = image(candidate)
        if _is_inside(reached, candidate):
            for _ in range(2):
                reached = image(reached)  # solutions stay in the last one, so in its image
            return reached
    raise Refused("no enclosure of the solutions over a sub-step is found: it is too long")


def _is_inside(inner: Sequence[Interval], outer: Sequence[Interval]) -> bool:
    return all(a <= low and high <= b for (low, high), (a, b) in zip(inner, outer, strict=True))


def _hold_interval(
    flow: Flow,
    exact: IntervalArithmetic,
    starts: Sequence[Form],
    values: list[Interval],
    length: Fraction,
) -> SubStep:
    """Where the derivative is not smooth: x(0) + [slowest, fastest] d."""
    forms = FormArithmetic(exact.bits, len(starts[0][1]))
    moves = [exact.scale(values[place], length.numerator, length.denominator) for place in flow.derivatives]
    end = [forms.add(x, forms.enclose_interval(by)) for x, by in zip(starts, moves, strict=True)]

    def describe(number: int) -> Known:
        if number >= len(starts):
            return [], None, 0
        return [starts[number]], values[flow.derivatives[number]], 0

    return SubStep(flow, exact, end, values, describe)


def _bound_change(gradient: Gradient, spread: Sequence[int], bits: int) -> int:
    """What an operation changes at most if each state does by so much."""
    total = sum(max(-low, high) * spread[i] for i, (low, high) in gradient.items() if i < len(spread))
    return -(-total >> bits)


def _bound_deviation(
    flow: Flow, gradients: Sequence[Gradient], halves: Sequence[int], first: int, length: Fraction, bits: int
) -> list[int]:
    """Z >= 0 with length (J Z + D) <= Z; the image of such a Z is another, and smaller."""
    rates = [gradients[place] for place in flow.derivatives]
    driven = [
        -(-sum(max(-low, high) * halves[i - first] for i, (low, high) in g.items() if i >= first) >> bits)
        for g in rates
    ]

    def image(z: Sequence[int], more: int = 0) -> list[int]:
        return [
            -(-(_bound_change(g, z, bits) + d + more) * length.numerator // length.denominator)
            for g, d in zip(rates, driven, strict=True)
        ]

    # what is driven by others alone never gets beyond its own image unless all are driven a little more
    more = max(driven) // 4 + 4
    z = image([0] * len(rates), more)
    for _ in range(_TRIES):
        reached = image(z)
        if all(a <= b for a, b in zip(reached, z, strict=True)):
            return image(reached)
        z = image(z, more)
    raise Refused("chosen values may drive the states too far apart within a sub-step")
