"""A problem from its text to cells that are all done, or to what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.engines.reach.certificate_tree import search_to_json
from surefoot.engines.reach.flow_step import watch_condition
from surefoot.engines.reach.flowpipe import describe_search, make_flowpipe, rank_search
from surefoot.engines.reach.invariant_search import ClosedRegion, InvariantSearch, add_closed_regions
from surefoot.engines.reach.network_forms import refuse_unknown_nodes
from surefoot.engines.reach.saved_cells import SavedCells
from surefoot.engines.reach.search import (
    CellSearch,
    begin_search,
    cell_forms,
    close_regions,
    fit_halvings,
    fit_options,
    have_other_states,
    search_cells,
    share_cells,
)
from surefoot.engines.reach.start_regions import Region, enumerate_start_regions
from surefoot.engines.reach.tubes import TubeStore, plan_tubes
from surefoot.engines.reach.walk import (
    NOT_BACK,
    LoopWalk,
    prepare_walk,
)
from surefoot.engines.reach.walk_options import WalkOptions
from surefoot.errors import Unsupported
from surefoot.problem.network import Affine
from surefoot.problem.problem import Problem
from surefoot.reductions.closed_loop import read_closed_loop
from surefoot.reductions.loop_question import read_question
from surefoot.verdict.artifact import Flowpipe
from surefoot.verdict.verdict import Reason
from surefoot.work.budget import Budget
from surefoot.work.child import WorkerDied
from surefoot.work.deadline import Late
from surefoot.work.run_directory import NotRecorded
from surefoot.work.task_pool import TaskPool


@dataclass(frozen=True, slots=True)
class Effort:
    """How finely sets are followed: symbols for each variable, what series may leave out and networks may add
    in a period, both relative to the sets (None: networks see each set as a whole)."""

    order: int
    tolerance: float
    loosest: float | None


EFFORTS = (Effort(12, 2e-2, None), Effort(12, 5e-4, None), Effort(30, 1e-3, 0.05))
FIRST_TURN = 1.0  # seconds
WEIGHTS, LONGEST_TURN = 4_000, 8  # that make turns of the search that halves cells as long again, and at most
# so many times as long: parts of networks are dear to check
LONGEST_RETURN = 400  # periods that a cell is followed until it is back
LONGEST_WAY = 1000  # and until it is in a closed set
BOUNDED_TURN = 2.0  # seconds of a turn before closed sets are looked for where only some time counts
RETURNING_TURN = 16.0  # seconds of a turn before closed sets are looked for where runs come back anyway
TELLING, TELLING_SHARE = 1.5, 0.15  # seconds, and of the time, for what is known at the end


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """What a user says about how finely sets are followed; None: found out."""

    order: int | None = None
    taylor: int | None = None
    pieces: int | None = None
    halvings: int | None = None

    def override_options(self, options: WalkOptions) -> WalkOptions:
        given = {"order": self.order, "taylor": self.taylor, "pieces": self.pieces, "halvings": self.halvings}
        return replace(options, **{name: value for name, value in given.items() if value is not None})


def prepare_problem(problem: Problem) -> tuple[LoopWalk, CellSearch]:
    """`Unsupported` says what does not fit."""
    loop = read_closed_loop(problem)
    for branch in loop.branches:
        if branch.network is not None:
            refuse_unknown_nodes(branch.network)
    walk = prepare_walk(loop, read_question(problem, loop.scope, loop.period))
    regions = enumerate_start_regions(loop)
    if not regions:
        raise Unsupported("nothing satisfies the initial condition", fix="see what `initial` says")
    return walk, begin_search(walk, regions, watch_condition(loop, loop.initial))


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The content of a certificate, or None and why there is none; and in any case what is known."""

    content: dict[str, Any] | None
    reason: Reason
    words: str
    flowpipe: Flowpipe | None


def analyse_problem(
    problem: Problem, given: GivenOptions, budget: Budget, folder: Path | None = None, *, resume: bool = False
) -> SearchOutcome:
    """All cells, or as many as there is time for; `folder`: what is found of them is recorded there."""
    return begin_analysis(problem, given).go_on(budget, folder, resume=resume)


def begin_analysis(problem: Problem, given: GivenOptions) -> Analysis:
    walk, first = prepare_problem(problem)
    return Analysis(problem, KnownSearches(walk, first.regions, given), first)


