"""The fates of states (`run_fate.py`) in compiled simulation: looked at in layers, marked in the nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from surefoot.explore.emit.state_packing import PackedStates, Packing
from surefoot.explore.llvm.kernel_table import GROW_FOLLOWING, KernelField
from surefoot.simulate.chain_memory import SimulatedChain
from surefoot.simulate.chain_nodes import NODE_LOST, NODE_OPEN, NODE_SURE
from surefoot.simulate.following_states import ASK_INTERPRETER, NOT_KNOWN, REACHED_RIGHT
from surefoot.simulate.interpreted_simulation import InterpretedSimulation
from surefoot.simulate.path_property import PathProperty
from surefoot.simulate.random_words import LANE_SIZE, LaneField
from surefoot.simulate.run_fate import (
    LOST,
    MOST_FOLLOWING,
    REACHED,
    SURE,
    Following,
    can_be_sure,
    explore_fate,
)
from surefoot.work.machine.jit import Machine

_AT_ONCE = 1024  # states
_FIRST_ROOM = 1 << 12


class _NotTold(Exception):
    """Machine code cannot tell; the interpreter can."""


class CompiledFates:
    def __init__(
        self,
        chain: SimulatedChain,
        kernel: Machine,
        interpreted: InterpretedSimulation,
        packing: Packing,
        decide: Callable[[int], None],
    ) -> None:
        self._chain, self._kernel, self._interpreted = chain, kernel, interpreted
        self._packing, self._decide = packing, decide
        self._watched: PathProperty = interpreted.watched
        self._make_room(_FIRST_ROOM)

    def look(self, checking: NDArray[np.int64]) -> None:
        """Find out where these lanes are going, and mark what is known of their states."""
        lanes = self._chain.memory.array(KernelField.LANES).reshape(-1, LANE_SIZE)
        states, steps = lanes[checking, LaneField.STATE], lanes[checking, LaneField.STEPS]
        lanes[checking, LaneField.LOOK] = 2 * steps
        furthest: dict[int, int] = {}
        for state, made in zip(states.tolist(), steps.tolist(), strict=True):
            furthest[state] = max(made, furthest.get(state, 0))
        for state, made in furthest.items():
            self._look_from(state, made)

    def _look_from(self, state: int, steps: int) -> None:
        cut_off = steps >= self._interpreted.max_steps
        most = MOST_FOLLOWING if cut_off else min(steps, MOST_FOLLOWING)
        try:
            fate, sharing = explore_fate(state, self._follow, most, not cut_off)
        except _NotTold:
            row = PackedStates(self._packing, self._chain.memory.states()[[state]]).rows()[0]
            fate, sharing = self._interpreted.find_fate(row, most, not cut_off), {state}
        if fate == LOST:
            self._chain.mark(sharing, NODE_LOST)
        elif cut_off:
            sure = fate == SURE and can_be_sure(self._watched)
            self._chain.mark([state], NODE_SURE if sure else NODE_OPEN)

    def _follow(self, states: list[int]) -> list[Following[int]]:
        found: list[Following[int]] = []
        for first in range(0, len(states), _AT_ONCE):
            found += self._follow_some(states[first : first + _AT_ONCE])
        return found

    def _follow_some(self, states: list[int]) -> list[Following[int]]:
        memory, chain = self._chain.memory, self._chain
        memory[KernelField.FOLLOWING_COUNT] = 0
        firsts, lasts = (np.zeros(len(states), dtype=np.int64) for _ in range(2))
        memory.put_array(KernelField.FOLLOWING_FIRST, firsts)
        memory.put_array(KernelField.FOLLOWING_LAST, lasts)
        with chain.looking_at(states):
            while True:
                status = memory.call(self._kernel, "follow")
                if status == GROW_FOLLOWING:
                    self._make_room(2 * memory[KernelField.FOLLOWING_ROOM])
                elif status:
                    if not chain.grow(status, 1 << 62, 1 << 62):  # nothing is forgotten meanwhile
                        raise AssertionError(f"the kernel ended with status {status}")
                elif len(waiting := chain.waiting()):
                    self._decide(len(waiting))
                else:
                    break
        if np.any(lasts == ASK_INTERPRETER):
            raise _NotTold
        following = memory.array(KernelField.FOLLOWING)
        known: dict[int, Following[int]] = {NOT_KNOWN: None, REACHED_RIGHT: REACHED}
        return [
            known[last] if last < 0 else following[first:last].tolist()
            for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)
        ]

    def _make_room(self, size: int) -> None:
        memory = self._chain.memory
        larger = np.zeros(size, dtype=np.int64)
        if old := memory[KernelField.FOLLOWING_COUNT]:
            larger[:old] = memory.array(KernelField.FOLLOWING)[:old]
        memory.put_array(KernelField.FOLLOWING, larger)
        memory[KernelField.FOLLOWING_ROOM] = size
