"""Sketches: which monomials a rule or a barrier may have (Zhu et al., PLDI 2019, Figure 5 and (7)).

A sketch is text like `1, x, y, x*y^2`; its numbers are what the synthesis looks for.
"""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.query.polynomial import Monomial, polynomial_from_variable
from surefoot.reductions.barrier import polynomial_of
from surefoot.term.parser import parse_term

HIGHEST_RULE, HIGHEST_INVARIANT = 5, 12  # degrees


def read_sketch(text: str, variables: Sequence[str], highest: int, where: str) -> tuple[Monomial, ...]:
    """The monomials in their order; `where`: what an error names, an option for example."""
    found: dict[Monomial, str] = {}
    for part in (p.strip() for p in text.split(",")):
        if not part:
            raise InvalidProblem("a monomial is missing at a comma", fix="leave the comma out", where=where)
        monomial = _parse_monomial(part, variables, where)
        if sum(monomial) > highest:
            what = f"`{part}` has degree {sum(monomial)}"
            raise InvalidProblem(what, fix=f"{highest} is the highest", where=where)
        if monomial in found:
            what = f"`{part}` is the same monomial as `{found[monomial]}`"
            raise InvalidProblem(what, fix="name it once", where=where)
        found[monomial] = part
    return tuple(found)


def _parse_monomial(text: str, variables: Sequence[str], where: str) -> Monomial:
    count = len(variables)
    names = {name: polynomial_from_variable(i, count) for i, name in enumerate(variables)}
    fix = f"write products of {', '.join(variables)} like `1, {variables[0]}, {variables[0]}^2`"
    try:
        terms = polynomial_of(parse_term(text, names=variables), names, count, rounded=False).terms
    except Unsupported:
        terms = {}
    except SurefootError as error:
        raise InvalidProblem(f"`{text}`: {error.what}", fix=error.fix, where=where) from None
    if list(terms.values()) != [1]:
        raise InvalidProblem(f"`{text}` is not a monomial", fix=fix, where=where)
    return next(iter(terms))
