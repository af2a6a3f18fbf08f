"""The plants of the study's problem files as functions of numpy columns, for training and simulation.

Nothing here is part of an answer: a run is integrated numerically (Runge and Kutta's fourth order).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot import api

Columns: TypeAlias = NDArray[np.float64]  # one row for each run
Act: TypeAlias = Callable[[Columns], Columns]  # observations to controls

_OPERATIONS: dict[api.Op, Callable[..., Any]] = {
    api.Op.ADD: lambda *parts: reduce(np.add, parts),
    api.Op.SUB: np.subtract,
    api.Op.NEG: np.negative,
    api.Op.MUL: lambda *parts: reduce(np.multiply, parts),
    api.Op.DIV: np.divide,
    api.Op.POW: np.power,
    api.Op.SQRT: np.sqrt,
    api.Op.SIN: np.sin,
    api.Op.COS: np.cos,
    api.Op.TAN: np.tan,
    api.Op.LE: np.less_equal,
    api.Op.LT: np.less,
    api.Op.EQ: np.equal,
    api.Op.AND: lambda *parts: reduce(np.logical_and, parts),
    api.Op.OR: lambda *parts: reduce(np.logical_or, parts),
    api.Op.NOT: np.logical_not,
}


@dataclass(frozen=True, slots=True)
class StudyPlant:
    """What a problem file says about its plant: derivatives, observations, starts, ends of controls."""

    variables: tuple[str, ...]
    controls: tuple[str, ...]
    reach: tuple[tuple[float, float], ...]  # of the controls
    disturbances: tuple[tuple[str, float, float], ...]
    derivatives: tuple[api.Term, ...]
    observed: tuple[api.Term, ...]
    starts: tuple[tuple[float, float], ...]
    period: float

    def rates(self, states: Columns, controls: Columns, disturbances: Columns) -> Columns:
        """d/dt of every variable."""
        names = dict(zip(self.variables, states.T, strict=True))
        names |= dict(zip(self.controls, controls.T, strict=True))
        names |= {n: c for (n, _, _), c in zip(self.disturbances, disturbances.T, strict=True)}
        found = [np.broadcast_to(evaluate_columns(d, names), len(states)) for d in self.derivatives]
        return np.stack(found, axis=1)

    def observations(self, states: Columns) -> Columns:
        names = dict(zip(self.variables, states.T, strict=True))
        return np.stack([evaluate_columns(o, names) for o in self.observed], axis=1)

    def draw_starts(self, count: int, generator: np.random.Generator) -> Columns:
        low, high = np.array(self.starts).T
        return generator.uniform(low, high, (count, len(low)))


def evaluate_columns(term: api.Term, names: Mapping[str, Columns]) -> Any:
    """The value of a term for every row."""
    match term:
        case api.Const(value):
            return value if isinstance(value, bool) else float(value)
        case api.Var(name):
            return names[name]
        case api.Apply(op, parts):
            return _OPERATIONS[op](*(evaluate_columns(part, names) for part in parts))


@cache
def read_plant(name: str) -> StudyPlant:
    """The plant of `problems/NAME.toml`."""
    text = files("surefoot_studies.closed_loop").joinpath("problems", f"{name}.toml").read_text("utf-8")
    said = tomllib.loads(text)
    variables, controls = tuple(said["variables"]), tuple(said["controls"])
    chosen = said["edges"][0].get("chosen", {})
    starts: dict[str, list[float]] = {v: [-np.inf, np.inf] for v in variables}
    for name_, side, number in _sides(api.parse_term(said["initial"])):
        for place in side:
            starts[name_][place] = number
    return StudyPlant(
        variables,
        controls,
        tuple(_ends(said["controls"][c]) for c in controls),
        tuple((n, *_ends(kind.removeprefix("real"))) for n, kind in chosen.items()),
        tuple(api.parse_term(said["flow"]["derivatives"][v]) for v in variables),
        tuple(api.parse_term(text) for text in said["policy"]["observe"]),
        tuple((low, high) for low, high in starts.values()),
        float(said["flow"]["period"]),
    )


def _ends(text: str) -> tuple[float, float]:
    low, high = text.strip().strip("[]").split(",")
    return float(low), float(high)


def _sides(condition: api.Term) -> list[tuple[str, tuple[int, ...], float]]:
    """The limits of each variable that a conjunction of comparisons says: lower (0), upper (1) or both."""
    match condition:
        case api.Apply(api.Op.AND, parts):
            return [side for part in parts for side in _sides(part)]
        case api.Apply(api.Op.LE, (api.Const(value), api.Var(name))):
            return [(name, (0,), float(value))]
        case api.Apply(api.Op.LE, (api.Var(name), api.Const(value))):
            return [(name, (1,), float(value))]
        case api.Apply(api.Op.EQ, (api.Var(name), api.Const(value))):
            return [(name, (0, 1), float(value))]
    raise api.InvalidProblem(f"`{api.show_term(condition)}` is no limit of a variable")


def simulate_plant(
    plant: StudyPlant,
    starts: Columns,
    act: Act,
    periods: int,
    generator: np.random.Generator,
    parts: int = 10,
) -> Columns:
    """States after every part of every period (first axis), of every run (second).

    Disturbances are drawn anew in every part: most of them at an end of their range.
    """
    states, found = starts, [starts]
    low, high = np.array(plant.reach).T
    width = plant.period / parts
    ends = np.array([(a, b) for _, a, b in plant.disturbances]).reshape(-1, 2)
    for _ in range(periods):
        controls = np.clip(act(plant.observations(states)), low, high)
        for _ in range(parts):
            drawn = np.clip(generator.uniform(-2, 2, (len(states), len(ends))), -1, 1)
            gusts = ends.mean(axis=1) + drawn * (ends[:, 1] - ends[:, 0]) / 2
            one = plant.rates(states, controls, gusts)
            two = plant.rates(states + width / 2 * one, controls, gusts)
            three = plant.rates(states + width / 2 * two, controls, gusts)
            four = plant.rates(states + width * three, controls, gusts)
            states = states + width / 6 * (one + 2 * two + 2 * three + four)
            found.append(states)
    return np.stack(found)
