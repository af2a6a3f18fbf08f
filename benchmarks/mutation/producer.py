"""A small producer of certificates, and the ways in which solvers go wrong.

Branch and bound over one state at a time: drop the sets whose atoms contradict each other by backward
substitution, shrink the box by a cut, sharpen bounds before activations, split. With a bug planted the
producer believes what is false, and writes down the steps that convinced it.
"""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from benchmarks.mutation.claims import Array, read_claim
from benchmarks.mutation.relaxation import Bounds, Model, Terms, build, least, refresh, start, substitute

BUGS = (
    "no rounding",  # float32 claims proved for exact arithmetic
    "slope above one",  # below a ReLU a line with a slope from beyond the chord's
    "chord below",  # the chord as lower bound
    "flat above",  # the chord's constant forgotten
    "half of a split",  # the second half is taken for closed
    "twin halves",  # the second half is closed by the steps of the first
    "last disjunct",  # only the last alternative of a disjunction is looked at
    "timeout is closed",  # what was not finished is taken for closed
    "reals are integers",  # the gap between t and t + 1 is left out for real variables
    "shrunk box",  # the search looks at a part of the box only
    "atoms of another set",  # a set is dropped by what another one says
    "strict atoms",  # <= is taken for <
    "negative multiplier",  # an inequality is turned around
    "cut for all",  # what one set says about the box is used for all of them
    "tangent at the ends",  # a line is placed by the ends of the interval alone
    "chord for tangent",  # planes around a quotient with the lines below and above 1 / y exchanged
)
MOST_STEPS = 300
MOST_DEPTH = 16


class GaveUp(Exception):
    """No proof within the limits: no certificate."""


@dataclass(slots=True)
class Search:
    model: Model
    atoms: list[tuple[str, Terms, float]]
    sets: list[list[int]]
    bugs: frozenset[str]
    source: random.Random
    steps: list[list[Any]] = field(default_factory=list)
    margin: float = 1e-7
    most_steps: int = MOST_STEPS


