"""A slow reader of logs in exact arithmetic, for questions with one hidden layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from surefoot.solve.native.dual.layered import Layered
from surefoot.solve.native.dual.log import Closed, Log, Multipliers, Shrunk, Split

Vector = list[Fraction]
GRID = 2**100  # bounds are rounded outward to its fractions, or denominators would grow without end


@dataclass
class Node:
    low: Vector
    high: Vector
    lower: Vector
    upper: Vector
    phase: list[int]
    fresh: int = -1
    entered: bool = False


class Reader:
    """Follows a log; `accepts` says whether it proves that no point satisfies all rows."""

    def __init__(self, problem: Layered) -> None:
        self.problem = problem
        inputs = len(problem.low)
        self.weights: list[Vector] = []
        self.biases: Vector = []
        self.after: list[Vector] = [[] for _ in problem.offsets]  # coefficients of each row after the ReLU
        self.constants = [Fraction(-float(h)) for h in problem.offsets]
        outputs = problem.weights[1].shape[0]
        for t, index in enumerate(problem.index):
            for w, b in zip(problem.weights[0], problem.biases[0], strict=True):
                row = [Fraction(0)] * inputs
                for i, value in zip(index, w, strict=True):
                    row[i] += Fraction(float(value))
                self.weights.append(row)
                self.biases.append(Fraction(float(b)))
            for r, row_weights in enumerate(problem.rows):
                part = [Fraction(float(g)) for g in row_weights[t * outputs : (t + 1) * outputs]]
                for column in problem.weights[1].T:
                    terms = zip(part, column, strict=True)
                    self.after[r].append(sum((g * Fraction(float(v)) for g, v in terms), Fraction(0)))
                biases = zip(part, problem.biases[1], strict=True)
                self.constants[r] += sum((g * Fraction(float(b)) for g, b in biases), Fraction(0))

    def accepts(self, log: Log) -> bool:
        nodes = {0: self._root()}
        closed: set[int] = set()
        divided: set[int] = set()
        for entry in log.entries:
            node = nodes[entry.node]
            self._enter(node, shrunk_by_split=isinstance(entry, Shrunk) and entry.cut is None)
            match entry:
                case Split():
                    nodes[entry.below], nodes[entry.above] = self._halves(node, entry)
                    divided.add(entry.node)
                case Shrunk():
                    if not self._shrink(node, entry):
                        return False
                case Closed():
                    if not self._empty(node) and not (entry.bound and self._bound(node, entry.bound)[2] > 0):
                        return False
                    closed.add(entry.node)
        return set(nodes) == closed | divided

    def _root(self) -> Node:
        low = [Fraction(float(v)) for v in self.problem.low]
        high = [Fraction(float(v)) for v in self.problem.high]
        for i, whole in enumerate(self.problem.whole):
            if whole:
                low[i], high[i] = Fraction(ceil(low[i])), Fraction(floor(high[i]))
        far = Fraction(10**30)
        count = len(self.weights)
        return Node(low, high, [-far] * count, [far] * count, [0] * count)

    def _enter(self, node: Node, *, shrunk_by_split: bool) -> None:
        if node.entered or shrunk_by_split:
            return
        node.entered = True
        self._intervals(node)

    def _intervals(self, node: Node) -> None:
        for q, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            ends = [(v * lo, v * hi) for v, lo, hi in zip(w, node.low, node.high, strict=True)]
            node.lower[q] = max(node.lower[q], b + sum(min(e) for e in ends))
            node.upper[q] = min(node.upper[q], b + sum(max(e) for e in ends))
            if node.phase[q] > 0:
                node.lower[q] = max(node.lower[q], Fraction(0))
            if node.phase[q] < 0:
                node.upper[q] = min(node.upper[q], Fraction(0))
        self._settle(node)

    def _settle(self, node: Node) -> None:
        node.lower = [Fraction(floor(v * GRID), GRID) for v in node.lower]
        node.upper = [Fraction(ceil(v * GRID), GRID) for v in node.upper]
        for q, phase in enumerate(node.phase):
            if phase == 0 and node.lower[q] >= 0:
                node.phase[q] = 1
            elif phase == 0 and node.upper[q] <= 0:
                node.phase[q] = -1

    def _empty(self, node: Node) -> bool:
        pairs = [*zip(node.low, node.high, strict=True), *zip(node.lower, node.upper, strict=True)]
        return any(a > b for a, b in pairs)

    def _halves(self, node: Node, split: Split) -> tuple[Node, Node]:
        def copy() -> Node:
            parts = (list(v) for v in (node.low, node.high, node.lower, node.upper))
            return Node(*parts, list(node.phase))

        below, above = copy(), copy()
        if split.neuron < 0:
            assert self.problem.whole[split.input]
            below.high[split.input], above.low[split.input] = Fraction(split.value), Fraction(split.value) + 1
            return below, above
        below.phase[split.neuron], above.phase[split.neuron] = -1, 1
        return replace(below, fresh=split.neuron), replace(above, fresh=split.neuron)

    def _bound(self, node: Node, m: Multipliers) -> tuple[Vector, Fraction, Fraction]:
        """Slopes and constant of slopes . x + constant <= 0, and the least value of the left side."""
        slopes, constant = [Fraction(0)] * len(node.low), Fraction(0)
        rows = [Fraction(int(v), 2**24) for v in m.row_weights]
        assert all(v >= 0 for v in rows)
        multipliers = {int(q): Fraction(int(v), 2**24) for q, v in zip(m.split, m.multipliers, strict=True)}
        for weight, value in zip(rows, self.constants, strict=True):
            constant += weight * value
        for q, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            a = sum((weight * self.after[r][q] for r, weight in enumerate(rows)), Fraction(0))
            lower, upper = node.lower[q], node.upper[q]
            if lower >= 0 or upper <= 0:
                line = a if lower >= 0 else Fraction(0)
            elif a >= 0:
                assert 0 <= m.slopes[q] <= 4096
                line = a * Fraction(int(m.slopes[q]), 4096)
            else:
                chord = Fraction(round(upper / (upper - lower) * GRID), GRID)
                line = a * chord
                constant += a * max(-chord * lower, upper - chord * upper)
            if q in multipliers:
                assert node.phase[q] != 0
                assert multipliers[q] >= 0
                line -= node.phase[q] * multipliers[q]
            constant += line * b
            slopes = [s + line * v for s, v in zip(slopes, w, strict=True)]
        ends = zip(slopes, node.low, node.high, strict=True)
        return slopes, constant, constant + sum(min(s * lo, s * hi) for s, lo, hi in ends)

    def _shrink(self, node: Node, entry: Shrunk) -> bool:
        if entry.cut is None:
            phase = node.phase[node.fresh]
            slopes = [-phase * v for v in self.weights[node.fresh]]
            ends = zip(slopes, node.low, node.high, strict=True)
            least = -phase * self.biases[node.fresh] + sum(min(s * a, s * b) for s, a, b in ends)
        else:
            slopes, _, least = self._bound(node, entry.cut)
        for i, s in enumerate(slopes):
            low, high = Fraction(float(entry.low[i])), Fraction(float(entry.high[i]))
            most, fewest = node.high[i], node.low[i]
            if s > 0:
                most = min(most, node.low[i] - least / s)
            elif s < 0:
                fewest = max(fewest, node.high[i] - least / s)
            if self.problem.whole[i]:
                most, fewest = Fraction(floor(most)), Fraction(ceil(fewest))
            if most > high or fewest < low:
                return False
        node.low, node.high = ([Fraction(float(v)) for v in side] for side in (entry.low, entry.high))
        if entry.cut is not None and not self._empty(node):
            self._clip(node, slopes, -least)
            self._settle(node)
            node.entered = False  # bounds on the new box belong to the next entry
        return True

    def _clip(self, node: Node, slopes: Vector, room: Fraction) -> None:
        best = [a if s >= 0 else b for s, a, b in zip(slopes, node.low, node.high, strict=True)]
        for q, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            if node.phase[q] == 0:
                value = b + sum(v * x for v, x in zip(w, best, strict=True))
                gain = [v if s >= 0 else -v for v, s in zip(w, slopes, strict=True)]
                node.upper[q] = min(node.upper[q], value + self._knapsack(node, gain, slopes, room))
                node.lower[q] = max(
                    node.lower[q], value - self._knapsack(node, [-g for g in gain], slopes, room)
                )

    def _knapsack(self, node: Node, gain: Vector, slopes: Vector, room: Fraction) -> Fraction:
        total = Fraction(0)
        items = [
            (g, abs(s), b - a) for g, s, a, b in zip(gain, slopes, node.low, node.high, strict=True) if g > 0
        ]
        for g, cost, width in sorted(
            items, key=lambda item: -item[0] / item[1] if item[1] else -Fraction(10**40)
        ):
            way = width if cost == 0 else min(width, max(room, Fraction(0)) / cost)
            total += g * way
            room -= cost * way
        return total
