"""What the policy decides for runs that wait: all of them at once, each state once where it is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.explore.emit.state_packing import PackedStates, Packing
from surefoot.explore.llvm.kernel_table import KernelField
from surefoot.explore.policy_decisions import StateDecision, compile_policy, variables_read
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import Decision
from surefoot.problem.policy import Policy
from surefoot.simulate.chain_memory import SimulatedChain
from surefoot.simulate.chain_nodes import DRAWN, GIVE_UP, NOTHING, NodeField
from surefoot.simulate.draw import word_thresholds
from surefoot.simulate.random_words import LANE_SIZE, LaneField
from surefoot.term.closures import UNDEFINED_ERRORS, Row


class PolicyQueries:
    def __init__(
        self,
        policy: Policy,
        environment: Environment,
        packing: Packing,
        actions: tuple[str, ...],
        chain: SimulatedChain,
        memo: bool,
    ) -> None:
        self.chain, self.packing, self.memo = chain, packing, memo
        self.actions = {name: i for i, name in enumerate(actions)}
        self.decide = compile_policy(policy, environment, packing.layout, outputs=False, oracles=True)
        self.read = variables_read(policy)
        self.sets: dict[int, frozenset[str]] = {}
        self.evaluations = 0

    def answer(self, waiting: NDArray[np.int64]) -> None:
        """Decide for these lanes."""
        lanes = self.chain.memory.array(KernelField.LANES).reshape(-1, LANE_SIZE)
        states = lanes[waiting, LaneField.STATE]
        if self.memo:
            states = np.unique(states)
        nodes = self.chain.memory.array(KernelField.NODE_OF)[states]
        codes = self._codes(states, nodes)
        self.evaluations += len(states)
        if self.memo:
            self.chain.nodes[nodes + int(NodeField.DECISION)] = codes
        else:
            lanes[waiting, LaneField.DECISION] = codes

    def _codes(self, states: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        masks = self.chain.nodes[nodes + int(NodeField.MASK)].tolist()
        rows = PackedStates(self.packing, self.chain.memory.states()[states]).rows(self.read)
        own = [self._action_set(mask) for mask in masks]
        made: Sequence[StateDecision | None]
        try:
            made = self.decide(rows, own)
        except UNDEFINED_ERRORS:
            made = [self._alone(row, actions) for row, actions in zip(rows, own, strict=True)]
        codes = np.array([self._code(one) for one in made], dtype=np.int64)
        for node, one in zip(nodes.tolist(), made, strict=True):
            if one is not None:
                self.chain.nodes[node + int(NodeField.STALLS)] = one.decision.stalls
                chosen = sum(1 << self.actions[a] for a in one.decision.actions if a in self.actions)
                self.chain.nodes[node + int(NodeField.CHOSEN)] = chosen
        return codes

    def _action_set(self, mask: int) -> frozenset[str]:
        if mask not in self.sets:
            self.sets[mask] = frozenset(name for name, i in self.actions.items() if mask >> i & 1)
        return self.sets[mask]

    def _alone(self, row: Row, own: frozenset[str]) -> StateDecision | None:
        try:
            return self.decide([row], [own])[0]
        except UNDEFINED_ERRORS:
            return None  # the interpreter will say what is wrong

    def _code(self, made: StateDecision | None) -> int:
        if made is None:
            return GIVE_UP
        actions = made.decision.actions
        if len(actions) > 1:
            return self._distribution(made.decision)
        return self.actions.get(next(iter(actions), ""), NOTHING)

    def _distribution(self, decision: Decision) -> int:
        """Thresholds and actions, among the nodes; first which of them is taken if none before it is."""
        shares = [Fraction(share) for share in decision.actions.values()]
        limits, certain = word_thresholds([share / sum(shares) for share in shares])
        numbers = [certain]
        for name, limit in zip(decision.actions, limits, strict=True):
            numbers += [limit, self.actions.get(name, 1 << 62)]
        return DRAWN - self.chain.append(numbers)
