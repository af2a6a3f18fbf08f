"""Comparisons with known answers and with other tools; run as `python -m benchmarks.NAME`."""
