"""An initial condition taken apart: blocks of variables that have nothing to do with each other, and cases.

A block is a set of scalar variables with the conjuncts about them. A case of a block is a conjunction of
linear comparisons and of what is left over (`rest`); the block is the union of its cases. Constants and
limits of float64 environments are the doubles that they mean; that sums are rounded there is ignored here,
because every start is looked at once more when it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.environment import Environment
from surefoot.reductions.expand import expand_scalar, undefined_condition
from surefoot.reductions.scalar_layout import ScalarLayout, lay_out_scalars
from surefoot.term.columns import LARGEST
from surefoot.term.evaluate import evaluate_term
from surefoot.term.interval import Scalar, interval_of_type, is_infinite, term_interval
from surefoot.term.linear import LinearForm
from surefoot.term.normal_form import fold_condition
from surefoot.term.number import LARGEST_DOUBLE
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    free_names,
    negate_condition,
    split_conjunction,
)
from surefoot.term.traverse import Leaf, fold_term, rebuild_term
from surefoot.term.types import is_truth_value
from surefoot.term.value_types import Arithmetic, Bool, Int, Real

MOST_CASES = 4096
MOST_JOINT_CASES = 256  # of several disjunctions together
MOST_ATOMS = 512  # of a case
_ROUNDS = 12  # of tightening bounds
_LONGEST = 100  # sum that is used for tightening
_COMPARED = frozenset({Op.LE, Op.LT, Op.EQ})
_FORKS = frozenset({Op.ITE, Op.ABS, Op.MIN, Op.MAX})


class NoStart(Unsupported):
    """Nothing satisfies the initial condition, which in float64 is sure only where nothing is rounded."""


class _TooMany(Exception):
    """A condition has too many cases to be taken apart."""


@dataclass(frozen=True, slots=True)
class Atom:
    """The form is zero (EQ), not positive (LE) or negative (LT)."""

    op: Op
    form: LinearForm


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a scalar; None where there is no limit. `open`: the limit itself is out."""

    low: Fraction | None = None
    high: Fraction | None = None
    low_open: bool = False
    high_open: bool = False

    def is_empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def is_point(self) -> bool:
        return self.low is not None and self.low == self.high


Box: TypeAlias = dict[str, Bounds]
Literal: TypeAlias = "Atom | Term"


@dataclass(frozen=True, slots=True)
class Case:
    """Linear comparisons of several names within a box, and conditions that are not linear."""

    box: Box
    atoms: tuple[Atom, ...] = ()
    rest: tuple[Term, ...] = ()

    def is_box(self) -> bool:
        return not self.atoms and not self.rest

    def is_point(self) -> bool:
        return self.is_box() and all(b.is_point() for b in self.box.values())


@dataclass(frozen=True, slots=True)
class Block:
    """Scalars and the conditions that tie them together."""

    kinds: Mapping[str, Scalar]
    conjuncts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class StartCondition:
    layout: ScalarLayout
    kinds: Mapping[str, Scalar]  # of the variables' scalars, without locations
    conjuncts: tuple[Term, ...]
    blocks: tuple[Block, ...]


def read_start_condition(environment: Environment) -> StartCondition:
    """The initial condition over scalars, in independent blocks."""
    layout = lay_out_scalars(environment, set())
    own = {name for v in environment.variables for name in _tree_names(layout.trees[v.name])}
    in_doubles = environment.arithmetic is Arithmetic.FLOAT64
    kinds = {n: _in_double_limits(k) if in_doubles else k for n, k in layout.kinds.items() if n in own}
    initial = environment.initial
    if in_doubles:
        initial = fold_term(initial, _nearest_constant, _fold_in_doubles)
    condition = expand_scalar(initial, layout.scope)
    if term_interval(condition, kinds)[1] == 0:
        raise NoStart("there is no start state: the initial condition is false for all values")
    conjuncts = (*split_conjunction(condition), *_definedness(initial, layout, kinds))
    return StartCondition(layout, kinds, conjuncts, tuple(_independent_blocks(kinds, conjuncts)))


