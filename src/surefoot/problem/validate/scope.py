"""Which names a term may use where it stands, and the error for any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.problem.environment import Environment
from surefoot.problem.network import Network
from surefoot.problem.validate.dropped_head import dropped_head_error
from surefoot.problem.validate.length import check_constant_length
from surefoot.term.printer import abbreviate_term, show_term
from surefoot.term.reserved_names import (
    chosen_action,
    is_reserved,
    location_key,
    location_parts,
    output_index,
)
from surefoot.term.term import Const, Term
from surefoot.term.types import (
    INT,
    describe_type,
    infer_term_type,
    join_types,
    suggest_conversion,
    unbounded_type,
)
from surefoot.term.value_types import Array, Bool, ValueType


@dataclass(frozen=True, slots=True)
class NameScope:
    """Names with their kinds: declared ones, and the reserved ones that make sense here."""

    kinds: Mapping[str, ValueType]
    variables: frozenset[str]  # those that an edge may assign
    reserved: Mapping[str, ValueType] = field(default_factory=dict)
    headless: Network | None = None  # the policy's network, if its outputs are not those of its file

    def also(self, kinds: Mapping[str, ValueType]) -> NameScope:
        return replace(self, kinds={**self.kinds, **kinds})

    def with_reserved(self, reserved: Mapping[str, ValueType]) -> NameScope:
        return replace(self, reserved=reserved)

    def kind(self, term: Term, where: str) -> ValueType:
        found = infer_term_type(term, {**self.reserved, **self.kinds}, where, self._unknown)
        check_constant_length(term, where)
        return found

    def require(self, term: Term, wanted: ValueType, where: str) -> None:
        """The term has to be of this kind; an integer may stand where a real number is wanted."""
        found = self.kind(term, where)
        if join_types(found, unbounded_type(wanted)) != unbounded_type(wanted):
            what = (
                f"`{abbreviate_term(term)}` is {describe_type(found)}, but "
                f"{describe_type(unbounded_type(wanted))} is needed"
            )
            raise InvalidProblem(what, fix=suggest_conversion(term, found, (type(wanted),)), where=where)

    def _unknown(self, name: str) -> InvalidProblem:
        if is_reserved(name):
            return self._unknown_reserved(name)
        return InvalidProblem(f"`{name}` is not declared", fix=did_you_mean(name, self.kinds, self.reserved))

    def _unknown_reserved(self, name: str) -> InvalidProblem:
        if not self.reserved:
            return InvalidProblem(f"`{name}` cannot be used here", fix="it may be used in properties only")
        if output_index(name) is not None:
            if self.headless is not None:
                return dropped_head_error(self.headless)
            count = sum(output_index(n) is not None for n in self.reserved)
            fix = f"they are numbered from 0 to {count - 1}" if count else "only a network policy has outputs"
            return InvalidProblem(f"`{name}`: the policy has {count} outputs", fix=fix)
        if (action := chosen_action(name)) is not None:
            known = [a for n in self.reserved if (a := chosen_action(n)) is not None]
            fix = did_you_mean(action, known) if known else "the policy has no actions"
            return InvalidProblem(f"`{action}` is not an action of the policy", fix=fix)
        if (place := location_parts(name)) is not None:
            places = [p for n in self.reserved if (p := location_parts(n)) is not None]
            components = list(dict.fromkeys(c for c, _ in places))
            if place[0] not in components:
                return InvalidProblem(
                    f"there is no component `{place[0]}`", fix=did_you_mean(place[0], components)
                )
            own = [location for c, location in places if c == place[0]]
            what = f"component `{place[0]}` has no location `{place[1]}`"
            return InvalidProblem(what, fix=did_you_mean(place[1], own))
        return InvalidProblem(f"`{name}` cannot be used here", fix="it needs a policy")


def state_scope(environment: Environment) -> NameScope:
    """Everything a state holds: variables, and the index of the location where a component has several."""
    places = {location_key(c.name): INT for c in environment.components if len(c.locations) > 1}
    kinds = {v.name: v.kind for v in environment.variables}
    return NameScope({**kinds, **places}, frozenset(kinds))


def check_value_type(kind: ValueType, name: str, where: str) -> None:
    """Limits in order and lengths positive."""
    if isinstance(kind, Array):
        if kind.length < 1:
            raise InvalidProblem(
                f"array `{name}` has length {kind.length}", fix="use at least 1", where=where
            )
        check_value_type(kind.element, name, where)
    elif not isinstance(kind, Bool):
        check_limits(kind.low, kind.high, name, where)


def check_limits(low: int | Fraction | None, high: int | Fraction | None, name: str, where: str) -> None:
    if low is not None and high is not None and low > high:
        what = (
            f"the lower limit {show_term(Const(low))} of `{name}` is above its upper limit "
            f"{show_term(Const(high))}"
        )
        raise InvalidProblem(what, fix="swap them", where=where)


def check_unique(names: list[tuple[str, str]], what: str) -> None:
    """No name twice; `names` are pairs of a name and the place where it is declared."""
    seen: set[str] = set()
    for name, where in names:
        if name in seen:
            raise InvalidProblem(f"{what} `{name}` is declared twice", fix="rename one of them", where=where)
        seen.add(name)


def check_name(name: str, where: str) -> None:
    if not name:
        raise InvalidProblem("a name is empty", fix="give it a name", where=where)
    if is_reserved(name) or name.startswith("@"):
        raise InvalidProblem(f"`{name}` is a reserved name", fix="rename it", where=where)
