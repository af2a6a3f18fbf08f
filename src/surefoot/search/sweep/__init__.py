"""Sweeps: one question about many problems, policies x properties x parameters, each a unit of work."""