def _definedness(initial: Term, layout: ScalarLayout, kinds: Mapping[str, Scalar]) -> Iterator[Term]:
    """Conditions under which the initial condition has a value; divisors that are not 0 go without saying."""
    undefined = undefined_condition(initial, layout.scope, kinds)
    for part in undefined.args if isinstance(undefined, Apply) and undefined.op is Op.OR else (undefined,):
        if part != FALSE and not (isinstance(part, Apply) and part.op is Op.EQ):
            yield negate_condition(part)


def _tree_names(tree: object) -> Iterator[str]:
    if isinstance(tree, tuple):
        for part in tree:
            yield from _tree_names(part)
    elif isinstance(tree, Var):
        yield tree.name


def _in_double_limits(kind: Scalar) -> Scalar:
    if not isinstance(kind, Real):
        return kind
    low, high = (None if end is None else Fraction(float(end)) for end in (kind.low, kind.high))
    return Real(low, high, kind.float32)


def _nearest_constant(leaf: Leaf) -> Term:
    if isinstance(leaf, Const) and isinstance(leaf.value, Fraction):
        try:
            return Const(Fraction(float(leaf.value)))
        except OverflowError:
            raise Unsupported("a number is beyond float64") from None
    return leaf


def _fold_in_doubles(term: Apply, args: list[Term]) -> Term:
    """Constants are computed as the reference does it."""
    if term.op is Op.ARRAY or not all(isinstance(a, Const) for a in args):
        return rebuild_term(term, args)
    try:
        value = evaluate_term(term, {}, Arithmetic.FLOAT64)
    except SurefootError:
        return rebuild_term(term, args)
    return Const(Fraction(value) if isinstance(value, float) else value)


def _independent_blocks(kinds: Mapping[str, Scalar], conjuncts: Iterable[Term]) -> Iterator[Block]:
    root = {name: name for name in kinds}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    about = [(part, sorted(free_names(part))) for part in conjuncts]
    for _, names in about:
        for name in names[1:]:
            root[find(name)] = find(names[0])
    members: dict[str, dict[str, Scalar]] = {}
    for name, kind in kinds.items():
        members.setdefault(find(name), {})[name] = kind
    parts: dict[str, list[Term]] = {r: [] for r in members}
    for part, names in about:
        if names:
            parts[find(names[0])].append(part)
    for r, own in members.items():
        yield Block(own, tuple(parts[r]))


# --- linear parts ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parts:
    """A number as a sum: coefficient times a name or a term that is not linear, plus a constant."""

    terms: Mapping[Term, Fraction]
    constant: Fraction = Fraction(0)

    def scaled(self, factor: Fraction) -> Parts:
        if not factor:
            return Parts({})
        return Parts({t: c * factor for t, c in self.terms.items()}, self.constant * factor)

    def plus(self, other: Parts) -> Parts:
        total = dict(self.terms)
        for term, c in other.terms.items():
            total[term] = total.get(term, Fraction(0)) + c
        return Parts({t: c for t, c in total.items() if c}, self.constant + other.constant)

    def is_linear(self) -> bool:
        return all(isinstance(t, Var) for t in self.terms)

    def form(self) -> LinearForm:
        return LinearForm(
            tuple((t.name, c) for t, c in self.terms.items() if isinstance(t, Var)), self.constant
        )

    def term(self) -> Term:
        """As a sum of products."""
        total: list[Term] = [t if c == 1 else Const(c) * t for t, c in self.terms.items()]
        if self.constant or not total:
            total.append(Const(self.constant))
        return total[0] if len(total) == 1 else Apply(Op.ADD, tuple(total))


def linear_parts(whole: Term) -> Parts:
    """The sum that a number is; a choice between two numbers by a truth value is linear in it."""
    return fold_term(whole, _leaf_parts, _operator_parts)


def _leaf_parts(leaf: Leaf) -> Parts:
    if isinstance(leaf, Const):
        return Parts({}, Fraction(leaf.value))
    return Parts({leaf: Fraction(1)})


