"""A synthesis as readable code, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from surefoot.cli.commands.shield.made import Made, Sketches, shown_share
from surefoot.encode.barrier import polynomial_of, rows_of
from surefoot.engines.shield.region import Box
from surefoot.engines.shield.synthesis import Branch
from surefoot.problem.policy import ShieldedPolicy
from surefoot.problem.show import show, show_property
from surefoot.problem.term import Term
from surefoot.query.polynomial import Polynomial, variable
from surefoot.visible import join_visible

STAGES = {
    "kept": "all: its sets hold here too",
    "level": "its rules, with smaller or larger sets",
    "sets": "a rule, with a new set",
    "rules": "at most a beginning: rules were synthesised",
}
LONGEST = 20  # terms of a barrier that are printed
MOST_LISTED = 8  # parts of the starts
ROUNDED = "# sets, barriers and limits are rounded to six digits here; --json has them as they are"


def told(made: Made, seconds: float) -> str:
    """What was found, for people: numbers of the rules are not rounded, all others are, and it says so."""
    found, lines = made.found, []
    for index, branch in enumerate(found.branches):
        lines += _rule(made, index, branch)
    if found.branches:
        lines += [ROUNDED, ""]
    share = found.covered_share(made.system.initial)
    count = len(found.branches)
    lines.append(f"problem      {made.problem.name}")
    lines.append(
        f"rules        {count}; {_sets(found.branches, made.system.variables)}" if count else "rules        0"
    )
    lines.append(f"covered      {shown_share(share)} of the starts")
    lines += [f"  open       {_box(made, box)}" for box in found.uncovered[:MOST_LISTED]]
    more = len(found.uncovered) - MOST_LISTED
    lines += [f"  open       and {more} other parts"] if more > 0 else []
    for box in found.lost[:MOST_LISTED]:
        lines.append(
            f"  lost       {_box(made, box)}: unsafe at once or after one step, whatever the control"
        )
    if (again := made.rechecked) is not None:
        spent = ", ".join(f"{stage} {seconds_of:.1f} s" for stage, seconds_of in again.seconds.items())
        kept = STAGES[again.stage] if not found.uncovered else "not enough: a part of the starts is open"
        lines.append(f"of the old   {kept} ({spent})")
    word = "accepted" if made.accepted else "none"
    lines.append(f"certificate  {word}: {made.reason}")
    if count and not isinstance(made.problem.policy, ShieldedPolicy):
        ended = all(None not in ends for _, *ends in made.system.controls)
        why = "it is not shown to be safe" if ended else "a control has no two ends"
        only = f"{why}, so that only the program is safe"
        lines.append(f"shield       none: {only if made.system.controls else 'there are no controls'}")
    lines.append(f"seconds      {seconds:.1f} (processor time of synthesis and checking)")
    if found.interrupted:
        lines.append("interrupted: this is what was found before")
    return join_visible(lines)


def _rule(made: Made, index: int, branch: Branch) -> list[str]:
    sides = [
        f"{_short(low)} <= {name} <= {_short(high)}"
        for name, (low, high) in zip(made.system.variables, branch.set.domain, strict=True)
    ]
    word = "if" if index == 0 else "elif"
    lines = [f"{word} {' and '.join([*sides, f'B{index} <= {_short(-branch.set.margin)}'])}:"]
    for (name, low, high), value in zip(made.system.controls, branch.then, strict=True):
        text = show(value)
        text = text if low is None else f"max({text}, {_short(low)})"
        lines.append(f"    {name} = {text if high is None else f'min({text}, {_short(high)})'}")
    lines.append(f"    # B{index} = {barrier_text(branch.set.barrier, made.system.variables)}")
    return lines


def barrier_text(barrier: Term, variables: Sequence[str]) -> str:
    """As a sum of monomials, however it is computed; of several rows the first ones."""
    rows = rows_of(barrier)
    if len(rows) > 1:
        first = [barrier_text(row, variables) for row in rows[:MOST_LISTED]]
        more = [f"… ({len(rows)} rows)"] if len(rows) > MOST_LISTED else []
        return f"max({', '.join([*first, *more])})"
    terms = _expanded(barrier, variables).terms
    order = sorted(terms, key=lambda m: (sum(m), m))
    text = " + ".join(_monomial(terms[m], m, variables) for m in order[:LONGEST]).replace("+ -", "- ")
    return text if len(terms) <= LONGEST else f"{text} + … ({len(terms)} terms)"


def _expanded(barrier: Term, variables: Sequence[str]) -> Polynomial:
    names = {name: variable(i, len(variables)) for i, name in enumerate(variables)}
    return polynomial_of(barrier, names, len(variables), rounded=False)


def _monomial(coefficient: Fraction, monomial: Sequence[int], variables: Sequence[str]) -> str:
    """`2 * x^2 * y`."""
    powers = [(n, e) for n, e in zip(variables, monomial, strict=True) if e]
    return " * ".join([_short(coefficient), *(n if e == 1 else f"{n}^{e}" for n, e in powers)])


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _box(made: Made, box: Box) -> str:
    return ", ".join(
        f"{name} = {_short(low)}" if low == high else f"{_short(low)} <= {name} <= {_short(high)}"
        for name, (low, high) in zip(made.system.variables, box, strict=True)
    )


def _sets(branches: Sequence[Branch], variables: Sequence[str]) -> str:
    """Degrees of polynomials, and how many rows polyhedra have."""
    kinds = [(degree_of(b.set.barrier, variables), len(rows_of(b.set.barrier))) for b in branches]
    smooth = sorted({degree for degree, _ in kinds if degree > 1})
    rows = sorted({count if degree else 0 for degree, count in kinds if degree <= 1})
    parts = [f"barriers of degree {', '.join(map(str, smooth))}"] if smooth else []
    parts += [f"polyhedra of {', '.join(map(str, rows))} rows and a box"] if rows else []
    return "; ".join(parts)


def degree_of(barrier: Term, variables: Sequence[str]) -> int:
    """The degree of a barrier."""
    return max((sum(m) for row in rows_of(barrier) for m in _expanded(row, variables).terms), default=0)


def facts(
    made: Made,
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
                "domain": _exact(b.set.domain),
                "barrier": show(b.set.barrier),
                "degree": degree_of(b.set.barrier, made.system.variables),
                "rows": len(rows_of(b.set.barrier)),
                "margin": str(b.set.margin),
                "then": {n: show(t) for (n, _, _), t in zip(made.system.controls, b.then, strict=True)},
            }
            for b in found.branches
        ],
        "uncovered": [_exact(box) for box in found.uncovered],
        "lost": [_exact(box) for box in found.lost],
        "shield": isinstance(made.problem.policy, ShieldedPolicy),
        "certified": made.accepted,
        "reason": made.reason,
        "certificate": made.certificate,
        **_again(made),
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


def _exact(box: Box) -> list[list[str]]:
    return [[str(low), str(high)] for low, high in box]


def _again(made: Made) -> dict[str, Any]:
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
