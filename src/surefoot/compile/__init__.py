"""Exploration: the reachable states of a problem as a finite decision process, interpreted or compiled."""

from surefoot.compile.explored import Explored, States
from surefoot.compile.tier import Tier, explore
from surefoot.compile.uniform import resolved_uniformly

__all__ = ["Explored", "States", "Tier", "explore", "resolved_uniformly"]
