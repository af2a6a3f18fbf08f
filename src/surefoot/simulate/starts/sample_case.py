"""Points of one case of an initial condition: a walk in its linear region, kept within the other conditions.

Values are columns over the scalars of the block; a real number that no double is (a solved one, in exact
arithmetic) is in a column of fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.simulate.starts.exact_equations import meet_exactly
from surefoot.simulate.starts.first_points import FirstPoints, find_first_points
from surefoot.simulate.starts.linear_region import LinearRegion, solve_equations, values_of_solved
from surefoot.simulate.starts.rest_conditions import FAR_OFF, RestConditions, compile_rest, is_equation
from surefoot.simulate.starts.start_cases import (
    Atom,
    Bounds,
    Case,
    NoStart,
    Parts,
    is_whole_kind,
    linear_parts,
)
from surefoot.simulate.starts.walk import LEAST_WALKERS, spread_walkers, steps_to_mix, walk_region
from surefoot.term.closures import UNDEFINED_ERRORS, compile_closure
from surefoot.term.columns import compile_columns
from surefoot.term.interval import Scalar
from surefoot.term.linear import LinearForm, add_forms
from surefoot.term.term import Apply, Const, Op, Term, Var, free_names
from surefoot.term.traverse import substitute_names
from surefoot.term.types import is_whole
from surefoot.term.value_types import Arithmetic, Bool, Real

Floats = NDArray[np.float64]
Values: TypeAlias = dict[str, NDArray[Any]]  # float64, int64, bool, or fractions
MOST_WALKERS = 16_384
SHORT_BITS = (20, 34)  # of a start within the width of its range, if that is enough
_TRIED = 20  # batches of points that are tried before violations are minimised
_DESCENT = 150  # steps in which violations are made smaller
_NEWTON = 12
_NO_ROOM = 1e-10
_MOST_WORK = 5e9  # products in a walk


@dataclass(frozen=True, slots=True, eq=False)
class CaseSampler:
    """Walkers that have mixed; drawing goes on from there."""

    kinds: Mapping[str, Scalar]
    arithmetic: Arithmetic
    region: LinearRegion
    first: FirstPoints
    defined: tuple[tuple[str, Term], ...]  # the last ones first: terms over the coordinates
    rest: RestConditions | None
    equations: tuple[Term, ...]  # of the rest
    walkers: Floats
    size: float  # logarithm of the volume, roughly

    @property
    def how(self) -> str:
        words = []
        if self.region.reals:
            words.append(f"hit-and-run in a polytope of dimension {self.region.reals}")
        if len(self.region.lattice):
            words.append(f"lattice steps in {len(self.region.lattice)} directions")
        if self.rest is not None:
            words.append("kept within conditions that are not linear")
        return ", ".join(words) or "a single point"


def prepare_case(
    case: Case, kinds: Mapping[str, Scalar], arithmetic: Arithmetic, rng: np.random.Generator
) -> CaseSampler:
    """`NoStart` where there is surely nothing, `Unsupported` where nothing was found."""
    defined, case, free = _take_definitions(case, kinds)
    region = solve_equations(case.box, case.atoms, free)
    first, region = _first_points_in_full_dimension(region, case, free, rng)
    rest = compile_rest(case.rest, kinds, arithmetic) if case.rest else None
    equations = tuple(t for t in case.rest if is_equation(t))
    sampler = CaseSampler(kinds, arithmetic, region, first, defined, rest, equations, first.extremes, 0.0)
    walkers = spread_walkers(region, first, 2 * LEAST_WALKERS, rng)
    walkers = walk_region(region, walkers, steps_to_mix(region), rng)
    if rest is not None:
        walkers = _walkers_within_rest(sampler, walkers, rng)
    return replace(sampler, walkers=walkers, size=_log_volume(region, walkers))


def _first_points_in_full_dimension(
    region: LinearRegion, case: Case, kinds: Mapping[str, Scalar], rng: np.random.Generator
) -> tuple[FirstPoints, LinearRegion]:
    """Inequalities that leave no room are equations, as far as these do not exclude each other."""
    atoms: list[Atom] = list(case.atoms)
    for _ in range(len(kinds) + 1):
        if not region.names:
            return FirstPoints(np.zeros((1, 0)), np.zeros(0)), region
        first, within = find_first_points(region, rng)
        before = region.dimension
        for form in [_middle_plane(region.sources[row].form, room) for row, room in first.flat]:
            try:
                region = solve_equations(case.box, [*atoms, Atom(Op.EQ, form)], kinds)
            except NoStart:  # thin, and not empty: HiGHS does not see the difference
                continue
            atoms.append(Atom(Op.EQ, form))
        if region.dimension == before:
            return first, within
    raise Unsupported("no start state was found: the initial condition is too thin")


def _middle_plane(form: LinearForm, room: float) -> LinearForm:
    """Where half of the room is left on both sides, if it is more than HiGHS's tolerance."""
    half = Fraction(max(0.0, room) / 2).limit_denominator(2**60) if room > _NO_ROOM else Fraction(0)
    return add_forms(form, LinearForm((), half))


