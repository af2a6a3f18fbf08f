"""When an unrolled run of exactly k steps violates its property, as conditions for a solver.

    Never(bad)          its last state is bad
    Within(good, s, a)  no state from a on is good, and k = s, or the run ends
    Eventually(good)    no state is good, and the run ends, or its last state is an earlier one
    Recurs(good)        the last state is not good and the run ends, or it is an earlier state and no state
                        since then was good; what came before does not matter

A run that returns to an earlier state can go round for ever: such a lasso stands for an infinite run.
"""

from __future__ import annotations

from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.reductions.unroll import Unrolling
from surefoot.term.term import FALSE, Term, conjunction_of, disjunction_of


def encode_violation(encoded: Unrolling, *, loops: bool = True) -> Term:
    """The run violates the property; without `loops` only because of where and how it ends."""
    last = encoded.steps
    match encoded.problem.property:
        case Never(bad):
            return encoded.condition_at(bad, last)
        case Within(good, steps, after):
            missed = encode_no_good_state(encoded, good, after, last)
            return conjunction_of(missed if last == steps else (*missed, encoded.ended_at(last)))
        case Eventually(good):
            back = disjunction_of(tuple(encoded.same_state(i, last) for i in range(last)) if loops else ())
            return conjunction_of(
                (
                    *encode_no_good_state(encoded, good, 0, last),
                    disjunction_of((encoded.ended_at(last), back)),
                )
            )
        case Recurs(good):
            ways = [
                conjunction_of((*encode_no_good_state(encoded, good, last, last), encoded.ended_at(last)))
            ]
            if loops:
                ways += [
                    conjunction_of(
                        (encoded.same_state(i, last), *encode_no_good_state(encoded, good, i, last))
                    )
                    for i in range(last)
                ]
            return disjunction_of(tuple(ways))
        case other:
            raise TypeError(f"a run does not refute {type(other).__name__}")


def encode_no_good_state(encoded: Unrolling, good: Term, first: int, last: int) -> tuple[Term, ...]:
    """None of these states is good."""
    return tuple(encoded.condition_at(~good, i) for i in range(first, last + 1))


def encode_open_run(encoded: Unrolling) -> tuple[Term, ...]:
    """What is true of the runs that may still violate the property when they go on."""
    match encoded.problem.property:
        case Eventually(good):
            return encode_no_good_state(encoded, good, 0, encoded.steps)
        case _:
            return ()


def encode_undefined_property(encoded: Unrolling) -> Term:
    """The property, where it is still open, has no value in the last state: division by zero, say."""
    last = encoded.steps
    match encoded.problem.property:
        case Never(condition) | Recurs(condition):
            return encoded.undefined_at(condition, last)
        case Within(good, _, after):
            return encoded.undefined_at(good, last) if last >= after else FALSE
        case Eventually(good):
            unclear = encoded.undefined_at(good, last)
            return (
                conjunction_of((*encode_no_good_state(encoded, good, 0, last - 1), unclear))
                if unclear != FALSE
                else FALSE
            )
        case other:
            raise TypeError(f"a run does not refute {type(other).__name__}")
