"""The question: k copies of one ReLU chain over shared inputs, and linear rows over outputs and inputs.

Its values at points and a descent to where all rows hold, and the sub-domains that a search divides it into.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import TINY, Array, gamma_factor
from surefoot.network.float32_error import affine_radius
from surefoot.solvers.native.falsify.gradient_attack import descend_violation

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

_UP = 1.0 + 2.0**-30  # makes up for the rounding of the few float64 operations that compute a noise


@dataclass(frozen=True, slots=True, eq=False)
class ChainProblem:
    """Is there an x with low <= x <= high, whole where said, and rows @ y(x) + direct @ x <= offsets?

    y(x) puts the outputs of all copies side by side. A neuron before its ReLU is its exact linear function
    plus an unknown error of at most its noise. All numbers are meant exactly. Neurons are numbered layer by
    layer: those of the first layer of copy 0, of copy 1, ..., then those of the second layer.
    """

    first: Array  # (copies * width, inputs): the first layer of all copies as functions of all inputs
    first_bias: Array
    weights: tuple[Array, ...]  # the other layers of a single copy, one matrix (outputs, inputs) each
    biases: tuple[Array, ...]
    noise: Array  # one per neuron
    blur: Array  # one per output of all copies; the offsets contain what it does to the rows
    single: bool  # whether noise is that of float32 arithmetic, and follows from bounds
    copies: int
    low: Array
    high: Array
    whole: Mask
    rows: Array  # (rows, copies * outputs)
    direct: Array  # (rows, inputs)
    offsets: Array

    @property
    def widths(self) -> tuple[int, ...]:
        """How many neurons each hidden layer of one copy has."""
        return tuple(w.shape[1] for w in self.weights)

    @property
    def neurons(self) -> int:
        return self.copies * sum(self.widths)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where each hidden layer stands among the neurons."""
        ends = (self.copies * np.cumsum((0, *self.widths))).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))


@dataclass(frozen=True, slots=True, eq=False)
class ChainInputs:
    """What the copies read: maps @ x + shift, up to errors that include those of representation.

    With `single` the chain is evaluated in float32, in any order of summation (docs/certificates.md, 4).
    """

    maps: Array  # (copies, inputs of a copy, inputs)
    shift: Array  # (copies, inputs of a copy)
    errors: Array  # likewise
    single: bool = False


def are_plain_chain_inputs(reading: ChainInputs) -> bool:
    """Whether every copy reads different inputs as they are."""
    used = reading.maps != 0.0
    same = bool((reading.maps == used).all() and not reading.shift.any())
    return same and bool(used.sum(axis=1).max() <= 1 and used.sum(axis=2).max() <= 1)


def _inputs_by_index(index: Indices, inputs: int) -> ChainInputs:
    """Copy t reads x[index[t]]."""
    maps = np.zeros((*index.shape, inputs))
    np.put_along_axis(maps, index[:, :, None], 1.0, axis=2)
    return ChainInputs(maps, np.zeros(index.shape), np.zeros(index.shape))


