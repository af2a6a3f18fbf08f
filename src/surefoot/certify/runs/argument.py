"""The argument of a certificate: what an engine says, with the aids that another look at the problem had.

A proof of an abstraction, or one that assumes an invariant, is about another problem. What is certified is
the problem itself; the aid says which inputs and outputs of the network may be anything, or brings the
certificate of the invariant, and the checker derives from it what has to be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from surefoot.certify.term_json import exact_to_json
from surefoot.errors import Unsupported
from surefoot.term.interval import Span
from surefoot.verdict.verdict import Certificate, ProofArgument

if TYPE_CHECKING:
    from surefoot_checker.claims.runs.canonical_problem import CanonicalProblem as Read

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProofAid:
    """What a proof may use beyond the problem."""

    inputs: Mapping[int, Span] = field(
        default_factory=dict
    )  # free ones; a wider range than they need, or none
    outputs: Mapping[int, Span] = field(default_factory=dict)
    invariant: Certificate | None = None  # that no run comes to a condition
    inside: Any = None  # for an argument by parts: the condition, as a certificate has it


def argument_to_json(
    argument: ProofArgument, aid: ProofAid, problem: Read, different: list[list[int]]
) -> Json:
    """The argument as it stands in a certificate."""
    if argument.kind == "parts":
        return {"kind": "parts", "steps": 1, "inside": aid.inside}
    found: Json = {"kind": argument.kind, "steps": argument.steps}
    if argument.good is not None:
        found["good"] = argument.good
    if aid.inputs or aid.outputs:
        found["free"] = {
            "inputs": [_input_range(problem, number, span) for number, span in sorted(aid.inputs.items())],
            "outputs": [
                _range_to_json(number, *_span_ends(span)) for number, span in sorted(aid.outputs.items())
            ],
        }
    if aid.invariant is not None:
        claim = _invariant_claim(aid.invariant)
        never = claim["problem"]["property"]["condition"]
        found["assuming"] = {"never": never, "argument": claim["argument"]}
    if different:
        found["different"] = different
    return found


def proved_obligations(aid: ProofAid) -> dict[tuple[str, int], list[Json]]:
    """Obligations that the certificate of the invariant has shown already, by the names they have here."""
    if aid.invariant is None:
        return {}
    shown: Any = aid.invariant.content["obligations"]
    return {(f"assumed/{o['obligation']}", o["steps"]): o["cases"] for o in shown}


def _invariant_claim(invariant: Certificate) -> Json:
    claim: Any = invariant.content["claim"]
    if invariant.kind != "execution" or invariant.content["arithmetic"] != "float32":
        raise Unsupported("the certificate of the assumed invariant is not one about runs in float32")
    return dict(claim)


def _input_range(problem: Read, number: int, span: Span) -> list[int | str]:
    """A free input in its range, which contains all that the checker thinks its term may be."""
    from surefoot_checker.claims.runs.network_ranges import observation_ranges

    ((low, high),) = observation_ranges(problem, (number,))
    low = low if span.low is None else min(low, span.low)
    return _range_to_json(number, low, high if span.high is None else max(high, span.high))


def _span_ends(span: Span) -> tuple[Fraction, Fraction]:
    if span.low is None or span.high is None:
        raise Unsupported("a free output needs a range")
    return span.low, span.high


def _range_to_json(number: int, low: Fraction, high: Fraction) -> list[int | str]:
    return [number, exact_to_json(low), exact_to_json(high)]
