"""Terms over variables, some of them arrays, become terms over scalars; and where they have no value.

An array is a tuple of its elements. An access whose index varies becomes a balanced tree of comparisons and
has a value for every index; `undefined` says where the reference would refuse to give one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from surefoot.encode.interval import Kinds, known
from surefoot.encode.sort import is_whole
from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.problem.meaning.evaluate import LAZY, Undefined, evaluate
from surefoot.problem.show import show
from surefoot.problem.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction,
    disjunction,
    equal,
)

Tree: TypeAlias = "Term | tuple[Tree, ...]"
Scope: TypeAlias = Mapping[str, Tree]


def expand(term: Term, scope: Scope) -> Tree:
    """The term with every name replaced as the scope says, arrays resolved, constants folded."""
    match term:
        case Const():
            return term
        case Var(name):
            if name not in scope:
                raise InvalidProblem(f"`{name}` is not declared", fix=did_you_mean(name, scope))
            return scope[name]
        case Apply(op, args):
            parts = tuple(expand(a, scope) for a in args)
            return ARRAYS[op](*parts) if op in ARRAYS else fold(op, tuple(scalar(p) for p in parts))


def scalar(tree: Tree) -> Term:
    """A tree that must be a single value."""
    if isinstance(tree, tuple):
        raise InvalidProblem("an array is used where a single value is needed", fix="pick an element: a[i]")
    return tree


def expand_scalar(term: Term, scope: Scope) -> Term:
    return scalar(expand(term, scope))


def fold(op: Op, parts: tuple[Term, ...]) -> Term:
    """The operator applied; its value at once where that is certain."""
    if op is Op.AND or op is Op.OR:
        return conjunction(parts) if op is Op.AND else disjunction(parts)
    if op is Op.IMPLIES:
        return disjunction((opposite(parts[0]), parts[1]))
    if op is Op.NOT:
        return opposite(parts[0])
    whole = Apply(op, parts)
    if all(isinstance(p, Const) for p in parts):
        try:
            return Const(evaluate(whole, {}))
        except Undefined:
            return whole
    return whole


def opposite(term: Term) -> Term:
    """`not term`, without double negation."""
    match term:
        case Const(value):
            return FALSE if value else TRUE
        case Apply(Op.NOT, (inner,)):
            return inner
        case _:
            return Apply(Op.NOT, (term,))


def merge(condition: Term, then: Tree, otherwise: Tree) -> Tree:
    """`ite` of two values of the same shape, element by element."""
    if condition == TRUE or then == otherwise:
        return then
    if condition == FALSE:
        return otherwise
    if isinstance(then, tuple) and isinstance(otherwise, tuple) and len(then) == len(otherwise):
        return tuple(merge(condition, a, b) for a, b in zip(then, otherwise, strict=True))
    return Apply(Op.ITE, (condition, scalar(then), scalar(otherwise)))


def select(elements: Tree, index: Tree) -> Tree:
    """The element at an index; outside the array, where the term is undefined, the nearest one."""
    place = scalar(index)
    if not isinstance(elements, tuple):
        raise InvalidProblem(f"`{show(elements)}` is not an array")
    if not elements:
        return Const(0)
    if isinstance(place, Const):
        return elements[max(0, min(int(place.value), len(elements) - 1))]
    return _nearest(elements, place, 0)


def _nearest(elements: tuple[Tree, ...], index: Term, first: int) -> Tree:
    if len(elements) == 1:
        return elements[0]
    half = len(elements) // 2
    left = _nearest(elements[:half], index, first)
    return merge(index <= first + half - 1, left, _nearest(elements[half:], index, first + half))


def same(left: Tree, right: Tree) -> Term:
    """Equality of two scalars or of two arrays."""
    if isinstance(left, tuple) or isinstance(right, tuple):
        if not isinstance(left, tuple) or not isinstance(right, tuple) or len(left) != len(right):
            return FALSE
        return conjunction(tuple(same(a, b) for a, b in zip(left, right, strict=True)))
    return fold(Op.EQ, (left, right))


def placed(old: Tree, path: tuple[Term, ...], value: Tree) -> Tree:
    """An array with the element at a path replaced; the path's indices may vary."""
    if not path:
        return value
    if not isinstance(old, tuple):
        raise InvalidProblem("an element of something that is not an array is assigned")
    return tuple(
        merge(fold(Op.EQ, (path[0], Const(i))), placed(element, path[1:], value), element)
        for i, element in enumerate(old)
    )