def build_chain_problem(
    weights: tuple[Array, ...],
    biases: tuple[Array, ...],
    low: Array,
    high: Array,
    rows: Array,
    offsets: Array,
    *,
    index: Indices | None = None,
    reading: ChainInputs | None = None,
    whole: Mask | None = None,
    direct: Array | None = None,
    row_errors: Array | None = None,
    direct_errors: Array | None = None,
    offset_errors: Array | None = None,
) -> ChainProblem:
    """The question, of finite numbers; rows known up to an error are weakened to contain every meaning."""
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    if reading is None:
        index = np.arange(weights[0].shape[1])[None] if index is None else np.asarray(index, dtype=np.int64)
        if index.min() < 0 or index.max() >= len(low):
            raise ValueError(f"a copy reads input {index.min()} or {index.max()} of {len(low)}")
        reading = _inputs_by_index(index, len(low))
    weights = tuple(np.ascontiguousarray(w, dtype=np.float64) for w in weights)
    biases = tuple(np.ascontiguousarray(b, dtype=np.float64) for b in biases)
    rows, offsets = np.atleast_2d(np.asarray(rows, dtype=np.float64)), np.array(offsets, dtype=np.float64)
    direct = np.zeros((len(offsets), len(low))) if direct is None else np.asarray(direct, dtype=np.float64)
    whole = np.zeros(len(low), dtype=np.bool_) if whole is None else np.asarray(whole, dtype=np.bool_)
    parts = (*weights, *biases, low, high, rows, direct, offsets, reading.maps, reading.shift, reading.errors)
    if not all(np.isfinite(part).all() for part in parts):
        raise ValueError("weights, bounds and rows must be finite")
    if not (low <= high).all():
        raise ValueError("a lower bound exceeds its upper bound")
    copies, size = len(reading.maps), np.maximum(np.abs(low), np.abs(high))
    noise, blur = _noise_bounds(weights, biases, reading, low, high)
    first = np.concatenate([weights[0] @ part for part in reading.maps])
    bias = np.concatenate([weights[0] @ part + biases[0] for part in reading.shift])
    problem = ChainProblem(
        first,
        bias,
        weights[1:],
        biases[1:],
        noise,
        blur,
        reading.single,
        copies,
        low,
        high,
        whole,
        rows,
        direct,
        offsets,
    )
    slack = np.abs(rows) @ blur
    if row_errors is not None:
        slack = slack + np.abs(row_errors) @ term_magnitudes(problem).outputs
    if direct_errors is not None:
        slack = slack + np.abs(direct_errors) @ size
    if offset_errors is not None:
        slack = slack + np.abs(offset_errors)
    if slack.any():
        many = rows.shape[1] + len(low) + 8
        slack = slack + gamma_factor(many) * (np.abs(offsets) + slack) + TINY
    problem.offsets[...] = offsets + slack
    return problem


def select_problem_rows(problem: ChainProblem, chosen: Mask) -> ChainProblem:
    """The question with some of its rows."""
    return replace(
        problem,
        rows=problem.rows[chosen],
        direct=problem.direct[chosen],
        offsets=problem.offsets[chosen],
    )


def refine_chain_noise(problem: ChainProblem, layer: int, lower: Array, upper: Array) -> ChainProblem:
    """The question with the float32 errors of one layer as bounds of the neurons before it say.

    `lower` and `upper` are bounds (domains, neurons) that hold in the whole box; what was known came from
    intervals, which are much wider in deep networks. The layer after the last hidden one are the outputs.
    """
    if not problem.single or not layer:
        return problem
    s, w, b = problem.slices[layer - 1], problem.weights[layer - 1], problem.biases[layer - 1]
    most = np.maximum(np.maximum(upper[:, s], 0.0), np.maximum(lower[:, s], 0.0)).max(axis=0)
    size = most.reshape(problem.copies, -1) @ np.abs(w).T + np.abs(b)
    own = affine_radius(w.shape[1], size * _UP).reshape(-1) * _UP
    if layer < len(problem.weights):
        noise, here = problem.noise.copy(), problem.slices[layer]
        noise[here] = np.minimum(noise[here], own)
        return replace(problem, noise=noise)
    blur = np.minimum(problem.blur, own)
    gained = np.abs(problem.rows) @ (problem.blur - blur)
    return replace(problem, blur=blur, offsets=problem.offsets - gained * (1.0 - 1e-9))


def _noise_bounds(
    weights: tuple[Array, ...], biases: tuple[Array, ...], reading: ChainInputs, low: Array, high: Array
) -> tuple[Array, Array]:
    """How far neurons and outputs can be from their exact functions of what precedes them."""
    centre = 0.5 * low + 0.5 * high
    middle = reading.maps @ centre + reading.shift
    size = np.abs(reading.maps) @ np.maximum(np.abs(low), np.abs(high)) + np.abs(reading.shift)
    reach = np.abs(reading.maps) @ np.maximum(high - centre, centre - low) + reading.errors
    blur = gamma_factor(len(low) + 8) * size
    least, most = middle - reach - blur, middle + reach + blur
    before = reading.errors @ np.abs(weights[0]).T
    if not are_plain_chain_inputs(reading):  # the first layer is multiplied out in float64
        many = sum(reading.maps.shape[1:]) + 4
        before = before + gamma_factor(many) * (size @ np.abs(weights[0]).T + np.abs(biases[0])) + TINY
    found = []
    for layer, (w, b) in enumerate(zip(weights, biases, strict=True)):
        size = np.maximum(np.abs(least), np.abs(most)) @ np.abs(w).T + np.abs(b)
        own = np.zeros_like(size)
        if reading.single:
            own = affine_radius(w.shape[1], size * _UP)
        centre, reach = 0.5 * least + 0.5 * most, 0.5 * most - 0.5 * least
        middle = centre @ w.T + b
        reach = (
            reach @ np.abs(w).T + own + gamma_factor(w.shape[1] + 8) * size + (before if layer == 0 else 0.0)
        )
        least, most = np.maximum(middle - reach, 0.0), np.maximum(middle + reach, 0.0)
        found.append((own + (before if layer == 0 else 0.0)).reshape(-1) * _UP)
    return np.concatenate(found[:-1]), found[-1]


