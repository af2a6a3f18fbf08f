"""Environments and properties written as JANI models."""
