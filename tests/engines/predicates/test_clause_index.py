"""Clauses settled by bit sets, against every point of the box and against the clauses themselves."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from surefoot.engines.predicates.symbolic.clause_index import ClauseIndex
from surefoot.engines.predicates.symbolic.cubes import Cube, satisfies_cube, unsettled_clauses
from surefoot.query.formula import All, AnyOf, Formula, LinearAtom, Relation
from surefoot.term.linear import LinearForm
from surefoot.term.value_types import Int, Real

KINDS = {"x": Int(0, 3), "y": Int(0, 3), "z": Real(Fraction(0), Fraction(1)), "out": Real(None, None)}
NAMES = ("x", "y", "z")
THIRDS = [Fraction(n, 3) for n in range(4)]
POINTS = [{"x": Fraction(x), "y": Fraction(y), "z": z} for x, y, z in product(range(4), range(4), THIRDS)]


def atom(random: Random, names: str) -> LinearAtom:
    chosen = random.sample(names.split(), random.randint(1, len(names.split())))
    factors = tuple((n, Fraction(random.choice([-2, -1, 1, 2]))) for n in chosen)
    relation = random.choice([Relation.LE, Relation.LE, Relation.LT, Relation.EQ])
    return LinearAtom(LinearForm(factors, Fraction(random.randint(-6, 6), random.choice([1, 3]))), relation)


def formula(random: Random, names: str, depth: int) -> Formula:
    if depth == 0 or random.random() < 0.4:
        return atom(random, names)
    parts = tuple(formula(random, names, depth - 1) for _ in range(2))
    return random.choice([All, AnyOf])(parts)


def clause(random: Random, names: str) -> AnyOf:
    return AnyOf(tuple(formula(random, names, 2) for _ in range(random.randint(2, 3))))


@pytest.mark.parametrize("seed", range(40))
def test_settled_cubes_have_the_same_points(seed: int) -> None:
    random, index = Random(seed), ClauseIndex(NAMES, KINDS)
    for _ in range(10):
        low, high = sorted(random.choices(range(4), k=2))
        box = {"x": (low, high), "z": (random.choice([None, Fraction(1, 3)]), None)}
        cube = Cube(box, (), tuple(clause(random, "x y z") for _ in range(random.randint(1, 4))))
        made = index.settle(cube)
        inside = [p for p in POINTS if satisfies_cube(p, cube)]
        assert inside == ([] if made is None else [p for p in POINTS if satisfies_cube(p, made)])
        several = [c for part in cube.clauses[:1] for c in index.split(cube, part)]
        assert [p for p in POINTS if any(satisfies_cube(p, c) for c in several)] == inside


@pytest.mark.parametrize("seed", range(20))
def test_what_a_point_leaves_of_clauses(seed: int) -> None:
    random, index = Random(seed), ClauseIndex(NAMES, KINDS)
    several = [([clause(random, "x y out") for _ in range(4)], point) for point in POINTS[:20]]
    for (clauses, point), rests in zip(several, index.unsettled(several), strict=True):
        expected = unsettled_clauses(clauses, point)
        assert {id(c): rest for c, rest in rests} == {id(c): rest for c, rest in expected}


def test_what_mentions_outputs_is_left_out() -> None:
    index = ClauseIndex(NAMES, KINDS)
    about = LinearAtom(LinearForm((("out", Fraction(1)),)), Relation.LE)
    state = LinearAtom(LinearForm((("x", Fraction(1)),), Fraction(-2)), Relation.LE)
    other = LinearAtom(LinearForm((("y", Fraction(1)),), Fraction(-2)), Relation.LE)
    mixed, plain = AnyOf((All((other, about)), state)), AnyOf((state, other))
    assert index.without_outputs(Cube({}, (about, state), (mixed, plain))) == Cube({}, (state,), (plain,))
