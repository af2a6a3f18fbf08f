"""Exploration in Python: any finite environment, state by state."""
