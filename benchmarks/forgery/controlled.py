"""Claims about polynomial systems: closed sets and shields, in steps and in continuous time, and convergence.

A base with a true claim is proved; then a liar changes the claim by rules (`lies`) and gives the old proof,
or one of the new claim as far as there is any (`evidence`), with all margins or with less. Runs show which
claims are false; where none is found nobody knows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from random import Random

from benchmarks.forgery.evidence import FILLERS, MARGINS, give_evidence
from benchmarks.forgery.finite_systems import Json
from benchmarks.forgery.flow_runs import is_refuted_flow
from benchmarks.forgery.lies import LIES, ROUNDING_LIES, UNSAFE_LIES, Lie
from benchmarks.forgery.polynomial_systems import convergent_base, flow_base, stepped_base
from benchmarks.forgery.stepped_runs import is_refuted, is_refuted_convergence
from benchmarks.forgery.target_lies import TARGET_LIES
from benchmarks.forgery.time_lies import TIME_LIES

Forged = tuple[str, Json, bool | None]
LIES_TOLD = 8  # about one base


def forge_barriers(draw: Random) -> Iterator[Forged]:
    return _forge(draw, stepped_base, (*LIES, *UNSAFE_LIES * 2, *ROUNDING_LIES), is_refuted)


def forge_flows(draw: Random) -> Iterator[Forged]:
    return _forge(draw, flow_base, (*LIES, *UNSAFE_LIES, *TIME_LIES * 2), is_refuted_flow)


def forge_convergence(draw: Random) -> Iterator[Forged]:
    return _forge(draw, convergent_base, (*LIES, *TARGET_LIES * 2), is_refuted_convergence)


def _forge(
    draw: Random, make: Callable[[Random], Json], lies: Sequence[Lie], refutes: Callable[[Json], bool]
) -> Iterator[Forged]:
    plain = make(draw)
    proved = _prove_base(plain)
    if proved is None:
        return
    yield "the claim as it is", _finished(proved), True
    yield "less is claimed", _finished(claim_less(proved, draw)), True
    for _ in range(LIES_TOLD):
        data, told = copy.deepcopy(plain), list[str]()
        for lie in draw.sample(lies, draw.choice((1, 1, 1, 2))):
            if lie(data, draw):
                told.append(lie.__name__)
        if not told or data["claim"] | data.get("ranking", {}) == plain["claim"] | plain.get("ranking", {}):
            continue
        how, certificate = give_proof(data, proved, draw)
        if certificate is not None:
            try:
                known = False if refutes(certificate) else None
            except (ZeroDivisionError, OverflowError):
                known = None
            yield f"{told[0]}: {how}", _finished(certificate), known


def _prove_base(data: Json) -> Json | None:
    """With all proofs; a ranking function may fall less than it was hoped."""
    for _ in range(4):
        found = give_evidence(data)
        if found is None:
            return None
        if not found[1]:
            return found[0]
        if "ranking" not in data:
            return None
        data["ranking"]["least"] = str(Fraction(data["ranking"]["least"]) / 8)
    return None


def _finished(data: Json) -> Json:
    return {key: value for key, value in data.items() if key not in ("about", "hint")}


def claim_less(proved: Json, draw: Random) -> Json:
    """From some of the starts; and a target that is larger."""
    data = copy.deepcopy(proved)
    system = data["claim"]["system"]
    box = draw.choice(system.get("parts", [system["initial"]]))
    low, high = (Fraction(e) for e in box[0])
    system["parts"] = [[[str(low), str(low + (high - low) / 2)], *box[1:]]]
    return data


def give_proof(data: Json, proved: Json, draw: Random) -> tuple[str, Json | None]:
    """The old one, or what there is of a new one; with the words for it."""
    if draw.random() < 0.25:
        old = {**copy.deepcopy(proved), "claim": data["claim"], "arithmetic": data["arithmetic"]}
        if "ranking" in data:
            old["ranking"] |= {k: data["ranking"][k] for k in ("function", "least")}
        if draw.random() < 0.5:
            for entry, new in zip(old["sets"], data["sets"], strict=False):
                entry["scale"] = new["scale"]
        return "the old proof", old
    margins, shares = draw_shares(draw)
    hint = data.get("hint", {}) if draw.random() < 0.7 else {}
    if "missing" in hint:
        margins, shares = ", what matters missing", dict.fromkeys(hint["missing"], Fraction(0))
    within = hint.get("within", draw.random() < 0.1)
    found = give_evidence(data, shares, draw.choice(FILLERS), within)
    if found is None:
        return "", None
    certificate, gaps = found
    if "first" in hint:
        keep_first(certificate)
    elif gaps and draw.random() < 0.3:
        drop_something(certificate, draw)
    return ("a new proof" if not gaps else "a proof with gaps") + margins, certificate


def draw_shares(draw: Random) -> tuple[str, dict[str, Fraction]]:
    """All margins, half of them, none, or all but one."""
    how = draw.random()
    if how < 0.35:
        return "", {}
    if how < 0.45:
        return ", half margins", dict.fromkeys(MARGINS, Fraction(1, 2))
    if how < 0.65:
        return ", no margins", dict.fromkeys(MARGINS, Fraction(0))
    return ", a margin missing", {draw.choice(MARGINS): Fraction(0)}


def keep_first(certificate: Json) -> None:
    """Of several cases only the first is looked at."""
    for entry in certificate["sets"]:
        del entry["unsafe"][1:]
    for several in certificate.get("ranking", {"cases": []})["cases"]:
        del several[1:]


def drop_something(certificate: Json, draw: Random) -> None:
    """Cases, boxes, or whole lists that are missing or stand in another order."""
    entry = draw.choice(certificate["sets"])
    places = [entry[key] for key in ("unsafe", "steps", "start", "covers") if entry[key]]
    if "ranking" in certificate:
        places += [certificate["ranking"]["cases"], *certificate["ranking"]["cases"]]
    if not places:
        return
    place = draw.choice(places)
    match draw.randrange(4):
        case 0:
            del place[draw.randrange(len(place))]
        case 1:
            place.reverse()
        case 2:
            del place[1:]
        case _:
            place.clear()
