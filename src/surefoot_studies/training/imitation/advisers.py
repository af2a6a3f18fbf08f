"""Who is imitated: a planner for blocks and puzzle, rules for the trucks. Each draws states and gives advice.

The models are those that the studies ship, read from their JANI files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.resources import as_file, files
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot import api

Floats32: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int64]
Values: TypeAlias = tuple[int, ...]


class Adviser(Protocol):
    scales: Floats32  # by which what a policy reads is multiplied while it learns
    actions: int

    def some(self, count: int, rng: np.random.Generator) -> tuple[Floats32, Integers]:
        """States, and the number of the action that is advised in each."""
        ...


def _read_study_model(study: str, name: str) -> api.EnvironmentData:
    with as_file(files("surefoot_studies").joinpath(study, "assets", f"{name}.jani")) as path:
        return api.read_jani(path).environment


class _PlanningAdviser:
    """States with the first action of a shortest way to the goal from each."""

    def __init__(self, advice: Mapping[Values, int], actions: int) -> None:
        self.states = np.array(list(advice), dtype=np.float32)
        self.advice = np.array(list(advice.values()), dtype=np.int64)
        self.scales, self.actions = np.ones(self.states.shape[1], dtype=np.float32), actions

    def some(self, count: int, rng: np.random.Generator) -> tuple[Floats32, Integers]:
        chosen = rng.integers(len(self.advice), size=count)
        return self.states[chosen], self.advice[chosen]


def _plan_first_actions(
    environment: api.EnvironmentData, actions: tuple[str, ...], goal: api.Term, bad: api.Term, *, beyond: bool
) -> dict[Values, int]:
    """The number of the best action in every start, and (`beyond`) in all that can be reached past dangers.

    Of an action that may fail the first outcome counts.
    """
    free = api.Problem("planned", environment, None, api.Never(api.FALSE))
    known: dict[Values, api.State] = {tuple(s.values()): s for s in _enumerate_starts(environment)}
    before: dict[Values, list[tuple[Values, int]]] = {}
    wave = list(known.values())
    while wave:
        state = wave.pop()
        for transition in api.permitted_transitions(free, state):
            after = api.apply_move(free, state, api.Move(transition, tuple(0 for _ in transition.edges), {}))
            key = _state_values(environment, after)
            if api.holds_in_state(free, after, bad) or (key not in known and not beyond):
                continue
            assert transition.label is not None
            here = (_state_values(environment, state), actions.index(transition.label))
            before.setdefault(key, []).append(here)
            if key not in known:
                known[key] = after
                wave.append(after)
    behind = [key for key, s in known.items() if api.holds_in_state(free, s, goal)]
    done, advice = set(behind), {}
    for key in behind:  # grows
        for earlier, action in before.get(key, ()):
            if earlier not in done:
                done.add(earlier)
                behind.append(earlier)
                advice[earlier] = action
    return advice


def _state_values(environment: api.EnvironmentData, state: api.State) -> Values:
    return tuple(int(state[v.name]) for v in environment.variables)


def _enumerate_starts(environment: api.EnvironmentData) -> Iterator[dict[str, int]]:
    """The start states, where they are a list."""
    match environment.initial:
        case api.Apply(api.Op.OR, several):
            pass
        case one:
            several = (one,)
    for start in several:
        assert isinstance(start, api.Apply)
        found = dict(_fixed_value(part) for part in start.args)
        yield {v.name: found[v.name] for v in environment.variables}


def _fixed_value(part: api.Term) -> tuple[str, int]:
    match part:
        case api.Apply(api.Op.EQ, (api.Var(name), api.Const(int() as value))):
            return name, value
    raise AssertionError(part)


class _RuleAdviser:
    """States drawn from boxes, each with its share, and a rule that says what to do in each."""

    def __init__(
        self,
        boxes: tuple[tuple[float, Mapping[str, tuple[int, int]]], ...],
        scales: tuple[float, ...],
        actions: int,
        rule: Callable[[dict[str, Integers]], Integers],
    ) -> None:
        self.boxes, self.scales, self.rule = boxes, np.array(scales, dtype=np.float32), rule
        self.actions = actions

    def some(self, count: int, rng: np.random.Generator) -> tuple[Floats32, Integers]:
        shares = np.array([share for share, _ in self.boxes])
        parts = rng.multinomial(count, shares / shares.sum())
        drawn = [
            np.stack([rng.integers(low, high + 1, size=part) for low, high in box.values()], axis=1)
            for part, (_, box) in zip(parts, self.boxes, strict=True)
        ]
        states = np.concatenate(drawn)
        named = {name: states[:, i] for i, name in enumerate(self.boxes[0][1])}
        return states.astype(np.float32), self.rule(named)


def _one_way_adviser() -> _RuleAdviser:
    """Take packages on until 60 are loaded; from 700 km on none, and all but 30 are put down."""

    def rule(state: dict[str, Integers]) -> Integers:
        place, load, waiting = state["place"], state["load"], state["waiting"]
        near = place >= 700_000
        wanted = np.where(near & (load >= 30), 1, 2)  # unload, drive
        return np.where(~near & (load < 60) & (waiting >= 100), 0, wanted)

    everywhere = {"place": (0, 2**20 - 1), "load": (0, 100), "waiting": (0, 1000), "fuel": (0, 10_000)}
    bend = {**everywhere, "place": (650_000, 850_000), "load": (15, 60)}
    return _RuleAdviser(((0.6, everywhere), (0.4, bend)), (2**-19, 2**-6, 2**-9, 2**-13), 3, rule)


def _two_way_adviser() -> _RuleAdviser:
    """With 50 packages to 900 km, with fewer to 100 km, ever slower with the distance; there stand."""

    def rule(state: dict[str, Integers]) -> Integers:
        place, gear, loaded = state["place"], state["gear"], state["load"] >= 50
        far = np.where(loaded, 900_000, 100_000) - place
        wanted = np.clip(np.round(far / 30_000), -3, 3)
        there = np.where(loaded, 4, 3)  # unload, load
        standing = np.where((gear == 0) & (wanted == 0), there, 1)  # hold
        return np.where(gear > wanted, 0, np.where(gear < wanted, 2, standing))  # slower, faster

    everywhere = {"place": (-8192, 1_008_192), "gear": (-3, 3), "load": (0, 100), "charge": (0, 1000)}
    left, right = {**everywhere, "place": (0, 200_000)}, {**everywhere, "place": (800_000, 1_000_000)}
    boxes = ((0.4, everywhere), (0.3, left), (0.3, right))
    return _RuleAdviser(boxes, (2**-19, 2**-1, 2**-6, 2**-9), 5, rule)


def _blocks_adviser() -> _PlanningAdviser:
    """Build the tower by the fewest actions, with at most three blocks on the table at any time."""
    actions = ("choose_table", *(f"choose_block_{i}" for i in range(4)))
    built = [api.equal(api.Var(f"block_{i}"), i + 3) for i in range(3)]
    goal = api.conjunction_of((api.equal(api.Var("hand_empty"), 1), *built, api.equal(api.Var("block_3"), 1)))
    found = _plan_first_actions(
        _read_study_model("blocksworld", "blocks-4"), actions, goal, api.Var("on_table") > 3, beyond=True
    )
    return _PlanningAdviser(found, len(actions))


def _puzzle_adviser() -> _PlanningAdviser:
    """Solve the puzzle by the fewest moves that keep tile 1 out of the middle."""
    actions = ("left", "right", "up", "down")
    ordered = (api.equal(api.Var(f"tile_{i}"), cell) for i, cell in ((1, 0), (2, 1), (3, 2), (4, 4)))
    goal = api.conjunction_of((api.equal(api.Var("empty"), 10), *ordered))
    found = _plan_first_actions(
        _read_study_model("npuzzle", "puzzle-3x3"),
        actions,
        goal,
        api.equal(api.Var("tile_1"), 5),
        beyond=False,
    )
    return _PlanningAdviser(found, len(actions))


ADVISERS: dict[str, Callable[[], Adviser]] = {
    "blocks-4": _blocks_adviser,
    "puzzle-3x3": _puzzle_adviser,
    "one-way": _one_way_adviser,
    "two-ways": _two_way_adviser,
}
