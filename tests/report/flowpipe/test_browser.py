"""Flowpipes in a browser: pointing tells time and cell, and any two names can be chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.browser import Browser, browser
from tests.report.flowpipe.scenes import spring_result

from surefoot.report.result_page import render_result_page

pytestmark = pytest.mark.browser
HERE = "document.querySelector('.here').innerText"
LEGEND = "document.querySelector('.legend').innerText"


def point(page: Browser, x: float, y: float) -> str:
    spot = page.evaluate(
        "(() => { document.querySelector('canvas').scrollIntoView(); "
        f"return document.querySelector('section.flowpipe').spotOf({x}, {y}); }})()"
    )
    page.mouse("mouseMoved", *spot)
    told: str = page.evaluate(HERE)
    return told


def pixel(page: Browser, x: float, y: float) -> list[int]:
    colour: list[int] = page.evaluate(
        "(() => { const c = document.querySelector('canvas'), box = c.getBoundingClientRect();"
        f" const [x, y] = document.querySelector('section.flowpipe').spotOf({x}, {y});"
        " const scale = c.width / box.width;"
        " const [left, top] = [(x - box.left) * scale, (y - box.top) * scale];"
        " return [...c.getContext('2d').getImageData(left, top, 1, 1).data]; })()"
    )
    return colour


def select(page: Browser, name: str, value: int) -> None:
    page.evaluate(
        f"(() => {{ const s = document.querySelector('.{name}'); s.value = '{value}';"
        " s.dispatchEvent(new Event('change')); })()"
    )


def test_pointing_tells_time_and_cell(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(render_result_page([spring_result(tmp_path)]), "utf-8")
    with browser(tmp_path / "profile") as page:
        page.open(file)
        page.evaluate(
            "document.querySelector('input.runs').click()"
        )  # away, so that colours are those of boxes
        told = point(page, 0.25, 0.75)
        assert told.startswith("time = 0.25, x = 0.75")
        assert "time 0 to 0.5, cell 0 (done)" in told
        assert "time 0 to 0.5, cell 1 (open: it may be bad after 1)" in told
        assert "no run is here" in point(page, 0.25, 1.1)
        early, late = pixel(page, 0.25, 0.75), pixel(page, 1.75, 0.75)
        assert early[2] > early[0] + 30  # blue: shown
        assert late[0] > late[2] + 50  # orange: not shown any more
        assert "not shown to satisfy the property" in page.evaluate(LEGEND)
        assert "bad" in page.evaluate(LEGEND)
        select(page, "across", 1)
        select(page, "upwards", 2)
        assert "early to late" in page.evaluate(LEGEND)
        assert "time 0 to 0.5, cell 0 (done)" in point(page, 0.9, 0.1)
        assert "and 4 more" in page.evaluate(HERE)
        select(page, "upwards", 1)  # never the same name twice
        assert page.evaluate("document.querySelector('.across').value") == "0"
        page.evaluate("document.querySelector('canvas').focus()")
        page.press("ArrowLeft")
        assert page.evaluate(HERE).startswith("time = ")
        assert page.requests == [file.resolve().as_uri()]
