"""Who wins a finite game: the environment forces a state, or whoever acts does, whatever the other one does.

In a state with actions one of them is picked; the environment then picks among the transitions that carry it
out, or takes one of its own. Outcomes of positive probability are the environment's. Attractors are computed
level by level from the goal backwards, as in Grädel, Thomas, Wilke: Automata, Logics, and Infinite Games,
chapter 2; every level is a pass over the arrows into the states of the last one. A state of level n is forced
in n steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Markov
from surefoot.solvers.markov.qualitative import NEVER, MarkovGraph, csr_positions

OWN = -1  # the action of a choice that is the environment's
Flags = NDArray[np.bool_]
Ranks = NDArray[np.int64]


@dataclass(frozen=True)
class ActionGame:
    """Choices are grouped by state and action; those of the environment in a state are a group too."""

    markov: Markov
    action: NDArray[np.int64]  # [choices]: a number, or `OWN`

    @cached_property
    def graph(self) -> MarkovGraph:
        return MarkovGraph(self.markov)

    @cached_property
    def _grouped(self) -> tuple[Ranks, Ranks, Ranks]:
        """The group of each choice; the owner and the action of each group."""
        width = int(self.action.max(initial=OWN)) + 2
        keys, place = np.unique(self.graph.owners * width + self.action + 1, return_inverse=True)
        return place.reshape(-1), keys // width, keys % width - 1

    @cached_property
    def group_of_choice(self) -> Ranks:
        return self._grouped[0]

    @cached_property
    def group_owner(self) -> Ranks:
        return self._grouped[1]

    @cached_property
    def group_action(self) -> Ranks:
        return self._grouped[2]

    @cached_property
    def arrow_group(self) -> Ranks:
        """[outcomes]: the group of each arrow."""
        return self.group_of_choice[self.graph.rows]

    @cached_property
    def action_counts(self) -> Ranks:
        """[states]: how many actions are offered."""
        mine = self.group_action != OWN
        return np.bincount(self.group_owner[mine], minlength=self.markov.states)

    @cached_property
    def ended(self) -> Flags:
        """[states]: nothing happens any more."""
        return np.asarray(np.diff(self.markov.choices) == 0)

    def closed_groups(self, inside: Flags) -> Flags:
        """[groups]: do all arrows lead inside?"""
        leaving = np.bincount(self.arrow_group[~inside[self.markov.targets]], minlength=len(self.group_owner))
        return np.asarray(leaving == 0)

    def keeps_inside(self, inside: Flags) -> Flags:
        """[states]: can whoever acts make sure that the next state is inside? Not where nothing happens."""
        return self._states_of_groups(self.closed_groups(inside))

    def _states_of_groups(self, closed: Flags) -> Flags:
        own = self.group_action == OWN
        states, owner = self.markov.states, self.group_owner
        some = np.zeros(states, dtype=np.bool_)
        some[owner[closed & ~own]] = True
        some |= (self.action_counts == 0) & ~self.ended
        some[owner[~closed & own]] = False
        return some

    def force_environment(self, goal: Flags, groups: Flags | None = None) -> Ranks:
        """Ranks of the states from which the environment forces the goal; `NEVER` elsewhere.

        `groups`: actions whose choice is the goal already.
        """
        markov, owner, own = self.markov, self.group_owner, self.group_action == OWN
        rank = np.full(markov.states, NEVER, dtype=np.int64)
        hit = np.zeros(len(owner), dtype=np.bool_)
        open_actions = self.action_counts.copy()
        frontier, level = np.flatnonzero(goal), 0
        rank[frontier] = 0
        if groups is not None:
            hit |= groups
            np.subtract.at(open_actions, owner[groups & ~own], 1)
            more = (open_actions == 0) & (self.action_counts > 0) & ~goal
            rank[more] = 0
            frontier = np.flatnonzero(rank == 0)
        while len(frontier):
            level += 1
            touched = np.unique(self.group_of_choice[self.graph.incoming_choices(frontier)])
            touched = touched[~hit[touched]]
            hit[touched] = True
            mine = touched[~own[touched]]
            np.subtract.at(open_actions, owner[mine], 1)
            lost = np.concatenate([owner[touched[own[touched]]], owner[mine][open_actions[owner[mine]] == 0]])
            frontier = np.unique(lost[rank[lost] == NEVER])
            rank[frontier] = level
        return rank

    def force_action(self, goal: Flags) -> Ranks:
        """Ranks of the states from which whoever acts forces the goal; `NEVER` elsewhere."""
        markov, owner, own = self.markov, self.group_owner, self.group_action == OWN
        rank = np.full(markov.states, NEVER, dtype=np.int64)
        open_arrows = np.bincount(self.arrow_group, minlength=len(owner))
        own_open = np.zeros(markov.states, dtype=np.bool_)
        own_open[owner[own]] = True
        some = (self.action_counts == 0) & ~self.ended
        frontier, level = np.flatnonzero(goal), 0
        rank[frontier] = 0
        pointer, order = self._arrows_by_target
        while len(frontier):
            level += 1
            arrows = order[csr_positions(pointer, frontier)]
            touched, counts = np.unique(self.arrow_group[arrows], return_counts=True)
            open_arrows[touched] -= counts
            done = touched[open_arrows[touched] == 0]
            own_open[owner[done[own[done]]]] = False
            some[owner[done[~own[done]]]] = True
            near = owner[touched]
            won = some[near] & ~own_open[near] & (rank[near] == NEVER)
            frontier = np.unique(near[won])
            rank[frontier] = level
        return rank

    @cached_property
    def _arrows_by_target(self) -> tuple[Ranks, Ranks]:
        targets, states = self.markov.targets, self.markov.states
        pointer = np.zeros(states + 1, dtype=np.int64)
        np.cumsum(np.bincount(targets, minlength=states), out=pointer[1:])
        return pointer, np.argsort(targets, kind="stable")

    def force_again(self, good: Flags, unknown: Flags | None = None, *, hopeful: bool = False) -> Ranks:
        """Ranks of the states from which whoever acts comes to good states again and again (Büchi).

        A run that ends must end in a good state. `unknown`: nothing is known of what happens in these states;
        `hopeful`: it is good. A rank is the distance to the next good state.
        """
        unknown = np.zeros(self.markov.states, dtype=np.bool_) if unknown is None else unknown
        inside = np.ones(self.markov.states, dtype=np.bool_)
        while True:
            again = good & (self.keeps_inside(inside) | self.ended) & ~unknown
            rank = self.force_action(again | unknown if hopeful else again)
            if ((rank != NEVER) == inside).all():
                return rank
            inside = rank != NEVER

    def actions_inside(self, state: int, inside: Flags, groups: Flags | None = None) -> list[int]:
        """The actions of a state all of whose outcomes are inside; not those of `groups`."""
        found = []
        first, last = np.searchsorted(self.group_owner, [state, state + 1])
        for group in range(int(first), int(last)):
            if self.group_action[group] == OWN or (groups is not None and groups[group]):
                continue
            if inside[self.group_targets(group)].all():
                found.append(int(self.group_action[group]))
        return found

    def group_targets(self, group: int) -> Ranks:
        """Where the arrows of a group lead."""
        state = int(self.group_owner[group])
        choices = np.arange(self.markov.choices[state], self.markov.choices[state + 1])
        mine = choices[self.group_of_choice[choices] == group]
        return self.markov.targets[csr_positions(self.markov.outcomes, mine)]
