"""How far states are inside the unsafe ones, in floats: to look for such states, never to decide."""

from __future__ import annotations

import numpy as np

from surefoot.engines.barrier.float_system import Floats, evaluate_polynomial
from surefoot.query.polynomial import polynomial_from_variable
from surefoot.reductions.barrier import ControlSystem, polynomial_of, relaxed_dnf


def unsafety_score(system: ControlSystem, states: Floats) -> Floats:
    """Not negative where a state is unsafe: the least gap of a case, the largest of all cases."""
    names = {n: polynomial_from_variable(i, len(system.variables)) for i, n in enumerate(system.variables)}
    found: Floats = np.full(len(states), -np.inf)
    for case in relaxed_dnf(system.unsafe):
        inner: Floats = np.full(len(states), np.inf)
        for left, right in case:
            gap = polynomial_of(right, names, len(names), system.compares_rounded)
            gap = gap - polynomial_of(left, names, len(names), system.compares_rounded)
            inner = np.minimum(inner, evaluate_polynomial(gap, states))
        found = np.maximum(found, inner)
    return found
