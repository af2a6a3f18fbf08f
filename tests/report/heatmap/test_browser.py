"""A page with heat maps in a browser: cells tell their values, and nothing is asked of a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.browser import Browser, browser
from tests.report.heatmap.tables import small

from surefoot.report.heatmap.html import heat_page

pytestmark = pytest.mark.browser
PLACE = """(() => {
  const svg = document.querySelector("figure.heat svg");
  const data = JSON.parse(svg.parentElement.querySelector("script").textContent);
  const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
  return [box.left + (data.left + (%d + 0.5) * data.size) * scale,
          box.top + (data.top + (%d + 0.5) * data.size) * scale];
})()"""
PICKED = "document.querySelector('.picked').innerText"


def place(page: Browser, column: int, line: int) -> tuple[float, float]:
    x, y = page.evaluate(PLACE % (column, line))
    return x, y


def test_hover_click_and_keys(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(heat_page([small()]), "utf-8")
    with browser(tmp_path / "profile") as page:
        page.open(file)
        assert "Click a cell" in page.evaluate(PICKED)
        page.mouse("mouseMoved", *place(page, 1, 1))  # y grows upwards: the second line is y = 0
        bubble = page.evaluate("document.querySelector('.bubble').innerText")
        assert bubble == "x = 1, y = 0: 0.9  [0.85, 0.95] at 0.95"
        page.click(*place(page, 1, 1))
        told = page.evaluate(PICKED)
        for said in ("x = 1, y = 0", "0.9", "[0.85, 0.95] at 0.95", "runs 4096, succeeded 2048, failed 3"):
            assert said in told
        assert "x = 1, y = 0, speed = 0" in told
        page.click(*place(page, 1, 0))
        assert "no start here" in page.evaluate(PICKED)
        page.click(*place(page, 2, 0))
        assert "infinite" in page.evaluate(PICKED)
        page.click(*place(page, 0, 0))
        assert "the time ended <soon> & late" in page.evaluate(PICKED)
        page.evaluate("document.querySelector('figure.heat svg').focus()")
        page.press("ArrowDown")
        assert "[0.1, 0.3] at 0.95" in page.evaluate(PICKED)
        page.press("ArrowRight")
        page.press("ArrowRight")
        page.press("ArrowRight")
        assert "x = 2, y = 0" in page.evaluate(PICKED)
        assert [url for url in page.requests if not url.startswith("file:")] == []
