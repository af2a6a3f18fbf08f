"""Faults: the last decision of a violating run that could have been different."""
