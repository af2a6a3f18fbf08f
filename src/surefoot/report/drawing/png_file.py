"""A drawing as the bytes of a PNG file: pixels in numpy, letters from `font`, packed by zlib."""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise
from math import hypot
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.report.drawing.font import HEIGHT, WIDTH, glyph_pixels
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

Pixels: TypeAlias = NDArray[np.uint8]


def render_png(drawing: Drawing, *, zoom: int = 2) -> bytes:
    """The whole file; `zoom`: pixels of the file per pixel of the drawing."""
    return _encode_png(render_pixels(drawing, zoom=zoom))


def render_pixels(drawing: Drawing, *, zoom: int = 2) -> Pixels:
    """Red, green and blue by row and column."""
    image = np.full((drawing.height * zoom, drawing.width * zoom, 3), 255, dtype=np.uint8)
    for shape in drawing.shapes:
        _draw_shape(image, shape, zoom)
    return image


def _encode_png(image: Pixels) -> bytes:
    """The bytes of a PNG file (8 bits for each of three colours, no filter)."""
    height, width, _ = image.shape
    lines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), image.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_png_chunk(kind, data) for kind, data in chunks)


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _draw_shape(image: Pixels, shape: Shape, zoom: int) -> None:
    match shape:
        case Rectangle(x, y, width, height, fill):
            _fill_rectangle(
                image, round(x * zoom), round(y * zoom), round(width * zoom), round(height * zoom), fill
            )
        case Cells():
            _draw_cells(image, shape, zoom)
        case Polyline():
            _draw_polyline(image, shape, zoom)
        case Polygon():
            _fill_polygon(image, shape, zoom)
        case Group(_, shapes):
            for part in shapes:
                _draw_shape(image, part, zoom)
        case Mark():
            _draw_mark(image, shape, zoom)
        case Text():
            _draw_text(image, shape, zoom)


def _fill_rectangle(image: Pixels, x: int, y: int, width: int, height: int, colour: str) -> None:
    image[max(0, y) : max(0, y + height), max(0, x) : max(0, x + width)] = _parse_colour(colour)


def _fill_polygon(image: Pixels, polygon: Polygon, zoom: int) -> None:
    """Line by line between the edges that it crosses: the even-odd rule."""
    corners = [(x * zoom, y * zoom) for x, y in polygon.points]
    heights = [y for _, y in corners]
    first, last = max(0, int(min(heights))), min(image.shape[0] - 1, int(max(heights)))
    colour = _parse_colour(polygon.fill)
    for row in range(first, last + 1):
        middle, crossed = row + 0.5, list[float]()
        for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True):
            if (y0 <= middle) != (y1 <= middle):
                crossed.append(x0 + (middle - y0) / (y1 - y0) * (x1 - x0))
        crossed.sort()
        for left, right in zip(crossed[::2], crossed[1::2], strict=False):
            image[row, max(0, round(left)) : max(0, round(right))] = colour


def _parse_colour(colour: str) -> Pixels:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.uint8)


def _draw_cells(image: Pixels, cells: Cells, zoom: int) -> None:
    if not cells.columns:
        return
    known = {c: _parse_colour(c) for row in cells.colours for c in row}
    small = np.array([[known[c] for c in row] for row in cells.colours], dtype=np.uint8)
    side = cells.size * zoom
    large = np.repeat(np.repeat(small, side, axis=0), side, axis=1)
    x, y = cells.x * zoom, cells.y * zoom
    image[y : y + large.shape[0], x : x + large.shape[1]] = large
    for j, row in enumerate(cells.signs):
        for i, sign in enumerate(row):
            if sign and cells.size >= HEIGHT:
                middle, base = cells.x + i * cells.size + cells.size // 2, cells.y + j * cells.size
                _draw_text(image, Text(middle, base + (cells.size + HEIGHT) // 2, sign, 10, "middle"), zoom)


def _draw_mark(image: Pixels, mark: Mark, zoom: int) -> None:
    if mark.form in ("cross", "arrow"):
        for line in mark_corners(mark):
            _draw_polyline(image, Polyline(line, mark.colour), zoom)
        return
    for size, colour in ((mark.size, mark.colour), (mark.size - 1, "#ffffff"))[: 1 + (mark.form == "ring")]:
        side = round(2 * size * zoom)
        left, top = round((mark.x - size) * zoom), round((mark.y - size) * zoom)
        _fill_rectangle(image, left, top, side, side, colour)


def _draw_polyline(image: Pixels, line: Polyline, zoom: int) -> None:
    thick, gone = max(1, round(line.width * zoom)), 0.0
    for (x0, y0), (x1, y1) in pairwise(line.points):
        count = int(max(abs(x1 - x0), abs(y1 - y0)) * zoom) + 1
        length = hypot(x1 - x0, y1 - y0)
        for part in np.linspace(0.0, 1.0, count + 1):
            if _in_stroke(gone + length * part, line.dash):
                x, y = x0 + (x1 - x0) * part, y0 + (y1 - y0) * part
                _fill_rectangle(image, int(x * zoom), int(y * zoom), thick, thick, line.colour)
        gone += length


def _in_stroke(distance: float, dash: tuple[int, ...]) -> bool:
    """Is a line drawn there, so far from its beginning, or is there a gap?"""
    if not dash:
        return True
    left = distance % sum(dash)
    for number, length in enumerate(dash):
        if left < length:
            return number % 2 == 0
        left -= length
    return False


def _draw_text(image: Pixels, text: Text, zoom: int) -> None:
    """Letters of the small font; twice as large from 18 pixels on."""
    scale = zoom * (2 if text.size >= 18 else 1)
    step = (WIDTH + 1) * scale
    whole = step * len(text.text) - scale
    left = round(text.x * zoom) - {"start": 0, "middle": whole // 2, "end": whole}[text.anchor]
    top, colour = round(text.y * zoom) - HEIGHT * scale, _parse_colour(text.colour)
    for number, letter in enumerate(text.text):
        shape = np.repeat(np.repeat(glyph_pixels(letter), scale, axis=0), scale, axis=1)
        x = left + number * step
        if top < 0 or x < 0:
            continue
        place = image[top : top + shape.shape[0], x : x + shape.shape[1]]
        place[shape[: place.shape[0], : place.shape[1]]] = colour
