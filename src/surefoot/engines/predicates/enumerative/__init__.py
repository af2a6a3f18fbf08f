"""Abstractions of systems whose states can all be looked at."""
