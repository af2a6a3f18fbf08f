"""Environments as PRISM models, and properties as questions of PRISM."""
