"""Which modules move together: parallel composition, hiding and renaming of actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.errors import did_you_mean
from surefoot.formats.prism.model_syntax import PrismProcess
from surefoot.formats.prism.modules import CommandModule

MOST_VECTORS = 20_000


@dataclass(frozen=True, slots=True)
class JointAction:
    """The modules (by number) that take part and their actions; `label` is what the step is called."""

    members: tuple[tuple[int, str], ...]
    label: str | None


@dataclass(frozen=True, slots=True)
class _Process:
    steps: tuple[JointAction, ...]
    alphabet: frozenset[str]


def compose_modules(system: PrismProcess | None, modules: Sequence[CommandModule]) -> tuple[JointAction, ...]:
    """The steps with actions that modules can make; without a composition all of them share all actions."""
    if system is None:
        whole = _synchronise([_single_process(number, m) for number, m in enumerate(modules)], None)
        return whole.steps
    names = [module.name for module in modules]
    used: list[str] = []
    whole = _compose(system, modules, names, used)
    for name in names:
        if name not in used:
            system.place.fail(f"module `{name}` is missing in the composition", "add it")
    return whole.steps


def _compose(
    process: PrismProcess, modules: Sequence[CommandModule], names: list[str], used: list[str]
) -> _Process:
    if process.op == "module":
        if process.name not in names:
            process.place.fail(f"there is no module `{process.name}`", did_you_mean(process.name, names))
        if process.name in used:
            process.place.fail(f"module `{process.name}` occurs twice", "make a renamed copy of it")
        used.append(process.name)
        number = names.index(process.name)
        return _single_process(number, modules[number])
    parts = [_compose(part, modules, names, used) for part in process.parts]
    match process.op:
        case "||":
            made = _synchronise(parts, None)
        case "|||":
            made = _synchronise(parts, frozenset())
        case "|[]|":
            made = _synchronise(parts, frozenset(old for old, _ in process.actions))
        case "hide":
            made = _relabel(parts[0], {old: None for old, _ in process.actions})
        case _:
            made = _relabel(parts[0], dict(process.actions))
    if len(made.steps) > MOST_VECTORS:
        process.place.refuse(f"more than {MOST_VECTORS} joint actions", "use fewer actions with one name")
    return made


def _single_process(number: int, module: CommandModule) -> _Process:
    steps = tuple(JointAction(((number, action),), action) for action in module.alphabet)
    return _Process(steps, frozenset(module.alphabet))


def _synchronise(parts: list[_Process], over: frozenset[str] | None) -> _Process:
    """Steps with an action in `over` (None: any that both sides know) are made by both sides."""
    whole = parts[0]
    for part in parts[1:]:
        shared = whole.alphabet & part.alphabet if over is None else over
        joint: dict[JointAction, None] = {}
        for step in whole.steps:
            if step.label is None or step.label not in shared:
                joint[step] = None
                continue
            for other in part.steps:
                if other.label == step.label:
                    members = tuple(sorted((*step.members, *other.members)))
                    joint[JointAction(members, step.label)] = None
        for other in part.steps:
            if other.label is None or other.label not in shared:
                joint[other] = None
        whole = _Process(tuple(joint), whole.alphabet | part.alphabet)
    return whole


def _relabel(part: _Process, labels: dict[str, str | None]) -> _Process:
    steps = tuple(
        JointAction(step.members, labels.get(step.label, step.label) if step.label is not None else None)
        for step in part.steps
    )
    kept = {labels.get(action, action) for action in part.alphabet}
    return _Process(tuple(dict.fromkeys(steps)), frozenset(a for a in kept if a is not None))


def combinations_of(step: JointAction, modules: Sequence[CommandModule]) -> int:
    """How many ways there are to take one command of each member."""
    count = 1
    for number, action in step.members:
        count *= sum(command.action == action for command in modules[number].commands)
    return count


def is_possible(step: JointAction, modules: Sequence[CommandModule]) -> bool:
    """Has every member a command that may be enabled?"""
    return combinations_of(step, modules) > 0
