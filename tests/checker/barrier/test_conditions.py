"""Unsafe states and targets as lists of comparisons: wherever a condition holds one of the lists does."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from surefoot_checker.claims.barrier.box_cover import is_box_covered
from surefoot_checker.claims.barrier.system import relaxed_conjunctions

_A, _B = ("name", "a"), ("name", "b")
_ATOMS: list[Any] = [("<", _A, _B), ("<=", _B, _A), ("=", _A, _B), True, False, ("<", _B, ("name", "c"))]


def holds(term: Any, state: dict[str, int]) -> Any:
    if isinstance(term, bool):
        return term
    word, *parts = term
    if word == "name":
        return state[parts[0]]
    values = [holds(part, state) for part in parts]
    match word:
        case "<":
            return values[0] < values[1]
        case "<=":
            return values[0] <= values[1]
        case "=":
            return values[0] == values[1]
        case "not":
            return not values[0]
        case "and":
            return all(values)
        case "or":
            return any(values)
        case _:
            assert word == "=>"
            return not values[0] or values[1]


@pytest.mark.parametrize("wanted", [True, False])
def test_no_state_is_in_no_list(wanted: bool) -> None:
    """Of terms with two operators; off the boundaries the lists say no more than the condition."""
    inner = [*_ATOMS, *(("not", atom) for atom in _ATOMS)]
    inner += [(word, a, b) for word in ("and", "or", "=>") for a, b in product(_ATOMS[:3], repeat=2)]
    terms = [(word, a, b) for word in ("and", "or", "=>") for a, b in product(inner, _ATOMS)]
    terms += [("not", term) for term in terms[::3]]
    states = [dict(zip("abc", values, strict=True)) for values in product((0, 1, 2), repeat=3)]
    for term in terms:
        lists = relaxed_conjunctions(term, wanted)
        for state in states:
            found = any(all(holds(p, state) <= holds(q, state) for p, q in atoms) for atoms in lists)
            if holds(term, state) is wanted:
                assert found, (term, state)
            elif len(set(state.values())) == 3:
                assert not found, (term, state)


def test_boxes_that_leave_a_corner() -> None:
    def box(*ends: int) -> Any:
        return ((ends[0], ends[1]), (ends[2], ends[3]))

    whole = box(0, 4, 0, 4)
    corners = {(x, y): box(x, x + 2, y, y + 2) for x in (0, 2) for y in (0, 2)}
    assert is_box_covered([*corners.values()], whole)
    for missing in corners:
        assert not is_box_covered([b for place, b in corners.items() if place != missing], whole)
    middle = box(1, 3, 1, 3)
    frame = [box(0, 1, 0, 4), box(3, 4, 0, 4), box(0, 4, 0, 1), box(0, 4, 3, 4)]
    for order in (frame, frame[::-1]):
        assert is_box_covered([middle, *order], whole)
        assert is_box_covered([*order, middle], whole)
        assert not is_box_covered(order, whole)
        for i in range(4):
            assert not is_box_covered([middle, *order[:i], *order[i + 1 :]], whole)
    assert not is_box_covered([], whole)
