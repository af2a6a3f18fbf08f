"""Updates that come one after the other as updates that happen at once: each over the state before the step.

What comes later reads what came before, so its terms take the place of the names. The same operations are
done in the same order, so float64 means what it did. A value that is overwritten in the same step stands
nowhere afterwards: it is only left out where nobody can miss that it had no value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby

from surefoot.errors import Unsupported
from surefoot.problem.environment import Choice, Environment, Update
from surefoot.reductions.written_out_size import long_update
from surefoot.term.interval import is_surely_defined
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import LAZY, Leaf, enumerate_parts, fold_term, substitute_names
from surefoot.term.types import is_whole, sort_of
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

_Group = dict[str, Term]
MOST_COMPOSED = 95  # levels of operations; a certificate has up to 100


def named_kinds(environment: Environment, chosen: Sequence[Choice]) -> dict[str, ValueType]:
    """What an update may name: variables, controls and what the environment chooses."""
    return {
        **{v.name: v.kind for v in environment.variables},
        **{c.name: Real(c.low, c.high) for c in environment.controls},
        **{c.name: c.kind for c in chosen},
    }


def compose_updates(
    updates: Sequence[Update], kinds: Mapping[str, ValueType], arithmetic: Arithmetic
) -> tuple[Update, ...]:
    """The same step with all updates at once; `Unsupported` says why there is none.

    `kinds`: of variables, controls and chosen values. Updates of one index are left as they are.
    """
    if len({update.index for update in updates}) < 2:
        return tuple(updates)
    if (why := long_update(updates, MOST_COMPOSED)) is not None:
        raise Unsupported(f"{why}, which is too long for updates one after the other")
    groups = [_read_group(several, kinds) for several in _group_updates(updates)]
    values: dict[str, Term] = {}
    composed: list[_Group] = []
    for group in groups:
        after = {name: substitute_names(value, values) for name, value in group.items()}
        composed.append(after)
        values |= {name: _as_stored(name, value, kinds, arithmetic) for name, value in after.items()}
    for place, name in _unmissed_values(groups):
        if not is_surely_defined(composed[place][name], kinds, arithmetic):
            raise Unsupported(
                f"`{name}` is overwritten in the same step, and its first value may be undefined"
            )
    return tuple(Update(Var(name), value) for name, value in values.items())


def _group_updates(updates: Sequence[Update]) -> list[list[Update]]:
    ordered = sorted(updates, key=lambda update: update.index)
    return [list(group) for _, group in groupby(ordered, key=lambda update: update.index)]


def _read_group(updates: Sequence[Update], kinds: Mapping[str, ValueType]) -> _Group:
    found: _Group = {}
    for update in updates:
        if not isinstance(update.target, Var) or isinstance(kinds.get(update.target.name), Array):
            raise Unsupported("arrays are written by updates one after the other in one step")
        if update.target.name in found:
            raise Unsupported(f"`{update.target.name}` is written twice in one step")
        found[update.target.name] = update.value
        for part in enumerate_parts(update.value):
            # Whether a power is exact depends on the kind of its exponent, not only on its value.
            if isinstance(part, Apply) and part.op is Op.POW and not isinstance(part.args[1], Const):
                raise Unsupported("a power with an exponent that varies, in updates one after the other")
    return found


def _as_stored(name: str, value: Term, kinds: Mapping[str, ValueType], arithmetic: Arithmetic) -> Term:
    """What a variable holds after it was written: a real one that computes in float64 holds doubles."""
    match kinds.get(name):
        case Int():
            fits = sort_of(value, kinds) is int
        case Bool():
            fits = sort_of(value, kinds) is bool
        case Real():
            if sort_of(value, kinds) is bool:
                fits = False
            elif arithmetic is Arithmetic.EXACT or not is_whole(value, kinds):
                fits = True
            elif isinstance(value, Const) and isinstance(value.value, int):
                return Const(Fraction(value.value))
            else:
                fits = False
        case _:
            fits = False
    if not fits:
        raise Unsupported(f"`{name}` gets a value of another kind, in updates one after the other")
    return value


def _unmissed_values(groups: Sequence[_Group]) -> list[tuple[int, str]]:
    """Values (group and name) that are overwritten, and whose lack no value that stays would show."""
    always = [{name: _always_read(value) for name, value in group.items()} for group in groups]
    noticed: set[tuple[int, str]] = set()
    found: list[tuple[int, str]] = []
    for place in reversed(range(len(groups))):
        for name in groups[place]:
            end = next((p for p in range(place + 1, len(groups)) if name in groups[p]), None)
            readers = range(place + 1, len(groups) if end is None else end + 1)
            if end is None or any(
                name in always[p][other] and (p, other) in noticed for p in readers for other in groups[p]
            ):
                noticed.add((place, name))
            else:
                found.append((place, name))
    return found


def _always_read(whole: Term) -> frozenset[str]:
    """Names without whose values the term has none."""

    def leaf(part: Leaf) -> frozenset[str]:
        return frozenset({part.name}) if isinstance(part, Var) else frozenset()

    def apply_operator(part: Apply, inner: list[frozenset[str]]) -> frozenset[str]:
        return inner[0] if part.op in LAZY else frozenset().union(*inner)

    return fold_term(whole, leaf, apply_operator)
