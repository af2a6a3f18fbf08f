"""The arrays that the kernel works on: allocated, enlarged and read from Python."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.compile.emit.model import Model, constant_reward
from surefoot.compile.emit.packing import Objection, Packing
from surefoot.compile.llvm.table import (
    GROW_CHOICES,
    GROW_NUMBERS,
    GROW_OUTCOMES,
    GROW_STATES,
    Field,
)
from surefoot.compile.llvm.wiring import Wiring
from surefoot.compile.numbers import Numbers
from surefoot.problem.term import Const
from surefoot.work.machine.code import Machine

_FIRST_ROOM = 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    choices: NDArray[np.int64]
    outcomes: NDArray[np.int64]
    codes: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.int32]
    rewards: tuple[NDArray[np.int32], ...]
    tops: NDArray[np.int64]
    bottoms: NDArray[np.int64]


class Memory:
    """The kernel's table and everything it points to."""

    def __init__(self, model: Model, wiring: Wiring, packing: Packing, machine: Machine) -> None:
        self._table = np.zeros(len(Field), dtype=np.int64)
        self._arrays: dict[Field, NDArray[Any]] = {}
        self._decided = np.zeros(0, dtype=np.int64)
        self._functions: dict[str, Any] = {}
        self._rewards = len(model.rewards)
        self._words = packing.words
        numbers = Numbers((Fraction(0), Fraction(1)))
        self._wire(wiring)
        self._outcomes(model, numbers)
        self._addresses(model, machine)
        width, count = len(packing.slots), len(model.edges)
        self[Field.WORDS], self[Field.WIDTH], self[Field.EDGE_COUNT] = packing.words, width, count
        self[Field.LEVELS], self[Field.REWARDS] = len(model.levels), self._rewards
        self.put(Field.NUMBERS, np.zeros(3 * max(1, width), dtype=np.int64))
        self.put(Field.KEY, np.zeros(packing.words, dtype=np.uint64))
        self.put(Field.ENABLED, np.zeros(max(1, count), dtype=np.uint8))
        self.put(Field.PAIRS, np.zeros(2 * len(self._arrays[Field.OUTCOME_WEIGHTS]) + 2, dtype=np.int64))
        self.put(Field.PAIR, np.zeros(2 * (1 + model.quantity_count), dtype=np.int64))
        self._start_numbers(numbers)

    def __getitem__(self, field: Field) -> int:
        return int(self._table[field])

    def __setitem__(self, field: Field, value: int) -> None:
        self._table[field] = value

    def look_ahead(self, stays: int) -> None:
        """A table for one state, one choice and one outcome, with scratch space of its own."""
        scratch = (
            *(Field.NUMBERS, Field.KEY, Field.ENABLED, Field.PAIRS, Field.PAIR, Field.PICKED, Field.TURN),
            *(Field.READY, Field.READY_COUNT, Field.READY_TURN),
        )
        arrays = {field: self._arrays[field].copy() for field in scratch}
        arrays[Field.STATES] = np.zeros(2 * self._words, dtype=np.uint64)  # and one to recognise a loop
        for field in (Field.CHOICES_OF, Field.OUTCOMES_OF, Field.CODES, Field.TARGETS):
            arrays[field] = np.zeros(2, dtype=np.int64)
        arrays[Field.WEIGHTS] = np.zeros(1, dtype=np.int32)
        arrays[Field.REWARD_COLUMNS] = np.zeros(max(1, self._rewards), dtype=np.int32)
        table = self._table.copy()
        for field, values in arrays.items():
            table[field] = values.ctypes.data
        table[Field.UNTIL], table[Field.AHEAD], table[Field.STATE_LIMIT] = stays, 1, 2**62
        for field in (Field.LIMIT, Field.STATE_COUNT, Field.STATE_ROOM):
            table[field] = 1
        table[Field.CHOICE_ROOM] = table[Field.OUTCOME_ROOM] = 1
        self._ahead = table, arrays
        self[Field.INNER] = table.ctypes.data

    def put(self, field: Field, values: NDArray[Any]) -> None:
        self._arrays[field] = values
        self._table[field] = values.ctypes.data

    def put_list(self, field: Field, values: list[int]) -> None:
        self.put(field, np.array(values or [0], dtype=np.int64))

    def _wire(self, wiring: Wiring) -> None:
        self.put_list(Field.ALONE, list(wiring.alone))
        self.put_list(Field.ALONE_ACTIONS, list(wiring.alone_actions))
        self.put_list(Field.EDGE_ACTIONS, list(wiring.edge_actions))
        parts = [part for vector in wiring.vectors for part in vector.parts]
        starts = [0]
        for vector in wiring.vectors:
            starts.append(starts[-1] + len(vector.parts))
        self.put_list(Field.VECTOR_PARTS, starts)
        self.put_list(Field.VECTOR_CODES, [vector.code for vector in wiring.vectors])
        self.put_list(Field.VECTOR_ACTIONS, [vector.action for vector in wiring.vectors])
        first = [0]
        for part in parts:
            first.append(first[-1] + len(part.candidates))
        self.put_list(Field.PART_EDGES, first)
        self.put_list(Field.PART_STRIDES, [part.stride for part in parts])
        self.put_list(Field.CANDIDATES, [edge for part in parts for edge in part.candidates])
        longest = max((len(vector.parts) for vector in wiring.vectors), default=0) + 1
        most = max((len(part.candidates) for part in parts), default=0) + 1
        for field in (Field.READY_COUNT, Field.READY_TURN, Field.PICKED, Field.TURN):
            self.put(field, np.zeros(longest, dtype=np.int64))
        self.put(Field.READY, np.zeros(longest * most, dtype=np.int64))
        self[Field.MOST_READY] = most
        self[Field.ALONE_COUNT], self[Field.VECTOR_COUNT] = len(wiring.alone), len(wiring.vectors)

    def _outcomes(self, model: Model, numbers: Numbers) -> None:
        """Constant probabilities and rewards, by number."""
        first, weights, rewards = [0], [], []
        for n in model.edges:
            first.append(n.first + len(n.edge.outcomes))
            terms = [o.probability for o in n.edge.outcomes]
            known = [Fraction(t.value) for t in terms if isinstance(t, Const)]
            varies = len(known) < len(terms)
            if not varies and (sum(known) != 1 or min(known, default=0) < 0):
                raise Objection("the probabilities of an edge are not a distribution")
            weights += [-1] * len(terms) if varies else [numbers.index(share) for share in known]
            for outcome in n.edge.outcomes:
                for name in model.rewards:
                    amount = constant_reward(outcome, name)
                    rewards.append(-1 if amount is None else numbers.index(amount))
        self.put_list(Field.OUTCOME_FIRST, first)
        self.put_list(Field.OUTCOME_WEIGHTS, weights)
        self.put_list(Field.OUTCOME_REWARDS, rewards)

    def _addresses(self, model: Model, machine: Machine) -> None:
        def address(name: str) -> int:
            return machine.address(name) if name in model.functions else 0

        for name in ("unpack", "pack", "guards", "until", "labels", "quantities", "observe"):
            self[Field[name.upper()]] = address(name)
        count, levels = len(self._arrays[Field.OUTCOME_WEIGHTS]), range(len(model.levels))
        self.put_list(
            Field.APPLY_OF, [address(f"apply{o}_{level}") for o in range(count) for level in levels]
        )
        self.put_list(Field.PROBABILITY_OF, [address(f"probability{e}") for e in range(len(model.edges))])
        self.put_list(
            Field.REWARD_OF, [address(f"reward{o}_{r}") for o in range(count) for r in range(self._rewards)]
        )

    def _start_numbers(self, numbers: Numbers) -> None:
        known = numbers.values()
        if any(max(abs(n.numerator), n.denominator) >= 2**63 for n in known):
            raise Objection("a constant does not fit into 64 bits")
        self._number_room(max(64, 2 * len(known)))
        self._arrays[Field.TOPS][: len(known)] = [n.numerator for n in known]
        self._arrays[Field.BOTTOMS][: len(known)] = [n.denominator for n in known]
        self[Field.NUMBER_COUNT] = len(known)

    def _number_room(self, room: int) -> None:
        count = self[Field.NUMBER_COUNT]
        for field in (Field.TOPS, Field.BOTTOMS):
            self.put(field, _enlarged(self._arrays.get(field), count, room, np.int64))
        self[Field.NUMBER_ROOM] = room

    def _index_numbers(self, machine: Machine) -> None:
        size = _power_of_two(2 * self[Field.NUMBER_ROOM])
        self.put(Field.NUMBER_INDEX, np.zeros(size, dtype=np.int64))
        self[Field.NUMBER_MASK] = size - 1
        self.call(machine, "rehash_numbers")

    def start(self, packed: NDArray[np.uint64], machine: Machine) -> None:
        """Begin with these states."""
        self._index_numbers(machine)
        self._state_room(max(_FIRST_ROOM, _power_of_two(2 * len(packed))))
        self._arrays[Field.STATES][: packed.size] = packed.ravel()
        self[Field.STATE_COUNT] = self[Field.KNOWN] = len(packed)
        self.call(machine, "rehash")
        self._choice_room(2 * _FIRST_ROOM)
        self._outcome_room(4 * _FIRST_ROOM)
        self._arrays[Field.CHOICES_OF][0] = self._arrays[Field.OUTCOMES_OF][0] = 0

    def _state_room(self, room: int) -> None:
        count = self[Field.STATE_COUNT]
        old = self._arrays.get(Field.STATES)
        self.put(Field.STATES, _enlarged(old, count * self._words, room * self._words, np.uint64))
        done = self[Field.POSITION] + 1
        self.put(Field.CHOICES_OF, _enlarged(self._arrays.get(Field.CHOICES_OF), done, room + 1, np.int64))
        self.put(Field.INDEX, np.zeros(2 * room, dtype=np.uint64))
        self[Field.STATE_ROOM], self[Field.INDEX_MASK] = room, 2 * room - 1
        if room >= 2**32:
            raise MemoryError("more than 2^32 states")
        if self[Field.DECIDED]:
            self.decided(room)

    def _choice_room(self, room: int) -> None:
        count = self[Field.CHOICE_COUNT]
        self.put(
            Field.OUTCOMES_OF, _enlarged(self._arrays.get(Field.OUTCOMES_OF), count + 1, room + 1, np.int64)
        )
        self.put(Field.CODES, _enlarged(self._arrays.get(Field.CODES), count, room, np.int64))
        self[Field.CHOICE_ROOM] = room

    def _outcome_room(self, room: int) -> None:
        count, old_room = self[Field.OUTCOME_COUNT], self[Field.OUTCOME_ROOM]
        self.put(Field.TARGETS, _enlarged(self._arrays.get(Field.TARGETS), count, room, np.int64))
        self.put(Field.WEIGHTS, _enlarged(self._arrays.get(Field.WEIGHTS), count, room, np.int32))
        columns = np.empty(self._rewards * room, dtype=np.int32)
        old = self._arrays.get(Field.REWARD_COLUMNS)
        for r in range(self._rewards):
            if old is not None:
                columns[r * room : r * room + count] = old[r * old_room : r * old_room + count]
        self.put(Field.REWARD_COLUMNS, columns)
        self[Field.OUTCOME_ROOM] = room

    def grow(self, status: int, machine: Machine) -> bool:
        """Make room where the kernel needs it; False for other statuses."""
        match status:
            case _ if status == GROW_STATES:
                self._state_room(2 * self[Field.STATE_ROOM])
                self.call(machine, "rehash")
            case _ if status == GROW_CHOICES:
                self._choice_room(2 * self[Field.CHOICE_ROOM])
            case _ if status == GROW_OUTCOMES:
                self._outcome_room(2 * self[Field.OUTCOME_ROOM])
            case _ if status == GROW_NUMBERS:
                self._number_room(2 * self[Field.NUMBER_ROOM])
                self._index_numbers(machine)
            case _:
                return False
        return True

    def decided(self, count: int) -> NDArray[np.int64]:
        """Per state, the action of the policy."""
        if len(self._decided) < count:
            self._decided = _enlarged(self._decided, len(self._decided), 2 * count, np.int64)
            self[Field.DECIDED] = self._decided.ctypes.data
        return self._decided

    def array(self, field: Field) -> NDArray[Any]:
        return self._arrays[field]

    def call(self, machine: Machine, name: str) -> int:
        if name not in self._functions:
            self._functions[name] = machine.function(name)
        return int(self._functions[name](self._table.ctypes.data))

    def states(self) -> NDArray[np.uint64]:
        count = self[Field.STATE_COUNT]
        states: NDArray[np.uint64] = self._arrays[Field.STATES][: count * self._words]
        return states.reshape(count, self._words)

    def bytes(self) -> int:
        """What is in use, not what is set aside."""
        each_state = 8 * self._words + 8 + 8 * (self[Field.INDEX_MASK] + 1) / max(1, self[Field.STATE_COUNT])
        outcome = 12 + 4 * self._rewards
        return int(
            each_state * self[Field.STATE_COUNT]
            + 16 * self[Field.CHOICE_COUNT]
            + outcome * self[Field.OUTCOME_COUNT]
        )

    def result(self, done: int) -> Arrays:
        states, choices = self[Field.STATE_COUNT], self[Field.CHOICE_COUNT]
        outcomes, room = self[Field.OUTCOME_COUNT], self[Field.OUTCOME_ROOM]
        first: NDArray[np.int64] = self._arrays[Field.CHOICES_OF][: states + 1]
        first[done:] = choices
        numbers = self[Field.NUMBER_COUNT]
        columns = self._arrays[Field.REWARD_COLUMNS]
        return Arrays(
            first,
            self._arrays[Field.OUTCOMES_OF][: choices + 1],
            self._arrays[Field.CODES][:choices],
            self._arrays[Field.TARGETS][:outcomes],
            self._arrays[Field.WEIGHTS][:outcomes],
            tuple(columns[r * room : r * room + outcomes] for r in range(self._rewards)),
            self._arrays[Field.TOPS][:numbers],
            self._arrays[Field.BOTTOMS][:numbers],
        )


def _enlarged(old: NDArray[Any] | None, count: int, room: int, dtype: Any) -> NDArray[Any]:
    larger = np.empty(room, dtype=dtype)
    if old is not None:
        larger[:count] = old[:count]
    return larger


def _power_of_two(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()
