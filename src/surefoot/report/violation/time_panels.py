"""Everything that a property bounds, over time: thresholds, what is bad or good, and the moment."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.problem.problem import Problem
from surefoot.report.drawing.shapes import Drawing
from surefoot.report.run_chart import Band, ChartFacts, Series, draw_line_chart
from surefoot.report.violation.condition_parts import (
    ConditionPart,
    decisive_parts,
    kinds_of_names,
    split_condition,
)
from surefoot.report.violation.drawn_run import (
    DrawnRun,
    moment_of,
    names_of_conditions,
    time_unit,
    watched_conditions,
)
from surefoot.term.term import Term

MOST_PANELS, FEW_PANELS = 8, 4
LONGEST_WORDS = 46  # of an entry of a legend


def bounded_parts(problem: Problem) -> tuple[tuple[ConditionPart, str], ...]:
    """The parts of all watched conditions, each with its kind."""
    conditions = watched_conditions(problem)
    kinds = kinds_of_names(problem, sorted(names_of_conditions(conditions)))
    return tuple((part, one.kind) for one in conditions for part in split_condition(one.condition, kinds))


def draw_time_panels(problem: Problem, runs: Sequence[DrawnRun]) -> tuple[list[Drawing], tuple[str, ...]]:
    """A panel for each bounded quantity, those that were decisive first; and the names drawn so."""
    parts = bounded_parts(problem)
    by_term: dict[Term, list[tuple[ConditionPart, str]]] = {}
    for part, kind in parts:
        by_term.setdefault(part.quantity.term, []).append((part, kind))
    arithmetic = problem.environment.arithmetic
    deciding = decisive_quantities(problem, runs[0])
    ordered = sorted(by_term.items(), key=lambda item: item[0] not in deciding)
    if deciding and len(ordered) > FEW_PANELS:  # the others say nothing about this run
        ordered = ordered[: max(len(deciding), FEW_PANELS)]
    drawn: list[Drawing] = []
    names: list[str] = []
    for term, known in ordered[:MOST_PANELS]:
        quantity = known[0][0].quantity
        series = [
            Series(
                run.label or quantity.label,
                tuple(zip(run.times, run.values_of(term, arithmetic), strict=True)),
                run.classes,
                crossed=moment_of(problem, run) is not None,
            )
            for run in runs
        ]
        facts = _facts_of_panel(problem, known, runs)
        loop = runs[0].times[runs[0].loop] if len(runs) == 1 and runs[0].loop is not None else None
        panel = draw_line_chart(quantity.label, series, loop=loop, facts=facts)
        if panel is not None:
            drawn.append(panel)
            names += [quantity.name] if quantity.name else []
    return drawn, tuple(names)


def decisive_quantities(problem: Problem, run: DrawnRun) -> frozenset[Term]:
    """What the last state of a run is bad by."""
    conditions = watched_conditions(problem)
    kinds = kinds_of_names(problem, sorted(names_of_conditions(conditions)))
    return frozenset(
        part.quantity.term
        for one in conditions
        if one.kind == "bad"
        for part in decisive_parts(one.condition, run.names[-1], kinds, problem.environment.arithmetic)
    )


def _facts_of_panel(
    problem: Problem, known: Sequence[tuple[ConditionPart, str]], runs: Sequence[DrawnRun]
) -> ChartFacts:
    quantity = known[0][0].quantity
    bands = tuple(Band(low, high, kind) for part, kind in known for low, high in part.intervals)
    limits = tuple((limit, kind) for part, kind in known for limit in part.thresholds)
    words = []
    for part, kind in known:
        text = f"{kind}: {part.words}"
        if part.also:
            text += f", if {part.also}"
        if len(text) > LONGEST_WORDS:
            text = f"{kind}, if the rest holds too" if part.also else kind
        words.append((kind, text))
    moment = moment_of(problem, runs[0]) if len(runs) == 1 else None
    return ChartFacts(
        time_unit(problem.environment),
        bands,
        limits,
        tuple(words),
        moment,
        truth=quantity.truth,
        whole=quantity.whole,
    )
