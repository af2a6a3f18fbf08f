"""Larger closed sets, so that a shield overrules its network more rarely."""
