"""One case of a proof as numbered values: the free variables, then call by call its input and its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..kernel.inference import EXACT, compile_node
from ..kernel.network import ENTRIES, Node, flat_node_sources
from ..kernel.query import ClaimedVariable, FlatNetworkCall, Linear
from ..kernel.strict_json import BadCertificate
from .curved_functions import CURVES

Term = tuple[int, int, Fraction]  # value, entry, coefficient


@dataclass(frozen=True, slots=True, eq=False)
class CallInput:
    """The input vector of a call: linear forms over the entries of earlier values."""

    rows: tuple[tuple[Term, ...], ...]
    constants: tuple[Fraction, ...]
    single: tuple[bool, ...]  # which entries are a float32 variable alone, so that nothing is rounded
    span: tuple[int, int] | None = None  # if the forms are entries of a value, one after the other: its first
    whole: tuple[bool, ...] = ()  # which entries are sums of whole multiples of integer variables


@dataclass(frozen=True, slots=True, eq=False)
class GraphValue:
    width: int
    node: Node | CallInput | None  # None: the free variables
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CaseAtom:
    relation: str  # "<=", "<" or "="
    terms: tuple[Term, ...]
    constant: Fraction


_IRRATIONAL = {"tanh", "sigmoid", *CURVES} - {"step"}


@dataclass(frozen=True, slots=True, eq=False)
class CaseProblem:
    """No point of the box satisfies all atoms of any of the sets: that is to be shown."""

    variables: tuple[ClaimedVariable, ...]  # the free ones, with bounds: value 0
    values: tuple[GraphValue, ...]
    atoms: tuple[CaseAtom, ...]
    sets: tuple[frozenset[int], ...]
    float32: bool

    @property
    def smooth(self) -> bool:
        """Whether some value is irrational, so that nothing can be evaluated exactly."""
        return any(getattr(v.node, "kind", "") in _IRRATIONAL for v in self.values)


def evaluate_exactly(problem: CaseProblem, point: list[Fraction]) -> list[list[Fraction]]:
    """All values at a point; refuses irrational functions and divisions by zero."""
    values = [point]
    for value in problem.values[1:]:
        if isinstance(value.node, CallInput):
            rows = zip(value.node.rows, value.node.constants, strict=True)
            values.append([sum_terms(row, constant, values) for row, constant in rows])
        elif value.node is not None:
            values.append(compile_node(value.node, value.sources, EXACT)(values))
    return values


def sum_terms(terms: Iterable[Term], constant: Fraction, values: Sequence[Sequence[Fraction]]) -> Fraction:
    return constant + sum((c * values[v][i] for v, i, c in terms), Fraction(0))


class Numbering:
    """Numbers the values of a query, and writes linear forms over them."""

    def __init__(self, variables: tuple[ClaimedVariable, ...]) -> None:
        self.values = [GraphValue(len(variables), None, ())]
        self._places = {v.name: (0, i) for i, v in enumerate(variables)}
        self._single = {v.name for v in variables if v.kind == "float32"}
        self._integer = {v.name for v in variables if v.kind == "integer"}

    def terms(self, linear: Linear) -> tuple[Term, ...]:
        """The form without its constant; raises for names that are neither free nor outputs so far."""
        try:
            return tuple((*self._places[name], c) for name, c in linear.items() if name)
        except KeyError as error:
            raise BadCertificate(
                f"`{error.args[0]}` is not known here: undefined, or of a later call"
            ) from None

    def _is_single(self, linear: Linear) -> bool:
        return all(name in self._single and c == 1 for name, c in linear.items())

    def _is_whole(self, linear: Linear) -> bool:
        return all(c.denominator == 1 and (not name or name in self._integer) for name, c in linear.items())

    def place(self, call: FlatNetworkCall) -> None:
        """The values of a call."""
        base, widths = len(self.values), call.network.widths()
        if len(call.inputs) != widths[0] or len(call.outputs) != widths[-1]:
            raise BadCertificate("a call does not fit the inputs and outputs of its network")
        rows = tuple(self.terms(linear) for linear in call.inputs)
        single = tuple(len(form) == 1 and self._is_single(form) for form in call.inputs)
        whole = tuple(self._is_whole(form) for form in call.inputs)
        constants = tuple(linear.get("", Fraction(0)) for linear in call.inputs)
        read = tuple(sorted({v for row in rows for v, _, _ in row}))
        span = None if any(constants) else _contiguous_span(rows)
        mix = CallInput(rows, constants, single, span, whole)
        self.values.append(GraphValue(widths[0], mix, read))
        for node, width in zip(call.network.nodes, widths[1:], strict=True):
            self.values.append(GraphValue(width, node, tuple(base + s for s in flat_node_sources(node))))
        if sum(v.width for v in self.values) > ENTRIES:
            raise BadCertificate("too many values")
        last = len(self.values) - 1
        for entry, name in enumerate(call.outputs):
            if name in self._places or not name:
                raise BadCertificate(f"`{name}` is the output of two calls, or no output")
            self._places[name] = (last, entry)


def _contiguous_span(rows: tuple[tuple[Term, ...], ...]) -> tuple[int, int] | None:
    """Value and entry where the forms begin, if they are entries of one value as they stand there."""
    if not rows or any(len(row) != 1 for row in rows):
        return None
    (v, first, _), one = rows[0][0], Fraction(1)
    return (v, first) if all(row[0] == (v, first + i, one) for i, row in enumerate(rows)) else None


def number_values(variables: tuple[ClaimedVariable, ...], calls: Iterable[FlatNetworkCall]) -> Numbering:
    numbering = Numbering(variables)
    for call in calls:
        numbering.place(call)
    return numbering
