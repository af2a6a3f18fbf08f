"""What a library wrote, and what it makes of inputs: the other side of the comparison."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

POINTS = 1000


@dataclass(frozen=True)
class Sample:
    """A file, inputs (one row each, flattened), and the library's outputs for them, or its choices."""

    path: Path
    inputs: Any
    outputs: Any
    choices: bool = False  # numbers of actions
    output: str | None = None  # which one of several
