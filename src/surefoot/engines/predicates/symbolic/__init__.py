"""Abstractions of systems with too many states: every test is a question to a solver."""
