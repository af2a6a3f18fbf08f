"""What a sweep asks: every combination of models, policies, properties, parameters and engines.

Combinations that mean the same problem are asked once: a value that a property does not name, or an option
that an engine does not have, makes no second problem of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from glob import glob, has_magic
from hashlib import sha256
from itertools import product
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

from surefoot.engines import ENGINES
from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.search.sweep.checkpoint_files import checkpoint_step
from surefoot.search.sweep.swept_values import SweptValues
from surefoot.term.lexer import shorten_text

MOST_UNITS = 100_000
LONGEST_LABEL = 60
NOT_SWEPT = ("run_directory", "resume", "workers", "ray")  # the sweep has its own
Named: TypeAlias = tuple[tuple[str, str], ...]
ListProperties: TypeAlias = Callable[["SweepUnit"], Sequence[str]]
_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The axes of a sweep; an empty one leaves to the model or to all engines what it is about."""

    models: tuple[str, ...]
    policies: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    constants: tuple[SweptValues, ...] = ()
    values: tuple[SweptValues, ...] = ()  # of what stands in braces in properties and starts
    where: tuple[str, ...] = ()  # conditions on the starts
    engines: tuple[str, ...] = ()
    options: tuple[SweptValues, ...] = ()  # fields of engines
    settings: Mapping[str, str | bool] = field(default_factory=dict)  # how models are read
    seconds: float = 60.0  # for each problem
    seed: int = 0


