"""Answers about finite systems by looking at every reachable state."""

from surefoot.engines.explicit.engine import Explicit

__all__ = ["Explicit"]
