"""Networks that machine code does not know: their inputs come from it, batches of them are decided by numpy.

`network/evaluate.py` decides as the reference does. Rows that it leaves open stay with the lanes that wait.
"""

from __future__ import annotations

import numpy as np

from surefoot.explore.llvm.kernel_table import KernelField
from surefoot.network.evaluate import decide_batch_actions
from surefoot.problem.network import Network
from surefoot.simulate.chain_memory import SimulatedChain
from surefoot.simulate.chain_nodes import NodeField
from surefoot.simulate.random_words import LANE_SIZE, LaneField
from surefoot.work.machine.jit import Machine


class BatchedNetwork:
    def __init__(
        self, chain: SimulatedChain, kernel: Machine, network: Network, applicable: bool, most: int
    ) -> None:
        self._chain, self._kernel, self._network, self._applicable = chain, kernel, network, applicable
        chain.memory.put_array(KernelField.OBSERVATIONS, np.zeros((most, network.width), dtype=np.float32))
        chain.memory[KernelField.INPUT_COUNT] = network.width

    def decide(self) -> None:
        """For the lanes in WAITING; those that are left over stay there."""
        memory, nodes, waiting = self._chain.memory, self._chain.nodes, self._chain.waiting().copy()
        memory.call(self._kernel, "gather")
        lanes = memory.array(KernelField.LANES).reshape(-1, LANE_SIZE)
        places = memory.array(KernelField.NODE_OF)[lanes[waiting, LaneField.STATE]]
        masks = nodes[places + int(NodeField.MASK)]
        enabled = (masks[:, None] >> np.arange(self._network.outputs)) & 1 != 0
        rows = memory.array(KernelField.OBSERVATIONS)[: len(waiting)]
        actions = decide_batch_actions(self._network, rows, enabled if self._applicable else None).actions
        known = np.flatnonzero(actions >= 0)
        lanes[waiting[known], LaneField.DECISION] = actions[known]
        nodes[places[known] + int(NodeField.DECISION)] = actions[known]
        nodes[places[known] + int(NodeField.STALLS)] = ~enabled[known, actions[known]]
        nodes[places[known] + int(NodeField.CHOSEN)] = np.int64(1) << actions[known]
        left = waiting[actions < 0]
        memory.array(KernelField.WAITING)[: len(left)] = left
        memory[KernelField.WAITING_COUNT] = len(left)