@dataclass(frozen=True)
class SweepUnit:
    """One problem, in words that every process understands."""

    model: str
    policy: str | None
    property: str | None  # as it was asked; None: the only one of the model, or it could not be read
    constants: Named
    values: Named  # of what stands in braces in property and starts
    where: str | None
    engine: str | None
    options: Named
    settings: tuple[tuple[str, str | bool], ...]
    seconds: float
    seed: int

    @cached_property
    def key(self) -> str:
        """Equal keys, the same problem asked in the same way."""
        return sha256(json.dumps(unit_to_json(self), sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def question(self) -> str | None:
        """The property with its values."""
        return None if self.property is None else _fill_places(self.property, dict(self.values))

    @cached_property
    def start_condition(self) -> str | None:
        return None if self.where is None else _fill_places(self.where, dict(self.values))

    @cached_property
    def parameters(self) -> dict[str, str]:
        """What distinguishes it from others, by the heading of a table."""
        found = {"model": self.model} | ({} if self.policy is None else {"policy": self.policy})
        found |= {} if self.property is None else {"property": self.property}
        found |= dict(self.constants) | {n: v for n, v in self.values if n not in dict(self.constants)}
        found |= {} if self.where is None else {"where": self.where}
        found |= {} if self.engine is None else {"engine": self.engine}
        return found | {n: v for n, v in self.options if n not in found}

    @cached_property
    def title(self) -> str:
        """For one line of progress."""
        parts = [Path(self.policy or self.model).stem, *(f"{n}={v}" for n, v in self.constants)]
        parts += [self.engine or "", self.question or ""]
        return shorten_text(" ".join(part for part in parts if part), LONGEST_LABEL)


def unit_to_json(unit: SweepUnit) -> dict[str, Any]:
    found: dict[str, Any] = {one.name: getattr(unit, one.name) for one in fields(unit)}
    for name in ("constants", "values", "options", "settings"):
        found[name] = dict(found[name])
    return found | {"seconds": None if unit.seconds == inf else unit.seconds}


def list_units(plan: SweepPlan, list_properties: ListProperties) -> tuple[SweepUnit, ...]:
    """Every problem once, in the order of the plan; `list_properties`: of a model for which none is named."""
    _check_plan(plan)
    found: dict[SweepUnit, None] = {}
    for one in _expand_plan(plan, list_properties):
        found[one] = None
        if len(found) > MOST_UNITS:
            raise InvalidProblem(f"more than {MOST_UNITS} problems", fix="split the sweep")
    return tuple(found)


def _expand_plan(plan: SweepPlan, list_properties: ListProperties) -> Iterator[SweepUnit]:
    settings = tuple(sorted(plan.settings.items()))
    known = dict[tuple[str, Named], Sequence[str]]()
    for model, policy, constants in product(
        _expand_files(plan.models, "a model"),
        _expand_files(plan.policies, "--policy") or (None,),
        _combine(plan.constants),
    ):
        plain = SweepUnit(
            model, policy, None, constants, (), None, None, (), settings, plan.seconds, plan.seed
        )
        if not plan.properties and (model, constants) not in known:
            known[model, constants] = list_properties(plain)
        asked = plan.properties or known[model, constants] or (None,)
        for property, values, where, engine in product(
            asked, _combine(plan.values), plan.where or (None,), plan.engines or (None,)
        ):
            for options in _combine(_options_of(engine, plan.options)):
                used = {n for t in (property, where) if t is not None for n in _PLACE.findall(t)}
                kept = tuple((n, v) for n, v in values if n in used)
                asked_so = replace(plain, property=property, where=where, values=kept)
                yield replace(asked_so, engine=engine, options=options)


def _combine(axes: Sequence[SweptValues]) -> list[Named]:
    names = [one.name for one in axes]
    return [tuple(zip(names, chosen, strict=True)) for chosen in product(*(one.values for one in axes))]


def _expand_files(given: Sequence[str], what: str) -> tuple[str, ...]:
    """Files by name, and those that a pattern like `runs/*.zip` means, in the order of training."""
    found: list[str] = []
    for text in given:
        if not has_magic(text) or Path(text).exists():
            found.append(text)
            continue
        matching = sorted(glob(text, recursive=True), key=_training_order)
        if not matching:
            raise InvalidProblem(f"no file is called like `{text}`", fix="check the pattern", where=what)
        found += matching
    return tuple(dict.fromkeys(found))


def _training_order(path: str) -> tuple[str, int, str]:
    """Folder by folder, by the last number in the name."""
    step = checkpoint_step(Path(path).name.partition(".")[0])
    return str(Path(path).parent), -1 if step is None else step, path


def _fill_places(text: str, values: Mapping[str, str]) -> str:
    """`P>={p} [ F x = 3 ]` with a value of p; braces around other names stay."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), text)


def _options_of(engine: str | None, options: Sequence[SweptValues]) -> list[SweptValues]:
    """Those that the engine has."""
    return [] if engine is None else [one for one in options if one.name in engine_fields(engine)]


def engine_fields(engine: str) -> dict[str, str]:
    """The options of an engine by name, each with its type as it is written; not where it keeps its work."""
    found = {one.name: str(one.type) for one in fields(ENGINES[engine])}  # type: ignore[arg-type]
    return {name: kind for name, kind in found.items() if name not in NOT_SWEPT}


def _check_plan(plan: SweepPlan) -> None:
    """What could not mean anything, before any work."""
    if not plan.models:
        raise InvalidProblem("there is no model to ask about", fix="name at least one")
    for engine in plan.engines:
        if engine not in ENGINES:
            fix = did_you_mean(engine, ENGINES)
            raise InvalidProblem(f"there is no engine `{engine}`", fix=fix, where="--engine")
    for axis, option in ((plan.constants, "--const"), (plan.values, "--value"), (plan.options, "--option")):
        names = [one.name for one in axis]
        if twice := next((n for n in names if names.count(n) > 1), None):
            raise InvalidProblem(f"`{twice}` is given twice", fix="write its values once", where=option)
    texts = (*plan.properties, *plan.where)
    used = {name for text in texts for name in _PLACE.findall(text)}
    for one in plan.values:
        if one.name not in used:
            fix = f"write {{{one.name}}} in a property or in starts, or leave it out"
            raise InvalidProblem(f"`{one.name}` stands nowhere", fix=fix, where="--value")
    having = {name for engine in plan.engines for name in engine_fields(engine)}
    for one in plan.options:
        if one.name not in having:
            fix = did_you_mean(one.name, having) if having else "name the engines that have it: --engine"
            what = f"none of the engines has an option `{one.name}`"
            raise InvalidProblem(what, fix=fix, where="--option")
