"""The library's toy text among its other environments: tables as models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.formats.gymnasium.gym_model import GymArgument, GymKind, GymModel
from surefoot.formats.tables.table_environment import TERMINATED
from surefoot.formats.toy_text import TOY_TEXT, ToyKind, observed_terms
from surefoot.formats.toy_text.live_tables import check_live_table
from surefoot.term.term import Var

_LIMIT = "max_episode_steps"


def toy_text_kinds() -> dict[str, GymKind]:
    """By registered name."""
    return {name: _as_gym_kind(name, kind) for name, kind in TOY_TEXT.items()}


def _as_gym_kind(name: str, kind: ToyKind) -> GymKind:
    def build(called: str, values: Mapping[str, Any], counted: bool) -> GymModel:
        own = {key: values[key] for key in kind.arguments}
        model = kind.build(called, own, values[_LIMIT], counted)
        return GymModel(
            model.environment,
            observed_terms(kind, model),
            model.actions,
            model.properties,
            absent=model.absent,
            limit=model.limit,
            terminates=Var(TERMINATED),
            numbers=tuple(Var(variable) for variable, _ in kind.observed),
            facts=model.environment.notes,
        )

    def read_live(plain: Any) -> Mapping[str, Any]:
        values = {key: a.default for key, a in kind.arguments.items()} | dict(kind.read_live(plain))
        values = {key: value for key, value in values.items() if key in kind.arguments}
        if hasattr(plain, "P"):
            steady = values | ({"fickle_passenger": False} if "fickle_passenger" in values else {})
            check_live_table(kind.build(name, steady, None, False).table, plain, _shown_number)
        return values

    arguments = {key: GymArgument(a.default, known=a.known) for key, a in kind.arguments.items()}
    return GymKind(build, kind.implementation, kind.limit, arguments, read_live=read_live)


def _shown_number(state: Any) -> int:
    return state if isinstance(state, int) else int(state.state)
