"""What `check` and its like give back: the verdict with its evidence, ready to look at, to save, to check."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.errors import InvalidProblem, MissingBackend, WrongType, did_you_mean
from surefoot.formats.output_file import compact_json, write_file
from surefoot.formats.result_json import annotated_result_to_json, certificate_relative_to, result_relative_to
from surefoot.interface.argument_names import tell_arguments
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import Move, State
from surefoot.reductions.discretise import discretise
from surefoot.report.drawing.png_file import render_png
from surefoot.report.drawing.shapes import Drawing
from surefoot.report.drawing.svg_file import render_svg
from surefoot.report.result_page import render_result_page
from surefoot.report.result_picture import draw_result
from surefoot.report.result_text import render, verdict_headline
from surefoot.term.arguments import describe_value
from surefoot.term.value_types import Array, Real, ValueType
from surefoot.verdict.artifact import Flowpipe
from surefoot.verdict.threshold import ThresholdAnswer, answer_threshold
from surefoot.verdict.verdict import (
    Certificate,
    Estimated,
    Exact,
    Holds,
    PerStart,
    Proved,
    Result,
    Trace,
    Verdict,
    Violated,
)

if TYPE_CHECKING:
    from surefoot.interface.expression import Operand
    from surefoot.interface.heatmap import Heatmap


def output_path(given: object) -> Path:
    """Where something is written."""
    if not isinstance(given, str | PathLike):
        raise WrongType(f"{describe_value(given)} is not the path of a file", fix="give a str or a Path")
    return Path(given)


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run that violates the property, state by state; `loop`: to which state the last one returns."""

    problem: Problem = field(repr=False)
    run: Trace

    @property
    def states(self) -> tuple[State, ...]:
        """Exact values of all variables by name, one mapping for each state.

        In continuous time the first state is exact, and the others are close to those of the run.
        """
        return self.run.states

    @property
    def moves(self) -> tuple[Move, ...]:
        return self.run.moves

    @property
    def loop(self) -> int | None:
        return self.run.loop

    @property
    def times(self) -> tuple[Fraction, ...]:
        """In continuous time those of the states: the control times, then the violation; empty in steps."""
        return self.run.times

    @property
    def actions(self) -> tuple[str | None, ...]:
        """The label of each step; None for a step of the environment alone."""
        return tuple(move.transition.label for move in self.run.moves)

    def __len__(self) -> int:
        return len(self.run.states)

    def __iter__(self) -> Iterator[State]:
        return iter(self.run.states)

    def to_pandas(self, *, exact: bool = False) -> Any:
        """A data frame with a row for each state: variables, an array as one column for each element,
        locations by name, what the environment chose, and the `action` that is taken there.

        Real numbers become floats; with `exact` they stay what they are in `states`.
        """
        pandas = load_pandas()
        columns = trace_columns(self.problem, self.run, exact=exact)
        return pandas.DataFrame(columns, index=pandas.RangeIndex(len(self.run.states), name="state"))


@dataclass(frozen=True, slots=True)
class PassedSets:
    """Boxes that hold all runs from one moment to another, for pictures; `data` has all of them."""

    problem: Problem = field(repr=False)
    result: Result = field(repr=False)
    data: Flowpipe = field(repr=False)

    @property
    def share(self) -> Fraction:
        """How much of the starts is shown to satisfy the property."""
        return self.data.share

    @property
    def until(self) -> Fraction | None:
        """Up to when all starts are shown to keep it, where not all of them are followed to the end."""
        return self.data.until

    def __len__(self) -> int:
        return len(self.data.pieces)

    def columns(self) -> dict[str, tuple[float | int, ...]]:
        """All boxes as columns: `begin`, `end`, `cell`, and of each variable x `x low` and `x high`.

        With matplotlib: `plt.fill_between(c["begin"], c["x low"], c["x high"], step="post")`.
        """
        return self.data.columns()

    def to_pandas(self) -> Any:
        """A data frame with a row for each box and the columns of `columns`."""
        return load_pandas().DataFrame(self.columns())

    def save(self, path: str | PathLike[str], *, axes: Sequence[str] | None = None) -> None:
        """Draw them as .svg or .png; `axes`: two names, such as ("time", "x") or ("x", "y")."""
        target = output_path(path)
        if target.suffix not in (".svg", ".png"):
            fix = "choose a name that ends in .svg or .png"
            raise InvalidProblem(f"`{target}` is no kind of file that pictures are written to", fix=fix)
        _write_drawing(target, draw_result(self.problem, self.result, axes))


