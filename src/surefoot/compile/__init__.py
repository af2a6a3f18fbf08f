"""Exploration: the reachable states of a problem as a finite decision process, interpreted or compiled."""

from surefoot.compile.explored import Explored, States
from surefoot.compile.tier import explore

__all__ = ["Explored", "States", "explore"]
