"""A mixed-integer linear program under construction: columns, rows, guarded comparisons.

Coefficients are rounded to float64; every row is relaxed by what that rounding can change over the box, so a
solution of the exact problem stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, nextafter

from surefoot.errors import Unsupported
from surefoot.query.bounds import Interval, linear_range, rounded_down, rounded_up
from surefoot.query.formula import All, AnyOf, Formula, LinearAtom, Relation
from surefoot.term.linear import LinearForm

DROPPED = 1e-9  # HiGHS silently drops matrix entries up to this size
_ROUNDING = Fraction(1, 2**50)  # relative error of a coefficient and of its product with a value


@dataclass(frozen=True, slots=True)
class _BinaryLiteral:
    """An alternative that is on or off: a 0-1 column, or its opposite."""

    column: int
    positive: bool = True


@dataclass(frozen=True, slots=True)
class PostedAtom:
    """A comparison in the program: it must hold where its guard, a 0-1 column, is 1 (None: always)."""

    atom: LinearAtom
    guard: int | None
    is_definition: bool  # it defines an auxiliary, so a margin would contradict it

    def is_on(self, values: Sequence[float]) -> bool:
        """Must it hold in this solution?"""
        return self.guard is None or values[self.guard] > 0.5


@dataclass(slots=True)
class MixedIntegerProgram:
    """Columns and rows as HiGHS wants them. `names` maps quantities to columns."""

    box: dict[str, Interval] = field(default_factory=dict)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    row_low: list[float] = field(default_factory=list)
    row_high: list[float] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    truths: frozenset[str] = frozenset()
    posted: list[PostedAtom] = field(default_factory=list)
    activity: float = 0.0  # the largest product of a coefficient and a bounded column
    margin: float = 0.0  # largest margin asked for; 0: none
    strict_margin: int | None = None  # the column of the margin of strict comparisons
    other_margin: int | None = None  # ... and of the others

    def column(self, low: float, high: float, whole: bool = False) -> int:
        self.low.append(low)
        self.high.append(high)
        self.whole.append(whole)
        return len(self.low) - 1

    def quantity(self, name: str, bounds: Interval, whole: bool) -> None:
        self.box[name] = bounds
        self.names[name] = self.column(rounded_down(bounds[0]), rounded_up(bounds[1]), whole)

    def row(self, low: float, high: float, entries: dict[int, float]) -> None:
        """low <= sum of entries <= high; what HiGHS would drop is left out and the row relaxed by it."""
        lost = 0.0
        for column, value in list(entries.items()):
            if abs(value) <= DROPPED:
                del entries[column]
                if value:
                    lost = nextafter(lost + self._largest(column, value), inf)
        if lost:
            low, high = nextafter(low - lost, -inf), nextafter(high + lost, inf)
        self.activity = max(self.activity, *(self._largest(c, v) for c, v in entries.items()), 0.0)
        self.row_low.append(low)
        self.row_high.append(high)
        self.starts.append(len(self.indices))
        self.indices.extend(entries)
        self.values.extend(entries.values())

    def _largest(self, column: int, coefficient: float) -> float:
        """The largest size of coefficient times column, rounded up."""
        size = max(abs(self.low[column]), abs(self.high[column]))
        if size == inf:
            if abs(coefficient) <= DROPPED:
                fix = "give bounds for every quantity"
                raise Unsupported("a tiny coefficient stands before a quantity without bounds", fix=fix)
            return 0.0
        return nextafter(abs(coefficient) * size, inf)

    def with_margin(self, largest: float) -> None:
        """From now on, posted inequalities leave room: as much as the two margin columns say."""
        self.margin = largest
        self.strict_margin, self.other_margin = self.column(0.0, largest), self.column(0.0, largest)

    def post(self, formula: Formula, guard: int | None = None, *, is_definition: bool = False) -> None:
        """Require a formula where the guard, a 0-1 column, is 1."""
        match formula:
            case All(parts):
                for part in parts:
                    self.post(part, guard, is_definition=is_definition)
            case AnyOf(parts):
                self._some_of([self._alternative(p, is_definition) for p in parts], guard)
            case LinearAtom():
                self._compare(PostedAtom(formula, guard, is_definition))

    def _alternative(self, part: Formula, is_definition: bool) -> _BinaryLiteral:
        """What is on where this alternative is taken; a truth value stands for itself."""
        if (own := self._literal(part)) is not None:
            return own
        guard = self.column(0.0, 1.0, whole=True)
        self.post(part, guard, is_definition=is_definition)
        return _BinaryLiteral(guard)

    def _literal(self, part: Formula) -> _BinaryLiteral | None:
        if (
            isinstance(part, LinearAtom)
            and part.relation is Relation.EQ
            and len(part.linear.coefficients) == 1
        ):
            name, coefficient = part.linear.coefficients[0]
            wanted = -part.linear.constant / coefficient
            if name in self.truths and wanted in (0, 1):
                return _BinaryLiteral(self.names[name], bool(wanted))
        return None

    def _some_of(self, alternatives: list[_BinaryLiteral], guard: int | None) -> None:
        """At least one is on, where the guard is."""
        entries: dict[int, float] = {}
        least = 1.0
        for literal in alternatives:
            sign = 1.0 if literal.positive else -1.0
            entries[literal.column] = entries.get(literal.column, 0.0) + sign
            least -= 0.0 if literal.positive else 1.0
        if guard is not None:
            entries[guard] = -1.0
            least -= 1.0
        self.row(least, inf, entries)

    def _compare(self, posted: PostedAtom) -> None:
        self.posted.append(posted)
        atom = posted.atom
        self._at_most_zero(atom.linear, posted)
        if atom.relation is Relation.EQ:
            opposite = LinearForm(tuple((n, -c) for n, c in atom.linear.coefficients), -atom.linear.constant)
            self._at_most_zero(opposite, posted)

    def _at_most_zero(self, linear: LinearForm, posted: PostedAtom) -> None:
        entries = {self.names[n]: float(c) for n, c in linear.coefficients}
        limit = -linear.constant + self.slip(linear)
        room = self._margin_of(posted)
        if room is not None:
            entries[room] = self.scale(linear)
        if posted.guard is not None:
            reach = self._reach(linear, room)
            if reach <= 0:
                return  # holds everywhere in the box
            size = rounded_up(reach)
            entries[posted.guard] = size
            limit += Fraction(size)
        self.row(-inf, rounded_up(limit), entries)

    def _reach(self, linear: LinearForm, room: int | None) -> Fraction:
        """The largest value of the left-hand side: how far an unguarded comparison may be off."""
        _, high = linear_range(linear, self.box)
        if high is None:
            loose = next(n for n, c in linear.coefficients if self.box[n][1 if c > 0 else 0] is None)
            what = f"`{loose}` has no bound, and a choice depends on it"
            raise Unsupported(what, fix="declare bounds, or use the solver z3")
        return high + (Fraction(self.margin * self.scale(linear)) if room is not None else 0)

    def _margin_of(self, posted: PostedAtom) -> int | None:
        """The margin column that a comparison takes part in: none for equalities and whole numbers."""
        atom = posted.atom
        if not self.margin or not has_margin(posted, self.is_whole):
            return None
        return self.strict_margin if atom.relation is Relation.LT else self.other_margin

    def is_whole(self, name: str) -> bool:
        return self.whole[self.names[name]]

    def slip(self, linear: LinearForm) -> Fraction:
        """How much rounding the coefficients of a row can change it."""
        total = abs(linear.constant)
        for name, coefficient in linear.coefficients:
            low, high = self.box[name]
            if low is not None and high is not None:
                total += abs(coefficient) * max(abs(low), abs(high))
        return total * _ROUNDING

    def scale(self, linear: LinearForm) -> float:
        """What one unit of margin means for a comparison."""
        return max((abs(float(c)) for _, c in linear.coefficients), default=1.0)


def has_margin(posted: PostedAtom, is_whole: Callable[[str], bool]) -> bool:
    """Can a comparison hold with room to spare? Equalities, whole numbers and most definitions cannot."""
    atom = posted.atom
    if atom.relation is Relation.EQ or (posted.is_definition and atom.relation is not Relation.LT):
        return False
    return not all(is_whole(n) for n, _ in atom.linear.coefficients)
