"""PRISM models and their properties: read into an environment and properties, and written from them."""

from surefoot.formats.prism.export.model import PrismTexts, write_prism
from surefoot.formats.prism.reader import PrismModel, read_prism

__all__ = ["PrismModel", "PrismTexts", "read_prism", "write_prism"]
