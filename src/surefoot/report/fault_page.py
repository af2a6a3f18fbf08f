"""Faults on a page: a section of a violated result, and the page of `surefoot faults`."""

from __future__ import annotations

from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.fault_figure import draw_faults
from surefoot.report.fault_text import (
    COUNTED,
    HEADING,
    count_by_pick,
    describe_claim,
    describe_fault,
    lost_words,
    picked_words,
    safe_words,
    state_words,
    telling_names,
)
from surefoot.report.html_page import render_html_page
from surefoot.report.search_page import html_table
from surefoot.verdict.fault import FaultFinding, FaultTable
from surefoot.verdict.sentences import count_noun
from surefoot.visible import escape_html

MOST_ROWS = 200  # decisions that are listed; JSON has all of them


def fault_section(problem: Problem, found: FaultFinding | None) -> str:
    """The last decision that could have been different; nothing where nobody decides."""
    if found is None:
        return ""
    rows: list[tuple[str, str]] = []
    if found.unknown:
        rows.append(("not known", found.unknown))
    if found.lost is not None:
        rows.append(("none", lost_words(found)))
    for one in (found.fault, found.costliest):
        for line in [] if one is None else describe_fault(problem.environment, one):
            label, _, words = line.partition(" ")
            rows.append((label, words.strip()))
    listed = "".join(f"<dt>{escape_html(k)}</dt><dd>{escape_html(v)}</dd>" for k, v in rows)
    return f'<section class="fault"><h3>{HEADING}</h3><dl>{listed}</dl></section>'


def render_fault_page(problem: Problem, table: FaultTable) -> str:
    """The whole file of `surefoot faults --report`."""
    title = f"faults of {count_noun(table.runs, 'violating run')}: {problem.name}"
    parts = [f"<section><h2><code>{escape_html(show_property(problem.property))}</code></h2>"]
    told = [f"Counted: {COUNTED[table.by]}."]
    if table.blameless:
        told.append(f"{count_noun(table.blameless, 'run')}: no decision made it more likely.")
    if table.tried:
        told.append(f"{table.tried:,} runs were drawn; violating ones were made again by the reference.")
    if table.lost and table.lost_claim is not None:
        lost = describe_claim(table.lost_claim, saved=False)
        told.append(f"{count_noun(table.lost, 'run')} lost from the start on ({lost}).")
    told += [f"{count_noun(number, 'run')} not known: {why}." for why, number in table.unknown]
    told += [f"Stopped: {table.stop}."] if table.stop else []
    told += [f"Picked {line}." for line in count_by_pick(table)]
    parts += [f"<p>{escape_html(line)}</p>" for line in told]
    if table.decisions:
        parts.append(render_svg(draw_faults(problem, table)))
        names = telling_names(table)
        rows = [
            (
                str(c.count),
                state_words(problem.environment, c.fault.state, names),
                picked_words(c.fault),
                safe_words(c.fault),
            )
            for c in table.decisions[:MOST_ROWS]
        ]
        if len(table.decisions) > MOST_ROWS:
            parts.append(f"<p>The first {MOST_ROWS} of {len(table.decisions)} decisions.</p>")
        parts.append(html_table(("runs", "state", "chosen", "instead"), rows))
    return render_html_page(title, [*parts, "</section>"])
