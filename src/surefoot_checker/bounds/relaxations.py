"""Linear functions below and above the nodes that are not linear (docs/certificates.md, section 6).

Any slope may be used: constants are chosen so that the line is on its side over the whole box, rounded
outward. A line that holds for a box holds for every part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..kernel.network import ActivationNode, CombineNode
from ..kernel.strict_json import Refused
from .curved_functions import CURVES
from .quotient import Corners, Plane, quotient_planes
from .smooth_functions import enclose_logistic, enclose_tanh, logistic_line, tanh_line
from .subdomain import LinearRelaxation, PrecisionGrid, ReachedLeaves, ReluRelaxation, Slopes, SubdomainState

NONE: Slopes = (None, None)
_LAST = (1 << 16) - 1  # of the slopes of clip: stands for 1, the slope of its middle piece


def cached_relaxation(
    grid: PrecisionGrid, state: SubdomainState, v: int
) -> LinearRelaxation | ReluRelaxation:
    """The lines of a value with the slopes that the state remembers."""
    found = state.lines.get(v)
    if found is None or isinstance(found, ReachedLeaves):
        found = state.lines[v] = _build_relaxation(grid, state, v, state.slopes.get(v, NONE))
    return found


def _build_relaxation(
    grid: PrecisionGrid, state: SubdomainState, v: int, slopes: Slopes
) -> LinearRelaxation | ReluRelaxation:
    value = grid.values[v]
    match value.node:
        case ActivationNode(kind="relu"):
            return _relax_relu(grid, state, v, slopes[0])
        case ActivationNode() as node:
            s = value.sources[0]
            return _ACTIVATION[node.kind](grid, node, state.low[s], state.high[s], slopes)
        case CombineNode() as node:
            s, t = value.sources
            boxes = zip(state.low[s], state.high[s], state.low[t], state.high[t], strict=True)
            return _relax_pair(grid, _PAIR[node.kind], boxes, slopes[0] or _no_slopes(value.width), slopes[1])
    raise AssertionError


def _no_slopes(width: int) -> tuple[None, ...]:
    return (None,) * width


def _relax_relu(
    grid: PrecisionGrid, state: SubdomainState, v: int, below: tuple[int, ...] | None
) -> ReluRelaxation:
    """Above an unstable ReLU the chord: its slope c = h / (h - l) rounded up, and -c l as constant.

    The line is 0 at l, and c (h - l) >= h at h; the function is convex.
    """
    bits = grid.bits
    known = state.lines.get(v)
    if isinstance(known, ReluRelaxation) and below is not None:
        bent = [(i, below[i] << (bits - 7), c, k) for i, _, c, k in known.bent]
        return ReluRelaxation(
            _switch_zero_entries(known.on, known.zero, below), bent, known.lost, known.zero, known.low
        )
    source = grid.values[v].sources[0]
    low, high = state.low[source], state.high[source]
    on = [1 if least >= 0 else 0 for least in low]
    both = [(i, a, b) for i, (a, b) in enumerate(zip(low, high, strict=True)) if a <= 0 <= b]
    zero = [i for i, a, b in both if a == b]
    ends = [(i, a, b, -((-b << bits) // (b - a))) for i, a, b in both if a < 0 < b]
    if below is None:
        bent = [(i, grid.one if a + b > 0 else 0, c, -(c * a >> bits)) for i, a, b, c in ends]
    else:
        bent = [(i, below[i] << (bits - 7), c, -(c * a >> bits)) for i, a, _, c in ends]
    lost = sum([b if a + b > 0 else -a for _, a, b, _ in ends])
    return ReluRelaxation(_switch_zero_entries(on, zero, below), bent, lost, zero, low)


def relu_lines(grid: PrecisionGrid, ramps: ReluRelaxation) -> LinearRelaxation:
    """The same lines, written out for every entry."""
    below = [on << grid.bits for on in ramps.on]
    above, level = below.copy(), [0] * len(below)
    for i, under, over, constant in ramps.bent:
        below[i], above[i], level[i] = under, over, constant
    return LinearRelaxation((below,), [0] * len(below), (above,), level)


def step_relaxation(
    grid: PrecisionGrid, state: SubdomainState, v: int, slopes: Slopes
) -> LinearRelaxation | ReluRelaxation:
    """The lines of a value with the slopes that one step gives: they are meant as they are.

    For 0 <= a <= 1 the line a x is below a ReLU whatever the sign of x. Whoever wrote the step may have known
    less than the state, and chosen a while the sign was open. The line x or 0 in its place is above a x only
    within the bounds of x, which the box of value 0 exceeds: the bound of the sum might become worse.
    """
    lines = _build_relaxation(grid, state, v, slopes)
    below = slopes[0]
    if not isinstance(lines, ReluRelaxation) or below is None:
        return lines
    other = [i for i, (a, on) in enumerate(zip(below, lines.on, strict=True)) if a != on << 7]
    are_open = {i for i, _, _, _ in lines.bent}
    if are_open.issuperset(other):
        return lines
    source, bits = grid.values[v].sources[0], grid.bits
    told = [i for i in other if i not in are_open]
    bent = lines.bent + [(i, below[i] << (bits - 7), lines.on[i] << bits, 0) for i in told]
    sizes = [max(state.high[source][i], -state.low[source][i]) for i in told]
    return ReluRelaxation(lines.on, bent, lines.lost + sum(sizes), lines.zero, lines.low)


def _switch_zero_entries(on: list[int], zero: list[int], below: tuple[int, ...] | None) -> list[int]:
    """Where the argument is 0 everywhere both lines are true: x, or 0 if that is the slope given."""
    if not zero or below is None:
        return on
    switched = on.copy()
    for i in zero:
        switched[i] = 1 if below[i] else 0
    return switched


def _relax_leaky_relu(
    grid: PrecisionGrid, node: ActivationNode, low: list[int], high: list[int], slopes: Slopes
) -> LinearRelaxation:
    """Below a x with a between the two slopes, above the chord; the other way round for slopes above 1."""
    above, below = node.parameters[0].as_integer_ratio()
    low_slope = (above << grid.bits) // below
    found = []
    given = slopes[0] or _no_slopes(len(low))
    for least, most, slope in zip(low, high, given, strict=True):
        points = [(x, x * below if x > 0 else x * above) for x in (least, most, min(max(0, least), most))]
        piece = grid.one if most > -least else low_slope
        if least < 0 < most:
            chord = ((points[1][1] - points[0][1]) << grid.bits) // ((most - least) * below)
            if slope is not None:
                piece = slope << (grid.bits - 7)
        else:
            chord = piece = grid.one if least >= 0 else low_slope
        found.append(
            _lines_around_points(grid, points, below, *((piece, chord) if above <= below else (chord, piece)))
        )
    return _collect_lines(found)


def _relax_clip(
    grid: PrecisionGrid, node: ActivationNode, low: list[int], high: list[int], slopes: Slopes
) -> LinearRelaxation:
    """Lines of any slope; the constant is the extreme at an end or a kink."""
    ratios = [p.as_integer_ratio() for p in node.parameters]
    scale = max(d for _, d in ratios)
    least_value, most_value = ((n * (scale // d)) << grid.bits for n, d in ratios)
    found = []
    given = [slopes[i] or _no_slopes(len(low)) for i in (0, 1)]
    for least, most, below, above in zip(low, high, *given, strict=True):
        ends = [x * scale for x in (least, most)]
        places = ends + [min(max(k, ends[0]), ends[1]) for k in (least_value, most_value)]
        points = [(x, min(max(x, least_value), most_value)) for x in places]
        pair = [grid.one if s == _LAST else (s or 0) << (grid.bits - 16) for s in (below, above)]
        found.append(_lines_around_points(grid, points, scale, pair[0], pair[1], scale))
    return _collect_lines(found)


def _lines_around_points(
    grid: PrecisionGrid, points: list[tuple[int, int]], scale: int, below: int, above: int, place: int = 1
) -> tuple[int, int, int, int]:
    """Lines of these slopes around a function that is linear between the points.

    A point is a pair of integers: its place in units of 1 / place, and the value there of 1 / scale.
    """
    least = min((value << grid.bits) // scale - -(-below * x // place) for x, value in points)
    most = max(-((-value << grid.bits) // scale) - above * x // place for x, value in points)
    return below, least >> grid.bits, above, -(-most >> grid.bits)


def _collect_lines(found: list[tuple[int, int, int, int]]) -> LinearRelaxation:
    below, below_constant, above, above_constant = (
        (list(c) for c in zip(*found, strict=True)) if found else ([], [], [], [])
    )
    return LinearRelaxation((below,), below_constant, (above,), above_constant)


def _relax_smooth(
    grid: PrecisionGrid, node: ActivationNode, low: list[int], high: list[int], slopes: Slopes
) -> LinearRelaxation:
    """Lines of the given slopes, or else of that of the chord, with the best constants."""
    bits = grid.bits
    value, line = (enclose_tanh, tanh_line) if node.kind == "tanh" else (enclose_logistic, logistic_line)
    found = []
    given = [slopes[i] or _no_slopes(len(low)) for i in (0, 1)]
    for least, most, below, above in zip(low, high, *given, strict=True):
        chord = 0
        if (below is None or above is None) and most > least:
            rise = value(most, bits)[0] - value(least, bits)[0]
            chord = min(max((rise << bits) // (most - least), 0), grid.one)
        lower = chord if below is None else below << (bits - 16)
        upper = chord if above is None else above << (bits - 16)
        constants = line(least, most, lower, bits)
        other = constants if upper == lower else line(least, most, upper, bits)
        found.append((lower, constants[0], upper, other[1]))
    return _collect_lines(found)


def _maximum_planes(
    grid: PrecisionGrid, box: Corners, below: int | None, _: int | None
) -> tuple[Plane, Plane]:
    """max(x, y) is at least a x + (1 - a) y, and is y + relu(x - y)."""
    one, bits = grid.one, grid.bits
    x_low, x_high, y_low, y_high = box
    if x_low >= y_high:
        return (one, 0, 0), (one, 0, 0)
    if x_high <= y_low:
        return (0, one, 0), (0, one, 0)
    least, most = x_low - y_high, x_high - y_low
    chord = -((-most << bits) // (most - least))
    if below is None:
        share = one if x_low + x_high >= y_low + y_high else 0
    else:
        share = below << (bits - 7)
    return (share, one - share, 0), (chord, one - chord, -(chord * least >> bits))


def _product_planes(
    grid: PrecisionGrid, box: Corners, below: int | None, above: int | None
) -> tuple[Plane, Plane]:
    """McCormick's two planes on each side, mixed; above by those below (-x) y."""
    x_low, x_high, y_low, y_high = box
    under = _mccormick_plane(grid, box, below or 0, (x_low, y_low), (x_high, y_high))
    over = _mccormick_plane(
        grid, (-x_high, -x_low, y_low, y_high), above or 0, (-x_high, y_low), (-x_low, y_high)
    )
    return under, (over[0], -over[1], -over[2])


