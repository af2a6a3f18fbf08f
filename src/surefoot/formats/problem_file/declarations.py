"""Constants, variables, windows and controls of a problem file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.problem_file.variable_types import parse_limits, parse_variable_type
from surefoot.formats.toml_document import TomlEntry
from surefoot.problem.environment import Control, Variable
from surefoot.problem.window import Window, window
from surefoot.term.evaluate import evaluate_term
from surefoot.term.number import LongNumber
from surefoot.term.reserved_names import location_key
from surefoot.term.term import Const
from surefoot.term.value_types import ValueType

Override: TypeAlias = "str | bool | int | Fraction"
MOST_WINDOW = 10_000


@dataclass(frozen=True, slots=True)
class Declarations:
    """What the other tables of the file may refer to."""

    constants: Mapping[str, Const]
    variables: tuple[Variable, ...]
    windows: tuple[Window, ...]
    controls: tuple[Control, ...]
    locations: tuple[str, ...] = ()  # names of the numbers of locations, where a component has several
    places: dict[str, TomlEntry] = field(
        default_factory=dict
    )  # where the parts of the problem stand in the file

    @property
    def state(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.variables)

    @property
    def seen(self) -> tuple[str, ...]:
        """What a state holds: also in which locations the components are."""
        return (*self.state, *self.locations)

    @property
    def acting(self) -> tuple[str, ...]:
        return (*self.seen, *(c.name for c in self.controls))

    def names_with(self, more: Iterable[str]) -> tuple[str, ...]:
        return (*self.acting, *more)


def read_declarations(top: Mapping[str, TomlEntry], overrides: Mapping[str, Override]) -> Declarations:
    """Everything that is declared, in the order of the file."""
    constants = _read_constants(_optional_table(top, "constants"), overrides)
    variables = [
        (Variable(n, read_variable_type(e, constants)), e)
        for n, e in _optional_table(top, "variables").items()
    ]
    windows: list[Window] = []
    for name, entry in _optional_table(top, "windows").items():
        windows.append(_read_window(name, entry, constants))
        variables += [(v, entry) for v in windows[-1].variables]
    controls = [(_read_control(n, e, constants), e) for n, e in _optional_table(top, "controls").items()]
    declared = Declarations(
        constants,
        tuple(v for v, _ in variables),
        tuple(windows),
        tuple(c for c, _ in controls),
        tuple(_list_location_keys(top)),
    )
    declared.places.update({f"environment.variables[{i}]": e for i, (_, e) in enumerate(variables)})
    declared.places.update({f"environment.controls[{i}]": e for i, (_, e) in enumerate(controls)})
    for name in declared.acting:
        if name in constants:
            what = f"`{name}` is both a constant and a variable"
            top["constants"].table()[name].fail(what, "rename one of them")
    return declared


def _list_location_keys(top: Mapping[str, TomlEntry]) -> Iterator[str]:
    """Of components that are well formed; what is wrong with others is said where they are read."""
    for entry in top["components"].entries() if "components" in top else ():
        match entry.value:
            case {"name": str(name), "locations": [_, _, *_]}:
                yield location_key(name)


def read_variable_type(entry: TomlEntry, constants: Mapping[str, Const]) -> ValueType:
    return entry.inside(lambda text: parse_variable_type(text, constants))


def _optional_table(top: Mapping[str, TomlEntry], key: str) -> dict[str, TomlEntry]:
    return top[key].table() if key in top else {}


def _read_constants(declared: Mapping[str, TomlEntry], overrides: Mapping[str, Override]) -> dict[str, Const]:
    for name in overrides:
        if name not in declared:
            what = f"the file has no constant `{name}`"
            raise InvalidProblem(what, fix=did_you_mean(name, declared), where="constants")
    values: dict[str, Const] = {}
    for name, entry in declared.items():
        given = TomlEntry(overrides[name], f"constants.{name}", "") if name in overrides else entry
        values[name] = read_constant_entry(given, values)
    return values


def read_constant_entry(entry: TomlEntry, constants: Mapping[str, Const]) -> Const:
    """An entry that has a value by itself: a number, a truth value, or a term over constants."""
    term = entry.term((), constants)
    try:
        value = evaluate_term(term, {})
    except (InvalidProblem, LongNumber) as error:
        raise error.at(entry.place()) from None
    if not isinstance(value, bool | int | Fraction):
        entry.fail("a constant has to be an exact number", "write a rational number")
    return Const(value)


def _read_window(name: str, entry: TomlEntry, constants: Mapping[str, Const]) -> Window:
    fields = entry.table("length", "kind")
    for key in ("length", "kind"):
        if key not in fields:
            entry.fail(f"window `{name}` has no `{key}`", 'write { length = 10, kind = "real [0, 1]" }')
    length = read_constant_entry(fields["length"], constants).value
    if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= MOST_WINDOW:
        fields["length"].fail("the length of a window has to be a whole number from 1 to 10000")
    return window(name, length, read_variable_type(fields["kind"], constants))


def _read_control(name: str, entry: TomlEntry, constants: Mapping[str, Const]) -> Control:
    limits, clipped = entry, True
    if isinstance(entry.value, dict):
        fields = entry.table("limits", "clipped")
        if "limits" not in fields:
            entry.fail(f"control `{name}` has no `limits`", 'write limits = "[-1, 1]"')
        limits = fields["limits"]
        clipped = fields["clipped"].truth() if "clipped" in fields else True
    low, high = limits.inside(lambda text: parse_limits(text, constants))
    return Control(name, low, high, clipped)
