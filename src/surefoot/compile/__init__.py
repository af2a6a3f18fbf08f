"""Exploration: the reachable states of a problem as a finite decision process, interpreted or compiled."""

from surefoot.compile.explored import ExploredModel, States
from surefoot.compile.tier import Tier, explore_problem
from surefoot.compile.uniform import resolve_uniformly

__all__ = ["ExploredModel", "States", "Tier", "explore_problem", "resolve_uniformly"]