def _log_volume(region: LinearRegion, walkers: Floats) -> float:
    if not region.dimension:
        return 0.0
    if not region.reals:
        spread = np.cov((walkers @ np.linalg.pinv(region.lattice)).T)
    else:
        spread = np.cov(walkers[:, : region.reals].T)
    spread = np.atleast_2d(spread)
    return float(0.5 * np.linalg.slogdet(12 * spread + 1e-300 * np.eye(len(spread)))[1])


# --- definitions -----------------------------------------------------------------------------------------


def _take_definitions(
    case: Case, kinds: Mapping[str, Scalar]
) -> tuple[tuple[tuple[str, Term], ...], Case, dict[str, Scalar]]:
    """Names that an equation gives as a term of others leave the case; their bounds become conditions."""
    defined: dict[str, Term] = {}
    rest, atoms = list(case.rest), list(case.atoms)
    while True:
        found = next((d for t in rest if (d := _read_definition(t, kinds)) is not None), None)
        if found is None:
            break
        name, value, source = found
        rest.remove(source)
        rest += [
            Apply(
                a.op, (Parts({Var(n): c for n, c in a.form.coefficients}, a.form.constant).term(), Const(0))
            )
            for a in atoms
            if name in dict(a.form.coefficients)
        ]
        atoms = [a for a in atoms if name not in dict(a.form.coefficients)]
        rest += _bound_conditions(name, case.box[name])
        rest = [substitute_names(t, {name: value}) for t in rest]
        defined = {n: substitute_names(t, {name: value}) for n, t in defined.items()} | {name: value}
    box = {n: b for n, b in case.box.items() if n not in defined}
    free = {n: k for n, k in kinds.items() if n not in defined}
    return tuple(defined.items()), Case(box, tuple(atoms), tuple(rest)), free


def _bound_conditions(name: str, bounds: Bounds) -> list[Term]:
    found: list[Term] = []
    if bounds.low is not None:
        found.append(Apply(Op.LT if bounds.low_open else Op.LE, (Const(bounds.low), Var(name))))
    if bounds.high is not None:
        found.append(Apply(Op.LT if bounds.high_open else Op.LE, (Var(name), Const(bounds.high))))
    return found


def _read_definition(term: Term, kinds: Mapping[str, Scalar]) -> tuple[str, Term, Term] | None:
    if not isinstance(term, Apply) or not is_equation(term):
        return None
    for side, other in (term.args, term.args[::-1]):  # as written, so that doubles are equal too
        if (
            isinstance(side, Var)
            and side.name not in free_names(other)
            and _fits_kind(side.name, other, kinds)
        ):
            return side.name, other, term
    parts = linear_parts(term.args[0]).plus(linear_parts(term.args[1]).scaled(Fraction(-1)))
    for part, c in parts.terms.items():
        others = {t: k for t, k in parts.terms.items() if t is not part}
        if isinstance(part, Var) and not any(part.name in free_names(t) for t in others):
            value = Parts(others, parts.constant).scaled(-1 / c).term()
            if _fits_kind(part.name, value, kinds):
                return part.name, value, term
    return None


def _fits_kind(name: str, value: Term, kinds: Mapping[str, Scalar]) -> bool:
    kind = kinds[name]
    return isinstance(kind, Real) or (not isinstance(kind, Bool) and is_whole(value, kinds))


# --- conditions that are not linear ----------------------------------------------------------------------


