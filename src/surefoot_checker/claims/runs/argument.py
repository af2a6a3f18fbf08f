"""Reading the argument of a claim about runs: how it is shown, and with which aids (docs/certificates.md, 9).

Aids make queries weaker or stronger in ways that the obligations justify: inputs and outputs of the network
that may be anything within a range, a condition that no run meets, states that are not the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ...kernel.strict_json import BadCertificate, expect_integer, expect_list, expect_number, expect_object
from ...kernel.term import Term, read_term
from .canonical_problem import DEEPEST, MOST_STEPS, FreeRanges

MOST_NESTED = 4  # arguments of assumptions within each other
MOST_WIDE = 2**22  # inputs or outputs of a network
_KEYS = frozenset({"kind", "steps"})
_MORE = frozenset({"good", "free", "assuming", "different"})
_PARTS = frozenset({"kind", "steps", "inside"})


@dataclass(frozen=True, slots=True)
class AssumedLemma:
    """A condition that no state of any run satisfies, and how that is shown."""

    never: Term
    argument: RunArgument


@dataclass(frozen=True, slots=True)
class RunArgument:
    """`steps`: how far runs are unrolled, or k of an induction; `good`: states of which one must be good.

    `closed`: no step leads from a state that is not bad to one that is; its `steps` is 1. `parts`: no run
    leaves the states where `inside` holds, and none of these is bad; its `steps` is 1 as well.
    """

    kind: str  # "unrolled", "induction", "closed" or "parts"
    steps: int
    good: int | None = None
    free: FreeRanges = field(default_factory=FreeRanges)
    assuming: AssumedLemma | None = None
    different: tuple[tuple[int, int], ...] = ()  # times at which the states of a sequence are not the same
    inside: Term = True


def read_run_argument(data: object, nested: int = 0) -> RunArgument:
    if isinstance(data, dict) and data.get("kind") == "parts":
        entry = expect_object(data, _PARTS, "argument")
        one = expect_integer(entry["steps"], 1, 1, "steps")
        return RunArgument("parts", one, inside=read_term(entry["inside"], deepest=DEEPEST))
    entry = expect_object(data, _KEYS, "argument", _MORE)
    if entry["kind"] not in ("unrolled", "induction", "closed"):
        raise BadCertificate("argument: neither `unrolled`, `induction`, `closed` nor `parts`")
    steps = expect_integer(entry["steps"], 0, MOST_STEPS, "steps")
    good = expect_integer(entry["good"], 1, MOST_STEPS, "good") if "good" in entry else None
    free = _read_free(entry["free"]) if "free" in entry else FreeRanges()
    assuming = _read_lemma(entry["assuming"], nested) if "assuming" in entry else None
    pairs = tuple(_read_time_pair(p) for p in expect_list(entry.get("different", []), "different"))
    return RunArgument(entry["kind"], steps, good, free, assuming, pairs)


def _read_free(data: object) -> FreeRanges:
    entry = expect_object(data, frozenset({"inputs", "outputs"}), "free")
    return FreeRanges(
        _read_ranges(entry["inputs"], "free input"), _read_ranges(entry["outputs"], "free output")
    )


def _read_ranges(data: object, what: str) -> Mapping[int, tuple[Fraction, Fraction]]:
    found: dict[int, tuple[Fraction, Fraction]] = {}
    for entry in expect_list(data, what):
        form = f"{what}: not a list of its number, low and high"
        number, low, high = expect_list(entry, what, 3, form)
        index, ends = (
            expect_integer(number, 0, MOST_WIDE, what),
            (expect_number(low, what), expect_number(high, what)),
        )
        if index in found:
            raise BadCertificate(f"{what}: {index} is there twice")
        found[index] = ends
    return found


def _read_lemma(data: object, nested: int) -> AssumedLemma:
    if nested >= MOST_NESTED:
        raise BadCertificate("argument: assumptions are nested too deeply")
    entry = expect_object(data, frozenset({"never", "argument"}), "assuming")
    never = read_term(entry["never"], condition=True, deepest=DEEPEST)
    return AssumedLemma(never, read_run_argument(entry["argument"], nested + 1))


def _read_time_pair(data: object) -> tuple[int, int]:
    times = [expect_integer(t, 0, MOST_STEPS, "time") for t in expect_list(data, "different")]
    if len(times) != 2 or times[0] >= times[1]:
        raise BadCertificate("argument: different states are given by two times, the earlier one first")
    return times[0], times[1]
