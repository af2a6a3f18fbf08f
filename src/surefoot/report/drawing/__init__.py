"""Pictures without any library: shapes, written as SVG text or as the bytes of a PNG file."""

from surefoot.report.drawing.png_file import render_png
from surefoot.report.drawing.shapes import Cells, Drawing, Mark, Polyline, Rectangle, Text, shift_shapes
from surefoot.report.drawing.svg_file import render_svg

__all__ = [
    "Cells",
    "Drawing",
    "Mark",
    "Polyline",
    "Rectangle",
    "Text",
    "render_png",
    "render_svg",
    "shift_shapes",
]
