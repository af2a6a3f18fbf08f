"""Simulation: runs of a problem drawn by number, interpreted or in machine code."""
