"""What a picture of closed sets shows. It is for looking: numbers are floats, nothing is decided by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from surefoot.certify.barrier.claim import sets_of
from surefoot.encode.barrier import System, conjunctions, polynomial_of, rows_of, system_of
from surefoot.problem.problem import Problem
from surefoot.problem.show import show
from surefoot.problem.term import Term
from surefoot.query.polynomial import Polynomial, variable
from surefoot.report.region.runs import Run, runs_of
from surefoot.transform.discretise import discretise, in_time

Range: TypeAlias = tuple[Fraction, Fraction]
Box: TypeAlias = tuple[Range, ...]
MARGIN = 0.08  # around all that is drawn, as a share of it


@dataclass(frozen=True, slots=True)
class Region:
    """The states of the domain where no row of the barrier is above 0, and what the controls are there."""

    domain: Box
    rows: tuple[Polynomial, ...]
    rule: str


@dataclass(frozen=True, slots=True)
class Scene:
    title: str
    variables: tuple[str, ...]
    starts: Box
    regions: tuple[Region, ...]
    unsafe: tuple[tuple[Polynomial, ...], ...]  # alternatives: all of these are at least 0
    runs: tuple[Run, ...]
    proposed: str  # who proposes the controls in runs
    certified: bool

    def view(self, index: int) -> tuple[float, float]:
        """The range of a variable that is drawn: domains and starts, and something around them."""
        boxes = [self.starts, *(r.domain for r in self.regions)]
        low, high = min(float(b[index][0]) for b in boxes), max(float(b[index][1]) for b in boxes)
        room = (high - low) * (MARGIN if self.regions else 0.5) or 1.0
        return low - room, high + room

    def middle(self) -> tuple[float, ...]:
        """Where sets of more than two variables are cut, unless the reader says something else."""
        return tuple(float(low + high) / 2 for low, high in self.starts)


def scene_of(
    title: str,
    system: System,
    sets: Iterable[tuple[Box, Term, Sequence[Term]]],
    runs: Sequence[Run],
    proposed: str,
    *,
    certified: bool,
) -> Scene:
    """`sets`: domain, barrier and the values of the controls of each."""
    count = len(system.variables)
    ring = {name: variable(i, count) for i, name in enumerate(system.variables)}

    def of(term: Term) -> Polynomial:
        return polynomial_of(term, ring, count, system.rounded)

    regions = []
    for domain, barrier, then in sets:
        values = [f"{name} = {show(t)}" for (name, _, _), t in zip(system.controls, then, strict=True)]
        regions.append(Region(domain, tuple(map(of, rows_of(barrier))), ", ".join(values)))
    unsafe = tuple(
        tuple(of(right) - of(left) for left, right in case) for case in conjunctions(system.unsafe)
    )
    return Scene(
        title, system.variables, system.initial, tuple(regions), unsafe, tuple(runs), proposed, certified
    )


def certified_scene(problem: Problem, content: Mapping[str, Any], title: str, seed: int) -> Scene:
    """The sets of a certificate that was accepted, with runs of the problem from its starts."""
    executed, _ = discretise(problem, continuous=True)
    system = system_of(executed)
    drawn = executed if system.motion is None else discretise(in_time(problem, "steps", "rk4"))[0]
    runs, proposed = runs_of(drawn, system, [system.initial], seed)
    return scene_of(title, system, sets_of(content), runs, proposed, certified=True)


def document(scene: Scene) -> dict[str, Any]:
    """As JSON data: polynomials as lists of a coefficient and the exponents of the variables that occur."""
    return {
        "title": scene.title,
        "variables": list(scene.variables),
        "views": [scene.view(i) for i in range(len(scene.variables))],
        "middle": scene.middle(),
        "starts": _box(scene.starts),
        "regions": [
            {"domain": _box(r.domain), "rows": [_polynomial(p) for p in r.rows], "rule": r.rule}
            for r in scene.regions
        ],
        "unsafe": [[_polynomial(p) for p in case] for case in scene.unsafe],
        "runs": [
            {
                "shielded": run.shielded,
                "unsafe": run.unsafe,
                "interventions": run.interventions,
                "states": [[float(f"{v:.6g}") for v in state] for state in run.states],
            }
            for run in scene.runs
        ],
        "proposed": scene.proposed,
        "certified": scene.certified,
    }


def _box(box: Box) -> list[list[float]]:
    return [[float(low), float(high)] for low, high in box]


def _polynomial(polynomial: Polynomial) -> list[list[Any]]:
    return [
        [float(c), [[i, e] for i, e in enumerate(monomial) if e]] for monomial, c in polynomial.terms.items()
    ]
