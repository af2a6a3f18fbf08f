"""Checking a certificate: reads the claim, checks that the cases cover it, and follows every step."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from .bounds.subdomain import AffineKernel, Contents
from .claims.graph.claim import check_graph_claim
from .claims.runs.argument import read_run_argument
from .claims.runs.canonical_problem import MOST_STEPS, CanonicalProblem, read_canonical_problem
from .claims.runs.network_ranges import check_overflow
from .claims.runs.obligations import RunObligation, describe_argument, enumerate_obligations
from .claims.runs.recurrence import check_stem, read_recurrence_claim, region_obligations
from .claims.unsat.cases import build_case_problem, check_choices, read_case
from .claims.unsat.proof_tree import ProofCount, check_proof_tree
from .claims.unsat.query_claim import FileLocations, read_query_claim
from .claims.values.claim import check_process_claim
from .kernel.format_1 import translate_certificate
from .kernel.query import ClaimedQuery
from .kernel.share import WHOLE, Share, StepShare
from .kernel.strict_json import (
    BadCertificate,
    Refused,
    expect_integer,
    expect_list,
    expect_object,
    expect_text,
)
from .kernel.untrusted_file import decompress_gzip, quote_for_message, read_file_bytes

STEPS, CELLS = 1000, 4  # of a share that is worth a process
_KEYS = frozenset({"surefoot-certificate", "claim", "arithmetic"})
_EXECUTION = frozenset({"kind", "problem", "argument"})
_RECURRENCE = frozenset({"kind", "problem", "start", "moves", "regions"})
_STEM = "that another float32 evaluation of the network than the reference makes the same first steps"
_OBLIGATION = frozenset({"obligation", "steps", "cases"})
_MEANING = {
    "float32": "float32: any order of summation, "
    "tanh, exp and their like within four units in the last place",
    "real": "real numbers: rounding is not covered",
    "exact": "exact: the model has no rounding",
    "float64": "float64: every operation rounded to nearest, in the order written",
    "reference": "float32 as the reference computes: sums from the first input to the last, then the bias",
}


@dataclass(frozen=True, slots=True)
class CheckerVerdict:
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
            decompress_gzip(read_file_bytes(path)),
            parse_float=_refuse_float,
            parse_constant=_refuse_float,
            object_pairs_hook=_unique_object,
        )
    except (ValueError, RecursionError) as error:
        raise BadCertificate(
            f"{path}: not a JSON file of this kind: {quote_for_message(str(error))}"
        ) from None
    if type(found) is not dict:
        raise BadCertificate(f"{path}: not a JSON object")
    return found


def _refuse_float(word: str) -> NoReturn:
    raise ValueError(f"a JSON float: {word[:40]}")


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def judge_certificate(
    certificate: Mapping[str, Any],
    *,
    network: Path | None = None,
    property: Path | None = None,
    base: Path = Path(),
    workers: int = 1,
    share: Share = WHOLE,
) -> CheckerVerdict:
    """Whether a certificate proves its claim.

    With a `share` of the work: whether that shows nothing against it; `join_verdicts` of all is the answer.

    `network` and `property` say where the files are that the claim names; otherwise they are looked for where
    it says and in `base`. `workers`: processes for what has parts; the verdict is the same for any number of
    them. Raises `BadCertificate` if the data is not a certificate at all.
    """
    version = certificate.get("surefoot-certificate")
    if type(version) is not int or version not in (1, 2):
        raise BadCertificate("certificate: of another version than 1 and 2")
    if "unfinished" in certificate:
        raise BadCertificate("certificate: unfinished, its proof is missing: `surefoot certify` makes it")
    whole = translate_certificate(certificate) if version == 1 else dict(certificate)
    claim, places = whole.get("claim"), FileLocations(base, network, property)
    kind = claim.get("kind") if isinstance(claim, dict) else None
    if kind in ("process", "graph"):
        return _judge_values(whole, places, workers)
    if kind in ("barrier", "convergence"):
        return _judge_sets(whole)
    if kind in ("reach", "reach-violation"):
        return _judge_loop(whole, places, share)
    about_runs = kind in ("execution", "recurrence")
    data = expect_object(whole, _KEYS | {"obligations" if about_runs else "cases"}, "certificate")
    arithmetic = data["arithmetic"]
    if arithmetic not in ("float32", "real"):
        raise BadCertificate("certificate: its `arithmetic` is neither `float32` nor `real`")
    if about_runs:
        return _judge_runs(data, places, arithmetic, share)
    query = read_query_claim(claim, places)
    count, cases = ProofCount(), [read_case(c) for c in expect_list(data["cases"], "cases")]
    accepted, reason = True, "every case is covered and every state is closed"
    try:
        mine = StepShare(share, count_steps(cases))
        check_no_solution(query, cases, arithmetic, {}, count, mine)
    except Refused as error:
        accepted, reason = False, str(error)
    words, meaning = f"nothing satisfies {query.origin}", _MEANING[arithmetic]
    return CheckerVerdict(accepted, reason, words, meaning, query.uncertified, **asdict(count))


def _judge_values(certificate: dict[str, Any], places: FileLocations, workers: int) -> CheckerVerdict:
    """A probability or an expected reward, with bounds of every state of the process."""
    graph = certificate["claim"]["kind"] == "graph"
    needed, allowed = (_KEYS, {"closed"}) if graph else (_KEYS | {"values"}, {"outcomes"})
    data = expect_object(certificate, needed, "certificate", frozenset(allowed))
    if data.get("outcomes", "delayed") != "delayed":
        raise BadCertificate("certificate: `outcomes` are `delayed`, or nothing is said of them")
    known = ("exact", "float32" if graph else "reference")
    if data["arithmetic"] not in known or places.property is not None:
        raise BadCertificate("certificate: about a process, in an arithmetic of such claims, not a file")
    collects = gc.isenabled()
    gc.disable()  # nothing here refers to itself, and there may be millions of states to walk through
    try:
        found = (
            check_graph_claim(data["claim"], data.get("closed"), places)
            if graph
            else check_process_claim(
                data["claim"], data["values"], places, workers, delayed="outcomes" in data
            )
        )
        if found.arithmetic != data["arithmetic"]:
            raise Refused("the arithmetic is `exact` exactly where no network decides")
    except Refused as error:
        return CheckerVerdict(False, str(error), "bounds of a probability or an expected reward")
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as error:
        raise BadCertificate(
            f"a part of the problem that does not fit the others: {error or type(error).__name__}"
        ) from None
    finally:
        if collects:
            gc.enable()
    looked = "every state of the closed set" if data.get("closed") is not None else "every reachable state"
    reason = f"{looked} was looked at" if graph else "the bounds of every state are inductive"
    meaning = _MEANING[found.arithmetic]
    return CheckerVerdict(True, reason, found.claim, meaning, found.unsaid, 1, found.choices, found.states)


def _judge_sets(certificate: dict[str, Any]) -> CheckerVerdict:
    """Sets of states of a polynomial system that are never left."""
    from .claims.barrier.claim import check_barrier  # what other claims do not need
    from .claims.barrier.convergence import check_convergence

    converges = certificate["claim"]["kind"] == "convergence"
    keys = _KEYS | {"sets"} | ({"ranking"} if converges else set())
    data = expect_object(certificate, keys, "certificate")
    if data["arithmetic"] not in ("exact", "float64"):
        raise BadCertificate("certificate: about a polynomial system, in `exact` or `float64` arithmetic")
    words = "every run comes to its target" if converges else "no run comes to an unsafe state"
    try:
        if converges:
            words = check_convergence(data["claim"], data["sets"], data["ranking"], data["arithmetic"])
        else:
            words = check_barrier(data["claim"], data["sets"], data["arithmetic"])
    except Refused as error:
        return CheckerVerdict(False, str(error), words)
    meaning = _MEANING[data["arithmetic"]]
    if "time" in data["claim"]["problem"]:
        meaning = f"the differential equation in real numbers, its controls in {meaning}"
    missing = ("where the system comes from: it is written out in the certificate",)
    count = len(data["sets"])
    reason = (
        "the ranking function falls outside of the target" if converges else "every set is closed and safe"
    )
    return CheckerVerdict(True, reason, words, meaning, missing, count, count, count)


def _judge_loop(certificate: dict[str, Any], places: FileLocations, share: Share) -> CheckerVerdict:
    """A network in a plant, followed through time with sets of states."""
    from .claims.reach.claim import check_reach, check_reach_violation

    data = expect_object(certificate, _KEYS | {"reach"}, "certificate")
    if data["arithmetic"] != "float32" or places.property is not None:
        raise BadCertificate("certificate: about a closed loop, in `float32` arithmetic, not a file")
    violated = data["claim"]["kind"] == "reach-violation"
    try:
        if violated:
            found = check_reach_violation(data["claim"], data["reach"], places)
        else:
            found = check_reach(data["claim"], data["reach"], places, share)
    except Refused as error:
        words = "a run violates the property" if violated else "every run keeps the property"
        return CheckerVerdict(False, str(error), words)
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as error:
        raise BadCertificate(
            f"a part of the problem that does not fit the others: {error or type(error).__name__}"
        ) from None
    meaning = f"{found.meaning}; the network in {_MEANING['float32']}"
    return CheckerVerdict(
        True, found.reason, found.claim, meaning, found.uncertified, 1, found.periods, found.cells
    )


def _judge_runs(data: dict[str, Any], places: FileLocations, arithmetic: str, share: Share) -> CheckerVerdict:
    """Derives what has to be shown about the runs of the problem, and checks that each of it is."""
    if places.property is not None:
        raise BadCertificate("the claim is not about a property file: its problem is written out")
    claimed = _derive_recurrence if data["claim"]["kind"] == "recurrence" else _derive_execution
    problem, words, derive = claimed(data["claim"], places, arithmetic)
    given = [
        expect_object(o, _OBLIGATION, "obligation") for o in expect_list(data["obligations"], "obligations")
    ]
    stated = [
        (expect_text(o["obligation"], "name"), expect_integer(o["steps"], 0, MOST_STEPS, "steps"))
        for o in given
    ]
    cases = [[read_case(c) for c in expect_list(o["cases"], "cases")] for o in given]
    count, where = ProofCount(), ""
    kernels: dict[Contents, AffineKernel] = {}
    accepted, reason = True, "every obligation is shown"
    try:
        if arithmetic == "float32":
            check_overflow(problem)
        wanted = derive()
        if [(o.name, o.steps) for o in wanted] != stated:
            raise Refused(f"not the obligations of this problem, which are {len(wanted)}")
        mine = StepShare(share, sum(map(count_steps, cases)))
        for obligation, several in zip(wanted, cases, strict=True):
            where = f"{obligation.query.origin}: "
            check_no_solution(obligation.query, several, arithmetic, kernels, count, mine)
    except Refused as error:
        accepted, reason = False, where + str(error)
    meaning = _MEANING[arithmetic]
    return CheckerVerdict(accepted, reason, words, meaning, problem.uncertified, **asdict(count))


Derived = tuple[
    CanonicalProblem, str, Callable[[], list[RunObligation]]
]  # the problem, the claim, what has to be shown


def _derive_execution(data: object, places: FileLocations, _: str) -> Derived:
    """Every run keeps the property."""
    claim = expect_object(data, _EXECUTION, "claim")
    problem, argument = read_canonical_problem(claim["problem"], places), read_run_argument(claim["argument"])
    how = describe_argument(problem, argument)
    words = f"every run of the problem {quote_for_message(problem.name)} keeps its property: {how}"
    return problem, words, lambda: list(enumerate_obligations(problem, argument))


def _derive_recurrence(data: object, places: FileLocations, arithmetic: str) -> Derived:
    """Some run violates the property for ever."""
    claim = expect_object(data, _RECURRENCE, "claim")
    problem, claimed = read_canonical_problem(claim["problem"], places), read_recurrence_claim(claim)
    if arithmetic != "float32":
        raise BadCertificate("a run is claimed for float32 numbers only")

    def derive() -> list[RunObligation]:
        check_stem(problem, claimed)
        return region_obligations(problem, claimed)

    how = (
        f"{len(claimed.moves)} steps, then for ever through sets without good states ({len(claimed.regions)})"
    )
    words = (
        f"some run of the problem {quote_for_message(problem.name)} violates its property: "
        f"{problem.property.kind}, {how}"
    )
    if claimed.moves and problem.network is not None:
        problem = replace(problem, uncertified=(*problem.uncertified, _STEM))
    return problem, words, derive


def check_no_solution(
    query: ClaimedQuery,
    cases: Sequence[Mapping[str, Any]],
    arithmetic: str,
    kernels: dict[Contents, AffineKernel],
    count: ProofCount,
    mine: StepShare | None = None,
) -> None:
    """Refuse unless the cases (of their steps those that are `mine`) show that the query has no solution."""
    check_choices(query, cases)
    mine = mine or StepShare(WHOLE, count_steps(cases))
    for number, case in enumerate(cases):
        steps = expect_list(case["steps"], "steps")
        places = max(1, len(steps))
        try:
            if mine.touches(0, places):
                count.cases += mine.owns(0)
                problem = build_case_problem(query, case, arithmetic == "float32")
                if problem is not None:
                    check_proof_tree(problem, steps, kernels, count, mine)
                elif steps:
                    raise Refused("step 0 follows when the case is closed")
        except Refused as error:
            raise Refused(f"case {number}: {error}") from None
        mine.before += places


def count_steps(cases: Sequence[Mapping[str, Any]]) -> int:
    """Of all cases, each of which is one thing to look at, at least."""
    return sum(max(1, len(expect_list(case["steps"], "steps"))) for case in cases)


def useful_shares(certificate: Mapping[str, Any]) -> int:
    """Into how many shares of some work each a certificate can be divided; the others would find nothing."""
    cases = [o.get("cases") for o in _list_or_nothing(certificate.get("obligations")) if isinstance(o, dict)]
    steps = sum(
        len(_list_or_nothing(case.get("steps")))
        for several in (certificate.get("cases"), *cases)
        for case in _list_or_nothing(several)
        if isinstance(case, dict)
    )
    from .claims.reach.region_tree import count_cells

    reach = certificate.get("reach")
    return max(1, steps // STEPS, count_cells(reach) // CELLS if isinstance(reach, dict) else 1)


def _list_or_nothing(data: object) -> list[Any]:
    return data if isinstance(data, list) else []


def join_verdicts(shares: Sequence[CheckerVerdict]) -> CheckerVerdict:
    """What all shares of a certificate come to: accepted if every single one is."""
    for one in shares:
        if not one.accepted or one.claim != shares[0].claim:
            return replace(one, accepted=False)
    sums = {key: sum(getattr(one, key) for one in shares) for key in ("cases", "steps", "states", "repeated")}
    return replace(shares[0], **sums)
