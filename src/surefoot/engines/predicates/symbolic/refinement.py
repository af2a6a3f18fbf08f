"""Refinement where states are too many to be looked at: search, examine a path, add a predicate, go on.

Ends with a closed set of abstract states, with a run that the reference semantics makes, or with the reason
why there is neither and the abstraction as far as it was built.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil, floor, prod
from typing import TYPE_CHECKING

from surefoot.engines.predicates.dynamics import Dynamics, OutOfTime, count_states, scalar_domain
from surefoot.engines.predicates.enumerative.boxes import MOST
from surefoot.engines.predicates.graph import abstract_state, state_from_scalars
from surefoot.engines.predicates.inductive_invariant import WHOLE, holds_by_invariant
from surefoot.engines.predicates.symbolic.beyond_rounding import explore_reference, margin_at, require_margin
from surefoot.engines.predicates.symbolic.cubes import Cube, finite_bounds
from surefoot.engines.predicates.symbolic.expansion import AbstractKey
from surefoot.engines.predicates.symbolic.falsify import falsify_by_simulation
from surefoot.engines.predicates.symbolic.property_directed import PropertyDirected, Turn
from surefoot.engines.predicates.symbolic.search import AbstractReach, SymbolicSearch, symbolic_search
from surefoot.engines.predicates.symbolic.spurious_paths import (
    ConcreteRun,
    Spurious,
    as_trace,
    concretise_path,
    property_comparisons,
)
from surefoot.engines.predicates.symbolic.transition_cubes import build_predicate, successor_point
from surefoot.errors import InvalidProblem
from surefoot.problem.property import Never
from surefoot.problem.semantics import State, holds_in_state
from surefoot.reductions.concretise import CandidateRun, concretise_run
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Op, Term, split_conjunction
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import (
    AbstractInvariant,
    Box,
    Holds,
    ProofArgument,
    Reason,
    Refused,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)
from surefoot.work.budget import Budget
from surefoot.work.deadline import Late

if TYPE_CHECKING:
    from surefoot.engines.predicates.engine import Predicates

FIRST_TURN = 1.0  # seconds of refinement before an invariant is sought, if nothing comes out of them
INVARIANTS_SHARE = 0.3  # of the time of refinement, for invariants
SHARE, LONGEST = 0.1, 60.0  # of the time, for runs that are tried first
FURTHER = 0.25  # of the time, for states of the reference if only rounding leads to a bad one
ROUNDS, WIDER = 6, 16  # of searches beyond rounding, by margins that get wider


@dataclass(slots=True)
class KeptRefinement:
    """What a turn leaves to the next one."""

    refining: RefinementLoop | None = None
    attacked: Trace | None = None


def check_symbolically(
    engine: Predicates, dynamics: Dynamics, budget: Budget, kept: KeptRefinement
) -> Verdict:
    """The verdict on `never`, with the abstract graph beside it."""
    refining = kept.refining
    if refining is None:
        refining = _begin_refinement(engine, dynamics, budget)
        if not engine.fixed:
            seconds = SHARE * min(budget.remaining(), LONGEST)
            kept.attacked = falsify_by_simulation(refining.search, budget, seconds)
    kept.refining, attacked = None, kept.attacked  # not kept if it ends in the middle of something
    refining.continue_with(budget)
    try:
        found = refining.search_unsafe(attacked)
    except (KeyboardInterrupt, Late) as stop:
        return refining.interruption_verdict(attacked, late=isinstance(stop, Late))
    if found is None:
        if not refining.search.has_starts():
            return Vacuous("there is no start state")
        foreign = engine.selected_configuration().answerers().names()
        return _holds_verdict(refining.search, refining.graph, foreign)
    if not isinstance(found, ConcreteRun):
        kept.refining = refining
        return found
    said = _replay_run(refining.search, found, refining.graph)
    return said if isinstance(said, Violated) else _search_beyond_rounding(refining, found, said)


def _begin_refinement(engine: Predicates, dynamics: Dynamics, budget: Budget) -> RefinementLoop:
    chosen = engine.selected_configuration()
    answerers = chosen.answerers()
    search = symbolic_search(dynamics, engine.asked_tests(), budget, answerers, chosen.leaves)
    for shown in engine.predicates:
        search.expansion.add(build_predicate(dynamics, shown, dynamics.expand_predicate(shown)))
    refining = RefinementLoop(search, budget, engine.fixed, engine.max_predicates)
    if not engine.fixed and engine.strategy != "refinement" and not answerers.names():
        refining.invariants = InvariantTurns(search, engine.strategy == "invariants")
    return refining


@dataclass(slots=True)
class InvariantTurns:
    """The search for an invariant, which goes on where its last turn ended."""

    search: SymbolicSearch
    alone: bool  # there is no refinement beside it
    turns: Turn | None = None
    gave_up: bool = False

    def take_turn(self, budget: Budget, seconds: float) -> ConcreteRun | Term | None:
        """A run, or an invariant; None: not yet, or never (`gave_up`)."""
        clock = Budget(min(seconds, budget.remaining()))
        if self.turns is None:
            self.turns = PropertyDirected(self.search).turns()
        with suppress(OutOfTime):
            while not clock.is_spent() and not budget.is_spent():
                try:
                    next(self.turns)
                except StopIteration as end:
                    found: ConcreteRun | Term | None = end.value
                    self.gave_up = found is None
                    return found
        return None


@dataclass(slots=True)
class RefinementLoop:
    """Search and refinement, until there is nothing unsafe, a run to it, or a reason to stop."""

    search: SymbolicSearch
    budget: Budget
    fixed: bool
    most: int
    refinements: list[tuple[str, Term]] = field(default_factory=list)
    invariants: InvariantTurns | None = None
    graph: AbstractGraph = field(init=False)

    def __post_init__(self) -> None:
        self.graph = symbolic_graph(self.search, AbstractReach(), ())

    def continue_with(self, budget: Budget) -> None:
        self.budget = self.search.expansion.space.budget = budget

    def search_unsafe(self, attacked: Trace | None = None) -> ConcreteRun | Verdict | None:
        """None: no unsafe abstract state can be reached."""
        search, turn = self.search, FIRST_TURN
        if attacked is None and (other := self._seek_invariant(INVARIANTS_SHARE * turn, None)) is not None:
            return other
        while True:
            begun = self.budget.elapsed_seconds()
            alone = self.invariants is None
            clock = self.budget if alone else self.budget.part(min(1.0, turn / self._seconds_left()))
            reached = AbstractReach()
            if alone or not self.invariants_only():
                reached = search.search_waves(clock, to_the_end=self.fixed)
            self.graph = graph = symbolic_graph(search, reached, self.refinements)
            if attacked is not None:
                return Violated(attacked, artifact=graph)
            if self.budget.is_spent():
                sizes = count_noun(len(search.expansion.predicates), "predicate")
                return Unknown(Reason.TIMEOUT, f"the budget ended with {sizes}", artifact=graph)
            if reached.complete and not reached.starts:
                return Vacuous("there is no start state")
            if reached.complete and not reached.unsafe:
                return None
            stopped = None
            if reached.unsafe:
                goal = min(reached.unsafe, key=lambda k: (reached.distance[k], k))
                found = concretise_path(search, reached, goal)
                if isinstance(found, ConcreteRun):
                    return found
                why = self._stop_reason(found, len(reached.unsafe))
                stopped = None if why is None else Unknown(Reason.INCOMPLETE, why, artifact=graph)
                if stopped is None:
                    assert isinstance(found, Spurious)
                    self._add(found)
            else:
                turn *= 2
            spent = self.budget.elapsed_seconds() - begun
            if (other := self._seek_invariant(INVARIANTS_SHARE * max(spent, turn), stopped)) is not None:
                return other

    def _seconds_left(self) -> float:
        return max(1e-3, self.budget.remaining())

    def invariants_only(self) -> bool:
        return self.invariants is not None and self.invariants.alone

    def _seek_invariant(self, seconds: float, stopped: Unknown | None) -> ConcreteRun | Verdict | None:
        """So many seconds; all the time that is left if refinement has `stopped`."""
        if self.invariants is None:
            return stopped
        alone = self.invariants.alone or stopped is not None
        found = self.invariants.take_turn(self.budget, self.budget.remaining() if alone else seconds)
        if isinstance(found, ConcreteRun):
            return found
        if found is not None:
            return _invariant_verdict(self.search, found, self.graph)
        if self.invariants.gave_up:
            what = "a question about a step could not be decided"
            alone_word = (
                Unknown(Reason.INCOMPLETE, what, artifact=self.graph) if self.invariants.alone else None
            )
            self.invariants = None
            return stopped or alone_word
        return stopped

    def interruption_verdict(self, attacked: Trace | None, *, late: bool) -> Verdict:
        """A violation that is known, or the graph of the last search that was finished."""
        graph = self.graph
        if attacked is not None:
            return Violated(attacked, artifact=graph)
        sizes = count_noun(len(graph.predicates), "predicate")
        reason, what = Reason.INTERRUPTED, "interrupted by the user"
        if late:
            reason, what = Reason.TIMEOUT, "the budget ended"
        return Unknown(reason, f"{what} with {sizes}", artifact=graph)

    def _stop_reason(self, found: Spurious | Refused, unsafe: int) -> str | None:
        predicates = self.search.expansion.predicates
        if isinstance(found, Refused):
            return found.detail
        if self.fixed:
            states = f"{unsafe} of {count_noun(len(self.graph.states), 'abstract state')} are unsafe"
            return f"{states}, and a path to one is spurious ({found.why}); leave out --fixed to refine"
        if len(predicates) >= self.most:
            return f"there are {self.most} predicates"
        if any(p.condition == found.condition for p in predicates):
            shown = show_term(self.search.dynamics.model_term(found.condition))
            return f"the predicate `{shown}` does not remove a spurious path"
        return None

    def _add(self, found: Spurious) -> None:
        expansion, dynamics = self.search.expansion, self.search.dynamics
        new = [found.condition, *(property_comparisons(self.search) if found.why == "unsafe" else ())]
        for condition in new:
            if all(p.condition != condition for p in expansion.predicates):
                shown = dynamics.model_term(condition)
                self.refinements.append((found.why, shown))
                expansion.add(build_predicate(dynamics, shown, condition))


def _search_beyond_rounding(refining: RefinementLoop, found: ConcreteRun, doubt: Unknown) -> Verdict:
    """Another run, which the reference makes, or the doubt that is there already."""
    search, budget, graph = refining.search, refining.budget, doubt.artifact
    looked = explore_reference(search, budget, FURTHER * min(budget.remaining(), LONGEST))
    if looked.run is not None:
        return Violated(looked.run, artifact=graph)
    if looked.all_of_them:
        seen = count_noun(looked.states, "state")
        return replace(doubt, detail=f"{doubt.detail}; none of the {seen} that it reaches is bad")
    if not found.goal.bad:
        return doubt
    margin = margin_at(search, found.points)
    for _ in range(ROUNDS):
        refining.search = search = require_margin(search, margin)
        other = refining.search_unsafe()
        if not isinstance(other, ConcreteRun):
            break
        said = _replay_run(search, other, graph)
        if isinstance(said, Violated):
            return said
        margin *= WIDER
    wanted = "a run that does not depend on rounding"
    tried = f"the budget ended before {wanted} was found" if budget.is_spent() else f"nor was {wanted} found"
    return replace(doubt, detail=f"{doubt.detail}; {tried}")


def _holds_verdict(search: SymbolicSearch, graph: AbstractGraph, foreign: Sequence[str]) -> Verdict:
    dynamics = search.dynamics
    if dynamics.doubt:
        return Unknown(Reason.NUMERICS, dynamics.doubt.detail, artifact=graph)
    sizes = f"{count_noun(len(graph.states), 'state')} and {count_noun(len(graph.predicates), 'predicate')}"
    how = f"by a predicate abstraction with {sizes}"
    if foreign:  # their "impossible" has a tolerance, or no proof
        return Holds(None, ", ".join(foreign), as_asked=True, how=how, artifact=graph)
    return holds_by_invariant(dynamics, graph, how, _closed_states(search, graph))


def _invariant_verdict(search: SymbolicSearch, invariant: Term, graph: AbstractGraph) -> Verdict:
    """What holds because no step leaves an invariant."""
    dynamics = search.dynamics
    if not search.has_starts():
        return Vacuous("there is no start state")
    if dynamics.doubt:
        return Unknown(Reason.NUMERICS, dynamics.doubt.detail, artifact=graph)
    clauses = split_conjunction(invariant)
    parts = prod(len(c.args) if isinstance(c, Apply) and c.op is Op.OR else 1 for c in clauses)
    argument = ProofArgument("parts" if parts <= WHOLE else "closed", 1, invariant=invariant)
    how = f"by a property-directed invariant of {count_noun(len(clauses), 'clause')}"
    return Holds(None, "predicates", as_asked=True, how=how, argument=argument, artifact=graph)


def _closed_states(search: SymbolicSearch, graph: AbstractGraph) -> AbstractInvariant | None:
    """The abstract states with boxes around their states; None where a checker cannot go through these."""
    dynamics, expansion = search.dynamics, search.expansion
    ranges = [scalar_domain(kind) for kind in dynamics.layout.kinds.values()]
    if None in ranges:
        return None
    names = [c.name for c in dynamics.problem.environment.components if len(c.locations) > 1]
    places = {c.name: c.locations for c in dynamics.problem.environment.components}
    keys = [
        AbstractKey(tuple(places[n].index(p) for n, (_, p) in zip(names, s.locations, strict=True)), s.values)
        for s in graph.states
    ]
    boxes = dict.fromkeys(_integer_box(dynamics, cube) for key in keys for cube in expansion.cubes(key))
    if sum(prod(high - low + 1 for low, high in box) for box in boxes) > MOST:
        boxes = {tuple((r[0], r[-1]) for r in ranges if r is not None): None}
        if count_states(dynamics.layout) > MOST:
            return None
    return AbstractInvariant(graph.predicates, tuple((k.places, k.bits) for k in keys), tuple(boxes))


def _integer_box(dynamics: Dynamics, cube: Cube) -> Box:
    ends = (finite_bounds(name, cube, dynamics.kinds) for name in dynamics.scalars)
    return tuple((ceil(low), floor(high)) for low, high in ends)


def _replay_run(search: SymbolicSearch, found: ConcreteRun, graph: object) -> Violated | Unknown:
    """A run to a bad state that the reference makes is a violation; to an error of the model, no answer."""
    if not found.goal.bad:
        what = "a run comes to a state in which the model has no value, or leaves the range of a variable"
        return Unknown(Reason.INCOMPLETE, what, artifact=graph)
    problem, claimed = search.dynamics.problem, as_trace(search, found)
    trace = concretise_run(problem, CandidateRun(claimed.states[0], claimed.moves))
    assert isinstance(problem.property, Never)
    try:
        if isinstance(trace, Trace) and holds_in_state(problem, trace.states[-1], problem.property.bad):
            return Violated(trace, artifact=graph)
    except InvalidProblem as error:
        trace = Refused(Reason.NUMERICS, str(error))
    why = trace if isinstance(trace, Refused) else "its last state is not bad"
    what = f"a bad state may be reached, but not in the reference evaluation: {why}"
    return Unknown(Reason.NUMERICS, what, artifact=graph)


def symbolic_graph(
    search: SymbolicSearch, reached: AbstractReach, refinements: Sequence[tuple[str, Term]]
) -> AbstractGraph:
    """The abstract states that were met, each with a state of its own where one is known."""
    expansion = search.expansion
    known = _abstract_witnesses(search)
    shown = tuple(p.shown for p in expansion.predicates)
    number = {key: i for i, key in enumerate(reached.before)}
    starts = set(reached.starts)
    states = tuple(
        abstract_state(
            search.dynamics,
            key.places,
            key.bits,
            known.get(key),
            start=key in starts,
            unsafe=key in reached.unsafe,
            distance=reached.distance[key],
        )
        for key in number
    )
    edges = tuple((number[s], label, number[t]) for s, label, t in reached.edges if t in number)
    tests = tuple(expansion.space.tests.values())
    exact = {"exact"} <= expansion.tests and not expansion.undecided
    return AbstractGraph(
        shown, states, edges, "cells", exact, tests, tuple(refinements), complete=reached.complete
    )


def _abstract_witnesses(search: SymbolicSearch) -> dict[AbstractKey, State]:
    expansion = search.expansion
    found: dict[AbstractKey, State] = {}
    for several in expansion.witnesses.values():
        for witness in several:
            way = expansion.ways[witness.way]
            if witness.way < expansion.moves and witness.source not in found:
                found[witness.source] = state_from_scalars(search.dynamics, witness.point)
            if witness.target not in found:
                found[witness.target] = state_from_scalars(
                    search.dynamics, successor_point(witness.point, way)
                )
    for point in search.starts or ():
        found.setdefault(expansion.key(point), state_from_scalars(search.dynamics, point))
    return found
