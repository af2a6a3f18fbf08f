"""Shields of finite systems: which actions may be permitted in which states, and what to do instead."""

from surefoot.shields.finite.shield import FiniteShield, finite_shield

__all__ = ["FiniteShield", "finite_shield"]
