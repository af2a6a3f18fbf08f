"""Blocksworld: does the policy build the tower without ever having too many blocks on the table?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from surefoot import api
from surefoot_studies.assets import shipped_model, shipped_network
from surefoot_studies.blocksworld.model import ON_TABLE, block_actions

COUNT, ROOM = 4, 3


def _blocksworld_problem(bad: api.Term, starts: api.Term | None = None) -> api.Problem:
    """Never `bad`, from all arrangements with at most three blocks on the table, or some of them."""
    world = shipped_model("blocksworld", f"blocks-{COUNT}")
    if starts is not None:
        world = replace(world, initial=world.initial & starts)
    seen = tuple(api.Var(v.name) for v in world.variables)
    policy = api.NeuralPolicy(shipped_network("blocksworld", f"blocks-{COUNT}"), seen, block_actions(COUNT))
    return api.Problem(f"blocksworld/{COUNT}", world, policy, api.Never(bad))


PROBLEMS: dict[str, Callable[..., api.Problem]] = {
    "room-3": lambda: _blocksworld_problem(ON_TABLE > ROOM),
    "room-2": lambda: _blocksworld_problem(ON_TABLE > ROOM - 1, ON_TABLE <= ROOM - 1),
    "stalls": lambda: _blocksworld_problem(api.Var(api.STALLED)),
}
