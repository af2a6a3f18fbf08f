"""Runs of the reference semantics: tried at first, and sought where only rounding leads to a bad state."""
