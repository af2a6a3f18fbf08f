"""Parts of `benchmarks/tampered_shields.py`."""
