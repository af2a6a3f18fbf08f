"""Which queries this search takes, and its answers to them.

A query is taken if all its calls are of one dense ReLU chain, read linear forms of the free quantities, and
read many of them: with few inputs it is better to split these. Every way to choose from its disjunctions is
a question of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.query.formula import Formula
from surefoot.query.query import Answer, Json, Number, Proof, Query, Sat, Undecided, UndecidedReason, Unsat
from surefoot.query.unsat_claim import LazyProof, write_unsat_claim
from surefoot.solvers.native.goal_cubes import MOST as MOST_SETS
from surefoot.solvers.native.relu_splitting.branch_and_bound import (
    all_rows_violated,
    needed_rows,
    resume_relu_search,
    start_relu_search,
)
from surefoot.solvers.native.relu_splitting.chain_cases import (
    ChainCase,
    build_chain_case,
    chain_layers,
    chain_problem_of_case,
    choice_alternatives,
    join_alternatives,
)
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainProblem,
    ReluDomains,
    descend_chain_violation,
    sample_chain_starts,
    select_problem_rows,
)
from surefoot.solvers.native.relu_splitting.dual_bound import DualProblem
from surefoot.solvers.native.relu_splitting.search_state import (
    CandidatePoint,
    ChainRefutation,
    ReluSearch,
    ReluSearchSettings,
    SearchGaveUp,
    SearchLimit,
    keep_first_solution,
)
from surefoot.solvers.native.relu_splitting.shared_root import (
    SharedRoot,
    bound_shared_root,
    problem_of_set,
    shared_root_steps,
)
from surefoot.solvers.native.relu_splitting.splitting_log import (
    CertificateNames,
    SplittingLog,
    StepWriter,
    certificate_steps,
)
from surefoot.solvers.native.witness import satisfies_within_enclosure
from surefoot.term.evaluate import Undefined

LEAST_INPUTS = 7  # below, splitting inputs is better
MOST_CASES = 16  # that are looked at one after the other
MOST_WAYS = 4096  # that share the bounds of the whole box
_FIRST_WORK = 60_000  # neurons times sub-domains of a search by neurons before the other one starts
_MANY_INPUTS, _PATIENT = 20, 10  # inputs with which the other one rarely wins: times as much work before it
_LEAST_SECONDS = 0.25  # of the other one
_NEEDED_STEPS = 2  # of ascent to see that a row says nothing
_ATTACKED, _STARTS, _TURNS = 16, 32, 12  # open sets that are attacked, from so many points, steps downhill
_DEEP, _WIDE = 3, 256  # hidden layers and neurons of a network whose bounds are refined
_BYTES = 900_000_000  # of sub-domains that wait


def alternate_searches(
    by_neurons: ReluSplitting, by_inputs: Callable[[float], Answer], deadline: float
) -> Answer:
    """The first answer of two searches that take turns, each longer than the one before.

    Neither is better for all networks with many inputs. The first goes on where it was, the second starts
    afresh with the time until which it may work; it gets all the time if the first does not take the query.
    """
    nodes, started = by_neurons.first_nodes(), monotonic()
    answer = by_neurons(deadline, nodes)
    while answer is None or isinstance(answer, Undecided):
        nodes, now = 4 * nodes, monotonic()
        share = max(_LEAST_SECONDS, 2 * (now - started))
        until = deadline if answer is None or answer.why is UndecidedReason.MEMORY else now + share
        answer = by_inputs(min(deadline, until))
        if not isinstance(answer, Undecided) or until >= deadline:
            break
        answer = by_neurons(deadline, nodes)
    return answer


class ReluSplitting:
    """A search by neurons for a lowered query whose constraints are `formulas`, which can be interrupted.

    Call it with a time of `monotonic` and how many sub-domains it may look at by then. None: this search does
    not take the query, or cannot decide it. A `Sat` satisfies the lowered query exactly.
    """

    def __init__(
        self,
        query: Query,
        formulas: Sequence[Formula],
        *,
        seed: int = 0,
        batch: int = 256,
        least_inputs: int = LEAST_INPUTS,
    ) -> None:
        self.query, self.formulas = query, formulas
        self.cases = _build_cases(query, formulas, least_inputs)
        self.proved: list[Callable[[], Json]] = []
        self.refuted = 0
        self.deadline = 0.0
        self.shared: tuple[SharedRoot, dict[int, Callable[[], list[object]] | None]] | None = None
        self.running: tuple[ReluSearch, CertificateNames, _ExactAcceptor] | None = None
        self.settings = ReluSearchSettings(
            batch=batch,
            log=True,
            seed=seed,
            expired=lambda: monotonic() > self.deadline,
        )

    def __call__(self, deadline: float, most_nodes: int = 10**9) -> Answer | None:
        self.deadline = deadline
        if self.cases is None:
            return None
        while self.refuted < len(self.cases):
            case = self.cases[self.refuted]
            if len(case.sets) > 1 or (case.sets and self._is_deep()):
                answer = self._refute_together(case, most_nodes)
            elif case.atoms:
                answer = self._refute_alone(case, most_nodes)
            else:
                self.proved.append(partial(_render_case, case, list))
                answer = Unsat()
            if not isinstance(answer, Unsat):
                return answer
            self.refuted += 1
        return Unsat(self._proof() if len(self.proved) == len(self.cases) else None)

    def first_nodes(self) -> int:
        """How many sub-domains to look at before something else is tried."""
        neurons = sum(sum(call.network.widths()[2:-1:2]) for call in self.query.calls)
        inputs = min((len(case.names) for case in self.cases or ()), default=0)
        work = _FIRST_WORK * (_PATIENT if inputs >= _MANY_INPUTS else 1)
        return max(100, work // max(neurons, 1))

    def _is_deep(self) -> bool:
        """Whether bounds and float32 errors in the whole box are worth to be refined layer by layer."""
        hidden = self.query.calls[0].network.widths()[2:-1:2]
        return len(hidden) >= _DEEP and sum(hidden) >= _WIDE

    def _refute_alone(self, case: ChainCase, most_nodes: int) -> Answer | None:
        self.running = self.running or self._start_case(case)
        if self.running is None:
            return None
        names = self.running[1]
        found = self._resume(most_nodes)
        if isinstance(found, ChainRefutation) and found.log.wanted:
            steps = partial(_whole_steps, found.compiled, found.log, names)
            self.proved.append(partial(_render_case, case, steps))
        return Unsat() if isinstance(found, ChainRefutation) else found

    def _refute_together(self, case: ChainCase, most_nodes: int) -> Answer | None:
        """First what all sets share, then one set after the other."""
        if self.shared is None:
            layers = chain_layers(self.query.calls[0].network)
            assert layers is not None
            try:
                root = bound_shared_root(case, layers)
            except (ValueError, OverflowError):  # weights that are no numbers, or numbers beyond float64
                root = None
            if root is None:
                self.cases = None
                return None
            self.shared = root, {}
            if (point := self._attack_open_sets(root)) is not None:
                return point
        root, trees = self.shared
        for number in root.open:
            if number in trees:
                continue
            if self.running is None:
                problem, names, known = problem_of_set(root, number)
                self.running = self._start_search(case, problem, names, known)
            names = self.running[1]
            found = self._resume(most_nodes)
            if not isinstance(found, ChainRefutation):
                return found
            steps = partial(certificate_steps, found.compiled, found.log, names, number)
            trees[number] = steps if found.log.wanted else None
        self.shared = None
        if all(tree is not None for tree in trees.values()):
            self.proved.append(partial(_render_case, case, partial(_joint_steps, root, trees)))
        return Unsat()

    def _attack_open_sets(self, root: SharedRoot) -> Sat | None:
        """A few steps downhill for each set, before one of them takes all the time."""
        for number in root.open[:_ATTACKED]:
            if monotonic() > self.deadline:
                break
            problem, names, known = problem_of_set(root, number)
            search, _, tried = self._start_search(root.case, problem, names, known)
            starts = sample_chain_starts(problem, search.random, _STARTS)
            points, worst = descend_chain_violation(problem, starts, search.random, _TURNS)
            best = points[int(worst.argmin())][None]
            if worst.min() <= 0.0 and keep_first_solution(search, best, problem.low, problem.high):
                return Sat(tried.assignment)
        return None

    def _resume(self, most_nodes: int) -> ChainRefutation | Answer | None:
        """Go on with the running search; its end if there is one, else why not."""
        assert self.running is not None
        search, _, tried = self.running
        match resume_relu_search(search, most_nodes):
            case CandidatePoint():
                return Sat(tried.assignment)
            case SearchGaveUp(count, SearchLimit.TIME | SearchLimit.NODES, nodes):
                return Undecided(UndecidedReason.TIMEOUT, f"{nodes} sub-domains looked at, {count} open")
            case SearchGaveUp(count, SearchLimit.OPEN, nodes):
                return Undecided(UndecidedReason.MEMORY, f"{nodes} sub-domains looked at, {count} open")
            case ChainRefutation() as found:
                self.running = None
                return found
            case _:
                self.cases = None
                return None

    def _start_case(self, case: ChainCase) -> tuple[ReluSearch, CertificateNames, _ExactAcceptor] | None:
        layers = chain_layers(self.query.calls[0].network)
        assert layers is not None
        try:
            problem, names = chain_problem_of_case(case, *layers)
        except (ValueError, OverflowError):  # weights that are no numbers, or numbers beyond float64
            return None
        if len(problem.offsets) > 1 and not all_rows_violated(problem, self.settings.seed):
            keep = needed_rows(problem, _NEEDED_STEPS)
            problem = select_problem_rows(problem, keep)
            names = replace(names, atoms=tuple(a for a, k in zip(names.atoms, keep, strict=True) if k))
        return self._start_search(case, problem, names)

    def _start_search(
        self,
        case: ChainCase,
        problem: ChainProblem,
        names: CertificateNames,
        known: ReluDomains | None = None,
    ) -> tuple[ReluSearch, CertificateNames, _ExactAcceptor]:
        tried = _ExactAcceptor(case, problem, self.settings.seed)
        settings = replace(self.settings, most_open=_BYTES // _domain_bytes(problem), accepts=tried)
        return start_relu_search(problem, settings, known), names, tried

    def _proof(self) -> Proof | None:
        single = self.query.calls[0].float32
        if not single and any(any(call.slack) for call in self.query.calls):
            return None  # the format has no slack
        arithmetic = "float32" if single else "real"
        query, formulas, cases = self.query, self.formulas, tuple(self.proved)
        return LazyProof(
            arithmetic, lambda: (write_unsat_claim(query, formulas), tuple(case() for case in cases))
        )


def _render_case(case: ChainCase, steps: Callable[[], list[object]]) -> Json:
    return {**case.frame(), "steps": steps()}


def _whole_steps(compiled: DualProblem, log: SplittingLog, names: CertificateNames) -> list[object]:
    """The proof about the only set of a case, from the start."""
    first = StepWriter(compiled, names).intervals() if names.folded else []
    return [*first, *certificate_steps(compiled, log, names)]


def _joint_steps(root: SharedRoot, trees: Mapping[int, Callable[[], list[object]] | None]) -> list[object]:
    return shared_root_steps(root, {number: tree() for number, tree in trees.items() if tree is not None})


class _ExactAcceptor:
    """Accepts a point if an assignment from it satisfies the query exactly; keeps that assignment."""

    def __init__(self, case: ChainCase, problem: ChainProblem, seed: int) -> None:
        self.case, self.problem, self.seed = case, problem, seed
        self.assignment: Mapping[str, Number] = {}

    def __call__(self, point: Array) -> bool:
        """From the point, and first from as far inside the rows as a few steps get."""
        problem, random = self.problem, np.random.default_rng(self.seed)
        jitter = 1e-3 * (problem.high - problem.low) * (random.random((16, len(point))) - 0.5)
        jitter[0] = 0.0
        nearby = np.minimum(np.maximum(point + jitter, problem.low), problem.high)
        best, worst = descend_chain_violation(problem, nearby, random, 20, first=0.03, enough=np.inf)
        for candidate in (best[int(np.argmin(worst))], point):
            try:
                assignment = self.case.assignment(candidate)
            except Undefined:
                continue
            if satisfies_within_enclosure(self.case.query, assignment):
                self.assignment = assignment
                return True
        return False


def _build_cases(query: Query, formulas: Sequence[Formula], least_inputs: int) -> list[ChainCase] | None:
    if not query.calls or chain_layers(query.calls[0].network) is None:
        return None
    first = query.calls[0]
    if any(call.network is not first.network or call.float32 != first.float32 for call in query.calls):
        return None
    ways = choice_alternatives(formulas, MOST_WAYS)
    if not ways:
        return None
    least = least_inputs if len(ways) <= MOST_SETS else 1  # the other search takes no more sets than that
    if len(ways) > 1 and (joint := join_alternatives(query, formulas, ways, least)) is not None:
        return [joint]
    if len(ways) > MOST_CASES:
        return None
    cases = [build_chain_case(query, choices, atoms, least_inputs) for choices, atoms in ways]
    found = [case for case in cases if case is not None]
    return found if len(found) == len(cases) else None


def _domain_bytes(problem: ChainProblem) -> int:
    """Bytes of one sub-domain."""
    return 8 * (3 * len(problem.low) + len(problem.offsets) + 4) + 33 * problem.neurons
