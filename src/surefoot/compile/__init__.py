"""Exploration: the reachable states of a problem as a finite decision process, interpreted or compiled."""

from surefoot.compile.exploration import Tier, explore_problem
from surefoot.compile.explored_model import ExploredModel, States
from surefoot.compile.uniform_policy import resolve_uniformly

__all__ = ["ExploredModel", "States", "Tier", "explore_problem", "resolve_uniformly"]
