"""What a page has of a graph."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.report.abstraction.graphs import BEYOND, counter, graph, violation

from surefoot.report.abstraction.graph_data import graph_page_data
from surefoot.report.abstraction.html import graph_page
from surefoot.term.term import Var
from surefoot.verdict.artifact import AbstractGraph


def test_states_edges_and_splits() -> None:
    shown, data = graph(), graph_page_data(counter(), graph())
    assert data["counts"] == [3, len(shown.edges), 1, 1]
    assert data["predicates"] == ["x <= 2", "x <= 4"]
    (start,) = (s for s in data["states"] if s[3] == 1)
    assert start[7:] == ["11", "x = 0", "up; outputs 6, -5.5"]
    assert start[5] == 2  # steps to the unsafe one
    assert len(data["edges"]) == 3 * len(shown.edges)
    split = next(s for s in data["splits"] if s["predicate"] == "x > 8")
    assert split["counts"][2] == 0
    assert split["graph"]["counts"][0] == split["counts"][0]


def test_of_many_states_only_some_are_drawn_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.report.abstraction.graph_data.MOST_STATES", 2)
    monkeypatch.setattr("surefoot.report.abstraction.html.MOST_STATES", 2)
    data = graph_page_data(counter(), graph())
    assert [s[0] for s in data["states"]] == [0, 2]
    assert data["counts"][0] == 3
    assert all(len(s["pieces"]) == 2 for s in data["splits"])
    assert "Only the 2 states nearest" in graph_page(counter(), graph())


def test_names_cannot_end_their_element() -> None:
    named = replace(graph(0), predicates=(Var("</script><b>") <= 2, Var("y") <= 4))
    page = graph_page(counter(), named)
    assert "</script><b>" not in page


def test_a_violation_is_followed_through_the_graph() -> None:
    found = violation()
    assert isinstance(found.artifact, AbstractGraph)
    data = graph_page_data(counter(BEYOND), found.artifact, found.trace)
    visited = [data["states"][i] for i in data["run"]]
    assert len(visited) == len(found.trace.states)
    for row, state in zip(visited, found.trace.states, strict=True):
        assert row[7] == "".join("01"[state["x"] <= bound] for bound in (2, 4))
    assert visited[-1][3] & 2
    assert graph_page_data(counter(), graph())["run"] == []
