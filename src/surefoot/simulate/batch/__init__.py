"""Runs in columns: thousands of runs in step, for any problem; what they find is decided by the reference."""
