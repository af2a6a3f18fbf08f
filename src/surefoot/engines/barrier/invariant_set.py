"""Proofs that a set is closed under the steps of a rule and has no unsafe state, in rational numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Any

from surefoot.engines.barrier.scaled_system import (
    SPARE,
    Range,
    ScaledSystem,
    Unproved,
    bound_barrier_shift,
    bound_rounding_error,
    variable_magnitudes,
)
from surefoot.engines.barrier.sos_candidate import range_products
from surefoot.query.polynomial import Polynomial, polynomial_from_constant, polynomial_from_variable
from surefoot.reductions.barrier import barrier_rows, horner_term, largest_of_rows, relaxed_dnf
from surefoot.solvers.halfspaces import FarkasCombinations
from surefoot.solvers.sos.gram_blocks import Squares
from surefoot.solvers.sos.projections import ProjectionProver
from surefoot.solvers.sos.rational_identity import Summand, prove_nonnegative
from surefoot.term.term import Term
from surefoot.work.budget import Budget

Proof = tuple[Summand, ...]


@dataclass(frozen=True, slots=True)
class InvariantSet:
    """{x in the domain, barrier <= 0} with all that the checker needs to see that it is closed and safe."""

    domain: tuple[Range, ...]
    barrier: Term
    tested: bool
    margin: Fraction
    proof: dict[str, Any]


def prove_invariant_set(
    where: ScaledSystem,
    rows: Sequence[Polynomial],
    starts: Sequence[Range] | None,
    reached: Sequence[tuple[bool, bool]],
    tested: bool,
    budget: Budget,
    squares: Squares = "auto",
) -> InvariantSet:
    """`rows`: in the units of the plane; the barrier is the largest of them. `Unproved` says what fails.

    `starts`: what the set has to contain; None: nothing.
    """
    if starts is not None and not _is_box_within(starts, where.domain):
        raise Unproved("the starts")
    term = largest_of_rows([barrier_to_term(where, row) for row in rows])
    work = Obligations(where, term, tested, budget, squares)
    room, step, drift = work.margins()
    saturation, unsafe = work.saturation(reached), work.unsafe()
    steps = work.steps(reached, room, step, drift)
    covers = [] if starts is None else [(box_text(starts), work.start(starts, room))]
    return work.assemble_set(saturation, unsafe, steps, covers)


def cover_start_box(
    where: ScaledSystem, found: InvariantSet, starts: Sequence[Range], budget: Budget
) -> InvariantSet:
    """The same set, shown to contain another box of starts; `Unproved` if that is not shown."""
    if not _is_box_within(starts, found.domain):
        raise Unproved("the starts")
    work = Obligations(where, found.barrier, found.tested, budget)
    more = work.start(starts, Fraction(found.proof["margins"]["room"]))
    covers, start = [*found.proof["covers"], box_text(starts)], [*found.proof["start"], more]
    return replace(found, proof={**found.proof, "covers": covers, "start": start})


def _is_box_within(box: Sequence[Range], domain: Sequence[Range]) -> bool:
    return all(a <= low and high <= b for (low, high), (a, b) in zip(box, domain, strict=True))


def box_text(box: Sequence[Range]) -> list[list[int | str]]:
    return [[number_text(low), number_text(high)] for low, high in box]


def barrier_to_term(where: ScaledSystem, barrier: Polynomial) -> Term:
    """The barrier as a term of the system's variables; in float64 its coefficients are doubles."""
    count = len(where.system.variables)
    back = [
        (polynomial_from_variable(i, count) - polynomial_from_constant(centre, count)).times(1 / unit)
        for i, (centre, unit) in enumerate(where.units[:count])
    ]
    whole = Polynomial({m[:count]: c for m, c in barrier.terms.items()}).substitute_variables(back, count)
    if where.system.rounded:
        doubles = {m: Fraction(float(c)) for m, c in whole.terms.items()}
        whole = Polynomial({m: c for m, c in doubles.items() if c})
    return horner_term(whole, where.system.variables)


