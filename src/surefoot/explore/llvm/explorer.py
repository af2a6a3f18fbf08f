"""Exploration by machine code: allocates what the kernel works on, asks the policy, and collects the result.

Numbering and choices are those of the interpreter. Where machine code gives up (a value is undefined, or 64
bits are not enough) it says in which state, and the interpreter takes over: for the message, or for the exact
answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.explore.emit.model import ModelEmitter
from surefoot.explore.emit.state_packing import CompileObjection, PackedStates, pack_rows, packing_of
from surefoot.explore.explored_model import ExploredModel
from surefoot.explore.initial_states import initial_rows
from surefoot.explore.limits import ExplorationLimits
from surefoot.explore.llvm.exploration_kernel import exploration_kernel_text
from surefoot.explore.llvm.kernel_memory import KernelMemory
from surefoot.explore.llvm.kernel_table import KernelField
from surefoot.explore.llvm.synchronisation_table import synchronisation_table
from surefoot.explore.policy_decisions import compile_policy
from surefoot.explore.row_layout import row_layout
from surefoot.explore.state_conditions import STAYS, UNTIL, compile_exploration_conditions
from surefoot.problem.policy import Choose, NeuralPolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.query.markov import Markov
from surefoot.term.closures import Row
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_action
from surefoot.term.term import FALSE, Term
from surefoot.term.value_types import Arithmetic
from surefoot.work.machine.jit import compile_llvm_ir

_CHUNK = 1 << 16
_FEWER = 1 << 12  # where each state may take long
_SIGN = np.int64(-(2**63))


class MachineGaveUp(Exception):
    """Machine code could not go on in this state; None: while it looked at labels."""

    def __init__(self, row: Row | None) -> None:
        super().__init__("machine code gave up")
        self.row = row


def _objection_to(policy: Policy) -> str:
    match policy:
        case NeuralPolicy(choose=Choose.SAMPLE):
            return "the policy draws its actions"
        case NeuralPolicy():
            return ""
        case ProgramPolicy(branches):
            inner = [_objection_to(b.then) for b in branches if not isinstance(b.then, str | tuple)]
            return next((o for o in inner if o), "")
        case ShieldedPolicy(first, _, second):
            return _objection_to(first) or _objection_to(second)
        case _:
            return "the policy is a Python function"


class CompiledExplorer:
    """A problem in machine code, ready to be explored; `Objection` where it cannot be."""

    def __init__(
        self,
        problem: Problem,
        labels: Mapping[str, Term],
        quantities: Mapping[str, Term],
        rewards: tuple[str, ...],
        until: Term,
        through: Term,
        cache: Path | None,
    ) -> None:
        began = perf_counter()
        environment, policy = problem.environment, problem.policy
        if environment.arithmetic is not Arithmetic.EXACT:
            raise CompileObjection("the environment computes in float64")
        if environment.controls:
            raise CompileObjection("the environment has controls")
        if policy is not None and (why := _objection_to(policy)):
            raise CompileObjection(why)
        self.problem, self.rewards = problem, rewards
        self.layout = row_layout(environment)
        self.packing = packing_of(self.layout)
        self.wiring = synchronisation_table(environment, policy)
        asked = compile_exploration_conditions(problem, self.layout, labels, quantities, until, through)
        if asked.outputs:
            raise CompileObjection("a label mentions outputs of the network")
        self.facts = asked.facts
        if asked.mentions_facts(UNTIL):
            raise CompileObjection("where to end depends on what the policy does")
        until = asked.terms[UNTIL]
        self.passing = through != FALSE and not asked.mentions_facts(STAYS)
        self.labels = {name: asked.terms[f"l:{name}"] for name in labels}
        self.quantities = {name: asked.terms[f"q:{name}"] for name in quantities}
        marks = {**self.labels, UNTIL: until}
        self.model = ModelEmitter(environment, self.packing, rewards, marks, self.quantities, self.facts)
        if until != FALSE:
            self.model.add_condition(UNTIL, until)
        if self.passing:
            self.model.add_condition(STAYS, asked.terms[STAYS])
        self.cache = cache
        self.seconds = {"write": perf_counter() - began}

    def explore_states(self, limits: ExplorationLimits) -> ExploredModel:
        began = perf_counter()
        self.kernel = compile_llvm_ir(exploration_kernel_text(passing=self.passing), self.cache, level=2)
        # Optimising a model takes ten times as long as translating it, and gains less than half the run time.
        self.machine = compile_llvm_ir(self.model.text(), self.cache, level=0)
        self.memory = KernelMemory(self.model, self.wiring, self.packing, self.machine)
        if self.passing:
            self.memory.look_ahead(self.machine.address(STAYS))
        self.seconds["compile"], began = perf_counter() - began, perf_counter()
        rows = initial_rows(self.problem.environment, self.layout, budget=limits.budget)
        self.memory.start(pack_rows(self.packing, rows), self.kernel)
        self.seconds["starts"], began = perf_counter() - began, perf_counter()
        done, why = self._search(limits)
        self.seconds["explore"], began = perf_counter() - began, perf_counter()
        self._judge()
        self.seconds["labels"] = perf_counter() - began
        return self._build_result(len(rows), done, why)

    def _search(self, limits: ExplorationLimits) -> tuple[int, str]:
        memory = self.memory
        self.stalled = np.zeros(0, dtype=np.bool_)
        self.near_tie = np.zeros(0, dtype=np.bool_)
        policy = self.problem.policy
        decide = (
            None
            if policy is None
            else compile_policy(policy, self.problem.environment, self.layout, outputs=False)
        )
        memory[KernelField.STATE_LIMIT] = 2**62 if limits.max_states is None else limits.max_states
        done, why, chunk = 0, "", _FEWER if self.passing else _CHUNK
        while done < memory[KernelField.STATE_COUNT] and not why:
            stop = min(done + chunk, memory[KernelField.STATE_COUNT])
            if decide is not None:
                self._decide(decide, done, stop)
            try:
                self._expand(done, stop if decide is not None else done + chunk)
            except MemoryError:
                why = "the memory of this machine"
            done = memory[KernelField.POSITION]
            count = memory[KernelField.STATE_COUNT]
            why = why or (limits.limit_reached(count, memory.bytes()) if done < count else "")
        if decide is not None:
            for start in range(done, memory[KernelField.STATE_COUNT], _CHUNK):
                self._decide(decide, start, min(start + _CHUNK, memory[KernelField.STATE_COUNT]))
            self.stalled = self.stalled[: memory[KernelField.STATE_COUNT]]
            self.near_tie = self.near_tie[: memory[KernelField.STATE_COUNT]]
        else:
            self.stalled = np.zeros(memory[KernelField.STATE_COUNT], dtype=np.bool_)
            self.near_tie = self.stalled
        return done, why

    def _expand(self, start: int, stop: int) -> None:
        memory = self.memory
        memory[KernelField.POSITION], memory[KernelField.LIMIT] = start, stop
        while status := memory.call(self.kernel, "expand"):
            if not memory.grow(status, self.kernel):
                raise MachineGaveUp(self._states().row(memory[KernelField.POSITION]))

    def _states(self) -> PackedStates:
        return PackedStates(self.packing, self.memory.states())

    def _masks(self, start: int, stop: int) -> NDArray[np.int64]:
        """Which actions of the policy are enabled; the sign bit: some transition is."""
        memory = self.memory
        masks = np.zeros(stop - start, dtype=np.int64)
        limit, until = memory[KernelField.STATE_LIMIT], memory[KernelField.UNTIL]
        memory[KernelField.UNTIL] = (
            0 if self.facts else until
        )  # labels may ask what is enabled in final states
        memory[KernelField.MASKS], memory[KernelField.STATE_LIMIT] = (
            masks.ctypes.data - 8 * start,
            2**62,
        )  # it is indexed by state
        self._expand(start, stop)
        memory[KernelField.MASKS], memory[KernelField.STATE_LIMIT], memory[KernelField.UNTIL] = (
            0,
            limit,
            until,
        )
        return masks

    def _decide(self, decide: Any, start: int, stop: int) -> None:
        masks = self._masks(start, stop) & ~_SIGN
        decided = self.memory.decided_actions(stop)
        decided[start:stop] = -1
        self.stalled, self.near_tie = _extend_flags(self.stalled, stop), _extend_flags(self.near_tie, stop)
        asked = np.flatnonzero(masks)
        if not len(asked):
            return
        rows = PackedStates(self.packing, self.memory.states()[asked + start]).rows()
        sets = {int(m): self._actions(int(m)) for m in np.unique(masks)}
        made = decide(rows, [sets[int(m)] for m in masks[asked]])
        number = {name: i for i, name in enumerate(self.wiring.actions)}
        for i, one in zip(asked + start, made, strict=True):
            for action in one.decision.actions:
                decided[i] = number.get(action, -1)
            self.stalled[i], self.near_tie[i] = one.decision.stalls, one.near_tie

    def _actions(self, mask: int) -> frozenset[str]:
        return frozenset(name for i, name in enumerate(self.wiring.actions) if mask >> i & 1)

    def _judge(self) -> None:
        memory, count = self.memory, self.memory[KernelField.STATE_COUNT]
        facts = np.zeros((count, len(self.facts)), dtype=np.int64)
        for i, name in enumerate(self.facts):
            if name == DEADLOCKED:
                facts[:, i] = self._masks(0, count) == 0
            elif name == STALLED:
                facts[:, i] = self.stalled
            else:
                action = chosen_action(name)
                number = self.wiring.actions.index(action) if action in self.wiring.actions else -2
                facts[:, i] = memory.decided_actions(count)[:count] == number
        self.label_bytes = np.zeros((count, len(self.labels) + 1), dtype=np.uint8)
        self.quantity_column = np.zeros((count, len(self.quantities)), dtype=np.int32)
        memory[KernelField.FACTS], memory[KernelField.FACT_COUNT] = facts.ctypes.data, len(self.facts)
        memory[KernelField.LABEL_BYTES] = self.label_bytes.ctypes.data
        memory[KernelField.LABEL_COUNT], memory[KernelField.QUANTITY_COUNT] = (
            len(self.labels) + 1,
            len(self.quantities),
        )
        memory[KernelField.QUANTITY_COLUMN] = self.quantity_column.ctypes.data
        memory[KernelField.POSITION], memory[KernelField.LIMIT] = 0, count
        while status := memory.call(self.kernel, "judge"):
            if not memory.grow(status, self.kernel):
                raise MachineGaveUp(None)

    def _build_result(self, starts: int, done: int, why: str) -> ExploredModel:
        memory, count = self.memory, self.memory[KernelField.STATE_COUNT]
        arrays = memory.result(done)
        final = self.label_bytes[:, -1].astype(np.bool_)
        codes, transition = _renumber_codes(arrays.codes, self.wiring.codes)
        transitions = tuple((self.wiring.transition(int(code)),) for code in codes)
        label_names = tuple(dict.fromkeys(t.label for (t,) in transitions if t.label))
        numbers = {name: i for i, name in enumerate(label_names)}
        labels = np.array([numbers.get(t.label or "", -1) for (t,) in transitions], dtype=np.int32)
        markov = Markov(
            choices=arrays.choices,
            outcomes=arrays.outcomes,
            targets=arrays.targets,
            weights=arrays.weights,
            values=tuple(map(Fraction, arrays.tops.tolist(), arrays.bottoms.tolist())),
            initial=np.arange(starts, dtype=np.int64),
            rewards=dict(zip(self.rewards, arrays.rewards, strict=True)),
            labels={name: self.label_bytes[:, i].astype(np.bool_) for i, name in enumerate(self.labels)},
            cut=(np.arange(count) >= done) & ~final,
        )
        nothing = np.zeros(count, dtype=np.bool_)
        return ExploredModel(
            markov=markov,
            states=PackedStates(self.packing, memory.states().copy()),
            labels=labels[transition] if len(labels) else transition,
            label_names=label_names,
            transition=transition,
            transitions=transitions,
            chosen=np.zeros(len(transition), dtype=np.int32),
            chosen_values=({},),
            stalled=self.stalled,
            near_tie=self.near_tie,
            halted=nothing,
            final=final,
            blocked=nothing,
            quantities={name: self.quantity_column[:, i].copy() for i, name in enumerate(self.quantities)},
            tier="llvm",
            seconds=self.seconds,
            bytes_per_state=memory.bytes() / max(1, count),
            why_cut=why,
        )


def _extend_flags(flags: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    if len(flags) >= count:
        return flags
    longer = np.zeros(max(count, 2 * len(flags)), dtype=np.bool_)
    longer[: len(flags)] = flags
    return longer


def _renumber_codes(codes: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The codes that occur, and the position of each choice's among them."""
    if most > 10_000_000:
        found, where = np.unique(codes, return_inverse=True)
        return found, where.astype(np.int32)
    used = np.zeros(most, dtype=np.bool_)
    used[codes] = True
    position = np.cumsum(used, dtype=np.int32) - 1
    return np.flatnonzero(used), position[codes].astype(np.int32)
