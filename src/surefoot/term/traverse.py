"""The traversal of terms: a meaning is one rule for leaves and one for applied operators, often a table.

The stack is a list, so that no term is too deep for Python's own. Arguments are visited from left to right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

from surefoot.term.term import Apply, Const, Op, Term, Var

T = TypeVar("T")
Leaf: TypeAlias = Const | Var
LAZY = frozenset({Op.AND, Op.OR, Op.IMPLIES, Op.ITE})  # look at later arguments only when they matter


def fold_term(
    whole: Term,
    leaf: Callable[[Leaf], T],
    apply: Callable[[Apply, list[T]], T],
    arguments: Callable[[Apply, list[T]], Iterator[Term]] | None = None,
    done: dict[int, T] | None = None,
) -> T:
    """Bottom up: what the rules make of the whole; a part that is one object in many places is visited once.

    `arguments` says instead what to visit below a part: some of its arguments, by the values found so far, or
    other terms. `done` is what is known of parts, by identity, and gets what is found out: for several terms
    that share parts, all of which exist for as long as it is used.
    """
    if not isinstance(whole, Apply):
        return leaf(whole)
    if done is None:
        done = {}  # by identity: comparing by value would traverse every part again
    elif id(whole) in done:
        return done[id(whole)]
    alive: list[Apply] = []  # an identity is that of a term which still exists
    above: list[tuple[Apply, list[T], Iterator[Term]]] = []
    part: Apply = whole
    values: list[T] = []
    rest = iter(part.args) if arguments is None else arguments(part, values)
    while True:
        for argument in rest:
            if argument.__class__ is not Apply:
                values.append(leaf(argument))  # type: ignore[arg-type]
            elif id(argument) in done:
                values.append(done[id(argument)])
            else:
                above.append((part, values, rest))
                part, values = argument, []
                rest = iter(part.args) if arguments is None else arguments(part, values)
                break
        else:
            value = apply(part, values)
            done[id(part)] = value
            if not above:
                return value
            if arguments is not None:
                alive.append(part)
            part, values, rest = above.pop()
            values.append(value)


def needed_arguments(term: Apply, values: list[Any]) -> Iterator[Term]:
    """The arguments that the reference looks at, given the values of those before."""
    op, args = term.op, term.args
    if op not in LAZY:
        return iter(args)
    return _needed_lazily(op, args, values)


def _needed_lazily(op: Op, args: tuple[Term, ...], values: list[Any]) -> Iterator[Term]:
    if op is Op.ITE:
        yield args[0]
        yield args[1] if values[0] else args[2]
    elif op is Op.IMPLIES:
        yield args[0]
        if values[0]:
            yield args[1]
    else:
        for argument in args:
            yield argument
            if bool(values[-1]) is (op is Op.OR):
                return


def is_constant_array(term: Apply) -> bool:
    """An array of constants, as a table is one: it may have very many."""
    return term.op is Op.ARRAY and bool(term.args) and all(a.__class__ is Const for a in term.args)


def enumerate_parts(whole: Term) -> Iterator[Term]:
    """The term and everything below it; a part that is one object in many places comes once."""
    seen: set[int] = set()
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, Apply) and id(part) not in seen:
            seen.add(id(part))
            waiting.extend(reversed(part.args))


def count_term_parts(whole: Term) -> int:
    """How many operators and leaves a term has, shared parts counted as often as they occur."""
    return fold_term(whole, lambda _: 1, lambda _, sizes: 1 + sum(sizes))


def substitute_names(t: Term, values: Mapping[str, Term]) -> Term:
    """Replace names by terms, everywhere at once."""
    return map_variables(t, lambda v: values.get(v.name, v))


def map_variables(t: Term, new: Callable[[Var], Term]) -> Term:
    """The same term with every `Var` replaced by `new(var)`; what does not change stays the same object."""
    return fold_term(t, lambda leaf: new(leaf) if isinstance(leaf, Var) else leaf, rebuild_term)


def rebuild_term(term: Apply, args: list[Term]) -> Term:
    """The operator on other arguments; the term itself if they are the same objects."""
    for old, new in zip(term.args, args, strict=True):
        if old is not new:
            return Apply(term.op, tuple(args))
    return term
