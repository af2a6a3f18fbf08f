"""Exploration of the reachable states of any problem that has finitely many, by the tier that suits it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from surefoot.errors import Unsupported
from surefoot.explore.delayed.choose import begin_delayed, continue_delayed
from surefoot.explore.delayed.explorer import DelayedExplorer, DelayedGaveUp
from surefoot.explore.delayed.model import DelayedQuestion, build_delayed_model, delayed_objection
from surefoot.explore.emit.state_packing import CompileObjection
from surefoot.explore.explored_model import ExploredModel
from surefoot.explore.interpret.interpreter import Interpreter
from surefoot.explore.limits import ExplorationLimits
from surefoot.explore.llvm.explorer import CompiledExplorer, MachineGaveUp
from surefoot.problem.problem import Problem
from surefoot.term.term import FALSE, Apply, Term
from surefoot.term.traverse import fold_term, is_constant_array
from surefoot.work.budget import Budget
from surefoot.work.machine.jit import cache_folder

_FEW = 200  # states that are interpreted before anything is compiled,
_FEW_OUTCOMES = 20_000  # or outcomes: a single state may have very many
_COMPILED = 5  # edges whose guards are looked at while one node of a term is compiled
_MOST_INTERPRETED = 2_000
_MANY = 1_000_000  # states that machine code explores sooner than open outcomes are followed up,
_BEFORE_DELAYED = 0.3  # and its share of the time until then
Tier: TypeAlias = Literal["auto", "interpreter", "llvm", "delayed"]
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
    delayed: DelayedQuestion | None = None,
    tier: Tier = "auto",
) -> ExploredModel:
    """The reachable part of a problem as a Markov decision process, with exact probabilities.

    Without a policy every enabled transition is a choice; a policy leaves what it decides, and what is the
    environment's own. `labels` are conditions, `quantities` numbers, both found out for every state;
    `rewards` are names of rewards of the environment. States in which `until` holds are not left: what would
    happen there is not looked at, and may even be undefined. States in which `through` holds and which have
    one choice with one outcome and no rewards are passed through, not stored (start states always are);
    that is up to whoever asks, since labels and quantities of such states are lost. `memory` is in bytes.
    `delayed`: the question that labels, quantities and rewards are about, if nothing else will be asked of
    the result; outcomes may then stay open where that makes far fewer states.
    """
    limits = ExplorationLimits(budget or Budget(), max_states, memory)
    asked = (problem, labels, quantities or {}, rewards, until, through)
    explored = _explore_by_tier(tier, limits, asked, delayed)
    size = f"{explored.markov.states} states, {explored.bytes_per_state:.0f} bytes each"
    limits.budget.progress(f"{size} ({explored.tier})")
    return explored


def _explore_by_tier(
    tier: Tier, limits: ExplorationLimits, asked: _Arguments, question: DelayedQuestion | None
) -> ExploredModel:
    if tier == "interpreter":
        return Interpreter(*asked).explore_states(limits)
    if tier == "delayed":
        return _explore_delayed(limits, asked, question)
    begun: DelayedExplorer | None = None
    if tier == "auto":
        worth = _states_to_interpret(asked[0], asked[3])
        most = worth if limits.max_states is None else min(worth, limits.max_states)
        outcomes = _FEW_OUTCOMES * worth // _FEW
        few = Interpreter(*asked).explore_states(replace(limits, max_states=most, max_outcomes=outcomes))
        if few.why_cut == "":
            return few
        if why := limits.limit_reached(few.markov.states, 0):  # the limit that was asked for
            return replace(few, why_cut=why)
        if question is not None:
            begun = begin_delayed(asked[0], question, few.markov, limits)
        if begun is not None and begun.is_done:
            return begun.build_result()
    try:
        return _explore_compiled(asked, limits, begun)
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
    if begun is not None and continue_delayed(begun, None, limits):
        return begun.build_result()
    return Interpreter(*asked).explore_states(limits)


def _states_to_interpret(problem: Problem, rewards: tuple[str, ...]) -> int:
    """How many states are interpreted in the time that it takes to compile the model.

    What is compiled are the terms of all edges, written out; what a state costs are the guards of all edges.
    """
    sizes: dict[int, int] = {}
    edges = [edge for component in problem.environment.components for edge in component.edges]
    size = 0
    for outcome in (o for edge in edges for o in edge.outcomes):
        terms = [outcome.probability, *(u.value for u in outcome.updates)]
        terms += [amount for name, amount in outcome.rewards if name in rewards]
        size += sum(_written_size(term, sizes) for term in terms)
    return min(max(_FEW, _COMPILED * size // max(1, len(edges))), _MOST_INTERPRETED)


def _written_size(term: Term, known: dict[int, int]) -> int:
    """Nodes of a term where each part stands in every place in which it occurs; a table counts as one."""

    def arguments(part: Apply, _: list[int]) -> Iterator[Term]:
        return iter(()) if is_constant_array(part) else iter(part.args)

    return fold_term(term, lambda _: 1, lambda _, parts: 1 + sum(parts), arguments, known)


def _explore_compiled(
    asked: _Arguments, limits: ExplorationLimits, begun: DelayedExplorer | None
) -> ExploredModel:
    """By machine code, unless there are many states and far fewer with open outcomes."""
    machine = CompiledExplorer(*asked, cache_folder())
    if begun is None or (limits.max_states is not None and limits.max_states <= _MANY):
        return machine.explore_states(limits)
    first = machine.explore_states(
        replace(limits, max_states=_MANY, budget=limits.budget.part(_BEFORE_DELAYED))
    )
    if first.why_cut == "" or limits.budget.is_spent():
        return first
    if continue_delayed(begun, first.markov, limits):
        return begun.build_result()
    return CompiledExplorer(*asked, cache_folder()).explore_states(limits)


def _explore_delayed(
    limits: ExplorationLimits, asked: _Arguments, question: DelayedQuestion | None
) -> ExploredModel:
    """With open outcomes, or an error that says why not."""
    why = "not for this question" if question is None else delayed_objection(asked[0], question)
    if why is None and question is not None:
        try:
            explorer = DelayedExplorer(build_delayed_model(asked[0], question))
            if explorer.advance(limits):
                return explorer.build_result()
            why = "a limit was reached"
        except DelayedGaveUp as stopped:
            why = str(stopped)
    raise Unsupported(f"no outcome stays open: {why}", fix="use another tier")


def llvm_objection(problem: Problem) -> str | None:
    """Why the compiled tier does not take this environment and policy, in a sentence."""
    try:
        CompiledExplorer(problem, {}, {}, (), FALSE, FALSE, None)
    except CompileObjection as why:
        return str(why)
    return None
