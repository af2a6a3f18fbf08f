"""JANI models: read into an environment and properties, and written from them."""

from surefoot.formats.jani.export.model import write_jani
from surefoot.formats.jani.reader import JaniModel, read_jani

__all__ = ["JaniModel", "read_jani", "write_jani"]