def _rest_columns(sampler: CaseSampler, points: Floats) -> Values:
    """In doubles: what conditions are looked at with on the way."""
    values: Values = {name: points[:, i] for i, name in enumerate(sampler.region.names)}
    values |= {
        n: np.broadcast_to(c, len(points)) for n, c in values_of_solved(sampler.region, values).items()
    }
    return _with_types(values, sampler.kinds)


def _with_types(values: Values, kinds: Mapping[str, Scalar]) -> Values:
    found: Values = {}
    for name, column in values.items():
        if isinstance(kinds[name], Bool):
            found[name] = column.astype(np.float64) > 0.5
        elif is_whole_kind(kinds[name]):
            found[name] = np.rint(column.astype(np.float64)).astype(np.int64)
        else:
            found[name] = column
    return found


def _walkers_within_rest(sampler: CaseSampler, walkers: Floats, rng: np.random.Generator) -> Floats:
    """Walkers that meet all conditions: by trying, then by making violations smaller; spread by a walk."""
    region, rest = sampler.region, sampler.rest
    assert rest is not None
    found: list[Floats] = []
    tried = 0
    if not rest.equations:
        moving = np.repeat(walkers, 4, axis=0)
        for _ in range(_TRIED):
            moving = walk_region(region, moving, 4, rng)
            found.append(moving[rest.hold(_rest_columns(sampler, moving), len(moving))])
            tried += len(moving)
            if sum(map(len, found)) >= len(walkers):
                break
    if sum(map(len, found)) * 50 < tried or not tried:
        near = _descend(sampler, np.repeat(walkers, 2, axis=0), rng)
        found.append(near[_nearly_holds(sampler, near)])
    within = np.concatenate(found)
    if not len(within):
        raise Unsupported(
            "no start state was found: nothing that was tried meets the conditions that are not linear",
            fix="say more in `initial`: bounds, or values of some variables",
        )
    chosen = within[rng.permutation(len(within))] if len(within) >= len(walkers) else within
    chosen = chosen[np.arange(len(walkers)) % len(chosen)]
    return chosen if rest.equations else _walk_within_rest(sampler, chosen, steps_to_mix(region), rng)


def _walk_within_rest(sampler: CaseSampler, walkers: Floats, steps: int, rng: np.random.Generator) -> Floats:
    rest = sampler.rest
    assert rest is not None

    def holds(points: Floats, _: NDArray[np.int64]) -> NDArray[np.bool_]:
        return rest.hold(_rest_columns(sampler, points), len(points))

    return walk_region(sampler.region, walkers, steps, rng, holds)


def _nearly_holds(sampler: CaseSampler, points: Floats) -> NDArray[np.bool_]:
    rest = sampler.rest
    assert rest is not None
    columns = _rest_columns(sampler, points)
    if not rest.equations:
        return rest.hold(columns, len(points))
    return np.asarray(rest.violation(columns, len(points)) < 1e-7)