def _operator_parts(term: Apply, parts: list[Parts]) -> Parts:
    match term.op:
        case Op.ADD:
            total = parts[0]
            for part in parts[1:]:
                total = total.plus(part)
            return total
        case Op.SUB:
            return parts[0].plus(parts[1].scaled(Fraction(-1)))
        case Op.NEG:
            return parts[0].scaled(Fraction(-1))
        case Op.MUL if sum(bool(p.terms) for p in parts) <= 1:
            factor = Fraction(1)
            for part in parts:
                factor *= part.constant if not part.terms else 1
            return next((p for p in parts if p.terms), Parts({}, Fraction(1))).scaled(factor)
        case Op.DIV if not parts[1].terms and parts[1].constant:
            return parts[0].scaled(1 / parts[1].constant)
        case Op.ITE if not parts[1].terms and not parts[2].terms:
            test, then, other = term.args[0], parts[1].constant, parts[2].constant
            if isinstance(test, Apply) and test.op is Op.NOT:
                test, then, other = test.args[0], other, then
            if isinstance(test, Var):
                return Parts({test: then - other} if then != other else {}, other)
    return Parts({term: Fraction(1)})


# --- cases -----------------------------------------------------------------------------------------------


def _ties_names(literals: Sequence[Literal]) -> bool:
    return any(len(free_names(_literal_term(literal))) > 1 for literal in literals)


def block_cases(block: Block) -> list[Case]:
    """The cases of a block that bounds do not rule out; a disjunction with too many stays in `rest`."""
    splits: list[list[tuple[Literal, ...]]] = []
    undivided: list[Term] = []
    for part in block.conjuncts:
        try:
            found_cases = _condition_cases(part, True, block.kinds, 0)
            if len(found_cases) > MOST_JOINT_CASES and _ties_names(found_cases[0]):
                undivided.append(part)  # to bound every one takes long
            else:
                splits.append(found_cases)
        except _TooMany:
            undivided.append(part)
    splits.sort(key=len)
    box = {name: bounds_of_kind(kind) for name, kind in block.kinds.items()}
    certain = [literal for split in splits if len(split) == 1 for literal in split[0]]
    splits = [split for split in splits if len(split) != 1]
    cases = [found] if (found := _make_case(box, [*undivided, *certain], block.kinds)) is not None else []
    for number, alternatives in enumerate(splits):
        if len(cases) * len(alternatives) > (MOST_CASES if len(cases) == 1 else MOST_JOINT_CASES):
            whole = tuple(
                disjunction_of(tuple(conjunction_of(tuple(map(_literal_term, a))) for a in split))
                for split in splits[number:]
            )
            return _settle_cases([Case(c.box, c.atoms, (*c.rest, *whole)) for c in cases], block.kinds)
        cases = [
            made
            for case in cases
            for a in alternatives
            if (made := _make_case(case.box, [*case.atoms, *case.rest, *a], block.kinds)) is not None
        ]
    return _settle_cases(cases, block.kinds)


def _settle_cases(cases: Sequence[Case], kinds: Mapping[str, Scalar]) -> list[Case]:
    """Where names have one value in a case, what is left over may become linear, or true, or false."""
    found = [part for case in cases for part in _settle_case(case, kinds)]
    return found if len(found) <= MOST_CASES else list(cases)


def _settle_case(case: Case, kinds: Mapping[str, Scalar]) -> list[Case]:
    values = {
        n: Const(b.low == 1) if isinstance(kinds[n], Bool) else Const(b.low)
        for n, b in case.box.items()
        if b.low is not None and b.is_point()
    }
    if not any(free_names(t) & values.keys() for t in case.rest):
        return [case]
    scope: dict[str, Term] = {n: values.get(n, Var(n)) for n in kinds}
    found = [Case(case.box, case.atoms)]
    for term in case.rest:
        try:
            alternatives = _condition_cases(expand_scalar(term, scope), True, kinds, 0)
        except (_TooMany, SurefootError):
            alternatives = [(term,)]
        if len(found) * len(alternatives) > MOST_CASES:
            alternatives = [(term,)]
        found = [
            made
            for one in found
            for more in alternatives
            if (made := _make_case(one.box, [*one.atoms, *one.rest, *more], kinds)) is not None
        ]
    return found


def bounds_of_kind(kind: Scalar) -> Bounds:
    low, high = interval_of_type(kind)
    return Bounds(None if is_infinite(low) else Fraction(low), None if is_infinite(high) else Fraction(high))


def _literal_term(literal: Literal) -> Term:
    if not isinstance(literal, Atom):
        return literal
    total = Parts({Var(n): c for n, c in literal.form.coefficients}, literal.form.constant).term()
    return Apply(literal.op, (total, Const(0)))


