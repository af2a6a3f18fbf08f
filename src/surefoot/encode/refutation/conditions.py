"""When an unrolled run of exactly k steps violates its property, as conditions for a solver.

    Never(bad)          its last state is bad
    Within(good, s, a)  no state from a on is good, and k = s, or the run ends
    Eventually(good)    no state is good, and the run ends, or its last state is an earlier one
    Recurs(good)        the last state is not good and the run ends, or it is an earlier state and no state
                        since then was good; what came before does not matter

A run that returns to an earlier state can go round for ever: such a lasso stands for an infinite run.
"""

from __future__ import annotations

from surefoot.encode.unroll import Encoded
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.term import FALSE, Term, conjunction, disjunction


def violation(encoded: Encoded, *, loops: bool = True) -> Term:
    """The run violates the property; without `loops` only because of where and how it ends."""
    last = encoded.steps
    match encoded.problem.property:
        case Never(bad):
            return encoded.condition(bad, last)
        case Within(good, steps, after):
            missed = missing(encoded, good, after, last)
            return conjunction(missed if last == steps else (*missed, encoded.ended(last)))
        case Eventually(good):
            back = disjunction(tuple(encoded.same(i, last) for i in range(last)) if loops else ())
            return conjunction((*missing(encoded, good, 0, last), disjunction((encoded.ended(last), back))))
        case Recurs(good):
            ways = [conjunction((*missing(encoded, good, last, last), encoded.ended(last)))]
            if loops:
                ways += [
                    conjunction((encoded.same(i, last), *missing(encoded, good, i, last)))
                    for i in range(last)
                ]
            return disjunction(tuple(ways))
        case other:
            raise TypeError(f"a run does not refute {type(other).__name__}")


def missing(encoded: Encoded, good: Term, first: int, last: int) -> tuple[Term, ...]:
    """None of these states is good."""
    return tuple(encoded.condition(~good, i) for i in range(first, last + 1))


def relevant(encoded: Encoded) -> tuple[Term, ...]:
    """What is true of the runs that may still violate the property when they go on."""
    match encoded.problem.property:
        case Eventually(good):
            return missing(encoded, good, 0, encoded.steps)
        case _:
            return ()


def meaningless(encoded: Encoded) -> Term:
    """The property, where it is still open, has no value in the last state: division by zero, say."""
    last = encoded.steps
    match encoded.problem.property:
        case Never(condition) | Recurs(condition):
            return encoded.undefined(condition, last)
        case Within(good, _, after):
            return encoded.undefined(good, last) if last >= after else FALSE
        case Eventually(good):
            unclear = encoded.undefined(good, last)
            return conjunction((*missing(encoded, good, 0, last - 1), unclear)) if unclear != FALSE else FALSE
        case other:
            raise TypeError(f"a run does not refute {type(other).__name__}")
