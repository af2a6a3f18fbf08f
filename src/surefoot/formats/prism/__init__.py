"""PRISM models and their properties: read into an environment and properties, and written from them."""

from surefoot.formats.prism.reader import PrismModel, read_prism

__all__ = ["PrismModel", "read_prism"]
