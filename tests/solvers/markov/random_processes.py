"""Random small decision processes, and their values by looking at every memoryless way to choose."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np

from surefoot.query.markov import Markov

Rows = list[list[list[tuple[Fraction, int, int]]]]  # of states: choices: (probability, target, reward)


def random_rows(seed: int) -> tuple[Rows, int]:
    """States with 0 to 3 choices; many self-loops and zero rewards, so that end components are common."""
    draw = Random(seed)
    states = draw.randint(2, 6)
    chain = draw.random() < 0.25
    rows: Rows = []
    for state in range(states):
        choices = []
        for _ in range(draw.choice((0, 1)) if chain else draw.choice((0, 1, 1, 2, 2, 3))):
            parts = draw.choice((1, 1, 2, 3))
            total = [draw.randint(1, 9) for _ in range(parts)]
            targets = [state if draw.random() < 0.2 else draw.randrange(states) for _ in range(parts)]
            paid = [draw.choice((0, 0, 0, 1, 3)) for _ in range(parts)]
            choices.append(
                [(Fraction(n, sum(total)), t, r) for n, t, r in zip(total, targets, paid, strict=True)]
            )
        rows.append(choices)
    return rows, draw.randrange(1, 2**states)


def process(rows: Rows, initial: list[int] | None = None) -> Markov:
    values: dict[Fraction, int] = {}
    choices, outcomes, targets, weights, rewards = [0], [0], [], [], []
    for state in rows:
        for choice in state:
            for probability, target, reward in choice:
                targets.append(target)
                weights.append(values.setdefault(probability, len(values)))
                rewards.append(values.setdefault(Fraction(reward), len(values)))
            outcomes.append(len(targets))
        choices.append(len(outcomes) - 1)
    return Markov(
        np.array(choices, dtype=np.int64),
        np.array(outcomes, dtype=np.int64),
        np.array(targets, dtype=np.int64),
        np.array(weights, dtype=np.int32),
        tuple(values),
        np.array(list(range(len(rows))) if initial is None else initial, dtype=np.int64),
        {"cost": np.array(rewards, dtype=np.int32)},
        {},
        np.zeros(len(rows), dtype=np.bool_),
    )


def schedulers(rows: Rows) -> Iterator[list[list[tuple[Fraction, int, int]] | None]]:
    for picks in product(*(range(max(len(choices), 1)) for choices in rows)):
        yield [c[p] if c else None for c, p in zip(rows, picks, strict=True)]


def reach_of_chain(chain: list, left: list[bool], right: list[bool]) -> list[Fraction]:
    count = len(chain)
    alive = {s for s in range(count) if right[s]}
    while True:
        more = {
            s
            for s in range(count)
            if s not in alive and left[s] and chain[s] and any(t in alive for _, t, _ in chain[s])
        }
        if not more:
            break
        alive |= more
    inner = [s for s in sorted(alive) if not right[s]]
    matrix = [[Fraction(int(s == t)) for t in inner] for s in inner]
    vector = [Fraction(0) for _ in inner]
    place = {s: i for i, s in enumerate(inner)}
    for s in inner:
        for p, t, _ in chain[s]:
            if right[t]:
                vector[place[s]] += p
            elif t in place:
                matrix[place[s]][place[t]] -= p
    solution = solved(matrix, vector)
    return [
        Fraction(1) if right[s] else solution[place[s]] if s in place else Fraction(0) for s in range(count)
    ]


def cost_of_chain(chain: list, goal: list[bool]) -> list[Fraction | None]:
    """None: infinite."""
    count = len(chain)
    sure = [p == 1 for p in reach_of_chain(chain, [True] * count, goal)]
    inner = [s for s in range(count) if sure[s] and not goal[s]]
    place = {s: i for i, s in enumerate(inner)}
    matrix = [[Fraction(int(s == t)) for t in inner] for s in inner]
    vector = [sum((p * r for p, _, r in chain[s]), Fraction(0)) for s in inner]
    for s in inner:
        for p, t, _ in chain[s]:
            if t in place:
                matrix[place[s]][place[t]] -= p
    solution = solved(matrix, vector)
    return [Fraction(0) if goal[s] else solution[place[s]] if s in place else None for s in range(count)]


def solved(matrix: list[list[Fraction]], vector: list[Fraction]) -> list[Fraction]:
    size = len(vector)
    rows = [[*row, value] for row, value in zip(matrix, vector, strict=True)]
    for i in range(size):
        pivot = next(j for j in range(i, size) if rows[j][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(size):
            if j != i and rows[j][i] != 0:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def stretched(rows: Rows, draw: Random, free: int | None = None) -> Rows:
    """The same process with single steps in between, some of them shared, and ways that end in a loop.

    `free`: what a step in between may cost; 0 leaves the values of the first states as they are.
    """
    longer: Rows = [[list(choice) for choice in choices] for choices in rows]
    if free is None:
        free = 0 if draw.random() < 0.6 else 1
    heads: dict[int, list[int]] = {}

    def way(target: int) -> int:
        """A state that leads to this one by steps without a choice."""
        if target in heads and draw.random() < 0.5:
            return draw.choice(heads[target])
        for _ in range(draw.randint(1, 4)):
            longer.append([[(Fraction(1), target, draw.choice((0, free)))]])
            target = len(longer) - 1
            heads.setdefault(target, []).append(target)
        return target

    for choices in longer[: len(rows)]:
        for choice in choices:
            for i, (probability, target, reward) in enumerate(choice):
                if draw.random() < 0.6:
                    choice[i] = (probability, way(target), reward)
        if not choices and draw.random() < 0.5:
            first = len(longer)
            loop = draw.randint(2, 5)
            longer += [[[(Fraction(1), first + (i + 1) % loop, 0)]] for i in range(loop)]
            choices.append([(Fraction(1), first, 0)])
    return longer
