"""JSON Schemas of the files that people write and tools read: problem files, wirings, results, sweeps."""

from __future__ import annotations

from importlib.resources import files

SCHEMAS = ("problem", "wiring", "result", "sweep")


def read_schema(name: str) -> str:
    """The text of one of `SCHEMAS`."""
    return (files(__name__) / f"{name}.schema.json").read_text("utf-8")
