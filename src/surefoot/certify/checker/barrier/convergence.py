"""Every run of a controlled polynomial system comes to its target, again and again (section 13).

The set I = {x in the domain, B(x) <= 0} is closed and contains the starts, as for a claim about safety. On it
a polynomial V falls by at least a positive number with every step from a state that is not in the target; V
is bounded on the domain, so no run is outside of the target for ever.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..execution.term import mentioned, read_term
from ..file import shown as shown_name
from ..number import BadCertificate, Refused, items, number, record
from .claim import Ring, check_rule, inside_of, modes_of, ring_of
from .cover import covers
from .polynomial import Polynomial, add, constant, largest, of_term, subtract, variable
from .positive import check_positive
from .rounding import Computed, computed
from .shift import shifted, sizes_of
from .system import Rule, System, conjunctions, read_system

_CLAIM = frozenset({"kind", "system", "target"})
_PROOF = frozenset({"scale", "margins", "covers", "start", "unsafe", "saturation", "steps"})
_RANKING = frozenset({"function", "least", "drift", "cases"})
_CASE = frozenset({"slack", "proof"})


def check_convergence(claim_data: object, proofs: object, ranking: object, arithmetic: str) -> str:
    """The claim in words; `Refused` if it is not shown."""
    claim = record(claim_data, _CLAIM, frozenset(), "claim")
    system, target = read_system(claim["system"], arithmetic), read_term(claim["target"])
    if system.time is not None:
        raise Refused("convergence is shown for steps, not in continuous time")
    if len(system.rules) != 1 or system.rules[0].set.tested or system.shield is not None:
        raise BadCertificate("convergence: of one rule that always decides, without a shield")
    if not mentioned(target) <= set(system.variables):
        raise BadCertificate("target: a condition on the variables")
    given = [record(p, _PROOF, frozenset(), "set") for p in items(proofs, "sets")]
    if len(given) != 1:
        raise BadCertificate("sets: one for each rule")
    (rule,), (proof,) = system.rules, given
    ring = ring_of(system, proof["scale"])
    _, boxes = check_rule(system, ring, rule, proof)
    if not all(covers(boxes, part) for part in system.parts):
        raise Refused("the starts are not covered by the sets")
    steps = _check_ranking(system, ring, rule, proof, target, ranking)
    where = "" if system.parts == (system.initial,) else f" from {len(system.parts)} boxes of its starts"
    return (
        f"every run of the system {shown_name(system.name)}{where}, controlled by its program, is in its"
        f" target again and again, and never for {steps} steps in a row outside of it"
    )


def _check_ranking(
    system: System, ring: Ring, rule: Rule, proof: dict[str, Any], target: Any, data: object
) -> int:
    """V falls by `least` in every step from I outside of the target; after how many steps it cannot."""
    entry = record(data, _RANKING, frozenset(), "ranking")
    function, least = read_term(entry["function"]), number(entry["least"], "least")
    if not mentioned(function) <= set(system.variables):
        raise BadCertificate("ranking: a polynomial of the variables")
    if least <= 0:
        raise Refused("the ranking function need not fall")
    margins = [number(e, "margin") for e in proof["margins"]["step"]]
    drift = number(entry["drift"], "drift")
    if drift < (shifted(system, [function], rule.set.domain, margins) if any(margins) else 0):
        raise Refused("the drift of the ranking function is smaller than the rounding errors")
    inside = inside_of(system, ring, rule)
    disturbed = ring.within([n for n, _ in system.disturbances], [r for _, r in system.disturbances])
    outside = conjunctions(target, False)
    modes, given = list(modes_of(system, ring, rule, proof)), items(entry["cases"], "cases")
    if len(given) != len(modes):
        raise BadCertificate(f"ranking: {len(modes)} cases of the controls, in order")
    before = ring.of(function)
    for (values, constraints), several in zip(modes, given, strict=True):
        names = ring.names | {c.name: v for c, v in zip(system.controls, values, strict=True)}
        following = [of_term(t, names, ring.size, ring.rounded) for t in system.next]
        after = of_term(
            function, dict(zip(system.variables, following, strict=True)), ring.size, ring.rounded
        )
        wanted = subtract(subtract(before, after), constant(least + drift, ring.size))
        shown = items(several, "cases")
        if len(shown) != len(outside):
            raise BadCertificate(f"ranking: {len(outside)} ways to be outside of the target, in order")
        for case, one in zip(outside, shown, strict=True):
            held = record(one, _CASE, frozenset(), "case")
            extra = _constraints(system, ring, rule, case, held["slack"])
            check_positive(wanted, [*inside, *disturbed, *constraints, *extra], held["proof"], ring.size)
    return _most_steps(system, rule, function, least)


def _constraints(system: System, ring: Ring, rule: Rule, case: Any, data: object) -> list[Polynomial]:
    """What holds where a state is computed to be outside of the target."""
    sizes = sizes_of(rule.set.domain)
    state = {name: Computed(size) for name, size in zip(system.variables, sizes, strict=True)}
    known = {name: ring.names[name] for name in system.variables}
    slacks = [number(s, "slack") for s in items(data, "slack")]
    if len(slacks) != len(case):
        raise BadCertificate("ranking: a slack for each comparison")
    found = []
    for (left, right), slack in zip(case, slacks, strict=True):
        gap = subtract(*(of_term(t, known, ring.size, ring.rounded) for t in (right, left)))
        errors = [computed(t, state).error if ring.rounded else Fraction(0) for t in (left, right)]
        if slack < sum(errors):
            raise Refused("a slack is smaller than the rounding errors of its comparison")
        found.append(add(gap, constant(slack, ring.size)))
    return found


def _most_steps(system: System, rule: Rule, function: Any, least: Fraction) -> int:
    """V is between two bounds on the domain: so often it can fall, and once more it cannot."""
    count = len(system.variables)
    names = {name: variable(i, count) for i, name in enumerate(system.variables)}
    size = largest(of_term(function, names, count, system.rounded), sizes_of(rule.set.domain))
    return int(2 * size / least) + 1
