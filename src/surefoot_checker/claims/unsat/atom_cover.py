"""Whether sets of atoms cover a formula: whoever satisfies it satisfies all atoms of some set.

A solution satisfies one alternative of every disjunction. The search goes through such choices, only from
disjunctions that contain atoms of some set, or else false ones, until what was chosen contains a set or is
false. Atoms are compared in a normal form, up to positive factors (any factor for equalities).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from ...kernel.query import Formula, comparison_form, formula_parts, holds_with_zero
from ...kernel.strict_json import Refused

WORK = 1 << 22  # steps of the search before a proof is refused as too intricate
Key = tuple[str, tuple[tuple[str, Fraction], ...]]
FALSE: Key = ("<=", (("", Fraction(1)),))


def check_atom_cover(
    parts: Sequence[Formula], atoms: Sequence[Formula], sets: Sequence[frozenset[int]]
) -> None:
    """Refuse unless every solution of all parts satisfies all atoms of some set."""
    needed = [frozenset(k for a in s if (k := _comparison_key(atoms[a])) is not None) for s in sets]
    wanted = {k for s in needed for k in s}
    work = WORK
    waiting = [_add_parts(frozenset(), (), parts)]
    while waiting:
        known, open_parts = waiting.pop()
        work -= len(needed) + sum(map(len, open_parts)) + 1
        if work < 0:
            raise Refused("the sets and the disjunctions are too many to compare")
        if FALSE in known or ("or",) in open_parts or any(s <= known for s in needed):
            continue  # nothing satisfies this, or it contains a set
        useful = _disjunctions_with(wanted, open_parts) or _disjunctions_with({FALSE}, open_parts)
        if not useful:
            raise Refused("a way to satisfy the formula contains all atoms of no set")
        chosen = min(useful, key=len)
        rest = tuple(p for p in open_parts if p is not chosen)
        waiting.extend(_add_parts(known, rest, [alternative]) for alternative in formula_parts(chosen))


def _disjunctions_with(wanted: set[Key], disjunctions: Iterable[Formula]) -> list[Formula]:
    """The disjunctions that contain comparisons of these normal forms."""
    return [
        p
        for p in disjunctions
        if any(not wanted.isdisjoint(_implied_keys(a)) for a in _enumerate_comparisons(p))
    ]


def _add_parts(
    known: frozenset[Key], disjunctions: tuple[Formula, ...], parts: Iterable[Formula]
) -> tuple[frozenset[Key], tuple[Formula, ...]]:
    """What is known, and the disjunctions still open, when all of these parts hold as well."""
    found, still, waiting = set(known), list(disjunctions), list(parts)
    while waiting:
        part = waiting.pop()
        if part[0] == "and":
            waiting.extend(formula_parts(part))
        elif part[0] == "or":
            still.append(part)
        else:
            found.update(_implied_keys(part))
    return frozenset(found), tuple(still)


def _enumerate_comparisons(whole: Formula) -> Iterable[Formula]:
    """All comparisons in a formula."""
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if part[0] in ("and", "or"):
            waiting.extend(formula_parts(part))
        else:
            yield part


def _comparison_key(atom: Formula) -> Key | None:
    """The normal form of a comparison; None if it has no variables and is true, `FALSE` if it is false."""
    relation, linear = str(atom[0]), comparison_form(atom)
    names = sorted(linear.keys() - {""})
    constant = linear.get("", Fraction(0))
    if not names:
        return None if holds_with_zero(relation, constant) else FALSE
    factor = linear[names[0]] if relation == "=" else abs(linear[names[0]])
    found = [(name, linear[name] / factor) for name in names]
    return relation, (*found, ("", constant / factor))


def _implied_keys(atom: Formula) -> list[Key]:
    """The normal forms of a comparison and of weaker ones: a < b says a <= b, and a = b does."""
    found = _comparison_key(atom)
    if found is None:
        return []
    relation, entries = found
    if relation == "=":
        mirrored = tuple((name, -c) for name, c in entries)
        return [found, ("<=", entries), ("<=", mirrored)]
    return [found, ("<=", entries)]
