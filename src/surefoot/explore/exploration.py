"""Exploration of the reachable states of any problem that has finitely many, by the tier that suits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from surefoot.errors import Unsupported
from surefoot.explore.emit.state_packing import CompileObjection
from surefoot.explore.explored_model import ExploredModel
from surefoot.explore.interpret.interpreter import Interpreter
from surefoot.explore.limits import ExplorationLimits
from surefoot.explore.llvm.explorer import CompiledExplorer, MachineGaveUp
from surefoot.problem.problem import Problem
from surefoot.term.term import FALSE, Term
from surefoot.work.budget import Budget
from surefoot.work.machine.jit import cache_folder

_FEW = 200  # states that are interpreted before anything is compiled,
_FEW_OUTCOMES = 20_000  # or outcomes: a single state may have very many
Tier: TypeAlias = Literal["auto", "interpreter", "llvm"]
_Arguments: TypeAlias = tuple[Problem, Mapping[str, Term], Mapping[str, Term], tuple[str, ...], Term, Term]


def explore_problem(
    problem: Problem,
    *,
    labels: Mapping[str, Term],
    rewards: tuple[str, ...] = (),
    quantities: Mapping[str, Term] | None = None,
    budget: Budget | None = None,
    max_states: int | None = None,
    memory: int | None = None,
    until: Term = FALSE,
    through: Term = FALSE,
    tier: Tier = "auto",
) -> ExploredModel:
    """The reachable part of a problem as a Markov decision process, with exact probabilities.

    Without a policy every enabled transition is a choice; a policy leaves what it decides, and what is the
    environment's own. `labels` are conditions, `quantities` numbers, both found out for every state;
    `rewards` are names of rewards of the environment. States in which `until` holds are not left: what would
    happen there is not looked at, and may even be undefined. States in which `through` holds and which have
    one choice with one outcome and no rewards are passed through, not stored (start states always are);
    that is up to whoever asks, since labels and quantities of such states are lost. `memory` is in bytes.
    """
    limits = ExplorationLimits(budget or Budget(), max_states, memory)
    explored = _explore_by_tier(tier, limits, (problem, labels, quantities or {}, rewards, until, through))
    size = f"{explored.markov.states} states, {explored.bytes_per_state:.0f} bytes each"
    limits.budget.progress(f"{size} ({explored.tier})")
    return explored


def _explore_by_tier(tier: Tier, limits: ExplorationLimits, asked: _Arguments) -> ExploredModel:
    if tier == "auto":
        most = _FEW if limits.max_states is None else min(_FEW, limits.max_states)
        few = Interpreter(*asked).explore_states(replace(limits, max_states=most, max_outcomes=_FEW_OUTCOMES))
        if few.why_cut == "":
            return few
        if why := limits.limit_reached(few.markov.states, 0):  # the limit that was asked for
            return replace(few, why_cut=why)
    elif tier == "interpreter":
        return Interpreter(*asked).explore_states(limits)
    try:
        return CompiledExplorer(*asked, cache_folder()).explore_states(limits)
    except CompileObjection as refusal:
        if tier == "llvm":
            raise Unsupported(f"this is not compiled: {refusal}", fix="use the interpreter") from None
    except MachineGaveUp as where:
        if where.row is not None and asked[0].policy is None:
            Interpreter(*asked).explain(where.row)
        limits.budget.progress("machine code does not suffice; interpreting from the start")
        whole = Interpreter(*asked).explore_states(limits)  # raises what is undefined
        if tier == "llvm":
            raise Unsupported("64 bits are not enough here", fix="use the interpreter") from None
        return whole
    return Interpreter(*asked).explore_states(limits)


def llvm_objection(problem: Problem) -> str | None:
    """Why the compiled tier does not take this environment and policy, in a sentence."""
    try:
        CompiledExplorer(problem, {}, {}, (), FALSE, FALSE, None)
    except CompileObjection as why:
        return str(why)
    return None
