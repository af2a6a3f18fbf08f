"""A network and a specification as a problem: the bad points of the box are states that must not exist."""

from __future__ import annotations

from surefoot.errors import InvalidProblem
from surefoot.formats.vnnlib.box import shorten_number
from surefoot.formats.vnnlib.specification import (
    Specification,
    input_bound,
    is_input,
    vnnlib_input_name,
    vnnlib_output_name,
)
from surefoot.problem.environment import Component, Control, Environment, Variable
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.validate.dropped_head import check_no_dropped_head
from surefoot.term import reserved_names
from surefoot.term.float32 import contains_float32
from surefoot.term.term import Apply, Op, Term, Var, conjunction_of, free_names, split_conjunction
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Real


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
