"""Terms over variables, some of them arrays, become terms over scalars; and where they have no value.

An array is a tuple of its elements. An access whose index varies becomes a balanced tree of comparisons and
has a value for every index; `undefined` says where the reference would refuse to give one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.term.evaluate import constant_value
from surefoot.term.interval import Kinds, decide_by_bounds
from surefoot.term.printer import show_term
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    conjunction_of,
    disjunction_of,
    equal,
    negate_condition,
)
from surefoot.term.traverse import LAZY, Leaf, fold_term
from surefoot.term.types import ELEMENTARY, is_whole
from surefoot.term.value_types import Arithmetic

ScalarTree: TypeAlias = "Term | tuple[ScalarTree, ...]"
TreeScope: TypeAlias = Mapping[str, ScalarTree]


def expand_term(whole: Term, scope: TreeScope, computing: Arithmetic | None = None) -> ScalarTree:
    """The term with every name replaced as the scope says, arrays resolved, constants folded.

    `computing`: for somebody to whom it matters what is rounded. Only what has an exact value in this
    arithmetic is folded then.
    """

    def leaf(part: Leaf) -> ScalarTree:
        if isinstance(part, Const):
            return part
        if part.name not in scope:
            raise InvalidProblem(f"`{part.name}` is not declared", fix=did_you_mean(part.name, scope))
        return scope[part.name]

    def apply_operator(term: Apply, parts: list[ScalarTree]) -> ScalarTree:
        if computing is not None and not _has_exact_value(term.op, parts, computing):
            return Apply(term.op, tuple([require_scalar(p) for p in parts]))
        return _expand_operator(term, parts)

    return fold_term(whole, leaf, apply_operator)


def _has_exact_value(op: Op, parts: list[ScalarTree], computing: Arithmetic) -> bool:
    """Unless constants are rounded by the operator, or before it (in float64 those that are not whole)."""
    values = [part.value for part in parts if isinstance(part, Const)]
    if len(values) < len(parts) or op in _ARRAYS.keys() - {Op.EQ} or op is Op.NEG:
        return True
    if op in ELEMENTARY:
        return False
    if op is Op.POW and not isinstance(values[1], int):
        return False
    if computing is Arithmetic.EXACT:
        return True
    divides = op is Op.DIV or (op is Op.POW and values[1] < 0)
    return not divides and all(isinstance(value, int) for value in values)


def _expand_operator(term: Apply, parts: list[ScalarTree]) -> ScalarTree:
    if term.op in _ARRAYS:
        return _ARRAYS[term.op](*parts)
    return fold_operator(term.op, tuple([require_scalar(p) for p in parts]))


def require_scalar(tree: ScalarTree) -> Term:
    """A tree that must be a single value."""
    if isinstance(tree, tuple):
        raise InvalidProblem("an array is used where a single value is needed", fix="pick an element: a[i]")
    return tree


def expand_scalar(term: Term, scope: TreeScope, computing: Arithmetic | None = None) -> Term:
    return require_scalar(expand_term(term, scope, computing))


def fold_operator(op: Op, parts: tuple[Term, ...]) -> Term:
    """The operator applied; its value at once where that is certain."""
    if op is Op.AND or op is Op.OR:
        return conjunction_of(parts) if op is Op.AND else disjunction_of(parts)
    if op is Op.IMPLIES:
        return disjunction_of((negate_condition(parts[0]), parts[1]))
    if op is Op.NOT:
        return negate_condition(parts[0])
    value = constant_value(op, parts)
    return Apply(op, parts) if value is None else value


def merge_branches(condition: Term, then: ScalarTree, otherwise: ScalarTree) -> ScalarTree:
    """`ite` of two values of the same shape, element by element."""
    if condition == TRUE or then == otherwise:
        return then
    if condition == FALSE:
        return otherwise
    if isinstance(then, tuple) and isinstance(otherwise, tuple) and len(then) == len(otherwise):
        return tuple(merge_branches(condition, a, b) for a, b in zip(then, otherwise, strict=True))
    return Apply(Op.ITE, (condition, require_scalar(then), require_scalar(otherwise)))


def _select_element(elements: ScalarTree, index: ScalarTree) -> ScalarTree:
    """The element at an index; outside the array, where the term is undefined, the nearest one."""
    place = require_scalar(index)
    if not isinstance(elements, tuple):
        raise InvalidProblem(f"`{show_term(elements)}` is not an array")
    if not elements:
        return Const(0)
    if isinstance(place, Const):
        return elements[max(0, min(int(place.value), len(elements) - 1))]
    return _select_nearest(elements, place, 0)


def _select_nearest(elements: tuple[ScalarTree, ...], index: Term, first: int) -> ScalarTree:
    if len(elements) == 1:
        return elements[0]
    half = len(elements) // 2
    left = _select_nearest(elements[:half], index, first)
    return merge_branches(
        index <= first + half - 1, left, _select_nearest(elements[half:], index, first + half)
    )


def equal_trees(left: ScalarTree, right: ScalarTree) -> Term:
    """Equality of two scalars or of two arrays."""
    if isinstance(left, tuple) or isinstance(right, tuple):
        if not isinstance(left, tuple) or not isinstance(right, tuple) or len(left) != len(right):
            return FALSE
        return conjunction_of(tuple(equal_trees(a, b) for a, b in zip(left, right, strict=True)))
    return fold_operator(Op.EQ, (left, right))


def replace_tree_element(old: ScalarTree, path: tuple[Term, ...], value: ScalarTree) -> ScalarTree:
    """An array with the element at a path replaced; the path's indices may vary."""
    if not path:
        return value
    if not isinstance(old, tuple):
        raise InvalidProblem("an element of something that is not an array is assigned")
    return tuple(
        merge_branches(
            fold_operator(Op.EQ, (path[0], Const(i))), replace_tree_element(element, path[1:], value), element
        )
        for i, element in enumerate(old)
    )


