"""Questions about single steps, answered in batches by the native solver's `cells`, or by other solvers.

The network is asked as a function of all scalars: a node in front picks what it reads, so that guards,
predicates and updates over other variables are rows over the same inputs. Every test of Algorithm 2 is a box
with rows; relaxed tests forget that variables are whole. Answers other than "impossible" count as possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np

from surefoot.engines.predicates.dynamics import Dynamics, OutOfTime
from surefoot.engines.predicates.symbolic.case_splitting import Reply, case_by_case
from surefoot.engines.predicates.symbolic.clause_index import ClauseIndex
from surefoot.engines.predicates.symbolic.cubes import (
    Cube,
    Number,
    bounds_to_rows,
    fraction_bounds,
    integer_names,
    name_bounds,
)
from surefoot.engines.predicates.symbolic.external_solvers import (
    SolversByTest,
    StepSignature,
    ask_external_solver,
)
from surefoot.errors import Unsupported
from surefoot.network.directed_rounding import Array
from surefoot.problem.network import (
    Affine,
    Network,
    Node,
    Pick,
    dense_network,
    freeze_float32,
    freeze_indices,
    shift_node_sources,
)
from surefoot.query.formula import Relation
from surefoot.reductions.network_call import EncodedCall
from surefoot.solvers.native.batch_queries import BatchQueries, QueryOutcome, RowSystem, answer_batch_queries
from surefoot.term.interval import Kinds
from surefoot.term.linear import LinearForm, linearise_term, scale_form, variable_form
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.verdict.artifact import QueryStatistics
from surefoot.work.budget import Budget

LARGEST = 2.0**52
SECONDS_EACH = 5.0  # for a question that needs a search of its own


@dataclass(slots=True)
class StepQueries:
    """What questions are asked of, and how many were."""

    names: tuple[str, ...]
    kinds: Kinds
    outputs: tuple[str, ...]
    network: Network
    budget: Budget
    index: ClauseIndex
    answerers: SolversByTest = field(default_factory=SolversByTest)
    call: EncodedCall | None = None
    tests: dict[str, QueryStatistics] = field(default_factory=dict)

    def ask(
        self, kind: str, cubes: Sequence[Cube], *, relaxed: bool = False, natively: bool = False
    ) -> list[Reply]:
        """One reply for each cube; `OutOfTime` if there is no time for that."""
        if not cubes:
            return []
        if self.budget.is_spent():
            raise OutOfTime
        if any(c.clauses for c in cubes):
            return case_by_case(
                cubes,
                self.index,
                lambda several: self.ask(kind, self._rows(several), relaxed=relaxed, natively=natively),
                lambda points: self.ask(
                    f"{kind}, at a point", self._rows(points), relaxed=relaxed, natively=True
                ),
            )
        speaks = [self.mentions_outputs(c) for c in cubes]
        chosen = SolversByTest() if natively else self.answerers
        if any(speaks) and not all(speaks) and chosen.names():  # each to its own solver
            parts = {w: [c for c, s in zip(cubes, speaks, strict=True) if s is w] for w in (True, False)}
            found = {w: iter(self.ask(kind, part, relaxed=relaxed)) for w, part in parts.items()}
            return [next(found[w]) for w in speaks]
        solver = (chosen.relaxed if relaxed else chosen.exact) if speaks[0] else chosen.plain
        begun = self.budget.elapsed_seconds()
        if solver is None:
            replies = self._natively(cubes, relaxed)
            seconds = self.budget.elapsed_seconds() - begun
        else:
            kind = f"{kind} ({solver.name})"
            told, seconds = ask_external_solver(solver, self.about, cubes, relaxed and speaks[0], self.budget)
            replies = [Reply(*one) for one in told]
        yes = sum(r.possible for r in replies)
        old = self.tests.get(kind, QueryStatistics(kind, 0, 0, 0.0))
        total = old.number + len(cubes), old.possible + yes, old.seconds + seconds
        self.tests[kind] = QueryStatistics(kind, *total)
        return replies

    def _rows(self, cubes: Sequence[Cube]) -> list[Cube]:
        return [bounds_to_rows(c, self.outputs) for c in cubes]

    @property
    def about(self) -> StepSignature:
        return StepSignature(self.names, self.kinds, self.outputs, self.call)

    def mentions_outputs(self, cube: Cube) -> bool:
        in_rows = any(n in self.outputs for row in cube.rows for n, _ in row.linear.coefficients)
        return in_rows or any(map(self.index.speaks_of_outputs, cube.clauses))

    def _natively(self, cubes: Sequence[Cube], relaxed: bool) -> list[Reply]:
        found = answer_batch_queries(
            self._questions(cubes, relaxed), self._quiet(), seconds_each=SECONDS_EACH
        )
        replies = []
        for number in range(len(cubes)):
            point = found.witness(number)
            named = None if point is None else dict(zip(self.names, point, strict=True))
            replies.append(Reply(bool(found.outcomes[number] != QueryOutcome.UNSAT), named))
        return replies

    def _quiet(self) -> Budget:
        return Budget(self.budget.remaining(), self.budget.seed, workers=self.budget.workers)

    def _questions(self, cubes: Sequence[Cube], relaxed: bool) -> BatchQueries:
        low, high = np.empty((len(cubes), len(self.names))), np.empty((len(cubes), len(self.names)))
        systems: dict[tuple[int, bytes, bytes], tuple[int, RowSystem]] = {}
        number, offsets = [], []
        for place, cube in enumerate(cubes):
            for column, name in enumerate(self.names):
                below, above = name_bounds(name, cube, self.kinds)
                assert below is not None
                assert above is not None
                low[place, column], high[place, column] = _round_outward(below, -1), _round_outward(above, 1)
            system, levels = self._system(cube)
            key = (len(levels), system.coefficients.tobytes(), system.strict.tobytes())
            number.append(systems.setdefault(key, (len(systems), system))[0])
            offsets.append(levels)
        most = max(map(len, offsets))
        padded = np.full((len(cubes), most), np.inf)
        for line, levels in enumerate(offsets):
            padded[line, : len(levels)] = levels
        inside = integer_names(self.kinds)
        whole = np.array([n in inside and not relaxed for n in self.names], dtype=np.bool_)
        distinct = tuple(s for _, s in systems.values())
        return BatchQueries(
            self.network, low, high, whole, distinct, np.array(number, dtype=np.int64), padded
        )

    def _system(self, cube: Cube) -> tuple[RowSystem, list[float]]:
        columns = {n: i for i, n in enumerate((*self.names, *self.outputs))}
        rows: list[Array] = []
        strict: list[bool] = []
        limits: list[float] = []
        for atom in cube.rows:
            signs = (1, -1) if atom.relation is Relation.EQ else (1,)
            for sign in signs:
                row, limit = _integer_row(scale_form(atom.linear, Fraction(sign)), columns)
                rows.append(row)
                limits.append(limit)
                strict.append(atom.relation is Relation.LT)
        matrix = np.array(rows).reshape(len(rows), len(columns))
        return RowSystem(matrix, np.array(strict, dtype=np.bool_)), limits


def _integer_row(linear: LinearForm, columns: Mapping[str, int]) -> tuple[Array, float]:
    """Coefficients and limit as whole numbers, so that float64 holds them exactly."""
    up = lcm(linear.constant.denominator, *(c.denominator for _, c in linear.coefficients))
    row = np.zeros(len(columns))
    for name, factor in linear.coefficients:
        row[columns[name]] = float(factor * up)
    limit = float(-linear.constant * up)
    if max(abs(limit), float(np.abs(row).max(initial=0.0))) > LARGEST:
        raise Unsupported("a comparison has numbers of more than 52 bits")
    return row, limit


def _round_outward(end: Number, side: int) -> float:
    """The end itself, or the next float beyond it."""
    if end.denominator == 1 and abs(end.numerator) <= LARGEST:
        return float(end.numerator)
    near = float(end)
    if (near > end and side < 0) or (near < end and side > 0):
        near = float(np.nextafter(near, side * np.inf))
    return near


def step_queries(dynamics: Dynamics, budget: Budget, answerers: SolversByTest) -> StepQueries:
    """`Unsupported` where a variable has no bounds, or the network reads what is not linear."""
    names = tuple(n for n in dynamics.kinds if n not in dynamics.outputs and not _is_selector(dynamics, n))
    empty = Cube({}, ())
    for name in names:
        if None in fraction_bounds(name, empty, dynamics.kinds):
            raise Unsupported(f"`{name}` has no bounds", fix="give it some")
    index = ClauseIndex(names, dynamics.kinds)
    if dynamics.call is None:
        network = dense_network([(np.zeros((1, len(names))), np.zeros(1))])
        return StepQueries(names, dynamics.kinds, ("no output",), network, budget, index, answerers)
    front = _input_layer(dynamics.call.inputs, names)
    nodes = (front, *(shift_node_sources(node, 1) for node in dynamics.call.network.nodes))
    network = Network(len(names), nodes, name=dynamics.call.network.name)
    return StepQueries(
        names, dynamics.kinds, dynamics.outputs, network, budget, index, answerers, dynamics.call
    )


def _is_selector(dynamics: Dynamics, name: str) -> bool:
    """The quantity that says which output is the best is a number in every step."""
    return name not in dynamics.layout.kinds and name not in dynamics.chosen and name not in dynamics.copies


def _input_layer(inputs: tuple[Term, ...], names: tuple[str, ...]) -> Node:
    """What the network reads of all scalars."""
    if all(isinstance(t, Var) for t in inputs):
        return Pick(0, freeze_indices([names.index(t.name) for t in inputs if isinstance(t, Var)]))
    weights, bias = np.zeros((len(inputs), len(names))), np.zeros(len(inputs))
    for row, term in enumerate(inputs):
        linear = _linearise_input(term)
        for name, factor in linear.coefficients:
            weights[row, names.index(name)] = _exact_float32(factor)
        bias[row] = _exact_float32(linear.constant)
    return Affine(0, freeze_float32(weights), freeze_float32(bias))


def _linearise_input(term: Term) -> LinearForm:
    match term:
        case Apply(Op.ITE, (Var(name), Const(1), Const(0))):  # a truth value as a number
            return variable_form(name)
        case _:
            return linearise_term(term)


def _exact_float32(value: Fraction) -> float:
    if Fraction(float(np.float32(float(value)))) != value:
        raise Unsupported("the network reads a term whose coefficients are not float32 numbers")
    return float(value)
