"""A PRISM model as it is written: declarations, modules, rewards, composition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from surefoot.errors import did_you_mean
from surefoot.formats.prism.expressions import PrismExpression, PrismReader
from surefoot.formats.prism.tokens import PrismPlace

MODEL_TYPES = {
    "dtmc": "dtmc",
    "probabilistic": "dtmc",
    "mdp": "mdp",
    "nondeterministic": "mdp",
    "ctmc": "ctmc",
    "stochastic": "ctmc",
    "ma": "ma",
}
_OTHER_TYPES = ("pta", "pomdp", "popta")
_SECTIONS = (
    *("const", "rate", "prob", "formula", "label", "global", "module", "rewards", "init", "system"),
    *("invariant", "observables", "observable"),
)


@dataclass(frozen=True, slots=True)
class PrismConstant:
    name: str
    kind: str  # int, double, bool
    value: PrismExpression | None
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class PrismDefinition:
    """A formula or a label."""

    name: str
    body: PrismExpression
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class PrismDeclaration:
    """A variable: of truth values, or an integer (`low` and `high` are None if it has no bounds)."""

    name: str
    kind: str  # int, bool
    low: PrismExpression | None
    high: PrismExpression | None
    initial: PrismExpression | None
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class PrismAssignment:
    name: str
    value: PrismExpression
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class PrismUpdate:
    probability: PrismExpression | None  # None: 1
    assignments: tuple[PrismAssignment, ...]
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class PrismCommand:
    action: str | None
    markovian: bool  # written with `<>`: its numbers are rates
    guard: PrismExpression
    updates: tuple[PrismUpdate, ...]
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class PrismModule:
    name: str
    declarations: tuple[PrismDeclaration, ...]
    commands: tuple[PrismCommand, ...]
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class PrismRenaming:
    """`module NAME = BASE [a=b, …] endmodule`."""

    name: str
    base: str
    pairs: tuple[tuple[str, str, PrismPlace], ...]
    place: PrismPlace
    base_place: PrismPlace


@dataclass(frozen=True, slots=True)
class PrismRewardItem:
    """`of_states`: earned in every state that is left; otherwise by steps with the action (None: without)."""

    of_states: bool
    action: str | None
    guard: PrismExpression
    value: PrismExpression
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class PrismRewards:
    name: str | None
    items: tuple[PrismRewardItem, ...]
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class PrismProcess:
    """`op` is module, ||, |||, |[]|, hide or rename; `actions` are pairs for rename."""

    op: str
    place: PrismPlace
    parts: tuple[PrismProcess, ...] = ()
    name: str = ""
    actions: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class PrismFile:
    """Everything in the order of the file; filled by the parser and read only afterwards."""

    kind: str = "mdp"
    constants: list[PrismConstant] = field(default_factory=list)
    formulas: list[PrismDefinition] = field(default_factory=list)
    labels: list[PrismDefinition] = field(default_factory=list)
    variables: list[PrismDeclaration] = field(default_factory=list)  # global ones
    modules: list[PrismModule | PrismRenaming] = field(default_factory=list)
    rewards: list[PrismRewards] = field(default_factory=list)
    initial: PrismExpression | None = None
    system: PrismProcess | None = None
    end: PrismPlace | None = None


def parse_prism_model(text: str) -> PrismFile:
    """The parts of a model."""
    reader = PrismReader(text)
    found = PrismFile()
    kind_seen = False
    while reader.token.kind != "end":
        token = reader.token
        if token.kind in ("keyword", "name") and token.text in (*MODEL_TYPES, *_OTHER_TYPES):
            if token.text in _OTHER_TYPES:
                token.place.refuse(
                    f"models of type `{token.text}` are not supported", "read are dtmc, mdp, ctmc, ma"
                )
            if kind_seen:
                token.place.fail("a second type of model", "keep one of them")
            found.kind, kind_seen = MODEL_TYPES[reader.advance().text], True
            continue
        if token.kind != "keyword" or token.text not in _SECTIONS:
            word = token.text if token.kind in ("name", "keyword") else ""
            known = (*MODEL_TYPES, *_SECTIONS)
            fix = did_you_mean(word, known) if word else ""
            reader.fail_unexpected("a declaration such as `module`, `const` or `label`", fix)
        _PARSERS[token.text](reader, found)
    found.end = reader.token.place
    if not found.modules:
        reader.token.place.fail("the model has no module", "add `module … endmodule`")
    return found


def _parse_constant(reader: PrismReader, found: PrismFile) -> None:
    found.constants.append(parse_prism_constant(reader))


def parse_prism_constant(reader: PrismReader) -> PrismConstant:
    """`const double p = 0.5;`, also in a property file."""
    word = reader.advance().text
    kind = "int" if word == "const" else "double"
    if word == "const" and reader.sees("int", "double", "bool"):
        kind = reader.advance().text
    name = reader.name("the name of a constant")
    value = reader.expression() if reader.takes("=") else None
    reader.expect(";", "after the constant")
    return PrismConstant(name.text, kind, value, name.place)


def _parse_formula(reader: PrismReader, found: PrismFile) -> None:
    reader.advance()
    name = reader.name("the name of a formula")
    reader.expect("=", "after the name of the formula")
    body = reader.expression()
    reader.expect(";", "after the formula")
    found.formulas.append(PrismDefinition(name.text, body, name.place))


def _parse_label(reader: PrismReader, found: PrismFile) -> None:
    found.labels.append(parse_prism_label(reader))


def parse_prism_label(reader: PrismReader) -> PrismDefinition:
    """`label "goal" = x=3;`, also in a property file."""
    reader.advance()
    if reader.token.kind != "quoted":
        reader.fail_unexpected('the name of a label in quotes, such as "goal",')
    name = reader.advance()
    if name.text in ("init", "deadlock"):
        name.place.fail(f'the label "{name.text}" is built in', "give this one another name")
    reader.expect("=", "after the name of the label")
    body = reader.expression()
    reader.expect(";", "after the label")
    return PrismDefinition(name.text, body, name.place)


def _parse_global(reader: PrismReader, found: PrismFile) -> None:
    reader.advance()
    found.variables.append(_declaration(reader))


def _declaration(reader: PrismReader) -> PrismDeclaration:
    name = reader.name("the name of a variable")
    reader.expect(":", "after the name of the variable")
    low = high = None
    kind = "int"
    if reader.takes("["):
        low = reader.expression()
        reader.expect("..", "between the bounds")
        high = reader.expression()
        reader.expect("]", "after the bounds")
    elif reader.takes("bool"):
        kind = "bool"
    elif reader.sees("clock", "double"):
        reader.token.place.refuse(
            f"variables of type `{reader.token.text}` are not supported", "use integers"
        )
    elif not reader.takes("int"):
        reader.fail_unexpected("`[LOW..HIGH]`, `bool` or `int`")
    initial = reader.expression() if reader.takes("init") else None
    reader.expect(";", "after the variable")
    return PrismDeclaration(name.text, kind, low, high, initial, name.place)


def _parse_module(reader: PrismReader, found: PrismFile) -> None:
    reader.advance()
    name = reader.name("the name of a module")
    if reader.takes("="):
        base = reader.name("the name of a module")
        reader.expect("[", "before what is renamed")
        pairs = [_renamed_pair(reader)]
        while reader.takes(","):
            pairs.append(_renamed_pair(reader))
        reader.expect("]", "after what is renamed")
        reader.expect("endmodule", "after the renamed module")
        found.modules.append(PrismRenaming(name.text, base.text, tuple(pairs), name.place, base.place))
        return
    declarations: list[PrismDeclaration] = []
    commands: list[PrismCommand] = []
    while reader.token.kind == "name" or (reader.token.kind == "keyword" and reader.ahead().text == ":"):
        declarations.append(_declaration(reader))
    if reader.sees("invariant"):
        reader.token.place.refuse("`invariant` needs a model with clocks", "only discrete models are read")
    while reader.sees("[", "<"):
        commands.append(_command(reader))
    if reader.token.kind == "name":
        reader.token.place.fail("a variable after the commands", "declare variables before the commands")
    reader.expect("endmodule", "or a command with `[` in front")
    found.modules.append(PrismModule(name.text, tuple(declarations), tuple(commands), name.place))


def _renamed_pair(reader: PrismReader) -> tuple[str, str, PrismPlace]:
    old = reader.advance() if reader.sees("min", "max") else reader.name("a name to be renamed")
    reader.expect("=", "between the old and the new name")
    new = reader.advance() if reader.sees("min", "max") else reader.name("the new name")
    return old.text, new.text, old.place


def _command(reader: PrismReader) -> PrismCommand:
    place = reader.token.place
    markovian = reader.sees("<")
    reader.advance()
    close = ">" if markovian else "]"
    action = None if reader.sees(close) else reader.name("the name of an action").text
    reader.expect(close, "after the action")
    guard = reader.expression()
    reader.expect("->", "after the guard")
    updates = [_update(reader)]
    while reader.takes("+"):
        updates.append(_update(reader))
    reader.expect(";", "after the command")
    if len(updates) > 1 and (bare := next((u for u in updates if u.probability is None), None)):
        bare.place.fail("an update without probability beside others", "write PROBABILITY : UPDATE")
    return PrismCommand(action, markovian, guard, tuple(updates), place)


def _update(reader: PrismReader) -> PrismUpdate:
    place = reader.token.place
    probability = None
    assigns = reader.sees("(") and reader.ahead().kind == "primed"
    stays = reader.sees("true") and reader.ahead().text in ("+", ";") and reader.ahead().kind == "symbol"
    if not assigns and not stays:
        probability = reader.expression()
        reader.expect(":", "after the probability")
    if reader.takes("true"):
        return PrismUpdate(probability, (), place)
    assignments = [_assignment(reader)]
    while reader.takes("&"):
        assignments.append(_assignment(reader))
    return PrismUpdate(probability, tuple(assignments), place)


def _assignment(reader: PrismReader) -> PrismAssignment:
    reader.expect("(", "before an assignment such as (x'=1)")
    if reader.token.kind != "primed":
        reader.fail_unexpected("a primed variable such as x'")
    name = reader.advance()
    reader.expect("=", "after the variable")
    value = reader.expression()
    reader.expect(")", "after the assignment")
    return PrismAssignment(name.text, value, name.place)


def _parse_rewards(reader: PrismReader, found: PrismFile) -> None:
    place = reader.advance().place
    name = reader.advance().text if reader.token.kind == "quoted" else None
    items: list[PrismRewardItem] = []
    while not reader.sees("endrewards"):
        start = reader.token.place
        by_action = reader.takes("[")
        action = None
        if by_action:
            action = None if reader.sees("]") else reader.name("the name of an action").text
            reader.expect("]", "after the action")
        guard = reader.expression()
        reader.expect(":", "between the guard and the reward")
        value = reader.expression()
        reader.expect(";", "after the reward")
        items.append(PrismRewardItem(not by_action, action, guard, value, start))
    reader.advance()
    found.rewards.append(PrismRewards(name, tuple(items), place))


def _parse_initial(reader: PrismReader, found: PrismFile) -> None:
    place = reader.advance().place
    if found.initial is not None:
        place.fail("a second `init … endinit`", "keep one of them")
    found.initial = reader.expression()
    reader.expect("endinit", "after the condition")


def _parse_system(reader: PrismReader, found: PrismFile) -> None:
    place = reader.advance().place
    if found.system is not None:
        place.fail("a second `system … endsystem`", "keep one of them")
    if reader.token.kind == "quoted":
        reader.token.place.refuse("named compositions are not supported", "leave out the name")
    found.system = _process(reader)
    reader.expect("endsystem", "after the composition")


def _process(reader: PrismReader) -> PrismProcess:
    """`||` binds least, then `|||`, then `|[…]|`."""
    parts = [_interleaving(reader)]
    place = reader.token.place
    while _takes_bars(reader, 2):
        parts.append(_interleaving(reader))
    return parts[0] if len(parts) == 1 else PrismProcess("||", place, tuple(parts))


def _interleaving(reader: PrismReader) -> PrismProcess:
    parts = [_parallel(reader)]
    place = reader.token.place
    while _takes_bars(reader, 3):
        parts.append(_parallel(reader))
    return parts[0] if len(parts) == 1 else PrismProcess("|||", place, tuple(parts))


def _takes_bars(reader: PrismReader, count: int) -> bool:
    """So many bars, and not one more."""
    if any(reader.ahead(n).kind != "symbol" or reader.ahead(n).text != "|" for n in range(count)):
        return False
    if reader.ahead(count).text == "|" and reader.ahead(count).kind == "symbol":
        return False
    for _ in range(count):
        reader.advance()
    return True


def _parallel(reader: PrismReader) -> PrismProcess:
    left = _hidden_or_renamed(reader)
    while reader.sees("|") and reader.ahead().kind == "symbol" and reader.ahead().text == "[":
        place = reader.advance().place
        reader.advance()
        if reader.takes("]"):
            names: tuple[str, ...] = ()
        else:
            names = tuple(t.text for t in reader.names("the name of an action", "]"))
        reader.expect("|", "after the actions")
        right = _hidden_or_renamed(reader)
        left = PrismProcess("|[]|", place, (left, right), actions=tuple((n, n) for n in names))
    return left


def _hidden_or_renamed(reader: PrismReader) -> PrismProcess:
    inner = _atomic_process(reader)
    while True:
        place = reader.token.place
        if reader.takes("/"):
            reader.expect("{", "before the hidden actions")
            names = reader.names("the name of an action", "}")
            inner = PrismProcess("hide", place, (inner,), actions=tuple((n.text, n.text) for n in names))
        elif reader.takes("{"):
            pairs = [_action_pair(reader)]
            while reader.takes(","):
                pairs.append(_action_pair(reader))
            reader.expect("}", "after the renamed actions")
            inner = PrismProcess("rename", place, (inner,), actions=tuple(pairs))
        else:
            return inner


def _action_pair(reader: PrismReader) -> tuple[str, str]:
    old = reader.name("the name of an action").text
    reader.expect("<-", "between the old and the new action")
    return old, reader.name("the name of an action").text


def _atomic_process(reader: PrismReader) -> PrismProcess:
    if reader.takes("("):
        inner = _process(reader)
        reader.expect(")", "after the composition")
        return inner
    if reader.token.kind == "quoted":
        reader.token.place.refuse("references to named compositions are not supported", "write them out")
    name = reader.name("the name of a module")
    return PrismProcess("module", name.place, name=name.text)


def _refuse_invariant(reader: PrismReader, _: PrismFile) -> None:
    what = f"`{reader.token.text}` is not supported"
    reader.token.place.refuse(what, "only dtmc, mdp, ctmc and ma are read")


_PARSERS: dict[str, Callable[[PrismReader, PrismFile], None]] = {
    "const": _parse_constant,
    "rate": _parse_constant,
    "prob": _parse_constant,
    "formula": _parse_formula,
    "label": _parse_label,
    "global": _parse_global,
    "module": _parse_module,
    "rewards": _parse_rewards,
    "init": _parse_initial,
    "system": _parse_system,
    "invariant": _refuse_invariant,
    "observables": _refuse_invariant,
    "observable": _refuse_invariant,
}
