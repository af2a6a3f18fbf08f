"""Networks that machine code does not know: their inputs come from it, batches of them are decided by numpy.

`network/evaluate.py` decides as the reference does. Rows that it leaves open stay with the lanes that wait.
"""

from __future__ import annotations

import numpy as np

from surefoot.compile.llvm.table import Field
from surefoot.compile.simulation.chain import Chain
from surefoot.compile.simulation.node import Node
from surefoot.compile.simulation.words import LANE_SIZE, Lane
from surefoot.network.evaluate import decide
from surefoot.problem.network import Network
from surefoot.work.machine.code import Machine


class Batched:
    def __init__(self, chain: Chain, kernel: Machine, network: Network, applicable: bool, most: int) -> None:
        self._chain, self._kernel, self._network, self._applicable = chain, kernel, network, applicable
        chain.memory.put(Field.OBSERVATIONS, np.zeros((most, network.width), dtype=np.float32))
        chain.memory[Field.INPUT_COUNT] = network.width

    def decide(self) -> None:
        """For the lanes in WAITING; those that are left over stay there."""
        memory, nodes, waiting = self._chain.memory, self._chain.nodes, self._chain.waiting().copy()
        memory.call(self._kernel, "gather")
        lanes = memory.array(Field.LANES).reshape(-1, LANE_SIZE)
        places = memory.array(Field.NODE_OF)[lanes[waiting, Lane.STATE]]
        masks = nodes[places + int(Node.MASK)]
        enabled = (masks[:, None] >> np.arange(self._network.outputs)) & 1 != 0
        rows = memory.array(Field.OBSERVATIONS)[: len(waiting)]
        actions = decide(self._network, rows, enabled if self._applicable else None).actions
        known = np.flatnonzero(actions >= 0)
        lanes[waiting[known], Lane.DECISION] = actions[known]
        nodes[places[known] + int(Node.DECISION)] = actions[known]
        nodes[places[known] + int(Node.STALLS)] = ~enabled[known, actions[known]]
        nodes[places[known] + int(Node.CHOSEN)] = np.int64(1) << actions[known]
        left = waiting[actions < 0]
        memory.array(Field.WAITING)[: len(left)] = left
        memory[Field.WAITING_COUNT] = len(left)
