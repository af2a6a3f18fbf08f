"""The names under which the library registers its toy text, with the arguments that matter to steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from surefoot.formats.tables import TableModel
from surefoot.formats.tables.table_model import one_hot_terms
from surefoot.formats.toy_text.blackjack import build_blackjack
from surefoot.formats.toy_text.cliff_walking import build_cliff_walking
from surefoot.formats.toy_text.frozen_lake import THIRD, build_frozen_lake
from surefoot.formats.toy_text.live_tables import (
    read_live_blackjack,
    read_live_cliff,
    read_live_lake,
    read_live_taxi,
)
from surefoot.formats.toy_text.taxi import build_taxi
from surefoot.term.term import Term, Var, equal, ite

ToyBuild: TypeAlias = Callable[[str, Mapping[str, Any], "int | None", bool], TableModel]
_PACKAGE = "gymnasium.envs.toy_text"


@dataclass(frozen=True, slots=True)
class ToyArgument:
    default: Any
    known: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class ToyKind:
    """`build(name, values, limit, counted)`: a value for every argument, the number of steps of an episode,
    and whether they are counted in the state.
    """

    build: ToyBuild
    implementation: str  # `module:class` of the library
    limit: int | None  # `max_episode_steps` as registered
    arguments: Mapping[str, ToyArgument] = field(default_factory=dict)
    observed: tuple[tuple[str, int | None], ...] = (("state", None),)  # and how many values; None: all
    read_live: Callable[[Any], Mapping[str, Any]] = read_live_lake  # of an unwrapped environment


def _lake(map_name: str) -> dict[str, ToyArgument]:
    return {
        "desc": ToyArgument(""),
        "map_name": ToyArgument(map_name),
        "is_slippery": ToyArgument(True),
        "success_rate": ToyArgument(THIRD),
        "reward_schedule": ToyArgument("1,0,0"),
    }


_TAXI = {
    "is_rainy": ToyArgument(False),
    "rainy_probability": ToyArgument(0.8),
    "fickle_passenger": ToyArgument(False),
    "fickle_probability": ToyArgument(0.3),
}
_DRY = {"is_rainy": ToyArgument(False, (False,)), "fickle_passenger": ToyArgument(False, (False,))}
_LAKE_CLASS = f"{_PACKAGE}.frozen_lake:FrozenLakeEnv"
_CLIFF_CLASS = f"{_PACKAGE}.cliffwalking:CliffWalkingEnv"
_TAXI_CLASS = f"{_PACKAGE}.taxi:TaxiEnv"


def _build_dry_taxi(name: str, values: Mapping[str, Any], limit: int | None, counted: bool) -> TableModel:
    """Versions of the library before 1.3 had other rain, under this name."""
    return build_taxi(name, {**values, "is_rainy": False, "fickle_passenger": False}, limit, counted)


TOY_TEXT: dict[str, ToyKind] = {
    "FrozenLake-v1": ToyKind(build_frozen_lake, _LAKE_CLASS, 100, _lake("4x4")),
    "FrozenLake8x8-v1": ToyKind(build_frozen_lake, _LAKE_CLASS, 200, _lake("8x8")),
    "CliffWalking-v1": ToyKind(
        build_cliff_walking,
        _CLIFF_CLASS,
        None,
        {"is_slippery": ToyArgument(False)},
        read_live=read_live_cliff,
    ),
    "CliffWalkingSlippery-v1": ToyKind(
        build_cliff_walking,
        _CLIFF_CLASS,
        None,
        {"is_slippery": ToyArgument(True)},
        read_live=read_live_cliff,
    ),
    "Taxi-v3": ToyKind(_build_dry_taxi, _TAXI_CLASS, 200, _DRY, read_live=read_live_taxi),
    "Taxi-v4": ToyKind(build_taxi, _TAXI_CLASS, 200, _TAXI, read_live=read_live_taxi),
    "Blackjack-v1": ToyKind(
        build_blackjack,
        f"{_PACKAGE}.blackjack:BlackjackEnv",
        None,
        {"natural": ToyArgument(False), "sab": ToyArgument(True)},
        (("player", 32), ("dealer", 11), ("ace", 2)),
        read_live_blackjack,
    ),
}


def observed_terms(kind: ToyKind, model: TableModel) -> tuple[Term, ...]:
    """What a network reads of a state: one number for each value that the library's space has."""
    found: list[Term] = []
    for name, count in kind.observed:
        if count is None:
            found += one_hot_terms(name, model.encoding)
        else:
            found += [ite(equal(Var(name), value), 1, 0) for value in range(count)]
    return tuple(found)


def build_toy_model(name: str, *, counted: bool = False, **values: Any) -> TableModel:
    """The model of a registered name; arguments that are not given are as registered."""
    kind = TOY_TEXT[name]
    given = {key: argument.default for key, argument in kind.arguments.items()} | values
    return kind.build(name, given, kind.limit, counted)
