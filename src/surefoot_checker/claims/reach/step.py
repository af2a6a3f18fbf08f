"""One step of an automaton over a cell: every edge, outcome and choice that is possible has a successor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from ...kernel.query import ClaimedVariable
from ...kernel.strict_json import Refused
from ...kernel.term import Term, same_term
from ..runs.canonical_problem import CanonicalEdge
from .affine_form import Form, FormArithmetic, extend_form, form_bounds
from .cell import Cell, WalkOptions, cell_terms, reduce_cell, settle_radii, tighten_forms
from .decision import Decision, decide_actions, decide_controls, is_surely_decided
from .flow_program import Truth
from .interval import IntervalArithmetic
from .loop_system import ClosedLoop
from .term_forms import TermForms, assumed_forms, nearest_double

MOST_CHOICES = 1000
MOST_OPEN = 12  # comparisons that are not decided, in a proof that some edge is enabled


def enumerate_successors(
    loop: ClosedLoop, cell: Cell, bits: int, options: WalkOptions, must_go_on: bool
) -> dict[str, Cell]:
    """By key. `must_go_on`: refused where no edge may be permitted, so that a run may end."""
    if loop.chooses == "value":
        decisions = decide_controls(loop, cell, bits, options.halvings)
    else:
        decisions = decide_actions(
            loop, cell, bits, options.halvings, lambda part, a: _action_enabled(loop, part, a, bits)
        )
        if not decisions or not is_surely_decided(loop, cell, bits):
            decisions.append(Decision("-", cell, (), None))  # nothing may be picked
    found: dict[str, Cell] = {}
    for decision in decisions:
        permitted = [
            (number, edge) for number, edge in enumerate(loop.edges) if _is_permitted(loop, edge, decision)
        ]
        if must_go_on and not _some_enabled(loop, decision, [edge for _, edge in permitted], bits):
            raise Refused("a run may end before its goal: an edge that is surely enabled is not found")
        for number, edge in permitted:
            own = edge.action is not None and edge.action in loop.owns
            who = decision.key if own or loop.chooses == "value" else "-"
            part = decision if own or loop.chooses == "value" else replace(decision, cell=cell)
            if who == "-" and any(key.startswith(f"-/{number}/") for key in found):
                continue  # it does not depend on what is picked
            for rest, successor in _follow_edge(loop, part, edge, bits, options.order):
                key = f"{who}/{number}/{rest}"
                if key in found:
                    raise Refused("one action stands for two outputs of a network")
                found[key] = successor
    return found


def _is_permitted(loop: ClosedLoop, edge: CanonicalEdge, decision: Decision) -> bool:
    return edge.action is None or edge.action not in loop.owns or edge.action == decision.action


def _named_controls(loop: ClosedLoop, forms: Sequence[Form]) -> dict[str, Form]:
    return {c.name: form for c, form in zip(loop.controls, forms, strict=True)}


def _action_enabled(loop: ClosedLoop, cell: Cell, action: str, bits: int) -> Truth:
    """In states that are followed: where the goal is met a run is over, so that no guard need say so."""
    terms, going = cell_terms(loop, cell, bits), ("not", loop.property.before)
    found = []
    for edge in loop.edges:
        if edge.action == action:
            guard = edge.guard
            if loop.property.before is not None and type(guard) is tuple and guard[0] == "and":
                guard = ("and", *(part for part in guard[1:] if not same_term(part, going)))
            found.append(terms.truth(guard))
    return True if True in found else None if None in found else False


def _some_enabled(loop: ClosedLoop, decision: Decision, edges: Sequence[CanonicalEdge], bits: int) -> bool:
    """Surely one of these edges: for every way in which open comparisons may turn out, some guard is true."""
    count = len(decision.controls[0][1]) if decision.controls else None
    terms = cell_terms(loop, decision.cell, bits, _named_controls(loop, decision.controls), count)
    guards = [edge.guard for edge in edges]
    leaves: dict[Any, int] = {}
    for guard in guards:
        _collect_open(terms, guard, leaves)
    if len(leaves) > MOST_OPEN:
        return False
    ways = product((False, True), repeat=len(leaves))
    return all(any(_holds(terms, guard, leaves, way) for guard in guards) for way in ways)


def _leaf_key(term: Term) -> tuple[Any, bool]:
    """`b <= a` is the opposite of `a < b`."""
    if term[0] == "<=":
        return ("<", repr(term[2]), repr(term[1])), False
    return (term[0], repr(term[1]), repr(term[2])), True


def _collect_open(terms: TermForms, term: Term, leaves: dict[Any, int]) -> None:
    if type(term) is tuple and term[0] in ("and", "or", "not", "=>"):
        for part in term[1:]:
            _collect_open(terms, part, leaves)
    elif type(term) is tuple and term[0] in ("<", "<=", "=") and terms.truth(term) is None:
        leaves.setdefault(_leaf_key(term)[0], len(leaves))


def _holds(terms: TermForms, term: Term, leaves: dict[Any, int], way: Sequence[bool]) -> bool:
    """Surely, where the open comparisons turn out so."""
    word = term[0] if type(term) is tuple else ""
    if word == "and":
        return all(_holds(terms, part, leaves, way) for part in term[1:])
    if word == "or":
        return any(_holds(terms, part, leaves, way) for part in term[1:])
    if word == "=>":
        return _fails(terms, term[1], leaves, way) or _holds(terms, term[2], leaves, way)
    if word == "not":
        return _fails(terms, term[1], leaves, way)
    if word in ("<", "<=", "="):
        key, same = _leaf_key(term)
        if key in leaves:
            return way[leaves[key]] is same
    return terms.truth(term) is True


def _fails(terms: TermForms, term: Term, leaves: dict[Any, int], way: Sequence[bool]) -> bool:
    word = term[0] if type(term) is tuple else ""
    if word == "and":
        return any(_fails(terms, part, leaves, way) for part in term[1:])
    if word == "or":
        return all(_fails(terms, part, leaves, way) for part in term[1:])
    if word == "=>":
        return _holds(terms, term[1], leaves, way) and _fails(terms, term[2], leaves, way)
    if word == "not":
        return _holds(terms, term[1], leaves, way)
    if word in ("<", "<=", "="):
        key, same = _leaf_key(term)
        if key in leaves:
            return way[leaves[key]] is not same
    return terms.truth(term) is False


def _follow_edge(
    loop: ClosedLoop, decision: Decision, edge: CanonicalEdge, bits: int, order: int
) -> Iterator[tuple[str, Cell]]:
    """For each outcome and each choice of discrete values: `outcome/choice`, and the next cell."""
    forms = [*decision.cell.reals, *decision.controls]
    known = len(decision.cell.reals)
    narrowed = _assume(loop, decision.cell, forms, edge.guard, {}, bits)
    if narrowed is None:
        return
    reals = [c for c in edge.chosen if c.kind in ("real", "float32")]
    discrete = [c for c in edge.chosen if c.kind not in ("real", "float32")]
    wide = (len(narrowed[0][1]) if narrowed else 0) + len(reals)
    forms = [extend_form(x, wide) for x in narrowed]
    first = wide - len(reals)
    forms += [_chosen_form(loop, c, bits, wide, first + i) for i, c in enumerate(reals)]
    for choice in _enumerate_choices(discrete):
        values = dict(zip((c.name for c in discrete), choice, strict=True))
        chosen = _assume(loop, decision.cell, forms, edge.assuming, values, bits, reals)
        if chosen is None:
            continue
        cell = replace(decision.cell, reals=tuple(chosen[:known]))
        terms = cell_terms(loop, cell, bits, _named_forms(loop, chosen[known:], reals, values), wide)
        written = ",".join(str(int(v)) for v in choice)
        for number, outcome in enumerate(edge.outcomes):
            yield f"{number}/{written}", _apply_updates(loop, cell, outcome, terms, order)


def _named_forms(
    loop: ClosedLoop, forms: Sequence[Form], reals: Sequence[ClaimedVariable], values: dict[str, Any]
) -> dict[str, Any]:
    names = [*(c.name for c in loop.controls), *(c.name for c in reals)]
    return {**dict(zip(names, forms, strict=True)), **values}


def _assume(
    loop: ClosedLoop,
    cell: Cell,
    forms: Sequence[Form],
    condition: Term,
    values: dict[str, Any],
    bits: int,
    reals: Sequence[ClaimedVariable] = (),
) -> list[Form] | None:
    """All forms where the condition may hold; None: nowhere."""
    known = len(cell.reals)
    here = replace(cell, reals=tuple(forms[:known]))
    count = len(forms[0][1]) if forms else 0
    terms = cell_terms(loop, here, bits, _named_forms(loop, forms[known:], reals, values), count)
    holds = terms.truth(condition)
    if holds is False:
        return None
    return list(forms) if holds else tighten_forms(forms, assumed_forms(terms, condition, True))


def _enumerate_choices(discrete: Sequence[ClaimedVariable]) -> list[tuple[Any, ...]]:
    several: list[Sequence[Any]] = []
    count = 1
    for c in discrete:
        if c.kind == "boolean":
            several.append((False, True))
        elif c.low is None or c.high is None or c.high - c.low >= MOST_CHOICES:
            raise Refused("an edge chooses among more values than are followed")
        else:
            several.append(range(-(-c.low.numerator // c.low.denominator), c.high.__floor__() + 1))
        count *= len(several[-1])
    if count > MOST_CHOICES:
        raise Refused("an edge chooses among more values than are followed")
    return list(product(*several))


def _chosen_form(loop: ClosedLoop, variable: ClaimedVariable, bits: int, wide: int, place: int) -> Form:
    if variable.low is None or variable.high is None:
        raise Refused("an edge chooses a real number without bounds")
    low, high = variable.low, variable.high
    if loop.plant.rounded:  # or the doubles next to the ends
        low, high = min(low, Fraction(nearest_double(low))), max(high, Fraction(nearest_double(high)))
    exact = IntervalArithmetic(bits)
    bottom, top = exact.enclose_number(low)[0], exact.enclose_number(high)[1]
    centre = (bottom + top) >> 1
    return centre, [top - centre if j == place else 0 for j in range(wide)], 0


def _apply_updates(
    loop: ClosedLoop, cell: Cell, outcome: dict[str, Term], terms: TermForms, order: int
) -> Cell:
    discrete = dict(cell.discrete)
    wide = terms.arithmetic.count
    reals = {n: extend_form(x, wide) for n, x in zip(loop.reals, cell.reals, strict=True)}
    for variable in loop.variables:
        if outcome.get(variable.name, ("name", variable.name)) == ("name", variable.name):
            continue  # it keeps its value
        if variable.name in reals:
            form = terms.form(outcome[variable.name])
            _check_range(variable, form, terms.arithmetic)
            reals[variable.name] = form
        else:
            discrete[variable.name] = _discrete_value(variable, terms.value(outcome[variable.name]))
    forms = settle_radii([reals[name] for name in loop.reals])
    return reduce_cell(Cell(discrete, tuple(forms), cell.first), order * len(loop.variables))


def _check_range(variable: ClaimedVariable, form: Form, arithmetic: FormArithmetic) -> None:
    low, high = form_bounds(form)
    one = 1 << arithmetic.bits
    if (variable.low is not None and Fraction(low, one) < variable.low) or (
        variable.high is not None and Fraction(high, one) > variable.high
    ):
        raise Refused("a variable may leave the range that it is declared with")


def _discrete_value(variable: ClaimedVariable, value: Any) -> Any:
    if variable.kind == "boolean":
        if type(value) is not bool:
            raise Refused("a truth value is not decided over a whole cell")
        return value
    if type(value) is not int:
        raise Refused("a whole number is not decided over a whole cell")
    if (variable.low is not None and value < variable.low) or (
        variable.high is not None and value > variable.high
    ):
        raise Refused("a variable leaves the range that it is declared with")
    return value
