"""How the MILP solver decides: networks by big-M rows from rigorous bounds, clauses by 0-1 guards.

Moving a solution inward: with every whole number and choice fixed, what is left is a linear program.

Solvers answer with points on boundaries, which do not survive an exact check. Here strict comparisons get as
much room as they can, then the others, then the distance of freely chosen quantities from their bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import inf
from time import monotonic

from surefoot.query.bounds import integer_variable_names, simplify_formula
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.formula import AnyOf, Formula, Relation, negation_normal_form, sharpen_integer_atoms
from surefoot.query.lower import LoweredQuery, lower_query
from surefoot.query.query import Answer, Assignment, Query, Sat, Undecided, UndecidedReason, Unsat
from surefoot.solvers.linear_program import TOLERANCE
from surefoot.solvers.milp.highs import MilpSolution, solve_milp_program
from surefoot.solvers.milp.network_encoding import encode_milp_call
from surefoot.solvers.milp.program import MixedIntegerProgram, has_margin
from surefoot.solvers.milp.ranges import QueryRanges, bound_quantities
from surefoot.solvers.milp.witness import exact_assignment
from surefoot.solvers.remote import Question
from surefoot.term.term import Term
from surefoot.term.value_types import Bool

_LARGEST_MARGIN = 0.05  # more is no safer, and would push quantities to their bounds
_LARGEST_INSET = 0.05  # part of its width by which a quantity keeps away from its bounds


def deepest_point(
    program: MixedIntegerProgram, values: list[float], inset: Iterable[str], *, seed: int, seconds: float
) -> list[float] | None:
    """The deepest point with the choices of this solution; None if there was no time or HiGHS found none."""
    inner = _fix_integers(program, values)
    strict, other = inner.column(0.0, _LARGEST_MARGIN), inner.column(0.0, _LARGEST_MARGIN)
    inside = inner.column(0.0, _LARGEST_INSET)
    for posted in program.posted:
        if has_margin(posted, program.is_whole) and posted.is_on(values):
            linear = posted.atom.linear
            entries = {program.names[n]: float(c) for n, c in linear.coefficients}
            entries[strict if posted.atom.relation is Relation.LT else other] = program.scale(linear)
            inner.row(-inf, -float(linear.constant), entries)
    for name in inset:
        column = program.names[name]
        low, high = program.low[column], program.high[column]
        if not program.is_whole(name) and 0 < high - low < inf:
            inner.row(low, inf, {column: 1.0, inside: low - high})
            inner.row(-inf, high, {column: 1.0, inside: high - low})
    goal = {strict: 1.0, other: 0.25, inside: 0.1}
    found = solve_milp_program(inner, seed=seed, seconds=seconds, maximise=goal)
    return found.values if isinstance(found, MilpSolution) else None


def _fix_integers(program: MixedIntegerProgram, values: list[float]) -> MixedIntegerProgram:
    """A copy without freedom of choice and without margins."""
    inner = MixedIntegerProgram(
        box=program.box,
        low=list(program.low),
        high=list(program.high),
        whole=[False] * len(program.whole),
        row_low=list(program.row_low),
        row_high=list(program.row_high),
        starts=list(program.starts),
        indices=list(program.indices),
        values=list(program.values),
        names=program.names,
    )
    for column, is_whole in enumerate(program.whole):
        if is_whole:
            inner.low[column] = inner.high[column] = float(round(values[column]))
    for margin in (program.strict_margin, program.other_margin):
        if margin is not None:
            inner.low[margin] = inner.high[margin] = 0.0
    return inner


_SEARCH_MARGIN = 1e-3  # how much room a search for inner points asks for at most
_ENOUGH = 1e-6  # ... and with how much it is content
_UNTRUSTED = 1e5  # products beyond this size: "infeasible" was seen to be wrong, and is not believed
_ROOM = 1e-9  # of the size of a row: the second opinion is about rows that are so much wider
_DENOMINATORS = (10**3, 10**6)  # tried for points on a boundary, where floats miss by a hair


def check_milp_bounds(query: Query) -> None:
    """`Unsupported` for a bound that neither the declarations nor the constraints of a query give."""
    lowered, formulas = _normal_form(query)
    known = bound_quantities(lowered.query, formulas, quick=True)
    if known is not None:
        _encode_program(lowered, formulas, known)


def prepare_milp(base: Query, seed: int) -> Question:
    """Answers questions about a base query, each built afresh: it cannot depend on earlier ones."""

    def question(more: tuple[Term, ...], seconds: float) -> Answer:
        return decide_milp(Query(base.quantities, base.constraints + more, base.calls), seed, seconds)

    return question


def decide_milp(query: Query, seed: int, seconds: float) -> Answer:
    """Find any solution, polish it inward and check it exactly; if that fails, search for inner points."""
    deadline = monotonic() + seconds
    lowered, formulas = _normal_form(query)
    known = bound_quantities(lowered.query, formulas)
    if known is None:
        return Unsat()
    formulas = tuple(simplify_formula(f, known.box) for f in formulas)
    if any(f == AnyOf() for f in formulas):
        return Unsat()
    trouble = ""
    for margin in (0.0, _SEARCH_MARGIN):
        program = _encode_program(lowered, formulas, known, margin)
        goal = _margin_objective(program)
        if margin and not goal:
            break
        found = solve_milp_program(
            program,
            seed=seed,
            seconds=deadline - monotonic(),
            maximise=goal,
            enough=_ENOUGH if margin else None,
        )
        if isinstance(found, Unsat) and not trouble:
            found = _second_opinion(program, seed, deadline)
        if isinstance(found, Unsat):
            return _tolerance_answer(trouble) if trouble else found
        if isinstance(found, Undecided):
            return Undecided(found.why, "; ".join(filter(None, (found.detail, trouble))))
        for assignment in _candidate_assignments(lowered, program, found.values, seed, deadline):
            complaint = assignment_defect(query, assignment)
            if complaint is None:
                return Sat(assignment)
            trouble = trouble or complaint
    return _tolerance_answer(trouble)


def _second_opinion(
    program: MixedIntegerProgram, seed: int, deadline: float
) -> MilpSolution | Unsat | Undecided:
    """ "Infeasible" from HiGHS is believed only if another run says it too.

    Without presolve, which was seen to call small feasible problems infeasible whose bounds are within 1e-14
    of each other, and of rows that are a little wider: what float64 loses in them is no contradiction. Beyond
    a size nothing is believed.
    """
    if program.activity > _UNTRUSTED:
        return Undecided(
            UndecidedReason.NUMERICS, f"numbers of size {program.activity:.1e} are beyond HiGHS's precision"
        )
    return solve_milp_program(program, seed=seed, seconds=deadline - monotonic(), presolve=False, room=_ROOM)


def _tolerance_answer(trouble: str) -> Undecided:
    return Undecided(UndecidedReason.NUMERICS, f"solutions within {TOLERANCE:g} only: {trouble}")


def _normal_form(query: Query) -> tuple[LoweredQuery, tuple[Formula, ...]]:
    lowered = lower_query(query)
    whole = integer_variable_names(lowered.query.quantities)
    return lowered, tuple(
        sharpen_integer_atoms(negation_normal_form(c), whole) for c in lowered.query.constraints
    )


def _encode_program(
    lowered: LoweredQuery, formulas: Sequence[Formula], known: QueryRanges, margin: float = 0.0
) -> MixedIntegerProgram:
    query = lowered.query
    whole = integer_variable_names(query.quantities)
    program = MixedIntegerProgram(
        truths=frozenset(q.name for q in query.quantities if isinstance(q.kind, Bool))
    )
    for quantity in query.quantities:
        program.quantity(quantity.name, known.box[quantity.name], quantity.name in whole)
    if margin:
        program.with_margin(margin)
    for call, bounds in zip(query.calls, known.networks, strict=True):
        encode_milp_call(program, call, bounds)
    first_definition = len(formulas) - lowered.definitions
    for number, formula in enumerate(formulas):
        program.post(formula, is_definition=number >= first_definition)
    return program


def _margin_objective(program: MixedIntegerProgram) -> dict[int, float]:
    """The margin to maximise: of strict comparisons, which fail on a boundary, or else of the others."""
    able = {p.atom.relation for p in program.posted if has_margin(p, program.is_whole)}
    if program.strict_margin is not None and Relation.LT in able:
        return {program.strict_margin: 1.0}
    if program.other_margin is not None and Relation.LE in able:
        return {program.other_margin: 1.0}
    return {}


def _free_quantities(lowered: LoweredQuery) -> list[str]:
    outputs = {name for call in lowered.query.calls for name in call.outputs}
    return [name for name in lowered.names if name not in outputs]


def _candidate_assignments(
    lowered: LoweredQuery, program: MixedIntegerProgram, values: list[float], seed: int, deadline: float
) -> Iterator[Assignment]:
    """Exact assignments near a float solution: polished inward first, then as it is, then on nice numbers."""
    active = (p.atom for p in program.posted if p.is_on(values))
    equalities = [atom.linear for atom in active if atom.relation is Relation.EQ]
    polished = deepest_point(
        program, values, _free_quantities(lowered), seed=seed, seconds=deadline - monotonic()
    )
    roundings: list[Callable[[float], Fraction]] = [Fraction]
    roundings += [lambda x, d=d: Fraction(x).limit_denominator(d) for d in _DENOMINATORS]  # type: ignore[misc]
    for solution in (polished, values):
        if solution is not None:
            floats = {name: solution[column] for name, column in program.names.items()}
            for nearest in roundings:
                yield lowered.invert(exact_assignment(lowered.query, floats, equalities, nearest))
