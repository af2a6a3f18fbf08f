"""The JANI models that studies of planning tasks ship, written from their descriptions in Python.

`python -m surefoot_studies.write_jani_models DIR` writes `STUDY/assets/NAME.jani` below a folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from surefoot import api
from surefoot_studies.blocksworld import model as blocks
from surefoot_studies.line_transport import model as line
from surefoot_studies.npuzzle import model as puzzle

MODELS: dict[tuple[str, str], Callable[[], api.EnvironmentData]] = {
    ("blocksworld", "blocks-4"): lambda: blocks.blocksworld_environment(4, 3),
    ("line_transport", "one-way"): line.one_way_environment,
    ("line_transport", "two-ways"): line.two_way_environment,
    ("npuzzle", "puzzle-3x3"): lambda: _puzzle_environment(3, 3, 4, 10),
}


def _puzzle_environment(width: int, height: int, marked: int, shuffled: int) -> api.EnvironmentData:
    starts = puzzle.boards_near_solved(width, height, marked, shuffled)
    return puzzle.npuzzle_environment(
        width, height, marked, api.disjunction_of(tuple(map(puzzle.board_condition, starts)))
    )


def jani_model_text(study: str, name: str) -> str:
    """The model without spaces: lists of starts are long."""
    content = json.loads(api.write_jani(MODELS[study, name]()))
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def _write_models(folder: Path) -> None:
    for study, name in MODELS:
        path = folder / study / "assets" / f"{name}.jani"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(jani_model_text(study, name), "utf-8")


if __name__ == "__main__":
    _write_models(Path(sys.argv[1]))
