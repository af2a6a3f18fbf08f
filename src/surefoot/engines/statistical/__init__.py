"""Estimates of probabilities and expected rewards from runs, with a proved confidence."""

from surefoot.engines.statistical.engine import Statistical

__all__ = ["Statistical"]
