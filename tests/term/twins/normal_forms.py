"""Twice on purpose: three normal forms of conditions, each by a recursion of its own."""

from __future__ import annotations

from fractions import Fraction

from surefoot.engines.predicates.symbolic.conditions import term_cases
from surefoot.engines.predicates.symbolic.cubes import normal_atom
from surefoot.errors import Unsupported
from surefoot.query.formula import (
    All,
    AnyOf,
    Formula,
    LinearAtom,
    Relation,
    conjoin_formulas,
    disjoin_formulas,
    normalise_comparison,
)
from surefoot.term.interval import Kinds
from surefoot.term.linear import (
    LinearForm,
    add_forms,
    constant_form,
    linearise_term,
    scale_form,
    subtract_forms,
)
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Bool


def negation_normal_form_twin(term: Term, positive: bool = True) -> Formula:
    """The normal form of a lowered term, or of its negation; `Unsupported` for what lowering removes."""
    match term:
        case Apply(Op.LE | Op.LT | Op.EQ as op, (left, right)):
            return normalise_comparison(
                op, subtract_forms(linearise_term(left), linearise_term(right)), positive
            )
        case Const(bool(value)):
            return All() if value is positive else AnyOf()
        case Var(name):
            sign, base = (Fraction(-1), Fraction(1)) if positive else (Fraction(1), Fraction(0))
            return LinearAtom(LinearForm(((name, sign),), base), Relation.EQ)
        case Apply(Op.NOT, (inner,)):
            return negation_normal_form_twin(inner, not positive)
        case Apply(Op.AND | Op.OR as op, args):
            parts = (negation_normal_form_twin(a, positive) for a in args)
            return conjoin_formulas(parts) if (op is Op.AND) is positive else disjoin_formulas(parts)
        case _:
            raise Unsupported(
                f"`{show_term(term)}` is not a comparison of linear terms", fix="lower the query first"
            )


def condition_to_formula_twin(term: Term, kinds: Kinds, positive: bool = True) -> Formula:
    """The negation normal form of a condition, or of its negation, with cases for what is not linear."""
    match term:
        case Apply(Op.NOT, (inner,)):
            return condition_to_formula_twin(inner, kinds, not positive)
        case Apply(Op.AND | Op.OR as op, args):
            parts = (condition_to_formula_twin(a, kinds, positive) for a in args)
            return conjoin_formulas(parts) if (op is Op.AND) is positive else disjoin_formulas(parts)
        case Apply(Op.IMPLIES, (left, right)):
            return condition_to_formula_twin(~left | right, kinds, positive)
        case Apply(Op.ITE, (test, then, otherwise)):
            first = conjoin_formulas(
                (
                    condition_to_formula_twin(test, kinds),
                    condition_to_formula_twin(then, kinds, positive),
                )
            )
            return disjoin_formulas(
                (
                    first,
                    conjoin_formulas(
                        (
                            condition_to_formula_twin(test, kinds, False),
                            condition_to_formula_twin(otherwise, kinds, positive),
                        )
                    ),
                )
            )
        case Apply(Op.EQ, (left, right)) if _is_condition(left, kinds) or _is_condition(right, kinds):
            same = disjoin_formulas(
                (
                    _conjoin_conditions(left, right, kinds, True, True),
                    _conjoin_conditions(left, right, kinds, False, False),
                )
            )
            other = disjoin_formulas(
                (
                    _conjoin_conditions(left, right, kinds, True, False),
                    _conjoin_conditions(left, right, kinds, False, True),
                )
            )
            return same if positive else other
        case Apply(Op.LE | Op.LT | Op.EQ as op, (left, right)):
            return disjoin_formulas(
                conjoin_formulas((first, second, _compare_difference(op, subtract_forms(a, b), positive)))
                for first, a in term_cases(left, kinds)
                for second, b in term_cases(right, kinds)
            )
        case _:
            return negation_normal_form_twin(term, positive)


def _conjoin_conditions(left: Term, right: Term, kinds: Kinds, first: bool, second: bool) -> Formula:
    return conjoin_formulas(
        (
            condition_to_formula_twin(left, kinds, first),
            condition_to_formula_twin(right, kinds, second),
        )
    )


def _is_condition(term: Term, kinds: Kinds) -> bool:
    match term:
        case Const(value):
            return isinstance(value, bool)
        case Var(name):
            return isinstance(kinds.get(name), Bool)
        case Apply(Op.ITE, (_, then, _)):
            return _is_condition(then, kinds)
        case Apply(op, _):
            return op in (Op.AND, Op.OR, Op.NOT, Op.IMPLIES, Op.LE, Op.LT, Op.EQ)


def _compare_difference(op: Op, difference: LinearForm, positive: bool) -> Formula:
    term = Apply(op, (Var("difference"), Const(0)))
    found = negation_normal_form_twin(term, positive)

    def insert_difference(part: Formula) -> Formula:
        if isinstance(part, LinearAtom):
            sign = part.linear.coefficients[0][1]
            return normal_atom(
                LinearAtom(
                    add_forms(scale_form(difference, sign), constant_form(part.linear.constant)),
                    part.relation,
                )
            )
        combine = conjoin_formulas if isinstance(part, All) else disjoin_formulas
        return combine(insert_difference(p) for p in part.parts)

    return insert_difference(found)


def relaxed_dnf_twin(term: Term, wanted: bool = True) -> list[list[tuple[Term, Term]]]:
    """Lists of comparisons: wherever the term is `wanted` all of one list hold, if `<` is read as `<=`."""
    match term:
        case Const(bool(value)):
            return [[]] if value is wanted else []
        case Apply(Op.NOT, (inner,)):
            return relaxed_dnf_twin(inner, not wanted)
        case Apply(Op.IMPLIES, (left, right)):
            return relaxed_dnf_twin(Apply(Op.OR, (~left, right)), wanted)
        case Apply((Op.AND | Op.OR) as op, parts):
            several = [relaxed_dnf_twin(part, wanted) for part in parts]
            if (op is Op.AND) is not wanted:
                return [case for cases in several for case in cases]
            found: list[list[tuple[Term, Term]]] = [[]]
            for cases in several:
                found = [[*first, *second] for first in found for second in cases]
                if len(found) > 64:
                    raise Unsupported(f"the unsafe states have more than {64} cases")
            return found
        case Apply(Op.LT | Op.LE, (left, right)):
            return [[(left, right) if wanted else (right, left)]]
        case Apply(Op.EQ, (left, right)):
            both = [(left, right), (right, left)]
            return [both] if wanted else [[c] for c in both]
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a comparison, which barriers need")
