"""A drawing as SVG text."""

from __future__ import annotations

from surefoot.report.drawing.shapes import (
    Cells,
    Drawing,
    Group,
    Mark,
    Polygon,
    Polyline,
    Rectangle,
    Shape,
    Text,
    mark_corners,
)
from surefoot.visible import escape_html

MOST_TITLES = 6000  # squares with a title of their own; a grid of more is drawn by colour


def render_svg(drawing: Drawing, *, titles: bool = True, attributes: str = "") -> str:
    """The whole file, or an element of a page; without `titles` squares of one colour are one path."""
    size = f'viewBox="0 0 {drawing.width} {drawing.height}" width="{drawing.width}" height="{drawing.height}"'
    attributes += f' role="img" aria-label="{escape_html(drawing.label)}"' if drawing.label else ""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif"{attributes}>'
    back = f'<rect width="{drawing.width}" height="{drawing.height}" fill="#ffffff"/>'
    return "\n".join([head, back, *(_render_shape(s, titles) for s in drawing.shapes), "</svg>"]) + "\n"


def _render_shape(shape: Shape, titles: bool) -> str:
    match shape:
        case Rectangle(x, y, width, height, fill):
            place = f'x="{_format_coordinate(x)}" y="{_format_coordinate(y)}"'
            size = f'width="{_format_coordinate(width)}" height="{_format_coordinate(height)}"'
            return f'<rect {place} {size} fill="{fill}"/>'
        case Polyline(points, colour, width, dash, title):
            style = f'fill="none" stroke="{colour}" stroke-width="{width}"'
            style += f' stroke-dasharray="{" ".join(map(str, dash))}"' if dash else ""
            return _render_polyline(points, style, title)
        case Polygon(points, fill, title):
            path = " ".join(f"{_format_coordinate(x)},{_format_coordinate(y)}" for x, y in points)
            end = f"><title>{escape_html(title)}</title></polygon>" if title else "/>"
            return f'<polygon points="{path}" fill="{fill}"{end}'
        case Group(classes, shapes):
            inside = "\n".join(_render_shape(part, titles) for part in shapes)
            return f'<g class="{classes}">\n{inside}\n</g>'
        case Mark():
            return _render_mark(shape)
        case Text(x, y, text, height, anchor, colour, bold):
            style = f'font-size="{height}" fill="{colour}"'
            style += f' text-anchor="{anchor}"' if anchor != "start" else ""
            style += ' font-weight="bold"' if bold else ""
            place = f'x="{_format_coordinate(x)}" y="{_format_coordinate(y)}"'
            return f"<text {place} {style}>{escape_html(text)}</text>"
        case Cells():
            told = titles and sum(map(len, shape.titles)) in range(1, MOST_TITLES + 1)
            return "\n".join(
                [*(_render_titled_cells(shape) if told else _render_cell_paths(shape)), *_render_signs(shape)]
            )


def _render_polyline(points: tuple[tuple[float, float], ...], style: str, title: str) -> str:
    path = " ".join(f"{_format_coordinate(x)},{_format_coordinate(y)}" for x, y in points)
    told = f"><title>{escape_html(title)}</title></polyline>" if title else "/>"
    return f'<polyline points="{path}" {style}{told}'


def _render_mark(mark: Mark) -> str:
    title = f"<title>{escape_html(mark.title)}</title>" if mark.title else ""
    if mark.form in ("cross", "arrow"):
        style = 'fill="none" stroke-width="2"' if mark.form == "cross" else 'fill="#ffffff"'
        path = "".join(
            "M" + "L".join(f"{_format_coordinate(x)} {_format_coordinate(y)}" for x, y in line)
            for line in mark_corners(mark)
        )
        return f'<path d="{path}" {style} stroke="{mark.colour}">{title}</path>'
    place = f'cx="{_format_coordinate(mark.x)}" cy="{_format_coordinate(mark.y)}" r="{mark.size}"'
    colours = f'fill="{mark.colour if mark.form == "disc" else "#ffffff"}"'
    colours += f' stroke="{mark.colour}"' if mark.form == "ring" else ""
    return f"<circle {place} {colours}>{title}</circle>"


def _render_titled_cells(cells: Cells) -> list[str]:
    parts = []
    for j, row in enumerate(cells.colours):
        for i, colour in enumerate(row):
            place = f'x="{cells.x + i * cells.size}" y="{cells.y + j * cells.size}"'
            size = f'width="{cells.size}" height="{cells.size}"'
            title = escape_html(cells.titles[j][i])
            parts.append(f'<rect {place} {size} fill="{colour}"><title>{title}</title></rect>')
    return ['<g shape-rendering="crispEdges">', *parts, "</g>"]


def _render_cell_paths(cells: Cells) -> list[str]:
    """Neighbours of one colour in a row are one piece of a path."""
    paths: dict[str, list[str]] = {}
    for j, row in enumerate(cells.colours):
        i = 0
        while i < len(row):
            end = i
            while end < len(row) and row[end] == row[i]:
                end += 1
            paths.setdefault(row[i], []).append(f"M{i} {j}h{end - i}v1h{i - end}z")
            i = end
    place = f'transform="translate({cells.x} {cells.y}) scale({cells.size})" shape-rendering="crispEdges"'
    return [f"<g {place}>", *(f'<path fill="{c}" d="{"".join(p)}"/>' for c, p in paths.items()), "</g>"]


def _render_signs(cells: Cells) -> list[str]:
    size = max(4, cells.size * 3 // 5)
    return [
        f'<text x="{cells.x + i * cells.size + cells.size // 2}" '
        f'y="{cells.y + j * cells.size + (cells.size + size * 7 // 10) // 2}" '
        f'font-size="{size}" text-anchor="middle" fill="#333333">{escape_html(sign)}</text>'
        for j, row in enumerate(cells.signs)
        for i, sign in enumerate(row)
        if sign
    ]


def _format_coordinate(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
