"""Polyhedra that no step of a linear system leaves."""
