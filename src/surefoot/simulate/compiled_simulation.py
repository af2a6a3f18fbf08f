"""Simulation in machine code: the same runs as those of the interpreter, bit for bit.

The edges are those that exploration compiles; `walk.py` is the kernel around them. Runs that machine code
cannot follow (a value is undefined, several transitions are possible, 64 bits are not enough) are made by the
interpreter: for the message, or for the exact run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from surefoot.explore.emit.model import ModelEmitter
from surefoot.explore.emit.state_packing import CompileObjection, pack_rows, packing_of
from surefoot.explore.llvm.kernel_memory import KernelMemory
from surefoot.explore.llvm.kernel_table import KernelField
from surefoot.explore.llvm.synchronisation_table import synchronisation_table
from surefoot.explore.row_layout import row_layout
from surefoot.explore.state_conditions import compile_conditions
from surefoot.problem.policy import Choose, NeuralPolicy, Policy
from surefoot.problem.problem import Problem
from surefoot.simulate.batched_network import BatchedNetwork
from surefoot.simulate.chain_memory import SimulatedChain
from surefoot.simulate.compiled_fate import CompiledFates
from surefoot.simulate.forward_pass import MachineNetwork, affine_relu_layers
from surefoot.simulate.interpreted_simulation import InterpretedSimulation
from surefoot.simulate.path_property import (
    DecisionCounts,
    PathProperty,
    RunOutcomes,
    reward_names,
    reward_scale,
    units_to_floats,
)
from surefoot.simulate.policy_queries import PolicyQueries
from surefoot.simulate.simulation_kernel import NOT_FOLLOWED, simulation_kernel_text
from surefoot.term.closures import Row
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_action
from surefoot.term.term import Term
from surefoot.term.value_types import Arithmetic
from surefoot.work.machine.jit import compile_llvm_ir

_LANES = 2048
_MOST_STATES = 1 << 21  # that are remembered
_MOST_NODES = 1 << 25  # words


class CompiledSimulation:
    """A problem in machine code, ready to be simulated; `Objection` where it cannot be."""

    def __init__(
        self,
        problem: Problem,
        watched: PathProperty,
        max_steps: int,
        starts: Sequence[Row],
        *,
        uniform: bool,
        memo: bool,
        cache: Path | None,
    ) -> None:
        environment = problem.environment
        if environment.arithmetic is not Arithmetic.EXACT:
            raise CompileObjection("the environment computes in float64")
        if environment.controls:
            raise CompileObjection("the environment has controls")
        layout = row_layout(environment)
        packing = packing_of(layout)
        wiring = synchronisation_table(environment, problem.policy)
        named = isinstance(watched.reward, str) and watched.reward in reward_names(environment)
        of_state: dict[str, Term] = {}
        if watched.reward is not None and not isinstance(watched.reward, str):
            of_state["reward"] = watched.reward
        asked = compile_conditions(
            problem, layout, {"right": watched.right, "left": watched.left, **of_state}
        )
        if asked.outputs:
            raise CompileObjection("the property mentions outputs of the network")
        marks = {name: asked.terms[name] for name in ("right", "left")}
        quantities = {name: asked.terms[name] for name in of_state}
        rewards = (str(watched.reward),) if named else ()
        model = ModelEmitter(environment, packing, rewards, marks, quantities, asked.facts)
        seen = _seen_by_machine(problem.policy, wiring.actions, model)
        self.interpreted = InterpretedSimulation(
            problem, watched, max_steps, starts, uniform=uniform, memo=memo
        )
        self.kernel = compile_llvm_ir(simulation_kernel_text(), cache, level=2)
        self.machine = compile_llvm_ir(
            model.text(), cache, level=0
        )  # a step is computed once and then looked up
        self.memory = KernelMemory(model, wiring, packing, self.machine)
        self.chain = SimulatedChain(self.memory, model, self.kernel, pack_rows(packing, starts))
        self.scale = reward_scale(environment, layout, watched.reward)
        memo = memo or bool(asked.facts)  # states are judged once
        self.chain.watch(watched, max_steps, self.scale, model)
        self.memory[KernelField.MEMO], self.memory[KernelField.UNIFORM] = memo, uniform
        self.memory[KernelField.FACT_COUNT] = len(asked.facts)
        self.memory.put_array(KernelField.FACTS, np.zeros(1 + len(asked.facts), dtype=np.int64))
        self.memory.put_list(
            KernelField.FACT_CODES, [_fact_code(name, wiring.actions) for name in asked.facts]
        )
        self.asking = None
        if problem.policy is not None:
            self.asking = PolicyQueries(
                problem.policy, environment, packing, wiring.actions, self.chain, memo
            )
        self.forward: MachineNetwork | BatchedNetwork | None = None
        if seen and isinstance(problem.policy, NeuralPolicy):
            self.forward = self._forward(problem.policy)
        self.evaluations = 0
        self.fates = CompiledFates(self.chain, self.kernel, self.interpreted, packing, self._decide)

    @property
    def counts(self) -> DecisionCounts:
        by_interpreter = self.interpreted.counts
        evaluations = self.evaluations + (0 if self.asking is None else self.asking.evaluations)
        return DecisionCounts(
            self.memory[KernelField.DECISIONS] + by_interpreter.decisions,
            evaluations + by_interpreter.evaluations,
        )

    def runs(self, seed: int, start: int | None, first: int, count: int) -> RunOutcomes:
        memory = self.memory
        outcome = np.full(count, NOT_FOLLOWED, dtype=np.int8)
        steps, low, high = (np.zeros(count, dtype=np.int64) for _ in range(3))
        for field, values in (
            (KernelField.RUN_OUTCOMES, outcome),
            (KernelField.RUN_STEPS, steps),
            (KernelField.RUN_LOWS, low),
            (KernelField.RUN_HIGHS, high),
        ):
            memory.put_array(field, values)
        memory[KernelField.SEED] = seed - (seed >> 63 << 64)
        memory[KernelField.PLACE] = 0 if start is None else start + 1
        memory[KernelField.START] = -1 if start is None else start
        memory[KernelField.FIRST_RUN] = memory[KernelField.NEXT_RUN] = first
        memory[KernelField.END_RUN] = first + count
        self.chain.lanes(max(1, min(_LANES, count)))
        while True:
            status = memory.call(self.kernel, "advance")
            if status:
                if not self.chain.grow(status, _MOST_STATES, _MOST_NODES):
                    raise AssertionError(f"the kernel ended with status {status}")
                continue
            waiting, checking = self.chain.waiting(), self.chain.checking().copy()
            if not len(waiting) and not len(checking):
                break
            if len(waiting):
                self._decide(len(waiting))
            if len(checking):
                self.fates.look(checking)
        reward_low, reward_high = (
            units_to_floats(low, self.scale, up=False),
            units_to_floats(high, self.scale, up=True),
        )
        for i in np.flatnonzero(outcome == NOT_FOLLOWED):
            one = self.interpreted.runs(seed, start, first + int(i), 1)
            outcome[i], steps[i] = one.outcome[0], one.steps[0]
            reward_low[i], reward_high[i] = one.reward_low[0], one.reward_high[0]
        return RunOutcomes(outcome, steps, reward_low, reward_high)

    def _forward(self, policy: NeuralPolicy) -> MachineNetwork | BatchedNetwork:
        applicable = policy.choose is Choose.ARGMAX_APPLICABLE
        layers = affine_relu_layers(policy.network)
        if layers is None:
            return BatchedNetwork(self.chain, self.kernel, policy.network, applicable, _LANES)
        return MachineNetwork(self.memory, self.kernel, layers, applicable)

    def _decide(self, count: int) -> None:
        """For all lanes that wait; one by one where batches leave something open."""
        if self.forward is not None:
            self.forward.decide()
            self.evaluations += count - self.memory[KernelField.WAITING_COUNT]
        if len(waiting := self.chain.waiting()):
            assert self.asking is not None
            self.asking.answer(waiting)


def _seen_by_machine(policy: Policy | None, actions: tuple[str, ...], model: ModelEmitter) -> bool:
    """Is this a network whose inputs the model can compute, and whose outputs are the actions in order?"""
    if not isinstance(policy, NeuralPolicy) or policy.choose not in (Choose.ARGMAX, Choose.ARGMAX_APPLICABLE):
        return False
    if len(set(actions)) < len(actions):
        return False
    try:
        model.add_observe(policy.observe)
    except CompileObjection:
        return False
    return True


def _fact_code(fact: str, actions: tuple[str, ...]) -> int:
    """How the kernel knows a fact."""
    if fact == STALLED:
        return -1
    if fact == DEADLOCKED:
        return -2
    action = chosen_action(fact)
    return actions.index(action) if action in actions else -3
