"""What a VNN-LIB 1 file says: as data, as a problem whose states must not exist, and as text again."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Component, Control, Environment, Variable
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.validate.dropped_head import check_no_dropped_head
from surefoot.term import reserved_names
from surefoot.term.decimal_literals import show_number
from surefoot.term.float32 import contains_float32
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, free_names, split_conjunction
from surefoot.term.traverse import Leaf, fold_term, substitute_names
from surefoot.term.value_types import Real

_WORDS = {
    Op.ADD: "+",
    Op.SUB: "-",
    Op.NEG: "-",
    Op.MUL: "*",
    Op.LE: "<=",
    Op.LT: "<",
    Op.EQ: "=",
    Op.AND: "and",
    Op.OR: "or",
}


@dataclass(frozen=True, slots=True)
class Specification:
    """A box of inputs and a constraint over inputs `X_i` and outputs `Y_i` that describes the bad points."""

    inputs: int
    outputs: int
    low: tuple[Fraction, ...]  # the smallest box that the bounds of the inputs allow, over all disjuncts
    high: tuple[Fraction, ...]
    constraint: Term  # all assertions at once, the bounds of the inputs included


def vnnlib_input_name(index: int) -> str:
    return f"X_{index}"


def vnnlib_output_name(index: int) -> str:
    return f"Y_{index}"


def is_input(name: str) -> bool:
    return name.startswith("X_")


def input_bound(comparison: Term) -> tuple[str, Fraction | None, Fraction | None] | None:
    """(input, low, high) if it compares one input with a number; a strict bound counts like the other."""
    match comparison:
        case Apply(Op.LE | Op.LT, (Const(value), Var(name))) if is_input(name):
            return name, Fraction(value), None
        case Apply(Op.LE | Op.LT, (Var(name), Const(value))) if is_input(name):
            return name, None, Fraction(value)
        case Apply(Op.EQ, (Var(name), Const(value)) | (Const(value), Var(name))) if is_input(name):
            return name, Fraction(value), Fraction(value)
        case _:
            return None


def shorten_number(value: Fraction, most: int = 40) -> str:
    """A number for a message: exact if that is short, else rounded."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) < 300:
        exact = show_number(value)
        if len(exact) <= most:
            return exact
    return f"about {float(value)!r}"


def problem_from_vnnlib(
    network: Network, specification: Specification, name: str, *, float32: bool = True
) -> Problem:
    """The question whether some input of the box satisfies the constraint: `Violated` means sat.

    Inputs are float32 numbers, or with `float32` False real numbers that the network gets rounded.
    """
    check_no_dropped_head(network)
    outputs = network.outputs
    if (network.width, outputs) != (specification.inputs, specification.outputs):
        raise InvalidProblem(
            f"the network has {network.width} inputs and {outputs} outputs, "
            f"the specification {specification.inputs} and {specification.outputs}",
            fix="check that network and specification belong together",
        )
    initial, bad = _split_constraint(specification.constraint)
    inputs = tuple(vnnlib_input_name(i) for i in range(specification.inputs))
    raw = {vnnlib_output_name(i): Var(reserved_names.network_output_name(i)) for i in range(outputs)}
    bounds = zip(inputs, specification.low, specification.high, strict=True)
    environment = Environment(
        name=name,
        variables=tuple(Variable(n, Real(low, high, float32=float32)) for n, low, high in bounds),
        initial=initial,
        components=(Component("query", ()),),
        controls=tuple(Control(n) for n in raw),
    )
    policy = NeuralPolicy(network, tuple(Var(n) for n in inputs), choose=Choose.VALUE)
    return Problem(name, environment, policy, Never(substitute_names(bad, raw), steps=0))


def _split_constraint(constraint: Term) -> tuple[Term, Term]:
    """What concerns inputs alone, without what the box says already; and the rest."""
    initial, bad = [], []
    for part in split_conjunction(constraint):
        mentioned = free_names(part)
        if not mentioned or not all(is_input(n) for n in mentioned):
            bad.append(part)
        elif input_bound(part) is None or (isinstance(part, Apply) and part.op is Op.LT):
            initial.append(part)
    return conjunction_of(tuple(initial)), conjunction_of(tuple(bad))


def no_float32_point(specification: Specification) -> str | None:
    """The sentence that says which input has no float32 number in its interval; None if each has one."""
    for index, (low, high) in enumerate(zip(specification.low, specification.high, strict=True)):
        if not contains_float32(low, high):
            where = f"between {shorten_number(low)} and {shorten_number(high)}"
            return f"input {vnnlib_input_name(index)} lies {where}, where there is no float32 number"
    return None


def write_vnnlib(specification: Specification) -> str:
    """Declarations, then one assertion for each part of the constraint."""
    names = [vnnlib_input_name(i) for i in range(specification.inputs)]
    names += [vnnlib_output_name(i) for i in range(specification.outputs)]
    constraint = specification.constraint
    lines = [f"(declare-const {name} Real)" for name in names]
    lines += [f"(assert {_render_term(part)})" for part in split_conjunction(constraint) or (constraint,)]
    return "\n".join(lines) + "\n"


def _render_term(term: Term) -> str:
    return fold_term(term, _render_leaf, _render_operator)


def _render_leaf(leaf: Leaf) -> str:
    if isinstance(leaf, Var):
        return leaf.name
    if isinstance(leaf.value, bool):
        raise Unsupported("VNN-LIB 1 has no truth values")
    return _render_decimal(Fraction(leaf.value))


def _render_operator(term: Apply, args: list[str]) -> str:
    if term.op not in _WORDS:
        raise Unsupported(f"VNN-LIB 1 has no `{term.op.value}`")
    return f"({_WORDS[term.op]} {' '.join(args)})"


def _render_decimal(value: Fraction) -> str:
    text = show_number(value)
    if "/" in text:
        raise Unsupported(f"{text} is not a decimal", fix="use numbers with finitely many decimals")
    return text
