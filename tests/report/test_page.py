"""The HTML report: complete in itself, escaped, and what a browser makes of it."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.report.runs import overload

from surefoot.engines.explicit import Explicit
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.problem import Problem
from surefoot.report.result_page import render_result_page
from surefoot.report.result_text import render
from surefoot.run import verify
from surefoot.verdict.verdict import Result, Violated
from surefoot.work.budget import Budget

VOID = {"meta", "circle", "rect", "line", "polyline"}


@pytest.fixture(scope="module")
def found() -> tuple[Problem, Result]:
    return overload()


class Balanced(HTMLParser):
    """Every element is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_needs_nothing_else(found: tuple[Problem, Result]) -> None:
    text = render_result_page([found])
    reader = Balanced()
    reader.feed(text)
    assert reader.open == []
    assert "script" not in {tag for tag, _ in reader.seen}
    assert not any({"src", "href"} & set(attributes) for _, attributes in reader.seen)
    assert "url(" not in text


def test_names_are_escaped(found: tuple[Problem, Result]) -> None:
    text = render_result_page([found])
    assert "<b>" not in text
    assert "load &lt;b&gt;&amp;amp;&lt;/b&gt;" in text


def test_shows_the_run(found: tuple[Problem, Result]) -> None:
    _, result = found
    assert isinstance(result.verdict, Violated)
    text = render_result_page([found])
    assert text.count("<svg") == 2  # the output, and the one history buffer
    buffer = re.search(r'aria-label="load".*?</svg>', text, re.DOTALL)
    assert buffer is not None
    assert buffer.group().count("<circle") == 3 + len(result.verdict.trace.moves)
    assert re.search(r"Violated: .* after 3 steps|a run of 3 steps does not", text)


def test_text_shows_a_buffer_once(found: tuple[Problem, Result]) -> None:
    lines = render(*found).splitlines()
    assert "  load in state 0, oldest first: 0, 0, 0" in lines
    assert any(line.split() == ["state", "load", "output[0]"] for line in lines)


@pytest.mark.browser
def test_a_browser_draws_it(found: tuple[Problem, Result], tmp_path: Path) -> None:
    """The lines of the charts lie inside the page, the table is visible, nothing sticks out sideways."""
    file = tmp_path / "report.html"
    probe = """<script>
    const parts = document.querySelectorAll("svg polyline:not([stroke='#e5e8e8']), table");
    const boxes = [...parts].map(e => e.getBoundingClientRect());
    document.title = JSON.stringify({
      wide: document.documentElement.scrollWidth > innerWidth,
      drawn: boxes.filter(b => b.width > 100 && b.left >= 0 && b.right <= innerWidth).length,
      all: boxes.length});
    </script></body>"""
    file.write_text(render_result_page([found]).replace("</body>", probe), encoding="utf-8")
    dom = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1000,1400", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    title = re.search(r"<title>(.*?)</title>", dom.stdout)
    assert title is not None
    # two lines, a threshold and two tables are wide; the vertical line of the moment is not
    assert title.group(1) == '{"wide":false,"drawn":5,"all":6}'


def per_start(folder: Path, names: tuple[str, ...]) -> tuple[Problem, Result]:
    """Starts that differ in these variables."""
    rows = "".join(f'{n} = "int 0..2"\n' for n in ("x", "y", "z"))
    rest = " and ".join(f"{n} = 0" for n in ("x", "y", "z") if n not in names) or "true"
    text = f'initial = "{rest}"\n[variables]\n{rows}[[edges]]\nguard = "x < 2"\nupdates = {{ x = "x + 1" }}\n'
    text += '[properties]\nall = "Pmax=? [ F x = 2 ] over values"\n'
    (folder / "starts.toml").write_text(text)
    problem = read_problem_file(folder / "starts.toml", property="all")
    return problem, verify(problem, Explicit(), Budget(30))


@pytest.mark.parametrize("names", [("x",), ("x", "z")])
def test_a_table_of_starts_is_a_heat_map(names: tuple[str, ...], tmp_path: Path) -> None:
    text = render_result_page([per_start(tmp_path, names)])
    assert text.count('<figure class="heat">') == 1
    assert text.count("<script>") == 1


def test_with_more_variables_it_is_a_list(tmp_path: Path) -> None:
    text = render_result_page([per_start(tmp_path, ("x", "y", "z"))])
    assert "<script" not in text
    assert text.count("<td") == 2 * 27
    assert "x = 2, y = 1, z = 0" in text


def test_what_a_line_is_about_is_kept(found: tuple[Problem, Result]) -> None:
    assert "<p><strong>Evidence:</strong> trace of" in render_result_page([found])


def test_text_lists_the_first_starts(tmp_path: Path) -> None:
    lines = render(*per_start(tmp_path, ("x", "y", "z"))).splitlines()
    assert "  start     x = 0, y = 0, z = 1: exactly 1" in lines
    assert sum(line.startswith("  start ") for line in lines) == 13
    assert "  start     … and 15 more; --json has them, `surefoot heatmap` draws them" in lines
