"""Environments and properties written as JANI models."""

from surefoot.formats.jani.export.model import write_jani

__all__ = ["write_jani"]
