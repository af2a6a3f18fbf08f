"""Results as one HTML file that needs nothing else: no script, no font, no picture from anywhere.

It shows nothing that the JSON result lacks. Every text from a file is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from surefoot.problem.problem import Problem
from surefoot.problem.semantics import decision
from surefoot.problem.show import show_property
from surefoot.report.chart import Series, line_chart
from surefoot.report.found_page import found_html
from surefoot.report.run_table import RunTable, run_table
from surefoot.report.text import FINITE_RUNS, evidence, headline
from surefoot.transform.discretise import discretise
from surefoot.verdict.verdict import Found, Result, Trace, Unknown, Vacuous, Violated
from surefoot.verdict.words import statement

MOST_ROWS = 200  # states of a run that are drawn and listed; the JSON has all of them
MOST_LINES = 9  # outputs in one chart

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b2631;
background:#fff}
h1{font-size:1.3rem}h2{font-size:1.15rem;border-left:.5rem solid #5d6d7e;padding-left:.6rem;margin-top:2.2rem}
h2.good{border-color:#1e8449}h2.bad{border-color:#c0392b}h2.open{border-color:#b9770e}
code{background:#f2f4f4;padding:0 .25em}
svg{width:100%;max-width:46rem;height:auto;display:block;margin:.4rem 0}
.table{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
th,td{border-bottom:1px solid #d5d8dc;padding:.15rem .6rem;text-align:right;white-space:nowrap}
th.text,td.text{text-align:left;white-space:normal;overflow-wrap:anywhere}
dt{font-weight:600}dd{margin:0 0 .4rem 1rem;overflow-wrap:anywhere}
.title{font:600 13px system-ui,sans-serif}.tick{font:11px system-ui,sans-serif;fill:#566573}
.end{text-anchor:end}.middle{text-anchor:middle}.grid{stroke:#e5e8e8}.past{fill:#f2f4f4}.loop{stroke:#c0392b;stroke-width:3}
"""


def page(results: Sequence[tuple[Problem, Result]]) -> str:
    """The whole file."""
    title = "surefoot: " + ", ".join(dict.fromkeys(r.problem for _, r in results))
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><h1>{escape(title)}</h1>",
        *(_section(problem, result) for problem, result in results),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _section(problem: Problem, result: Result) -> str:
    words = "".join(f"<p>{escape(s)}</p>" for s in statement(problem, result.verdict))
    lines = [] if isinstance(result.verdict, Found) else evidence(problem, result, runs=False)
    told = [line.partition("  ")[2].strip() or line for line in lines]
    parts = [
        f'<section><h2 class="{_mood(result)}">{escape(headline(result))}: '
        f"<code>{escape(show_property(problem.property))}</code></h2>",
        words,
        *(f"<p>{escape(line)}</p>" for line in told),
    ]
    match result.verdict:
        case Violated(trace):
            parts.append(_run(problem, trace))
        case Found(artifact):
            parts.append(found_html(artifact))
    return "\n".join([*parts, _facts(problem, result), "</section>"])


def _mood(result: Result) -> str:
    match result.verdict:
        case Violated():
            return "bad"
        case Unknown() | Vacuous():
            return "open"
        case _:
            return "good" if result.certified else "open"


def _run(problem: Problem, trace: Trace) -> str:
    shown = Trace(trace.states[:MOST_ROWS], trace.moves[: MOST_ROWS - 1], trace.loop)
    table = run_table(problem, shown)
    charts = [*_outputs(problem, shown), *_buffers(table, shown), *_variables(problem, table, shown)]
    cut = ""
    if len(trace.states) > MOST_ROWS:
        cut = f"<p>The first {MOST_ROWS} of {len(trace.states)} states; the JSON result has all.</p>"
    return "\n".join([*charts, cut, _table(table)])


def _outputs(problem: Problem, trace: Trace) -> list[str]:
    """The network's outputs in every state."""
    executed, _ = discretise(problem)
    made = [decision(executed, state) for state in trace.states]
    outputs = [(step, d.outputs) for step, d in enumerate(made) if d is not None and d.outputs]
    if not outputs:
        return []
    count = min(len(outputs[0][1]), MOST_LINES)
    series = [Series(f"output[{i}]", tuple((s, float(o[i])) for s, o in outputs)) for i in range(count)]
    title = "network output" if len(outputs[0][1]) == 1 else f"first {count} network outputs"
    return [line_chart(title, series, loop=trace.loop)]


def _buffers(table: RunTable, trace: Trace) -> list[str]:
    """Each history buffer as one line through time: what was in it at the start, then what came."""
    charts = []
    for window in table.windows:
        first = trace.states[0]
        points = [(i - window.length + 1, float(first[n])) for i, n in enumerate(window.names)]
        points += [(i, float(s[window.names[-1]])) for i, s in enumerate(trace.states) if i]
        charts.append(line_chart(window.name, [Series(window.name, tuple(points))], loop=trace.loop))
    return charts


def _variables(problem: Problem, table: RunTable, trace: Trace) -> list[str]:
    inside = {name for w in table.windows for name in w.names}
    names = [v.name for v in problem.environment.variables if v.name not in inside]
    if len(trace.states) < 2:
        return []
    charts = []
    for name in names:
        values = [s[name] for s in trace.states]
        if all(not isinstance(v, tuple) for v in values) and len(set(values)) > 1:
            points = tuple((i, float(v)) for i, v in enumerate(values))
            charts.append(line_chart(name, [Series(name, points)], loop=trace.loop))
    return charts


def _table(table: RunTable) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in ("state", *table.names))
    body = "".join(
        f"<tr><td>{i}</td>" + "".join(f"<td>{escape(row.get(n, ''))}</td>" for n in table.names) + "</tr>"
        for i, row in enumerate(table.rows)
    )
    before = "".join(
        f'<tr><td>{escape(name)}</td><td class="text">{escape(", ".join(values))}</td></tr>'
        for name, values in table.before.items()
    )
    if before:
        before = f'<p>In state 0, oldest value first:</p><div class="table"><table>{before}</table></div>'
    return f'<div class="table"><table><tr>{head}</tr>{body}</table></div>{before}'


def _facts(problem: Problem, result: Result) -> str:
    facts = [
        ("problem", result.problem),
        ("engine", result.engine),
        ("meaning", f"{result.arithmetic}; seed {result.seed}; {result.seconds:.2f} s"),
    ]
    if type(problem.property) in FINITE_RUNS:
        facts.append(("note", FINITE_RUNS[type(problem.property)]))
    facts += [("note", note) for note in result.notes]
    facts += [("input", f"{path}, SHA-256 {digest}") for path, digest in result.inputs.items()]
    facts.append(("versions", ", ".join(f"{name} {v}" for name, v in result.versions.items())))
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts)
    return f"<details><summary>What this rests on</summary><dl>{listed}</dl></details>"
