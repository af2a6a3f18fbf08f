"""What is certain about a decision process: where a probability is 0 or 1 whatever the numbers are.

The sets of Baier and Katoen, Principles of Model Checking, sections 10.1.1 and 10.6.1, computed level by
level from the goal backwards; every level is one pass over arrays. A state that is found on level n
has rank n.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Markov
from surefoot.solvers.markov.rank_kernel import sweep_ranks

MANY = 500_000  # outcomes: from there on ranks are found in machine code, without turning arrows round
NEVER = -1  # the rank of a state that is on no level


def csr_positions(pointer: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """All positions in the given slices of an array: pointer[i] .. pointer[i + 1] - 1 for each i chosen."""
    starts, counts = pointer[chosen], pointer[chosen + 1] - pointer[chosen]
    ends = np.cumsum(counts)
    if not len(ends):
        return np.zeros(0, dtype=np.int64)
    return np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1], dtype=np.int64)


@dataclass(frozen=True)
class MarkovGraph:
    """A decision process without its numbers, and with its arrows turned round."""

    markov: Markov

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        return self.markov.owners()

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        return self.markov.rows()

    @property
    def is_large(self) -> bool:
        return len(self.markov.targets) >= MANY

    @cached_property
    def _backward(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each state where its incoming choices begin, and these."""
        targets, states = self.markov.targets, self.markov.states
        order = np.argsort(targets, kind="stable")
        pointer = np.zeros(states + 1, dtype=np.int64)
        np.cumsum(np.bincount(targets, minlength=states), out=pointer[1:])
        return pointer, self.rows[order]

    def incoming_choices(self, states: NDArray[np.int64]) -> NDArray[np.int64]:
        """The choices with an outcome in one of these states, sorted, each once."""
        pointer, incoming = self._backward
        return np.unique(incoming[csr_positions(pointer, states)])

    def closed_choices(self, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[choices]: are all outcomes inside?"""
        return _all_rows(inside[self.markov.targets].astype(np.bool_), self.markov.outcomes)

    def can_reach(
        self, goal: NDArray[np.bool_], through: NDArray[np.bool_], allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ranks of the states with some way to the goal, and a choice for each that may lower the rank."""
        if self.is_large and (swept := sweep_ranks(self.markov, goal, through, allowed, must=False)):
            return swept
        rank = np.full(self.markov.states, NEVER, dtype=np.int64)
        step = np.full(self.markov.states, NEVER, dtype=np.int64)
        frontier = np.flatnonzero(goal)
        rank[frontier] = 0
        level = 0
        while len(frontier):
            level += 1
            ways = self.incoming_choices(frontier)
            if allowed is not None:
                ways = ways[allowed[ways]]
            owners = self.owners[ways]
            fresh = (rank[owners] == NEVER) & through[owners]
            frontier, first = np.unique(owners[fresh], return_index=True)
            rank[frontier] = level
            step[frontier] = ways[fresh][first]
        return rank, step

    def must_reach(
        self, goal: NDArray[np.bool_], through: NDArray[np.bool_], allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Ranks of the states where every choice has an outcome of lower rank: the goal is not avoided."""
        if self.is_large and (swept := sweep_ranks(self.markov, goal, through, allowed, must=True)):
            return swept[0]
        seen = np.zeros(len(self.owners), dtype=np.bool_) if allowed is None else ~allowed
        open_choices = np.bincount(self.owners[~seen], minlength=self.markov.states)
        rank = np.full(self.markov.states, NEVER, dtype=np.int64)
        frontier = np.flatnonzero(goal)
        rank[frontier] = 0
        level = 0
        while len(frontier):
            level += 1
            ways = self.incoming_choices(frontier)
            ways = ways[~seen[ways]]
            seen[ways] = True
            touched, counts = np.unique(self.owners[ways], return_counts=True)
            open_choices[touched] -= counts
            done = (open_choices[touched] == 0) & (rank[touched] == NEVER) & through[touched]
            frontier = touched[done]
            rank[frontier] = level
        return rank

    def prob1_exists(
        self, goal: NDArray[np.bool_], through: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ranks of the states where some way to choose reaches the goal almost surely, and its choices."""
        inside = np.ones(self.markov.states, dtype=np.bool_)
        live = np.ones(len(self.markov.outcomes) - 1, dtype=np.bool_)  # choices that stay inside
        while True:
            rank, step = self.can_reach(goal, through & inside, live)
            found = rank != NEVER
            if (found == inside).all():
                return rank, step
            lost, inside = inside & ~found, found
            forced = self.must_reach(lost, inside & ~goal, live)  # no choice avoids the lost ones
            inside &= forced == NEVER
            live &= self.closed_choices(inside)

    def prob1_forall(self, goal: NDArray[np.bool_], through: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The states from which every way to choose reaches the goal almost surely."""
        avoidable = self.must_reach(goal, through) == NEVER
        rank, _ = self.can_reach(avoidable, through & ~goal)
        missed: NDArray[np.bool_] = rank != NEVER
        return ~missed


def _all_rows(flags: NDArray[np.bool_], pointer: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each row, are all its flags set? Rows are not empty."""
    if len(pointer) == 1:
        return np.zeros(0, dtype=np.bool_)
    found: NDArray[np.bool_] = np.logical_and.reduceat(flags, pointer[:-1])
    return found
