"""Exploration: the reachable states of a problem as a finite decision process, interpreted or compiled."""

from surefoot.explore.exploration import Tier, explore_problem
from surefoot.explore.explored_model import ExploredModel, States
from surefoot.explore.uniform_policy import resolve_uniformly

__all__ = ["ExploredModel", "States", "Tier", "explore_problem", "resolve_uniformly"]
