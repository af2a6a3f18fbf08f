"""The papers' case studies as data: each folder has `problem.py`, `expected.toml` and `README.md`."""

from collections.abc import Callable
from typing import TypeAlias

Tell: TypeAlias = Callable[[str], None]  # how progress is told
STUDIES: dict[str, str] = {
    "aurora": "surefoot_studies.aurora",
    "blocksworld": "surefoot_studies.blocksworld",
    "closed-loop": "surefoot_studies.closed_loop",
    "control": "surefoot_studies.control",
    "deeprm": "surefoot_studies.deeprm",
    "line-transport": "surefoot_studies.line_transport",
    "npuzzle": "surefoot_studies.npuzzle",
    "pendulum": "surefoot_studies.pendulum",
    "pensieve": "surefoot_studies.pensieve",
    "racetrack": "surefoot_studies.racetrack",
    "toy": "surefoot_studies.toy",
}
