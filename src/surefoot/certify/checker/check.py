"""Checking a certificate: reads the claim, checks that the cases cover it, and follows every step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from .bounds.state import Kernel
from .claim import Places, read_claim
from .file import file_bytes, shown, unpacked
from .number import BadCertificate, Refused, items, record
from .proof.cases import check_choices, read_case, read_problem
from .proof.walk import Count, walk

_KEYS = frozenset({"surefoot-certificate", "claim", "arithmetic", "cases"})
_MEANING = {
    "float32": "float32: any order of summation, tanh and sigmoid within four units in the last place",
    "real": "real numbers: rounding is not covered",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the certificate shows what it claims; if not, `reason` says where it fails."""

    accepted: bool
    reason: str
    claim: str = ""
    arithmetic: str = ""
    not_certified: tuple[str, ...] = ()
    cases: int = 0
    steps: int = 0
    states: int = 0  # parts of the search space that were closed one by one
    repeated: int = 0  # steps that needed the finer grid


def read_certificate(path: Path) -> dict[str, Any]:
    """The JSON data of a certificate, gzipped or not; floats, and keys that occur twice, are refused."""
    try:
        found = json.loads(
            unpacked(file_bytes(path)),
            parse_float=_no_float,
            parse_constant=_no_float,
            object_pairs_hook=_object,
        )
    except (ValueError, RecursionError) as error:
        raise BadCertificate(f"{path}: not a JSON file of this kind: {shown(str(error))}") from None
    if type(found) is not dict:
        raise BadCertificate(f"{path}: not a JSON object")
    return found


def _no_float(word: str) -> NoReturn:
    raise ValueError(f"a JSON float: {word[:40]}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def check(
    certificate: Mapping[str, Any],
    *,
    network: Path | None = None,
    property: Path | None = None,
    base: Path = Path(),
) -> Verdict:
    """Whether a certificate proves its claim.

    `network` and `property` say where the files are that the claim names; otherwise they are looked for where
    it says and in `base`. Raises `BadCertificate` if the data is not a certificate at all.
    """
    data = record(dict(certificate), _KEYS, frozenset(), "certificate")
    if type(data["surefoot-certificate"]) is not int or data["surefoot-certificate"] != 1:
        raise BadCertificate("certificate: of another version than 1")
    arithmetic = data["arithmetic"]
    if arithmetic not in ("float32", "real"):
        raise BadCertificate("certificate: its `arithmetic` is neither `float32` nor `real`")
    query = read_claim(data["claim"], Places(base, network, property))
    claim = f"nothing satisfies {query.origin}"
    count, cases = Count(), [read_case(c) for c in items(data["cases"], "cases")]
    reason = "every case is covered and every state is closed"
    accepted = True
    kernels: dict[tuple[int, int], Kernel] = {}
    try:
        check_choices(query, cases)
        for case in cases:
            count.cases += 1
            problem = read_problem(query, case, arithmetic == "float32")
            steps = items(case["steps"], "steps")
            if problem is not None:
                walk(problem, steps, kernels, count)
            elif steps:
                raise Refused("step 0 follows when the case is closed")
    except Refused as error:
        accepted, reason = False, f"case {count.cases - 1}: {error}" if count.cases else str(error)
    return Verdict(
        accepted,
        reason,
        claim,
        _MEANING[arithmetic],
        query.uncertified,
        count.cases,
        count.steps,
        count.states,
        count.repeated,
    )