@dataclass(frozen=True, slots=True)
class Obligations:
    """What has to be shown of a set, one by one; `Unproved` where no proof is found."""

    where: ScaledSystem
    term: Term
    tested: bool
    budget: Budget
    squares: Squares = "auto"  # which sums of squares are tried
    wide: bool = False  # the matrices are too wide for programs: by projections

    @property
    def rows(self) -> list[Polynomial]:
        return [self.where.of(row) for row in barrier_rows(self.term)]

    def assemble_set(
        self, saturation: list[Any], unsafe: list[Any], steps: list[Any], starts: Sequence[tuple[Any, Any]]
    ) -> InvariantSet:
        """The set with its proofs; `starts`: boxes, each with its proof."""
        room, step, drift = self.margins()
        proof: dict[str, Any] = {
            "scale": [[number_text(c), number_text(u)] for c, u in self.where.units],
            "margins": {
                "room": number_text(room),
                "step": [number_text(e) for e in step],
                "barrier": number_text(drift),
            },
            "saturation": saturation,
            "unsafe": unsafe,
            "steps": steps,
            "covers": [box for box, _ in starts],
            "start": [shown for _, shown in starts],
        }
        motion, own, proposed = self.where.system.motion, self.where.own, self.where.proposed
        if motion is not None and own is not None:
            proof["period"] = {
                "order": motion.order,
                "enclosure": box_text(own.enclosure),
                "proposed": None if proposed is None else box_text(proposed.enclosure),
            }
        margin = self.margin if self.tested else Fraction(0)
        return InvariantSet(self.where.domain, self.term, self.tested, margin, proof)

    def inside(self) -> list[Polynomial]:
        return [*self.where.within(self.where.observed_domain), *(-row for row in self.rows)]

    def own(self) -> list[tuple[int, ...]]:
        """Products of the constraints of the set."""
        count = len(self.where.domain)
        return [*range_products(count), *((2 * count + i,) for i in range(len(barrier_rows(self.term))))]

    def prove(
        self, what: str, wanted: Polynomial, where: Sequence[Polynomial], products: Sequence[tuple[int, ...]]
    ) -> Any:
        """By multipliers where everything is affine, else by sums of squares."""
        return self.prover(where, products)(what, wanted)

    def prover(
        self, where: Sequence[Polynomial], products: Sequence[tuple[int, ...]]
    ) -> Callable[[str, Polynomial], Any]:
        """Proofs about the same constraints."""
        straight = [i for i, p in enumerate(where) if p.degree <= 1]
        affine, known = len(straight) == len(where), list[FarkasCombinations]()
        squares = self._squares(where, products)

        def proof(what: str, wanted: Polynomial) -> Any:
            self.budget.progress(f"barrier: {what}")
            if wanted.degree <= 1 and (affine or self.wide):
                known.extend(
                    [] if known else [FarkasCombinations([where[i] for i in straight], self.where.size)]
                )
                weights = None if self.budget.is_spent() else known[0].weights(wanted)
                if weights is not None:
                    return _weights_to_json({straight[i]: weight for i, weight in weights.items()})
            found = None if affine and wanted.degree <= 1 else squares(wanted)
            if found is None:
                raise Unproved(what)
            return [_summand_to_json(s) for s in found]

        return proof

    def _squares(
        self, where: Sequence[Polynomial], products: Sequence[tuple[int, ...]]
    ) -> Callable[[Polynomial], Proof | None]:
        def variables(*polynomials: Polynomial) -> list[int]:
            used = {i for p in polynomials for m in p.terms for i, e in enumerate(m) if e}
            return sorted(used | set(self.where.states))

        if self.wide:
            several = ProjectionProver(where, products, variables(*where))
            return lambda wanted: several.prove(wanted, self.budget)
        return lambda wanted: prove_nonnegative(
            wanted, where, products, variables(wanted, *where), self.budget, squares=self.squares
        )

    @property
    def margin(self) -> Fraction:
        """What the test of the set leaves to its own rounding errors."""
        if not self.where.system.rounded:
            return Fraction(0)
        return Fraction(
            float(Fraction(bound_rounding_error(self.term, variable_magnitudes(self.where))[1]) * SPARE)
        )

    def margins(self) -> tuple[Fraction, tuple[Fraction, ...], Fraction]:
        system, sizes = self.where.system, variable_magnitudes(self.where)
        room = 2 * self.margin * SPARE if self.tested else Fraction(0)
        if (own := self.where.own) is not None:
            step = self.where.prediction_error(own)
            return (
                room,
                step,
                Fraction(float(max(self.where.change_bound(r, step) for r in self.rows) * SPARE)),
            )
        if not system.rounded:
            return Fraction(0), (Fraction(0),) * len(system.variables), Fraction(0)
        values = dict(sizes)
        for then, (name, low, high) in zip(self.where.then, system.controls, strict=True):
            size, error = bound_rounding_error(then, sizes)
            ends = [abs(float(e)) for e in (low, high) if e is not None]
            values[name] = (max(ends) if len(ends) == 2 else max([size, *ends]), error)
        values |= {n: (float(max(abs(a), abs(b))), 0.0) for n, (a, b) in system.disturbances}
        step = tuple(Fraction(bound_rounding_error(t, values)[1]) * SPARE for t in system.next)
        return room, step, bound_barrier_shift(system, self.term, self.where.domain, step)

    def start(self, starts: Sequence[Range], room: Fraction) -> Any:
        """One proof for each row; for a barrier that is one polynomial just this."""
        proof = self.prover(self.where.within(starts), range_products(len(starts)))
        shown = [proof("the starts", self.where.constant(-room) - row) for row in self.rows]
        return shown if len(shown) > 1 else shown[0]

    def saturation(self, reached: Sequence[tuple[bool, bool]]) -> list[list[Any]]:
        found: list[list[Any]] = []
        proof = self.prover(self.inside(), self.own())
        for (value, low, high), (at_low, at_high) in zip(self.where.ends(), reached, strict=True):
            pair: list[Any] = [None, None]
            for side, end, at_end in ((0, low, at_low), (1, high, at_high)):
                if end is not None and not at_end:
                    gap = value - self.where.constant(end)
                    wanted = -gap if side else gap
                    pair[side] = proof("no control at an end", wanted)
            found.append(pair)
        return found

    def unsafe(self) -> list[Any]:
        found = []
        for case in relaxed_dnf(self.where.system.unsafe):
            slack = [self.slack(left, right) for left, right in case]
            slack = [s + more for s, more in zip(slack, self.where.between(case), strict=True)]
            extra = [
                self.where.condition(right) - self.where.condition(left) + self.where.constant(s)
                for (left, right), s in zip(case, slack, strict=True)
            ]
            if (direct := self._refute_by_domain(extra)) is not None:
                found.append({"slack": [number_text(s) for s in slack], "proof": direct})
                continue
            inside = [*self.inside(), *extra]
            first = len(inside) - len(extra)
            products = [*self.own(), *((first + i,) for i in range(len(extra)))]
            shown = self.prove("no unsafe state", self.where.constant(-1), inside, products)
            found.append({"slack": [number_text(s) for s in slack], "proof": shown})
        return found

    def _refute_by_domain(self, extra: Sequence[Polynomial]) -> list[Any] | None:
        """-1 from a comparison and one side of the domain, where their sum is a negative number."""
        nothing, first = (0,) * self.where.size, 2 * len(self.where.domain) + len(barrier_rows(self.term))
        for index, side in enumerate(self.where.within(self.where.observed_domain)):
            for number, gap in enumerate(extra):
                unit = next((c for m, c in gap.terms.items() if m != nothing), Fraction(0))
                other = next((c for m, c in side.terms.items() if m != nothing), Fraction(0))
                if not unit or not other or unit * other > 0:
                    continue
                share = -unit / other
                total = gap + side.times(share)
                if total.terms.keys() == {nothing} and (sum_ := total.terms[nothing]) < 0:
                    one = Summand((first + number,), (nothing,), ((-1 / sum_,),))
                    another = Summand((index,), (nothing,), ((-share / sum_,),))
                    return [_summand_to_json(one), _summand_to_json(another)]
        return None

    def slack(self, left: Term, right: Term) -> Fraction:
        if not self.where.system.compares_rounded:
            return Fraction(0)
        sizes = variable_magnitudes(self.where)
        return sum((Fraction(bound_rounding_error(t, sizes)[1]) * SPARE for t in (left, right)), Fraction(0))

    def step_modes(
        self, reached: Sequence[tuple[bool, bool]]
    ) -> Iterator[tuple[list[Polynomial], list[Polynomial], list[tuple[int, ...]]]]:
        """Next values, constraints and their products for each case of the controls."""
        where, states = self.where, self.inside()
        disturbed = where.disturbance_constraints()
        for controls, constraints in where.modes(reached):
            products = [
                *self.own(),
                *range_products(len(where.system.disturbances), len(states)),
                *((len(states) + len(disturbed) + i,) for i in range(len(constraints))),
            ]
            yield where.following(controls), [*states, *disturbed, *constraints], products

    def steps(
        self,
        reached: Sequence[tuple[bool, bool]],
        room: Fraction,
        step: Sequence[Fraction],
        drift: Fraction,
    ) -> list[list[Any]]:
        where, found, terms = self.where, [], barrier_rows(self.term)
        for following, inside, products in self.step_modes(reached):
            moved = dict(zip(where.system.variables, following, strict=True))
            proof, least = self.prover(inside, products), where.constant(-room - drift)
            shown = [proof("a step", least - where.of(row, moved)) for row in terms]
            for value, (low, high), error in zip(following, where.domain, step, strict=True):
                above = value - where.constant(low + error)
                below = where.constant(high - error) - value
                shown += [proof("the domain", side) for side in (above, below)]
            found.append(shown)
        return found


def number_text(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else str(value)


def _weights_to_json(weights: Mapping[int, Fraction]) -> dict[str, Any]:
    """Over one common denominator; integers in hexadecimal digits."""
    over = lcm(*(weight.denominator for weight in weights.values()))
    return {"weights": [[i, hex(int(w * over))] for i, w in sorted(weights.items())], "over": over}


def _summand_to_json(found: Summand) -> dict[str, Any]:
    """The matrix over one common denominator; entries in hexadecimal digits."""
    over = lcm(*(entry.denominator for row in found.gram for entry in row))
    rows = [[hex(int(entry * over)) for entry in row] for row in found.gram]
    return {"of": list(found.of), "basis": [list(m) for m in found.basis], "gram": rows, "over": over}
