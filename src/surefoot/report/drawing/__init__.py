"""Pictures without any library: shapes, written as SVG text or as the bytes of a PNG file."""
