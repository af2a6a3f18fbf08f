"""Runs of predicate abstraction in a file that grows, a JSON object in each line: none is made twice.

A line belongs to the networks, predicates and starts of which it has the digest; others are left alone. A run
that was stopped counts for caps up to its own, and for the same with more starts. A line that was torn when a
process died is not counted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from surefoot import api
from surefoot_studies.assets import shipped_network
from surefoot_studies.racetrack import abstraction_instances as instances
from surefoot_studies.racetrack import abstraction_runs
from surefoot_studies.racetrack.end_cell import WIDTHS

NAME = "racetrack-abstractions.jsonl"


@cache
def _instance_digest() -> str:
    """Of everything that instances are made of."""
    total = sha256(
        repr((instances.FASTEST, instances.predicate_order(), instances.abstraction_starts())).encode()
    )
    for width in WIDTHS:
        for node in shipped_network("racetrack", f"end-cell-{width}").nodes:
            if isinstance(node, api.Affine):
                total.update(node.weights.tobytes() + node.bias.tobytes())
    return total.hexdigest()


@dataclass(slots=True)
class StoredRuns:
    """`path` None: nothing is written, runs are remembered until the end."""

    path: Path | None
    known: dict[tuple[instances.AbstractionInstance, str], tuple[abstraction_runs.AbstractionRun, float]] = (
        field(default_factory=dict)
    )  # with their caps

    def of(
        self, instance: instances.AbstractionInstance, configuration: str, cap: float
    ) -> abstraction_runs.AbstractionRun | None:
        """This run, if it finished or had as long as this; or what one from fewer starts tells of it."""
        one, had = self.known.get((instance, configuration), (None, 0.0))
        if one is not None and (one.finished or had >= cap):
            return one
        if configuration == abstraction_runs.DEFAULT:
            return None
        fewer = (replace(instance, starts=n) for n in instances.STEPS if n < instance.starts)
        known = (self.known.get((few, configuration), (None, 0.0)) for few in fewer)
        stopped = [one for one, had in known if one is not None and not one.finished and had >= cap]
        return abstraction_runs.run_known_stopped(instance, stopped[0]) if stopped else None

    def add(self, one: abstraction_runs.AbstractionRun, cap: float) -> None:
        self.known[one.instance, one.configuration] = (one, cap)
        if self.path is not None:
            line = json.dumps({"study": _instance_digest(), "cap": cap, **one.facts()})
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


def read_stored_runs(folder: Path | None) -> StoredRuns:
    """What is in this folder already."""
    if folder is None:
        return StoredRuns(None)
    folder.mkdir(parents=True, exist_ok=True)
    found = StoredRuns(folder / NAME)
    assert found.path is not None
    if not found.path.exists():
        return found
    text = found.path.read_text("utf-8")
    if text and not text.endswith("\n"):  # so that the next line is one of its own
        with found.path.open("a", encoding="utf-8") as file:
            file.write("\n")
    for number, line in enumerate(text.split("\n"), 1):
        facts = _parse_run_line(line)
        if facts is None or facts.pop("study", None) != _instance_digest():
            continue
        try:
            cap = float(facts.pop("cap"))
            one = abstraction_runs.run_from_facts(facts)
        except (KeyError, TypeError, ValueError):
            where = f"{found.path}:{number}"
            raise api.InvalidProblem(
                "this line is no run", fix="remove it, or use another folder", where=where
            ) from None
        found.known[one.instance, one.configuration] = (one, cap)
    return found


def _parse_run_line(line: str) -> dict[str, Any] | None:
    try:
        facts = json.loads(line)
    except json.JSONDecodeError:
        return None
    return facts if isinstance(facts, dict) else None
