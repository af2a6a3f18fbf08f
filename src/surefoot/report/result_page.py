"""Results as one HTML file that needs nothing else: no font, no picture, no script from anywhere.

It shows nothing that the JSON result lacks. Every text from a file is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.problem.semantics import State, policy_decision
from surefoot.reductions.discretise import discretise
from surefoot.report.abstraction.html import graph_section
from surefoot.report.fault_page import fault_section
from surefoot.report.flowpipe.html import flowpipe_section
from surefoot.report.flowpipe.pipe_scene import pipe_scene
from surefoot.report.heatmap.cells import varying_names
from surefoot.report.heatmap.heat_figure import interval_text, state_text
from surefoot.report.heatmap.html import heatmap_section
from surefoot.report.heatmap.start_summary import result_figure
from surefoot.report.heatmap.start_values import value_from_verdict
from surefoot.report.html_page import (
    FLOWPIPE_ASSETS,
    GRAPH_ASSETS,
    HEATMAP_ASSETS,
    REGION_ASSETS,
    WITNESS_ASSETS,
    prose_html,
    render_html_page,
)
from surefoot.report.inventory import describe_method
from surefoot.report.region.html import region_section
from surefoot.report.region.scene import certified_scene
from surefoot.report.result_text import FLOW_STATES, evidence_lines, note_on_ends, verdict_headline
from surefoot.report.run_chart import ChartFacts, Series, line_chart
from surefoot.report.run_table import RunTable, first_and_last, run_table
from surefoot.report.search_page import html_table, search_html
from surefoot.report.violation.drawn_run import draw_traces, time_factor, time_unit
from surefoot.report.violation.html import (
    MOST_DRAWN,
    condition_section,
    flow_run_section,
    suspicion_section,
    watched_names,
    witness_section,
)
from surefoot.verdict.artifact import AbstractGraph, SuspectedRun
from surefoot.verdict.sentences import round_long_numbers, verdict_sentences
from surefoot.verdict.threshold import answer_threshold, best_start_reminder
from surefoot.verdict.verdict import (
    Certificate,
    Estimated,
    Exact,
    Found,
    PerStart,
    Proved,
    Result,
    Trace,
    Unknown,
    Verdict,
    Violated,
)
from surefoot.visible import escape_html

MOST_ROWS, FIRST_ROWS = 200, 150  # states of a run that are listed, from its start; the JSON has all of them
MOST_DECISIONS = 2000  # states of a run in which the network is asked again
MOST_LINES = 9  # outputs in one chart
ASSETS = {  # by how the parts begin that need them
    '<figure class="heat">': HEATMAP_ASSETS,
    '<section class="abstraction"': GRAPH_ASSETS,
    '<section class="region"': REGION_ASSETS,
    '<section class="flowpipe"': FLOWPIPE_ASSETS,
    '<section class="witnesses"': WITNESS_ASSETS,
}
_LABEL = re.compile(r"([a-z]+) {2,}(.*)", re.DOTALL)


def render_result_page(results: Sequence[tuple[Problem, Result]]) -> str:
    """The whole file."""
    title = "surefoot: " + ", ".join(dict.fromkeys(r.problem for _, r in results))
    parts = [_result_section(problem, result) for problem, result in results]
    assets = [name for sign, names in ASSETS.items() if any(sign in part for part in parts) for name in names]
    return render_html_page(title, parts, assets)


def _result_section(problem: Problem, result: Result) -> str:
    words = "".join(f"<p>{prose_html(s)}</p>" for s in verdict_sentences(problem, result.verdict))
    asked = show_property(problem.property)
    lines = [] if isinstance(result.verdict, Found) else evidence_lines(problem, result, runs=False)
    parts = [
        "<section><h2 "
        f'class="{verdict_shade(problem, result)}">{escape_html(verdict_headline(problem, result))}: '
        f"<code>{escape_html(asked)}</code></h2>",
        "" if (short := round_long_numbers(asked)) == asked else f"<p>Rounded: {escape_html(short)}</p>",
        words,
        *map(_evidence_html, lines),
    ]
    match result.verdict:
        case Violated(trace) if trace.times:
            parts.append(fault_section(problem, result.fault))
            parts.append(_flow_run_html(problem, trace, result.verdict.artifact))
        case Violated(trace):
            parts.append(fault_section(problem, result.fault))
            parts.append(_trace_html(problem, trace, result.witnesses))
        case Unknown(artifact=SuspectedRun() as suspected):
            parts.append(suspicion_section(problem, suspected))
        case Found(artifact):
            parts.append(search_html(artifact))
        case Proved(Certificate("barrier", {"claim": _} as content)) if result.certified:
            parts.append(region_section(certified_scene(problem, content, result.problem, result.seed)))
        case PerStart(table):
            parts.append(_starts_html(problem, result, table))
    graph = getattr(result.verdict, "artifact", None)
    if isinstance(graph, AbstractGraph):
        run = result.verdict.trace if isinstance(result.verdict, Violated) else None
        parts.append(graph_section(problem, graph, run))
    if (scene := pipe_scene(problem, result.verdict, result.seed)) is not None:
        parts.append(flowpipe_section(scene))
    return "\n".join([*parts, _facts_html(problem, result), "</section>"])


def _evidence_html(line: str) -> str:
    """A line of the text report; the word in its first column stands out."""
    label = _LABEL.match(line)
    if label is None:
        return f"<p>{escape_html(line)}</p>"
    return f"<p><strong>{escape_html(label[1].capitalize())}:</strong> {escape_html(label[2])}</p>"


def _starts_html(problem: Problem, result: Result, table: tuple[tuple[State, Verdict], ...]) -> str:
    """A heat map where the starts differ in one or two variables, otherwise a list of them."""
    different = varying_names(state for state, _ in table)
    if 1 <= len(different) <= 2:
        return heatmap_section(result_figure(problem, result), heading=False)
    rows = [
        (state_text({n: state[n] for n in different}), interval_text(value_from_verdict(verdict)))
        for state, verdict in table[:MOST_ROWS]
    ]
    cut = "" if len(table) <= MOST_ROWS else f"<p>The first {MOST_ROWS} of {len(table)} starts.</p>"
    return cut + html_table(("start", "value"), rows)


def verdict_shade(problem: Problem, result: Result) -> Literal["good", "bad", "open", "value"]:
    """The colour of an answer: green is for yes, where that is certified; a value is neither good nor bad."""
    match answer_threshold(problem.property, result.verdict), result.verdict:
        case "missed", _:
            return "bad"
        case "met", _:
            return "good" if result.certified else "open"
        case _, Violated():
            return "bad"
        case _, Proved():
            return "good" if result.certified else "open"
        case None, Exact() | Estimated() | PerStart() | Found():
            return "value"
        case _:
            return "open"


def _trace_html(problem: Problem, trace: Trace, witnesses: Sequence[Trace]) -> str:
    several = witnesses if len(witnesses) > 1 else ()
    runs = draw_traces(problem, (several or [trace])[:MOST_DRAWN], watched_names(problem))
    bounded, names = condition_section(problem, runs)
    bounded = witness_section(problem, several, runs, bounded) if several else bounded
    shown = first_and_last(trace, MOST_ROWS, FIRST_ROWS)
    table = run_table(problem, shown)
    charts = [
        bounded,
        *_output_charts(problem, trace, names),
        *_buffer_charts(table, trace),
        *_variable_charts(problem, table, trace, names),
    ]
    cut = ""
    if several:
        cut = "<p>The first run, state by state:</p>"
        charts.insert(1, "<p>Other quantities of the first run:</p>")
    if len(trace.states) > MOST_ROWS:
        ends = f"The first {FIRST_ROWS} and the last {MOST_ROWS - FIRST_ROWS}"
        cut += f"<p>{ends} of {len(trace.states)} states; the JSON result has all.</p>"
    if table.rounded:
        cut += "<p>Some numbers are rounded; the JSON result has them as they are.</p>"
    others = [_further_run_html(problem, run, n) for n, run in enumerate(several[1:MOST_DRAWN], 2)]
    return "\n".join([*charts, cut, _run_table_html(table, len(trace.states)), *others])


def _flow_run_html(problem: Problem, trace: Trace, seen: object) -> str:
    """A run in continuous time: its pictures, and its states at control times."""
    if isinstance(seen, SuspectedRun):
        pictures = flow_run_section(problem, seen, trace)
    else:
        pictures, _ = condition_section(problem, draw_traces(problem, [trace], watched_names(problem)))
    told = f"States at control times; {FLOW_STATES}."
    table = _run_table_html(
        run_table(problem, first_and_last(trace, MOST_ROWS, FIRST_ROWS)), len(trace.states)
    )
    return "\n".join([pictures, f"<p>{told}</p>", table])


def _further_run_html(problem: Problem, trace: Trace, number: int) -> str:
    table = _run_table_html(
        run_table(problem, first_and_last(trace, MOST_ROWS, FIRST_ROWS)), len(trace.states)
    )
    return f"<details><summary>States of run {number}</summary>{table}</details>"


def _output_charts(problem: Problem, trace: Trace, drawn: Sequence[str]) -> list[str]:
    """The network's outputs in every state, unless they are drawn already."""
    executed = discretise(problem)
    made = [policy_decision(executed, state) for state in trace.states[:MOST_DECISIONS]]
    outputs = [(step, d.outputs) for step, d in enumerate(made) if d is not None and d.outputs]
    if not outputs or {f"output[{i}]" for i in range(len(outputs[0][1]))} <= set(drawn):
        return []
    count = min(len(outputs[0][1]), MOST_LINES)
    factor = time_factor(problem.environment)
    series = [
        Series(
            f"output[{i}]" if count < 5 else f"[{i}]",
            tuple((float(s * factor), float(o[i])) for s, o in outputs),
        )
        for i in range(count)
    ]
    whole = len(outputs[0][1])
    title = "network output" if whole == 1 else "network outputs"
    title = f"outputs ({count} of {whole})" if whole > count else title
    return [_run_chart(problem, title, series, trace)]


