"""Reading the argument of a claim about runs: how it is shown, and with which aids (docs/certificates.md, 9).

Aids make queries weaker or stronger in ways that the obligations justify: inputs and outputs of the network
that may be anything within a range, a condition that no run meets, states that are not the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ..number import BadCertificate, integer, items, number, record
from .problem import MOST_STEPS, Free
from .term import Term, read_term

MOST_NESTED = 4  # arguments of assumptions within each other
MOST_WIDE = 2**22  # inputs or outputs of a network
_KEYS = frozenset({"kind", "steps"})
_MORE = frozenset({"good", "free", "assuming", "different"})
_PARTS = frozenset({"kind", "steps", "inside"})


@dataclass(frozen=True, slots=True)
class Assumed:
    """A condition that no state of any run satisfies, and how that is shown."""

    never: Term
    argument: Argument


@dataclass(frozen=True, slots=True)
class Argument:
    """`steps`: how far runs are unrolled, or k of an induction; `good`: states of which one must be good.

    `closed`: no step leads from a state that is not bad to one that is; its `steps` is 1. `parts`: no run
    leaves the states where `inside` holds, and none of these is bad; its `steps` is 1 as well.
    """

    kind: str  # "unrolled", "induction", "closed" or "parts"
    steps: int
    good: int | None = None
    free: Free = field(default_factory=Free)
    assuming: Assumed | None = None
    different: tuple[tuple[int, int], ...] = ()  # times at which the states of a sequence are not the same
    inside: Term = True


def read_argument(data: object, nested: int = 0) -> Argument:
    if isinstance(data, dict) and data.get("kind") == "parts":
        entry = record(data, _PARTS, frozenset(), "argument")
        one = integer(entry["steps"], 1, 1, "steps")
        return Argument("parts", one, inside=read_term(entry["inside"]))
    entry = record(data, _KEYS, _MORE, "argument")
    if entry["kind"] not in ("unrolled", "induction", "closed"):
        raise BadCertificate("argument: neither `unrolled`, `induction`, `closed` nor `parts`")
    steps = integer(entry["steps"], 0, MOST_STEPS, "steps")
    good = integer(entry["good"], 1, MOST_STEPS, "good") if "good" in entry else None
    free = _free(entry["free"]) if "free" in entry else Free()
    assuming = _assumed(entry["assuming"], nested) if "assuming" in entry else None
    pairs = tuple(_pair(p) for p in items(entry.get("different", []), "different"))
    return Argument(entry["kind"], steps, good, free, assuming, pairs)


def _free(data: object) -> Free:
    entry = record(data, frozenset({"inputs", "outputs"}), frozenset(), "free")
    return Free(_ranges(entry["inputs"], "free input"), _ranges(entry["outputs"], "free output"))


def _ranges(data: object, what: str) -> Mapping[int, tuple[Fraction, Fraction]]:
    found: dict[int, tuple[Fraction, Fraction]] = {}
    for entry in items(data, what):
        parts = items(entry, what)
        if len(parts) != 3:
            raise BadCertificate(f"{what}: not a list of its number, low and high")
        index, low, high = (
            integer(parts[0], 0, MOST_WIDE, what),
            number(parts[1], what),
            number(parts[2], what),
        )
        if index in found:
            raise BadCertificate(f"{what}: {index} is there twice")
        found[index] = (low, high)
    return found


def _assumed(data: object, nested: int) -> Assumed:
    if nested >= MOST_NESTED:
        raise BadCertificate("argument: assumptions are nested too deeply")
    entry = record(data, frozenset({"never", "argument"}), frozenset(), "assuming")
    return Assumed(read_term(entry["never"]), read_argument(entry["argument"], nested + 1))


def _pair(data: object) -> tuple[int, int]:
    times = [integer(t, 0, MOST_STEPS, "time") for t in items(data, "different")]
    if len(times) != 2 or times[0] >= times[1]:
        raise BadCertificate("argument: different states are given by two times, the earlier one first")
    return times[0], times[1]