def _mccormick_plane(
    grid: PrecisionGrid, box: Corners, share: int, first: tuple[int, int], second: tuple[int, int]
) -> Plane:
    """Below x y: (1 - a) (t x + s y - s t) + a (q x + p y - p q) for (s, t) and (p, q), a = share / 128.

    The slopes are rounded down, which is worth less than a unit times the largest |x|, |y| each.
    """
    (s, t), (p, q) = first, second
    rest = 128 - share
    of_x, of_y = (rest * t + share * q) >> 7, (rest * s + share * p) >> 7
    lost = max(box[1], -box[0]) + max(box[3], -box[2]) if share & 127 else 0
    constant = ((-(rest * s * t + share * p * q)) >> 7) - lost
    return of_x, of_y, constant >> grid.bits


def _relax_pair(
    grid: PrecisionGrid,
    planes: Callable[[PrecisionGrid, Corners, int | None, int | None], tuple[Plane, Plane]],
    boxes: Iterator[Corners],
    below: tuple[int | None, ...],
    above: tuple[int, ...] | None,
) -> LinearRelaxation:
    given = above or _no_slopes(len(below))
    found = [(*u, *o) for u, o in (planes(grid, *b) for b in zip(boxes, below, given, strict=True))]
    columns = [list(c) for c in zip(*found, strict=True)] if found else [[] for _ in range(6)]
    return LinearRelaxation((columns[0], columns[1]), columns[2], (columns[3], columns[4]), columns[5])


