"""What a picture of closed sets shows. It is for looking: numbers are floats, nothing is decided by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from surefoot.certify.barrier.claim import read_claimed_sets
from surefoot.problem.problem import Problem, in_time
from surefoot.query.polynomial import Polynomial
from surefoot.reductions.barrier import (
    ControlSystem,
    barrier_rows,
    read_control_system,
)
from surefoot.reductions.discretise import discretise
from surefoot.report.region.sample_runs import SampleRun, sample_shield_runs
from surefoot.term.printer import show_term
from surefoot.term.term import Term

if TYPE_CHECKING:
    from surefoot.shields.certified_shield import ShieldSynthesis

Range: TypeAlias = tuple[Fraction, Fraction]
Box: TypeAlias = tuple[Range, ...]
MARGIN = 0.08  # around all that is drawn, as a share of it


@dataclass(frozen=True, slots=True)
class ClosedRegion:
    """The states of the domain where no row of the barrier is above 0, and what the controls are there."""

    domain: Box
    rows: tuple[Polynomial, ...]
    rule: str


@dataclass(frozen=True, slots=True)
class Scene:
    title: str
    variables: tuple[str, ...]
    starts: Box
    regions: tuple[ClosedRegion, ...]
    unsafe: tuple[tuple[Polynomial, ...], ...]  # alternatives: all of these are at least 0
    runs: tuple[SampleRun, ...]
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


def make_scene(
    title: str,
    system: ControlSystem,
    sets: Iterable[tuple[Box, Term, Sequence[Term]]],
    runs: Sequence[SampleRun],
    proposed: str,
    *,
    certified: bool,
) -> Scene:
    """`sets`: domain, barrier and the values of the controls of each."""
    regions = []
    for domain, barrier, then in sets:
        values = [f"{name} = {show_term(t)}" for (name, _, _), t in zip(system.controls, then, strict=True)]
        rows = tuple(map(system.state_polynomial, barrier_rows(barrier)))
        regions.append(ClosedRegion(domain, rows, ", ".join(values)))
    unsafe = tuple(map(tuple, system.unsafe_polynomials()))
    return Scene(
        title, system.variables, system.initial, tuple(regions), unsafe, tuple(runs), proposed, certified
    )


def certified_scene(problem: Problem, content: Mapping[str, Any], title: str, seed: int) -> Scene:
    """The sets of a certificate that was accepted, with runs of the problem from its starts."""
    executed = discretise(problem, continuous=True)
    system = read_control_system(executed)
    drawn = executed if system.motion is None else discretise(_by_periods(problem))
    runs, proposed = sample_shield_runs(drawn, system, [system.initial], seed)
    return make_scene(title, system, read_claimed_sets(content), runs, proposed, certified=True)


def _by_periods(problem: Problem) -> Problem:
    """Runs to draw: one step of Runge and Kutta for each control period."""
    by_steps = in_time(problem, "steps", "rk4")
    flow = by_steps.environment.flow
    assert flow is not None
    whole = replace(flow, step=flow.control_period, period=None)
    return replace(by_steps, environment=replace(by_steps.environment, flow=whole))


def synthesis_scene(made: ShieldSynthesis, title: str, seed: int) -> Scene:
    """The sets of a synthesis and runs from the starts that they cover."""
    from surefoot.shields.evaluation.plant import covered_boxes

    branches = made.found.branches
    covered = [tuple(box) for box in covered_boxes([b.set.proof for b in branches], made.system.initial)]
    drawn = discretise(_by_periods(made.problem)) if made.system.motion else made.problem
    runs, proposed = sample_shield_runs(drawn, made.system, covered, seed) if branches else ((), "")
    sets = [(b.set.domain, b.set.barrier, b.then) for b in branches]
    return make_scene(title, made.system, sets, runs, proposed, certified=made.accepted)


def scene_to_json(scene: Scene) -> dict[str, Any]:
    """As JSON data: polynomials as lists of a coefficient and the exponents of the variables that occur."""
    return {
        "title": scene.title,
        "variables": list(scene.variables),
        "views": [scene.view(i) for i in range(len(scene.variables))],
        "middle": scene.middle(),
        "starts": _box_to_json(scene.starts),
        "regions": [
            {
                "domain": _box_to_json(r.domain),
                "rows": [_polynomial_to_json(p) for p in r.rows],
                "rule": r.rule,
            }
            for r in scene.regions
        ],
        "unsafe": [[_polynomial_to_json(p) for p in case] for case in scene.unsafe],
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


def _box_to_json(box: Box) -> list[list[float]]:
    return [[float(low), float(high)] for low, high in box]


def _polynomial_to_json(polynomial: Polynomial) -> list[list[Any]]:
    return [
        [float(c), [[i, e] for i, e in enumerate(monomial) if e]] for monomial, c in polynomial.terms.items()
    ]
