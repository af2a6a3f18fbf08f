"""Shields of systems with real variables that finitely many actions move: switched systems."""
