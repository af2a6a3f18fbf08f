"""A plant as it is executed, for many runs at once: float64 in the order of its terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.barrier.float_system import Floats, control_limits
from surefoot.errors import Unsupported
from surefoot.network.evaluate import network_batch_outputs
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.reductions.barrier import ControlSystem, relaxed_dnf
from surefoot.shields.linear_controllers import Gain, Oracle, Range
from surefoot.term.vectorised import vectorise_terms

Truths: TypeAlias = NDArray[np.bool_]
Propose: TypeAlias = Callable[[Floats, int], Floats]  # states and the number of the step, to controls


class BatchPlant:
    """Steps and unsafe states of a system in float64."""

    def __init__(self, system: ControlSystem) -> None:
        if not system.rounded:
            raise Unsupported("runs are simulated in float64, this environment computes in exact numbers")
        self.system = system
        self._next = vectorise_terms(system.next)
        self._unsafe = vectorise_terms((), (system.unsafe,))
        cases = relaxed_dnf(system.unsafe)
        self._cases = [len(case) for case in cases]
        self._gaps = vectorise_terms([right - left for case in cases for left, right in case])
        ends = [_inner_doubles(r) for _, r in system.disturbances]
        self.disturbed = np.array(ends, dtype=np.float64).reshape(-1, 2)

    def names(self, states: Floats) -> dict[str, Floats]:
        return {n: np.ascontiguousarray(states[:, i]) for i, n in enumerate(self.system.variables)}

    def step(self, states: Floats, controls: Floats, disturbances: Floats) -> Floats:
        """The next state of each run; controls have to be within their ends."""
        named = self.names(states)
        named |= {n: controls[:, i] for i, (n, _, _) in enumerate(self.system.controls)}
        named |= {n: disturbances[:, i] for i, (n, _) in enumerate(self.system.disturbances)}
        return np.column_stack(self._next(named, len(states))[0])

    def is_unsafe(self, states: Floats) -> Truths:
        """Unsafe, or no number any more."""
        found = self._unsafe(self.names(states), len(states))[1][0]
        return found | ~np.isfinite(states).all(axis=1)

    def danger(self, states: Floats) -> Floats:
        """How near the states are to being unsafe: from 0 on they are."""
        gaps = iter(self._gaps(self.names(states), len(states))[0])
        cases = [np.min([next(gaps) for _ in range(size)], axis=0) for size in self._cases if size]
        return np.asarray(np.max(cases, axis=0)) if cases else np.zeros(len(states))

    def clip_controls(self, controls: Floats) -> Floats:
        return np.clip(controls, *self.ends())

    def ends(self) -> tuple[Floats, Floats]:
        return control_limits(self.system)

    def draw_disturbances(self, count: int, generator: np.random.Generator, ends: bool = False) -> Floats:
        """Disturbances, uniformly distributed or at the ends of their ranges."""
        low, high = self.disturbed[:, 0], self.disturbed[:, 1]
        size = (count, len(low))
        if ends:
            return np.where(generator.random(size) < 0.5, low, high)
        return np.clip(generator.uniform(low, high, size), low, high)


def _inner_doubles(ends: Range) -> tuple[float, float]:
    """The outermost doubles within a range."""
    low, high = (float(e) for e in ends)
    low = low if Fraction(low) >= ends[0] else float(np.nextafter(low, np.inf))
    return low, high if Fraction(high) <= ends[1] else float(np.nextafter(high, -np.inf))


def draw_start_states(boxes: Sequence[Sequence[Range]], count: int, generator: np.random.Generator) -> Floats:
    """Uniformly from boxes that do not overlap but at their sides."""
    ends = np.array([[_inner_doubles(r) for r in box] for box in boxes])
    widths = ends[..., 1] - ends[..., 0]
    volumes = np.prod(np.where(widths > 0, widths, 1.0), axis=1)
    chosen = generator.choice(len(boxes), size=count, p=volumes / volumes.sum())
    low, high = ends[chosen, :, 0], ends[chosen, :, 1]
    return np.clip(generator.uniform(low, high), low, high)


def covered_boxes(proofs: Sequence[Mapping[str, Any]], starts: Sequence[Range]) -> list[list[Range]]:
    """The starts that these sets are shown to contain, without boxes that runs come to on their way only."""
    found = []
    for box in (box for proof in proofs for box in proof["covers"]):
        ends = [(Fraction(a), Fraction(b)) for a, b in box]
        both = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(ends, starts, strict=True)]
        if all(a < b or a == b == c == d for (a, b), (c, d) in zip(both, starts, strict=True)):
            found.append(both)
    return found


def by_network(policy: NeuralPolicy, system: ControlSystem) -> Propose:
    """The network's outputs, computed by BLAS: sums may be rounded in another order than the reference's.

    A run that observes what it observed one step before gets the same answer without asking again.
    """
    if policy.choose is not Choose.VALUE:
        raise Unsupported("a network that gives the values of controls is needed", fix='choose = "value"')
    observed = vectorise_terms(policy.observe)
    seen, said = np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0))

    def propose(states: Floats, _: int) -> Floats:
        nonlocal seen, said
        names = {n: np.ascontiguousarray(states[:, i]) for i, n in enumerate(system.variables)}
        with np.errstate(all="ignore"):
            rows = np.column_stack(observed(names, len(states))[0]).astype(np.float32)
            new = np.arange(len(rows)) if rows.shape != seen.shape else np.flatnonzero((rows != seen).any(1))
            found = np.empty((len(rows), policy.network.outputs)) if len(new) == len(rows) else said.copy()
            if len(new):
                found[new] = network_batch_outputs(policy.network, rows[new])
        seen, said = rows, found
        return found

    return propose


def network_oracle(problem: Problem, system: ControlSystem) -> Oracle | None:
    """From states, one in each row, to the controls of the problem's network (the oracle of Algorithm 1, Zhu
    et al., PLDI 2019); None if it has none."""
    if not isinstance(problem.policy, NeuralPolicy):
        return None
    propose, limits = by_network(problem.policy, system), control_limits(system)
    return lambda states: np.clip(propose(states, 0), *limits)


def by_gain(gain: Gain) -> Propose:
    return lambda states, _: gain.controls(states)


def by_nobody(controls: int) -> Propose:
    """Proposals that are no numbers: behind a shield its program decides alone."""
    return lambda states, _: np.full((len(states), controls), np.nan)
