"""Policy predicate abstraction: is it safe from all starts, and a graph that shows why."""

from surefoot.engines.predicates.engine import Predicates

__all__ = ["Predicates"]
