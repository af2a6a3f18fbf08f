"""Claims about all runs of random systems; the liar says that the property is kept although it is not."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.forgery.finite_systems import Json, random_system, violates, write_problem, write_states


def forge_graphs(draw: Random) -> Iterator[tuple[str, Json, bool]]:
    system = random_system(draw, leaves=draw.random() < 0.2)
    for _ in range(8):
        holds = [draw.random() < 0.5 for _ in range(system.size)]
        kind = draw.choice(("never", "never", "within", "eventually", "recurs"))
        steps = draw.randint(0, 4) if kind == "within" or (kind == "never" and draw.random() < 0.5) else None
        after = draw.randint(0, steps) if kind == "within" and steps and draw.random() < 0.5 else 0
        asked = {"kind": kind, "condition": write_states(holds), "steps": steps, "after": after}
        network = system.choose.startswith("argmax")
        claim = {"kind": "graph", "problem": write_problem(system, asked)}
        certificate: Json = {
            "surefoot-certificate": 1,
            "claim": claim,
            "arithmetic": "float32" if network else "exact",
        }
        true = not violates(system, kind, holds, steps, after)
        where = "" if kind != "never" or steps is None else " for so many steps"
        yield f"{kind}{where}, policy {system.choose}", certificate, true
