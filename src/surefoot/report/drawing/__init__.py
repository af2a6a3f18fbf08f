"""Pictures without any library: shapes, written as SVG text or as the bytes of a PNG file."""

from surefoot.report.drawing.raster import png
from surefoot.report.drawing.shapes import Cells, Drawing, Line, Mark, Rectangle, Text, shifted
from surefoot.report.drawing.svg import svg

__all__ = ["Cells", "Drawing", "Line", "Mark", "Rectangle", "Text", "png", "shifted", "svg"]
