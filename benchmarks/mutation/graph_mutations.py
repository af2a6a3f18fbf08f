"""Changes to the problem of a claim `graph`: small damage, and changes that make it false."""

from __future__ import annotations

import base64
import copy
import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from benchmarks.mutation.graph_truth import NotFinite, Runs, State, Wrong, truth

Content = dict[str, Any]


def _edges(content: Content) -> list[dict[str, Any]]:
    components = content["claim"]["problem"]["environment"]["components"]
    return [edge for component in components for edge in component["edges"]]


def _shifted(term: Any, draw: Random) -> Any:
    """The term with one of its numbers, comparisons or operators changed."""
    if type(term) is bool:
        return not term
    if type(term) is not list:
        return term + draw.choice((-1, 1)) if type(term) is int else term
    if term[0] == "name" or len(term) == 1:
        return ["not", term] if term[0] != "name" else term
    swaps = {"<": "<=", "<=": "<", "and": "or", "or": "and", "min": "max", "max": "min", "+": "-"}
    if term[0] in swaps and draw.random() < 0.3 and not (term[0] == "+" and len(term) != 3):
        return [swaps[term[0]], *term[1:]]
    place = draw.randrange(1, len(term))
    return [*term[:place], _shifted(term[place], draw), *term[place + 1 :]]


def guard(content: Content, draw: Random) -> None:
    edge = draw.choice(_edges(content))
    edge["guard"] = _shifted(edge["guard"], draw)


def update(content: Content, draw: Random) -> None:
    outcomes = [o for e in _edges(content) for o in e["outcomes"] if o["updates"]]
    made = draw.choice(draw.choice(outcomes)["updates"])
    made[1] = _shifted(made[1], draw)


def target(content: Content, draw: Random) -> None:
    component = draw.choice(content["claim"]["problem"]["environment"]["components"])
    edge = draw.choice(component["edges"])
    draw.choice(edge["outcomes"])["target"] = draw.choice(component["locations"])


def probability(content: Content, draw: Random) -> None:
    """An outcome that was possible no longer is, or the other way round."""
    outcomes = draw.choice([e for e in _edges(content) if len(e["outcomes"]) > 1])["outcomes"]
    for number, share in enumerate(draw.choice(((0, 1), (1, 0)))):
        outcomes[number]["probability"] = share


def start(content: Content, draw: Random) -> None:
    world = content["claim"]["problem"]["environment"]
    world["initial"] = draw.choice((True, _shifted(world["initial"], draw)))


def starting_place(content: Content, draw: Random) -> None:
    component = draw.choice(content["claim"]["problem"]["environment"]["components"])
    component["initial"] = list(component["locations"])


def condition(content: Content, draw: Random) -> None:
    asked = content["claim"]["problem"]["property"]
    asked["condition"] = draw.choice(
        (_shifted(asked["condition"], draw), ["not", asked["condition"]], ["stalled"], ["deadlocked"])
    )


def choose(content: Content, _: Random) -> None:
    policy = content["claim"]["problem"]["policy"]
    policy["choose"] = "argmax" if policy["choose"] == "argmax-applicable" else "argmax-applicable"


def no_policy(content: Content, _: Random) -> None:
    content["claim"]["problem"]["policy"] = None
    content["arithmetic"] = "exact"


def weights(content: Content, draw: Random) -> None:
    nodes = content["claim"]["problem"]["policy"]["network"]["nodes"]
    node = draw.choice([n for n in nodes if n[0] == "affine"])
    place = draw.choice((4, 5))
    raw = base64.b64decode(node[place])
    numbers = list(struct.unpack(f"<{len(raw) // 4}f", raw))
    which = draw.randrange(len(numbers))
    numbers[which] = draw.choice((0.0, -numbers[which], numbers[which] + draw.choice((-2.0, 2.0, 1e-7))))
    node[place] = base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def synchronisation(content: Content, draw: Random) -> None:
    several = content["claim"]["problem"]["environment"]["synchronisations"]
    actions = draw.choice(several)[0]
    place = draw.randrange(len(actions))
    actions[place] = None if actions[place] is not None else next((a for a in actions if a is not None), None)


def wider(content: Content, draw: Random) -> None:
    """A variable has one more value."""
    kinds = [k for _, k in content["claim"]["problem"]["environment"]["variables"] if k != "boolean"]
    draw.choice(kinds)[2] += draw.choice((-1, 1))


def kind(content: Content, draw: Random) -> None:
    content["claim"]["problem"]["property"]["kind"] = draw.choice(("eventually", "recurs"))


PROBLEM: tuple[Callable[[Content, Random], object], ...] = (
    guard,
    guard,
    update,
    update,
    target,
    target,
    probability,
    start,
    starting_place,
    condition,
    choose,
    no_policy,
    weights,
    weights,
    synchronisation,
    wider,
    kind,
)


def made_false(problem: dict[str, Any], draw: Random) -> Iterator[dict[str, Any]]:
    """A reached state becomes bad, a start or a step leads to what is bad."""
    try:
        runs = Runs(problem)
        reached = list(runs.reached())
    except (NotFinite, Wrong):
        return
    here = at(runs, draw.choice(reached))
    for new in (["or", problem["property"]["condition"], here], here):
        changed = copy.deepcopy(problem)
        changed["property"]["condition"] = new
        yield changed
    changed = copy.deepcopy(problem)
    changed["environment"]["initial"] = True
    if truth(changed) == "false":
        yield changed


def at(runs: Runs, state: State) -> list[Any]:
    """The condition that is true in this state alone."""
    parts: list[Any] = []
    for name, found in zip(runs.names, state, strict=False):
        told = ["name", name]
        parts.append((told if found else ["not", told]) if type(found) is bool else ["=", told, int(found)])
    for component, place in zip(runs.components, state[len(runs.names) :], strict=True):
        parts.append(["at", component["name"], place])
    return ["and", *parts]
