"""What a picture of a flowpipe shows: boxes, runs, and what the property says of the names on its axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.problem.problem import Problem
from surefoot.problem.seconds import AskedMoments, moments_of_property
from surefoot.report.flowpipe.simulated_runs import simulate_runs
from surefoot.report.violation.condition_parts import (
    ConditionPart,
    Interval,
    kinds_of_names,
    split_condition,
)
from surefoot.report.violation.drawn_run import DrawnRun, names_of_conditions, watched_conditions
from surefoot.report.violation.phase_plot import choose_axes
from surefoot.report.violation.plane_region import Area, PlaneRegion, PlaneView, plane_region
from surefoot.term.parser import parse_term
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Op, Term, Var, free_names
from surefoot.term.value_types import Int
from surefoot.verdict.artifact import Flowpipe, FlowpipePiece
from surefoot.verdict.verdict import Verdict

NEAR = 1.5  # times the extent of the boxes: a limit that is farther away is not in the picture
MARGIN = 0.06
MOST_PAIRS = 200  # pairs of axes for which a page knows what is bad


@dataclass(frozen=True, slots=True)
class PipeScene:
    problem: Problem
    pipe: Flowpipe
    runs: tuple[DrawnRun, ...]

    @property
    def axes(self) -> tuple[str, ...]:
        """What may be along an axis: time first."""
        return (self.pipe.unit, *self.pipe.names)

    @property
    def horizon(self) -> Interval:
        last = max((float(p.end) for p in self.pipe.pieces), default=1.0)
        return 0.0, last + (0.5 if self.pipe.unit == "step" else 0.0)

    def asked(self) -> AskedMoments | None:
        flow = self.problem.environment.flow
        period = Fraction(1) if flow is None else Fraction(flow.control_period)
        return moments_of_property(self.problem.property, period)

    def view(self, name: str) -> Interval:
        """From where to where a name is drawn: the boxes, and the limits near them.

        Sets grow beyond all bounds before they are given up, so boxes of which nothing is known are cut where
        they are far from starts, runs and the others.
        """
        if name == self.pipe.unit:
            low, high = self.horizon
            return (low - 0.5, high) if self.pipe.unit == "step" else (low, high * (1 + MARGIN / 4))
        place = self.pipe.names.index(name)
        known, values = self._split_values(place)
        if place < len(self.pipe.variables):
            known += [float(v) for box in self.pipe.starts for v in (box.low[place], box.high[place])]
        known += [v for run in self.runs for v in self.values_along(run, name) if isfinite(v)]
        if known and max(known) > min(known):
            room = NEAR * (max(known) - min(known))
            values = [min(max(v, min(known) - room), max(known) + room) for v in values]
        values += known
        low, high = (min(values), max(values)) if values else (-1.0, 1.0)
        room = NEAR * (high - low)
        limits = [t for part, _ in self.parts_of(name) for t in part.thresholds]
        near = [limit for limit in limits if low - room <= limit <= high + room]
        low, high = min([low, *near]), max([high, *near])
        margin = (high - low) * MARGIN or max(abs(high), 1.0) * MARGIN
        return low - margin, high + margin

    def is_past_knowledge(self, piece: FlowpipePiece) -> bool:
        """Does a box lie where its starts are not shown to keep the property any more?"""
        start = self.pipe.starts[piece.cell]
        if start.state != "open":
            return False
        if start.until is None:
            return True
        return piece.begin > start.until if self.pipe.unit == "step" else piece.end > start.until

    def _split_values(self, place: int) -> tuple[list[float], list[float]]:
        """The ends of boxes of which something is known, and of the others."""
        ends: tuple[list[float], list[float]] = ([], [])
        for piece in self.pipe.pieces:
            ends[self.is_past_knowledge(piece)].extend((piece.low[place], piece.high[place]))
        return ends

    def parts_of(self, name: str) -> tuple[tuple[ConditionPart, str], ...]:
        """What the conditions say of a variable or a sum, each with its kind."""
        return tuple((part, kind) for part, kind in self.parts() if show_term(part.quantity.term) == name)

    def label_of(self, name: str) -> str:
        """As it is told: sums are short."""
        if name in self.pipe.quantities:
            return next((part.quantity.label for part, _ in self.parts_of(name)), name)
        return name

    def parts(self) -> Iterator[tuple[ConditionPart, str]]:
        conditions = watched_conditions(self.problem)
        kinds = kinds_of_names(self.problem, sorted(names_of_conditions(conditions)))
        for one in conditions:
            for part in split_condition(one.condition, kinds):
                yield part, one.kind

    def telling_names(self) -> tuple[str, ...]:
        """Names that conditions bound; else the variables that they mention, or all."""
        said = dict.fromkeys(show_term(part.quantity.term) for part, _ in self.parts())
        found = tuple(name for name in said if name in self.pipe.names)
        mentioned = names_of_conditions(watched_conditions(self.problem))
        return found or tuple(v for v in self.pipe.variables if v in mentioned) or self.pipe.variables

    def telling_plane(self) -> tuple[str, str] | None:
        """Two variables that the property speaks of, or that move with those."""
        chosen = choose_axes(self.problem, self.runs) if self.runs else None
        if chosen is not None and set(chosen) <= set(self.pipe.variables):
            return chosen
        moving = [v for v in self.pipe.variables if self._moves(v)]
        return (moving[0], moving[1]) if len(moving) > 1 else None

    def _moves(self, name: str) -> bool:
        place = self.pipe.names.index(name)
        return len({(p.low[place], p.high[place]) for p in self.pipe.pieces}) > 1

    def choose_axes(self, wanted: Sequence[str]) -> tuple[str, str]:
        """Two names as a user gives them."""
        if len(wanted) != 2 or wanted[0] == wanted[1]:
            raise InvalidProblem("a picture has two axes", fix="give two names, such as `time,x` or `x,y`")
        for name in wanted:
            if name not in self.axes:
                raise InvalidProblem(f"there is no `{name}` to draw", fix=did_you_mean(name, self.axes))
        if wanted[1] == self.pipe.unit:
            raise InvalidProblem(f"`{wanted[1]}` is drawn from left to right", fix="name it first")
        return wanted[0], wanted[1]

    def values_along(self, run: DrawnRun, name: str) -> tuple[float, ...]:
        if name == self.pipe.unit:
            return run.times
        term = Var(name) if name in self.pipe.variables else parse_term(name)
        return run.values_of(term, self.problem.environment.arithmetic)


def pipe_scene(problem: Problem, verdict: Verdict, seed: int) -> PipeScene | None:
    """The scene of a verdict that has a flowpipe with boxes."""
    pipe = getattr(verdict, "artifact", None)
    if not isinstance(pipe, Flowpipe) or not pipe.pieces:
        return None
    last = max(p.end for p in pipe.pieces)
    return PipeScene(problem, pipe, simulate_runs(problem, last, seed))


@dataclass(frozen=True, slots=True)
class DrawnCondition:
    """Where a condition holds in a plane; `part`: other names have a say in it that the plane cannot show.

    `when`: the times at which alone it counts, where the plane cannot show them.
    """

    kind: str
    region: PlaneRegion
    part: bool
    when: str = ""


def find_conditions(scene: PipeScene, across: str, upwards: str) -> tuple[DrawnCondition, ...]:
    """What is bad and what is the goal, over time or in the plane of two names."""
    if across == scene.pipe.unit:
        return tuple(_bands_over_time(scene, upwards))
    if not {across, upwards} <= set(scene.pipe.variables):
        return ()
    names = (across, upwards)
    conditions = watched_conditions(scene.problem)
    kinds = kinds_of_names(scene.problem, sorted({*names_of_conditions(conditions), *names}))
    whole = (isinstance(kinds[across], Int), isinstance(kinds[upwards], Int))
    view = PlaneView(names, scene.view(across), scene.view(upwards), whole)
    found = []
    for one in conditions:
        kept, cut = _restrict_condition(one.condition, frozenset(names))
        if kept is not None and free_names(kept):
            region = plane_region(kept, view, {}, kinds, scene.problem.environment.arithmetic)
            if region.areas:
                found.append(DrawnCondition(one.kind, region, cut, _when_it_counts(scene, one.kind)))
    return tuple(found)


def _when_it_counts(scene: PipeScene, kind: str) -> str:
    """`from time 15`, where a condition does not count from the start on."""
    asked, unit = scene.asked(), scene.pipe.unit
    if asked is None or not asked.since or (asked.goal is not None and kind == "goal"):
        return ""
    return f"{'at' if asked.since == asked.until else 'from'} {unit} {float(asked.since):.6g}"


def _bands_over_time(scene: PipeScene, name: str) -> Iterator[DrawnCondition]:
    asked, (first, last) = scene.asked(), scene.view(scene.pipe.unit)
    low, high = scene.view(name)
    for part, kind in scene.parts_of(name):
        begin, end = first, last
        if asked is not None and not (asked.goal is not None and kind == "goal"):
            begin = max(begin, float(asked.since))
            end = end if asked.until is None else min(end, float(asked.until))
        if end <= begin:  # one moment
            begin, end = begin - 0.004 * (last - first), begin + 0.004 * (last - first)
        areas: list[Area] = []
        for bottom, top in part.intervals:
            down, up = max(bottom, low), min(top, high)
            if down < up:
                areas.append(((begin, down), (end, down), (end, up), (begin, up)))
        if areas:
            yield DrawnCondition(kind, PlaneRegion(tuple(areas), True), bool(part.also))


def _restrict_condition(term: Term, names: frozenset[str]) -> tuple[Term | None, bool]:
    """What a condition says of some names alone, and whether others have a say too."""
    if free_names(term) <= names:
        return term, False
    if not (isinstance(term, Apply) and term.op in (Op.AND, Op.OR)):
        return None, True
    kept = [found for part in term.args if (found := _restrict_condition(part, names)[0]) is not None]
    if not kept:
        return None, True
    return (kept[0] if len(kept) == 1 else Apply(term.op, tuple(kept))), True


def scene_data(scene: PipeScene) -> Mapping[str, object]:
    """Everything that a page needs, as JSON data: numbers with few digits."""
    pipe = scene.pipe
    pairs = [(a, b) for a in scene.axes for b in pipe.names if a != b]
    conditions = {}
    for across, upwards in pairs[:MOST_PAIRS]:
        drawn = find_conditions(scene, across, upwards)
        if drawn:
            key = f"{scene.axes.index(across)},{scene.axes.index(upwards)}"
            conditions[key] = [
                {
                    "kind": one.kind,
                    "part": one.part,
                    "when": one.when,
                    "exact": one.region.exact,
                    "areas": [[[_short(x), _short(y)] for x, y in area] for area in one.region.areas],
                }
                for one in drawn
            ]
    return {
        "unit": pipe.unit,
        "axes": [scene.label_of(name) for name in scene.axes],
        "variables": len(pipe.variables),
        "views": [[_short(v) for v in scene.view(name)] for name in scene.axes],
        "pieces": [
            [
                _short(float(p.begin)),
                _short(float(p.end)),
                p.cell,
                list(map(_short, p.low)),
                list(map(_short, p.high)),
            ]
            for p in pipe.pieces
        ],
        "starts": [
            {
                "box": [[_short(float(a)), _short(float(b))] for a, b in zip(box.low, box.high, strict=True)],
                "state": box.state,
                "until": None if box.until is None else float(box.until),
                "why": box.why,
            }
            for box in pipe.starts
        ],
        "runs": [
            [[_short(v) for v in scene.values_along(run, name)] for name in scene.axes] for run in scene.runs
        ],
        "conditions": conditions,
    }


def _short(value: float) -> float:
    return float(f"{value:.6g}")