def _run_chart(
    problem: Problem, title: str, series: Sequence[Series], trace: Trace, *, whole: bool = False
) -> str:
    loop = None if trace.loop is None else float(trace.loop * time_factor(problem.environment))
    facts = ChartFacts(time_unit(problem.environment), whole=whole)
    return line_chart(title, series, loop=loop, facts=facts)


def _buffer_charts(table: RunTable, trace: Trace) -> list[str]:
    """Each history buffer as one line through time: what was in it at the start, then what came."""
    charts = []
    for window in table.windows:
        first = trace.states[0]
        points = [(i - window.length + 1, float(first[n])) for i, n in enumerate(window.names)]
        points += [(i, float(s[window.names[-1]])) for i, s in enumerate(trace.states) if i]
        charts.append(line_chart(window.name, [Series(window.name, tuple(points))], loop=trace.loop))
    return charts


def _variable_charts(problem: Problem, table: RunTable, trace: Trace, drawn: Sequence[str]) -> list[str]:
    inside = {name for w in table.windows for name in w.names} | set(drawn)
    names = [v.name for v in problem.environment.variables if v.name not in inside]
    if len(trace.states) < 2:
        return []
    charts, factor = [], time_factor(problem.environment)
    for name in names:
        values = [s[name] for s in trace.states]
        if all(not isinstance(v, tuple) for v in values) and len(set(values)) > 1:
            points = tuple((float(i * factor), float(v)) for i, v in enumerate(values))
            whole = all(isinstance(v, int) for v in values)
            charts.append(_run_chart(problem, name, [Series(name, points)], trace, whole=whole))
    return charts