@dataclass(slots=True, eq=False)
class Analysis:
    """A problem at work, which can go on where the time ended."""

    problem: Problem
    known: KnownSearches
    first: CellSearch  # of which nothing is known

    def go_on(self, budget: Budget, folder: Path | None = None, *, resume: bool = False) -> SearchOutcome:
        known, reason, words = self.known, Reason.INCOMPLETE, ""
        searching = replace(budget, seconds=budget.seconds - min(TELLING, TELLING_SHARE * budget.seconds))
        known.share_work(budget)
        with ExitStack() as stack:
            stack.callback(known.pool.dismiss)
            saved = None
            if folder is not None:
                saved = stack.enter_context(SavedCells(folder, self.problem, known.given, resume))
            try:
                if saved is None:
                    _search_in_turns(known, searching)
                else:
                    _search_recorded(known, searching, saved)
            except KeyboardInterrupt:
                reason = Reason.INTERRUPTED
            except Late:
                reason = Reason.TIMEOUT
            except WorkerDied as why:
                reason, words = Reason.MEMORY if why.memory else Reason.INCOMPLETE, f"{why}; "
            except (
                NotRecorded
            ) as why:  # what is known is told; going on without a record is not what was asked
                words = f"{why}; "
        if reason is Reason.INCOMPLETE and not words and searching.is_spent():
            reason = Reason.TIMEOUT
        search = max(known.searches, key=rank_search, default=self.first)
        content = search_to_json(search) if search.done else None
        words += describe_search(search)
        if content is None and known.invariant is not None and known.invariant.runs is not None:
            words += f", {known.invariant.words}"
        try:
            return SearchOutcome(content, reason, words, make_flowpipe(search))
        except Late:  # a picture is not worth the answer
            return SearchOutcome(content, reason, words, None)


@dataclass(slots=True, eq=False)
class KnownSearches:
    """The searches of a problem, each with efforts of its own, and that for sets which runs stay in."""

    walk: LoopWalk
    regions: list[Region]
    given: GivenOptions
    searches: list[CellSearch] = field(default_factory=list)
    pair: list[CellSearch] = field(default_factory=list)  # of these, those that take turns
    seconds: float = FIRST_TURN  # of a turn
    waits: bool = False  # bad starts do not count yet: they are not come back to
    invariant: InvariantSearch | None = None
    closed: Sequence[ClosedRegion] = ()
    followed_whole: bool = False  # the starts in one cell each, and that was not enough
    pool: TaskPool = field(init=False)  # who follows the cells of all searches

    def __post_init__(self) -> None:
        self.pool = share_cells(self.walk)

    def share_work(self, budget: Budget) -> None:
        """As many processes as the budget has."""
        self.pool.workers = budget.processes

    @property
    def for_ever(self) -> bool:
        """May cells end by coming back? A goal is not met so; up to some time it is tried second."""
        question = self.walk.question
        if question.until is not None and (question.since > 0 or not self.followed_whole):
            return False
        return question.bad is not None

    @property
    def may_wait(self) -> bool:
        """Do bad states count only from some time on?"""
        return self.for_ever and self.walk.question.since > 0

    @property
    def returning_walk(self) -> LoopWalk:
        """Where something comes back to bad states count from the beginning, and for ever."""
        return replace(self.walk, question=replace(self.walk.question, since=Fraction(0), until=None))

    def begin(self, effort: Effort, budget: Budget) -> CellSearch:
        walk = self.returning_walk if self.may_wait and not self.waits else self.walk
        search = begin_search(walk, self.regions, watch_condition(walk.loop, walk.loop.initial))
        search.pool = self.pool
        search.come_back = not self.waits
        if walk.question.until is None:
            search.most_periods = LONGEST_WAY if self.closed else LONGEST_RETURN
        self.allow_returns(search)
        search.tubes = TubeStore(plan_tubes(walk.loop, walk.question, search.most_periods))
        self.choose_options(search, budget, effort)
        self.searches.append(search)
        return search

    def allow_returns(self, search: CellSearch) -> None:
        """Cells may end where they come back, if that counts."""
        if self.for_ever:
            search.cut = have_other_states(search)
            search.leave_out = not search.cut or bool(self.closed) or search.walk.question.goal is not None
            add_closed_regions(search, self.closed)

    def choose_options(self, search: CellSearch, budget: Budget, effort: Effort) -> None:
        walk, given = self.walk, self.given
        forms = cell_forms(search.roots[:1])
        options = WalkOptions(order=effort.order)
        if given.taylor is None or given.pieces is None:
            options = fit_options(walk, forms, options, effort.tolerance)
        if effort.loosest is not None and not budget.is_spent():
            options = fit_halvings(walk, forms, options, effort.loosest)
        search.options = search.usual = given.override_options(options)
        search.tolerance = None if given.pieces else effort.tolerance
        search.loosest = None if given.halvings is not None else effort.loosest

    def look_for_invariant(self, budget: Budget, seconds: float) -> bool:
        """For so long, but not soon where runs come back into the starts by themselves; was one found now?"""
        if not self.for_ever or self.closed:
            return False
        if self.walk.question.until is not None:  # what is asked is less: it comes after some turns
            if seconds < BOUNDED_TURN:
                return False
            seconds /= 2
        if self.invariant is None:
            prepare, walk = partial(self.choose_options, effort=EFFORTS[1]), self.returning_walk
            since = self.walk.question.since
            self.invariant = InvariantSearch(walk, self.regions, prepare, budget.seed, since, self.pool)
        if not self.waits and self.invariant.look_at_returns(budget) and seconds < RETURNING_TURN:
            return False
        self.invariant.go_on(budget, seconds)
        budget.progress(self.invariant.words)
        self.closed = tuple(self.invariant.closed)
        return bool(self.closed)

    @property
    def direct(self) -> bool:
        """Are starts worth following now? Not where runs do not come back and sets are looked for."""
        returning = None if self.invariant is None else self.invariant.returning
        if self.walk.question.until is not None:
            return True
        return (returning is not False and not self.waits) or not self.can_look_on

    @property
    def can_look_on(self) -> bool:
        return self.for_ever and not self.closed and (self.invariant is None or self.invariant.can_go_on)


