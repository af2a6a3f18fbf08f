"""The arrays that the kernel works on: allocated, enlarged and read from Python."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.explore.emit.model import ModelEmitter, constant_reward
from surefoot.explore.emit.state_packing import CompileObjection, Packing
from surefoot.explore.llvm.kernel_table import (
    GROW_CHOICES,
    GROW_NUMBERS,
    GROW_OUTCOMES,
    GROW_STATES,
    KernelField,
)
from surefoot.explore.llvm.synchronisation_table import SynchronisationTable
from surefoot.explore.number_table import NumberTable
from surefoot.term.term import Const
from surefoot.work.machine.jit import Machine

_FIRST_ROOM = 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class MarkovArrays:
    choices: NDArray[np.int64]
    outcomes: NDArray[np.int64]
    codes: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.int32]
    rewards: tuple[NDArray[np.int32], ...]
    tops: NDArray[np.int64]
    bottoms: NDArray[np.int64]


class KernelMemory:
    """The kernel's table and everything it points to."""

    def __init__(
        self, model: ModelEmitter, wiring: SynchronisationTable, packing: Packing, machine: Machine
    ) -> None:
        self._table = np.zeros(len(KernelField), dtype=np.int64)
        self._arrays: dict[KernelField, NDArray[Any]] = {}
        self._decided = np.zeros(0, dtype=np.int64)
        self._functions: dict[str, Any] = {}
        self._rewards = len(model.rewards)
        self._words = packing.words
        numbers = NumberTable((Fraction(0), Fraction(1)))
        self._wire(wiring)
        self._outcomes(model, numbers)
        self._addresses(model, machine)
        width, count = len(packing.slots), len(model.edges)
        self[KernelField.WORDS], self[KernelField.WIDTH], self[KernelField.EDGE_COUNT] = (
            packing.words,
            width,
            count,
        )
        self[KernelField.LEVELS], self[KernelField.REWARDS] = len(model.levels), self._rewards
        self.put_array(KernelField.NUMBERS, np.zeros(3 * max(1, width), dtype=np.int64))
        self.put_array(KernelField.KEY, np.zeros(packing.words, dtype=np.uint64))
        self.put_array(KernelField.ENABLED, np.zeros(max(1, count), dtype=np.uint8))
        self.put_array(
            KernelField.PAIRS,
            np.zeros(2 * len(self._arrays[KernelField.OUTCOME_WEIGHTS]) + 2, dtype=np.int64),
        )
        self.put_array(KernelField.PAIR, np.zeros(2 * (1 + model.quantity_count), dtype=np.int64))
        self._start_numbers(numbers)

    def __getitem__(self, field: KernelField) -> int:
        return int(self._table[field])

    def __setitem__(self, field: KernelField, value: int) -> None:
        self._table[field] = value

    def look_ahead(self, stays: int) -> None:
        """A table for one state, one choice and one outcome, with scratch space of its own."""
        scratch = (
            *(
                KernelField.NUMBERS,
                KernelField.KEY,
                KernelField.ENABLED,
                KernelField.PAIRS,
                KernelField.PAIR,
                KernelField.PICKED,
                KernelField.TURN,
            ),
            *(KernelField.READY, KernelField.READY_COUNT, KernelField.READY_TURN),
        )
        arrays = {field: self._arrays[field].copy() for field in scratch}
        arrays[KernelField.STATES] = np.zeros(2 * self._words, dtype=np.uint64)  # and one to recognise a loop
        for field in (
            KernelField.CHOICES_OF,
            KernelField.OUTCOMES_OF,
            KernelField.CODES,
            KernelField.TARGETS,
        ):
            arrays[field] = np.zeros(2, dtype=np.int64)
        arrays[KernelField.WEIGHTS] = np.zeros(1, dtype=np.int32)
        arrays[KernelField.REWARD_COLUMNS] = np.zeros(max(1, self._rewards), dtype=np.int32)
        table = self._table.copy()
        for field, values in arrays.items():
            table[field] = values.ctypes.data
        table[KernelField.UNTIL], table[KernelField.AHEAD], table[KernelField.STATE_LIMIT] = stays, 1, 2**62
        for field in (KernelField.LIMIT, KernelField.STATE_COUNT, KernelField.STATE_ROOM):
            table[field] = 1
        table[KernelField.CHOICE_ROOM] = table[KernelField.OUTCOME_ROOM] = 1
        self._ahead = table, arrays
        self[KernelField.INNER] = table.ctypes.data

    def put_array(self, field: KernelField, values: NDArray[Any]) -> None:
        self._arrays[field] = values
        self._table[field] = values.ctypes.data

    def _enlarge(self, field: KernelField, count: int, room: int, dtype: Any) -> None:
        """Room for so many numbers, of which the first ones are kept."""
        self.put_array(field, _enlarge_array(self._arrays.get(field), count, room, dtype))

    def put_list(self, field: KernelField, values: list[int]) -> None:
        self.put_array(field, np.array(values or [0], dtype=np.int64))

    def _wire(self, wiring: SynchronisationTable) -> None:
        self.put_list(KernelField.ALONE, list(wiring.alone))
        self.put_list(KernelField.ALONE_ACTIONS, list(wiring.alone_actions))
        self.put_list(KernelField.EDGE_ACTIONS, list(wiring.edge_actions))
        parts = [part for vector in wiring.vectors for part in vector.parts]
        starts = [0]
        for vector in wiring.vectors:
            starts.append(starts[-1] + len(vector.parts))
        self.put_list(KernelField.VECTOR_PARTS, starts)
        self.put_list(KernelField.VECTOR_CODES, [vector.code for vector in wiring.vectors])
        self.put_list(KernelField.VECTOR_ACTIONS, [vector.action for vector in wiring.vectors])
        first = [0]
        for part in parts:
            first.append(first[-1] + len(part.candidates))
        self.put_list(KernelField.PART_EDGES, first)
        self.put_list(KernelField.PART_STRIDES, [part.stride for part in parts])
        self.put_list(KernelField.CANDIDATES, [edge for part in parts for edge in part.candidates])
        longest = max((len(vector.parts) for vector in wiring.vectors), default=0) + 1
        most = max((len(part.candidates) for part in parts), default=0) + 1
        for field in (KernelField.READY_COUNT, KernelField.READY_TURN, KernelField.PICKED, KernelField.TURN):
            self.put_array(field, np.zeros(longest, dtype=np.int64))
        self.put_array(KernelField.READY, np.zeros(longest * most, dtype=np.int64))
        self[KernelField.MOST_READY] = most
        self[KernelField.ALONE_COUNT], self[KernelField.VECTOR_COUNT] = len(wiring.alone), len(wiring.vectors)

    def _outcomes(self, model: ModelEmitter, numbers: NumberTable) -> None:
        """Constant probabilities and rewards, by number."""
        first, weights, rewards = [0], [], []
        for n in model.edges:
            first.append(n.first + len(n.edge.outcomes))
            terms = [o.probability for o in n.edge.outcomes]
            known = [Fraction(t.value) for t in terms if isinstance(t, Const)]
            varies = len(known) < len(terms)
            if not varies and (sum(known) != 1 or min(known, default=0) < 0):
                raise CompileObjection("the probabilities of an edge are not a distribution")
            weights += [-1] * len(terms) if varies else [numbers.index(share) for share in known]
            for outcome in n.edge.outcomes:
                for name in model.rewards:
                    amount = constant_reward(outcome, name)
                    rewards.append(-1 if amount is None else numbers.index(amount))
        self.put_list(KernelField.OUTCOME_FIRST, first)
        self.put_list(KernelField.OUTCOME_WEIGHTS, weights)
        self.put_list(KernelField.OUTCOME_REWARDS, rewards)

    def _addresses(self, model: ModelEmitter, machine: Machine) -> None:
        def address(name: str) -> int:
            return machine.address(name) if name in model.functions else 0

        for name in ("unpack", "pack", "guards", "until", "labels", "quantities", "observe"):
            self[KernelField[name.upper()]] = address(name)
        count, levels = len(self._arrays[KernelField.OUTCOME_WEIGHTS]), range(len(model.levels))
        self.put_list(
            KernelField.APPLY_OF, [address(f"apply{o}_{level}") for o in range(count) for level in levels]
        )
        self.put_list(
            KernelField.PROBABILITY_OF, [address(f"probability{e}") for e in range(len(model.edges))]
        )
        self.put_list(
            KernelField.REWARD_OF,
            [address(f"reward{o}_{r}") for o in range(count) for r in range(self._rewards)],
        )

    def _start_numbers(self, numbers: NumberTable) -> None:
        known = numbers.values()
        if any(max(abs(n.numerator), n.denominator) >= 2**63 for n in known):
            raise CompileObjection("a constant does not fit into 64 bits")
        self._number_room(max(64, 2 * len(known)))
        self._arrays[KernelField.TOPS][: len(known)] = [n.numerator for n in known]
        self._arrays[KernelField.BOTTOMS][: len(known)] = [n.denominator for n in known]
        self[KernelField.NUMBER_COUNT] = len(known)

    def _number_room(self, room: int) -> None:
        count = self[KernelField.NUMBER_COUNT]
        for field in (KernelField.TOPS, KernelField.BOTTOMS):
            self._enlarge(field, count, room, np.int64)
        self[KernelField.NUMBER_ROOM] = room

    def _index_numbers(self, machine: Machine) -> None:
        size = _power_of_two(2 * self[KernelField.NUMBER_ROOM])
        self.put_array(KernelField.NUMBER_INDEX, np.zeros(size, dtype=np.int64))
        self[KernelField.NUMBER_MASK] = size - 1
        self.call(machine, "rehash_numbers")

    def start(self, packed: NDArray[np.uint64], machine: Machine) -> None:
        """Begin with these states."""
        self._index_numbers(machine)
        self._state_room(max(_FIRST_ROOM, _power_of_two(2 * len(packed))))
        self._arrays[KernelField.STATES][: packed.size] = packed.ravel()
        self[KernelField.STATE_COUNT] = self[KernelField.KNOWN] = len(packed)
        self.call(machine, "rehash")
        self._choice_room(2 * _FIRST_ROOM)
        self._outcome_room(4 * _FIRST_ROOM)
        self._arrays[KernelField.CHOICES_OF][0] = self._arrays[KernelField.OUTCOMES_OF][0] = 0

    def _state_room(self, room: int) -> None:
        count = self[KernelField.STATE_COUNT]
        self._enlarge(KernelField.STATES, count * self._words, room * self._words, np.uint64)
        done = self[KernelField.POSITION] + 1
        self._enlarge(KernelField.CHOICES_OF, done, room + 1, np.int64)
        self.put_array(KernelField.INDEX, np.zeros(2 * room, dtype=np.uint64))
        self[KernelField.STATE_ROOM], self[KernelField.INDEX_MASK] = room, 2 * room - 1
        if room >= 2**32:
            raise MemoryError("more than 2^32 states")
        if self[KernelField.DECIDED]:
            self.decided_actions(room)

    def _choice_room(self, room: int) -> None:
        count = self[KernelField.CHOICE_COUNT]
        self._enlarge(KernelField.OUTCOMES_OF, count + 1, room + 1, np.int64)
        self._enlarge(KernelField.CODES, count, room, np.int64)
        self[KernelField.CHOICE_ROOM] = room

    def _outcome_room(self, room: int) -> None:
        count, old_room = self[KernelField.OUTCOME_COUNT], self[KernelField.OUTCOME_ROOM]
        self._enlarge(KernelField.TARGETS, count, room, np.int64)
        self._enlarge(KernelField.WEIGHTS, count, room, np.int32)
        columns = np.empty(self._rewards * room, dtype=np.int32)
        old = self._arrays.get(KernelField.REWARD_COLUMNS)
        for r in range(self._rewards):
            if old is not None:
                columns[r * room : r * room + count] = old[r * old_room : r * old_room + count]
        self.put_array(KernelField.REWARD_COLUMNS, columns)
        self[KernelField.OUTCOME_ROOM] = room

    def grow(self, status: int, machine: Machine) -> bool:
        """Make room where the kernel needs it; False for other statuses."""
        match status:
            case _ if status == GROW_STATES:
                self._state_room(2 * self[KernelField.STATE_ROOM])
                self.call(machine, "rehash")
            case _ if status == GROW_CHOICES:
                self._choice_room(2 * self[KernelField.CHOICE_ROOM])
            case _ if status == GROW_OUTCOMES:
                self._outcome_room(2 * self[KernelField.OUTCOME_ROOM])
            case _ if status == GROW_NUMBERS:
                self._number_room(2 * self[KernelField.NUMBER_ROOM])
                self._index_numbers(machine)
            case _:
                return False
        return True

    def decided_actions(self, count: int) -> NDArray[np.int64]:
        """Per state, the action of the policy."""
        if len(self._decided) < count:
            self._decided = _enlarge_array(self._decided, len(self._decided), 2 * count, np.int64)
            self[KernelField.DECIDED] = self._decided.ctypes.data
        return self._decided

    def array(self, field: KernelField) -> NDArray[Any]:
        return self._arrays[field]

    def call(self, machine: Machine, name: str) -> int:
        if name not in self._functions:
            self._functions[name] = machine.function(name)
        return int(self._functions[name](self._table.ctypes.data))

    def states(self) -> NDArray[np.uint64]:
        count = self[KernelField.STATE_COUNT]
        states: NDArray[np.uint64] = self._arrays[KernelField.STATES][: count * self._words]
        return states.reshape(count, self._words)

    def bytes(self) -> int:
        """What is in use, not what is set aside."""
        each_state = (
            8 * self._words
            + 8
            + 8 * (self[KernelField.INDEX_MASK] + 1) / max(1, self[KernelField.STATE_COUNT])
        )
        outcome = 12 + 4 * self._rewards
        return int(
            each_state * self[KernelField.STATE_COUNT]
            + 16 * self[KernelField.CHOICE_COUNT]
            + outcome * self[KernelField.OUTCOME_COUNT]
        )

    def result(self, done: int) -> MarkovArrays:
        states, choices = self[KernelField.STATE_COUNT], self[KernelField.CHOICE_COUNT]
        outcomes, room = self[KernelField.OUTCOME_COUNT], self[KernelField.OUTCOME_ROOM]
        first: NDArray[np.int64] = self._arrays[KernelField.CHOICES_OF][: states + 1]
        first[done:] = choices
        numbers = self[KernelField.NUMBER_COUNT]
        columns = self._arrays[KernelField.REWARD_COLUMNS]
        return MarkovArrays(
            first,
            self._arrays[KernelField.OUTCOMES_OF][: choices + 1],
            self._arrays[KernelField.CODES][:choices],
            self._arrays[KernelField.TARGETS][:outcomes],
            self._arrays[KernelField.WEIGHTS][:outcomes],
            tuple(columns[r * room : r * room + outcomes] for r in range(self._rewards)),
            self._arrays[KernelField.TOPS][:numbers],
            self._arrays[KernelField.BOTTOMS][:numbers],
        )


def _enlarge_array(old: NDArray[Any] | None, count: int, room: int, dtype: Any) -> NDArray[Any]:
    larger = np.empty(room, dtype=dtype)
    if old is not None:
        larger[:count] = old[:count]
    return larger


def _power_of_two(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()
