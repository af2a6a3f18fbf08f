"""Pictures without any library: shapes, written as SVG text or as the bytes of a PNG file."""

from surefoot.report.drawing.raster import render_png
from surefoot.report.drawing.shapes import Cells, Drawing, Mark, Polyline, Rectangle, Text, shift_shapes
from surefoot.report.drawing.svg import svg

__all__ = ["Cells", "Drawing", "Mark", "Polyline", "Rectangle", "Text", "render_png", "shift_shapes", "svg"]
