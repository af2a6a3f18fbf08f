"""Multipliers of a step: a sum of inequalities that hold at every point concerned, as a form to be bounded.

Each inequality is written as something <= 0. The sum of non-negative multiples is <= 0 too, so where it is
shown to be positive there is no point. The numbers may be anything (they are rounded to the grid first); what
is checked is their sign, and that the inequalities hold for all sets concerned.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from zlib import decompressobj
from zlib import error as ZlibError

from ...bounds.back_substitution import BackwardForm, ExactForm
from ...bounds.case_problem import CaseAtom, CaseProblem
from ...bounds.relaxations import SHARES, check_slopes, step_relaxation
from ...bounds.subdomain import LinearRelaxation, PrecisionGrid, ReluRelaxation, Slopes, SubdomainState
from ...kernel.strict_json import (
    BadCertificate,
    Refused,
    expect_integer,
    expect_list,
    expect_object,
    expect_ratio,
    expect_text,
)

_KEYS = frozenset({"atoms", "bounds", "cut", "slopes"})
MAGNITUDE = 1 << 16  # of multipliers, as a power of two


def read_slopes(grid: PrecisionGrid, v: int, data: Sequence[object]) -> Slopes:
    """Slopes of a value from their text: one byte for each entry, or two."""
    kind = getattr(grid.values[v].node, "kind", "")
    found: list[tuple[int, ...] | None] = []
    for side in data:
        if side is None:
            found.append(None)
            continue
        raw = _decode_bytes(expect_text(side, "slopes", most=1 << 26), 2 * grid.values[v].width)
        if kind in SHARES:
            found.append(tuple(raw))
        elif len(raw) % 2:
            raise BadCertificate("slopes: an odd number of bytes")
        else:
            found.append(tuple(low + 256 * high for low, high in zip(raw[::2], raw[1::2], strict=True)))
    slopes = (found[0], found[1])
    check_slopes(grid, v, slopes)
    return slopes


def _decode_bytes(word: str, most: int) -> bytes:
    """Bytes in base64; after `~` of a zlib stream, which is not unpacked beyond so many bytes."""
    packed = word.startswith("~")
    try:
        raw = b64decode(word[1:] if packed else word, validate=True)
    except (Base64Error, ValueError):
        raise BadCertificate("slopes: not in base64") from None
    if not packed:
        return raw
    stream = decompressobj()
    try:
        found = stream.decompress(raw, most + 1)
    except ZlibError:
        raise BadCertificate("slopes: not a zlib stream") from None
    if not stream.eof or stream.unused_data or len(found) > most:
        raise BadCertificate("slopes: a zlib stream that is cut off, or too long")
    return found


def _step_relaxations(
    grid: PrecisionGrid, state: SubdomainState, data: object
) -> dict[int, LinearRelaxation | ReluRelaxation]:
    """Lines with the slopes of this step alone."""
    if type(data) is not dict:
        raise BadCertificate("slopes: not an object")
    found: dict[int, LinearRelaxation | ReluRelaxation] = {}
    for name, pair in data.items():
        if not (type(name) is str and name.isascii() and name.isdigit() and len(name) < 10):
            raise BadCertificate("slopes: a name that is no number of a value")
        v = expect_integer(int(name), 1, len(grid.values) - 1, "value")
        slopes = read_slopes(grid, v, expect_list(pair, "slopes", 2, "slopes: not two of them"))
        if slopes != (None, None):
            found[v] = step_relaxation(grid, state, v, slopes)
    return found


@dataclass(frozen=True, slots=True)
class Multipliers:
    """The inequalities of a step, each with its multiplier as numerator and denominator."""

    atoms: list[tuple[CaseAtom, tuple[int, int]]]
    bounds: list[tuple[tuple[int, int], tuple[int, int]]]  # value and entry
    cut: tuple[int, int] | None  # of the cut as it is stored, without its power of two
    lines: dict[int, LinearRelaxation | ReluRelaxation]  # with the slopes of this step alone


def _read_multipliers(
    grid: PrecisionGrid, state: SubdomainState, sets: Sequence[int], data: object
) -> Multipliers:
    given = expect_object(data, frozenset(), "multipliers", _KEYS)
    lines = _step_relaxations(grid, state, given.get("slopes", {}))
    atoms, bounds = [], []
    for place, raw in _read_tuples(given.get("atoms", []), 2):
        atom, ratio = _read_atom(grid, sets, place), expect_ratio(raw, "multiplier")
        _check_sign(ratio[0], atom.relation)
        atoms.append((atom, ratio))
    for v, i, raw in _read_tuples(given.get("bounds", []), 3):
        bounds.append((_read_entry(grid, v, i), expect_ratio(raw, "multiplier")))
    return Multipliers(atoms, bounds, _cut_multiplier(state, given["cut"]) if "cut" in given else None, lines)


def _add_inequalities(
    form: BackwardForm, given: Multipliers, factor_of: Callable[[int, int], int | Fraction]
) -> None:
    for atom, ratio in given.atoms:
        factor = factor_of(*ratio)
        for v, i, c in atom.terms:
            form.add_term(v, i, factor, c)
        form.add_constant(factor, *atom.constant.as_integer_ratio())
    for (v, i), ratio in given.bounds:
        form.add_bound(v, i, factor_of(*ratio))
    if given.cut is not None:
        form.add_cut(factor_of(*given.cut))


def sum_inequalities(
    grid: PrecisionGrid, state: SubdomainState, sets: Sequence[int], data: object
) -> tuple[BackwardForm, int]:
    """The sum of the inequalities times their multipliers, not yet substituted: 2^shift times the form.

    The shift makes the largest multiplier about 1 on the grid.
    """
    given = _read_multipliers(grid, state, sets, data)
    ratios = [ratio for _, ratio in (*given.atoms, *given.bounds)] + ([given.cut] if given.cut else [])
    shift = max((abs(n).bit_length() - d.bit_length() for n, d in ratios if n), default=0)
    if abs(shift) > MAGNITUDE:
        raise Refused("multipliers beyond all measure")
    form = BackwardForm(grid, state, given.lines)
    _add_inequalities(form, given, lambda n, d: _round_multiplier(n, d, grid.bits - shift))
    return form, shift


def bound_exact_sum(
    grid: PrecisionGrid, state: SubdomainState, sets: Sequence[int], data: object
) -> tuple[Fraction, bool]:
    """A lower bound of the sum in exact arithmetic, and whether a strict atom is in it."""
    given = _read_multipliers(grid, state, sets, data)
    form = ExactForm(grid, state, given.lines)
    _add_inequalities(form, given, Fraction)
    if grid.float32 and form.reads_networks():
        raise Refused("`exact` says nothing about networks in float32 arithmetic")
    return form.minimum(), any(atom.relation == "<" and n > 0 for atom, (n, _) in given.atoms)


def _round_multiplier(above: int, below: int, bits: int) -> int:
    """A multiplier on the grid; rounding towards 0 keeps its sign."""
    size = abs(above) << bits if bits >= 0 else abs(above) >> -bits
    return size // below if above > 0 else -(size // below)


def _cut_multiplier(state: SubdomainState, data: object) -> tuple[int, int]:
    """The multiplier of the cut as it is stored, without its power of two."""
    if state.cut is None:
        raise Refused("the state has no cut")
    above, below = expect_ratio(data, "multiplier")
    _check_sign(above, "cut")
    shift = state.cut[2]
    return (above << shift, below) if shift >= 0 else (above, below << -shift)


def add_cut_multiple(form: BackwardForm, data: object) -> None:
    """The cut of the state times a multiplier."""
    form.add_cut(_round_multiplier(*_cut_multiplier(form.state, data), form.grid.bits))


def _read_tuples(data: object, length: int) -> list[list[Any]]:
    found = expect_list(data, "multipliers")
    if any(type(entry) is not list or len(entry) != length for entry in found):
        raise BadCertificate(f"multipliers: an entry is a list of {length}")
    return found


def _read_atom(grid: PrecisionGrid, sets: Sequence[int], data: object) -> CaseAtom:
    place = expect_integer(data, 0, len(grid.problem.atoms) - 1, "atom")
    if not all(_contains_atom(grid.problem, s, place) for s in sets):
        raise Refused(f"atom {place} is not in all of the sets concerned, and some has none that implies it")
    return grid.problem.atoms[place]


def _contains_atom(problem: CaseProblem, s: int, place: int) -> bool:
    """Whether a set contains an atom, or one with the same left side that says more."""
    if place in problem.sets[s]:
        return True
    atom = problem.atoms[place]
    return atom.relation != "=" and any(
        _implies_atom(problem.atoms[other], atom) for other in problem.sets[s]
    )


def _implies_atom(strong: CaseAtom, weak: CaseAtom) -> bool:
    if strong.terms != weak.terms or strong.relation == "=":
        return False
    if strong.constant > weak.constant:
        return True
    return strong.constant == weak.constant and (strong.relation == "<" or weak.relation == "<=")


def _read_entry(grid: PrecisionGrid, v: object, i: object) -> tuple[int, int]:
    place = expect_integer(v, 0, len(grid.values) - 1, "value")
    return place, expect_integer(i, 0, grid.values[place].width - 1, "entry")


def _check_sign(factor: int, relation: str) -> None:
    if factor < 0 and relation != "=":
        raise Refused("a negative multiplier of an inequality")