def _write_drawing(target: Path, drawing: Drawing) -> None:
    write_file(target, render_svg(drawing) if target.suffix == ".svg" else render_png(drawing))


def load_pandas() -> Any:
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        raise MissingBackend("a data frame needs pandas", fix="pip install pandas") from None
    return pandas


def trace_columns(problem: Problem, trace: Trace, *, exact: bool = False) -> dict[str, list[Any]]:
    """What stands in a table of the run, by column. None: nothing, as the action of the last state."""
    environment = discretise(problem, continuous=True).environment
    columns: dict[str, list[Any]] = {}
    if trace.times:
        columns["time"] = list(trace.times) if exact else [float(t) for t in trace.times]
    for variable in environment.variables:
        values = [state[variable.name] for state in trace.states]
        columns |= _value_columns(variable.name, variable.kind, values, exact)
    for component in environment.components:
        if len(component.locations) > 1:
            name = component.name if component.name not in columns else f"@{component.name}"
            columns[name] = [component.locations[state[f"@{component.name}"]] for state in trace.states]
    steps: list[Move | None] = [*trace.moves, *[None] * (len(trace.states) - len(trace.moves))]
    for name in dict.fromkeys(name for move in trace.moves for name in move.chosen):
        picked = [None if move is None else move.chosen.get(name) for move in steps[: len(trace.states)]]
        columns |= _value_columns(name if name not in columns else f"@{name}", None, picked, exact)
    taken = [None if move is None else move.transition.label for move in steps[: len(trace.states)]]
    return columns | {"action" if "action" not in columns else "@action": taken}


def _value_columns(name: str, kind: ValueType | None, values: list[Any], exact: bool) -> dict[str, list[Any]]:
    if isinstance(kind, Array):
        found: dict[str, list[Any]] = {}
        for i in range(kind.length):
            found |= _value_columns(f"{name}[{i}]", kind.element, [value[i] for value in values], exact)
        return found
    real = isinstance(kind, Real) or any(isinstance(value, Fraction) for value in values)
    if exact or not real:
        return {name: values}
    return {name: [None if value is None else float(value) for value in values]}