def _relax_curve(
    grid: PrecisionGrid, node: ActivationNode, low: list[int], high: list[int], _: Slopes
) -> LinearRelaxation:
    """Between two constants."""
    given, flat = [p.as_integer_ratio() for p in node.parameters], [0] * len(low)
    ranges = [CURVES[node.kind](x, y, grid.bits, given) for x, y in zip(low, high, strict=True)]
    return LinearRelaxation((flat,), [x for x, _ in ranges], (list(flat),), [x for _, x in ranges])


_ACTIVATION: dict[
    str, Callable[[PrecisionGrid, ActivationNode, list[int], list[int], Slopes], LinearRelaxation]
] = {
    "leaky_relu": _relax_leaky_relu,
    "clip": _relax_clip,
    "tanh": _relax_smooth,
    "sigmoid": _relax_smooth,
    **dict.fromkeys(CURVES, _relax_curve),
}
_PAIR = {"maximum": _maximum_planes, "product": _product_planes, "quotient": quotient_planes}


SHARES = ("relu", "leaky_relu", "maximum", "product", "quotient")


def check_slopes(grid: PrecisionGrid, v: int, slopes: Slopes) -> None:
    """Refuse slopes of the wrong number, out of range, or of a side that has no choice."""
    value = grid.values[v]
    node = value.node
    kind = getattr(node, "kind", "")
    for side, given in enumerate(slopes):
        if given is None:
            continue
        if len(given) != value.width or kind not in (*SHARES, "tanh", "sigmoid", "clip"):
            raise Refused(f"slopes that do not fit value {v}")
        if side == 1 and kind in SHARES[:3]:
            raise Refused(f"value {v} has no choice of slopes above")
        if kind in SHARES and max(given, default=0) > 128:
            raise Refused(f"slopes of value {v} exceed 1")
        if isinstance(node, ActivationNode) and kind == "leaky_relu":
            above, below = node.parameters[0].as_integer_ratio()
            if above > below or any(a * below < 128 * above for a in given):
                raise Refused(f"slopes of value {v} are not between its own slope and 1")