@dataclass(frozen=True, slots=True, eq=False)
class TermMagnitudes:
    """Sums of absolute values of all terms, over the whole box, from which rounding errors follow.

    Every slope of a relaxation lies in [0, 1] and every intercept is at most the neuron's magnitude. So the
    terms of a dual bound with row weights w and split multipliers b add up to at most
    w @ rows + b @ neurons in absolute value, whatever the sub-domain; the float64 result of any order of
    summation is off by at most `relative` times that (plus `TINY` for products that underflow).
    """

    neurons: Array
    outputs: Array  # (copies * outputs,)
    rows: Array
    relative: float


def term_magnitudes(problem: ChainProblem) -> TermMagnitudes:
    copies, inputs = problem.copies, len(problem.low)
    count = 4 * inputs + 4 * len(problem.offsets) + 32 * len(problem.weights) + 32
    count += 4 * (problem.neurons + copies * len(problem.biases[-1]))
    relative = gamma_factor(count)
    safe = 1.0 + relative  # makes up for the rounding of the magnitudes themselves
    size = np.maximum(np.abs(problem.low), np.abs(problem.high))
    value = np.abs(problem.first) @ size + np.abs(problem.first_bias)
    found = [(value + problem.noise[problem.slices[0]]) * safe + TINY]
    for layer, (w, b) in enumerate(zip(problem.weights, problem.biases, strict=True)):
        # slope * z + intercept, computed bounds included
        value = 2.125 * found[-1].reshape(copies, -1) @ np.abs(w).T + np.abs(b)
        more = problem.noise[problem.slices[layer + 1]] if layer + 1 < len(problem.weights) else 0.0
        found.append((value.reshape(-1) + more) * safe + TINY)
    rows = np.abs(problem.rows) @ found[-1] + np.abs(problem.direct) @ size + np.abs(problem.offsets)
    return TermMagnitudes(np.concatenate(found[:-1]), found[-1], rows * safe + TINY, relative)


def evaluate_chain_rows(problem: ChainProblem, points: Array) -> tuple[Array, list[Array]]:
    """By how much each row is violated, and the values of the neurons layer by layer, in float64."""
    value = points @ problem.first.T + problem.first_bias
    before = [value]
    for w, b in zip(problem.weights, problem.biases, strict=True):
        value = np.maximum(value, 0.0).reshape(-1, w.shape[1]) @ w.T + b
        value = value.reshape(len(points), -1)
        before.append(value)
    violation: Array = value @ problem.rows.T + points @ problem.direct.T - problem.offsets
    return violation, before[:-1]


def violation_gradient(problem: ChainProblem, before: list[Array], shares: Array) -> Array:
    """The gradient at each point of the rows' violations, weighted by its shares (points, rows)."""
    back = shares @ problem.rows
    for w, value in zip(problem.weights[::-1], before[::-1], strict=True):
        back = (back.reshape(-1, len(w)) @ w).reshape(value.shape) * (value > 0.0)
    slopes: Array = back @ problem.first + shares @ problem.direct
    return slopes


