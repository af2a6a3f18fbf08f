"""Cases of a formula: alternatives that fix real quantities by equalities are tried one after the other.

The points that satisfy an equality of reals fill no box, so no search over boxes finds them; as a top-level
equality it defines a quantity and disappears.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from surefoot.query.bounds import Interval, simplify_formula, tighten_box
from surefoot.query.formula import All, AnyOf, Formula, Relation, conjoin_formulas, formula_atoms


def enumerate_equality_cases(
    formulas: Sequence[Formula], box: Mapping[str, Interval], whole: frozenset[str], loose: frozenset[str]
) -> Iterator[tuple[tuple[Formula, ...], dict[str, Interval]]]:
    """Formulas and bounds whose solutions together are those of the given ones.

    `loose`: names whose tightened bounds must not be used to drop formulas (outputs of networks).
    """
    tight = tighten_box(box, formulas, whole)
    if tight is None:
        return
    known = {name: box[name] if name in loose else bounds for name, bounds in tight.items()}
    parts = conjoin_formulas(simplify_formula(part, known) for f in formulas for part in conjunction_parts(f))
    flat = parts.parts if isinstance(parts, All) else (parts,)
    if AnyOf() in flat:
        return
    chosen = min((f for f in flat if has_real_equality(f, whole)), key=_count_alternatives, default=None)
    if chosen is None:
        yield flat, known
        return
    assert isinstance(chosen, AnyOf)
    rest = tuple(f for f in flat if f is not chosen)
    for alternative in chosen.parts:
        yield from enumerate_equality_cases((*rest, alternative), known, whole, loose)


def conjunction_parts(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction, or the formula itself."""
    return formula.parts if isinstance(formula, All) else (formula,)


def has_real_equality(formula: Formula, whole: frozenset[str]) -> bool:
    """Whether an alternative of this formula is an equality of reals."""
    return isinstance(formula, AnyOf) and any(
        a.relation is Relation.EQ and not all(n in whole for n, _ in a.linear.coefficients)
        for a in formula_atoms(formula)
    )


def _count_alternatives(formula: Formula) -> int:
    return len(formula.parts) if isinstance(formula, AnyOf) else 1
