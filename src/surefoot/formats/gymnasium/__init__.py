"""Environments of the Gymnasium library as models: named as there, and executed as there."""

from surefoot.formats.gymnasium.registry import GYM_MODELS, build_gym_model, names_gym_model

__all__ = ["GYM_MODELS", "build_gym_model", "names_gym_model"]