def _make_case(box: Box, literals: Sequence[Literal], kinds: Mapping[str, Scalar]) -> Case | None:
    atoms = [a for a in literals if isinstance(a, Atom)]
    rest = tuple(a for a in literals if not isinstance(a, Atom))
    tight = tighten_bounds(box, atoms, kinds)
    if tight is None:
        return None
    left = tuple(a for a in dict.fromkeys(atoms) if not _follows(a, tight))
    return Case({n: _without_far_limits(b, kinds[n]) for n, b in tight.items()}, left, rest)


def _without_far_limits(bounds: Bounds, kind: Scalar) -> Bounds:
    """Limits that no column can hold are none, unless all values are beyond them."""
    most = LARGEST_DOUBLE / 4 if isinstance(kind, Real) else LARGEST
    low = None if bounds.low is not None and bounds.low < -most else bounds.low
    high = None if bounds.high is not None and bounds.high > most else bounds.high
    if low is bounds.low and high is bounds.high:
        return bounds
    return Bounds(low, high, bounds.low_open and low is not None, bounds.high_open and high is not None)


def _follows(atom: Atom, box: Box) -> bool:
    """Do the bounds alone say it?"""
    low, high = _form_range(atom.form, box)
    if atom.op is Op.EQ:
        return low == high == 0
    return high is not None and (high < 0 or (high == 0 and (atom.op is Op.LE or _open_end(atom.form, box))))


def _open_end(form: LinearForm, box: Box) -> bool:
    return any(
        (box[name].high_open and c > 0) or (box[name].low_open and c < 0) for name, c in form.coefficients
    )


def _form_range(form: LinearForm, box: Box) -> tuple[Fraction | None, Fraction | None]:
    low: Fraction | None = form.constant
    high: Fraction | None = form.constant
    for name, c in form.coefficients:
        least, most = (box[name].low, box[name].high) if c > 0 else (box[name].high, box[name].low)
        low = None if low is None or least is None else low + c * least
        high = None if high is None or most is None else high + c * most
    return low, high


def tighten_bounds(box: Box, atoms: Sequence[Atom], kinds: Mapping[str, Scalar]) -> Box | None:
    """Bounds that follow from bounds and linear comparisons, up to a number of rounds; None: surely empty."""
    found = dict(box)
    for _ in range(_ROUNDS):
        before = dict(found)
        for atom in atoms:
            if not atom.form.coefficients:
                value = atom.form.constant
                if value > 0 or (value == 0 and atom.op is Op.LT) or (value < 0 and atom.op is Op.EQ):
                    return None
            if len(atom.form.coefficients) > _LONGEST:
                continue
            for name, c in atom.form.coefficients:
                others = LinearForm(
                    tuple(p for p in atom.form.coefficients if p[0] != name), atom.form.constant
                )
                low, high = _form_range(others, found)
                for end, is_low in ((low, c < 0), (high, c > 0)) if atom.op is Op.EQ else ((low, c < 0),):
                    if end is not None:
                        is_open = atom.op is Op.LT or _is_open_limit(others, found, end is low)
                        found[name] = _cut(found[name], -end / c, is_low, is_open, kinds[name])
                if found[name].is_empty():
                    return None
        if found == before or len(atoms) > MOST_ATOMS:
            break
    return None if any(b.is_empty() for b in found.values()) else found


def _is_open_limit(form: LinearForm, box: Box, lower: bool) -> bool:
    return any(
        box[name].low_open if (c > 0) is lower else box[name].high_open for name, c in form.coefficients
    )


def _cut(bounds: Bounds, end: Fraction, is_low: bool, is_open: bool, kind: Scalar) -> Bounds:
    if not isinstance(kind, Real):
        whole = (
            (floor(end) + 1 if is_open else ceil(end))
            if is_low
            else (ceil(end) - 1 if is_open else floor(end))
        )
        end, is_open = Fraction(whole), False
    old, old_open = (bounds.low, bounds.low_open) if is_low else (bounds.high, bounds.high_open)
    if old is not None and ((old == end and old_open >= is_open) or (old > end if is_low else old < end)):
        return bounds
    if is_low:
        return Bounds(end, bounds.high, is_open, bounds.high_open)
    return Bounds(bounds.low, end, bounds.low_open, is_open)