def tree_leaves(tree: ScalarTree) -> tuple[Term, ...]:
    """The scalars of a tree from left to right."""
    return tuple(leaf for part in tree for leaf in tree_leaves(part)) if isinstance(tree, tuple) else (tree,)


def undefined_condition(term: Term, scope: TreeScope, kinds: Kinds) -> Term:
    """Where the reference cannot evaluate the term: an index out of range, a division by zero, …"""

    def apply_operator(part: Apply, inner: list[Term]) -> Term:
        if part.op in LAZY:
            return FALSE if all(u == FALSE for u in inner) else _undefined_lazily(part, inner, scope)
        own = _PARTIAL[part.op](part, scope, kinds) if part.op in _PARTIAL else FALSE
        return disjunction_of((*inner, own))

    return fold_term(term, lambda _: FALSE, apply_operator)


def _undefined_lazily(term: Apply, inner: list[Term], scope: TreeScope) -> Term:
    """Later arguments matter only where the earlier ones do not decide."""
    values = [require_scalar(expand_term(a, scope)) for a in term.args[:-1]]
    if term.op is Op.ITE:
        test = values[0]
        branches = (conjunction_of((test, inner[1])), conjunction_of((negate_condition(test), inner[2])))
        return disjunction_of((inner[0], *branches))
    result = inner[-1]
    for value, here in zip(reversed(values), reversed(inner[:-1]), strict=True):
        goes_on = negate_condition(value) if term.op is Op.OR else value
        result = disjunction_of((here, conjunction_of((goes_on, result))))
    return result


def _index_out_of_range(index: Term, length: int, kinds: Kinds) -> Term:
    """Is the index not one of an array of this length?"""
    beyond = (
        decide_by_bounds(index < 0, kinds),
        decide_by_bounds(index > length - 1, kinds),
        fractional_condition(index, kinds),
    )
    return disjunction_of(beyond)


def fractional_condition(value: Term, kinds: Kinds) -> Term:
    return FALSE if is_whole(value, kinds) else negate_condition(equal(Apply(Op.FLOOR, (value,)), value))


def _select_undefined(term: Apply, scope: TreeScope, kinds: Kinds) -> Term:
    elements, index = (expand_term(a, scope) for a in term.args)
    return _index_out_of_range(
        require_scalar(index), len(elements) if isinstance(elements, tuple) else 0, kinds
    )


def _zero_divisor(term: Apply, scope: TreeScope, kinds: Kinds) -> Term:
    return decide_by_bounds(equal(expand_scalar(term.args[1], scope), 0), kinds)


def _modulo_undefined(term: Apply, scope: TreeScope, kinds: Kinds) -> Term:
    parts = (fractional_condition(expand_scalar(a, scope), kinds) for a in term.args)
    return disjunction_of((_zero_divisor(term, scope, kinds), *parts))


def _power_undefined(term: Apply, scope: TreeScope, kinds: Kinds) -> Term:
    base, exponent = (expand_scalar(a, scope) for a in term.args)
    pole = conjunction_of((decide_by_bounds(equal(base, 0), kinds), decide_by_bounds(exponent < 0, kinds)))
    root = conjunction_of((decide_by_bounds(base < 0, kinds), fractional_condition(exponent, kinds)))
    return disjunction_of((pole, root))


def _undefined_argument(test: Callable[[Term], Term]) -> Callable[[Apply, TreeScope, Kinds], Term]:
    return lambda term, scope, kinds: decide_by_bounds(test(expand_scalar(term.args[0], scope)), kinds)


_ARRAYS: dict[Op, Callable[..., ScalarTree]] = {
    Op.ARRAY: lambda *elements: elements,
    Op.SELECT: _select_element,
    Op.EQ: equal_trees,
    Op.ITE: lambda condition, then, otherwise: merge_branches(require_scalar(condition), then, otherwise),
}
_PARTIAL: dict[Op, Callable[[Apply, TreeScope, Kinds], Term]] = {
    Op.SELECT: _select_undefined,
    Op.DIV: _zero_divisor,
    Op.MOD: _modulo_undefined,
    Op.POW: _power_undefined,
    Op.SQRT: _undefined_argument(lambda x: x < 0),
    Op.LOG: _undefined_argument(lambda x: x <= 0),
    Op.ASIN: _undefined_argument(lambda x: Apply(Op.ABS, (x,)) > 1),
    Op.ACOS: _undefined_argument(lambda x: Apply(Op.ABS, (x,)) > 1),
}
