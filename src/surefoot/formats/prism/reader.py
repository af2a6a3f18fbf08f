"""Read a PRISM model: an environment, with labels, formulas and rewards by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from surefoot.errors import SurefootError
from surefoot.formats.jani.declarations import ConstantOverride
from surefoot.formats.prism.constants import declared_formulas, read_prism_constants
from surefoot.formats.prism.model_syntax import PrismDefinition, PrismFile, parse_prism_model
from surefoot.formats.prism.modules import (
    CommandReader,
    DeclaredVariable,
    copy_modules,
    declare_variables,
    environment_names,
    formula_copies,
)
from surefoot.formats.prism.process_algebra import compose_modules
from surefoot.formats.prism.questions import UNTIMED
from surefoot.formats.prism.rewards import RewardStructure, read_reward_structures
from surefoot.formats.prism.system import build_module_system
from surefoot.formats.prism.terms import PrismScope, read_prism_term
from surefoot.formats.untrusted.regular_file import error_in_file, read_input_bytes
from surefoot.problem.environment import Environment, Variable
from surefoot.problem.validate.distribution import normalise_probabilities
from surefoot.term.term import Const, Term, Var, conjunction_of, equal
from surefoot.term.types import BOOL


@dataclass(frozen=True, slots=True)
class PrismModel:
    """A model as surefoot's own types, and what its questions may name."""

    name: str
    kind: str  # dtmc, mdp, ctmc, ma
    environment: Environment
    scope: PrismScope  # variables, constants, formulas and labels
    rewards: tuple[RewardStructure, ...]
    constants: Mapping[str, Const]
    hidden: Mapping[str, str]  # labels that questions in surefoot's own syntax cannot use, and why


def read_prism(
    path: str | Path,
    constants: Mapping[str, ConstantOverride] | None = None,
    *,
    normalise: bool = False,
) -> PrismModel:
    """The model in a file; `constants` give values to those that the file leaves open, or replace them.

    `normalise`: probabilities that add up to 1 within 1e-9 are divided by their sum.
    """
    file = Path(path)
    text = read_input_bytes(file).decode("utf-8", errors="replace")
    try:
        return prism_model_from_text(text, constants or {}, name=file.stem, normalise=normalise)
    except SurefootError as error:
        raise error_in_file(error, file) from None


def prism_model_from_text(
    text: str, given: Mapping[str, ConstantOverride], *, name: str = "model", normalise: bool = False
) -> PrismModel:
    """The model that a text describes; errors carry line and column, not a file."""
    file = parse_prism_model(text)
    notes: set[str] = set()
    scope = PrismScope({}, {}, {}, declared_formulas(file.formulas), notes=notes)
    copies = copy_modules(file)
    scope = formula_copies(copies, scope)
    scope = replace(scope, constants=read_prism_constants(file.constants, given, scope))
    variables = declare_variables(file, copies, scope)
    names = environment_names([v.name for v in variables])
    scope = replace(scope, kinds={v.name: v.kind for v in variables}, names=names, done={})
    for formula in file.formulas:
        read_prism_term(formula.body, scope)
    owners = {v.name: v.module for v in variables}
    rates = file.kind == "ctmc"
    modules = [CommandReader(copy, scope, owners, rates, normalise).read_module() for copy in copies]
    steps = compose_modules(file.system, modules)
    for module in modules:
        for command in module.commands:
            if command.markovian and file.kind not in ("ctmc", "ma"):
                command.place.fail(f"a command with rates in a model of type {file.kind}", "use `[` and `]`")
    actions = [step.label for step in steps if step.label is not None]
    rewards = read_reward_structures(file.rewards, scope, actions)
    if file.kind in UNTIMED:
        rewards = []  # they are earned over time, which the embedded chain has not
    built = build_module_system(file.kind, modules, steps, rewards, scope.own_kinds(), notes)
    initial = _initial_condition(file, variables, scope)
    labels = _read_labels(file.labels, scope) | {"init": initial, "deadlock": built.stuck}
    definitions, hidden = _define_names(labels, scope)
    environment = Environment(
        name=name,
        variables=tuple(Variable(names[v.name], v.kind) for v in variables),
        initial=initial,
        components=built.components,
        synchronisations=built.synchronisations,
        definitions=definitions,
        notes=tuple(sorted(notes)),
    )
    if normalise:
        environment = normalise_probabilities(environment)
    scope = replace(scope, labels=labels)
    return PrismModel(name, file.kind, environment, scope, tuple(rewards), scope.constants, hidden)


def _initial_condition(file: PrismFile, variables: Sequence[DeclaredVariable], scope: PrismScope) -> Term:
    if file.initial is not None:
        return read_prism_term(file.initial, scope, BOOL)
    parts = [equal(Var(scope.names[v.name]), v.initial) for v in variables if v.initial is not None]
    return conjunction_of(tuple(parts))


def _read_labels(labels: Sequence[PrismDefinition], scope: PrismScope) -> dict[str, Term]:
    found: dict[str, Term] = {}
    for label in labels:
        if label.name in found:
            label.place.fail(f'label "{label.name}" is declared twice', "rename one of them")
        found[label.name] = read_prism_term(label.body, replace(scope, labels=found), BOOL)
    return found


def _define_names(
    labels: Mapping[str, Term], scope: PrismScope
) -> tuple[tuple[tuple[str, Term], ...], dict[str, str]]:
    """Formulas and labels as names that any question may use; and labels that are called like others."""
    found: dict[str, Term] = {
        name: read_prism_term(formula.body, scope.renaming(renames))
        for name, (formula, renames) in scope.formulas.items()
    }
    hidden: dict[str, str] = {}
    for name, term in labels.items():
        if name in scope.names or name in scope.constants or (name in found and found[name] != term):
            hidden[name] = f'`{name}` is also the name of something else; write "{name}" for the label'
        else:
            found[name] = term
    return tuple(found.items()), hidden
