"""Two cubes at once: the points of both, with one comparison for each side of a quantity."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

from surefoot.engines.predicates.symbolic.cubes import (
    EVERYTHING,
    Cube,
    cube_of,
    intersect_cubes,
    satisfies_cube,
)
from surefoot.query.formula import LinearAtom, Relation
from surefoot.term.linear import LinearForm
from surefoot.term.value_types import Int

KINDS = {"x": Int(-2, 2), "y": Int(-2, 2)}
POINTS = [{"x": Fraction(x), "y": Fraction(y)} for x, y in product(range(-2, 3), repeat=2)]


def a_cube(random: Random) -> Cube | None:
    """Some random comparisons; many of the same quantity."""
    atoms = []
    for _ in range(random.randint(0, 4)):
        factors = random.choice([(1, 1), (-1, -1), (1, -2), (-1, 2), (1, 0), (0, -1)])
        named = tuple((n, Fraction(f)) for n, f in zip("xy", factors, strict=True) if f)
        relation = random.choice([Relation.LE, Relation.LE, Relation.LT, Relation.EQ])
        atoms.append(
            LinearAtom(LinearForm(named, Fraction(random.randint(-4, 3), random.choice([1, 2]))), relation)
        )
    return intersect_cubes(EVERYTHING, cube_of(atoms), KINDS)


def test_the_points_of_two_cubes_together_are_those_of_both() -> None:
    random = Random(3)
    empty = both = 0
    for _ in range(3000):
        first, second = a_cube(random), a_cube(random)
        if first is None or second is None:
            continue
        expected = [p for p in POINTS if satisfies_cube(p, first) and satisfies_cube(p, second)]
        found = intersect_cubes(first, second, KINDS)
        if found is None:
            empty += 1
            assert not expected
        else:
            both += 1
            assert [p for p in POINTS if satisfies_cube(p, found)] == expected
            sides = [r.linear.coefficients for r in found.rows if r.relation is not Relation.EQ]
            assert len(sides) == len(set(sides))
    assert empty > 100
    assert both > 100


def test_several_bounds_in_one_cube_are_all_kept_to() -> None:
    names = (("x", Fraction(1)), ("y", Fraction(1)))
    several = Cube(
        {}, tuple(LinearAtom(LinearForm(names, Fraction(-limit)), Relation.LE) for limit in (0, 2))
    )
    other = Cube({}, (LinearAtom(LinearForm((("x", Fraction(1)), ("y", Fraction(-1)))), Relation.LE),))
    found = intersect_cubes(several, other, KINDS)
    assert found is not None
    assert all(
        satisfies_cube(p, found) == (satisfies_cube(p, several) and satisfies_cube(p, other)) for p in POINTS
    )


def test_the_tightest_of_many_bounds_is_kept() -> None:
    def below(limit: int, sign: int = 1) -> Cube:
        names = (("x", Fraction(sign)), ("y", Fraction(sign)))
        return Cube({}, (LinearAtom(LinearForm(names, Fraction(-limit)), Relation.LE),))

    cube: Cube | None = EVERYTHING
    for limit in (3, 1, 2):
        assert cube is not None
        cube = intersect_cubes(cube, below(limit), KINDS)
    assert cube == below(1)
    assert cube is not None
    assert intersect_cubes(cube, below(-2, -1), KINDS) is None  # x + y is at least 2
    assert intersect_cubes(cube, below(-1, -1), KINDS) is not None
