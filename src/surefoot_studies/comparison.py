"""Load a study and compare what its papers say with what is measured."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from typing import Any, TypeAlias

from surefoot import api
from surefoot_studies import STUDIES


@dataclass(frozen=True, slots=True)
class Expectation:
    """One `[[expect]]` entry: which problem, how it is decided, what should come out, and who says so."""

    problem: str
    engine: str
    verdict: str  # violated, holds, proved, unknown, …
    paper: str  # "whiRL 1.0, section 4.3"
    figure: str  # what the paper prints there, in words or numbers
    note: str = ""
    steps: int | None = None  # length of the violating run, or bound up to which the property holds
    k: int | None = None  # of the proof, if it is by induction
    paper_time: str = ""  # how long the paper's tool took, in its words
    seconds: float | None = None  # how long surefoot took when this was written, on one core
    differs: bool = False  # the paper's claim does not hold here: `verdict` is what was found instead
    simulator: str = ""  # whether the trace is one of the study's simulator: real, real nearby, …
    options: Mapping[str, Any] = field(default_factory=dict)  # of the engine


@dataclass(frozen=True, slots=True)
class Study:
    """`problems` builds each problem; those of `needs_network` take the network as their argument."""

    name: str
    readme: str
    problems: Mapping[str, Callable[[], api.Problem]]
    needs_network: Mapping[str, Callable[..., api.Problem]]
    expectations: tuple[Expectation, ...]


@dataclass(frozen=True, slots=True)
class Simulated:
    """What became of a trace in the simulator of the study."""

    outcome: str  # real, real nearby, not reproduced, impossible
    words: str
    facts: Mapping[str, Any]  # of the run that was found, for JSON


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison."""

    problem: str
    engine: str
    paper: str
    figure: str
    expected: str
    measured: str
    as_recorded: bool  # what was found is what expected.toml says
    differs: bool  # ... which is another answer than the paper's
    note: str
    certified: bool
    seconds: float
    paper_time: str
    recorded_seconds: float | None  # in expected.toml
    asked: str  # the property
    parameters: tuple[str, ...]  # regions, bounds and other figures that the paper may leave open
    overapproximate: bool  # the environment permits more than the real system
    simulated: Simulated | None = None  # of a trace
    told: tuple[str, ...] = ()  # what else a synthesis found

    @property
    def answer(self) -> str:
        return judge_claim(self.as_recorded, self.differs)


REPRODUCED = "reproduced"


def judge_claim(as_recorded: bool, differs: bool) -> str:
    """`reproduced`: a claim of the paper holds here; a known difference is no success and no news."""
    return ("differs (as recorded)" if differs else REPRODUCED) if as_recorded else "not reproduced"


Verify: TypeAlias = "Callable[[api.Problem, str, Mapping[str, Any]], api.Result]"
Simulate: TypeAlias = "Callable[[str, api.Problem, api.Trace], Simulated | None]"  # by the name of the study


def load_study(name: str) -> Study:
    """The study of that name: its problems and its expectations."""
    if name not in STUDIES:
        raise api.InvalidProblem(f"there is no study `{name}`", fix=api.did_you_mean(name, STUDIES))
    module = import_module(f"{STUDIES[name]}.problem")
    folder = files(STUDIES[name])
    problems: dict[str, Callable[[], api.Problem]] = module.PROBLEMS
    expectations = read_expectations(
        folder.joinpath("expected.toml").read_text("utf-8"), f"{name}/expected.toml"
    )
    for expectation in expectations:
        if expectation.problem not in problems:
            raise api.InvalidProblem(
                f"there is no problem `{expectation.problem}`",
                fix=api.did_you_mean(expectation.problem, problems),
                where=f"{name}/expected.toml",
            )
    return Study(
        name=name,
        readme=folder.joinpath("README.md").read_text("utf-8"),
        problems=problems,
        needs_network=getattr(module, "NEEDS_NETWORK", {}),
        expectations=expectations,
    )


def read_expectations(text: str, where: str) -> tuple[Expectation, ...]:
    """The `[[expect]]` entries of an expected.toml."""
    try:
        entries = tomllib.loads(text).get("expect", [])
        return tuple(Expectation(**entry) for entry in entries)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise api.InvalidProblem(f"not a list of expectations: {error}", where=where) from None


def compare_study(study: Study, verify: Verify, simulate: Simulate | None = None) -> Iterator[Row]:
    """Run every expectation through `verify` and set the paper's figure beside the measured one.

    `simulate` looks for traces in the simulator of the study.
    """
    for expectation in study.expectations:
        problem = study.problems[expectation.problem]()
        result = verify(problem, expectation.engine, expectation.options)
        found = None
        trace = result.verdict.trace if isinstance(result.verdict, api.Violated) else None
        if simulate is not None and trace is not None and not trace.times:  # simulators make steps
            found = simulate(study.name, problem, trace)
        yield _comparison_row(expectation, problem, result, found)


def _comparison_row(
    expectation: Expectation, problem: api.Problem, result: api.Result, simulated: Simulated | None
) -> Row:
    kind, steps = kind_and_steps(result.verdict)
    k = _induction_depth(result.verdict)
    kinds = (expectation.verdict, "proved") if expectation.verdict == "holds" else (expectation.verdict,)
    met = kind in kinds and (expectation.steps is None or steps == expectation.steps)
    if expectation.simulator and simulated is not None:
        met = met and simulated.outcome == expectation.simulator
    return Row(
        problem=expectation.problem,
        engine=expectation.engine,
        paper=expectation.paper,
        figure=expectation.figure,
        expected=_describe_kind(expectation.verdict, expectation.steps, expectation.k),
        measured=_describe_kind(kind, steps, k),
        as_recorded=met and (expectation.k is None or k == expectation.k),
        differs=expectation.differs,
        note=expectation.note,
        certified=result.certified,
        seconds=result.seconds,
        paper_time=expectation.paper_time,
        recorded_seconds=expectation.seconds,
        asked=api.show_property(problem.property),
        parameters=problem.environment.notes,
        overapproximate=problem.environment.overapproximate,
        simulated=simulated,
        told=result.notes if expectation.engine == "shield" else (),
    )


def kind_and_steps(verdict: api.Verdict) -> tuple[str, int | None]:
    """The kind of a verdict, and the number of steps it speaks of."""
    kind = type(verdict).__name__.lower()
    match verdict:
        case api.Violated(trace):
            return kind, None if trace.times else len(trace.moves)
        case api.Holds(up_to):
            return kind, up_to
        case api.Proved(api.Certificate("execution", {"claim": {"argument": {"steps": int(steps), **more}}})):
            good = more.get("good")
            return kind, max(steps, good if isinstance(good, int) else 0)
        case api.Unknown(holds_up_to=up_to):
            return kind, up_to
        case _:
            return kind, None


def _induction_depth(verdict: api.Verdict) -> int | None:
    """The k of a proof by induction."""
    match verdict:
        case api.Holds(how=how) if found := re.fullmatch(r"by induction with k = (\d+)", how):
            return int(found[1])
        case api.Proved(
            api.Certificate("execution", {"claim": {"argument": {"kind": "induction", **argument}}})
        ):
            return max(n for n in (argument.get("steps"), argument.get("good")) if isinstance(n, int))
        case _:
            return None


def _describe_kind(kind: str, steps: int | None, k: int | None = None) -> str:
    if k is not None:
        return f"{kind} by induction with k = {k}"
    if steps is None:
        return kind
    count = f"{steps} step" if steps == 1 else f"{steps} steps"
    return f"{kind} after {count}" if kind == "violated" else f"{kind} up to {count}"