def _run_table_html(table: RunTable, states: int) -> str:
    head = "".join(f"<th>{escape_html(name)}</th>" for name in ("state", *table.names))
    body = "".join(
        f"<tr><td>{i if i < FIRST_ROWS else i + states - len(table.rows)}</td>"
        + "".join(f"<td>{escape_html(row.get(n, ''))}</td>" for n in table.names)
        + "</tr>"
        for i, row in enumerate(table.rows)
    )
    before = "".join(
        f'<tr><td>{escape_html(name)}</td><td class="text">{escape_html(", ".join(values))}</td></tr>'
        for name, values in table.before.items()
    )
    if before:
        before = f'<p>In state 0, oldest value first:</p><div class="table"><table>{before}</table></div>'
    return f'<div class="table"><table><tr>{head}</tr>{body}</table></div>{before}'


def _facts_html(problem: Problem, result: Result) -> str:
    facts = [
        ("problem", result.problem),
        ("engine", describe_method(result.engine)),
        ("meaning", f"{result.arithmetic}; seed {result.seed}; {result.seconds:.2f} s"),
    ]
    if ends := note_on_ends(problem.property):
        facts.append(("note", ends))
    if reminder := best_start_reminder(problem.property, problem.environment):
        facts.append(("note", reminder))
    facts += [("note", note) for note in result.notes]
    facts += [("input", f"{path}, SHA-256 {digest}") for path, digest in result.inputs.items()]
    facts.append(("versions", ", ".join(f"{name} {v}" for name, v in result.versions.items())))
    listed = "".join(f"<dt>{escape_html(k)}</dt><dd>{escape_html(v)}</dd>" for k, v in facts)
    return f"<details><summary>What this rests on</summary><dl>{listed}</dl></details>"
