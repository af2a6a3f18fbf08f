"""Terms in the one form in which their text is read: of several spellings of a meaning, a parser knows one.

`(a and b) and c` is read as `a and b and c`, `-(3)` as the number -3. What is changed here means the same in
every state, also where a part has no value and where numbers are doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from surefoot.problem.environment import Environment, Outcome
from surefoot.problem.network import Network
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var, is_number
from surefoot.term.traverse import fold_term, rebuild_term
from surefoot.term.value_types import Arithmetic

_NEUTRAL = {Op.AND: TRUE, Op.OR: FALSE}


def canonical_environment(environment: Environment) -> Environment:
    """Terms as they are read, and updates in the order in which they happen."""

    def sort_outcome(outcome: Outcome) -> Outcome:
        return replace(outcome, updates=tuple(sorted(outcome.updates, key=lambda u: u.index)))

    same: Environment = with_canonical_terms(environment, environment.arithmetic)
    parts = tuple(
        replace(c, edges=tuple(replace(e, outcomes=tuple(map(sort_outcome, e.outcomes))) for e in c.edges))
        for c in same.components
    )
    return replace(same, components=parts)


def count_written_parts(*data: Any) -> int:
    """How many names, numbers and operators the text of all terms has; shared parts are written again."""
    done: dict[int, int] = {}
    total = 0

    def count(term: Term) -> Term:
        nonlocal total
        total += fold_term(term, lambda _: 1, lambda _, sizes: 1 + sum(sizes), done=done)
        return term

    for one in data:
        _replace_terms(one, count)
    return total


def with_canonical_terms(data: Any, arithmetic: Arithmetic) -> Any:
    """Data with every term in it as it is read; networks have none."""
    done: dict[int, Term] = {}

    def rewrite(term: Term) -> Term:
        return fold_term(term, lambda leaf: leaf, rules, done=done)

    def rules(part: Apply, args: list[Term]) -> Term:
        return _canonical_part(part, args, arithmetic)

    return _replace_terms(data, rewrite)


def _replace_terms(data: Any, rewrite: Callable[[Term], Term]) -> Any:
    if isinstance(data, Const | Var | Apply):
        return rewrite(data)
    if isinstance(data, tuple):
        parts = tuple(_replace_terms(part, rewrite) for part in data)
        return data if all(a is b for a, b in zip(data, parts, strict=True)) else parts
    if not is_dataclass(data) or isinstance(data, type | Network | Enum):
        return data
    changed = {}
    for field in fields(data):
        old = getattr(data, field.name)
        if (new := _replace_terms(old, rewrite)) is not old:
            changed[field.name] = new
    return replace(data, **changed) if changed else data


def _canonical_part(part: Apply, args: list[Term], arithmetic: Arithmetic) -> Term:
    match part.op, args:
        case (Op.AND | Op.OR) as op, _:
            return _flat_connective(part, op, args)
        case Op.NEG, [Const(value) as number] if is_number(number):
            return Const(-value)
        case Op.DIV, [Const() as one, Const(below) as two] if (
            arithmetic is Arithmetic.EXACT and is_number(one) and is_number(two) and below != 0
        ):
            return one / two
        case _:
            return rebuild_term(part, args)


def _flat_connective(part: Apply, op: Op, args: list[Term]) -> Term:
    """Without nested ones of its kind and without neutral parts; what would absorb others stays."""
    kept: list[Term] = []
    for one in args:
        if isinstance(one, Apply) and one.op is op:
            kept += one.args
        elif one != _NEUTRAL[op]:
            kept.append(one)
    if len(kept) < 2:
        return kept[0] if kept else _NEUTRAL[op]
    return rebuild_term(part, kept) if len(kept) == len(part.args) else Apply(op, tuple(kept))
