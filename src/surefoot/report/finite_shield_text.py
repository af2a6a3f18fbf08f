"""A shield of actions in words, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from surefoot.problem.property_printer import show_property
from surefoot.search.finite_shield import FiniteSynthesis
from surefoot.shields.finite.decision_tree import count_comparisons
from surefoot.shields.finite.shield import action_table
from surefoot.verdict.verdict import Exact, Proved, Result, Violated
from surefoot.visible import join_visible


def render_finite_synthesis(made: FiniteSynthesis, seconds: float | None = None) -> str:
    """What was found, for people."""
    shield, (kept, starts) = made.shield, made.safe_start_count
    arena, count = shield.arena, len(shield.visited)
    may = sum(len(actions) for actions, _ in shield.classes) / max(1, len(shield.classes))
    lines = [
        f"problem      {shield.problem.name}",
        f"states       {arena.markov.states:,} reachable; {count:,} to act in behind the shield",
        f"actions      {len(arena.actions)}; {len(shield.classes)} permitted sets, mean size {may:.1f}",
        f"starts       {kept} of {starts} "
        + (
            "kept safe with probability 1, whatever happens"
            if made.bound == 1
            else f"can be kept safe with probability {made.bound} or more, by the safest actions alone"
        ),
        f"tree         {count_comparisons(shield.tree):,} comparisons of "
        f"{', '.join(c.name for c in shield.columns)}",
        f"anybody      {'not asked' if made.anybody is None else _describe_verdict(made.anybody)}",
    ]
    lines += [f"policy       {_describe_verdict(made.alone)} alone"] if made.alone is not None else []
    lines += (
        [f"             {_describe_verdict(made.behind)} behind the shield"]
        if made.behind is not None
        else []
    )
    lines += [f"note         {note}" for note in made.notes()]
    if seconds is not None:
        lines.append(f"seconds      {seconds:.1f} (processor time)")
    if made.interrupted:
        left = "nothing of it is proved" if made.anybody is None else "the shield is whole, not all was asked"
        lines.append(f"interrupted: {left}")
    return join_visible(lines)


def _describe_verdict(result: Result) -> str:
    match result.verdict:
        case Proved():
            return "never bad, proved: the independent checker accepted the certificate"
        case Exact(Fraction() as low, Fraction() as high):
            word = ", certified" if result.certified else ""
            return f"bad with probability {float(low):.6g} to {float(high):.6g} at most{word}"
        case Violated():
            return "violated: bad from a start that is not kept safe"
        case other:
            said = (getattr(other, name, "") for name in ("detail", "how", "why"))
            return f"{type(other).__name__.lower()}: {next(filter(None, said), '')}"


def finite_synthesis_to_json(
    made: FiniteSynthesis, seconds: float, source: Mapping[str, object], inputs: Mapping[str, str]
) -> dict[str, Any]:
    """Everything as JSON."""
    table = action_table(made.shield, made.promise())
    return {
        "schema": 1,
        "kind": "actions",
        "problem": made.shield.problem.name,
        "property": show_property(made.shield.problem.property),
        "bound": str(made.bound),
        "promise": table.promise,
        "states": made.shield.arena.markov.states,
        "starts kept": list(made.safe_start_count),
        "certified": made.is_accepted,
        "certified about": made.certified_about(),
        "kept by anybody": made.kept_by_anybody,
        "notes": list(made.notes()),
        "interrupted": made.interrupted,
        "anybody": None if made.anybody is None else _describe_verdict(made.anybody),
        "policy": None if made.alone is None else _describe_verdict(made.alone),
        "shielded": None if made.behind is None else _describe_verdict(made.behind),
        "tree": {
            "state": list(table.state),
            "actions": list(table.actions),
            "root": table.root,
            "column": list(table.column),
            "limit": list(table.limit),
            "low": list(table.low),
            "high": list(table.high),
            "permitted": [list(p) for p in table.permitted],
            "instead": list(table.instead),
        },
        "source": dict(source),
        "inputs": dict(inputs),
        "cpu seconds": round(seconds, 3),
    }
