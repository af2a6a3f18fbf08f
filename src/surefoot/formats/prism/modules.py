"""Modules with their variables and commands as terms; renamed modules are copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from surefoot.errors import did_you_mean
from surefoot.formats.prism.model_syntax import (
    PrismCommand,
    PrismDeclaration,
    PrismFile,
    PrismModule,
    PrismRenaming,
    PrismUpdate,
)
from surefoot.formats.prism.terms import PrismScope, read_prism_constant, read_prism_term, start_of
from surefoot.formats.prism.tokens import PrismPlace
from surefoot.problem.environment import Update
from surefoot.problem.validate.distribution import constant_sum, is_nearly_one, sum_defect
from surefoot.term.interval import term_interval
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import is_reserved
from surefoot.term.term import FALSE, Const, Term, Var
from surefoot.term.types import BOOL, INT, REAL, unbounded_type
from surefoot.term.value_types import Bool, Int, ValueType


@dataclass(frozen=True, slots=True)
class ModuleCopy:
    """A module as it is written, and how its names are to be read."""

    name: str
    module: PrismModule
    renames: Mapping[str, str]
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class DeclaredVariable:
    """`module` None: global. `initial` None: given by `init … endinit`."""

    name: str
    kind: ValueType
    initial: Const | None
    module: str | None


@dataclass(frozen=True, slots=True)
class Command:
    """`branches`: probability or rate, and what is assigned. Numbers of Markovian ones are rates."""

    action: str | None
    markovian: bool
    guard: Term
    branches: tuple[tuple[Term, tuple[Update, ...]], ...]
    place: PrismPlace


@dataclass(frozen=True, slots=True)
class CommandModule:
    name: str
    commands: tuple[Command, ...]
    alphabet: tuple[str, ...]  # actions in the order of the text, also of commands that are never enabled


def copy_modules(file: PrismFile) -> list[ModuleCopy]:
    """Every module, with the renamings that led to it."""
    declared: dict[str, PrismModule | PrismRenaming] = {}
    for module in file.modules:
        if module.name in declared:
            module.place.fail(f"module `{module.name}` is declared twice", "rename one of them")
        declared[module.name] = module
    return [_copy_module(module, declared) for module in file.modules]


def _copy_module(
    wanted: PrismModule | PrismRenaming, declared: Mapping[str, PrismModule | PrismRenaming]
) -> ModuleCopy:
    chain: list[PrismRenaming] = []
    module = wanted
    while isinstance(module, PrismRenaming):
        if module in chain:
            module.place.fail(f"module `{module.name}` is a copy of itself", "break the cycle")
        chain.append(module)
        if module.base not in declared:
            module.base_place.fail(f"there is no module `{module.base}`", did_you_mean(module.base, declared))
        module = declared[module.base]
    renames: dict[str, str] = {}
    for step in reversed(chain):
        pairs: dict[str, str] = {}
        for old, new, place in step.pairs:
            if old in pairs:
                place.fail(f"`{old}` is renamed twice", "keep one of them")
            pairs[old] = new
        composed = {old: pairs.get(new, new) for old, new in renames.items()}
        renames = composed | {old: new for old, new in pairs.items() if old not in renames.values()}
        for declaration in module.declarations:
            if renames.get(declaration.name, declaration.name) == declaration.name and len(chain) == 1:
                what = f"variable `{declaration.name}` of `{step.base}` is not renamed"
                step.place.fail(what, f"add {declaration.name}=…")
    return ModuleCopy(wanted.name, module, renames, wanted.place)


def declare_variables(
    file: PrismFile, copies: Sequence[ModuleCopy], scope: PrismScope
) -> list[DeclaredVariable]:
    """Global variables first, then those of the modules."""
    rows: list[tuple[PrismDeclaration, ModuleCopy | None]] = [(d, None) for d in file.variables]
    rows += [(d, copy) for copy in copies for d in copy.module.declarations]
    found: list[DeclaredVariable] = []
    taken: dict[str, str] = {
        **dict.fromkeys(scope.constants, "constant"),
        **dict.fromkeys(scope.formulas, "formula"),
    }
    for declaration, copy in rows:
        renames = {} if copy is None else copy.renames
        name = renames.get(declaration.name, declaration.name)
        place = declaration.place if copy is None or not renames else copy.place
        if name in taken:
            place.fail(f"`{name}` is already the name of a {taken[name]}", "rename one of them")
        taken[name] = "variable"
        kind, initial = _read_declaration(declaration, scope.renaming(renames))
        if declaration.initial is not None and file.initial is not None:
            what = "an initial value beside `init … endinit`"
            declaration.place.fail(what, "say it in one of the two")
        start = None if file.initial is not None else initial
        found.append(DeclaredVariable(name, kind, start, None if copy is None else copy.name))
    return found


def _read_declaration(declaration: PrismDeclaration, scope: PrismScope) -> tuple[ValueType, Const]:
    """The kind, and the value to start with: the least one if none is given."""
    kind: ValueType
    if declaration.kind == "bool":
        kind, initial = Bool(), Const(False)
    elif declaration.low is None or declaration.high is None:
        kind, initial = Int(), Const(0)
    else:
        low = read_prism_constant(declaration.low, scope, INT).value
        high = read_prism_constant(declaration.high, scope, INT).value
        if low > high:
            what = f"the lower bound {low} is above the upper bound {high}"
            start_of(declaration.low).fail(what, "swap them")
        kind, initial = Int(int(low), int(high)), Const(low)
    if declaration.initial is not None:
        initial = read_prism_constant(declaration.initial, scope, unbounded_type(kind))
        if isinstance(kind, Int) and kind.low is not None and kind.high is not None:
            start = initial.value
            if not kind.low <= start <= kind.high:
                what = f"`{declaration.name}` starts with {start}, outside {kind.low} to {kind.high}"
                start_of(declaration.initial).fail(what, "change one of them")
    return kind, initial


def environment_names(variables: Sequence[str]) -> dict[str, str]:
    """Names of variables in the environment: words that questions reserve get something after them."""
    taken = set(variables)
    found: dict[str, str] = {}
    for name in variables:
        wanted = name
        while is_reserved(wanted) or (wanted != name and wanted in taken):
            wanted += "_"
        found[name] = wanted
        taken.add(wanted)
    return found


@dataclass(frozen=True, slots=True)
class CommandReader:
    """Reads the commands of one module."""

    copy: ModuleCopy
    scope: PrismScope  # without the renaming of the module
    owners: Mapping[str, str | None]  # of variables, by the names of the file; None: global
    rates: bool  # are all numbers rates?
    normalise: bool

    def read_module(self) -> CommandModule:
        scope = self.scope.renaming(self.copy.renames)
        written = self.copy.module.commands
        found = [self._command(c, scope) for c in written]
        actions = [self._action(c) for c in written]
        alphabet = tuple(dict.fromkeys(a for a in actions if a is not None))
        kept = tuple(c for c in found if c.guard != FALSE)
        return CommandModule(self.copy.name, kept, alphabet)

    def _action(self, command: PrismCommand) -> str | None:
        return None if command.action is None else self.copy.renames.get(command.action, command.action)

    def _command(self, command: PrismCommand, scope: PrismScope) -> Command:
        action = self._action(command)
        guard = read_prism_term(command.guard, scope, BOOL)
        markovian = self.rates or command.markovian
        branches: list[tuple[Term, tuple[Update, ...]]] = []
        for update in command.updates:
            weight = self._weight(update, scope, markovian)
            branches.append((weight, self._updates(update, action, scope)))
        if not markovian and guard != FALSE:
            self._check_sum(command, [weight for weight, _ in branches])
        kept = tuple(b for b in branches if b[0] != Const(0))
        if len(kept) < len(branches):
            scope.notes.add("updates of probability 0 are left out")
        if not kept and guard != FALSE:
            guard = FALSE
        return Command(action, markovian, guard, kept, command.place)

    def _weight(self, update: PrismUpdate, scope: PrismScope, markovian: bool) -> Term:
        if update.probability is None:
            return Const(1)
        weight = read_prism_term(update.probability, scope, REAL)
        place = start_of(update.probability)
        if isinstance(weight, Const):
            if markovian and weight.value < 0:
                place.fail(f"rate {show_term(weight)} is negative")
            if not markovian and not 0 <= weight.value <= 1:
                place.fail(f"probability {show_term(weight)} is not between 0 and 1")
        elif markovian and term_interval(weight, scope.own_kinds())[0] < 0:
            place.refuse("a rate that may be negative is not supported", "write max(0, …)")
        return weight

    def _check_sum(self, command: PrismCommand, weights: list[Term]) -> None:
        total = constant_sum(weights)
        if total is not None and is_nearly_one(total) and self.normalise:
            return
        if (defect := sum_defect(weights)) is not None:
            command.updates[0].place.fail(*defect)

    def _updates(self, update: PrismUpdate, action: str | None, scope: PrismScope) -> tuple[Update, ...]:
        found: dict[str, Update] = {}
        for assignment in update.assignments:
            name = scope.renames.get(assignment.name, assignment.name)
            place = assignment.place
            if name not in self.owners:
                place.fail(f"there is no variable `{name}`", did_you_mean(name, self.owners))
            owner = self.owners[name]
            if owner is None and action is not None:
                what = f"global variable `{name}` is assigned by a command with an action"
                place.fail(what, "leave out the action, or make the variable local")
            if owner is not None and owner != self.copy.name:
                place.fail(f"`{name}` belongs to module `{owner}`", "assign it there")
            if name in found:
                place.fail(f"`{name}` is assigned twice", "keep one of them")
            value = read_prism_term(assignment.value, scope, unbounded_type(scope.kinds[name]))
            found[name] = Update(Var(scope.names[name]), value)
        return tuple(u for u in found.values() if u.value != u.target)


def formula_copies(copies: Sequence[ModuleCopy], scope: PrismScope) -> PrismScope:
    """Formulas that only a renaming names: they are copies of those that it renames."""
    formulas = dict(scope.formulas)
    for copy in copies:
        for old, new in copy.renames.items():
            if old in scope.formulas and new not in formulas:
                others = {a: b for a, b in copy.renames.items() if a not in scope.formulas}
                formulas[new] = scope.formulas[old][0], others
    return replace(scope, formulas=formulas)
