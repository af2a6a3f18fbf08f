"""Policies wired to a library environment by themselves: they read and set what the library gives them.

Refused is what does not fit, with both sides: how many numbers a network reads and returns, and what the
environment shows and takes. A policy that was trained behind a wrapper which rescales actions is seen by the
bounds that its file records.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.formats.gymnasium.gym_model import GymModel
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.normalization import NO_OBSERVATIONS, Normalization, read_normalization
from surefoot.formats.policy_file import load_policy
from surefoot.formats.tables.action_table import names_action_table
from surefoot.formats.tables.policy_wiring import environment_action_table, table_is_no_network
from surefoot.formats.wiring import (
    PolicyWiring,
    Vocabulary,
    WiringChanges,
    change_wiring,
    read_wiring,
    wire_network,
    wires_nothing,
    wiring_path,
)
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.term.printer import show_term
from surefoot.term.term import Term
from surefoot.verdict.sentences import count_noun

Record: TypeAlias = Callable[[Path], None]  # told of every file that is read
_SHOWN = 8  # observations that a message lists


def wire_gym_policy(
    model: GymModel,
    network: Path,
    given: PolicyWiring | WiringChanges | None = None,
    *,
    output: str | None = None,
    record: Record = lambda _: None,
) -> NeuralPolicy:
    """The network in a file as a policy: wired as given, as told beside it, or as in the library."""
    if names_action_table(network):
        record(network)
        if isinstance(given, WiringChanges) or output is not None:
            raise table_is_no_network(network)
        terms = given.observe if given is not None else None
        return environment_action_table(network, model.environment, terms)  # type: ignore[return-value]
    loaded = load_policy(network, output=output)
    record(network)
    told = loaded.notes
    if isinstance(given, PolicyWiring):
        return wire_network(loaded.network, given, told)
    beside = wiring_path(network)
    said = beside.is_file()
    if said:
        record(beside)
    if said and not wires_nothing(beside):
        names = tuple(variable.name for variable in model.environment.variables)
        wiring = read_wiring(beside, Vocabulary(names))
    else:
        observe = _select_observation(model, loaded, network)
        wiring = PolicyWiring(observe, model.actions, Choose.ARGMAX if model.actions else Choose.VALUE)
    if given is not None:
        wiring = change_wiring(wiring, given)
    if wiring.normalize is None and loaded.kind.startswith("sb3"):
        found = find_statistics(network, model.environment.name)
        statistics = None if found is None else _read_found(found, loaded.network.observed)
        if found is not None and statistics is not None:
            record(found)
            wiring = change_wiring(wiring, WiringChanges(normalize=statistics))
    return wire_network(loaded.network, wiring, told)


def find_statistics(network: Path, name: str) -> Path | None:
    """The observation statistics (VecNormalize) beside a saved policy; refused if there are two."""
    stem = network.stem
    words = ("vecnormalize", "vec_normalize")
    names = [f"{stem}{mark}{word}" for word in words for mark in ("_", "-", ".")]
    places = [
        *(f"{one}{end}" for one in names for end in (".pkl", ".json")),
        *(f"{word}{end}" for word in words for end in (".pkl", ".json")),
        f"{name}/vecnormalize.pkl",  # where the zoo of Stable-Baselines3 keeps them
    ]
    found = [path for path in (network.parent / place for place in places) if path.is_file()]
    own = [path for path in found if path.name.startswith(stem)]
    chosen = own or found
    if len(chosen) > 1:
        what = f"two files beside it may be its statistics: {chosen[0].name} and {chosen[1].name}"
        raise InvalidProblem(what, fix="name one with --normalize", where=str(network))
    return chosen[0] if chosen else None


def _read_found(path: Path, width: int) -> Normalization | None:
    """The statistics; None where they are about rewards alone."""
    try:
        found = read_normalization(path)
        if found.mean.size != width:
            raise InvalidProblem(f"it is about {found.mean.size} observations, not {width}")
        return found
    except InvalidProblem as error:
        if error.what == NO_OBSERVATIONS:
            return None
        fix = "move it away, or name the right one with --normalize"
        raise InvalidProblem(
            f"it stands beside the policy, and {error.what}", fix=fix, where=str(path)
        ) from None


def _select_observation(model: GymModel, loaded: LoadedPolicy, network: Path) -> tuple[Term, ...]:
    """What the network reads: the entries of an observation, or the numbers of which they are the encoding.
    Refused is one that reads or returns something else than the environment shows and takes.
    """
    name, where = model.environment.name, str(network)
    width, wanted = loaded.network.observed, len(model.observe)
    observe = next((seen for seen in (model.numbers, model.observe) if len(seen) == width), None)
    if observe is None:
        listed = model.numbers or model.observe
        shown = ", ".join(show_term(term) for term in listed[:_SHOWN]) + ", …" * (len(listed) > _SHOWN)
        either = f"{len(listed)} ({shown}), or {wanted} one-hot" if model.numbers else f"{wanted} ({shown})"
        what = f"the network reads {count_noun(width, 'number')}, and {name} shows {either}"
        raise InvalidProblem(what, fix="say what it reads with --observe, in its order", where=where)
    known = sum(index.count for index in loaded.network.indices)
    if observe is model.numbers and known not in (0, wanted):
        what = f"the network knows {count_noun(known, 'value')} of what it reads, and {name} shows {wanted}"
        raise InvalidProblem(what, fix="give a policy that was trained on this environment", where=where)
    if model.actions:
        _check_choice(model, loaded, where)
    else:
        _check_controls(model, loaded, where)
    return observe


def _check_choice(model: GymModel, loaded: LoadedPolicy, where: str) -> None:
    name, actions, outputs = model.environment.name, ", ".join(model.actions), loaded.network.decided
    if loaded.head == "value":
        what = f"the policy sets {count_noun(outputs, 'number')}, and {name} takes one of {actions}"
        raise InvalidProblem(what, fix="give a policy that was trained on this environment", where=where)
    if outputs != len(model.actions):
        what = f"the network has {count_noun(outputs, 'output')}, and {name} takes one of {actions}"
        raise InvalidProblem(what, fix="say what its outputs stand for with --actions", where=where)


def _check_controls(model: GymModel, loaded: LoadedPolicy, where: str) -> None:
    name, controls = model.environment.name, model.environment.controls
    shown = ", ".join(f"{c.name} in [{_brief(c.low)}, {_brief(c.high)}]" for c in controls)
    fix = "give a policy that was trained on this environment"
    if loaded.head == "argmax":
        what = f"the policy picks one of {loaded.network.decided} actions, and {name} takes {shown}"
        raise InvalidProblem(what, fix=fix, where=where)
    if loaded.network.decided != len(controls):
        what = f"the network has {count_noun(loaded.network.decided, 'output')}, and {name} takes {shown}"
        raise InvalidProblem(what, fix=fix, where=where)
    if loaded.low is None or loaded.high is None:
        return
    for control, low, high in zip(controls, loaded.low, loaded.high, strict=True):
        if (low, high) != (_brief(control.low), _brief(control.high)):
            what = f"the policy was trained for actions in [{low:g}, {high:g}], and {name} takes {shown}"
            fix = "undo the wrapper that rescales actions in an ONNX export, or train without it"
            raise InvalidProblem(what, fix=fix, where=where)


def _brief(limit: object) -> float:
    return float(limit)  # type: ignore[arg-type]  # every control of a library environment has limits
