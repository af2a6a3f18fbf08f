"""The policy that knows nothing: every choice that is left open is equally likely."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.explore.explored_model import ExploredModel
from surefoot.explore.number_table import NumberTable


def resolve_uniformly(explored: ExploredModel) -> ExploredModel:
    """The chain in which each state takes each of its choices with the same probability."""
    markov = explored.markov
    counts = np.diff(markov.choices)
    numbers = NumberTable(markov.values)
    weights = _divide_weights(markov.weights, np.repeat(counts, counts)[markov.rows()], numbers)
    has_choices = counts > 0
    choices = np.concatenate([[0], np.cumsum(has_choices)]).astype(np.int64)
    ends = markov.outcomes[markov.choices[1:][has_choices]]
    transitions: dict[tuple[int, ...], int] = {}
    taken = [
        transitions.setdefault(tuple(explored.transition[a:b].tolist()), len(transitions))
        for a, b in zip(
            markov.choices[:-1][has_choices].tolist(),
            markov.choices[1:][has_choices].tolist(),
            strict=True,
        )
    ]
    several = tuple(tuple(t for i in key for t in explored.transitions[i]) for key in transitions)
    return replace(
        explored,
        markov=replace(
            markov,
            choices=choices,
            outcomes=np.concatenate([[0], ends]).astype(np.int64),
            weights=weights,
            values=numbers.values(),
        ),
        labels=np.full(len(taken), -1, dtype=np.int32),
        transition=np.array(taken, dtype=np.int32),
        transitions=several,
        chosen=np.zeros(len(taken), dtype=np.int32),
    )


def _divide_weights(
    weights: NDArray[np.int32], counts: NDArray[np.int64], numbers: NumberTable
) -> NDArray[np.int32]:
    """Each weight over the number of choices that it shares its state with."""
    pairs, where = np.unique(np.stack([weights, counts]), axis=1, return_inverse=True)
    shares = [numbers.index(Fraction(numbers.value(int(w)), int(count))) for w, count in pairs.T]
    return np.array(shares, dtype=np.int32)[where.ravel()] if len(shares) else weights
