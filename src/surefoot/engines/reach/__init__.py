"""Reachable sets of closed loops: see `engine.py`."""

from surefoot.engines.reach.engine import Reach

__all__ = ["Reach"]
