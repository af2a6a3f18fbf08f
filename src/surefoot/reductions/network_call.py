"""A network asked in a state: its inputs, its outputs as quantities, and how far rounding can move these."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, nextafter

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.network.float32_error import error_bounds, may_overflow_float32
from surefoot.network.interval import interval_bounds
from surefoot.problem.environment import Environment
from surefoot.problem.network import Network
from surefoot.problem.policy import NeuralPolicy
from surefoot.reductions.expand import TreeScope, expand_scalar, undefined_condition
from surefoot.reductions.scalar_layout import fresh_name
from surefoot.term.float32 import is_float32
from surefoot.term.interval import End, Kinds, Scalar, term_interval
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import FALSE, Apply, Const, Op, Term, free_names
from surefoot.term.types import as_number
from surefoot.term.value_types import Array, Real, ValueType
from surefoot.verdict.verdict import Reason, Refused

_LARGEST = Fraction(10) ** 300  # a bound beyond this is no bound for float64 arithmetic


@dataclass(frozen=True, slots=True)
class EncodedCall:
    network: Network
    inputs: tuple[Term, ...]
    outputs: tuple[str, ...]
    slack: tuple[Fraction, ...]
    float32: bool
    doubt: Refused | None  # why float32 inference may do something else


def encode_network_call(
    policy: NeuralPolicy, scope: TreeScope, kinds: dict[str, Scalar], taken: set[str], rounding: bool
) -> EncodedCall:
    """The call of a policy's network in one state; its outputs are added to `kinds`."""
    network, inputs = policy.network, _observed_terms(policy, scope, kinds)
    box = [
        _observation_bounds(seen, inner, kinds) for seen, inner in zip(policy.observe, inputs, strict=True)
    ]
    low, high = np.array([b[0] for b in box]), np.array([b[1] for b in box])
    values = interval_bounds(network, low, high)
    result = values[-1]
    slack: tuple[Fraction, ...] = ()
    what = f"the rounding of network `{network.name}` in float32 is not part of the encoding"
    doubt: Refused | None = Refused(Reason.INCOMPLETE, what)
    if rounding:
        inexact = not all(is_float32(t, kinds) for t in inputs)
        errors = error_bounds(network, low, high, input_rounding=inexact, values=values)
        slack = tuple(Fraction(float(e)) if isfinite(e) else Fraction(0) for e in errors)
        overflow = may_overflow_float32(network, low, high, values)
        what = f"network `{network.name}` may overflow in float32"
        doubt = Refused(Reason.OVERFLOW, what) if overflow else None
    names = tuple(fresh_name(network_output_name(i), taken) for i in range(network.outputs))
    for i, name in enumerate(names):
        allowed = slack[i] if slack else Fraction(0)
        kinds[name] = Real(
            _shift_bound(float(result.low[i]), -allowed), _shift_bound(float(result.high[i]), allowed)
        )
    return EncodedCall(network, inputs, names, slack, rounding, doubt)


def _observed_terms(policy: NeuralPolicy, scope: TreeScope, kinds: Kinds) -> tuple[Term, ...]:
    """The terms that the network reads, as numbers over the scalars of a state."""
    if len(policy.observe) != policy.network.width:
        raise InvalidProblem(
            f"network `{policy.network.name}` has {policy.network.width} inputs, "
            f"but {len(policy.observe)} terms are observed"
        )
    return tuple(_total_observation(t, scope, kinds) for t in policy.observe)


def _total_observation(seen: Term, scope: TreeScope, kinds: Kinds) -> Term:
    """An observed term with some value everywhere: a state where it has none must not vanish from the query.

    What the network says there means nothing; `escape` tells of such states.
    """
    inner, unclear = as_number(expand_scalar(seen, scope), kinds), undefined_condition(seen, scope, kinds)
    return inner if unclear == FALSE else Apply(Op.ITE, (unclear, Const(0), inner))


def is_bounded_at_sight(policy: NeuralPolicy, environment: Environment) -> bool:
    """Whether the observed terms as they are written have bounds: an element of an array is of its kind."""
    kinds = {v.name: _element_kind(v.kind) for v in environment.variables}
    if len(policy.observe) != policy.network.width or not all(
        free_names(seen) <= kinds.keys() for seen in policy.observe
    ):
        return False
    return not any(_too_large(end) for seen in policy.observe for end in term_interval(seen, kinds))


def _element_kind(kind: ValueType) -> Scalar:
    return _element_kind(kind.element) if isinstance(kind, Array) else kind


def unbounded_observation(policy: NeuralPolicy, scope: TreeScope, kinds: Kinds) -> Term | None:
    """An observed term whose values have no bounds, if there is one."""
    for seen, inner in zip(policy.observe, _observed_terms(policy, scope, kinds), strict=True):
        if any(_too_large(end) for end in term_interval(inner, kinds)):
            return seen
    return None


def _too_large(end: End) -> bool:
    return end < -_LARGEST or end > _LARGEST


def _observation_bounds(seen: Term, inner: Term, kinds: Kinds) -> tuple[float, float]:
    low, high = term_interval(inner, kinds)
    if _too_large(low) or _too_large(high):
        raise missing_bounds_error(seen)
    below, above = float(low), float(high)
    return (
        nextafter(below, -inf) if below > low else below,
        nextafter(above, inf) if above < high else above,
    )


def missing_bounds_error(seen: Term) -> Unsupported:
    return Unsupported(
        f"the observed term `{show_term(seen)}` has no bounds",
        fix="give bounds to the variables that it mentions",
    )


def _shift_bound(end: float, by: Fraction) -> Fraction | None:
    return Fraction(end) + by if isfinite(end) else None