def _condition_cases(
    condition: Term, positive: bool, kinds: Mapping[str, Scalar], depth: int
) -> list[tuple[Literal, ...]]:
    def literal(term: Term, sign: bool) -> list[tuple[Literal, ...]]:
        return _literal_cases(term, sign, kinds, depth)

    def conjoin(parts: Sequence[list[tuple[Literal, ...]]]) -> list[tuple[Literal, ...]]:
        total: list[tuple[Literal, ...]] = [()]
        for part in parts:
            if len(total) * len(part) > MOST_CASES:
                raise _TooMany
            total = [(*a, *b) for a in total for b in part]
        return total

    def disjoin(parts: Sequence[list[tuple[Literal, ...]]]) -> list[tuple[Literal, ...]]:
        total = [case for part in parts for case in part]
        if len(total) > MOST_CASES:
            raise _TooMany
        return total

    return fold_condition(
        condition, positive, literal, conjoin, disjoin, is_truth=lambda t: is_truth_value(t, kinds)
    )


def _literal_cases(
    term: Term, sign: bool, kinds: Mapping[str, Scalar], depth: int
) -> list[tuple[Literal, ...]]:
    if isinstance(term, Var):
        return [(Atom(Op.EQ, LinearForm(((term.name, Fraction(1)),), Fraction(-1 if sign else 0))),)]
    if not isinstance(term, Apply) or term.op not in _COMPARED:
        return [(term if sign else ~term,)]
    left, right = term.args
    if not sign and term.op is Op.EQ:
        return [*_compare(Op.LT, left, right, kinds, depth), *_compare(Op.LT, right, left, kinds, depth)]
    if not sign:
        return _compare(Op.LT if term.op is Op.LE else Op.LE, right, left, kinds, depth)
    return _compare(term.op, left, right, kinds, depth)


def _compare(
    op: Op, left: Term, right: Term, kinds: Mapping[str, Scalar], depth: int
) -> list[tuple[Literal, ...]]:
    try:
        parts = linear_parts(left).plus(linear_parts(right).scaled(Fraction(-1)))
    except (SurefootError, ValueError):
        return [(Apply(op, (left, right)),)]
    if parts.is_linear():
        return [(Atom(op, parts.form()),)]
    fork = next((t for t in parts.terms if isinstance(t, Apply) and t.op in _FORKS), None)
    if fork is None or depth > 8:
        return [(Apply(op, (left, right)),)]
    factor = parts.terms[fork]
    others = Parts({t: c for t, c in parts.terms.items() if t is not fork}, parts.constant)
    branches = [
        (test, Apply(op, (others.plus(linear_parts(value).scaled(factor)).term(), Const(0))))
        for test, value in _fork_branches(fork)
    ]
    convex = {Op.ABS: factor > 0, Op.MAX: factor > 0, Op.MIN: factor < 0}.get(fork.op, False)
    if convex and op is not Op.EQ:
        lifted = conjunction_of(tuple(b for _, b in branches))
    else:
        lifted = disjunction_of(tuple(conjunction_of((test, b)) for test, b in branches))
    found = _condition_cases(lifted, True, kinds, depth + 1)
    if any(len(case) > MOST_ATOMS for case in found):
        raise _TooMany
    return found


def _fork_branches(fork: Apply) -> Iterator[tuple[Term, Term]]:
    """Conditions, one of which holds, and what the term is then."""
    args = fork.args
    match fork.op:
        case Op.ITE:
            yield args[0], args[1]
            yield ~args[0], args[2]
        case Op.ABS:
            yield args[0] >= 0, args[0]
            yield args[0] <= 0, -args[0]
        case _:
            for number, value in enumerate(args):
                rest = [a for i, a in enumerate(args) if i != number]
                tests = [value <= a if fork.op is Op.MIN else value >= a for a in rest]
                yield conjunction_of(tuple(tests)) if tests else TRUE, value


def is_whole_kind(kind: Scalar) -> bool:
    """Whole numbers, and truth values as 0 and 1."""
    return isinstance(kind, Int | Bool)
