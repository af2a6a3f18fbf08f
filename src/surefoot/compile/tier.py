"""Exploration of the reachable states of any problem that has finitely many, by the tier that suits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from surefoot.compile.emit.packing import Objection
from surefoot.compile.explored import Explored
from surefoot.compile.interpret.interpreter import Interpreter
from surefoot.compile.limits import Limits
from surefoot.compile.llvm.explorer import Compiled, GaveUp
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.term import FALSE, Term
from surefoot.work.budget import Budget
from surefoot.work.machine.code import cache_folder

_FEW = 200  # states that are interpreted before anything is compiled
Tier: TypeAlias = Literal["auto", "interpreter", "llvm"]
_Asked: TypeAlias = tuple[Problem, Mapping[str, Term], Mapping[str, Term], tuple[str, ...], Term, Term]


def explore(
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
) -> Explored:
    """The reachable part of a problem as a Markov decision process, with exact probabilities.

    Without a policy every enabled transition is a choice; a policy leaves what it decides, and what is the
    environment's own. `labels` are conditions, `quantities` numbers, both found out for every state;
    `rewards` are names of rewards of the environment. States in which `until` holds are not left: what would
    happen there is not looked at, and may even be undefined. States in which `through` holds and which have
    one choice with one outcome and no rewards are passed through, not stored (start states always are);
    that is up to whoever asks, since labels and quantities of such states are lost. `memory` is in bytes.
    """
    limits = Limits(budget or Budget(), max_states, memory)
    explored = _explored(tier, limits, (problem, labels, quantities or {}, rewards, until, through))
    size = f"{explored.markov.states} states, {explored.bytes_per_state:.0f} bytes each"
    limits.budget.progress(f"{size} ({explored.tier})")
    return explored


def _explored(tier: Tier, limits: Limits, asked: _Asked) -> Explored:
    if tier == "auto":
        most = _FEW if limits.max_states is None else min(_FEW, limits.max_states)
        few = Interpreter(*asked).run(replace(limits, max_states=most))
        if few.why_cut == "":
            return few
        if why := limits.exceeded(few.markov.states, 0):  # the limit that was asked for
            return replace(few, why_cut=why)
    elif tier == "interpreter":
        return Interpreter(*asked).run(limits)
    try:
        return Compiled(*asked, cache_folder()).run(limits)
    except Objection as refusal:
        if tier == "llvm":
            raise Unsupported(f"this is not compiled: {refusal}", fix="use the interpreter") from None
    except GaveUp as where:
        if where.row is not None and asked[0].policy is None:
            Interpreter(*asked).explain(where.row)
        limits.budget.progress("machine code does not suffice; interpreting from the start")
        whole = Interpreter(*asked).run(limits)  # raises what is undefined
        if tier == "llvm":
            raise Unsupported("64 bits are not enough here", fix="use the interpreter") from None
        return whole
    return Interpreter(*asked).run(limits)


def objection(problem: Problem) -> str | None:
    """Why the compiled tier does not take this environment and policy, in a sentence."""
    try:
        Compiled(problem, {}, {}, (), FALSE, FALSE, None)
    except Objection as why:
        return str(why)
    return None
