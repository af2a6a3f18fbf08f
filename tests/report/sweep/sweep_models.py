"""Small models to sweep over, a counter and a coin, and questions with every kind of answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

COUNTER = """
initial = "0 <= x <= 1"
[constants]
N = "int"
[variables]
x = "int 0..30"
[[edges]]
action = "up"
guard = "x < N"
updates = { x = "x + 1" }
[[edges]]
action = "reset"
updates = { x = "0" }
[policy.program]
branches = [{ when = "x < N - 2", action = "up" }, { action = "reset" }]
[properties]
safe = "never x = N - 1"
early = "never x = 3"
"""

COIN = """
initial = "0 <= x <= 1"
[constants]
N = "int"
[variables]
x = "int 0..40"
[[edges]]
action = "toss"
guard = "x < N"
[[edges.outcomes]]
probability = 0.75
updates = { x = "x + 1" }
[[edges.outcomes]]
probability = 0.25
updates = { x = "0" }
[policy.program]
branches = [{ action = "toss" }]
[properties]
arrives = "P=? [ F<=12 x = N ]"
"""


QUESTIONS = (
    *("--const", "N=4:23:1", "--property", "never x = {k}", "--value", "k=3,8,15,22"),
    *("--property", "P>=0.2 [ F<=24 x = N ]", "--engine", "explicit", "--timeout", "60", "--quiet"),
)  # 200 problems about both


def write_models(folder: Path) -> tuple[Path, Path]:
    counter, coin = folder / "counter.toml", folder / "coin.toml"
    counter.write_text(COUNTER)
    coin.write_text(COIN)
    return counter, coin


def without_times(data: Any) -> Any:
    """Rows or results without what differs from run to run."""
    if isinstance(data, dict):
        return {k: without_times(v) for k, v in data.items() if k not in ("seconds", "timings")}
    return [without_times(one) for one in data] if isinstance(data, list) else data


def read_answers(folder: Path) -> tuple[Any, dict[str, Any]]:
    """The table of a run directory, and all its results by name."""
    table = json.loads((folder / "table.json").read_text())
    results = {p.name: json.loads(p.read_text()) for p in sorted((folder / "results").glob("*.json"))}
    return without_times(table), without_times(results)
