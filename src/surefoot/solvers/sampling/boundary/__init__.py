"""Stopping rules as tables, and the proof of their coverage."""
