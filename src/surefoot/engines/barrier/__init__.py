"""Barrier certificates: sets of states that a program never leaves."""

from surefoot.engines.barrier.engine import Barrier

__all__ = ["Barrier"]
