"""A shield of actions over real variables in words, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.formats.result_json.exact_numbers import exact_text
from surefoot.problem.property_printer import show_property
from surefoot.report.result_text import verdict_headline
from surefoot.report.run_table import format_number
from surefoot.search.shield_cost import ShieldCost
from surefoot.search.switched_shield import SwitchedSynthesis
from surefoot.visible import join_visible


def render_switched_synthesis(made: SwitchedSynthesis, seconds: float | None = None) -> str:
    """What was found, for people."""
    shield = made.shield
    system, found = shield.system, shield.found
    lines = [
        f"problem      {shield.problem.name}",
        f"state        {', '.join(system.variables)}; actions {', '.join(system.actions)}",
        f"program      `{found.down}` on one side of a plane, `{found.up}` on the other",
        f"set          {len(found.rows)} pairs of planes around "
        + ", ".join(
            f"{name} = {format_number(centre)}"
            for name, centre in zip(system.variables, found.centre, strict=True)
        ),
    ]
    lines += [
        f"             {name} from {float(low):.4g} to {float(high):.4g}"
        for name, (low, high) in zip(system.variables, shield.obligation.hull, strict=True)
    ]
    share = shield.covered_share()
    told = (
        "all of them are" if share == 1 else f"at least {min(float(share) * 100, 99.99):.2f} % by volume are"
    )
    lines.append(f"starts       {told} in the set")
    headline = "proved" if made.is_accepted else verdict_headline(shield.obligation.problem, made.proof)
    lines.append(f"{headline:<12} {made.certified_about()}")
    lines += cost_lines(made.cost)
    if seconds is not None:
        lines.append(f"seconds      {seconds:.1f} (processor time)")
    return join_visible(lines)


def cost_lines(cost: ShieldCost | None) -> list[str]:
    """What the shield costs, in lines with a word in front."""
    if cost is None:
        return []
    share = cost.overruled / cost.decisions if cost.decisions else 0.0
    lines = [
        f"overruled    {share:.1%} of {cost.decisions:,} decisions in {cost.runs} runs of {cost.steps} steps",
        f"bad runs     {cost.bad[0]} of {cost.runs} alone, {cost.bad[1]} behind the shield",
    ]
    lines += [
        f"goal         `{name}`: {alone} of {cost.runs} runs alone, {behind} behind the shield"
        for name, (alone, behind) in cost.goals.items()
    ]
    return lines + [f"warning      {warning}" for warning in cost.warnings()]


def cost_to_json(cost: ShieldCost) -> dict[str, Any]:
    return {
        "runs": cost.runs,
        "steps": cost.steps,
        "decisions": cost.decisions,
        "overruled": cost.overruled,
        "bad alone": cost.bad[0],
        "bad behind": cost.bad[1],
        "goals": {name: list(pair) for name, pair in cost.goals.items()},
        "warnings": list(cost.warnings()),
    }


def switched_synthesis_to_json(
    made: SwitchedSynthesis, seconds: float, source: Mapping[str, object], inputs: Mapping[str, str]
) -> dict[str, Any]:
    """Everything as JSON; numbers of the set are exact."""
    shield = made.shield
    return {
        "schema": 1,
        "kind": "actions over real variables",
        "problem": shield.problem.name,
        "property": show_property(shield.problem.property),
        "promise": made.promise(),
        "certified": made.is_accepted,
        "certified about": made.certified_about(),
        "covered": exact_text(made.covered),
        "actions": list(shield.system.actions),
        "set": {
            "state": list(shield.system.variables),
            "rows": [[exact_text(v) for v in row] for row in shield.found.rows],
            "centre": [exact_text(v) for v in shield.found.centre],
            "radii": [exact_text(v) for v in shield.found.radii],
            "limits": [[exact_text(low), exact_text(high)] for low, high in shield.limits],
            "program": {"not below the plane": shield.found.down, "below": shield.found.up},
            "rounding": [exact_text(e) for e in shield.obligation.errors],
        },
        **({} if made.cost is None else {"simulated": cost_to_json(made.cost)}),
        "tried": made.tried,
        "source": dict(source),
        "inputs": dict(inputs),
        "cpu seconds": round(seconds, 3),
    }
