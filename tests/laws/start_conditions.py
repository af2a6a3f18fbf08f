"""Random initial conditions of all kinds, each with at least one start state that its maker knows."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from surefoot.problem.environment import Component, Edge, Environment, Variable
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, disjunction_of, equal
from surefoot.term.value_types import Arithmetic, Bool, Int, Real, ValueType

SHAPES = ("polytope", "thin", "equations", "cone", "cases", "disc", "ring", "integers", "mixed", "truths")


def start_environment(
    kinds: dict[str, ValueType], initial: Term, arithmetic: Arithmetic = Arithmetic.EXACT
) -> Environment:
    variables = tuple(Variable(name, kind) for name, kind in kinds.items())
    return Environment("starts", variables, initial, (Component("c", (Edge(),)),), arithmetic=arithmetic)


def random_condition(seed: int) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    """Kinds, a condition of the shape that the seed names, and a start state inside."""
    draw = Random(seed)
    return _MAKERS[SHAPES[seed % len(SHAPES)]](draw)


def _sum(draw: Random, names: list[str], scale: int = 1) -> tuple[dict[str, Fraction], Term]:
    factors = {
        n: Fraction(draw.choice((-3, -2, -1, 1, 2, 3)), draw.choice((1, 1, 2, 5)) * scale) for n in names
    }
    return factors, Apply(Op.ADD, tuple(Const(c) * Var(n) for n, c in factors.items()))


def _value(factors: dict[str, Fraction], at: dict[str, Fraction]) -> Fraction:
    return sum((c * at[n] for n, c in factors.items()), Fraction(0))


def _point(draw: Random, names: list[str]) -> dict[str, Fraction]:
    return {n: Fraction(draw.randint(-8, 8), 8) for n in names}


def _inequalities(
    draw: Random, names: list[str], at: dict[str, Fraction], rows: int, room: Fraction
) -> list[Term]:
    found: list[Term] = []
    for _ in range(rows):
        factors, total = _sum(draw, draw.sample(names, draw.randint(2, len(names))))
        found.append(total <= _value(factors, at) + room * draw.randint(1, 4))
    return found


def _box(names: list[str]) -> dict[str, ValueType]:
    return {n: Real(Fraction(-2), Fraction(2)) for n in names}


def _polytope(draw: Random) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    names = [f"x{i}" for i in range(draw.randint(2, 5))]
    at = _point(draw, names)
    return _box(names), conjunction_of(tuple(_inequalities(draw, names, at, 5, Fraction(1, 4)))), at


def _thin(draw: Random) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    names = [f"x{i}" for i in range(draw.randint(2, 4))]
    at = _point(draw, names)
    factors, total = _sum(draw, names)
    width, middle = Fraction(1, 10 ** draw.randint(2, 6)), _value(factors, at)
    parts = (total <= middle + width, total >= middle - width)
    return _box(names), conjunction_of(parts), at


def _equations(draw: Random) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    names = [f"x{i}" for i in range(draw.randint(3, 6))]
    at = _point(draw, names)
    parts = _inequalities(draw, names, at, 2, Fraction(1, 2))
    for _ in range(draw.randint(1, 2)):
        factors, total = _sum(draw, draw.sample(names, draw.randint(2, len(names))))
        parts.append(equal(total, _value(factors, at)))
    draw.shuffle(parts)
    return _box(names), conjunction_of(tuple(parts)), at


def _cone(draw: Random) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    names = [f"x{i}" for i in range(draw.randint(2, 3))]
    at = _point(draw, names)
    kinds: dict[str, ValueType] = {n: Real() for n in names}
    return kinds, conjunction_of(tuple(_inequalities(draw, names, at, 3, Fraction(1)))), at


def _cases(draw: Random) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    names = [f"x{i}" for i in range(draw.randint(2, 3))]
    points = [_point(draw, names) for _ in range(draw.randint(2, 4))]
    parts = [conjunction_of(tuple(_inequalities(draw, names, p, 3, Fraction(1, 4)))) for p in points]
    return _box(names), disjunction_of(tuple(parts)), points[0]


def _disc(draw: Random) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    names = [f"x{i}" for i in range(draw.randint(2, 3))]
    at = {n: Fraction(draw.randint(-4, 4), 4) for n in names}
    squares = Apply(Op.ADD, tuple((Var(n) - at[n]) ** 2 for n in names))
    return _box(names), squares <= Fraction(draw.randint(1, 12), 16), at


def _ring(draw: Random) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    radius = Fraction(draw.randint(3, 6), 4)
    squares = Var("x0") * Var("x0") + Var("x1") * Var("x1")
    inner = (radius - Fraction(1, 8)) ** 2
    return _box(["x0", "x1"]), (squares <= radius**2) & (squares >= inner), {"x0": radius, "x1": Fraction(0)}


def _integers(draw: Random) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    names = [f"n{i}" for i in range(draw.randint(3, 9))]
    most = draw.choice((3, 6, 20))
    at = {n: Fraction(draw.randint(0, most)) for n in names}
    kinds: dict[str, ValueType] = {n: Int(0, most) for n in names}
    whole = {n: Fraction(draw.choice((1, 1, 1, 2, 3, -1))) for n in names}
    total = Apply(Op.ADD, tuple(Const(c) * Var(n) for n, c in whole.items()))
    parts: list[Term] = [equal(total, _value(whole, at))]
    first, second = draw.sample(names, 2)
    parts.append(Var(first) + Var(second) <= at[first] + at[second] + 2)
    return kinds, conjunction_of(tuple(parts)), at


def _mixed(draw: Random) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    reals, wholes = ["x0", "x1"], [f"n{i}" for i in range(draw.randint(1, 3))]
    at = _point(draw, reals) | {n: Fraction(draw.randint(0, 6)) for n in wholes}
    kinds = _box(reals) | {n: Int(0, 6) for n in wholes}
    factors, total = _sum(draw, [*reals, *wholes])
    value = _value(factors, at)
    link = equal(total, value) if draw.randint(0, 1) else (total <= value + 1) & (total >= value - 1)
    return kinds, link & (Var("x0") <= at["x0"] + 1), at


def _truths(draw: Random) -> tuple[dict[str, ValueType], Term, dict[str, Fraction]]:
    names = [f"b{i}" for i in range(draw.randint(4, 22))]
    at = {n: Fraction(draw.randint(0, 1)) for n in names}
    kinds: dict[str, ValueType] = {n: Bool() for n in names}
    total = Apply(Op.ADD, tuple(Apply(Op.ITE, (Var(n), Const(1), Const(0))) for n in names))
    return kinds, equal(total, sum(at.values())), at


_MAKERS = {
    "polytope": _polytope,
    "thin": _thin,
    "equations": _equations,
    "cone": _cone,
    "cases": _cases,
    "disc": _disc,
    "ring": _ring,
    "integers": _integers,
    "mixed": _mixed,
    "truths": _truths,
}
