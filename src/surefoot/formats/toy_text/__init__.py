"""Gymnasium's toy text as tables, as the library executes it; the library need not be installed."""

from surefoot.formats.toy_text.registered_tables import (
    TOY_TEXT,
    ToyArgument,
    ToyKind,
    build_toy_model,
    observed_terms,
)

__all__ = ["TOY_TEXT", "ToyArgument", "ToyKind", "build_toy_model", "observed_terms"]