def _search_in_turns(known: KnownSearches, budget: Budget) -> None:
    """The whole start first. Where that fails two searches take turns, which become longer: one that halves
    cells often, and one that follows fewer cells more finely; and one for sets that runs stay in. Once there
    is such a set all begin again. Called again it goes on from there.
    """
    if not known.pair and not known.waits:
        if _try_whole(known, budget):
            return
        known.waits = known.may_wait
        failures = [cell.parent_failure for cell in known.searches[-1].waiting]
        late = known.waits or any(failure is not None and failure.why == NOT_BACK for failure in failures)
        if late and known.look_for_invariant(budget, known.seconds) and _try_whole(known, budget):
            return
    known.followed_whole = True
    while not budget.is_spent():
        for number, effort in enumerate(EFFORTS[1:] if known.direct else ()):
            if number == len(known.pair):
                known.pair.append(known.begin(effort, budget))
            search = known.pair[number]
            longer = min(1 + count_weights(known.walk) / WEIGHTS, LONGEST_TURN)
            turn = known.seconds if number else known.seconds * longer
            search_cells(search, budget, lambda s: budget.progress(describe_progress(s)), seconds=turn)
            if search.done or budget.is_spent():
                return
        if known.look_for_invariant(budget, known.seconds):
            if known.invariant is not None and known.invariant.returning:
                for search in known.pair:  # which have come some way
                    add_closed_regions(search, known.closed)
            else:
                known.pair.clear()
            if _try_whole(known, budget):
                return
        elif not any(search.can_go_on for search in known.pair) and not known.can_look_on:
            return
        known.seconds *= 2


def count_weights(walk: LoopWalk) -> int:
    """Of all networks."""
    networks = [branch.network for branch in walk.loop.branches if branch.network is not None]
    return sum(node.weights.size for n in networks for node in n.nodes if isinstance(node, Affine))


def _try_whole(known: KnownSearches, budget: Budget) -> bool:
    """The starts in one cell each; is that enough, or is there no time for more?"""
    first = known.begin(EFFORTS[0], budget)
    search_cells(first, budget, rounds=1)
    return first.done or budget.is_spent()


def _search_recorded(known: KnownSearches, budget: Budget, saved: SavedCells) -> None:
    """One search, so that there is one record to go on with: the whole start, then the effort that halves."""
    search = known.begin(EFFORTS[0], budget)
    attempt = saved.recall(search)
    if attempt:
        if not known.for_ever:
            known.followed_whole = True
            known.allow_returns(search)
        _wait_for_closed(known, search)
    if attempt is not None:
        budget.progress(f"gone on with: {describe_search(search)}")
        effort = EFFORTS[min(attempt, 1)]
        search.tolerance = None if known.given.pieces else effort.tolerance
        known.closed = saved.closed
    search.note = lambda cells: saved.note_cells(search, cells)
    if attempt is None:
        saved.note_begin(search, 0)
        search_cells(search, budget, rounds=1)
    if attempt in (None, 0) and not search.done and not budget.is_spent():
        known.waits = known.may_wait
        search = _begin_recorded(known, budget, saved)
    seconds = FIRST_TURN
    while not search.done and not budget.is_spent() and (search.can_go_on or known.can_look_on):
        turn = seconds if known.can_look_on else np.inf
        if known.direct:
            search_cells(search, budget, lambda s: budget.progress(describe_progress(s)), seconds=turn)
        if not search.done and known.look_for_invariant(budget, seconds):
            search = _begin_recorded(known, budget, saved)
        seconds *= 2


def _wait_for_closed(known: KnownSearches, search: CellSearch) -> None:
    """What was recorded after the first attempt does not come back to starts that may be bad."""
    known.waits = known.may_wait
    if known.waits:
        search.walk, search.come_back = known.walk, False
        close_regions(search)


def _begin_recorded(known: KnownSearches, budget: Budget, saved: SavedCells) -> CellSearch:
    """From here on with the effort that halves, and with the regions that are closed by now."""
    known.followed_whole = True
    search = known.begin(EFFORTS[1], budget)
    search.note = lambda cells: saved.note_cells(search, cells)
    saved.note_begin(search, 1)
    if known.closed:
        saved.note_closed(known.closed)
    return search


def describe_progress(search: CellSearch) -> str:
    """For those who wait."""
    return f"{search.followed:,} cells followed; {describe_search(search)}"
