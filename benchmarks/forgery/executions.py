"""Claims about all runs with arguments and proofs, and about runs that go on for ever.

The liar chooses the argument, or the regions, and has every obligation that the checker derives proved by the
real prover; where there is no proof an empty one takes its place. A checker that derives too little is lied
to in this way, whatever its own tests think of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.forgery.finite_systems import (
    Json,
    System,
    numbered_edges,
    random_system,
    stays_quiet,
    violates,
    write_execution,
    write_states,
)
from benchmarks.old_format import derive_flat_obligations, read_flat_problem
from surefoot.certify.runs import prove
from surefoot.errors import SurefootError
from surefoot.problem.network import Affine, Network
from surefoot.query.query import Answer, Query
from surefoot.solvers.native.solver import decide_native_query
from surefoot.work.budget import Budget
from surefoot_checker.claims.runs import recurrence as about_one_run
from surefoot_checker.claims.runs.obligations import RunObligation
from surefoot_checker.kernel.strict_json import BadCertificate, Refused

CHOOSE = ("rules", "argmax", "argmax-applicable", "sample", "sample")


def forge_executions(draw: Random) -> Iterator[tuple[str, Json, bool]]:
    system = random_system(draw, CHOOSE, leaves=draw.random() < 0.3)
    for _ in range(6):
        holds = [draw.random() < 0.5 for _ in range(system.size)]
        kind = draw.choice(("never", "within", "eventually", "recurs"))
        bounded = kind == "within" or (kind == "never" and draw.random() < 0.5)
        asked: Json = {"kind": kind, "condition": write_states(holds)}
        steps, after = (draw.randint(0, 3) if bounded else None), 0
        if steps is not None:
            asked["steps"] = steps
        if kind == "within":
            after = asked["after"] = draw.randint(0, steps or 0) if draw.random() < 0.5 else 0
        argument = _argument(kind, steps, draw)
        claim = {"kind": "execution", "problem": write_execution(system, asked), "argument": argument}

        def derive(claim: Json = claim) -> Sequence[RunObligation]:
            return derive_flat_obligations(claim["problem"], claim["argument"])

        true = not violates(system, kind, holds, steps, after)
        how, certificate = prove_claim(system, claim, derive)
        yield f"{kind}, {argument['kind']}, policy {system.choose}, {how}", certificate, true


def _argument(kind: str, steps: int | None, draw: Random) -> Json:
    if steps is not None:
        return {"kind": "unrolled", "steps": steps}
    if kind == "never":
        ways = ("unrolled", "induction", "closed")
    else:
        ways = ("unrolled", "induction", "induction") if kind == "recurs" else ("unrolled",)
    way = draw.choice(ways)
    if way == "closed":
        return {"kind": way, "steps": 1}
    more = {"good": draw.randint(1, 4)} if way == "induction" and kind == "recurs" else {}
    return {"kind": way, "steps": draw.randint(1, 4), **more}


def prove_claim(
    system: System, claim: Json, derive: Callable[[], Sequence[RunObligation]]
) -> tuple[str, Json]:
    """A certificate with a proof of every obligation that has one, and whether all of them have."""
    shown: list[Json] = []
    complete = True
    try:
        wanted: Sequence[RunObligation] = derive()
    except (Refused, BadCertificate):
        wanted, complete = (), False
    for obligation in wanted:
        cases: list[dict[str, Any]] = []
        try:
            with mock.patch.object(prove, "Native", _Here):
                cases = prove.prove_obligation(obligation, _network(system), Budget(5), "float32")
        except SurefootError:
            complete = False
        shown.append({"obligation": obligation.name, "steps": obligation.steps, "cases": cases})
    certificate = {"surefoot-certificate": 1, "claim": claim, "arithmetic": "float32", "obligations": shown}
    return ("all is proved" if complete else "with a gap"), certificate


@dataclass(frozen=True, slots=True)
class _Here:
    """The native solver in this process: a child for each of thousands of small questions takes too long."""

    seed: int = 0

    @contextmanager
    def session(self, base: Query, *, seconds: float, workers: int = 1) -> Iterator[Callable[[], Answer]]:
        yield lambda: decide_native_query(base, self.seed, seconds=seconds)


def _network(system: System) -> Network | None:
    if system.choose == "rules":
        return None
    slopes, offsets = (np.array([o[i] for o in system.outputs], dtype=np.float32) for i in (0, 1))
    return Network(1, (Affine(0, slopes[:, None], offsets),), "forged")


def forge_recurrences(draw: Random) -> Iterator[tuple[str, Json, bool]]:
    """Lassos of the graph, whether or not the policy goes along them and whether or not they are good."""
    system = random_system(draw, CHOOSE, leaves=draw.random() < 0.2)
    edges = numbered_edges(system)
    if not edges:
        return
    for _ in range(6):
        holds = [draw.random() < 0.4 for _ in range(system.size)]
        kind = draw.choice(("eventually", "recurs"))
        walk = _walk(system, draw)
        if walk is None:
            continue
        start, steps, loop = walk
        asked = {"kind": kind, "condition": write_states(holds)}
        written = [{"edge": e, "outcome": o, "chosen": []} for _, e, o in steps]
        regions = [
            {"set": ["=", ["name", "x"], s], "edge": e, "outcome": o, "chosen": []}
            for s, e, o in steps[loop:]
        ]
        claim = {
            "kind": "recurrence",
            "problem": write_execution(system, asked),
            "start": {"x": start},
            "moves": written[:loop],
            "regions": regions,
        }

        def derive(claim: Json = claim) -> Sequence[RunObligation]:
            problem = read_flat_problem(claim["problem"])
            return about_one_run.region_obligations(problem, about_one_run.read_recurrence_claim(claim))

        true = _goes_on_quietly(system, kind, holds)
        how, certificate = prove_claim(system, claim, derive)
        yield f"{kind}, policy {system.choose}, {how}", certificate, true


def _walk(system: System, draw: Random) -> tuple[int, list[tuple[int, int, int]], int] | None:
    """A start, steps (state, edge, outcome) until a state comes again, and where that was."""
    edges = numbered_edges(system)
    start = state = draw.choice(system.starts)
    steps: list[tuple[int, int, int]] = []
    while state not in [s for s, _, _ in steps]:
        mine = [e for e, (s, _, _) in enumerate(edges) if s == state]
        if not mine:
            return None
        edge = draw.choice(mine)
        choice = edges[edge][2]
        outcome = draw.randrange(len(choice))
        steps.append((state, edge, outcome))
        state = choice[outcome][1]
        if state >= system.size:
            return None
    return start, steps, [s for s, _, _ in steps].index(state)


def _goes_on_quietly(system: System, kind: str, holds: Sequence[bool]) -> bool:
    """Does some run go on for ever, and is quiet from some time on (`eventually`: always)?"""
    following = [
        {t for c in system.steps(s, any_tie=False)[0] for _, t, _ in c if t < system.size}
        for s in range(system.size)
    ]
    quiet = {s for s in range(system.size) if not holds[s]}
    reached = set(system.starts) if kind == "recurs" else set(system.starts) & quiet
    while True:
        more = {t for s in reached for t in following[s] if kind == "recurs" or t in quiet} | reached
        if more == reached:
            return stays_quiet(reached & quiet, following)
        reached = more