def produce(
    claim: Mapping[str, Any], arithmetic: str, seed: int, bugs: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """A certificate of a written-out claim; raises `GaveUp` if none is found."""
    model = build(read_claim(claim, arithmetic))
    source = random.Random(seed)
    formula = list(claim["formula"][1:]) if claim["formula"][0] == "and" else [claim["formula"]]
    cases = []
    for choices, conjuncts in _cases(formula, source, bugs):
        atoms, sets = _sets(conjuncts, bugs)
        numbered = [(a[0], *model.terms({n: Fraction(c) for n, c in a[1].items()})) for a in atoms]
        search = Search(model, numbered, sets, bugs, source)
        if "timeout is closed" in bugs:
            search.most_steps = 4
        bounds = start(model, bugs)
        if "shrunk box" in bugs:
            width = bounds.high[0] - bounds.low[0]
            bounds.low[0], bounds.high[0] = bounds.low[0] + 0.3 * width, bounds.high[0] - 0.3 * width
            refresh(model, bounds, bugs)
        bounds.alive = frozenset(range(len(sets)))
        _choose_planes(search, bounds)
        _close(search, bounds, 0)
        case: dict[str, Any] = {"choose": choices} if choices else {}
        cases.append(case | {"atoms": atoms, "sets": sets, "steps": search.steps})
    return {"surefoot-certificate": 1, "claim": dict(claim), "arithmetic": arithmetic, "cases": cases}


def _cases(
    formula: list[Any], source: random.Random, bugs: frozenset[str]
) -> list[tuple[list[Any], list[Any]]]:
    """One case, or one for each alternative of the first disjunction."""
    place = next((i for i, f in enumerate(formula) if f[0] == "or"), None)
    if place is None or len(formula[place]) < 3 or source.random() < 0.6:
        return [([], formula)]
    found = []
    for number, alternative in enumerate(formula[place][1:]):
        parts = alternative[1:] if alternative[0] == "and" else [alternative]
        found.append(([[place, number]], [*formula[:place], *formula[place + 1 :], *parts]))
    return found[-1:] if "last disjunct" in bugs else found


def _sets(conjuncts: list[Any], bugs: frozenset[str]) -> tuple[list[Any], list[list[int]]]:
    """Atoms and the sets of them that are to be refuted: the ways to choose from all disjunctions."""
    atoms: list[Any] = []

    def number(atom: Any) -> int:
        if atom not in atoms:
            atoms.append(atom)
        return atoms.index(atom)

    def ways(formula: Any) -> list[list[int]]:
        if formula[0] == "and":
            found: list[list[int]] = [[]]
            for part in formula[1:]:
                found = [a + b for a in found for b in ways(part)]
            return found
        if formula[0] == "or":
            parts = formula[-1:] if "last disjunct" in bugs else formula[1:]
            return [way for part in parts for way in ways(part)]
        return [[number(formula)]]

    return atoms, [sorted(set(way)) for way in ways(["and", *conjuncts])]


def _choose_planes(search: Search, bounds: Bounds) -> None:
    """Shares of the two planes around quotients, for the whole proof; where none are chosen, constants."""
    for v, value in enumerate(search.model.values):
        if value.kind == "quotient" and ("chord for tangent" in search.bugs or search.source.random() < 0.8):
            width = len(bounds.low[v])
            given = [[search.source.choice([0, 64, 128]) for _ in range(width)] for _ in range(2)]
            bounds.slopes[v] = np.array(given) / 128
            search.steps.append(["slopes", v, *(b64encode(bytes(side)).decode() for side in given)])


def _close(search: Search, bounds: Bounds, depth: int) -> None:
    """Steps that close a state, appended in preorder."""
    model, bugs = search.model, search.bugs
    if _closed_as_void(search, bounds):
        return
    best: tuple[Array, float] | None = None
    for attempt in range(2):
        for number in sorted(bounds.alive):
            multipliers, function, value = _best(search, bounds, number)
            if value > search.margin or ("strict atoms" in bugs and value > -search.margin):
                strict = "strict atoms" in bugs and value <= search.margin
                search.steps.append(["exact" if strict else "drop", [number], {"atoms": multipliers}])
                bounds.alive -= {number}
            elif best is None or value > best[1]:
                best = function
                if search.source.random() < 0.3 and _cut(search, bounds, number, multipliers, function):
                    return
        if not bounds.alive:
            return
        if attempt == 0 and not _sharpen(search, bounds):
            break
        if _closed_as_void(search, bounds):
            return
    if len(search.steps) > search.most_steps or depth > MOST_DEPTH:
        if "timeout is closed" in bugs:
            return
        raise GaveUp
    if not model.claim.float32 and not _smooth(model) and _is_point(bounds):
        search.steps.append(["point", sorted(bounds.alive)])
        return
    _split(search, bounds, depth, best)


def _closed_as_void(search: Search, bounds: Bounds) -> bool:
    """Where bounds contradict each other every set may be dropped."""
    if not _void(bounds):
        return False
    search.steps.append(["drop", sorted(bounds.alive), {}])
    return True


def _smooth(model: Model) -> bool:
    return any(v.kind in ("tanh", "sigmoid") for v in model.values)


def _is_point(bounds: Bounds) -> bool:
    return bool((bounds.low[0] == bounds.high[0]).all())


def _void(bounds: Bounds) -> bool:
    return any(
        (low > high + 1e-9 * (1 + np.abs(low))).any()
        for low, high in zip(bounds.low, bounds.high, strict=True)
    )


def _best(search: Search, bounds: Bounds, number: int) -> tuple[list[Any], tuple[Array, float], float]:
    """Multipliers of a set's atoms with the largest lower bound of their sum, of a few tried."""
    members = search.sets[number]
    if "atoms of another set" in search.bugs:
        members = list(range(len(search.atoms)))
    tries = [[float(i == j) for j in range(len(members))] for i in range(len(members))]
    tries.append([1.0] * len(members))
    tries += [[search.source.random() for _ in members] for _ in range(4)]
    found: tuple[list[Any], tuple[Array, float], float] | None = None
    for weights in tries:
        signs = [1.0] * len(members)
        for place, atom in enumerate(members):
            if search.atoms[atom][0] == "=" or "negative multiplier" in search.bugs:
                signs[place] = search.source.choice([1.0, -1.0])
        multipliers = [
            (a, round(w * s * 1024) / 1024) for a, w, s in zip(members, weights, signs, strict=True)
        ]
        terms = [(v, i, c * m) for a, m in multipliers for v, i, c in search.atoms[a][1]]
        constant = sum(search.atoms[a][2] * m for a, m in multipliers)
        coefficients, rest = substitute(search.model, bounds, terms, constant, search.bugs)
        value = rest + least(bounds, coefficients)
        if found is None or value > found[2]:
            written = [[a, str(Fraction(m))] for a, m in multipliers if m]
            found = written, (coefficients, rest), value
    assert found is not None
    return found


def _cut(
    search: Search, bounds: Bounds, number: int, multipliers: list[Any], function: tuple[Array, float]
) -> bool:
    """Shrink the box by the inequality of the only living set; True if that closed the state."""
    if len(bounds.alive) > 1 and "cut for all" not in search.bugs:
        return False
    coefficients, constant = function
    low, high = bounds.low[0].copy(), bounds.high[0].copy()
    total = constant + least(bounds, coefficients)
    for i, c in enumerate(coefficients):
        if abs(c) < 1e-9:
            continue
        rest = total - (c * low[i] if c > 0 else c * high[i])
        limit = -rest / c
        if c > 0:
            high[i] = min(high[i], limit + 1e-7)
        else:
            low[i] = max(low[i], limit - 1e-7)
    if (high - low).sum() > 0.9 * (bounds.high[0] - bounds.low[0]).sum():
        return False
    search.steps.append(["cut", [[[number], {"atoms": multipliers}]]])
    bounds.low[0], bounds.high[0] = _rounded(search, low, high)
    if not _void(bounds):
        _follow(search, bounds)
    return _closed_as_void(search, bounds)


def _rounded(search: Search, low: Array, high: Array) -> tuple[Array, Array]:
    for i, (_, _, _, kind) in enumerate(search.model.claim.free):
        if kind == "integer" or "reals are integers" in search.bugs:
            low[i], high[i] = ceil(low[i] - 1e-6), floor(high[i] + 1e-6)
    return low, high


def _follow(search: Search, bounds: Bounds) -> None:
    """Interval bounds of all later values, written as a step."""
    refresh(search.model, bounds, search.bugs)
    if len(search.model.values) > 1:
        search.steps.append(["forward", 1, len(search.model.values) - 1])


def _sharpen(search: Search, bounds: Bounds) -> bool:
    """Better bounds of what activations read, by backward substitution; False if there are none."""
    changed = False
    for v, value in enumerate(search.model.values):
        if value.kind not in ("relu", "leaky_relu", "clip", "tanh", "sigmoid"):
            continue
        source = value.node[1]
        wanted = []
        for i in range(len(bounds.low[source])):
            for side in (0, 1):
                sign = 1.0 if side == 0 else -1.0
                coefficients, rest = substitute(search.model, bounds, [(source, i, sign)], 0.0, search.bugs)
                found = sign * (rest + least(bounds, coefficients)) - sign * 1e-9
                known = (bounds.low, bounds.high)[side][source]
                if (found > known[i] + 1e-3) if side == 0 else (found < known[i] - 1e-3):
                    known[i] = found
                    wanted.append([i, side])
        if wanted:
            search.steps.append(["bound", source, wanted])
            changed = True
        if value.kind == "relu" and search.source.random() < 0.2:
            slopes = [search.source.randrange(129) for _ in range(len(bounds.low[source]))]
            bounds.slopes[v] = np.array(slopes) / 128
            search.steps.append(["slopes", v, b64encode(bytes(slopes)).decode(), None])
    if changed:
        _follow(search, bounds)
    return changed


def _split(search: Search, bounds: Bounds, depth: int, best: tuple[Array, float] | None) -> None:
    value, entry, at = _where(search, bounds, best)
    kinds = [v[3] for v in search.model.claim.free]
    integral = value == 0 and (kinds[entry] == "integer" or "reals are integers" in search.bugs)
    if integral:
        at = float(floor(at))
    search.steps.append(["split", value, entry, str(Fraction(at)) if not integral else int(at)])
    for half in range(2):
        part, mark = bounds.copy(), len(search.steps)
        if half == 0:
            part.high[value][entry] = min(part.high[value][entry], at)
        else:
            part.low[value][entry] = max(part.low[value][entry], at + 1 if integral else at)
            if "half of a split" in search.bugs:
                return
        if not _void(part):
            _follow(search, part)
        _close(search, part, depth + 1)
        if half == 0 and "twin halves" in search.bugs:
            search.steps += search.steps[mark:]
            return


def _where(search: Search, bounds: Bounds, best: tuple[Array, float] | None) -> tuple[int, int, float]:
    """An input, mostly; now and then an entry before an activation, at its kink."""
    unstable = [
        (v.node[1], i)
        for v in search.model.values
        if v.kind == "relu"
        for i in range(len(bounds.low[v.node[1]]))
        if bounds.low[v.node[1]][i] < 0 < bounds.high[v.node[1]][i]
    ]
    width = bounds.high[0] - bounds.low[0]
    if (unstable and search.source.random() < 0.3) or not (width > 0).any():
        if not unstable:
            raise GaveUp
        return (*search.source.choice(unstable), 0.0)
    weight = width * (np.abs(best[0]) + 1e-3 if best is not None else 1.0)
    entry = int(np.argmax(weight))
    return 0, entry, float(np.float32((bounds.low[0][entry] + bounds.high[0][entry]) / 2))
