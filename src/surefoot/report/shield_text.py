"""A synthesis as readable code, as JSON, as a page, and as a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from surefoot.problem.policy import ShieldedPolicy
from surefoot.problem.property_printer import show_property
from surefoot.query.polynomial import Polynomial, polynomial_from_variable
from surefoot.reductions.barrier import barrier_rows, polynomial_of
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.region.html import region_page
from surefoot.report.region.region_figure import draw_scenes
from surefoot.report.region.scene import Scene, synthesis_scene
from surefoot.report.search_page import preformatted_html
from surefoot.run import unanswered_result
from surefoot.shields.certified_shield import ShieldSynthesis, Sketches
from surefoot.shields.start_regions import Box
from surefoot.shields.synthesis import ShieldRule
from surefoot.term.printer import show_term
from surefoot.term.term import Term
from surefoot.verdict.verdict import Certificate, Proved, Reason, Result, Unknown, Verdict
from surefoot.visible import join_visible
from surefoot.work.budget import Budget

STAGES = {
    "kept": "all: its sets hold here too",
    "level": "its rules, with smaller or larger sets",
    "sets": "a rule, with a new set",
    "rules": "at most a beginning: rules were synthesised",
}
LONGEST = 20  # terms of a barrier that are printed
MOST_LISTED = 8  # parts of the starts
ROUNDED = "# sets, barriers and limits are rounded to six digits here; --json has them as they are"


def render_synthesis(made: ShieldSynthesis, seconds: float | None = None) -> str:
    """What was found, for people: numbers of the rules are not rounded, all others are, and it says so."""
    found, lines = made.found, []
    for index, branch in enumerate(found.branches):
        lines += _render_rule(made, index, branch)
    if found.branches:
        lines += [ROUNDED, ""]
    share = found.covered_share(made.system.initial)
    count = len(found.branches)
    lines.append(f"problem      {made.problem.name}")
    lines.append(
        f"rules        {count}; {_describe_sets(found.branches, made.system.variables)}"
        if count
        else "rules        0"
    )
    lines.append(f"covered      {render_share(share)} of the starts")
    lines += [f"  open       {_render_box(made, box)}" for box in found.uncovered[:MOST_LISTED]]
    more = len(found.uncovered) - MOST_LISTED
    lines += [f"  open       and {more} other parts"] if more > 0 else []
    for box in found.lost[:MOST_LISTED]:
        lines.append(
            f"  lost       {_render_box(made, box)}: unsafe at once or after one step, whatever the control"
        )
    if (again := made.rechecked) is not None:
        spent = ", ".join(f"{stage} {seconds_of:.1f} s" for stage, seconds_of in again.seconds.items())
        kept = STAGES[again.stage] if not found.uncovered else "not enough: a part of the starts is open"
        lines.append(f"of the old   {kept} ({spent})")
    word = "accepted" if made.accepted else "none"
    lines.append(f"certificate  {word}: {made.reason}")
    if count and not isinstance(made.problem.policy, ShieldedPolicy):
        why = "it is not shown to be safe" if made.system.has_control_ends else "a control has no two ends"
        only = f"{why}, so that only the program is safe"
        lines.append(f"shield       none: {only if made.system.controls else 'there are no controls'}")
    if seconds is not None:
        lines.append(f"seconds      {seconds:.1f} (processor time of synthesis and checking)")
    if found.interrupted:
        lines.append("interrupted: this is what was found before")
    return join_visible(lines)


def _render_rule(made: ShieldSynthesis, index: int, branch: ShieldRule) -> list[str]:
    sides = [
        f"{_show_number(low)} <= {name} <= {_show_number(high)}"
        for name, (low, high) in zip(made.system.variables, branch.set.domain, strict=True)
    ]
    word = "if" if index == 0 else "elif"
    lines = [f"{word} {' and '.join([*sides, f'B{index} <= {_show_number(-branch.set.margin)}'])}:"]
    for (name, low, high), value in zip(made.system.controls, branch.then, strict=True):
        text = show_term(value)
        text = text if low is None else f"max({text}, {_show_number(low)})"
        lines.append(f"    {name} = {text if high is None else f'min({text}, {_show_number(high)})'}")
    lines.append(f"    # B{index} = {_render_barrier(branch.set.barrier, made.system.variables)}")
    return lines


def _render_barrier(barrier: Term, variables: Sequence[str]) -> str:
    """As a sum of monomials, however it is computed; of several rows the first ones."""
    rows = barrier_rows(barrier)
    if len(rows) > 1:
        first = [_render_barrier(row, variables) for row in rows[:MOST_LISTED]]
        more = [f"… ({len(rows)} rows)"] if len(rows) > MOST_LISTED else []
        return f"max({', '.join([*first, *more])})"
    terms = _expand_barrier(barrier, variables).terms
    order = sorted(terms, key=lambda m: (sum(m), m))
    text = " + ".join(_render_monomial(terms[m], m, variables) for m in order[:LONGEST]).replace("+ -", "- ")
    return text if len(terms) <= LONGEST else f"{text} + … ({len(terms)} terms)"


def _expand_barrier(barrier: Term, variables: Sequence[str]) -> Polynomial:
    names = {name: polynomial_from_variable(i, len(variables)) for i, name in enumerate(variables)}
    return polynomial_of(barrier, names, len(variables), rounded=False)


def _render_monomial(coefficient: Fraction, monomial: Sequence[int], variables: Sequence[str]) -> str:
    """`2 * x^2 * y`."""
    powers = [(n, e) for n, e in zip(variables, monomial, strict=True) if e]
    return " * ".join([_show_number(coefficient), *(n if e == 1 else f"{n}^{e}" for n, e in powers)])


def _show_number(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _render_box(made: ShieldSynthesis, box: Box) -> str:
    return ", ".join(
        f"{name} = {_show_number(low)}"
        if low == high
        else f"{_show_number(low)} <= {name} <= {_show_number(high)}"
        for name, (low, high) in zip(made.system.variables, box, strict=True)
    )


def _describe_sets(branches: Sequence[ShieldRule], variables: Sequence[str]) -> str:
    """Degrees of polynomials, and how many rows polyhedra have."""
    kinds = [(barrier_degree(b.set.barrier, variables), len(barrier_rows(b.set.barrier))) for b in branches]
    smooth = sorted({degree for degree, _ in kinds if degree > 1})
    rows = sorted({count if degree else 0 for degree, count in kinds if degree <= 1})
    parts = [f"barriers of degree {', '.join(map(str, smooth))}"] if smooth else []
    parts += [f"polyhedra of {', '.join(map(str, rows))} rows and a box"] if rows else []
    return "; ".join(parts)


def barrier_degree(barrier: Term, variables: Sequence[str]) -> int:
    """The degree of a barrier."""
    return max(
        (sum(m) for row in barrier_rows(barrier) for m in _expand_barrier(row, variables).terms), default=0
    )


def synthesis_to_json(
    made: ShieldSynthesis,
    seconds: float,
    *,
    seed: int,
    kind: str,
    squares: str,
    degrees: Sequence[int],
    sketches: Sketches,
    source: Mapping[str, object],
    inputs: Mapping[str, str],
) -> dict[str, Any]:
    """Everything, with exact numbers."""
    found = made.found
    return {
        "schema": 1,
        "problem": made.problem.name,
        **({} if made.system.motion is None else {"time": "continuous"}),
        "property": show_property(made.problem.property),
        "covered": str(found.covered_share(made.system.initial)),
        "rules": [
            {
                "domain": _box_to_json(b.set.domain),
                "barrier": show_term(b.set.barrier),
                "degree": barrier_degree(b.set.barrier, made.system.variables),
                "rows": len(barrier_rows(b.set.barrier)),
                "margin": str(b.set.margin),
                "then": {n: show_term(t) for (n, _, _), t in zip(made.system.controls, b.then, strict=True)},
            }
            for b in found.branches
        ],
        "uncovered": [_box_to_json(box) for box in found.uncovered],
        "lost": [_box_to_json(box) for box in found.lost],
        "shield": isinstance(made.problem.policy, ShieldedPolicy),
        "certified": made.accepted,
        "reason": made.reason,
        "certificate": made.certificate,
        **_recheck_to_json(made),
        "interrupted": found.interrupted,
        "source": dict(source),
        "inputs": dict(inputs),
        "seed": seed,
        "set": kind,
        "squares": squares,
        **({"invariant sketch": sketches.invariant} if sketches.invariant else {"degrees": list(degrees)}),
        **({"rule sketch": sketches.rule} if sketches.rule else {}),
        "cpu seconds": round(seconds, 3),
    }


def _box_to_json(box: Box) -> list[list[str]]:
    return [[str(low), str(high)] for low, high in box]


def _recheck_to_json(made: ShieldSynthesis) -> dict[str, Any]:
    again = made.rechecked
    if again is None:
        return {}
    return {
        "rechecked": {
            "stage": again.stage,
            "sufficed": not made.found.uncovered,
            "cpu seconds": again.seconds,
        }
    }


def result_from_synthesis(made: ShieldSynthesis, seconds: float, budget: Budget) -> Result:
    """A synthesis as an answer about the problem: proved where all starts are covered, else unknown."""
    if made.accepted and made.certificate is not None and not made.found.uncovered:
        verdict: Verdict = Proved(Certificate("barrier", made.certificate))
    else:
        reason = Reason.TIMEOUT if budget.is_spent() else Reason.INCOMPLETE
        verdict = Unknown(reason, made.found.trouble or made.reason)
    count, share = len(made.found.branches), made.found.covered_share(made.system.initial)
    told = [f"{count} {'rule' if count == 1 else 'rules'}, {render_share(share)} of the starts covered"]
    if made.found.lost:
        told.append(f"{len(made.found.lost)} starts or sides of starts are lost under every control")
    if made.found.uncovered and made.accepted:
        told.append("the certificate about the covered part is accepted")
    result = unanswered_result(made.problem, verdict, budget, {}, {})
    return replace(
        result,
        engine="shield",
        certified=made.accepted and isinstance(verdict, Proved),
        seconds=seconds,
        notes=tuple(told),
    )


def render_share(share: Fraction) -> str:
    """Never 100 % for less than everything."""
    return "100 %" if share == 1 else f"{min(float(share) * 100, 99.99):.2f} %"


def render_shield_fragment(made: ShieldSynthesis) -> str:
    """The same for a notebook: a picture that needs no script, and what the command prints."""
    picture = ""
    if made.found.branches and len(made.system.variables) > 1:  # one variable is no plane
        scene = synthesis_scene(made, made.problem.name, 0)
        picture = render_svg(draw_scenes([scene]))
    return f"<div>{picture}{preformatted_html(render_synthesis(made))}</div>"


def render_shield_page(made: ShieldSynthesis, scene: Scene, seconds: float) -> str:
    """The pictures, and below them what the command prints."""
    return region_page(
        f"surefoot: {made.problem.name}", [scene], [preformatted_html(render_synthesis(made, seconds))]
    )