@dataclass(frozen=True, slots=True)
class ProofFile:
    """A certificate that the stand-alone checker reads."""

    kind: str
    content: Mapping[str, Any] = field(repr=False)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as JSON; a name that ends in .gz packs it."""
        target = output_path(path)
        write_file(target, compact_json(certificate_relative_to(self.content, target.parent), str(target)))


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A verdict with its evidence. `print` shows the report; a notebook shows it with pictures."""

    problem: Problem = field(repr=False)
    data: Result = field(repr=False)  # everything about the answer, as --json writes it
    draw: Callable[..., Heatmap] | None = field(default=None, repr=False, compare=False)

    @property
    def verdict(self) -> Verdict:
        """`Proved`, `Violated`, `Holds`, `Exact`, `Estimated`, `PerStart`, `Vacuous` or `Unknown`."""
        return self.data.verdict

    @property
    def proved(self) -> bool:
        """Is the property proved, with a certificate that the checker has accepted?"""
        return isinstance(self.data.verdict, Proved) and self.data.certified

    @property
    def violated(self) -> bool:
        """Is there a run that violates the property?"""
        return isinstance(self.data.verdict, Violated)

    @property
    def threshold(self) -> ThresholdAnswer | None:
        """Of a property that compares a value (`P>=0.9 [ F x = 3 ]`): met, missed or undecided."""
        return answer_threshold(self.problem.property, self.data.verdict)

    def __bool__(self) -> bool:
        fix = "ask for `result.proved` or `result.violated`"
        raise WrongType("a result has no truth value in Python: an answer may be unknown", fix=fix)

    @property
    def certified(self) -> bool:
        return self.data.certified

    @property
    def engine(self) -> str:
        return self.data.engine

    @property
    def seconds(self) -> float:
        return self.data.seconds

    @property
    def notes(self) -> tuple[str, ...]:
        return self.data.notes

    @property
    def holds_up_to(self) -> int | None:
        """Within how many steps there is no violation, where that is all that is known."""
        found = self.data.verdict
        return found.up_to if isinstance(found, Holds) else getattr(found, "holds_up_to", None)

    @property
    def trace(self) -> SavedRun | None:
        """The run that violates the property, if one was found."""
        found = self.data.verdict
        return SavedRun(self.problem, found.trace) if isinstance(found, Violated) else None

    @property
    def flowpipe(self) -> PassedSets | None:
        """The sets that all runs stay in, if engine `reach` has followed them."""
        found = getattr(self.data.verdict, "artifact", None)
        return PassedSets(self.problem, self.data, found) if isinstance(found, Flowpipe) else None

    @property
    def witnesses(self) -> tuple[SavedRun, ...]:
        """All runs that show the violation: as many as were asked for and found, the shortest first."""
        runs = self.data.witnesses
        if not runs and isinstance(self.data.verdict, Violated):
            runs = (self.data.verdict.trace,)
        return tuple(SavedRun(self.problem, run) for run in runs)

    @property
    def certificate(self) -> ProofFile | None:
        """The proof for the stand-alone checker, if there is one."""
        found = self.data.verdict
        held: Certificate | None = None
        if isinstance(found, Proved | Violated | Exact | PerStart):
            held = found.certificate
        held = self.data.unchecked if held is None else held
        return None if held is None else ProofFile(held.kind, held.content)

    @property
    def low(self) -> Fraction | None:
        """The lower end of a value; None: no limit."""
        return self._value().low

    @property
    def high(self) -> Fraction | None:
        """The upper end of a value; None: infinite."""
        return self._value().high

    def _value(self) -> Exact | Estimated:
        if isinstance(self.data.verdict, Exact | Estimated):
            return self.data.verdict
        fix = "ask for a probability or an expected reward, and look at `verdict`"
        raise InvalidProblem(f"the answer `{verdict_headline(self.problem, self.data)}` is no value", fix=fix)

    @tell_arguments
    def heatmap(
        self,
        path: str | PathLike[str] | None = None,
        *,
        x: Operand | None = None,
        y: Operand | None = None,
        where: Sequence[Operand] = (),
        **others: Any,
    ) -> Heatmap:
        """The values of all starts as a picture, written to `path` (.svg, .png, .html) if it is given.

        It is drawn over the expressions `x` and `y` of the state, of the starts for which all conditions in
        the list `where` hold.
        """
        if others:
            name = next(iter(others))
            raise WrongType(
                f"a heat map has no option `{name}`", fix=did_you_mean(name, ("path", "x", "y", "where"))
            )
        if self.draw is None:
            fix = "ask probability(…) or heatmap(…) for a probability or an expected reward"
            raise InvalidProblem("a heat map shows values of starts, and this result has none", fix=fix)
        found = self.draw(x=x, y=y, where=where)
        if path is not None:
            found.save(path)
        return found

    def save(self, path: str | PathLike[str]) -> None:
        """Write the complete result: as JSON, or as a page where the name ends in .html.

        A name that ends in .svg or .png gets the pictures of a violation, or of the sets that runs stay in.
        """
        target = output_path(path)
        if target.suffix in (".svg", ".png"):
            _write_drawing(target, draw_result(self.problem, self.data))
            return
        if target.suffix in (".html", ".htm"):
            write_file(target, render_result_page([(self.problem, self.data)]))
            return
        if target.suffix != ".json":
            fix = "choose a name that ends in .json or .html, or for pictures of a violation in .svg or .png"
            raise InvalidProblem(f"`{target}` is no kind of file that results are written to", fix=fix)
        document = annotated_result_to_json(self.problem, self.data)
        write_file(target, json.dumps(result_relative_to(document, target.parent), indent=1) + "\n")

    def __str__(self) -> str:
        return render(self.problem, self.data)

    def __repr__(self) -> str:
        return f"<CheckResult {self.data.problem}: {verdict_headline(self.problem, self.data)}>"

    def _repr_html_(self) -> str:
        return render_result_page([(self.problem, self.data)])