def leaves(tree: Tree) -> tuple[Term, ...]:
    """The scalars of a tree from left to right."""
    return tuple(leaf for part in tree for leaf in leaves(part)) if isinstance(tree, tuple) else (tree,)


def undefined(term: Term, scope: Scope, kinds: Kinds) -> Term:
    """Where the reference cannot evaluate the term: an index out of range, a division by zero, …"""
    if not isinstance(term, Apply):
        return FALSE
    inner = tuple(undefined(a, scope, kinds) for a in term.args)
    if term.op in LAZY:
        return FALSE if all(u == FALSE for u in inner) else _lazily(term, inner, scope)
    own = _PARTIAL[term.op](term, scope, kinds) if term.op in _PARTIAL else FALSE
    return disjunction((*inner, own))


def _lazily(term: Apply, inner: tuple[Term, ...], scope: Scope) -> Term:
    """Later arguments matter only where the earlier ones do not decide."""
    values = [scalar(expand(a, scope)) for a in term.args[:-1]]
    if term.op is Op.ITE:
        test = values[0]
        branches = (conjunction((test, inner[1])), conjunction((opposite(test), inner[2])))
        return disjunction((inner[0], *branches))
    result = inner[-1]
    for value, here in zip(reversed(values), reversed(inner[:-1]), strict=True):
        goes_on = opposite(value) if term.op is Op.OR else value
        result = disjunction((here, conjunction((goes_on, result))))
    return result


def outside(index: Term, length: int, kinds: Kinds) -> Term:
    """Is the index not one of an array of this length?"""
    beyond = (known(index < 0, kinds), known(index > length - 1, kinds), not_whole(index, kinds))
    return disjunction(beyond)


def not_whole(value: Term, kinds: Kinds) -> Term:
    return FALSE if is_whole(value, kinds) else opposite(equal(Apply(Op.FLOOR, (value,)), value))


def _select_undefined(term: Apply, scope: Scope, kinds: Kinds) -> Term:
    elements, index = (expand(a, scope) for a in term.args)
    return outside(scalar(index), len(elements) if isinstance(elements, tuple) else 0, kinds)


def _zero_divisor(term: Apply, scope: Scope, kinds: Kinds) -> Term:
    return known(equal(expand_scalar(term.args[1], scope), 0), kinds)


def _modulo_undefined(term: Apply, scope: Scope, kinds: Kinds) -> Term:
    parts = (not_whole(expand_scalar(a, scope), kinds) for a in term.args)
    return disjunction((_zero_divisor(term, scope, kinds), *parts))


def _power_undefined(term: Apply, scope: Scope, kinds: Kinds) -> Term:
    base, exponent = (expand_scalar(a, scope) for a in term.args)
    pole = conjunction((known(equal(base, 0), kinds), known(exponent < 0, kinds)))
    root = conjunction((known(base < 0, kinds), not_whole(exponent, kinds)))
    return disjunction((pole, root))


def _argument(test: Callable[[Term], Term]) -> Callable[[Apply, Scope, Kinds], Term]:
    return lambda term, scope, kinds: known(test(expand_scalar(term.args[0], scope)), kinds)


ARRAYS: dict[Op, Callable[..., Tree]] = {
    Op.ARRAY: lambda *elements: elements,
    Op.SELECT: select,
    Op.EQ: same,
    Op.ITE: lambda condition, then, otherwise: merge(scalar(condition), then, otherwise),
}
_PARTIAL: dict[Op, Callable[[Apply, Scope, Kinds], Term]] = {
    Op.SELECT: _select_undefined,
    Op.DIV: _zero_divisor,
    Op.MOD: _modulo_undefined,
    Op.POW: _power_undefined,
    Op.SQRT: _argument(lambda x: x < 0),
    Op.LOG: _argument(lambda x: x <= 0),
    Op.ASIN: _argument(lambda x: Apply(Op.ABS, (x,)) > 1),
    Op.ACOS: _argument(lambda x: Apply(Op.ABS, (x,)) > 1),
}
