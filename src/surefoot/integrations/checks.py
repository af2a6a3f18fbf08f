"""Checks while a policy is trained: every so many steps its value at each start, and where it fails.

Nothing here knows a training library: a model is anything that saves itself as a file `load_policy` reads.
A check draws a heat map, lists the starts that miss a threshold, and keeps the checkpoint: the folder can be
given to `surefoot heatmap --checkpoints`, and its `checks.csv` to `--curve`.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from surefoot import api

ProblemOfNetwork: TypeAlias = "Callable[[api.Network], api.Problem]"


class _SavableModel(Protocol):
    """What is trained: it saves itself as a file."""

    def save(self, path: str) -> None: ...


class _Logger(Protocol):
    """Where numbers go."""

    def record(self, key: str, value: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """What is asked of a policy, how often, and where the answers go."""

    problem: ProblemOfNetwork | api.Problem
    """A function from a network to the problem, or a problem whose network is replaced."""
    every: int = 10_000
    """Steps of training from one check to the next."""
    engine: api.Engine = field(default_factory=api.Explicit)
    seconds: float = 60.0
    """For one check."""
    seed: int = 0
    threshold: str | None = None
    """What every start should keep: `<= 0.1`."""
    folder: Path | None = None
    """Where checkpoints, heat maps, critical starts and `checks.csv` are written."""
    x: str | None = None
    y: str | None = None
    down: bool = False
    on_critical: Callable[[Sequence[api.State]], None] | None = None
    """Called with the starts that miss the threshold, the worst first: to train from there."""
    record: Callable[[Mapping[str, float], int], object] | None = None
    """Called with the numbers of each check and its step, as `wandb.log` takes them."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: bounds of the mean value and of the value at the least and the greatest start."""

    step: int
    verdict: api.Verdict
    mean: api.StartValue | None
    least: api.StartValue | None
    greatest: api.StartValue | None
    critical: tuple[api.CriticalStart, ...]
    figure: api.Figure | None


@dataclass(slots=True)
class Checks:
    """The checks of one training."""

    settings: CheckSettings
    threshold: api.Threshold | None = None
    done: list[Check] = field(default_factory=list)
    last: int = 0

    def __post_init__(self) -> None:
        if self.settings.every < 1:
            raise api.InvalidProblem("checks need at least one step between them", fix="every=10_000")
        if self.settings.threshold is not None:
            self.threshold = api.read_threshold(self.settings.threshold)
        if self.settings.folder is not None:
            self.settings.folder.mkdir(parents=True, exist_ok=True)

    def due(self, step: int) -> bool:
        return step - self.last >= self.settings.every

    def check(self, model: _SavableModel, step: int, logger: _Logger) -> Check:
        """Ask about the model as it is now."""
        self.last = step
        with tempfile.TemporaryDirectory() as place:
            network = _save_and_reload(model, self.settings.folder or Path(place), step)
        problem = start_value_problem(self.settings.problem, network)
        budget = api.Budget(self.settings.seconds, self.settings.seed)
        result = api.verify(problem, self.settings.engine, budget, certificates=False)
        found = self._judge_result(problem, result, step)
        self.done.append(found)
        for key, value in check_numbers(found).items():
            logger.record(key, value)
        if self.settings.record is not None:
            self.settings.record(check_numbers(found), step)
        if self.settings.folder is not None:
            self._write(found, api.show_property(problem.property), self.settings.folder)
        if found.critical and self.settings.on_critical is not None:
            self.settings.on_critical([c.start for c in found.critical])
        return found

    def _judge_result(self, problem: api.Problem, result: api.Result, step: int) -> Check:
        x, y, down = self.settings.x, self.settings.y, self.settings.down
        seen = api.summarise_starts(
            problem, result, self.threshold, x=x, y=y, down=down, title=f"step {step}"
        )
        return Check(step, result.verdict, seen.mean, seen.least, seen.greatest, seen.critical, seen.figure)

    def _write(self, found: Check, words: str, folder: Path) -> None:
        if found.figure is not None:
            (folder / f"heatmap-{found.step}.svg").write_text(
                api.render_svg(api.draw_figure(found.figure)), "utf-8"
            )
        if self.threshold is not None:
            data = api.critical_data(found.critical, self.threshold, words)
            (folder / f"critical-{found.step}.json").write_text(json.dumps(data, indent=1) + "\n", "utf-8")
        (folder / "checks.csv").write_text(self.curve(), "utf-8")

    def curve(self) -> str:
        """All checks as a table: the middle of the mean value against the step, then its bounds."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["step", "mean", "low", "high", "critical"])
        for one in self.done:
            if one.mean is not None and one.mean.low is not None and one.mean.high is not None:
                ends = [
                    float(v) for v in (one.mean.displayed_value() or Fraction(0), one.mean.low, one.mean.high)
                ]
                writer.writerow([one.step, *ends, len(one.critical)])
        return stream.getvalue()


def start_value_problem(question: ProblemOfNetwork | api.Problem, network: api.Network) -> api.Problem:
    """The problem with this network; its property asks for the value of each start."""
    if isinstance(question, api.Problem):
        if not isinstance(question.policy, api.NeuralPolicy):
            fix = "give a problem with a network, or a function from a network to a problem"
            raise api.InvalidProblem("the policy of the problem is no network", fix=fix)
        problem = replace(question, policy=replace(question.policy, network=network))
    else:
        problem = question(network)
    if not isinstance(problem.property, api.Probability | api.Expected):
        fix = 'ask for one: "P=? [ F goal ]"'
        raise api.InvalidProblem("checks while training need a probability or an expected value", fix=fix)
    return replace(problem, property=replace(problem.property, over="values", threshold=None))


def _save_and_reload(model: _SavableModel, folder: Path, step: int) -> api.Network:
    """Save the model and read it back as it would be deployed, with the normalisation of its observations."""
    path = folder / f"agent-{step}.zip"
    model.save(str(path))
    statistics = None
    normalizing = getattr(model, "get_vec_normalize_env", lambda: None)()
    if normalizing is not None and getattr(normalizing, "norm_obs", True):
        file = folder / f"agent-{step}.pkl"
        normalizing.save(str(file))
        statistics = api.read_normalization(file)
    return api.load_policy(path, normalization=statistics).network


def check_numbers(found: Check) -> dict[str, float]:
    """Bounds as numbers for a log; what is unknown is recorded as such and nothing else."""
    numbers: dict[str, float] = {"surefoot/unknown": int(isinstance(found.verdict, api.Unknown))}
    for name, value in (("mean", found.mean), ("least", found.least), ("greatest", found.greatest)):
        if value is not None and value.low is not None and value.high is not None:
            numbers[f"surefoot/{name}_low"] = float(value.low)
            numbers[f"surefoot/{name}_high"] = float(value.high)
    return numbers | {"surefoot/critical": len(found.critical)}
