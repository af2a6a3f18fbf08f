"""Policy iteration in fractions: the value itself, for processes that are not too large.

The equations of a policy are solved part by part (strongly connected components, those that others depend on
first); within a part states are eliminated one after the other, the least connected first. No number is ever
rounded, so a policy that no choice improves is optimal and its values are the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Optimise
from surefoot.solvers.markov.quotient import QuotientProcess

_RationalRow = dict[int, Fraction]


class RationalTimeout(Exception):
    """The time that was allowed is over."""


def optimal_values(
    reduced: QuotientProcess, optimise: Optimise, start: NDArray[np.int64], seconds_left: Callable[[], float]
) -> tuple[list[Fraction], NDArray[np.int64]]:
    """The exact values of the nodes and an optimal policy; under the first one every run must end."""
    rows, constants = _rational_rows(reduced)
    policy = [int(p) for p in start]
    choices = [range(int(a), int(b)) for a, b in zip(reduced.choices[:-1], reduced.choices[1:], strict=True)]
    while True:
        values = _solve_chain([rows[p] for p in policy], [constants[p] for p in policy], seconds_left)
        changed = False
        for node, options in enumerate(choices):
            best = values[node]
            for option in options:
                value = constants[option] + sum((w * values[t] for t, w in rows[option].items()), Fraction(0))
                if value > best if optimise == "max" else value < best:
                    policy[node], best, changed = option, value, True
        if not changed:
            return values, np.array(policy, dtype=np.int64)


def _rational_rows(reduced: QuotientProcess) -> tuple[list[_RationalRow], list[Fraction]]:
    rows: list[_RationalRow] = []
    for first, last in zip(reduced.outcomes[:-1], reduced.outcomes[1:], strict=True):
        row: _RationalRow = {}
        for i in range(int(first), int(last)):
            target = int(reduced.targets[i])
            row[target] = row.get(target, Fraction(0)) + Fraction(reduced.weights[i], reduced.unit)
        rows.append(row)
    return rows, [Fraction(c, reduced.unit * reduced.scale) for c in reduced.constants]


def _solve_chain(
    rows: list[_RationalRow], constants: list[Fraction], seconds_left: Callable[[], float]
) -> list[Fraction]:
    """x = constants + rows x, exactly."""
    values: dict[int, Fraction] = {}
    for part in _tarjan_components(rows):
        if seconds_left() <= 0:
            raise RationalTimeout
        inside = set(part)
        own = {n: {t: w for t, w in rows[n].items() if t in inside} for n in part}
        rest = {
            n: constants[n] + sum((w * values[t] for t, w in rows[n].items() if t not in inside), Fraction(0))
            for n in part
        }
        values.update(_eliminate_states(own, rest, seconds_left))
    return [values[n] for n in range(len(rows))]


def _eliminate_states(
    rows: dict[int, _RationalRow], rest: dict[int, Fraction], seconds_left: Callable[[], float]
) -> dict[int, Fraction]:
    users: dict[int, set[int]] = {n: set() for n in rows}
    for n, row in rows.items():
        for t in row:
            users[t].add(n)
    done: set[int] = set()
    order: list[int] = []
    waiting = [(len(rows[n]) * len(users[n]), n) for n in rows]
    heapify(waiting)
    while waiting:
        if seconds_left() <= 0:
            raise RationalTimeout
        connected, node = heappop(waiting)
        if node in done:
            continue
        if (now := len(rows[node]) * len(users[node])) > connected:
            heappush(waiting, (now, node))
            continue
        done.add(node)
        order.append(node)
        row = rows[node]
        loop = row.pop(node, Fraction(0))
        users[node].discard(node)
        if loop:
            share = 1 / (1 - loop)
            for t in row:
                row[t] *= share
            rest[node] *= share
        for user in users[node]:
            factor = rows[user].pop(node)
            rest[user] += factor * rest[node]
            for t, w in row.items():
                rows[user][t] = rows[user].get(t, Fraction(0)) + factor * w
                users[t].add(user)
        for t in row:
            users[t].discard(node)
    values: dict[int, Fraction] = {}
    for node in reversed(order):
        values[node] = rest[node] + sum((w * values[t] for t, w in rows[node].items()), Fraction(0))
    return values


def _tarjan_components(rows: list[_RationalRow]) -> list[list[int]]:
    """Strongly connected components, each after those that it leads to (Tarjan 1972, without recursion)."""
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    waiting: set[int] = set()
    parts: list[list[int]] = []
    for root in range(len(rows)):
        if root in index:
            continue
        index[root] = lowest[root] = len(index)
        stack.append(root)
        waiting.add(root)
        work = [(root, iter(rows[root]))]
        while work:
            node, arrows = work[-1]
            for target in arrows:
                if target not in index:
                    index[target] = lowest[target] = len(index)
                    stack.append(target)
                    waiting.add(target)
                    work.append((target, iter(rows[target])))
                    break
                if target in waiting:
                    lowest[node] = min(lowest[node], index[target])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == index[node]:
                    part = []
                    while True:
                        part.append(stack.pop())
                        waiting.discard(part[-1])
                        if part[-1] == node:
                            break
                    parts.append(part)
    return parts
