"""Cases of a formula: alternatives that fix real quantities by equalities are tried one after the other.

The points that satisfy an equality of reals fill no box, so no search over boxes finds them; as a top-level
equality it defines a quantity and disappears.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from surefoot.query.bounds import Interval, simplify, tighten
from surefoot.query.formula import All, AnyOf, Formula, Relation, all_of, atoms


def cases(
    formulas: Sequence[Formula], box: Mapping[str, Interval], whole: frozenset[str], loose: frozenset[str]
) -> Iterator[tuple[tuple[Formula, ...], dict[str, Interval]]]:
    """Formulas and bounds whose solutions together are those of the given ones.

    `loose`: names whose tightened bounds must not be used to drop formulas (outputs of networks).
    """
    tight = tighten(box, formulas, whole)
    if tight is None:
        return
    known = {name: box[name] if name in loose else bounds for name, bounds in tight.items()}
    parts = all_of(simplify(part, known) for f in formulas for part in parts_of(f))
    flat = parts.parts if isinstance(parts, All) else (parts,)
    if AnyOf() in flat:
        return
    chosen = min((f for f in flat if ties_reals(f, whole)), key=_alternatives, default=None)
    if chosen is None:
        yield flat, known
        return
    assert isinstance(chosen, AnyOf)
    rest = tuple(f for f in flat if f is not chosen)
    for alternative in chosen.parts:
        yield from cases((*rest, alternative), known, whole, loose)


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction, or the formula itself."""
    return formula.parts if isinstance(formula, All) else (formula,)


def ties_reals(formula: Formula, whole: frozenset[str]) -> bool:
    """Whether an alternative of this formula is an equality of reals."""
    return isinstance(formula, AnyOf) and any(
        a.relation is Relation.EQ and not all(n in whole for n, _ in a.linear.coefficients)
        for a in atoms(formula)
    )


def _alternatives(formula: Formula) -> int:
    return len(formula.parts) if isinstance(formula, AnyOf) else 1
