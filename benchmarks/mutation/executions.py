"""Damaged certificates about whole executions: is anything false ever accepted?

    python -m benchmarks.mutation.executions --systems 100 --json executions.json

Random small systems (`tests/laws/awkward_systems.py`, graphs) whose property is proved are the base. Their
certificates, also those with free inputs, an assumed invariant or simple paths, are changed in one place:
problem, network, property, argument, aid, obligations or proofs; or the problem so that its property becomes
false. Where the changed problem has other obligations, the old proofs are put under the new names; and the
changed problem is given to the prover, with several arguments. A false claim is also given aids that hide its
violation. The truth about every claim that is accepted is found by visiting all states. Exit 1 if a false one
is among them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy is imported
    os.environ.setdefault(_name, "1")

from tests.laws.awkward_systems import awkward  # noqa: E402

from benchmarks.mutation.execution_aids import abused, aid_mutants, aided_bases, random_graph  # noqa: E402
from benchmarks.mutation.execution_falsehoods import false_mutants  # noqa: E402
from benchmarks.mutation.execution_mutations import (  # noqa: E402
    Certificate,
    Mutants,
    argument_mutants,
    obligation_mutants,
    problem_mutants,
)
from benchmarks.mutation.execution_truth import NotFinite, is_false  # noqa: E402
from benchmarks.old_format import (  # noqa: E402
    derive_flat_obligations,
    judge_both_formats,
    to_format_1,
    unflatten_run_problem,
)
from surefoot.certify.runs.prove import prove_run_certificate  # noqa: E402
from surefoot.problem.problem import Problem  # noqa: E402
from surefoot.run import verify  # noqa: E402
from surefoot.verdict.verdict import ProofArgument, Proved  # noqa: E402
from surefoot.work.budget import Budget  # noqa: E402
from surefoot_checker.kernel.strict_json import BadCertificate, Refused  # noqa: E402

SECONDS = 20.0  # for the proof of a base
ANEW = 1.0  # for a proof of what became of it
FAMILIES: dict[str, Callable[[Certificate], Mutants]] = {
    "problem": problem_mutants,
    "argument": argument_mutants,
    "aid": aid_mutants,
    "obligations": obligation_mutants,
}
RARELY = 4  # of the changes that make a claim false, those that are given to the prover or an aid
ARGUMENTS: dict[str, tuple[ProofArgument, ...]] = {
    "never": (ProofArgument("induction", 1), ProofArgument("induction", 2), ProofArgument("unrolled", 2)),
    "recurs": (
        ProofArgument("induction", 1, 1),
        ProofArgument("induction", 1, 2),
        ProofArgument("induction", 2, 3),
    ),
    "eventually": (ProofArgument("unrolled", 1), ProofArgument("unrolled", 2)),
}


def bases(seed: int) -> Iterator[tuple[str, Problem, Certificate]]:
    """A system and the certificates of its property, if there are any and its states can be visited."""
    for problem in (awkward(seed), random_graph(seed)):
        if problem.environment.controls:
            continue
        verdict = verify(problem, ["bmc", "induction"], Budget(SECONDS)).verdict
        if not isinstance(verdict, Proved) or verdict.certificate.kind != "execution":
            continue
        content = to_format_1(verdict.certificate.content)
        said = content["claim"]["argument"]  # type: ignore[index]
        yield "plain" if "different" not in said else "simple", problem, content
        argument = ProofArgument(said["kind"], said["steps"], said.get("good"))
        for kind, aided in aided_bases(problem, argument, seed):
            if aided["claim"]["argument"] != said:
                yield kind, problem, aided


def relabelled(mutant: Certificate) -> Certificate | None:
    """The same proofs under the names of what has to be shown; None if the claim makes no sense."""
    try:
        wanted = derive_flat_obligations(mutant["claim"]["problem"], mutant["claim"]["argument"])
    except (BadCertificate, Refused):
        return None
    given = {(o["obligation"], o["steps"]): o["cases"] for o in mutant["obligations"]}
    spare = list(given.values()) or [[]]
    shown = [
        {"obligation": o.name, "steps": o.steps, "cases": given.get((o.name, o.steps), spare[n % len(spare)])}
        for n, o in enumerate(wanted)
    ]
    return {**mutant, "obligations": shown}


def proved_anew(problem: Problem, mutant: Certificate) -> Iterator[Certificate]:
    """Proofs that the changed problem has, by arguments that fit the kind of its property."""
    written = mutant["claim"]["problem"]
    asked = written["property"]
    fitting = ARGUMENTS.get(asked["kind"], ())
    if "steps" in asked:
        fitting = (ProofArgument("unrolled", asked["steps"]),)
    for argument in fitting:
        made = prove_run_certificate(problem, unflatten_run_problem(written), argument, Budget(ANEW))
        if not isinstance(made, str):
            yield to_format_1(made.content)


def is_accepted(mutant: Certificate) -> bool:
    try:
        return judge_both_formats(mutant).accepted
    except BadCertificate:
        return False


def truth(mutant: Certificate) -> str:
    """Of the claim: `false`, `true` or `not known`."""
    try:
        return "false" if is_false(mutant["claim"]["problem"]) else "true"
    except NotFinite:
        return "not known"


def judged(problem: Problem, mutant: Certificate, *, anew: bool) -> Iterator[tuple[str, str]]:
    """How the certificate came about, and what the checker said of a claim of which truth."""
    true = truth(mutant)
    variants = {"as it is": mutant}
    if (other := relabelled(mutant)) is not None and other["obligations"] != mutant["obligations"]:
        variants["relabelled"] = other
    for how, one in variants.items():
        yield how, f"{true}, {'accepted' if is_accepted(one) else 'rejected'}"
    if anew:
        for one in proved_anew(problem, mutant):
            yield "proved anew", f"{true}, {'accepted' if is_accepted(one) else 'rejected'}"
    if anew and true == "false":
        for one in abused(problem, mutant):
            yield "aid abused", f"{true}, {'accepted' if is_accepted(one) else 'rejected'}"


def campaign(seed: int, every: int, seen: Counter[tuple[str, str, str]], *, anew: bool = True) -> list[str]:
    """All mutants of the certificates of one system, or every so many; what was accepted although false.

    Without `anew` neither the prover nor an aid is tried on a changed problem, which takes most of the time.
    """
    wrong = []
    for kind, problem, whole in bases(seed):
        outcome = f"{truth(whole)}, {'accepted' if is_accepted(whole) else 'rejected'}"
        seen[f"base, {kind}", "as it is", outcome] += 1
        wrong += [f"the base, {kind}"] if truth(whole) == "false" else []
        for family, name, mutant, suits in mutants_of(whole, seed, every):
            outcomes = list(judged(problem, mutant, anew=anew and suits))
            seen["mutants", "distinct", outcomes[0][1].partition(",")[0]] += 1
            for how, outcome in outcomes:
                seen[f"{family}, {kind}", how, outcome] += 1
                if outcome == "false, accepted":
                    wrong.append(f"{name} ({how}, {kind})")
    return [f"seed {seed}: {what}" for what in wrong]


def mutants_of(whole: Certificate, seed: int, every: int) -> Iterator[tuple[str, str, Certificate, bool]]:
    """Family, name, certificate, and whether the prover is asked about it as well."""
    for family, make in FAMILIES.items():
        for number, (name, mutant) in enumerate(make(whole)):
            if family == "aid" or not (number + seed) % every:
                yield family, name, mutant, family == "problem" and not name.startswith("network")
    for number, (name, mutant) in enumerate(false_mutants(whole, seed)):
        yield "falsehood", name, mutant, not (number + seed) % RARELY


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--systems", type=int, default=100, help="how many random systems are tried")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--every", type=int, default=1, help="take every so many of the changes only")
    parser.add_argument("--json", type=Path, help="write the table here")
    given = parser.parse_args(arguments)
    seen: Counter[tuple[str, str, str]] = Counter()
    wrong: list[str] = []
    started = time.process_time()
    for seed in range(given.first, given.first + given.systems):
        more = campaign(seed, given.every, seen)
        wrong += more
        for line in more:
            print(line, flush=True)
    for row, count in sorted(seen.items()):
        print(f"{count:6}  {row[0]:<22} {row[1]:<12} {row[2]}")
    seconds = time.process_time() - started
    whole = sum(n for (family, _, _), n in seen.items() if family != "mutants")
    false = seen["mutants", "distinct", "false"]
    print(f"{whole} certificates, {false} mutants that claim something false, {len(wrong)} of them accepted")
    print(f"{seconds:.0f} s of CPU time without children")
    if given.json is not None:
        given.json.write_text(
            json.dumps(_document(given, seen, wrong, seconds), indent=1) + "\n", encoding="utf-8"
        )
    return 1 if wrong else 0


def _document(
    given: argparse.Namespace, seen: Mapping[tuple[str, str, str], int], wrong: list[str], seconds: float
) -> dict[str, object]:
    names = ("changed", "how", "outcome")
    return {
        "systems": given.systems,
        "first": given.first,
        "every": given.every,
        "seconds": round(seconds, 1),
        "wrong": wrong,
        "rows": [{**dict(zip(names, row, strict=True)), "count": n} for row, n in sorted(seen.items())],
    }


if __name__ == "__main__":
    sys.exit(main())
