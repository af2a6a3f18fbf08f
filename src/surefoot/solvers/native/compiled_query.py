"""What the search works on: one network over one box, and a formula over the signs of its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import Array
from surefoot.problem.network import CURVED, Activation, Network
from surefoot.query.query import NetworkCall, QueryVariable
from surefoot.term.linear import LinearForm

Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Every:
    """True if every part is; a number is the atom of that output."""

    parts: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """True if some part is."""

    parts: tuple[Tree, ...] = ()


Tree: TypeAlias = int | Every | Either


@dataclass(frozen=True, slots=True, eq=False)
class CompiledQuery:
    """Atom j holds where output j is <= 0 (`strict`: < 0; `equal`: = 0).

    The network is a function of real numbers with float64 weights. Its inputs are the free quantities, then
    one per network output with slack, then errors of representation: numbers within small bounds that stand
    for what float64 weights miss, so every true solution is a solution here for some such error.
    """

    network: Network
    low: Array
    high: Array
    whole: Mask  # inputs that are whole numbers
    single: Mask  # inputs that are float32 numbers
    free: Mask  # inputs that a solution chooses: no errors of representation
    strict: Mask
    equal: Mask
    tree: Tree
    names: tuple[str, ...]  # of the free inputs
    exact: tuple[tuple[Fraction, Fraction], ...]  # their bounds
    values: dict[str, LinearForm]  # every quantity over free inputs and raw outputs
    calls: tuple[NetworkCall, ...]  # with inputs over free inputs and raw outputs, in order of evaluation
    quantities: tuple[QueryVariable, ...]
    forms: tuple[LinearForm, ...]  # the atoms, over free inputs and raw outputs
    curtailed: tuple[str, ...] = ()  # quantities without bounds, searched within artificial ones
    rounded: Mapping[int, Mask] = field(default_factory=dict)  # values and entries that float32 rounds
    places: tuple[int, ...] = ()  # per value of the network its number in a certificate, -1: none
    entries: frozenset[int] = frozenset()  # the values that are input vectors of calls
    equations: tuple[tuple[str, int], ...] = ()  # defined quantities, positions of the equalities that do

    @property
    def rational(self) -> bool:
        """Whether the values at rational inputs are rational, so that they can be computed exactly."""
        return not any(is_smooth(call.network) for call in self.calls)

    @property
    def grid(self) -> Mask:
        """Inputs that have neighbours: whole or float32 numbers."""
        return self.whole | self.single


def is_smooth(network: Network) -> bool:
    """Whether a network has tanh, exp or their like."""
    return any(isinstance(n, Activation) and n.shape in CURVED for n in network.nodes)


def tree_violation(tree: Tree, atoms: Array) -> Array:
    """The value of a formula per row: the worst part of `Every`, the best of `Either`; true if <= 0."""
    match tree:
        case int(index):
            return atoms[:, index]
        case Every(parts) if parts and all(isinstance(p, int) for p in parts):
            several = np.array(parts, dtype=np.intp)
            return np.asarray(atoms[:, several].max(axis=1))
        case Every(parts):
            return _extreme_of_parts(np.maximum, parts, atoms, -np.inf)
        case Either(parts):
            return _extreme_of_parts(np.minimum, parts, atoms, np.inf)


def _extreme_of_parts(choose: np.ufunc, parts: Sequence[Tree], atoms: Array, empty: float) -> Array:
    if not parts:
        return np.full(len(atoms), empty)
    found: Array = choose.reduce([tree_violation(p, atoms) for p in parts])
    return found


def formula_cubes(tree: Tree, most: int) -> tuple[tuple[int, ...], ...]:
    """Sets of atoms, one of which holds entirely wherever the formula does; at most `most` sets.

    Alternatives that would exceed that number are left out of the sets, which stays true.
    """
    match tree:
        case int(index):
            return ((index,),)
        case Either(parts):
            found = tuple(dict.fromkeys(c for p in parts for c in formula_cubes(p, most)))
            return found if len(found) <= most else ((),)
        case Every(parts) if all(isinstance(p, int) for p in parts):
            return (tuple(sorted({p for p in parts if isinstance(p, int)})),)
        case Every(parts):
            sets: tuple[tuple[int, ...], ...] = ((),)
            for several in sorted((formula_cubes(p, most) for p in parts), key=len):
                if len(sets) * len(several) <= most:
                    sets = tuple(dict.fromkeys(tuple(sorted({*a, *b})) for a in sets for b in several))
            return sets


def count_cubes(tree: Tree) -> int:
    """How many sets there are if none is left out."""
    match tree:
        case int():
            return 1
        case Either(parts):
            return sum(count_cubes(p) for p in parts)
        case Every(parts):
            return prod(count_cubes(p) for p in parts)


@dataclass(frozen=True, slots=True)
class OpposedAtoms:
    """Atoms that add up, with these factors, to what is nowhere <= 0 (or nowhere < 0: `strict`)."""

    atoms: tuple[tuple[int, Fraction], ...]
    total: Fraction
    strict: bool


def find_opposed_atoms(problem: CompiledQuery, several: Sequence[int]) -> OpposedAtoms | None:
    """Two of these atoms that say the opposite of each other, up to a factor, and so leave nothing."""
    seen: dict[tuple[tuple[str, Fraction], ...], tuple[Fraction, bool, int, Fraction]] = {}
    for j in several:
        ordered = sorted(problem.forms[j].coefficients)
        if not ordered:
            continue
        size = 1 / abs(ordered[0][1])
        for factor in (size, -size) if problem.equal[j] else (size,):
            key, constant = tuple(ordered), problem.forms[j].constant
            if factor != 1:
                key, constant = tuple((name, c * factor) for name, c in ordered), constant * factor
            mirrored, strict = tuple((name, -c) for name, c in key), bool(problem.strict[j])
            if mirrored in seen:
                other, other_strict, k, other_factor = seen[mirrored]
                total = constant + other
                if total > 0 or (total == 0 and (strict or other_strict)):
                    return OpposedAtoms(((k, other_factor), (j, factor)), total, total == 0)
            earlier = seen.get(key)
            if earlier is None or (constant, strict) > earlier[:2]:
                seen[key] = (constant, strict, j, factor)
    return None
