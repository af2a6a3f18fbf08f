"""Every run of a controlled polynomial system comes to its target, again and again (section 13).

The set I = {x in the domain, B(x) <= 0} is closed and contains the starts, as for a claim about safety. On it
a polynomial V falls by at least a positive number with every step from a state that is not in the target; V
is bounded on the domain, so no run is outside of the target for ever.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ...kernel.strict_json import BadCertificate, Refused, expect_list, expect_number, expect_object
from ...kernel.term import read_term, term_names
from ...kernel.untrusted_file import quote_for_message as shown_name
from .box_cover import is_box_covered
from .claim import (
    PARTS,
    ScaledRing,
    check_barrier_rule,
    enumerate_control_modes,
    read_scaled_ring,
    read_system_proofs,
    set_constraints,
)
from .perturbation import bound_max_change, box_magnitudes
from .polynomial import (
    ExactPolynomial,
    poly_bound,
    poly_constant,
    poly_difference,
    poly_from_term,
    poly_sum,
    poly_variable,
)
from .rounding_error import RoundedValue, bound_rounding
from .sum_of_squares import check_positivity_proof
from .system import DEEPEST, ClaimedRule, ClaimedSystem, relaxed_conjunctions

_CLAIM = frozenset({"kind", "problem", "target"})
_RANKING = frozenset({"function", "least", "drift", "cases"})
_CASE = frozenset({"slack", "proof"})


def check_convergence(claim_data: object, proofs: object, ranking: object, arithmetic: str) -> str:
    """The claim in words; `Refused` if it is not shown."""
    claim = expect_object(claim_data, _CLAIM, PARTS, "claim")
    system, given = read_system_proofs(claim, proofs, arithmetic)
    target = read_term(claim["target"], deepest=DEEPEST)
    if system.time is not None:
        raise Refused("convergence is shown for steps, not in continuous time")
    if len(system.rules) != 1 or system.rules[0].set.tested or system.shield is not None:
        raise BadCertificate("convergence: of one rule that always decides, without a shield")
    if not term_names(target) <= set(system.variables):
        raise BadCertificate("target: a condition on the variables")
    (rule,), (proof,) = system.rules, given
    ring = read_scaled_ring(system, proof["scale"])
    _, boxes = check_barrier_rule(system, ring, rule, proof)
    if not all(is_box_covered(boxes, part) for part in system.parts):
        raise Refused("the starts are not covered by the sets")
    steps = _check_ranking(system, ring, rule, proof, target, ranking)
    where = "" if system.parts == (system.initial,) else f" from {len(system.parts)} boxes of its starts"
    return (
        f"every run of the system {shown_name(system.name)}{where}, controlled by its program, is in its"
        f" target again and again, and never for {steps} steps in a row outside of it"
    )


def _check_ranking(
    system: ClaimedSystem,
    ring: ScaledRing,
    rule: ClaimedRule,
    proof: dict[str, Any],
    target: Any,
    data: object,
) -> int:
    """V falls by `least` in every step from I outside of the target; after how many steps it cannot."""
    entry = expect_object(data, _RANKING, frozenset(), "ranking")
    function, least = read_term(entry["function"], deepest=DEEPEST), expect_number(entry["least"], "least")
    if not term_names(function) <= set(system.variables):
        raise BadCertificate("ranking: a polynomial of the variables")
    if least <= 0:
        raise Refused("the ranking function need not fall")
    margins = [expect_number(e, "margin") for e in proof["margins"]["step"]]
    drift = expect_number(entry["drift"], "drift")
    if drift < (bound_max_change(system, [function], rule.set.domain, margins) if any(margins) else 0):
        raise Refused("the drift of the ranking function is smaller than the rounding errors")
    inside = set_constraints(system, ring, rule)
    disturbed = ring.within([n for n, _ in system.disturbances], [r for _, r in system.disturbances])
    outside = relaxed_conjunctions(target, False)
    modes, given = (
        list(enumerate_control_modes(system, ring, rule, proof)),
        expect_list(entry["cases"], "cases"),
    )
    if len(given) != len(modes):
        raise BadCertificate(f"ranking: {len(modes)} cases of the controls, in order")
    before = ring.of(function)
    for (values, constraints), several in zip(modes, given, strict=True):
        names = ring.names | {c.name: v for c, v in zip(system.controls, values, strict=True)}
        following = [poly_from_term(t, names, ring.size, ring.rounded) for t in system.next]
        after = poly_from_term(
            function, dict(zip(system.variables, following, strict=True)), ring.size, ring.rounded
        )
        wanted = poly_difference(poly_difference(before, after), poly_constant(least + drift, ring.size))
        shown = expect_list(several, "cases")
        if len(shown) != len(outside):
            raise BadCertificate(f"ranking: {len(outside)} ways to be outside of the target, in order")
        for case, one in zip(outside, shown, strict=True):
            held = expect_object(one, _CASE, frozenset(), "case")
            extra = _outside_constraints(system, ring, rule, case, held["slack"])
            check_positivity_proof(
                wanted, [*inside, *disturbed, *constraints, *extra], held["proof"], ring.size
            )
    return _most_steps(system, rule, function, least)


def _outside_constraints(
    system: ClaimedSystem, ring: ScaledRing, rule: ClaimedRule, case: Any, data: object
) -> list[ExactPolynomial]:
    """What holds where a state is computed to be outside of the target."""
    sizes = box_magnitudes(rule.set.domain)
    state = {name: RoundedValue(size) for name, size in zip(system.variables, sizes, strict=True)}
    known = {name: ring.names[name] for name in system.variables}
    slacks = [expect_number(s, "slack") for s in expect_list(data, "slack")]
    if len(slacks) != len(case):
        raise BadCertificate("ranking: a slack for each comparison")
    found = []
    for (left, right), slack in zip(case, slacks, strict=True):
        gap = poly_difference(*(poly_from_term(t, known, ring.size, ring.rounded) for t in (right, left)))
        errors = [bound_rounding(t, state).error if ring.rounded else Fraction(0) for t in (left, right)]
        if slack < sum(errors):
            raise Refused("a slack is smaller than the rounding errors of its comparison")
        found.append(poly_sum(gap, poly_constant(slack, ring.size)))
    return found


def _most_steps(system: ClaimedSystem, rule: ClaimedRule, function: Any, least: Fraction) -> int:
    """V is between two bounds on the domain: so often it can fall, and once more it cannot."""
    count = len(system.variables)
    names = {name: poly_variable(i, count) for i, name in enumerate(system.variables)}
    size = poly_bound(poly_from_term(function, names, count, system.rounded), box_magnitudes(rule.set.domain))
    return int(2 * size / least) + 1
