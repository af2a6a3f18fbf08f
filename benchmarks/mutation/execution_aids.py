"""Certificates with aids (free inputs and outputs, an assumed invariant, different states), and their abuse.

The bases are certificates of true claims with each aid. The abuse is given to false claims: a range in which
the violation does not occur, an invariant that assumes what is to be shown, states that must differ where a
loop is the violation. What the aid makes provable is proved, so that only its justification is missing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any
from unittest.mock import patch

from tests.engines.graphs import among, graph

from benchmarks.mutation.execution_mutations import Certificate, Mutants
from benchmarks.mutation.execution_truth import NotFinite, Runs
from benchmarks.old_format import derive_flat_obligations, flatten_run_problem, to_format_1
from surefoot.certify.runs.argument import ProofAid
from surefoot.certify.runs.canonical import run_problem_to_json
from surefoot.certify.runs.policy import rules_and_network
from surefoot.certify.runs.prove import prove_obligation, prove_run_certificate
from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Property, Recurs
from surefoot.term.interval import Span
from surefoot.verdict.verdict import Certificate as Made
from surefoot.verdict.verdict import ProofArgument
from surefoot.work.budget import Budget
from surefoot_checker.kernel.strict_json import BadCertificate, Refused

SECONDS = 5.0
EACH = 0.5  # seconds for one obligation
STATES = 7
_RANGES = "surefoot_checker.claims.runs.obligations.check_free_ranges"


def random_graph(seed: int) -> Problem:
    """A few states that can be reached, and loops that cannot and lead to the bad ones."""
    draw = Random(seed)
    size = draw.randint(2, 4)
    inside = [(a, draw.randrange(size)) for a in range(size) for _ in range(draw.randint(1, 2))]
    outside = [(draw.randrange(size, STATES), draw.randrange(STATES)) for _ in range(draw.randint(2, 5))]
    good = among(*draw.sample(range(size), draw.randint(1, size)), *range(size, STATES - 1))
    asked: Property = Never(among(STATES - 1)) if draw.random() < 0.7 else Recurs(good)
    return graph(inside + outside, asked, states=STATES)


def aided_bases(problem: Problem, argument: ProofArgument, seed: int) -> Iterator[tuple[str, Certificate]]:
    """Certificates of this problem that have an aid, as far as the prover finds them."""
    written = run_problem_to_json(problem)
    draw = Random(seed)
    for name, aid in _aids(problem, written, argument, draw):
        made = prove_run_certificate(problem, written, argument, Budget(SECONDS), aid=aid)
        if isinstance(made, Made):
            kind = "simple" if "different" in made.content["claim"]["argument"] else name  # type: ignore[index]
            if kind:
                yield kind, to_format_1(made.content)


def _aids(
    problem: Problem, written: Mapping[str, Any], argument: ProofArgument, draw: Random
) -> Iterator[tuple[str, ProofAid]]:
    yield "", ProofAid()  # perhaps over simple paths
    inputs = len(written["policy"]["observe"])
    if inputs:
        yield "free", ProofAid(inputs={draw.randrange(inputs): Span()})
        yield "free", ProofAid(inputs=dict.fromkeys(range(inputs), Span()))
    try:
        runs = Runs(flatten_run_problem(written))
        reached = runs.reached()
    except NotFinite:
        return
    numbers = [i for i, values in enumerate(runs.ranges) if type(values[0]) is not bool]
    if not numbers or not reached:
        return
    place = draw.choice(numbers)
    limit = max(int(s[place]) for s in reached)
    lemma = {"kind": "never", "condition": ["<", limit, ["name", runs.names[place]]]}
    for attempt in (ProofArgument("induction", 2), ProofArgument("induction", 3)):
        shown = prove_run_certificate(
            problem, {**written, "property": lemma}, attempt, Budget(SECONDS), simple=False
        )
        if isinstance(shown, Made):
            yield "assuming", ProofAid(invariant=shown)
            return


def aid_mutants(whole: Mapping[str, Any]) -> Mutants:
    """The aid itself is damaged; the claim stays what it was."""
    said = whole["claim"]["argument"]
    for key in ("free", "assuming", "different"):
        if key in said:
            yield f"{key} left out", _with(whole, lambda a, k=key: a.pop(k))
    for n in range(len(said.get("free", {}).get("inputs", ()))):
        yield f"free input {n}: one point", _with(whole, lambda a, n=n: _narrow(a["free"]["inputs"][n]))
        yield f"free input {n} left out", _with(whole, lambda a, n=n: a["free"]["inputs"].pop(n))
    if "assuming" in said:
        for term in (True, False, whole["claim"]["problem"]["property"]["condition"]):
            yield "assumes something else", _with(whole, lambda a, t=term: a["assuming"].update(never=t))
    for n in range(len(said.get("different", ()))):
        yield f"pair {n} left out", _with(whole, lambda a, n=n: a["different"].pop(n))


def _narrow(entry: list[Any]) -> None:
    entry[2] = entry[1]


def _with(whole: Mapping[str, Any], change: Any) -> Certificate:
    made = copy.deepcopy(dict(whole))
    change(made["claim"]["argument"])
    return made


def abused(problem: Problem, mutant: Certificate) -> Iterator[Certificate]:
    """The claim with an aid that hides its violation; all that can be proved then has its proof."""
    about, said = mutant["claim"]["problem"], mutant["claim"]["argument"]
    condition, kind = about["property"]["condition"], about["property"]["kind"]
    plain = {k: v for k, v in said.items() if k in ("kind", "steps", "good")}
    wished = condition if kind == "never" else ["not", condition]
    lemma = {"kind": "induction", "steps": 1}
    pairs = [[i, j] for j in range(1, max(2, said["steps"])) for i in range(j)]
    arguments: list[dict[str, Any]] = [
        {**plain, "assuming": {"never": wished, "argument": lemma}},
        {**plain, "assuming": {"never": True, "argument": lemma}},
        {**plain, "different": pairs},
    ]
    if about["policy"]["observe"]:
        inputs = [[i, 0, 0] for i in range(len(about["policy"]["observe"]))]
        arguments.append({**plain, "free": {"inputs": inputs, "outputs": []}})
        for favoured in range(len(about["policy"]["actions"])):
            outputs = [
                [j, 9 if j == favoured else -9, 9 if j == favoured else -9]
                for j in range(len(about["policy"]["actions"]))
            ]
            arguments.append({**plain, "free": {"inputs": [], "outputs": outputs}})
    for argument in arguments:
        found = _as_far_as_possible(problem, about, argument)
        if found is not None:
            yield {
                "surefoot-certificate": 1,
                "claim": {"kind": "execution", "problem": about, "argument": argument},
                "arithmetic": "float32",
                "obligations": found,
            }


def _as_far_as_possible(
    problem: Problem, about: Mapping[str, Any], argument: Mapping[str, Any]
) -> list[dict[str, Any]] | None:
    """The obligations, those that can be shown with proofs; the range of an input is not looked at."""
    try:
        with patch(_RANGES, lambda *_: None):
            wanted = derive_flat_obligations(about, argument)
    except (BadCertificate, Refused):
        if "different" not in argument:
            return None
        less = {k: v for k, v in argument.items() if k != "different"}  # refused there: proofs without it
        return _as_far_as_possible(problem, about, less)
    _, behind = rules_and_network(problem.policy)
    network = None if behind is None else behind.network
    shown = []
    for obligation in wanted:
        try:
            cases = prove_obligation(obligation, network, Budget(EACH), "float32")
        except (SurefootError, Refused, BadCertificate):
            cases = []
        shown.append({"obligation": obligation.name, "steps": obligation.steps, "cases": cases})
    return shown
