"""Freeze what is true now, and hold a later tree against it; run as `python -m benchmarks.frozen`."""
