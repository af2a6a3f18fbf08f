"""An environment as a PRISM model, with its properties as the text of a property file.

Components become modules. Where they share variables or rewards in ways that PRISM's modules cannot, all
joint steps become commands of one module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from surefoot.errors import Unsupported
from surefoot.formats.prism.export.properties import PropertyNames, prism_question
from surefoot.formats.prism.export.steps import WrittenModule, WrittenStep, written_modules
from surefoot.formats.prism.export.terms import prism_expression, prism_names
from surefoot.formats.prism.overlap import GuardComparison
from surefoot.problem.environment import Environment
from surefoot.problem.property import STEPS, Expected, Property
from surefoot.problem.semantics import has_value_type
from surefoot.term.evaluate import evaluate_term
from surefoot.term.reserved_names import DEADLOCKED, location_key, location_name
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, free_names, split_conjunction
from surefoot.term.types import is_truth_value
from surefoot.term.value_types import Arithmetic, Bool, Int, ValueType


@dataclass(frozen=True, slots=True)
class PrismTexts:
    """A model, its questions (empty if there are none), and why others have no counterpart."""

    model: str
    questions: str
    refused: Mapping[str, str]


def write_prism(
    environment: Environment,
    properties: Mapping[str, Property] | None = None,
    *,
    kind: Literal["dtmc", "mdp"] = "mdp",
) -> PrismTexts:
    """The text of a PRISM model with the same meaning; what has no counterpart is refused with a sentence."""
    _check_finite(environment)
    shared, modules = written_modules(environment)
    if kind == "dtmc":
        _check_chain(environment, modules)
    taken: set[str] = set()
    keys = [location_key(c.name) for c in environment.components if len(c.locations) > 1]
    plain = prism_names([v.name for v in environment.variables], taken)
    places = prism_names([f"at_{key[1:]}" for key in keys], taken)
    names = plain | {key: places[f"at_{key[1:]}"] for key in keys}
    for component in environment.components:
        for number, place in enumerate(component.locations):
            told = (
                f"({names[location_key(component.name)]}={number})"
                if len(component.locations) > 1
                else "true"
            )
            names[location_name(component.name, place)] = told
    writer = _ModelWriter(environment, names, taken)
    asked = properties or {}
    rewards = _reward_names(modules, asked)
    lines = [kind, "", *writer.declarations(shared, modules), *writer.rewards(modules, rewards)]
    lines += writer.labels()
    single = writer.starts()[0] is not None
    known = PropertyNames(names | {DEADLOCKED: '"deadlock"'}, rewards, writer.may_end(modules), single)
    questions, refused = _question_lines(asked, known)
    return PrismTexts("\n".join(lines) + "\n", "\n".join(questions) + "\n" if questions else "", refused)


def _question_lines(asked: Mapping[str, Property], known: PropertyNames) -> tuple[list[str], dict[str, str]]:
    lines: list[str] = []
    refused: dict[str, str] = {}
    named = prism_names(asked, set())
    for name, one in asked.items():
        try:
            lines.append(f'"{named[name]}": {prism_question(one, known)};')
        except Unsupported as error:
            refused[name] = error.what
            lines.append(f"// left out: {named[name]}")
    return lines, refused


def _check_finite(environment: Environment) -> None:
    if environment.controls:
        raise Unsupported("PRISM has no controls", fix="export environments with actions")
    if environment.flow is not None:
        raise Unsupported(
            "differential equations are written as steps", fix="discretise the environment first"
        )
    if environment.arithmetic is not Arithmetic.EXACT:
        raise Unsupported("PRISM models are written in exact arithmetic only", fix="use exact")
    for variable in environment.variables:
        match variable.kind:
            case Bool() | Int(int(), int()):
                pass
            case Int():
                what = f"`{variable.name}` has no bounds, and PRISM needs them"
                raise Unsupported(what, fix="give it a range")
            case _:
                what = f"`{variable.name}` is neither a bounded integer nor a truth value"
                raise Unsupported(what, fix="PRISM has no other variables: write JANI")


def _check_chain(environment: Environment, modules: Sequence[WrittenModule]) -> None:
    """In a dtmc PRISM draws among commands that are enabled together."""
    kinds: dict[str, ValueType] = {v.name: v.kind for v in environment.variables}
    kinds |= {location_key(c.name): Int(0, len(c.locations) - 1) for c in environment.components}
    compare = GuardComparison(kinds)
    if len(modules) > 1:
        raise Unsupported("a model of several modules is not written as dtmc", fix="write --type mdp")
    steps = modules[0].steps
    for number, step in enumerate(steps):
        if any(compare.may_hold_together(step.guard, other.guard) for other in steps[:number]):
            what = "two steps may be enabled together, among which PRISM would draw in a dtmc"
            raise Unsupported(what, fix="write --type mdp")


def _reward_names(modules: Sequence[WrittenModule], asked: Mapping[str, Property]) -> dict[str, str]:
    paid = dict.fromkeys(name for m in modules for s in m.steps for name, _ in s.rewards)
    counted = any(isinstance(p, Expected) and p.reward == STEPS for p in asked.values())
    return prism_names([*paid, *([STEPS] if counted else [])], set())


@dataclass(frozen=True, slots=True)
class _ModelWriter:
    environment: Environment
    names: Mapping[str, str]
    taken: set[str]

    def text(self, term: Term, where: str) -> str:
        return prism_expression(term, self.names, where).text

    def declarations(self, shared: Sequence[str], modules: Sequence[WrittenModule]) -> list[str]:
        fixed, restriction = self.starts()
        lines = [f"global {self._variable(name, fixed)}" for name in shared]
        titles = prism_names([m.name for m in modules], self.taken)
        used = [s.action for m in modules for s in m.steps if s.action is not None]
        actions = prism_names(dict.fromkeys(used), set(self.taken))
        for module in modules:
            lines += [f"module {titles[module.name]}"]
            lines += [f"  {self._variable(name, fixed)}" for name in module.variables]
            lines += [f"  {self._command(module, step, actions)}" for step in module.steps]
            lines += ["endmodule", ""]
        if restriction is not None:
            lines += [f"init {restriction} endinit", ""]
        return lines

    def _variable(self, name: str, fixed: Mapping[str, str] | None) -> str:
        start = "" if fixed is None else f" init {fixed[name]}"
        if name.startswith("@"):
            component = next(c for c in self.environment.components if location_key(c.name) == name)
            return f"{self.names[name]} : [0..{len(component.locations) - 1}]{start};"
        kind = next(v.kind for v in self.environment.variables if v.name == name)
        shown = f"[{kind.low}..{kind.high}]" if isinstance(kind, Int) else "bool"
        return f"{self.names[name]} : {shown}{start};"

    def starts(self) -> tuple[dict[str, str] | None, str | None]:
        """The only value of each variable and location, or (None, condition) where there are several."""
        environment = self.environment
        kinds = {v.name: v.kind for v in environment.variables}
        fixed: dict[str, str] = {}
        single = all(len(c.initial) == 1 for c in environment.components)
        for part in split_conjunction(environment.initial):
            match part:
                case Apply(Op.EQ, (Var(name), value) | (value, Var(name))) if (
                    name in kinds
                    and name not in fixed
                    and not free_names(value)
                    and has_value_type(evaluate_term(value, {}), kinds[name])
                ):
                    fixed[name] = self.text(Const(evaluate_term(value, {})), "initial")
                case Var(name) if name in kinds and name not in fixed:
                    fixed[name] = "true"
                case Apply(Op.NOT, (Var(name),)) if name in kinds and name not in fixed:
                    fixed[name] = "false"
                case _:
                    single = False
        moving = [c for c in environment.components if len(c.locations) > 1]
        if single and len(fixed) == len(kinds):
            fixed |= {location_key(c.name): str(c.locations.index(c.initial[0])) for c in moving}
            return fixed, None
        parts = [self.text(environment.initial, "initial")]
        for component in moving:
            key = self.names[location_key(component.name)]
            parts.append("|".join(f"{key}={component.locations.index(place)}" for place in component.initial))
        return None, "&".join(f"({part})" for part in parts)

    def _command(self, module: WrittenModule, step: WrittenStep, actions: Mapping[str, str]) -> str:
        where = f"`{module.name}`"
        action = "" if step.action is None else actions[step.action]
        branches = []
        for weight, updates in step.branches:
            told = "&".join(f"({self.names[n]}'={self.text(v, where)})" for n, v in updates) or "true"
            alone = len(step.branches) == 1 and weight == Const(1)
            branches.append(
                told if alone else f"{prism_expression(weight, self.names, where).within(1)}:{told}"
            )
        return f"[{action}] {self.text(step.guard, where)} -> {' + '.join(branches)};"

    def rewards(self, modules: Sequence[WrittenModule], rewards: Mapping[str, str]) -> list[str]:
        used = [s.action for m in modules for s in m.steps if s.action is not None]
        actions = prism_names(dict.fromkeys(used), set(self.taken))
        lines: list[str] = []
        for reward, title in rewards.items():
            lines.append(f'rewards "{title}"')
            if reward == STEPS:
                lines.append("  true : 1;")
            for module in modules:
                told = dict.fromkeys(
                    (s.action, s.guard, amount)
                    for s in module.steps
                    for name, amount in s.rewards
                    if name == reward and amount != Const(0)
                )
                several = len(modules) > 1
                seen: set[tuple[str | None, Term]] = set()
                for action, guard, amount in told:
                    condition = TRUE if several else guard
                    if (action, condition) in seen:
                        continue
                    seen.add((action, condition))
                    lines.append(
                        f"  [{actions[action] if action is not None else ''}] "
                        f"{self.text(condition, 'rewards')} : {self.text(amount, 'rewards')};"
                    )
            lines += ["endrewards", ""]
        return lines

    def labels(self) -> list[str]:
        """The conditions that questions may name."""
        kinds = {v.name: v.kind for v in self.environment.variables}
        told = [
            (name, term)
            for name, term in self.environment.definitions
            if name not in ("init", "deadlock")
            and free_names(term) <= kinds.keys()
            and is_truth_value(term, kinds)
        ]
        titles = prism_names([name for name, _ in told], set())
        return [f'label "{titles[name]}" = {self.text(term, "label")};' for name, term in told]

    def may_end(self, modules: Sequence[WrittenModule]) -> bool:
        """May there be a state in which no command is enabled?"""
        kinds: dict[str, ValueType] = {v.name: v.kind for v in self.environment.variables}
        kinds |= {location_key(c.name): Int(0, len(c.locations) - 1) for c in self.environment.components}
        alone = [s.guard for m in modules for s in m.steps if len(modules) == 1 or s.action is None]
        stuck = [~guard for guard in alone]
        return GuardComparison(kinds).may_hold_together(*stuck)
