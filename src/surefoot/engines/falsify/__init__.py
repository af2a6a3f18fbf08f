"""Runs that violate a property, found by simulation."""

from surefoot.engines.falsify.engine import Falsify

__all__ = ["Falsify"]
