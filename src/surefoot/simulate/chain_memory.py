"""The arrays behind compiled simulation: the table of states, the nodes, and the runs under way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.explore.emit.model import ModelEmitter, constant_reward
from surefoot.explore.emit.state_packing import CompileObjection
from surefoot.explore.llvm.kernel_memory import KernelMemory
from surefoot.explore.llvm.kernel_table import GROW_NODES, GROW_STATES, KernelField
from surefoot.problem.property import STEPS
from surefoot.simulate.chain_nodes import (
    NO_REWARD,
    OF_OUTCOMES,
    OF_STATE,
    PER_DECISION,
    PER_STEP,
    UNKNOWN,
    NodeField,
)
from surefoot.simulate.draw import word_thresholds
from surefoot.simulate.path_property import DECISIONS, PathProperty
from surefoot.simulate.random_words import LANE_SIZE, LaneField
from surefoot.simulate.run_fate import can_settle
from surefoot.simulate.simulation_kernel import FOREVER
from surefoot.term.term import Const
from surefoot.work.machine.jit import Machine

_FIRST_NODES = 1 << 16
_FIRST_LOOK = 1024  # steps after which somebody looks where a run is going; then at twice as many, and so on


class SimulatedChain:
    """What is known of the states that runs have met. Where it becomes too large it is forgotten."""

    def __init__(
        self, memory: KernelMemory, model: ModelEmitter, kernel: Machine, starts: NDArray[np.uint64]
    ) -> None:
        self.memory, self.kernel, self._starts = memory, kernel, starts
        self._words = starts.shape[1]
        limits = self._thresholds(model)
        memory.put_array(KernelField.NODES, np.zeros(len(limits) + _FIRST_NODES, dtype=np.int64))
        self.nodes[: len(limits)] = limits
        memory[KernelField.NODE_COUNT] = self._first = len(limits)
        memory[KernelField.NODE_ROOM] = len(self.nodes)
        memory.put_array(KernelField.LABEL_BYTES, np.zeros(2, dtype=np.uint8))
        self._forgotten_at = (-1, -1, -1)
        self._seed_states(starts)

    @property
    def nodes(self) -> NDArray[np.int64]:
        return self.memory.array(KernelField.NODES)

    def _thresholds(self, model: ModelEmitter) -> NDArray[np.int64]:
        """Those of edges with constant probabilities, one after the other from place 1 on."""
        found, places, certain = [0], [], []
        for n in model.edges:
            terms = [o.probability for o in n.edge.outcomes]
            shares = [Fraction(t.value) for t in terms if isinstance(t, Const)]
            if len(shares) < len(terms):
                places.append(0)
                certain.append(0)
                continue
            limits, last = word_thresholds(shares)
            places.append(len(found))
            certain.append(last)
            found += limits
        self.memory.put_list(KernelField.THRESHOLD_OF, places)
        self.memory.put_list(KernelField.CERTAIN_OF, certain)
        return np.array(found, dtype=np.uint64).view(np.int64)

    def _seed_states(self, packed: NDArray[np.uint64]) -> None:
        """Begin with these states, each given once."""
        memory = self.memory
        memory[KernelField.STATE_COUNT] = 0
        memory.start(packed, self.kernel)
        memory.put_array(KernelField.NODE_OF, np.zeros(memory[KernelField.STATE_ROOM], dtype=np.int64))
        memory.put_array(KernelField.START_STATES, self._numbers(packed, self._starts))

    def _numbers(self, among: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
        known = {row.tobytes(): i for i, row in enumerate(among)}
        return np.array([known[row.tobytes()] for row in wanted], dtype=np.int64)

    def watch(self, watched: PathProperty, max_steps: int, scale: int, model: ModelEmitter) -> None:
        """By what runs are judged."""
        memory = self.memory
        high = FOREVER if watched.high is None else watched.high
        memory[KernelField.LOW_STEP], memory[KernelField.HIGH_STEP] = watched.low or 0, high
        memory[KernelField.MAX_STEPS], memory[KernelField.STEP_LIMIT] = max_steps, min(high, max_steps)
        memory[KernelField.FIRST_LOOK] = _FIRST_LOOK if can_settle(watched) else FOREVER
        memory[KernelField.START_COUNT] = len(self._starts)
        memory[KernelField.REWARD_SCALE] = scale
        match watched.reward:
            case None:
                kind = NO_REWARD
            case str() if model.rewards:
                kind = OF_OUTCOMES
            case str() as name:
                kind = {STEPS: PER_STEP, DECISIONS: PER_DECISION}[name]
            case _:
                kind = OF_STATE
        memory[KernelField.REWARD_KIND] = kind
        units = []
        for n in model.edges:
            for outcome in n.edge.outcomes:
                amount = constant_reward(outcome, model.rewards[0]) if model.rewards else Fraction(0)
                exact = (amount or Fraction(0)) * scale
                if exact.denominator != 1 or abs(exact) >= 1 << 62:
                    raise CompileObjection("a reward is not a multiple of a moderate fraction")
                units.append(int(exact))
        memory.put_list(KernelField.REWARD_UNITS, units)

    def lanes(self, count: int) -> NDArray[np.int64]:
        """Room for so many runs at a time, none of them under way."""
        self.memory.put_array(KernelField.LANES, np.zeros(count * LANE_SIZE, dtype=np.int64))
        self.memory.put_array(KernelField.WAITING, np.zeros(count, dtype=np.int64))
        self.memory.put_array(KernelField.CHECKING, np.zeros(count, dtype=np.int64))
        self.memory[KernelField.LANE_COUNT] = count
        return self.memory.array(KernelField.LANES).reshape(count, LANE_SIZE)

    def waiting(self) -> NDArray[np.int64]:
        waiting: NDArray[np.int64] = self.memory.array(KernelField.WAITING)[
            : self.memory[KernelField.WAITING_COUNT]
        ]
        return waiting

    def checking(self) -> NDArray[np.int64]:
        count = self.memory[KernelField.CHECKING_COUNT]
        checking: NDArray[np.int64] = self.memory.array(KernelField.CHECKING)[:count]
        return checking

    @contextmanager
    def use_lanes(self, others: dict[KernelField, NDArray[np.int64]]) -> Iterator[None]:
        """Other lanes for a while, which are not the runs under way."""
        memory, count = self.memory, self.memory[KernelField.LANE_COUNT]
        kept = {field: memory.array(field) for field in others}
        for field, values in others.items():
            memory.put_array(field, values)
        try:
            yield
        finally:
            for field, values in kept.items():
                memory.put_array(field, values)
            memory[KernelField.LANE_COUNT] = count

    def mark(self, states: Iterable[int], flag: int) -> None:
        """Set a flag of the nodes of these states."""
        places = self.memory.array(KernelField.NODE_OF)[np.fromiter(states, dtype=np.int64)]
        self.nodes[places + int(NodeField.FLAGS)] |= flag

    def grow(self, status: int, most_states: int, most_nodes: int) -> bool:
        """Make room; False for other statuses."""
        memory = self.memory
        if status not in (GROW_STATES, GROW_NODES):
            return False
        many_states = status == GROW_STATES and memory[KernelField.STATE_COUNT] >= most_states
        many_nodes = status == GROW_NODES and memory[KernelField.NODE_COUNT] - self._first >= most_nodes
        if (many_states or many_nodes) and self._progress() != self._forgotten_at:
            self.forget()
        elif status == GROW_STATES:
            memory.grow(status, self.kernel)
            memory.put_array(
                KernelField.NODE_OF,
                _enlarge_array(memory.array(KernelField.NODE_OF), memory[KernelField.STATE_ROOM]),
            )
        else:
            self.room_for(2 * memory[KernelField.NODE_ROOM])
        return True

    def _progress(self) -> tuple[int, int, int]:
        """Changes when a run goes on. If none did since it was last forgotten, more must be remembered."""
        lanes = self.memory.array(KernelField.LANES).reshape(-1, LANE_SIZE)
        active = lanes[:, LaneField.ACTIVE] != 0
        return self.memory[KernelField.NEXT_RUN], int(active.sum()), int(lanes[active, LaneField.STEPS].sum())

    def room_for(self, size: int) -> None:
        if size > self.memory[KernelField.NODE_ROOM]:
            self.memory.put_array(KernelField.NODES, _enlarge_array(self.nodes, size))
            self.memory[KernelField.NODE_ROOM] = size

    def append(self, numbers: list[int]) -> int:
        """Put numbers among the nodes; where they are."""
        place = self.memory[KernelField.NODE_COUNT]
        if place + len(numbers) > self.memory[KernelField.NODE_ROOM]:
            self.room_for(2 * (place + len(numbers)))
        self.nodes[place : place + len(numbers)] = np.array(numbers, dtype=np.uint64).view(np.int64)
        self.memory[KernelField.NODE_COUNT] = place + len(numbers)
        return place

    def forget(self) -> None:
        """Keep the states in which runs are now, and nothing else."""
        memory = self.memory
        lanes = memory.array(KernelField.LANES).reshape(-1, LANE_SIZE)
        active = np.flatnonzero(lanes[:, LaneField.ACTIVE])
        current = memory.states()[lanes[active, LaneField.STATE]]
        kept = np.unique(np.concatenate([self._starts, current]), axis=0)
        self._seed_states(kept)
        lanes[active, LaneField.STATE] = self._numbers(kept, current)
        lanes[active, LaneField.DECISION] = UNKNOWN  # it may be the place of a distribution
        memory[KernelField.NODE_COUNT] = self._first
        self._forgotten_at = self._progress()


def _enlarge_array(old: NDArray[Any], size: int) -> NDArray[np.int64]:
    larger = np.zeros(size, dtype=np.int64)
    larger[: len(old)] = old
    return larger
