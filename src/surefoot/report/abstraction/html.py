"""The graph as a part of an HTML page, and as a page of its own."""

from __future__ import annotations

from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.report.abstraction.graph_data import MOST_STATES, graph_page_data
from surefoot.report.html_page import GRAPH_ASSETS, embeddable_json, render_html_page
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Trace
from surefoot.visible import escape_html


def graph_page(problem: Problem, graph: AbstractGraph, run: Trace | None = None) -> str:
    """A whole page about one graph."""
    asked = f"<p><code>{escape_html(show_property(problem.property))}</code></p>"
    title = f"surefoot: abstract states of {problem.name}"
    return render_html_page(title, [asked, graph_section(problem, graph, run)], GRAPH_ASSETS)


def graph_section(problem: Problem, graph: AbstractGraph, run: Trace | None = None) -> str:
    """The picture with its controls; all that it shows stands beside it as JSON. `run`: a violation."""
    count = len(graph.states)
    told = []
    if count > MOST_STATES:
        told.append(f"Only the {MOST_STATES} states nearest to a start or to an unsafe state are drawn.")
    if not graph.complete:
        told.append("The graph is not complete: the search stopped before all abstract states were met.")
    if not graph.exact:
        told.append("Not every test was asked: there may be more transitions than there should be.")
    if not graph.splits:
        told.append("No further predicate was tried.")
    sizes = f"{count_noun(count, 'abstract state')}, {count_noun(len(graph.edges), 'transition')}"
    name = escape_html(f"graph of {sizes}; arrow keys go from state to state")
    return f"""<section class="abstraction" aria-label="abstract state graph">
<div class="bar"><label>Find
<input type="search" placeholder="start, unsafe, p3, !p3, x = 4, an action, #12"></label>
<label>Colour <select class="colour"><option value="unsafe">steps to an unsafe state</option>
<option value="start">steps from a start</option></select></label>
<label><input type="checkbox" class="edges" checked> transitions</label>
<span><button class="closer" title="closer (+)">+</button>
<button class="further" title="further away (-)">−</button>
<button class="whole" title="the whole graph (0)">whole graph</button></span>
<span class="matches" role="status"></span></div>
<p class="split-view" hidden></p>
<div class="sides"><div><canvas tabindex="0" role="application" aria-label="{name}"></canvas>
<div class="legend"></div>
{"".join(f'<p class="told">{escape_html(t)}</p>' for t in told)}</div>
<div class="panel" aria-live="polite"></div></div>
<details><summary>All states as a list</summary><ul class="all plain"></ul></details>
<script type="application/json">{embeddable_json(graph_page_data(problem, graph, run))}</script></section>"""
