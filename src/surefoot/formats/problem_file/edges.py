"""The edges of a problem file, with what the environment chooses and what may come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.problem_file.declarations import Declarations, read_variable_type
from surefoot.formats.problem_file.variable_types import parse_law
from surefoot.formats.toml_document import TomlEntry
from surefoot.problem.environment import Choice, Edge, Outcome, Update
from surefoot.term.term import TRUE, Const, Term, Var

_OUTCOME_KEYS = ("updates", "shift", "rewards", "target")
_EDGE_KEYS = ("source", "action", "guard", "chosen", "assuming", "outcomes", *_OUTCOME_KEYS)


def read_edges(entry: TomlEntry, path: str, declared: Declarations) -> tuple[Edge, ...]:
    """The edges in a list of tables; `path` is the place of their component in the problem."""
    return tuple(_read_edge(e, f"{path}.edges[{i}]", declared) for i, e in enumerate(entry.entries()))


@dataclass(frozen=True, slots=True)
class _EdgeContext:
    """What the parts of one edge need to know about it."""

    path: str
    source: str
    names: tuple[str, ...]
    declared: Declarations

    def term(self, entry: TomlEntry) -> Term:
        return entry.term(self.names, self.declared.constants)


def _read_edge(entry: TomlEntry, path: str, declared: Declarations) -> Edge:
    fields = entry.table(*_EDGE_KEYS)
    declared.places[path] = entry
    for key in ("source", "guard", "assuming"):
        if key in fields:
            declared.places[f"{path}.{key}"] = fields[key]
    chosen = _read_choices(fields, path, declared)
    source = fields["source"].string() if "source" in fields else "here"
    inside = _EdgeContext(path, source, declared.names_with(c.name for c in chosen), declared)
    guard = fields["guard"].term(declared.acting, declared.constants) if "guard" in fields else TRUE
    assuming = inside.term(fields["assuming"]) if "assuming" in fields else TRUE
    action = fields["action"].string() if "action" in fields else None
    return Edge(source, action, guard, chosen, assuming, _read_outcomes(entry, fields, inside))


def _read_choices(fields: Mapping[str, TomlEntry], path: str, declared: Declarations) -> tuple[Choice, ...]:
    table = fields["chosen"].table() if "chosen" in fields else {}
    choices: list[Choice] = []
    for name, entry in table.items():
        declared.places[f"{path}.chosen[{len(choices)}]"] = entry
        law, own = None, entry
        if isinstance(entry.value, dict):
            parts = entry.table("kind", "law")
            if "kind" not in parts:
                entry.fail(f"chosen value `{name}` has no `kind`", 'write kind = "real [0, 1]"')
            own = parts["kind"]
            if "law" in parts:
                law = parts["law"].inside(lambda text: parse_law(text, declared.constants))
        choices.append(Choice(name, read_variable_type(own, declared.constants), law))
    return tuple(choices)


def _read_outcomes(
    entry: TomlEntry, fields: Mapping[str, TomlEntry], inside: _EdgeContext
) -> tuple[Outcome, ...]:
    """The listed outcomes, or the one that the keys of the edge itself describe."""
    if "outcomes" not in fields:
        return (_read_outcome(entry, fields, f"{inside.path}.outcomes[0]", inside),)
    for key in _OUTCOME_KEYS:
        if key in fields:
            fields[key].fail(f"`{key}` beside `outcomes`", "move it into each outcome")
    results: list[Outcome] = []
    for number, own in enumerate(fields["outcomes"].entries()):
        parts = own.table("probability", *_OUTCOME_KEYS)
        results.append(_read_outcome(own, parts, f"{inside.path}.outcomes[{number}]", inside))
    return tuple(results)


def _read_outcome(
    entry: TomlEntry, fields: Mapping[str, TomlEntry], path: str, inside: _EdgeContext
) -> Outcome:
    places = inside.declared.places
    places[path] = entry
    for key in ("probability", "target"):
        if key in fields:
            places[f"{path}.{key}"] = fields[key]
    probability = inside.term(fields["probability"]) if "probability" in fields else Const(1)
    updates: list[Update] = []
    for update, place in _read_updates(fields, inside):
        places[f"{path}.updates[{len(updates)}]"] = place
        updates.append(update)
    rewards = fields["rewards"].table() if "rewards" in fields else {}
    places.update({f"{path}.rewards[{i}]": e for i, e in enumerate(rewards.values())})
    amounts = tuple((name, inside.term(e)) for name, e in rewards.items())
    target = fields["target"].string() if "target" in fields else inside.source
    return Outcome(probability, tuple(updates), amounts, target)


def _read_updates(fields: Mapping[str, TomlEntry], inside: _EdgeContext) -> list[tuple[Update, TomlEntry]]:
    """A table happens at once; a list of tables, one after the other; windows shift with the first."""
    result: list[tuple[Update, TomlEntry]] = []
    if "updates" in fields:
        entry = fields["updates"]
        groups = entry.entries() if isinstance(entry.value, list) else [entry]
        for index, group in enumerate(groups):
            for key, own in group.table().items():
                result.append((Update(_read_target(key, own, inside), inside.term(own), index), own))
    windows = {w.name: w for w in inside.declared.windows}
    for name, own in fields["shift"].table().items() if "shift" in fields else ():
        if name not in windows:
            own.fail(f"unknown window `{name}`", did_you_mean(name, windows))
        newest = inside.term(own)
        result += [(update, own) for update in windows[name].shift(newest)]
    return result


def _read_target(key: str, entry: TomlEntry, inside: _EdgeContext) -> Term:
    """A key is the name of a variable as it is, or a term such as `a[i]`."""
    if key in inside.declared.state:
        return Var(key)
    try:
        return inside.term(TomlEntry(key, entry.path, ""))
    except InvalidProblem as error:
        raise InvalidProblem(error.what, fix=error.fix, where=entry.place()) from None
