"""The figures of a paper, made again: which problems a panel shows, and what the paper claims to see there.

`figures.py` of a study has `FIGURES` and `MEASURES`; a `[[claim]]` of its expected.toml bounds one measure of
one figure. A measure is a number computed from the tables of the panels, so that a claim can fail.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from math import isnan
from typing import Any, Literal, TypeAlias

from surefoot import api
from surefoot_studies import STUDIES
from surefoot_studies.comparison import judge_claim
from surefoot_studies.region_figures import RegionFigureSpec, RegionResult

Quantity: TypeAlias = Literal["value", "effort"]


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """One heat map. `sampled`: by runs, as in the paper; otherwise computed from all states."""

    name: str
    title: str
    problem: Callable[[], api.Problem]
    quantity: Quantity = "value"
    sampled: bool = True


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """From the recipe of a policy, with marks at its checkpoints."""

    policy: str
    marks: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """`limits`: the values of the first and the last colour; None: as the picture needs."""

    name: str
    title: str
    panels: tuple[PanelSpec, ...]
    columns: int
    limits: tuple[float, float] | None = None
    curve: LearningCurve | None = None


@dataclass(frozen=True, slots=True)
class SampledValue:
    """What is known at one start: bounds, how many runs they took, and how many of these succeeded."""

    low: Fraction
    high: Fraction
    runs: int = 0
    succeeded: int = 0

    @property
    def estimate(self) -> Fraction:
        """The share of runs that succeeded, as in the paper (not those cut off), or what was computed."""
        return Fraction(self.succeeded, self.runs) if self.runs else (self.low + self.high) / 2


SampledValues: TypeAlias = "Sequence[tuple[api.State, SampledValue]]"
Measure: TypeAlias = Callable[[Any], float]  # of what the panels show, by their names


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says of a figure, as bounds of a measure; `found`: the measure when this was written.

    `differs`: it does not hold here, and the bounds are those of what was found instead.
    """

    figure: str
    measure: str
    paper: str
    says: str
    at_least: float | None = None
    at_most: float | None = None
    found: float | None = None
    differs: bool = False
    note: str = ""


class UnmeasuredFigure(Exception):
    """A panel has not all of its values, so that nothing can be measured in its figure."""


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """`missing`: why there is no measure, and so no judgement either."""

    claim: Claim
    measured: float | None
    as_recorded: bool  # within its bounds
    missing: str = ""

    @property
    def answer(self) -> str:
        return "unknown" if self.missing else judge_claim(self.as_recorded, self.claim.differs)


@dataclass(frozen=True, slots=True)
class StudyFigures:
    figures: Mapping[str, FigureSpec | RegionFigureSpec]
    measures: Mapping[str, Measure]
    claims: tuple[Claim, ...]

    def figure(self, name: str) -> FigureSpec | RegionFigureSpec:
        if name not in self.figures:
            raise api.InvalidProblem(f"there is no figure `{name}`", fix=api.did_you_mean(name, self.figures))
        return self.figures[name]


def load_study_figures(study: str) -> StudyFigures:
    """The figures of a study; an error if it has none."""
    if not has_figures(study):
        raise api.InvalidProblem(
            f"the study `{study}` has no figures", fix="`racetrack`, `pendulum`, `control` have"
        )
    module = import_module(f"{STUDIES[study]}.figures")
    text = files(STUDIES[study]).joinpath("expected.toml").read_text("utf-8")
    made: Mapping[str, FigureSpec | RegionFigureSpec] = module.FIGURES
    measures: Mapping[str, Measure] = module.MEASURES
    return StudyFigures(made, measures, read_claims(text, f"{study}/expected.toml", made, measures))


def has_figures(study: str) -> bool:
    return find_spec(f"{STUDIES[study]}.figures") is not None


def read_claims(
    text: str, where: str, known: Mapping[str, object], measures: Mapping[str, object], key: str = "claim"
) -> tuple[Claim, ...]:
    """The `[[claim]]` entries of an expected.toml, or those under another key."""
    try:
        claims = tuple(Claim(**entry) for entry in tomllib.loads(text).get(key, []))
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise api.InvalidProblem(f"not a list of claims: {error}", where=where) from None
    for claim in claims:
        for name, names in ((claim.figure, known), (claim.measure, measures)):
            if name not in names:
                raise api.InvalidProblem(
                    f"there is no `{name}`", fix=api.did_you_mean(name, names), where=where
                )
        if claim.at_least is None and claim.at_most is None:
            raise api.InvalidProblem(f"the claim about `{claim.measure}` has no bound", where=where)
    return claims


def sampled_values(table: api.PerStart) -> SampledValues:
    """The values of a table; a start without one is an error, for no claim can be judged then."""
    found = []
    for state, verdict in table.table:
        match verdict:
            case api.Estimated(low, high, _, counts):
                found.append((state, SampledValue(low, high, counts["runs"], counts["succeeded"])))
            case api.Exact(low, high) if low is not None and high is not None:
                found.append((state, SampledValue(low, high)))
            case _:
                raise UnmeasuredFigure("a start has no value")
    return found


def check_figure_claims(
    figure: FigureSpec | RegionFigureSpec,
    all_of: StudyFigures,
    found: Mapping[str, SampledValues] | Mapping[str, RegionResult],
) -> tuple[CheckedClaim, ...]:
    """Every claim about a figure, measured."""
    wanted = (c for c in all_of.claims if c.figure == figure.name)
    return tuple(check_claim(c, all_of.measures[c.measure](found)) for c in wanted)


def leave_claims_open(figure: FigureSpec, all_of: StudyFigures, why: str) -> tuple[CheckedClaim, ...]:
    """Every claim about a figure that could not be made."""
    return tuple(CheckedClaim(c, None, False, why) for c in all_of.claims if c.figure == figure.name)


def check_claim(claim: Claim, number: float) -> CheckedClaim:
    """A claim and what was measured: is it within its bounds? Not a number: it was not measured."""
    if isnan(number):
        return CheckedClaim(claim, None, False, "nothing was finished that could tell")
    enough = claim.at_least is None or number >= claim.at_least
    return CheckedClaim(claim, number, enough and (claim.at_most is None or number <= claim.at_most))
