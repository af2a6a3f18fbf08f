"""The same figure as SVG, PNG, text, JSON and HTML."""

from __future__ import annotations

import json
import re
import struct
import zlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.report.heatmap.tables import small, table

from surefoot.report.drawing.font import GLYPHS, glyph_pixels
from surefoot.report.drawing.png_file import render_png
from surefoot.report.drawing.shapes import Cells, Drawing, Polyline, Rectangle, Text
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.heatmap.cells import heat_map, parse_view
from surefoot.report.heatmap.colours import OUTSIDE, UNKNOWN, Scale, colour_map
from surefoot.report.heatmap.figure_data import figure_to_json
from surefoot.report.heatmap.heat_figure import Figure, Panel, build_figure, interval_text
from surefoot.report.heatmap.html import MOST_BYTES, heat_page
from surefoot.report.heatmap.layout import draw_figure, panel_drawing
from surefoot.report.heatmap.learning_curve import Curve
from surefoot.report.heatmap.start_values import StartValue, value_table
from surefoot.report.heatmap.terminal import terminal_lines, terminal_text

GOLDEN = Path(__file__).parent / "golden"


def written(form: str) -> str:
    """The small figure; `python -m tests.report.heatmap.test_pictures` accepts changes."""
    match form:
        case "small.svg":
            return render_svg(draw_figure(small()))
        case "small.txt":
            return terminal_text(small())
        case _:
            return json.dumps(figure_to_json(small()), indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("form", ["small.svg", "small.txt", "small.json"])
def test_golden(form: str) -> None:
    assert written(form) == (GOLDEN / form).read_text("utf-8")


def decoded(data: bytes) -> np.ndarray:
    """A PNG of this kind, read by hand; every checksum is checked."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(data):
        length = struct.unpack(">I", data[place : place + 4])[0]
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert checksum == zlib.crc32(kind + body)
        chunks[kind], place = body, place + 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, 1 + 3 * width)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, 3)


def test_png_shows_the_same_cells_as_svg() -> None:
    shown = small()
    placed, picture = panel_drawing(shown, shown.panels[0]), draw_figure(shown)
    pixels = decoded(render_png(picture, zoom=2))
    assert pixels.shape == (picture.height * 2, picture.width * 2, 3)
    cells = next(s for s in picture.shapes if isinstance(s, Cells))
    for row, line in enumerate(cells.colours):
        for column, colour in enumerate(line):
            x, y = cells.x + column * cells.size + 3, cells.y + row * cells.size + 3
            assert "#{:02x}{:02x}{:02x}".format(*pixels[2 * y, 2 * x]) == colour
    assert cells.size == placed.size


def test_shapes_beyond_the_edge_are_cut() -> None:
    shapes = (
        Rectangle(-5, -5, 8, 8, "#102030"),
        Polyline(((-4.0, 5.0), (30.0, 5.0)), "#ff0000"),
        Text(8, 9, "a long text beyond the edge", 18),
        Text(0, 2, "above"),
    )
    pixels = decoded(render_png(Drawing(10, 10, shapes), zoom=1))
    assert tuple(pixels[0, 0]) == (16, 32, 48)
    assert tuple(pixels[5, 9]) == (255, 0, 0)


def test_every_letter_is_different() -> None:
    printable = [chr(c) for c in range(32, 127)]
    assert set(printable) <= set(GLYPHS)
    seen = {glyph_pixels(letter).tobytes() for letter in printable}
    assert len(seen) == len(printable)
    assert (glyph_pixels("ж") == glyph_pixels("?")).all()


def test_svg_is_well_formed_and_tells_every_cell() -> None:
    root = ElementTree.fromstring(render_svg(draw_figure(small())))
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "x = 0, y = 0: 0.2, [0.1, 0.3] at 0.95, 100 runs" in titles
    assert "x = 1, y = 1: no start" in titles
    assert len(titles) == 6


def test_cells_by_colour_cover_the_same_area() -> None:
    shown = small()
    root = ElementTree.fromstring(render_svg(draw_figure(shown), titles=False))
    paths = list(root.iter("{http://www.w3.org/2000/svg}path"))
    widths = sum(int(n) for p in paths for n in re.findall(r"h(\d+)v", p.attrib["d"]))
    assert widths == 6
    assert OUTSIDE in {p.attrib["fill"] for p in paths}


def test_without_colours_digits_remain() -> None:
    shown = terminal_lines(small())
    digits = [p for line in shown for p in line if p.text == "22"]
    assert digits[0].colour == colour_map()[int(0.2 * 256)]
    assert "\x1b" not in terminal_text(small())


def test_a_wide_map_is_cut_and_says_so() -> None:
    rows = [({"x": x}, StartValue(Fraction(x, 200), Fraction(x, 200))) for x in range(200)]
    told = terminal_text(small(rows), width=60)
    assert max(map(len, told.splitlines())) <= 80
    assert "141 columns do not fit" in told


def test_y_grows_downwards_if_asked() -> None:
    up, down = terminal_text(small()).splitlines(), terminal_text(small(down=True)).splitlines()
    row = next(line for line in up if line.startswith("0 "))
    assert row in down
    assert up.index(row) > down.index(row)


def test_page_is_complete_escaped_and_small() -> None:
    page = heat_page([small()])
    assert len(page.encode()) < MOST_BYTES
    assert "default-src 'none'" in page
    assert "<small>" not in page
    assert "a &lt;small&gt; map" in page
    assert "<soon>" not in page
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    cells = json.loads(data)["cells"]
    assert cells[0] == [0, 0, "0.2", "[0.1, 0.3] at 0.95", [100, 50, 3], ["0", "0"], 1]
    assert not re.search(r"""(src|href)\s*=|url\(|@import|fetch\(""", page)


def test_a_huge_page_tells_less_of_each_cell() -> None:
    rows = [
        ({"x": x, "y": y, "long name of a variable": f"{x},{y}" * 3}, value_table(table())[0][1])
        for x in range(100)
        for y in range(130)
    ]
    shown = small()
    view = parse_view([rows], "x", "y")
    map = heat_map("value", rows, view)
    page = heat_page([build_figure(shown.title, [Panel("large", map, "probability")])])
    assert len(page.encode()) < MOST_BYTES
    assert "too many cells" in page


def test_scales() -> None:
    panel = small().panels[0]
    gap = replace(panel, unit="gap of the probability to the optimum")
    effort = replace(panel, unit="log2 of the number of runs")
    shown = build_figure("all", [panel, gap, effort])
    assert shown.scales["probability"] == Scale(0.0, 1.0)
    assert shown.scales[gap.unit] == Scale(0.0, 1.0)
    assert shown.scales[effort.unit] == Scale(0.0, 1.0)
    auto = build_figure("all", [panel], limits="auto")
    assert auto.scales["probability"] == Scale(0.2, 1.0)
    assert "beyond the scale" in render_svg(draw_figure(build_figure("all", [panel], limits=(0.5, 0.6))))


def test_a_wide_interval_is_marked_and_a_very_wide_one_has_no_colour() -> None:
    """The middle of [0, 1] is no estimate: such runs were cut off."""
    bounds = [("0.1", "0.2"), ("0.2", "0.5"), ("0", "1")]
    rows = [
        ({"x": i}, StartValue(Fraction(low), Fraction(high), Fraction("0.95")))
        for i, (low, high) in enumerate(bounds)
    ]
    shown = small(rows)
    assert "11 3~~~".replace(" ", "") in terminal_text(shown)
    assert "~ wide interval" in terminal_text(shown)
    cells = next(s for s in draw_figure(shown).shapes if isinstance(s, Cells))
    assert cells.colours[0][:2] == (Scale(0, 1).colour(0.15), Scale(0, 1).colour(0.35))
    assert cells.colours[0][2] == UNKNOWN
    assert cells.signs == (("", "~", "~"),)
    assert cells.titles[0][2] == "x = 2: wide interval, [0, 1] at 0.95"
    low = build_figure(shown.title, shown.panels, end="low")
    assert next(s for s in draw_figure(low).shapes if isinstance(s, Cells)).colours[0][2] == Scale(
        0, 1
    ).colour(0.0)


def test_a_confidence_is_never_rounded_up() -> None:
    sure = StartValue(Fraction(0), Fraction(1), 1 - Fraction(1, 10**9))
    assert interval_text(sure) == "[0, 1] at 0.999999"


def test_a_curve_above_the_maps() -> None:
    shown: Figure = small()
    curve = Curve("episodes", "return", ((0.0, -5.0), (10.0, 5.0), (20.0, 7.0)), ((10.0, "a-10.onnx"),))
    with_curve = build_figure(shown.title, shown.panels, curve=curve)
    assert "a-10.onnx at 10" in render_svg(draw_figure(with_curve))
    assert "return over episodes" in heat_page([with_curve])
    assert "return at the checkpoints: ▇" in terminal_text(with_curve)
    assert figure_to_json(with_curve)["curve"]["checkpoints"] == [{"x": 10.0, "name": "a-10.onnx"}]
    flat = Curve("x", "y", ((3.0, 1.0),))
    assert "<polyline" in render_svg(draw_figure(build_figure(shown.title, shown.panels, curve=flat)))


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for each in ("small.svg", "small.txt", "small.json"):
        (GOLDEN / each).write_text(written(each), "utf-8")


def test_probabilities_that_are_close_together_have_all_colours() -> None:
    panel = small().panels[0]
    cells = tuple(
        replace(c, value=replace(c.value, low=Fraction(97, 100), high=Fraction(97, 100)))
        for c in panel.map.cells[:1]
    )
    rest = tuple(
        replace(c, value=replace(c.value, low=Fraction(1), high=Fraction(1))) for c in panel.map.cells[1:]
    )
    near = replace(panel, map=replace(panel.map, cells=cells + rest))
    shown = build_figure("all", [near])
    assert shown.scales["probability"] == Scale(0.97, 1.0)
    assert build_figure("all", [near], limits=(0.0, 1.0)).scales["probability"] == Scale(0.0, 1.0)
    page = heat_page([shown])
    assert page.count('<input type="checkbox" class="whole">') == 1
    assert page.count('<div class="whole" hidden>') == 2  # the scale and the map
    assert 'class="whole"' not in heat_page([build_figure("all", [panel])])
