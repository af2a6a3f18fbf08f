"""The graph in a browser: a state tells its predicates, actions and example; a split shows its graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.abstraction.graphs import counter, graph
from tests.report.browser import Browser, browser

from surefoot.report.abstraction.html import graph_page

pytestmark = pytest.mark.browser
PANEL = "document.querySelector('.panel').innerText"
SPLIT = """(() => {
  const row = [...document.querySelectorAll(".splits tr")].find((r) => r.innerText.includes("%s"));
  const told = row.innerText;
  row.querySelector("button").click();
  return told;
})()"""


def place(page: Browser, number: int) -> tuple[float, float]:
    x, y = page.evaluate(f"document.querySelector('section.abstraction').placeOf({number})")
    return x, y


def find(page: Browser, text: str) -> str:
    """What is found when this is typed into the search field."""
    told: str = page.evaluate(
        "(() => { const field = document.querySelector('input[type=search]');"
        f" field.value = {text!r}; field.dispatchEvent(new Event('input'));"
        " return document.querySelector('.matches').innerText; })()"
    )
    return told


def test_click_read_find_and_split(tmp_path: Path) -> None:
    file = tmp_path / "graph.html"
    file.write_text(graph_page(counter(), graph()), "utf-8")
    with browser(tmp_path / "profile") as page:
        page.open(file)
        assert "3 abstract states, 1 start, 1 unsafe" in page.evaluate(PANEL)
        page.click(*place(page, 0))
        told = page.evaluate(PANEL)
        for said in ("State 0 (start)", "2 steps to an unsafe state", "✓ yes", "x <= 2", "up → ", "x = 0"):
            assert said in told
        assert "There the policy picks up; outputs 6, -5.5" in told
        page.click(*place(page, 2))
        assert "State 2 (unsafe)" in page.evaluate(PANEL)
        page.evaluate("document.querySelector('canvas').focus()")
        page.press("ArrowUp")
        assert "State 1" in page.evaluate(PANEL)
        assert find(page, "unsafe") == "1 state found"
        assert find(page, "!p0, p1") == "1 state found"
        assert find(page, "#1") == "1 state found"
        assert find(page, "down") == "1 state found"
        assert find(page, "") == ""
        page.click(*place(page, 2))
        row = page.evaluate(SPLIT % "x > 8")
        assert "(property)" in row
        assert "0 (−1)" in row
        banner = page.evaluate("document.querySelector('.split-view').innerText")
        assert "With one more predicate, x > 8" in banner
        assert "No unsafe state can be reached." in banner
        assert "x > 8" in page.evaluate("document.querySelector('.predicates').innerText")
        page.evaluate("document.querySelector('.split-view button').click()")
        assert "State 2 (unsafe)" in page.evaluate(PANEL)
        before = place(page, 0)
        page.evaluate("document.querySelector('.closer').click()")
        assert place(page, 0) != before
        page.evaluate("document.querySelector('.whole').click()")
        assert place(page, 0) == before
        assert [url for url in page.requests if not url.startswith("file:")] == []
