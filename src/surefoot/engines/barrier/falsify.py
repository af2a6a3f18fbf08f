"""States that speak against a set {B <= 0}: looked for in floats, with random directions that are improved.

From a state inside the set rays go to its edge, and the best of them are turned a little, again and again.
Nothing is decided here: who asks evaluates what is found in exact numbers.

How far states are inside the unsafe ones, in floats: to look for such states, never to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import optimize

from surefoot.engines.barrier.float_system import Floats, bilinear_form, evaluate_polynomial, float_system
from surefoot.query.polynomial import Polynomial, polynomial_from_variable
from surefoot.reductions.barrier import ControlSystem, polynomial_of, relaxed_dnf
from surefoot.term.term import Term
from surefoot.work.budget import Budget


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


Score = Callable[[Floats, Floats], Floats]  # of states and disturbances, one in each row
Height = Callable[[Floats], float]  # of one state
Slopes = Callable[[Floats], Floats]
Climb = Callable[[Floats, Height, Slopes], Floats | None]
RAYS, KEPT, ROUNDS, RUN = 512, 32, 40, 600
FEW, CLIMBED, NEAR = 6, 6, 1e-6  # variables that rays are enough for; states; of what B is at its deepest
WIDEST = 1e6  # times the starts: a ray that goes on so far is cut there


@dataclass(frozen=True, slots=True, eq=False)
class RaySampler:
    """States of the set from which rays go out, and how long a step is in each variable."""

    barrier: Polynomial
    centres: Floats
    units: Floats
    _known: list[Floats] = field(default_factory=list)

    def lengths(self, origins: Floats, towards: Floats) -> Floats:
        """How far the edge of the set is in each direction."""
        reach = 1e-6
        sample = slice(0, 16)
        while reach < WIDEST and np.median(self._values(reach, origins[sample], towards[sample])) <= 0:
            reach *= 4
        degree = self.barrier.degree
        nodes = np.arange(degree + 1) / max(degree, 1)
        table = np.column_stack([self._values(reach * t, origins, towards) for t in nodes])
        along = np.linalg.solve(np.vander(nodes, increasing=True), table.T).T  # coefficients along each ray
        # The centre is inside: divided by its value, the polynomial of 1/length is monic.
        companion = np.zeros((len(towards), degree, degree))
        companion[:, 0, :] = -along[:, 1:] / np.minimum(along[:, :1], -1e-300)
        companion[:, range(1, degree), range(degree - 1)] = 1.0
        roots = np.linalg.eigvals(np.nan_to_num(companion, posinf=1e300, neginf=-1e300))
        nearest = np.where(np.abs(roots.imag) < 1e-9, roots.real, 0.0).max(axis=1)
        found: Floats = np.minimum(reach / np.maximum(nearest, reach / WIDEST), WIDEST)
        return found

    def _values(self, length: float, origins: Floats, towards: Floats) -> Floats:
        return evaluate_polynomial(self.barrier, self.at(np.full(len(towards), length), origins, towards))

    def at(self, lengths: Floats, origins: Floats, towards: Floats) -> Floats:
        return origins + lengths[:, None] * towards * self.units

    def hull(self, budget: Budget) -> tuple[Floats, Floats]:
        """The box around all ends of many rays."""
        states = self._ends()
        if len(self.units) > FEW:
            states = np.vstack([states, self.extremes(budget)])
        return states.min(axis=0), states.max(axis=0)

    def _ends(self) -> Floats:
        generator, size = np.random.default_rng(0), len(self.units)
        towards = np.vstack([_draw_directions(4 * RAYS, size, generator), np.eye(size), -np.eye(size)])
        origins = self.centres[generator.integers(0, len(self.centres), len(towards))]
        return self.at(self.lengths(origins, towards), origins, towards)

    def extremes(self, budget: Budget) -> Floats:
        """The farthest states in each variable: where there are many, rays come near no corner, but uphill
        from their ends there is one."""
        if not self._known:
            climb, states, found = self.climber(), self._ends(), list[Floats]()

            def end(row: Floats) -> Floats | None:
                return climb(states[np.argmax(states @ row)], lambda x: float(row @ x), lambda _: row)

            for row in np.vstack([np.eye(len(self.units)), -np.eye(len(self.units))]):
                if budget.is_spent():
                    break
                found += [] if (best := end(row)) is None else [best]
            self._known.append(np.array(found).reshape(-1, len(self.units)))
        return self._known[0]

    def climber(self) -> Climb:
        """From a state uphill, within the set; None: that led nowhere."""
        values = bilinear_form(self.barrier)
        deepest = float(evaluate_polynomial(self.barrier, self.centres).min())

        def depth(x: Floats) -> float:
            return float(values((x * self.units)[None, :])[0]) / deepest - NEAR

        def slopes(x: Floats) -> Floats:
            return values.slopes(x * self.units) * self.units / deepest

        def climb(first: Floats, height: Height, rise: Slopes) -> Floats | None:
            best: Floats = optimize.minimize(
                lambda x: -height(x * self.units),
                first / self.units,
                jac=lambda x: -rise(x * self.units) * self.units,
                method="SLSQP",
                constraints=[{"type": "ineq", "fun": depth, "jac": slopes}],
                options={"maxiter": 60},
            ).x
            return best * self.units if np.isfinite(best).all() and depth(best) > -NEAR else None

        return climb


def ray_sampler(system: ControlSystem, then: Sequence[Term], barrier: Polynomial) -> RaySampler | None:
    """From states near the starts and along runs; None: none of them is in the set."""
    generator, moving = np.random.default_rng(0), float_system(system, then)
    low, high = (np.array([float(r[i]) for r in system.initial]) for i in (0, 1))
    units = np.maximum((high - low) / 2, float((high - low).max()) / 20 + 1e-6)
    states = np.vstack([(low + high) / 2, np.zeros(len(low)), generator.uniform(low, high, (14, len(low)))])
    found = [states]
    for turn in range(RUN):
        states = moving.step(states, moving.draw_disturbances(len(states), generator))
        if not np.all(np.isfinite(states)) or np.abs(states).max() > WIDEST:
            break
        if turn % (RUN // 10) == 0:
            found.append(states)
    points = np.vstack(found)
    inner = points[evaluate_polynomial(barrier, points) < 0]
    return RaySampler(barrier, inner, units) if len(inner) else None


def _draw_directions(count: int, size: int, generator: np.random.Generator) -> Floats:
    """Half of them change only a few variables."""
    found = generator.normal(size=(count, size))
    some = generator.random((count // 2, size)) < min(1.0, 3 / size)
    found[: count // 2] *= np.where(some.any(axis=1, keepdims=True), some, True)
    lengths: Floats = np.linalg.norm(found, axis=1, keepdims=True)
    return found / lengths


def falsify_set(
    system: ControlSystem, region: RaySampler, score: Score, budget: Budget
) -> list[tuple[Floats, Floats]]:
    """States of the set with their disturbances whose score is not negative, the highest first."""
    generator, moving = np.random.default_rng(budget.seed), float_system(system, ())
    size = len(region.units)
    origins = region.centres[generator.integers(0, len(region.centres), RAYS)]
    towards, shares = _draw_directions(RAYS, size, generator), _draw_ray_shares(RAYS, generator)
    drawn = moving.draw_disturbances(RAYS, generator)
    best: tuple[Floats, ...] = ()
    for turn in range(ROUNDS):
        states = region.at(region.lengths(origins, towards) * shares, origins, towards)
        scores = np.nan_to_num(score(states, drawn), nan=-np.inf)
        new = (scores, states, drawn, origins, towards, shares)
        merged = tuple(np.concatenate([a, b]) for a, b in zip(best, new, strict=True)) if best else new
        order = np.argsort(-merged[0])[:KEPT]
        best = tuple(part[order] for part in merged)
        if budget.is_spent():
            break
        parents = generator.integers(0, len(order), RAYS // 2)
        width = 0.5 * 0.85**turn / np.sqrt(size)
        turned = best[4][parents] + width * generator.normal(size=(len(parents), size))
        towards = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        keep = generator.random(len(parents)) < 0.7
        origins = best[3][parents]
        shares = np.where(keep, best[5][parents], _draw_ray_shares(len(parents), generator))
        drawn = np.where(keep[:, None], best[2][parents], moving.draw_disturbances(len(parents), generator))
    found = [(x, d) for value, x, d in zip(best[0], best[1], best[2], strict=True) if value >= 0]
    if found or size <= FEW:
        return found
    far = region.extremes(budget)
    states, drawn = (
        np.vstack([far, best[1]]),
        np.vstack([moving.draw_disturbances(len(far), generator), best[2]]),
    )
    order = np.argsort(-np.nan_to_num(score(states, drawn), nan=-np.inf))[:CLIMBED]
    return ascend_score(region, score, states[order], drawn[order], budget)


def ascend_score(
    region: RaySampler, score: Score, states: Floats, drawn: Floats, budget: Budget
) -> list[tuple[Floats, Floats]]:
    """From the best states with slopes of the score, which are differences."""
    climb, steps, found = region.climber(), np.diag(region.units * 1e-6), []
    for first, chosen in zip(states, drawn, strict=False):
        if budget.is_spent():
            break

        def scores(x: Floats, chosen: Floats = chosen) -> Floats:
            return np.nan_to_num(score(x, np.repeat(chosen[None, :], len(x), axis=0)), nan=-1e300)

        def rise(x: Floats) -> Floats:
            return (scores(x + steps) - scores(x - steps)) / (2 * np.diag(steps))

        best = climb(first, lambda x: float(scores(x[None, :])[0]), rise)
        if best is not None and scores(best[None, :])[0] >= 0:
            found.append((best, chosen))
    return found


def _draw_ray_shares(count: int, generator: np.random.Generator) -> Floats:
    """Of the way to the edge: most of them nearly the whole."""
    return np.where(generator.random(count) < 0.7, 1 - 1e-7, generator.random(count))


def falsify_starts(system: ControlSystem, barriers: Sequence[Polynomial], budget: Budget) -> list[Floats]:
    """Starts that are outside of all sets, the most distant ones first."""
    generator = np.random.default_rng(budget.seed)
    low, high = (np.array([float(r[i]) for r in system.initial]) for i in (0, 1))
    states = generator.uniform(low, high, (4 * RAYS, len(low)))
    states[: 2 * RAYS] = np.where(generator.random((2 * RAYS, len(low))) < 0.5, low, high)
    best: tuple[Floats, Floats] | None = None
    for turn in range(ROUNDS // 2):
        scores = np.min([evaluate_polynomial(b, states) for b in barriers], axis=0)
        new = (scores, states)
        merged = new if best is None else tuple(np.concatenate(p) for p in zip(best, new, strict=True))
        order = np.argsort(-merged[0])[:KEPT]
        best = (merged[0][order], merged[1][order])
        moves = generator.normal(size=(RAYS, len(low))) * (high - low) * 0.2 * 0.8**turn
        states = np.clip(best[1][generator.integers(0, len(order), RAYS)] + moves, low, high)
        if budget.is_spent():
            break
    assert best is not None
    return [x for value, x in zip(*best, strict=True) if value >= 0]
