"""Closed sets in a browser: two variables are chosen, a state is read, and the others are cut elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.browser import Browser, browser
from tests.report.region.scenes import ball

from surefoot.report.region.html import region_page

pytestmark = pytest.mark.browser
HERE = "document.querySelector('.here').innerText"
LEGEND = "document.querySelector('.legend').innerText"


def click(page: Browser, x: float, y: float) -> str:
    spot = page.evaluate(
        "(() => { document.querySelector('canvas').scrollIntoView(); "
        f"return document.querySelector('section.region').spotOf({x}, {y}); }})()"
    )
    page.click(*spot)
    told: str = page.evaluate(HERE)
    return told


def select(page: Browser, name: str, value: int) -> None:
    page.evaluate(
        f"(() => {{ const s = document.querySelector('.{name}'); s.value = '{value}';"
        " s.dispatchEvent(new Event('change')); })()"
    )


def pixel(page: Browser, x: float, y: float) -> list[int]:
    colour: list[int] = page.evaluate(
        "(() => { const c = document.querySelector('canvas'), box = c.getBoundingClientRect();"
        f" const [x, y] = document.querySelector('section.region').spotOf({x}, {y});"
        " const scale = c.width / box.width;"
        " const [left, top] = [(x - box.left) * scale, (y - box.top) * scale];"
        " return [...c.getContext('2d').getImageData(left, top, 1, 1).data]; })()"
    )
    return colour


def test_choose_variables_read_a_state_and_cut_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "region.html"
    file.write_text(region_page("surefoot: ball", [ball()]), "utf-8")
    with browser(tmp_path / "profile") as page:
        page.open(file)
        assert "sets are cut at z = 0" in page.evaluate(LEGEND)
        told = click(page, 0.0, 0.9)
        assert told.startswith("x = ")
        assert "B1 = -0.1" in told
        assert "(inside)" in told
        assert "unsafe" in click(page, 2.1, 0.0).split("; ")[-1:]
        blue, white = pixel(page, -0.6, 0.6), pixel(page, -1.5, 1.5)
        assert blue[2] > blue[0] + 30
        assert white == [255, 255, 255, 255]
        select(page, "upwards", 2)
        assert "sets are cut at y = 0" in page.evaluate(LEGEND)
        assert "(inside)" not in click(page, 0.0, 0.9)  # 4 z^2 > 1
        page.evaluate(
            "(() => { const f = document.querySelector('.values input'); f.value = '0.99';"
            " f.dispatchEvent(new Event('input')); })()"
        )
        assert "y = 0.99" in page.evaluate(LEGEND)
        assert "(inside)" not in click(page, 0.3, 0.3)
        assert "(inside)" in click(page, 0.0, 0.0)
        select(page, "across", 2)  # the same twice is not possible
        assert page.evaluate("document.querySelector('.upwards').value") == "0"
        page.evaluate("document.querySelector('canvas').focus()")
        before = page.evaluate(HERE)
        page.press("ArrowRight")
        assert page.evaluate(HERE) != before
        assert [url for url in page.requests if not url.startswith("file:")] == []
