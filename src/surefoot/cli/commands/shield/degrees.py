"""`surefoot study control --table 2`: sets of degree 2, 4 and 8, the paper's times beside ours."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from surefoot.cli.commands.shield.made import make, shown_share
from surefoot.engines.barrier.find import too_large
from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.studies.control.problem import stays_safe
from surefoot.work.budget import Budget
from surefoot.work.child import processor_time


def made_degrees(
    only: tuple[str, ...], cap: float, seed: int, tell: Callable[[str], None], as_json: bool
) -> int:
    """Print the rows as they are done; each has `cap` seconds for its synthesis, whatever the clock."""
    text = files("surefoot.studies.control").joinpath("tables.toml").read_text("utf-8")
    rows = tomllib.loads(text)["degree"]
    known = list(dict.fromkeys(row["problem"] for row in rows))
    for name in only:
        if name not in known:
            what = f"there is no row `{name}` in table 2"
            raise InvalidProblem(what, fix=did_you_mean(name, known), where="--problem")
    done: list[dict[str, Any]] = []
    if not as_json:
        print(f"Seconds are processor time; TO: not within {cap:g} s of the clock (the paper: 2 h).\n")
        print("| benchmark | degree | rules | covered | seconds | paper: seconds | paper: interventions |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
    try:
        for row in rows:
            if not only or row["problem"] in only:
                done.append(_row(row, Budget(cap, seed, tell)))
                if not as_json:
                    print(_line(done[-1]), flush=True)
    except KeyboardInterrupt:
        tell("interrupted: these rows are done")
    if as_json:
        print(json.dumps({"study": "control", "table": 2, "cap": cap, "rows": done}, indent=1))
    return 0


def _row(row: dict[str, Any], budget: Budget) -> dict[str, Any]:
    began = processor_time()
    made = make(stays_safe(row["problem"]), (row["degree"],), budget)
    return {
        **row,
        "rules": len(made.found.branches),
        "covered": shown_share(made.found.covered_share(made.system.initial)),
        "certified": made.accepted,
        "seconds": round(processor_time() - began, 1),
        "timeout": budget.spent() and bool(made.found.uncovered),
        "refused": too_large(len(made.system.variables), row["degree"]) is not None,
        "trouble": made.found.trouble,
    }


def _line(row: dict[str, Any]) -> str:
    if row["refused"]:
        seconds = "too large"
    else:
        seconds = "TO" if row["timeout"] else f"{row['seconds']}" if row["certified"] else "none"
    paper = f"{row['paper_seconds']:g}" if "paper_seconds" in row else "TO"
    interventions = row.get("paper_interventions", "–")
    cells = (row["problem"], row["degree"], row["rules"], row["covered"], seconds, paper, interventions)
    return f"| {' | '.join(map(str, cells))} |"
