"""Panels of lines: interrupted where nothing is known, with a legend that says what is what."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from surefoot_studies.line_panels import HEIGHT, DataLine, LinePanel, line_panels_svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*panels: LinePanel) -> ElementTree.Element:
    return ElementTree.fromstring(line_panels_svg("title", panels))


def words(picture: ElementTree.Element) -> list[str]:
    return [t.text or "" for t in picture.iter(f"{SVG}text")]


def test_a_line_is_not_drawn_across_what_is_not_known() -> None:
    points = ((1.0, 5.0), (4.0, 6.0), (5.0, 7.0))
    late = DataLine("16", "slow", points, late=((2.0, 60.0), (3.0, 60.0)))
    unknown = DataLine("16", "slow", points, gaps=(2.0, 3.0))
    whole = DataLine("16", "", points)
    for line, count in ((late, 2), (unknown, 2), (whole, 1)):
        picture = drawn(LinePanel("a panel", "x", "y", (line,)))
        assert len(list(picture.iter(f"{SVG}polyline"))) == count
        assert len(list(picture.iter(f"{SVG}circle"))) == 3


def test_the_legend_has_names_and_kinds_once_and_the_arrow() -> None:
    lines = tuple(
        DataLine(name, kind, ((1.0, 1.0),), late=((2.0, 9.0),) if kind else ())
        for name in ("16", "24", "<64>")
        for kind in ("", "slow", "slower")
    )
    shown = words(drawn(LinePanel("a panel", "x", "y", lines)))
    for once in ("16", "24", "<64>", "default", "slow", "slower", "stopped: at least so much"):
        assert shown.count(once) == 1
    alone = words(drawn(LinePanel("a panel", "x", "y", lines[:3])))
    assert "16" not in alone  # the only one
    assert {"default", "slow", "slower"} <= set(alone)


def test_a_long_legend_moves_the_next_row_down() -> None:
    many = LinePanel("many", "x", "y", tuple(DataLine(f"{n}", "", ((1.0, n), (2.0, n))) for n in range(40)))
    picture = drawn(many, many, many)
    places = [g.get("transform", "") for g in picture.iter(f"{SVG}g")]
    rows = sorted({int(m[1]) for p in places if (m := re.match(r"translate\((?:0|460) (\d+)\)", p))})
    assert len(rows) == 2
    assert rows[1] - rows[0] > 40 * 14 > HEIGHT


def test_powers_of_ten_are_written_out() -> None:
    panel = LinePanel(
        "time", "x", "seconds", (DataLine("16", "", ((1.0, 0.1), (2.0, 100.0))),), logarithmic=True
    )
    assert {"0.1", "1", "10", "100"} <= set(words(drawn(panel)))
