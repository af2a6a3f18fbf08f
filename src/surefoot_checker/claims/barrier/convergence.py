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
    relaxed_constraints,
    set_constraints,
)
from .polynomial import poly_bound, poly_constant, poly_from_term, poly_variable
from .sum_of_squares import check_positivity_proof
from .system import (
    DEEPEST,
    ClaimedRule,
    ClaimedSystem,
    bound_max_change,
    box_magnitudes,
    relaxed_conjunctions,
)

_CLAIM = frozenset({"kind", "problem", "target"})
_RANKING = frozenset({"function", "least", "drift", "cases"})
_CASE = frozenset({"slack", "proof"})


def check_convergence(claim_data: object, proofs: object, ranking: object, arithmetic: str) -> str:
    """The claim in words; `Refused` if it is not shown."""
    claim = expect_object(claim_data, _CLAIM, "claim", PARTS)
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
    entry = expect_object(data, _RANKING, "ranking")
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
    modes = list(enumerate_control_modes(system, ring, rule, proof))
    form = f"ranking: {len(modes)} cases of the controls, in order"
    given = expect_list(entry["cases"], "cases", len(modes), form)
    before = ring.of(function)
    for (moved, constraints), several in zip(modes, given, strict=True):
        wanted = before - ring.of(function, moved) - poly_constant(least + drift, ring.size)
        form = f"ranking: {len(outside)} ways to be outside of the target, in order"
        shown = expect_list(several, "cases", len(outside), form)
        for case, one in zip(outside, shown, strict=True):
            held = expect_object(one, _CASE, "case")
            form = "ranking: a slack for each comparison"
            slacks = [expect_number(s, "slack") for s in expect_list(held["slack"], "slack", len(case), form)]
            extra, enough = relaxed_constraints(system, ring, rule, case, slacks)
            if not enough:
                raise Refused("a slack is smaller than the rounding errors of its comparison")
            check_positivity_proof(
                wanted, [*inside, *disturbed, *constraints, *extra], held["proof"], ring.size
            )
    return _most_steps(system, rule, function, least)


def _most_steps(system: ClaimedSystem, rule: ClaimedRule, function: Any, least: Fraction) -> int:
    """V is between two bounds on the domain: so often it can fall, and once more it cannot."""
    count = len(system.variables)
    names = {name: poly_variable(i, count) for i, name in enumerate(system.variables)}
    size = poly_bound(poly_from_term(function, names, count, system.rounded), box_magnitudes(rule.set.domain))
    return int(2 * size / least) + 1
