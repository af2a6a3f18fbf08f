"""Containers read as data: nothing that stands in them is imported, called or written to disk."""
