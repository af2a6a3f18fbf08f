"""Records of a batch: some members, several batches as one, and the stack of open members."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from surefoot.network.batches import BatchRecord, BatchStack, join_batches
from surefoot.network.directed_rounding import Array, BoxArray


@dataclass(frozen=True, slots=True, eq=False)
class Members(BatchRecord):
    box: BoxArray
    node: Array
    known: dict[int, BoxArray]
    parts: tuple[Array | None, ...]
    name: str = "the same for all"
    late: Array = field(kw_only=True)

    def __len__(self) -> int:
        return len(self.node)


def members(*numbers: float, known: tuple[int, ...] = (3,)) -> Members:
    node = np.array(numbers)
    box = BoxArray(np.stack([node, node], 1), np.stack([node + 1, node + 2], 1))
    return Members(box, node, dict.fromkeys(known, box), (None, -node), late=2 * node)


def test_members_are_picked_from_every_part() -> None:
    found = members(5, 6, 7).pick(np.array([2, 0]))
    assert found.node.tolist() == [7, 5]
    assert found.box.high.tolist() == found.known[3].high.tolist() == [[8, 9], [6, 7]]
    assert found.parts[0] is None
    assert found.parts[1] is not None
    assert found.parts[1].tolist() == [-7, -5]
    assert (found.name, found.late.tolist()) == ("the same for all", [14, 10])
    assert len(members(5, 6).pick(np.array([False, True]))) == 1


def test_joined_batches_are_one_and_keep_what_all_know() -> None:
    found = join_batches([members(1, known=(3, 4)), members(2, 3)])
    assert found.node.tolist() == [1, 2, 3]
    assert found.known.keys() == {3}
    assert found.known[3].low.tolist() == [[1, 1], [2, 2], [3, 3]]
    alone = members(1)
    assert join_batches([alone]) is alone


def test_the_last_pushed_come_first_in_their_order() -> None:
    stack = BatchStack(members(1, 2))
    stack.push(members())
    stack.push(members(3, 4, 5))
    assert len(stack) == 5
    assert stack.pop(2).node.tolist() == [4, 5]
    assert stack.pop(2).node.tolist() == [2, 3]
    assert stack.pop(9).node.tolist() == [1]
    assert len(stack) == 0
