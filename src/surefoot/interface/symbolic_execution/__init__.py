"""Symbolic execution: a Python step function is run on symbols, path by path, and gives an environment."""
