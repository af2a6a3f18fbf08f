"""Faults as text: the last decision that could have been different, and how often each of them occurs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from surefoot.formats.result_json.write import fault_claim_to_json, fault_to_json
from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.problem.semantics import State
from surefoot.report.run_table import format_number
from surefoot.term.reserved_names import location_key
from surefoot.verdict.fault import Alternative, Claim, Fault, FaultFinding, FaultKind, FaultTable
from surefoot.verdict.sentences import count_noun, cut_term
from surefoot.visible import join_visible

FEW_NAMES = 8  # of a state: all are told
HEADING = "The last decision that could have been different"
MOST_DECISIONS = 12  # in a text
MOST_NAMED = 8  # alternatives
COUNTED: dict[FaultKind, str] = {
    "last": "the last decision of each run that could have been different",
    "costliest": "the decision of each run that made a violation more likely than any other did",
}


def fault_lines(problem: Problem, found: FaultFinding | None) -> list[str]:
    """The section of a violated result; nothing where nobody decides."""
    if found is None:
        return []
    if found.unknown:
        return [f"decision  {HEADING.lower()}: not known ({found.unknown})"]
    lines = []
    if found.lost is not None:
        lines.append(f"decision  {lost_words(found)}")
    for one in (found.fault, found.costliest):
        lines += [] if one is None else describe_fault(problem.environment, one)
    return lines


def lost_words(found: FaultFinding) -> str:
    """That the start is lost, and how that is known."""
    assert found.lost is not None
    what = "have prevented it" if found.costliest is None else "rule it out"
    return f"no decision could {what}: the start is already lost ({describe_claim(found.lost, saved=False)})"


def describe_fault(environment: Environment, fault: Fault) -> list[str]:
    """A decision in lines: where, what was picked, what would have been safe."""
    if fault.risk is not None:
        head = f"costliest the decision in state {fault.step}"
    else:
        head = f"decision  {HEADING.lower()} was in state {fault.step}"
    lines = [
        f"{head}: {state_words(environment, fault.state)}",
        f"chosen    {picked_words(fault)}",
        f"instead   {safe_words(fault)}",
    ]
    if fault.risk is not None:
        return lines
    if fault.lost is None:
        lines.append("later     the run comes back to this state, and could have been saved each time")
    else:
        lines.append(f"later     nothing could save it any more ({describe_claim(fault.lost, saved=False)})")
    return lines


def state_words(environment: Environment, state: State, names: frozenset[str] | None = None) -> str:
    """A state with the names of locations instead of their numbers; `names`: only these."""
    shown = state if names is None else {n: v for n, v in state.items() if n in names}
    told = [f"{v.name} = {format_number(shown[v.name])}" for v in environment.variables if v.name in shown]
    for component in environment.components:
        if (key := location_key(component.name)) in shown:
            told.append(f"at({component.name}, {component.locations[state[key]]})")
    return cut_term(", ".join(told))


def telling_names(table: FaultTable) -> frozenset[str] | None:
    """The names by which the states of a table differ; None: all of them, where there are few."""
    states = [c.fault.state for c in table.decisions]
    if len(states) < 2 or len(states[0]) <= FEW_NAMES:
        return None
    return frozenset(n for n in states[0] if any(s[n] != states[0][n] for s in states)) or None


def alternative_words(one: Alternative) -> str:
    if one.controls:
        return ", ".join(f"{name} = {format_number(value)}" for name, value in one.controls.items())
    return f"`{one.action}`" if one.action is not None else "nothing"


def picked_words(fault: Fault) -> str:
    told = " or ".join(alternative_words(a) for a in fault.chosen) or "nothing"
    return f"{told}, which is not enabled" if fault.stalls else told


def safe_words(fault: Fault) -> str:
    """What would have been safe, and how that is known."""
    shown = "; or ".join(alternative_words(a) for a in fault.safe[:MOST_NAMED])
    more = len(fault.safe) - MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    if fault.risk is not None:
        before, after = fault.risk
        return f"{shown}{rest} (risk at best {before:.4g}, chosen {after:.4g}; computed in doubles)"
    among = (
        ", among the controls that were tried" if fault.untried and fault.saved.kind != "by shield" else ""
    )
    return f"{shown}{rest} ({describe_claim(fault.saved)}{among})"


def describe_claim(claim: Claim, *, saved: bool = True) -> str:
    """How it is known that a state is won, or that it is lost, in a few words."""
    steps = "" if claim.steps is None else count_noun(claim.steps, "step")
    match claim.kind:
        case "exact":
            return "exact"
        case "computed":
            return "computed in doubles"
        case "by shield":
            if saved:
                return "by shield: the state is in its proved set"
            return "by shield: later states are in none of its sets, which may be too small"
        case "bounded":
            return f"bounded: no violation within {steps}" if saved else f"bounded: within {steps}"
        case "sampled":
            runs = count_noun(claim.runs or 0, "run")
            if saved:
                return f"sampled: no violation within {steps} in {runs}"
            return f"sampled: none of {runs} of {steps} avoided the violation"


def render_fault_table(problem: Problem, table: FaultTable) -> str:
    """The whole answer of `surefoot faults`."""
    lines = [
        f"faults of {count_noun(table.runs, 'violating run')}: {cut_term(show_property(problem.property))}"
    ]
    lines.append(f"  problem   {problem.name}")
    lines.append(f"  counted   {COUNTED[table.by]}")
    if table.tried:
        lines.append(
            f"  runs      {table.tried:,} were drawn; violating ones were made again by the reference"
        )
    if table.blameless:
        lines.append(f"  chance    {count_noun(table.blameless, 'run')}: no decision made it more likely")
    if table.lost and table.lost_claim is not None:
        lost = describe_claim(table.lost_claim, saved=False)
        lines.append(f"  lost      {count_noun(table.lost, 'run')} from the start on ({lost})")
    names = telling_names(table)
    for counted in table.decisions[:MOST_DECISIONS]:
        where = state_words(problem.environment, counted.fault.state, names)
        lines.append(f"  {counted.count:>5} x   {where}")
        lines.append(f"            chosen {picked_words(counted.fault)}; instead {safe_words(counted.fault)}")
    if (rest := len(table.decisions) - MOST_DECISIONS) > 0:
        lines.append(f"  … and {count_noun(rest, 'other decision')}; --json and --export have them")
    if len(table.decisions) > 1:
        lines += [f"  picked    {line}" for line in count_by_pick(table)]
    lines += [f"  unknown   {count_noun(number, 'run')}: {why}" for why, number in table.unknown]
    if table.stop:
        lines.append(f"  stopped   {table.stop}")
    return join_visible(lines)


def count_by_pick(table: FaultTable) -> list[str]:
    """How often each action is at fault, whatever the state; controls are told together."""
    often: Counter[str] = Counter()
    for counted in table.decisions:
        fault = counted.fault
        if any(a.controls for a in fault.chosen):
            continue
        often[picked_words(fault)] += counted.count
    return [f"{words}: {count_noun(number, 'run')}" for words, number in often.most_common(MOST_DECISIONS)]


def fault_table_to_json(problem: Problem, table: FaultTable) -> dict[str, Any]:
    """Everything about it, as `--json` writes it."""
    return {
        "schema": 1,
        "kind": "faults",
        "problem": problem.name,
        "property": show_property(problem.property),
        "runs": table.runs,
        "tried": table.tried,
        "lost": table.lost,
        "lost_claim": None if table.lost_claim is None else fault_claim_to_json(table.lost_claim),
        "unknown": [{"why": why, "runs": number} for why, number in table.unknown],
        "by": table.by,
        "blameless": table.blameless,
        "stop": table.stop,
        "decisions": [{"runs": c.count, **fault_to_json(c.fault)} for c in table.decisions],
    }
