"""The fates of states (`run_fate.py`) in compiled simulation: looked at in layers, marked in the nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from surefoot.explore.emit.state_packing import PackedStates, Packing
from surefoot.explore.llvm.kernel_table import GROW_FOLLOWING, KernelField
from surefoot.simulate.chain_memory import SimulatedChain
from surefoot.simulate.chain_nodes import NODE_HOPE, NODE_LOST, NODE_OPEN, NODE_SURE, UNKNOWN, NodeField
from surefoot.simulate.following_states import ASK_INTERPRETER, NOT_KNOWN, REACHED_RIGHT
from surefoot.simulate.interpreted_simulation import InterpretedSimulation
from surefoot.simulate.path_property import PathProperty
from surefoot.simulate.random_words import LANE_SIZE, LaneField
from surefoot.simulate.run_fate import (
    HOPE,
    LOST,
    MOST_FOLLOWING,
    OPEN,
    REACHED,
    SURE,
    Fate,
    Following,
    LookCredit,
    can_be_sure,
    explore_fate,
)
from surefoot.work.machine.jit import Machine

_AT_ONCE = 1024  # states
_LOOK_PRICE = 1024
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
        self._credit = LookCredit(_LOOK_PRICE)
        hope = NODE_HOPE if can_be_sure(interpreted.watched) else NODE_OPEN  # which is all that is asked then
        self._flags = {OPEN: NODE_OPEN, LOST: NODE_LOST, SURE: NODE_SURE, HOPE: hope}
        self._any = NODE_OPEN | NODE_LOST | NODE_SURE | NODE_HOPE
        self._lanes = np.zeros((_AT_ONCE, LANE_SIZE), dtype=np.int64)  # states to look at
        self._waiting, self._firsts, self._lasts = (np.zeros(_AT_ONCE, dtype=np.int64) for _ in range(3))
        chain.memory.put_array(KernelField.FOLLOWING_FIRST, self._firsts)
        chain.memory.put_array(KernelField.FOLLOWING_LAST, self._lasts)
        self._make_room(_FIRST_ROOM)

    def look(self, checking: NDArray[np.int64]) -> None:
        """Find out where these lanes are going, and mark what is known of their states."""
        lanes = self._chain.memory.array(KernelField.LANES).reshape(-1, LANE_SIZE)
        states, steps = lanes[checking, LaneField.STATE], lanes[checking, LaneField.STEPS]
        lanes[checking, LaneField.LOOK] = 2 * steps
        cut_off = steps >= self._interpreted.max_steps
        self._credit.steps += int(steps.sum())
        for state in dict.fromkeys(states[cut_off].tolist()):
            self._look_from(state, lost_only=not can_be_sure(self._watched))
        for state in dict.fromkeys(states[~cut_off].tolist()):
            if self._credit.is_spent():
                break
            if self._recall(state) is None:
                self._look_from(state, lost_only=True)

    def _look_from(self, state: int, lost_only: bool) -> None:
        others = {KernelField.LANES: self._lanes, KernelField.WAITING: self._waiting}
        try:
            with self._chain.use_lanes(others):
                fate = explore_fate(state, self._follow, self._recall, lost_only)
        except _NotTold:
            row = PackedStates(self._packing, self._chain.memory.states()[[state]]).rows()[0]
            fate = Fate(self._interpreted.find_fate(row, lost_only), {state}, MOST_FOLLOWING)
        self._credit.pay(fate.work)
        self._chain.mark(fate.sharing, self._flags[fate.kind])

    def _recall(self, state: int) -> int | None:
        place = self._chain.memory.array(KernelField.NODE_OF)[state]
        flags = int(self._chain.nodes[place + int(NodeField.FLAGS)]) if place else 0
        if not flags & self._any:
            return None
        return next(kind for kind in (OPEN, LOST, SURE, HOPE) if flags & self._flags[kind])

    def _follow(self, states: list[int]) -> list[Following[int]]:
        found: list[Following[int]] = []
        for first in range(0, len(states), _AT_ONCE):
            found += self._follow_some(states[first : first + _AT_ONCE])
        return found

    def _follow_some(self, states: list[int]) -> list[Following[int]]:
        memory, chain, count = self._chain.memory, self._chain, len(states)
        lanes = self._lanes[:count]
        lanes[:, LaneField.STATE], lanes[:, LaneField.ACTIVE] = states, 1
        lanes[:, LaneField.DECISION] = UNKNOWN
        memory[KernelField.LANE_COUNT], memory[KernelField.FOLLOWING_COUNT] = count, 0
        while True:
            status = memory.call(self._kernel, "follow")
            if status == GROW_FOLLOWING:
                self._make_room(2 * memory[KernelField.FOLLOWING_ROOM])
            elif status:
                if not chain.grow(status, 1 << 62, 1 << 62):  # nothing is forgotten meanwhile
                    raise AssertionError(f"the kernel ended with status {status}")
            elif memory[KernelField.WAITING_COUNT]:
                self._decide(memory[KernelField.WAITING_COUNT])
            else:
                break
        firsts, lasts = self._firsts[:count].tolist(), self._lasts[:count].tolist()
        if ASK_INTERPRETER in lasts:
            raise _NotTold
        following = memory.array(KernelField.FOLLOWING)
        known: dict[int, Following[int]] = {NOT_KNOWN: None, REACHED_RIGHT: REACHED}
        return [
            known[last] if last < 0 else following[first:last].tolist()
            for first, last in zip(firsts, lasts, strict=True)
        ]

    def _make_room(self, size: int) -> None:
        memory = self._chain.memory
        larger = np.zeros(size, dtype=np.int64)
        if old := memory[KernelField.FOLLOWING_COUNT]:
            larger[:old] = memory.array(KernelField.FOLLOWING)[:old]
        memory.put_array(KernelField.FOLLOWING, larger)
        memory[KernelField.FOLLOWING_ROOM] = size