def _descend(sampler: CaseSampler, walkers: Floats, rng: np.random.Generator) -> Floats:
    """Each walker goes only where its violation is smaller; at the end Newton's method meets equations."""
    rest = sampler.rest
    assert rest is not None
    levels = np.array(rest.violation(_rest_columns(sampler, walkers), len(walkers)))

    def holds(points: Floats, mine: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = rest.violation(_rest_columns(sampler, points), len(points))
        better = (found < levels[mine]) | (found == 0)
        levels[mine[better]] = found[better]
        return np.asarray(better)

    points = walkers
    for _ in range(_DESCENT // 10 if (levels < FAR_OFF).any() else 1):
        points = walk_region(sampler.region, points, 10, rng, holds)
        if not rest.equations and (levels == 0).mean() > 0.5:
            break
    return _meet_equations(sampler, points) if rest.equations else points


def _meet_equations(sampler: CaseSampler, points: Floats) -> Floats:
    """Newton's method by differences, in the real coordinates."""
    rest, reals = sampler.rest, sampler.region.reals
    assert rest is not None
    points = points.copy()
    for _ in range(_NEWTON if reals else 0):
        errors = rest.errors(_rest_columns(sampler, points), len(points))
        slopes = np.zeros((len(points), rest.equations, reals))
        for j in range(reals):
            step = 1e-6 * np.maximum(1e-3, np.abs(points[:, j]))
            beside = points.copy()
            beside[:, j] += step
            slopes[:, :, j] = (rest.errors(_rest_columns(sampler, beside), len(points)) - errors) / step[
                :, None
            ]
        usable = np.isfinite(errors).all(axis=1) & np.isfinite(slopes).all(axis=(1, 2))
        change = np.einsum("ijk,ik->ij", np.linalg.pinv(slopes[usable], rcond=1e-9), errors[usable])
        points[usable, :reals] -= change
        points = np.where(np.abs(points) < FAR_OFF, points, 0.0)
    return points


# --- drawing ---------------------------------------------------------------------------------------------


def draw_case(sampler: CaseSampler, count: int, rng: np.random.Generator, *, corners: bool) -> Values:
    """So many points, the coordinates short where that is possible; not yet looked at by the reference."""
    region = sampler.region
    if not region.names:
        points = np.zeros((count, 0))
    else:
        points = _draw_points(sampler, count, rng)
    if corners and region.names:
        points = _push_outwards(sampler, points, rng)
    exact = sampler.arithmetic is Arithmetic.EXACT
    if region.reals and (exact or region.solved):
        points = _shorten(sampler, points)
    coordinates: Values = {name: points[:, i] for i, name in enumerate(region.names)}
    if exact and any(isinstance(sampler.kinds[n], Real) for n in region.solved):
        used = {n for form in region.solved.values() for n, _ in form.coefficients}
        exactly = {n: _as_fractions(coordinates[n]) for n in used}
        solved = values_of_solved(region, exactly, exact=True)
    else:
        solved = values_of_solved(region, coordinates)
    if exact and sampler.equations:
        coordinates |= _meet_equations_exactly(sampler, coordinates, count)
    for name, column in solved.items():
        coordinates[name] = column if isinstance(column, np.ndarray) else _repeat(column, count)
    return _add_defined(sampler, _with_types(coordinates, sampler.kinds), count)


def _meet_equations_exactly(sampler: CaseSampler, coordinates: Values, count: int) -> Values:
    """Columns of fractions for the real coordinates on which nothing else depends."""
    names = sampler.region.names
    tied = {n for form in sampler.region.solved.values() for n, _ in form.coefficients}
    kinds = {n: sampler.kinds[n] for n in names}
    if any(free_names(t) - set(names) for t in sampler.equations):
        return {}
    columns = [_exact_list(_with_types({n: coordinates[n]}, kinds)[n]) for n in names]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    meet_exactly(sampler.equations, rows, kinds, [n for n in names if n not in tied])
    reals = [n for n in names if isinstance(kinds[n], Real) and n not in tied]
    return {n: np.array([Fraction(row[n]) for row in rows], dtype=object) for n in reals}


def _repeat(value: Any, count: int) -> NDArray[Any]:
    return np.full(count, value, dtype=object if isinstance(value, Fraction) else np.float64)


def _as_fractions(column: Floats) -> NDArray[Any]:
    return np.array([Fraction(x) for x in column.tolist()], dtype=object)


def _draw_points(sampler: CaseSampler, count: int, rng: np.random.Generator) -> Floats:
    region, rest = sampler.region, sampler.rest
    if not region.dimension:
        return sampler.walkers[rng.integers(len(sampler.walkers), size=count)]
    if rest is not None and rest.equations:
        fresh = [sampler.walkers]
        while sum(map(len, fresh)) < count and len(fresh) < 12:
            begun = walk_region(
                region, spread_walkers(region, sampler.first, MOST_WALKERS // 16, rng), 20, rng
            )
            near = _descend(sampler, begun, rng)
            fresh.append(near[_nearly_holds(sampler, near)])
        points = np.concatenate(fresh)
        return points[rng.integers(len(points), size=count)] if len(points) < count else points[-count:]
    most = int(_MOST_WORK / 1000 / (1 + region.matrix.size))
    many = max(LEAST_WALKERS, min(count, MOST_WALKERS, most))
    steps = min(steps_to_mix(region), max(3, int(_MOST_WORK / (1 + count * region.matrix.size))))
    begun = sampler.walkers[rng.permutation(len(sampler.walkers))]
    points = begun[np.arange(many) % len(begun)]
    found: list[Floats] = []
    while sum(map(len, found)) < count:
        more = min(steps, max(10, steps // 2)) if found else steps
        if rest is None:
            points = walk_region(region, points, more, rng)
        else:
            points = _walk_within_rest(sampler, points, more, rng)
        found.append(points)
    drawn = np.concatenate(found)
    return drawn[rng.permutation(len(drawn))[:count]]


def _push_outwards(sampler: CaseSampler, points: Floats, rng: np.random.Generator) -> Floats:
    """Some rows become extreme points, others go to the end of a chord."""
    region, extremes = sampler.region, sampler.first.extremes
    middle = sampler.first.centre if sampler.first.centre is not None else points.mean(axis=0)
    pushed = points.copy()
    kind = rng.random(len(points))
    corner = kind < 0.2
    pushed[corner] = extremes[rng.integers(len(extremes), size=int(corner.sum()))]
    if not region.whole.any():
        face = (kind >= 0.2) & (kind < 0.4)
        direction = rng.standard_normal((int(face.sum()), points.shape[1])) * np.ptp(points, axis=0)
        rate = direction @ region.matrix.T
        slack = region.right - points[face] @ region.matrix.T
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(rate > 1e-14, np.maximum(slack, 0) / rate, np.inf).min(axis=1, initial=np.inf)
        times[np.isinf(times)] = 1.0
        pushed[face] = points[face] + times[:, None] * direction
        for share in (2.0**-40, 2.0**-20):
            outside = ~region.contains(pushed)
            pushed[outside] += share * (middle - pushed[outside])
    outside = ~region.contains(pushed)
    if sampler.rest is not None and not sampler.rest.equations:
        outside |= ~sampler.rest.hold(_rest_columns(sampler, pushed), len(pushed))
    pushed[outside] = points[outside]
    return pushed


def _shorten(sampler: CaseSampler, points: Floats) -> Floats:
    """Real coordinates with few binary digits, where the point stays within."""
    region, reals = sampler.region, sampler.region.reals
    widths = np.ptp(np.concatenate([sampler.walkers, points])[:, :reals], axis=0)
    widths = np.where(widths > 0, widths, 1.0)
    found = points.copy()
    waiting = np.ones(len(points), dtype=np.bool_)
    for bits in SHORT_BITS:
        grid = 2.0 ** (np.floor(np.log2(widths)) - bits)
        rounded = points.copy()
        rounded[:, :reals] = np.rint(points[:, :reals] / grid) * grid
        fine = region.contains(rounded)
        if sampler.rest is not None and not sampler.rest.equations:
            fine &= sampler.rest.hold(_rest_columns(sampler, rounded), len(points))
        elif sampler.rest is not None and sampler.arithmetic is Arithmetic.FLOAT64:
            return points
        found[waiting & fine] = rounded[waiting & fine]
        waiting &= ~fine
    return found


def _add_defined(sampler: CaseSampler, values: Values, count: int) -> Values:
    terms = [term for _, term in sampler.defined]
    names = [name for name, _ in sampler.defined]
    found = compute_columns(terms, names, values, sampler.kinds, sampler.arithmetic, count)
    return values | dict(zip(names, found, strict=True))


def compute_columns(
    terms: Sequence[Term],
    names: Sequence[str],
    values: Values,
    kinds: Mapping[str, Scalar],
    arithmetic: Arithmetic,
    count: int,
) -> list[NDArray[Any]]:
    """Terms that give names their values: in doubles by columns, in exact arithmetic row by row."""
    whole = [is_whole_kind(kinds[n]) for n in names]
    if arithmetic is Arithmetic.FLOAT64 or all(whole):
        return list(compile_columns(terms, kinds, arithmetic)(values, count).columns)
    slots = {name: i for i, name in enumerate(values)}
    closures = [compile_closure(t, slots, kinds, arithmetic) for t in terms]
    columns = [_exact_list(values[name]) for name in slots]
    made: list[list[Any]] = [[] for _ in names]
    for row in zip(*columns, strict=True) if columns else [()] * count:
        for closure, target in zip(closures, made, strict=True):
            try:
                target.append(closure(row))
            except UNDEFINED_ERRORS:
                target.append(0)
    return [np.array(c, dtype=np.int64 if w else object) for c, w in zip(made, whole, strict=True)]


def _exact_list(column: NDArray[Any]) -> list[Any]:
    if column.dtype == np.float64:
        return [Fraction(x) for x in column.tolist()]
    return list(column.tolist())
