"""Exact probabilities and expected rewards over everything that policy and environment leave open.

Where something is 0, 1 or infinite is found on the graph; the rest by policy iteration in fractions. A policy
that is its own best improvement has the optimal value: its value bounds every other's, and it is one itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from tests.laws.oracle.graph import Graph

Row = tuple[Fraction, dict[int, Fraction]]  # expected reward, probabilities of the next nodes
LARGEST_EXACT = 90


@dataclass
class Process:
    """The choices of every node; none: the run has ended and stays where it is."""

    rows: dict[int, list[Row]]
    exact: bool = True

    def successors(self, node: int) -> set[int]:
        return {m for _, row in self.rows[node] for m in row}


def process_of(graph: Graph, reward: Callable[[int, dict[str, Fraction]], Fraction]) -> Process:
    """`reward(node, rewards of the outcome)` is what a step pays."""
    rows: dict[int, list[Row]] = {}
    for n, node in enumerate(graph.nodes):
        rows[n] = []
        for choice in node.choices:
            row: dict[int, Fraction] = {}
            paid = Fraction(0)
            for p, m, earned in choice:
                row[m] = row.get(m, Fraction(0)) + p
                paid += p * reward(n, earned)
            if (paid, row) not in rows[n]:
                rows[n].append((paid, row))
    return Process(rows)


# Sets of nodes


def attract(process: Process, goal: set[int], inside: set[int]) -> dict[int, int]:
    """For each node of `inside` that can reach the goal: a choice with an outcome that is nearer to it."""
    found: dict[int, int] = {}
    reached = set(goal)
    while True:
        fresh = {}
        for n in inside - reached:
            for i, (_, row) in enumerate(process.rows[n]):
                if any(m in reached for m in row):
                    fresh[n] = i
                    break
        if not fresh:
            return found
        found |= fresh
        reached |= fresh.keys()


def surely(process: Process, goal: set[int]) -> set[int]:
    """Nodes from which some way to choose reaches the goal with probability 1."""
    left = set(process.rows) | goal
    while True:
        allowed = Process({n: [r for r in process.rows[n] if r[1].keys() <= left] for n in left})
        kept = attract(allowed, goal, left).keys() | goal
        if kept == left:
            return left
        left = set(kept)


# Values


def reach(process: Process, goal: set[int], through: set[int], *, greatest: bool) -> dict[int, Fraction]:
    """The probability to come to the goal along nodes of `through`."""
    inside = {n for n in through - goal if process.rows[n]}
    zero = set(process.rows) - goal - inside
    if greatest:
        policy = attract(process, goal, inside)
        unknown = set(policy)
    else:
        lost = avoidable_within(process, goal, inside)
        unknown = inside - lost
        policy = dict.fromkeys(unknown, 0)
    zero |= inside - unknown
    fixed = dict.fromkeys(zero, Fraction(0)) | dict.fromkeys(goal, Fraction(1))
    return iterate(process, unknown, policy, fixed, greatest=greatest, paying=False)


def avoidable_within(process: Process, goal: set[int], inside: set[int]) -> set[int]:
    """Nodes from which some way to choose never comes to the goal along nodes of `inside`."""
    left = set(inside)
    while True:
        out = {
            n
            for n in left
            if all(
                any(m in goal or (m in inside and m not in left) for m in row) for _, row in process.rows[n]
            )
        }
        if not out:
            return left
        left -= out


def expect(process: Process, goal: set[int], *, greatest: bool) -> dict[int, Fraction | None]:
    """The expected reward until the goal; None: infinite, because the goal may be (greatest) or is missed."""
    everything = set(process.rows)
    if greatest:
        inside = {n for n in everything - goal if process.rows[n]}
        missed = avoidable_within(process, goal, inside) | (everything - goal - inside)
        missed |= attract(
            Process({n: process.rows[n] for n in everything}), missed, everything - goal - missed
        ).keys()
        finite = everything - missed - goal
        policy = dict.fromkeys(finite, 0)
        limited = process
    else:
        sure = surely(process, goal)
        finite = sure - goal
        limited = Process({n: [r for r in process.rows[n] if r[1].keys() <= sure] for n in sure})
        limited.rows |= {n: [] for n in everything - sure}
        policy = attract(limited, goal, finite)
    fixed = dict.fromkeys(goal, Fraction(0)) | dict.fromkeys(everything - finite - goal, Fraction(0))
    values = iterate(limited, finite, policy, fixed, greatest=greatest, paying=True)
    process.exact &= limited.exact
    return {n: values[n] if n in finite or n in goal else None for n in everything}


def iterate(
    process: Process,
    unknown: set[int],
    policy: dict[int, int],
    fixed: dict[int, Fraction],
    *,
    greatest: bool,
    paying: bool,
) -> dict[int, Fraction]:
    """Policy iteration; a choice is replaced only by one that is better by itself."""
    while True:
        values = fixed | evaluate(process, unknown, policy, fixed, paying=paying)
        changed = False
        for n in unknown:
            best = values[n]
            for i, (paid, row) in enumerate(process.rows[n]):
                offered = sum((p * values[m] for m, p in row.items()), paid if paying else Fraction(0))
                gain = offered - best if greatest else best - offered
                if gain > (0 if process.exact else Fraction(1, 10**11)):
                    best, policy[n], changed = offered, i, True
        if not changed:
            return values


def evaluate(
    process: Process, unknown: set[int], policy: dict[int, int], fixed: dict[int, Fraction], *, paying: bool
) -> dict[int, Fraction]:
    """The value of a policy under which one surely leaves the unknown nodes."""
    edges = {n: {m for m in process.rows[n][policy[n]][1] if m in unknown} for n in unknown}
    values = dict(fixed)
    for part in strong_parts(edges):
        order = sorted(part)
        place = {n: i for i, n in enumerate(order)}
        matrix, right = [], []
        for n in order:
            paid, row = process.rows[n][policy[n]]
            line = {place[m]: -p for m, p in row.items() if m in place}
            line[place[n]] = line.get(place[n], Fraction(0)) + 1
            matrix.append(line)
            known = sum((p * values[m] for m, p in row.items() if m not in place), Fraction(0))
            right.append(known + (paid if paying else 0))
        if len(order) <= LARGEST_EXACT:
            solved = eliminate(matrix, right)
        else:
            process.exact = False
            dense = np.zeros((len(order), len(order)))
            for i, line in enumerate(matrix):
                for j, x in line.items():
                    dense[i, j] = float(x)
            solved = [Fraction(float(x)) for x in np.linalg.solve(dense, np.array([float(x) for x in right]))]
        values |= dict(zip(order, solved, strict=True))
    return {n: values[n] for n in unknown}


def eliminate(matrix: list[dict[int, Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss and Jordan, sparse, in fractions."""
    size = len(matrix)
    for column in range(size):
        pivot = min((i for i in range(column, size) if matrix[i].get(column)), key=lambda i: len(matrix[i]))
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        right[column], right[pivot] = right[pivot], right[column]
        lead = matrix[column][column]
        line = {j: x / lead for j, x in matrix[column].items()}
        matrix[column], right[column] = line, right[column] / lead
        for i in range(size):
            factor = matrix[i].get(column)
            if i != column and factor:
                other = matrix[i]
                for j, x in line.items():
                    other[j] = other.get(j, Fraction(0)) - factor * x
                    if other[j] == 0:
                        del other[j]
                right[i] -= factor * right[column]
    return right


def strong_parts(edges: dict[int, set[int]]) -> list[set[int]]:
    """Strongly connected components, those that are led to first."""
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    waiting: set[int] = set()
    parts: list[set[int]] = []
    for root in edges:
        if root in number:
            continue
        work = [(root, iter(edges[root]))]
        number[root] = lowest[root] = len(number)
        stack.append(root)
        waiting.add(root)
        while work:
            node, rest = work[-1]
            for m in rest:
                if m not in number:
                    number[m] = lowest[m] = len(number)
                    stack.append(m)
                    waiting.add(m)
                    work.append((m, iter(edges[m])))
                    break
                if m in waiting:
                    lowest[node] = min(lowest[node], number[m])
            else:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    part = set()
                    while node not in part:
                        m = stack.pop()
                        waiting.discard(m)
                        part.add(m)
                    parts.append(part)
    return parts
