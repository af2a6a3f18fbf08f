"""Line transport: is the truck light enough for the bridge, does the shuttle stay on its line?"""

from __future__ import annotations

from collections.abc import Callable

from surefoot import api
from surefoot_studies.assets import shipped_model, shipped_network
from surefoot_studies.line_transport.model import BRIDGE, BRIDGE_LOAD, END, LOAD, ONE_WAY, PLACE, TWO_WAYS

EARLY_BRIDGE = 610_000  # where the policy does not expect it


def _transport_problem(name: str, actions: tuple[str, ...], bad: api.Term) -> api.Problem:
    """Never `bad`; the network reads every variable."""
    world = shipped_model("line-transport", name)
    seen = tuple(api.Var(v.name) for v in world.variables)
    policy = api.NeuralPolicy(shipped_network("line-transport", name), seen, actions)
    return api.Problem(f"line-transport/{name}", world, policy, api.Never(bad))


def _one_way_problem(bad: api.Term) -> api.Problem:
    return _transport_problem("one-way", ONE_WAY, bad)


def _two_way_problem(bad: api.Term) -> api.Problem:
    return _transport_problem("two-ways", TWO_WAYS, bad)


PROBLEMS: dict[str, Callable[..., api.Problem]] = {
    "one-way": lambda: _one_way_problem((PLACE >= BRIDGE) & (LOAD > BRIDGE_LOAD)),
    "one-way-early": lambda: _one_way_problem((PLACE >= EARLY_BRIDGE) & (LOAD > BRIDGE_LOAD)),
    "two-ways": lambda: _two_way_problem((PLACE < 0) | (PLACE > END)),
    "two-ways-short": lambda: _two_way_problem((PLACE < 0) | (PLACE > END - 98_000)),
}
