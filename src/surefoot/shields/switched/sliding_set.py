"""A set that one of two actions never leaves, looked for in coordinates of sliding mode control.

Between two actions that push in opposite directions a switched system slides along a plane (Utkin, Sliding
Modes in Control and Optimization, 1992). Around a point where a mixture of both keeps still, a step is nearly
x -> A x + b u with u at one of two values of opposite signs. A row k is chosen such that the motion within
the plane k x = 0 decays at given rates, by placing the poles of the closed loop (Ackermann). In coordinates
y = T x, the first of which is k x and the others those of the slow motions, "push against the sign of y_0"
keeps the set |y_i| <= r_i if

    a r_0 + |beta| r_z + error <= r_0 + push     the push is stronger than what leads away,
    push + |beta| r_z + error <= r_0             one push does not go beyond the other side,
    |M_zz| r_z + |M_zs| r_0 + error <= r_z       and the slow motions decay more than they are disturbed,

which is linear in r. What is not linear in the system is measured on points of the set and added as error.
Floats propose only: `set_obligation.py` says what has to be proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import SurefootError
from surefoot.query.formula import LinearAtom, negation_normal_form
from surefoot.shields.switched.switched_system import SwitchedSystem
from surefoot.term.columns import compile_columns
from surefoot.term.term import Apply, Op, Term
from surefoot.term.value_types import Arithmetic, Real
from surefoot.work.budget import Budget

Floats: TypeAlias = NDArray[np.float64]
MapOf: TypeAlias = Callable[[Floats], Floats]
DECAYS = (0.03, 0.05, 0.075, 0.11, 0.17, 0.25, 0.38, 0.5, 0.65, 1.0, 1.5, 2.0, 2.5, 3.5, 5.0)
NATURAL = 0.05  # decay in a step that is tried at least, where nothing in the system moves by itself
GONE = 0.3  # a motion of which one step leaves less, as that of a value that is held for a step
POINTS = 20_000
LEAST_UNITS = (1e-3, 0.0)  # of the starts, half their width otherwise; the second for small numbers
ROUNDS = 8  # of measuring what is not linear
BEST = 12  # designs that are measured
CAPS = (1.0, 0.7, 0.5, 0.3, 0.15)  # of the starts that have to fit, where bad states are no half-spaces
ROOM = 1e-4  # that is left on every side for the proof, in pushes
INNER = 1 - 5e-5  # and of every radius


@dataclass(frozen=True, slots=True)
class SlidingSet:
    """|rows[i] (x - centre)| <= radii[i]; `down` acts where the first is not negative, `up` elsewhere."""

    rows: tuple[tuple[Fraction, ...], ...]
    centre: tuple[Fraction, ...]
    radii: tuple[Fraction, ...]
    down: str
    up: str


@dataclass(frozen=True, slots=True)
class _Linear:
    """Around the centre, in units: a step is `matrix x + pushes[action]`."""

    centre: Floats
    units: Floats
    matrix: Floats
    pushes: dict[str, Floats]
    down: str
    up: str


def find_sliding_sets(system: SwitchedSystem, budget: Budget) -> Iterator[SlidingSet]:
    """Candidates, those that hold the largest part of the starts first."""
    maps = {action: _compile_map(system, action) for action in system.actions}
    is_bad = _compile_bad(system)
    half_spaces = _bad_half_spaces(system)
    box = np.array([[float(low), float(high)] for low, high in system.starts])
    found: list[tuple[float, SlidingSet]] = []
    for cap, least in product(CAPS, LEAST_UNITS):
        for down, up in combinations(system.actions, 2):
            linear = _linearise_around(maps, box, down, up, least)
            if linear is not None:
                found += _design_sets(linear, maps, is_bad, half_spaces, box, cap, budget)
        if found or (half_spaces.whole and least == LEAST_UNITS[-1]) or budget.is_spent():
            break
    drawn = np.random.default_rng(1).uniform(box[:, 0], box[:, 1], (POINTS, len(box)))
    yield from sorted((one for _, one in found), key=lambda one: -_held_share(one, drawn))


def _held_share(found: SlidingSet, states: Floats) -> float:
    """How many of the states are in the set."""
    rows = np.array([[float(v) for v in row] for row in found.rows])
    heights = np.abs((states - np.array([float(c) for c in found.centre])) @ rows.T)
    return float((heights <= np.array([float(r) for r in found.radii])).all(axis=1).mean())


def _compile_map(system: SwitchedSystem, action: str) -> MapOf:
    kinds = {name: Real() for name in system.variables}
    terms = compile_columns(
        [system.maps[action][name] for name in system.variables], kinds, Arithmetic.FLOAT64
    )

    def step(states: Floats) -> Floats:
        found = terms(dict(zip(system.variables, states.T, strict=True)), len(states))
        columns = np.column_stack([np.asarray(c, dtype=np.float64) for c in found.columns])
        columns[np.column_stack(found.lost)] = np.nan
        return columns

    return step


def _compile_bad(system: SwitchedSystem) -> Callable[[Floats], NDArray[np.bool_]]:
    kinds = {name: Real() for name in system.variables}
    terms = compile_columns([system.bad], kinds, Arithmetic.FLOAT64)

    def look(states: Floats) -> NDArray[np.bool_]:
        found = terms(dict(zip(system.variables, states.T, strict=True)), len(states))
        return np.asarray(found.columns[0], dtype=np.bool_) | found.lost[0]

    return look


@dataclass(frozen=True, slots=True)
class _BadHalfSpaces:
    """Rows a and numbers c such that a x > c is bad; `whole`: there are no other bad states."""

    rows: tuple[tuple[Floats, float], ...]
    whole: bool


def _bad_half_spaces(system: SwitchedSystem) -> _BadHalfSpaces:
    found, whole = [], True
    for part in _split_disjunction(system.bad):
        try:
            formula = negation_normal_form(part)
        except SurefootError:
            whole = False
            continue
        if isinstance(formula, LinearAtom):
            weights = dict(formula.linear.coefficients)
            row = np.array([-float(weights.get(name, 0)) for name in system.variables])
            found.append((row, float(formula.linear.constant)))
        else:
            whole = False
    return _BadHalfSpaces(tuple(found), whole)


def _split_disjunction(bad: Term) -> Iterator[Term]:
    """The parts of which one is enough; of the size of a number both sides."""
    match bad:
        case Apply(Op.OR, parts):
            for part in parts:
                yield from _split_disjunction(part)
        case Apply(Op.LT | Op.LE as op, (limit, Apply(Op.ABS, (inner,)))):
            yield Apply(op, (limit, inner))
            yield Apply(op, (limit, -inner))
        case _:
            yield bad


def _linearise_around(
    maps: dict[str, MapOf], box: Floats, down: str, up: str, least: float
) -> _Linear | None:
    """Where a mixture of both actions keeps still, near the middle of the starts."""
    from scipy.optimize import least_squares

    middle, units = box.mean(axis=1), np.maximum(np.ptp(box, axis=1) / 2, least)
    units[units == 0] = 1e-3
    n = len(middle)

    def move(x: Floats, share: float) -> Floats:
        both = maps[down](x[None, :])[0], maps[up](x[None, :])[0]
        return np.asarray((1 - share) * both[0] + share * both[1] - x)

    def residual(z: Floats) -> Floats:
        x = middle + units * z[:n]
        found = move(x, z[n]) / units
        return np.concatenate([np.where(np.isfinite(found), found, 1e6), 1e-4 * z[:n]])

    start = np.concatenate([np.zeros(n), [0.5]])
    limits = np.concatenate([np.full(n, 50.0), [0.95]])
    low = np.concatenate([np.full(n, -50.0), [0.05]])
    found = least_squares(residual, start, bounds=(low, limits), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    centre, share = middle + units * found.x[:n], float(found.x[n])
    if not np.abs(move(centre, share) / units).max() < 1e-6:
        return None
    steps = 1e-4 * units
    columns = []
    for i in range(n):
        shift = np.zeros(n)
        shift[i] = steps[i]
        columns.append((move(centre + shift, share) - move(centre - shift, share)) / (2 * steps[i]))
    matrix = (np.column_stack(columns) + np.eye(n)) * (units[None, :] / units[:, None])
    pushes = {a: (maps[a](centre[None, :])[0] - centre) / units for a in (down, up)}
    if not np.isfinite(matrix).all() or not np.abs(pushes[up] - pushes[down]).max() > 1e-9:
        return None
    return _Linear(centre, units, matrix, pushes, down, up)


def _design_sets(
    linear: _Linear,
    maps: dict[str, MapOf],
    is_bad: Callable[[Floats], NDArray[np.bool_]],
    half_spaces: _BadHalfSpaces,
    box: Floats,
    cap: float,
    budget: Budget,
) -> list[tuple[float, SlidingSet]]:
    """For all choices of decays the largest set without errors; of the best ones with errors measured."""
    designs = []
    for rows in _choose_coordinates(linear):
        if budget.is_spent():
            break
        solved = _solve_radii(linear, rows, np.zeros(len(rows)), half_spaces, box, cap)
        if solved is not None:
            designs.append((solved[0], rows))
    designs.sort(key=lambda pair: -pair[0])
    found = []
    generator = np.random.default_rng(0)
    shares = generator.uniform(-1, 1, (POINTS, len(box)))
    shares[::2] = np.where(generator.random(shares[::2].shape) < 0.7, np.sign(shares[::2]), shares[::2])
    for _, rows in designs[:BEST]:
        if budget.is_spent():
            break
        made = _measure_errors(linear, maps, is_bad, rows, shares, half_spaces, box, cap)
        if made is not None:
            found.append(made)
    return found


def _choose_coordinates(linear: _Linear) -> Iterator[Floats]:
    """Coordinates for every choice of decays, the first row across the plane of sliding."""
    a, b = linear.matrix, (linear.pushes[linear.up] - linear.pushes[linear.down]) / 2
    n = len(b)
    controllable = np.column_stack([np.linalg.matrix_power(a, i) @ b for i in range(n)])
    if np.linalg.cond(controllable) > 1e12:
        return
    last = np.linalg.solve(controllable.T, np.eye(n)[-1])  # e_n' C^-1
    sizes = np.abs(np.linalg.eigvals(a))
    slow = sizes[sizes > GONE]  # the others are no measure of how fast anything may decay
    natural = float(max([NATURAL, *np.abs(np.log(slow))]))
    for chosen in combinations(DECAYS, n - 1):
        poles = [np.exp(-natural * decay) for decay in chosen]
        wanted = a.copy()  # the pole 0
        for pole in poles:
            wanted = wanted @ (a - pole * np.eye(n))
        closed = a - np.outer(b, last @ wanted)
        values, vectors = np.linalg.eig(closed.T)
        if np.abs(values.imag).max() > 1e-6:
            continue
        order = np.argsort(np.abs(values))
        rows = vectors.T.real[order]
        k = rows[0]
        if abs(k @ b) < 1e-9:
            continue
        k = k / (k @ b)  # one push is 1
        others = [row - (row @ b) * k for row in rows[1:]]
        lengths = [float(np.linalg.norm(row)) for row in others]
        if min(lengths, default=1.0) < 1e-12:
            continue
        made = np.vstack([k, *(row / length for row, length in zip(others, lengths, strict=True))])
        if np.linalg.cond(made) < 1e8:
            yield made


def _solve_radii(
    linear: _Linear,
    rows: Floats,
    errors: Floats,
    half_spaces: _BadHalfSpaces,
    box: Floats,
    cap: float,
) -> tuple[float, Floats] | None:
    """The radii that hold most of the starts, as a linear program; None: there are none."""
    from scipy.optimize import linprog

    n, back = len(rows), np.linalg.inv(rows)
    moved = np.abs(rows @ linear.matrix @ back)
    lead = float((rows @ linear.matrix @ back)[0, 0])
    pushes = {a: rows @ linear.pushes[a] for a in (linear.down, linear.up)}
    least: list[Floats] = []
    most: list[float] = []

    def demand(row: Floats, limit: float) -> None:
        least.append(row)
        most.append(limit)

    for action, sign in ((linear.down, -1.0), (linear.up, 1.0)):
        push = sign * float(pushes[action][0])  # against the side on which it acts
        away = moved[0].copy()
        away[0] = max(lead, 0.0) - INNER
        demand(away, push - errors[0] - ROOM)
        beyond = moved[0].copy()
        beyond[0] = max(-lead, 0.0) - INNER
        demand(beyond, -push - errors[0] - ROOM)
    for i in range(1, n):
        row = moved[i].copy()
        row[i] -= INNER
        demand(row, -max(abs(float(p[i])) for p in pushes.values()) - float(errors[i]) - ROOM * 1e-3)
    for normal, limit in half_spaces.rows:
        outward = np.abs((normal * linear.units) @ back)
        demand(outward, (limit - float(normal @ linear.centre)) * (1 - 1e-3))
    middle, half = (box.mean(axis=1) - linear.centre) / linear.units, np.ptp(box, axis=1) / 2 / linear.units
    held = np.abs(rows) @ half + np.abs(rows @ middle)
    table = np.column_stack([np.array(least), np.zeros(len(least))])
    table = np.vstack([table, np.column_stack([-np.eye(n), held])])
    # As large as it may be; where bad states are not known as half-spaces, as small as the starts allow.
    growth = (-1e-4 if half_spaces.whole and half_spaces.rows else 1e-4) / np.maximum(held, 1e-9)
    cost = np.concatenate([growth, [-1.0]])
    solved = linprog(
        cost,
        A_ub=table,
        b_ub=[*most, *np.zeros(n)],
        bounds=[(1e-9, 1e6)] * n + [(0, cap * 1.0001)],
        method="highs",
    )
    if solved.status != 0:
        return None
    return -float(solved.fun), np.asarray(solved.x[:n])


def _measure_errors(
    linear: _Linear,
    maps: dict[str, MapOf],
    is_bad: Callable[[Floats], NDArray[np.bool_]],
    rows: Floats,
    shares: Floats,
    half_spaces: _BadHalfSpaces,
    box: Floats,
    cap: float,
) -> tuple[float, SlidingSet] | None:
    """Radii with which points of the set stay in it, in numbers that float32 holds."""
    rows = (
        np.asarray(rows / linear.units[None, :], dtype=np.float32).astype(np.float64) * linear.units[None, :]
    )
    back, errors = np.linalg.inv(rows), np.zeros(len(rows))
    inner = rows @ linear.matrix @ back
    for _ in range(ROUNDS):
        solved = _solve_radii(linear, rows, errors, half_spaces, box, cap)
        if solved is None:
            return None
        value, radii = solved
        y = shares * radii
        states = linear.centre + (y @ back.T) * linear.units
        after, expected = np.empty_like(y), np.empty_like(y)
        for action, acts in ((linear.down, y[:, 0] >= 0), (linear.up, y[:, 0] < 0)):
            step = (maps[action](states[acts]) - linear.centre) / linear.units
            after[acts] = step @ rows.T
            expected[acts] = y[acts] @ inner.T + rows @ linear.pushes[action]
        if not np.isfinite(after).all():
            return None
        if (np.abs(after) <= radii * (1 - 1e-5)).all():
            if is_bad(states).any():
                return None
            return value, _set_in_numbers(linear, rows, radii)
        errors = np.maximum(errors, 1.15 * np.abs(after - expected).max(axis=0) + 1e-9)
    return None


def _set_in_numbers(linear: _Linear, rows: Floats, radii: Floats) -> SlidingSet:
    def exact(value: float) -> Fraction:
        return Fraction(float(np.float32(value)))

    plain = rows / linear.units[None, :]
    return SlidingSet(
        tuple(tuple(exact(v) for v in row) for row in plain),
        tuple(
            exact(v if abs(v) > 1e-6 * u else 0.0) for v, u in zip(linear.centre, linear.units, strict=True)
        ),
        tuple(exact(r) for r in radii),
        linear.down,
        linear.up,
    )
