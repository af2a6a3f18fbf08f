"""From a query to the cases of a proof: choices, definitions, and sets of atoms that cover the formula.

Every solution of the query is one of some case, and there satisfies all atoms of some set; that is what is
checked here (docs/certificates.md, section 5). The steps of a proof then show that it does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ...bounds.case_problem import CaseAtom, CaseProblem, number_values
from ...bounds.variable_box import round_inward
from ...kernel.query import (
    ClaimedQuery,
    ClaimedVariable,
    Ends,
    Formula,
    Linear,
    add_scaled_form,
    comparison_bounds,
    comparison_form,
    formula_parts,
    intersect_ends,
)
from ...kernel.strict_json import (
    BadCertificate,
    Refused,
    expect_integer,
    expect_list,
    expect_object,
    expect_text,
)
from .atom_cover import check_atom_cover
from .query_claim import read_claimed_formula

CHOICES = 100  # one after the other in a case
_NEEDED = frozenset({"atoms", "sets", "steps"})
_ALLOWED = frozenset({"choose", "define"})


def read_case(data: object) -> dict[str, Any]:
    return expect_object(data, _NEEDED, "case", _ALLOWED)


def check_choices(query: ClaimedQuery, cases: Sequence[Mapping[str, Any]]) -> None:
    """Refuse if the cases leave out an alternative of a disjunction that they choose from."""
    paths = []
    for case in cases:
        pairs = [expect_list(p, "choice") for p in expect_list(case.get("choose", []), "choose")]
        if len(pairs) > CHOICES or any(len(p) != 2 for p in pairs):
            raise BadCertificate("choose: not a list of pairs, or too long")
        paths.append([(_read_place(p), _read_place(a)) for p, a in pairs])
    waiting: list[tuple[list[Formula], list[list[tuple[int, int]]]]] = [
        (formula_conjuncts(query.formula), paths)
    ]
    while waiting:
        parts, below = waiting.pop()
        if any(not path for path in below) or ("or",) in parts:
            continue  # one of the cases is all of this, or nothing satisfies it
        places = {path[0][0] for path in below}
        if len(places) != 1:
            raise Refused("the cases do not choose from the same disjunction, or there is none")
        (place,) = places
        for alternative in range(len(_disjunction_at(parts, place)) - 1):
            chosen = [path[1:] for path in below if path[0][1] == alternative]
            if not chosen:
                raise Refused(f"no case has alternative {alternative} of disjunction {place}")
            waiting.append((choose_alternative(parts, place, alternative), chosen))


def _read_place(data: object) -> int:
    return expect_integer(data, 0, 1 << 30, "choose")


def formula_conjuncts(whole: Formula) -> list[Formula]:
    """The parts of a conjunction, conjunctions inside taken apart."""
    if whole[0] != "and":
        return [whole]
    return [part for several in formula_parts(whole) for part in formula_conjuncts(several)]


def _disjunction_at(parts: Sequence[Formula], place: int) -> Formula:
    if place >= len(parts) or parts[place][0] != "or":
        raise Refused(f"choose: conjunct {place} is no disjunction")
    return parts[place]


def choose_alternative(parts: Sequence[Formula], place: int, alternative: int) -> list[Formula]:
    options = formula_parts(_disjunction_at(parts, place))
    if alternative >= len(options):
        raise Refused(f"choose: disjunction {place} has no alternative {alternative}")
    return [*parts[:place], *parts[place + 1 :], *formula_conjuncts(options[alternative])]


def build_case_problem(query: ClaimedQuery, case: Mapping[str, Any], float32: bool) -> CaseProblem | None:
    """The values, atoms and sets of a case; refuses sets that do not cover its formula.

    None if there is nothing to show: no atoms and no sets, and what is left contradicts itself at sight.
    """
    parts, calls = formula_conjuncts(query.formula), list(query.calls)
    for place, alternative in case.get("choose", []):
        parts = choose_alternative(parts, place, alternative)
    outputs = {name for call in calls for name in call.outputs}
    variables = {v.name: v for v in query.variables}
    for entry in expect_list(case.get("define", []), "define"):
        pair = expect_list(entry, "definition", 2, "a definition is a pair of variable and conjunct")
        name = expect_text(pair[0], "definition")
        if name not in variables or name in outputs:
            raise Refused(f"define: `{name}` is no variable that can be defined")
        value = _solve_definition(
            parts, expect_integer(pair[1], 0, len(parts) - 1, "conjunct of a definition"), name
        )
        parts = [_substitute_variable(p, name, value) for p in parts] + _bound_comparisons(
            variables.pop(name), value
        )
        calls = [replace(c, inputs=tuple(_replace_in_form(f, name, value) for f in c.inputs)) for c in calls]
    said = _formula_bounds(("and", *parts))
    narrowed = [_narrow_variable(v, said) for v in variables.values() if v.name not in outputs]
    if not expect_list(case["atoms"], "atoms") and not expect_list(case["sets"], "sets"):
        if not any(map(_is_void, narrowed)):
            check_atom_cover(parts, [], ())
        return None
    free = tuple(map(_require_bounds, narrowed))
    numbering = number_values(free, calls)
    names = {v.name for v in free} | outputs
    atoms = [read_claimed_formula(atom, names, 0) for atom in expect_list(case["atoms"], "atoms")]
    sets = [expect_list(s, "set") for s in expect_list(case["sets"], "sets")]
    chosen = tuple(frozenset(expect_integer(a, 0, len(atoms) - 1, "atom of a set") for a in s) for s in sets)
    check_atom_cover(parts, atoms, chosen)
    return CaseProblem(
        free,
        tuple(numbering.values),
        tuple(
            CaseAtom(str(a[0]), numbering.terms(comparison_form(a)), comparison_form(a).get("", Fraction(0)))
            for a in atoms
        ),
        chosen,
        float32,
    )


def _solve_definition(parts: Sequence[Formula], place: int, name: str) -> Linear:
    """What an equality says about a variable in it."""
    if parts[place][0] != "=" or not comparison_form(parts[place]).get(name):
        raise Refused(f"define: conjunct {place} is no equality with `{name}` in it")
    said = comparison_form(parts[place])
    return {other: -c / said[name] for other, c in said.items() if other != name}


def _replace_in_form(linear: Linear, name: str, value: Linear) -> Linear:
    if name not in linear:
        return linear
    return add_scaled_form({n: c for n, c in linear.items() if n != name}, linear[name], value)


def _substitute_variable(whole: Formula, name: str, value: Linear) -> Formula:
    if whole[0] in ("and", "or"):
        return (whole[0], *(_substitute_variable(part, name, value) for part in formula_parts(whole)))
    return (whole[0], _replace_in_form(comparison_form(whole), name, value))


def _bound_comparisons(variable: ClaimedVariable, value: Linear) -> list[Formula]:
    """The bounds of a variable as comparisons of what it is defined to be, which `-` stands for."""
    found: list[Formula] = []
    if variable.low is not None:
        found.append(("<=", _replace_in_form({"-": Fraction(-1), "": variable.low}, "-", value)))
    if variable.high is not None:
        found.append(("<=", _replace_in_form({"-": Fraction(1), "": -variable.high}, "-", value)))
    return found


def _narrow_variable(variable: ClaimedVariable, said: Mapping[str, Ends]) -> ClaimedVariable:
    """A free variable with all bounds that comparisons of it alone give."""
    low, high = intersect_ends((variable.low, variable.high), said.get(variable.name, (None, None)))
    return replace(variable, low=low, high=high)


def _require_bounds(variable: ClaimedVariable) -> ClaimedVariable:
    if variable.low is None or variable.high is None:
        raise Refused(f"variable `{variable.name}` has no bounds")
    return variable


def _is_void(variable: ClaimedVariable) -> bool:
    """Whether no number of its kind is within the bounds of a variable."""
    low, high = variable.low, variable.high
    return (
        low is not None
        and high is not None
        and round_inward(low, variable.kind) > -round_inward(-high, variable.kind)
    )


def _formula_bounds(whole: Formula) -> dict[str, Ends]:
    """Bounds of variables wherever a formula holds: all parts of `and`, the hull of those of `or`."""
    if whole[0] == "and":
        found: dict[str, Ends] = {}
        for part in formula_parts(whole):
            for name, ends in _formula_bounds(part).items():
                found[name] = intersect_ends(found[name], ends) if name in found else ends
        return found
    if whole[0] == "or":
        first, *others = [_formula_bounds(part) for part in formula_parts(whole)] or [{}]
        return {
            n: _hull_ends([first[n], *(o[n] for o in others)]) for n in first if all(n in o for o in others)
        }
    return comparison_bounds(whole)


def _hull_ends(several: Sequence[Ends]) -> Ends:
    lows, highs = [low for low, _ in several], [high for _, high in several]
    return (
        None if None in lows else min(x for x in lows if x is not None),
        None if None in highs else max(x for x in highs if x is not None),
    )
