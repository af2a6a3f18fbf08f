"""Exploration in which outcomes of chance stay open until something depends on them."""
