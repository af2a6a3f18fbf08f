"""Is it trained enough? One question about every checkpoint of a training run.

Checkpoints are networks that were saved while a policy was trained; the recipe beside them has their returns.
The question has a parameter that makes its region larger, so that what holds of a large region holds of every
smaller one. Of each checkpoint it is asked at the study's usual value, and by halving up to which value it
holds: between the last value with a proof and the first with a violation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

from surefoot import api
from surefoot_studies import STUDIES
from surefoot_studies.assets import recipe_curve, shipped_network
from surefoot_studies.comparison import Verify, kind_and_steps

HALVINGS = 8
BAR = 40  # characters of the longest bar


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """The checkpoints of a policy, and what is asked about them."""

    study: str
    policy: str
    decisions: tuple[int, ...]  # that had been taken when a checkpoint was saved; the last one: in the end
    question: Callable[[api.Network, Fraction], api.Problem]
    words: str  # the question, for a reader
    parameter: str  # the name of what makes the region larger
    usual: Fraction
    largest: Fraction  # up to which the parameter is searched
    engine: str = "bmc"
    options: Mapping[str, Any] | None = None

    def network(self, decisions: int) -> api.Network:
        last = decisions == self.decisions[-1]
        return shipped_network(self.study, self.policy if last else f"{self.policy}-after-{decisions}")


@dataclass(frozen=True, slots=True)
class CheckpointVerdict:
    """One checkpoint: its return, the verdict at the usual value, and between which values it begins to fail.

    `holds_up_to` is None if nothing was proved, `fails_from` is None if nothing was refuted.
    """

    decisions: int
    mean_return: float
    verdict: str
    holds_up_to: Fraction | None
    fails_from: Fraction | None


def training_run(name: str) -> TrainingRun:
    """The training run of a study; an error if it has none."""
    run = getattr(import_module(f"{STUDIES[name]}.problem"), "TRAINING", None)
    if not isinstance(run, TrainingRun):
        raise api.InvalidProblem(f"the study `{name}` ships no checkpoints", fix="`aurora` does")
    return run


def verify_checkpoints(run: TrainingRun, verify: Verify) -> Iterator[CheckpointVerdict]:
    """Every checkpoint in the order of training."""
    returns = recipe_curve(run.study, run.policy, "decisions")
    for decisions in run.decisions:
        yield _verify_checkpoint(run, decisions, returns[decisions], verify)


def _verify_checkpoint(
    run: TrainingRun, decisions: int, mean_return: float, verify: Verify
) -> CheckpointVerdict:
    network = run.network(decisions)

    def ask(value: Fraction) -> tuple[str, bool | None]:
        verdict = verify(run.question(network, value), run.engine, run.options or {}).verdict
        kind, _ = kind_and_steps(verdict)
        match verdict:
            case api.Proved() | api.Holds(as_asked=True):
                return kind, True
            case api.Violated():
                return kind, False
            case _:
                return kind, None

    word, _ = ask(run.usual)
    proved: Fraction | None = None
    refuted: Fraction | None = None
    value = run.largest
    for _ in range(HALVINGS):
        match ask(value)[1]:
            case True:
                proved = value
            case False:
                refuted = value
            case None:
                break
        if refuted is None:
            break
        value = (refuted + (proved or 0)) / 2
    return CheckpointVerdict(decisions, mean_return, word, proved, refuted)


def render_checkpoints(run: TrainingRun, points: tuple[CheckpointVerdict, ...]) -> str:
    """The checkpoints as text, with a bar for the value up to which the question is proved."""
    longest = max((p.holds_up_to or Fraction(0) for p in points), default=Fraction(0)) or Fraction(1)
    lines = [
        f"{run.policy}: {run.words}",
        f"verdict at {run.parameter} = {run.usual}; bar: proved up to this {run.parameter}",
        f"{'decisions':>10} {'return':>8}  {'verdict':9} {'proved up to':>12}",
    ]
    for p in points:
        known = f"{float(p.holds_up_to):.5f}" if p.holds_up_to is not None else "-"
        bar = "#" * round(BAR * float((p.holds_up_to or 0) / longest))
        lines.append(f"{p.decisions:>10} {p.mean_return:>8.1f}  {p.verdict:9} {known:>12}  {bar}")
    return "\n".join(lines)