def sample_chain_starts(problem: ChainProblem, random: np.random.Generator, count: int) -> Array:
    """Random points, a quarter of them corners."""
    share = random.random((count, len(problem.low)))
    share[: count // 4] = np.rint(share[: count // 4])
    points: Array = problem.low + share * (problem.high - problem.low)
    return points


def descend_chain_violation(
    problem: ChainProblem,
    points: Array,
    random: np.random.Generator,
    turns: int,
    first: float = 0.3,
    enough: float = 0.0,
) -> tuple[Array, Array]:
    """The best points on the way down and their largest violations; ends where all rows hold with room.

    Steps are a random share of the box, the same for all inputs of a point, and get shorter.
    """
    width = problem.high - problem.low
    size = np.abs(problem.offsets) + np.abs(problem.rows).sum(axis=1)
    sharpness = 20.0 / max(float(size.mean()), 1e-300)

    def look(points: Array) -> tuple[Array, Array, tuple[Array, Array, list[Array]]]:
        points = np.where(problem.whole, np.rint(points), points)
        violation, before = evaluate_chain_rows(problem, points)
        return points, violation.max(axis=1), (points, violation, before)

    def move(_: Array, seen: tuple[Array, Array, list[Array]], turn: int) -> Array:
        points, violation, before = seen
        share = np.exp((violation - violation.max(axis=1)[:, None]) * sharpness)
        slopes = violation_gradient(problem, before, share / share.sum(axis=1, keepdims=True))
        length = first * (1.0 - turn / turns) + 0.002
        points = points - length * width * np.sign(slopes) * random.random((len(points), 1))
        return np.minimum(np.maximum(points, problem.low), problem.high)

    return descend_violation(points, look, move, turns, lambda _, worst: bool(worst.min() < -enough))


@dataclass(frozen=True, slots=True, eq=False)
class ReluDomains(BatchRecord):
    """One row per sub-domain: a box, bounds and phases of the neurons, and where the multipliers stand."""

    low: Array  # (domains, inputs)
    high: Array
    lower: Array  # (domains, neurons): bounds before the ReLU, phases included
    upper: Array
    phase: NDArray[np.int8]  # 1: on, -1: off in all wanted points, by a split or by the bounds; 0: undecided
    theta: Array  # slope of the lower line of an unstable neuron, multiplier of a split one
    row_weights: Array  # (domains, rows)
    bent: (
        Array  # (domains, neurons): how much the line above the neuron was in use: so much its bounds matter
    )
    cut: Array  # (domains, inputs): every wanted point satisfies cut . x <= limit
    limit: Array
    fresh: Indices  # the neuron split last, -1 for none
    rounds: Indices  # how often the box was contracted without a split
    node: Indices  # number in the log

    def __len__(self) -> int:
        return len(self.low)


def root_relu_domain(problem: ChainProblem) -> ReluDomains:
    """The whole box. Bounds of neurons follow from intervals."""
    rows = len(problem.offsets)
    low, high = problem.low.copy(), problem.high.copy()
    low[problem.whole] = np.ceil(low[problem.whole])
    high[problem.whole] = np.floor(high[problem.whole])
    return ReluDomains(
        low[None],
        high[None],
        np.full((1, problem.neurons), -np.inf),
        np.full((1, problem.neurons), np.inf),
        np.zeros((1, problem.neurons), dtype=np.int8),
        np.full((1, problem.neurons), 0.5),
        np.full((1, rows), 1.0 / rows),
        np.ones((1, problem.neurons)),
        np.zeros((1, len(low))),
        np.zeros(1),
        np.full(1, -1),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def split_neurons(parents: ReluDomains, neurons: Indices, phase: int) -> ReluDomains:
    """The children of all parents in which their chosen neuron has that phase."""
    each = np.arange(len(parents))
    lower, upper, theta = parents.lower.copy(), parents.upper.copy(), parents.theta.copy()
    phases = parents.phase.copy()
    phases[each, neurons] = phase
    theta[each, neurons] = 0.0
    if phase > 0:
        lower[each, neurons] = 0.0
    else:
        upper[each, neurons] = 0.0
    rounds = np.zeros_like(parents.rounds)
    return replace(parents, lower=lower, upper=upper, phase=phases, theta=theta, fresh=neurons, rounds=rounds)


def fix_stable_phases(domains: ReluDomains) -> None:
    """Give neurons whose bounds have one sign that phase, in place: it holds at all wanted points.

    So they get a multiplier like split ones. Without it bounds that rest on a cut would be forgotten when the
    last undecided neuron is split.
    """
    undecided = domains.phase == 0
    on = undecided & (domains.lower >= 0.0)
    off = undecided & (domains.upper <= 0.0) & ~on
    domains.phase[on] = 1
    domains.phase[off] = -1
    domains.theta[on | off] = 0.0
