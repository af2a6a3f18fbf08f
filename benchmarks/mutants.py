"""Mutated certificates against the checker: is anything false ever accepted?

    python -m benchmarks.mutants --count 2000 --planted 200 --seed 0 --json mutants.json

First campaign: certificates of true claims are damaged in one to three places, in proof, claim, files or
text, every digest renewed. A mutant whose claim is false (shown by a witness) must be rejected; for every
accepted one its claim is shown to be true without the checker. Second campaign: a solver with a planted bug
certifies claims that are false; all of its certificates must be rejected. Exit 1 if not.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.mutation import files, rows
from benchmarks.mutation.claim_mutations import CLAIM
from benchmarks.mutation.claims import Claim, read_claim
from benchmarks.mutation.producer import BUGS, GaveUp, produce
from benchmarks.mutation.proof_mutations import PROOF, Certificate, damaged_text
from benchmarks.mutation.questions import question, rounded_question, touching_question
from benchmarks.mutation.truth import find_witness, truth
from benchmarks.random_queries import small
from surefoot.query.query import Unsat
from surefoot.solvers.native.solver import decide_native_query
from surefoot_checker.check import judge_certificate, read_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

MARGINS = (0.02, 0.05, 0.1, 0.3)
ROWS = {"planted_needles": 8, "cersyve": 2, "sat_relu": 4, "acasxu": 6}  # how many of each family
MOST_CHARACTERS = 100_000  # of their certificates
Judgement = tuple[bool | None, str]


@dataclass(frozen=True, slots=True)
class Base:
    """A certificate that the checker accepts, of a claim that is true; files of its claim in `folder`."""

    name: str
    certificate: Certificate
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class Mutant:
    base: str
    changes: tuple[str, ...]
    text: str
    folder: Path
    touches_claim: bool
    seed: int


def accepted(text: str, folder: Path) -> tuple[bool, str]:
    """Whether the checker accepts a certificate, and its reason if not. Anything but a refusal is a crash."""
    path = folder / "certificate.json"
    path.write_text(text, encoding="utf-8")
    try:
        verdict = judge_certificate(read_certificate(path), base=folder)
    except BadCertificate as reason:
        return False, str(reason)
    return verdict.accepted, verdict.reason


def bases(count: int, seed: int, folder: Path) -> Iterator[Base]:
    """Accepted certificates of claims that are shown to be true, of every kind in turn."""
    numbers = dict.fromkeys(KINDS, seed * 1_000_003)
    for turn in range(count):
        kind = list(KINDS)[turn % len(KINDS)]
        found: Base | None = None
        while found is None:
            numbers[kind] += 1
            found = _base(kind, numbers[kind], folder / f"{kind} {numbers[kind]}")
        yield found


def _base(kind: str, number: int, home: Path) -> Base | None:
    home.mkdir()
    try:
        made = KINDS[kind](number, home)
    except GaveUp:
        return None
    if made is None or not truth(made[1], number)[0] or not accepted(json.dumps(made[0]), home)[0]:
        return None
    certificate = json.loads(json.dumps(made[0]))  # so that no part stands in two places
    return Base(home.name, certificate, home if certificate["claim"]["kind"] == "vnnlib" else None)


def _native(number: int, _: Path) -> tuple[Certificate, Claim] | None:
    """A proof of the native solver."""
    answer = decide_native_query(small(0, number).query(), seconds=5.0)
    if not isinstance(answer, Unsat) or answer.proof is None:
        return None
    proof = answer.proof
    certificate = {
        "surefoot-certificate": 1,
        "claim": dict(proof.claim),
        "arithmetic": proof.arithmetic,
        "cases": list(proof.cases),
    }
    return certificate, read_claim(proof.claim, proof.arithmetic)


def _of_files(number: int, home: Path) -> tuple[Certificate, Claim]:
    """A claim about two files, proved by the producer here."""
    files.write_question(home, number, MARGINS[number % 4])
    arithmetic, inputs = (("real", "real"), ("float32", "float32"), ("float32", "real"))[number // 3 % 3]
    certificate = files.certificate(home, arithmetic, inputs, number)
    return certificate, files.claimed(home, arithmetic, inputs)[1]


def _written_out(number: int, _: Path) -> tuple[Certificate, Claim]:
    """A claim written out, proved by the producer here."""
    written, arithmetic = question(number, True, MARGINS[number % 4])
    return produce(written, arithmetic, number), read_claim(written, arithmetic)


def _of_quotients(number: int, _: Path) -> tuple[Certificate, Claim]:
    """A claim about a network that divides, proved by the producer here."""
    written, arithmetic = question(number, True, MARGINS[number % 4], "quotient")
    return produce(written, arithmetic, number), read_claim(written, arithmetic)


KINDS = {"native solver": _native, "files": _of_files, "question": _written_out, "quotient": _of_quotients}


def mutants(pool: list[Base], count: int, seed: int, folder: Path) -> Iterator[Mutant]:
    source = random.Random(seed)
    while count > 0:
        base = source.choice(pool)
        certificate = copy.deepcopy(base.certificate)
        home = folder / "mutant"
        if base.folder is not None:
            shutil.rmtree(home, ignore_errors=True)
            shutil.copytree(base.folder, home)
        home.mkdir(exist_ok=True)
        changes, touched = _changes(base, certificate, home, source)
        if not changes:
            continue
        text = json.dumps(certificate)
        if source.random() < 0.08:
            text, what = damaged_text(text, source)
            changes.append(what)
            touched = True
        if text != json.dumps(base.certificate) or touched:
            yield Mutant(base.name, tuple(changes), text, home, touched, source.getrandbits(32))
            count -= 1


def _changes(
    base: Base, certificate: Certificate, home: Path, source: random.Random
) -> tuple[list[str], bool]:
    """One to three mutations; the second value says whether the claim was touched."""
    changes, touched = [], False
    for _ in range(source.choice([1, 1, 1, 2, 3])):
        on_claim = source.random() < 0.6
        touched |= on_claim  # also by a mutation that fails half-way
        try:
            if on_claim and base.folder is not None and source.random() < 0.85:
                what: str | None = files.mutate_files(home, certificate, source)
            elif on_claim and base.folder is not None:
                certificate["arithmetic"] = "real" if certificate["arithmetic"] == "float32" else "float32"
                certificate["claim"]["inputs"] = source.choice(["real", "float32"])
                what = f"{certificate['arithmetic']} arithmetic, {certificate['claim']['inputs']} inputs"
            else:
                what = source.choice(CLAIM if on_claim else PROOF)(certificate, source)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            continue  # an earlier mutation left nothing that this one understands
        if what is not None:
            changes.append(what)
    return changes, touched


def judge(mutant: Mutant, thorough: bool) -> Judgement:
    """Whether what a mutant claims is true; with `thorough` also by boxes and Z3, else by a witness only."""
    if not mutant.touches_claim:
        return True, "the claim is that of its true base"
    try:
        certificate = json.loads(mutant.text)
        written, arithmetic = certificate["claim"], certificate["arithmetic"]
        if written["kind"] == "vnnlib":
            claim = files.claimed(mutant.folder, arithmetic, written["inputs"])[1]
        else:
            claim = read_claim(written, arithmetic)
        if thorough:
            return truth(claim, mutant.seed)
        witness = find_witness(claim, mutant.seed, samples=512)
    except Exception as error:  # noqa: BLE001 - it claims nothing that could be read; if accepted, that is listed
        return None, f"no readable claim: {type(error).__name__}"
    return (False, f"witness {witness}") if witness else (None, "no witness")


def first_campaign(count: int, base_count: int, seed: int) -> dict[str, Any]:
    result, reasons = _empty(), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pool = list(bases(base_count, seed, folder))
        for mutant in mutants(pool, count, seed, folder):
            about = {"base": mutant.base, "changes": list(mutant.changes)}
            _record(result, reasons, about, mutant.text, mutant.folder, partial(judge, mutant))
    kinds = Counter(b.name.rsplit(" ", 1)[0] for b in pool)
    return result | {"reasons": dict(reasons.most_common(40)), "bases": kinds}


def _empty() -> dict[str, Any]:
    return {"mutants": 0, "rejected": 0, "false": 0, "accepted": [], "wrong": [], "crashed": []}


def _record(
    result: dict[str, Any],
    reasons: Counter[str],
    about: dict[str, Any],
    text: str,
    folder: Path,
    judged: Callable[[bool], Judgement],
) -> None:
    """Ask the checker about one mutant, find out whether its claim is true, and write both down."""
    result["mutants"] += 1
    try:
        took, reason = accepted(text, folder)
    except Exception as error:  # noqa: BLE001 - every crash is listed
        result["crashed"].append(about | {"error": repr(error)[:300], "certificate": text})
        return
    true, how = judged(took)
    result["false"] += true is False
    if not took:
        result["rejected"] += 1
        last = [part for part in reason.split(": ") if part][-1]
        reasons["".join(c for c in last if not c.isdigit())[:60]] += 1
    elif true:
        result["accepted"].append(about | {"why true": how})
    else:
        verdict = "false" if true is False else "not known"
        result["wrong"].append(about | {"verdict": verdict, "why": how, "certificate": text})


def rows_campaign(count: int, data: Path, seed: int) -> dict[str, Any]:
    """Mutants of the native solver's certificates about published networks and properties."""
    result = _empty()
    source = random.Random(seed)
    every = list(rows.published(data))
    sat = {
        family: [r for r in every if r.answer == "sat" and r.name.startswith(family)]
        for family in rows.FAMILIES
    }
    pool = []
    for family, wanted in ROWS.items():
        unsat = [r for r in every if r.answer == "unsat" and r.name.startswith(family)]
        for row in unsat:
            certificate = rows.certified(row, 2.0) if wanted else None
            if certificate is not None and len(json.dumps(certificate)) < MOST_CHARACTERS:
                pool.append((row, certificate, sat[family]))
                wanted -= 1
    reasons: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        while result["mutants"] < count and pool:
            row, certificate, others = source.choice(pool)
            home = Path(name) / "mutant"
            mutant, true, what = rows.mutated(row, certificate, others, home, source)
            about = {"base": row.name, "changes": [what]}
            why = "implied by the claim of its base" if true else what
            _record(result, reasons, about, json.dumps(mutant), home, partial(_known, true, why))
    return result | {
        "reasons": dict(reasons.most_common(40)),
        "bases": Counter(r.name.split("/")[0] for r, _, _ in pool),
    }


def _known(true: bool, why: str, _: bool) -> Judgement:
    return true, why


def second_campaign(count: int, seed: int) -> dict[str, Any]:
    """Certificates of false claims from a producer with a planted bug."""
    result: dict[str, Any] = {"certificates": 0, "rejected": 0, "bugs": {}, "wrong": [], "crashed": []}
    bugs: Counter[str] = Counter()
    number = seed * 1_000_003
    with tempfile.TemporaryDirectory() as name:
        while result["certificates"] < count:
            number += 1
            bug = BUGS[number % len(BUGS)]
            try:
                written, arithmetic = planted_question(number, bug)
                certificate = produce(written, arithmetic, number, frozenset({bug}))
            except GaveUp:
                continue
            claim = read_claim(written, arithmetic)
            witness = find_witness(claim, number)
            if witness is None:
                continue
            result["certificates"] += 1
            bugs[bug] += 1
            text = json.dumps(certificate)
            try:
                took, _ = accepted(text, Path(name))
            except Exception as error:  # noqa: BLE001 - every crash is listed
                result["crashed"].append({"bug": bug, "error": repr(error)[:300], "certificate": text})
                continue
            result["rejected"] += not took
            if took:
                result["wrong"].append({"bug": bug, "witness": witness, "certificate": text})
    result["bugs"] = dict(bugs)
    return result


def planted_question(number: int, bug: str) -> tuple[dict[str, Any], str]:
    """A false claim that this bug may take for true."""
    if bug == "no rounding":
        return rounded_question(number)
    if bug == "strict atoms":
        return touching_question(number)
    if bug == "tangent at the ends":
        return question(number, False, 0.003, random.Random(number).choice(["tanh", "sigmoid"]))
    if bug == "chord for tangent":
        return question(number, False, 0.003, "quotient")
    if bug in ("slope above one", "chord below", "flat above"):
        return question(number, False, 0.003, "relu")
    return question(number, False, 0.02 if number % 2 else 0.1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000, help="mutants of the first campaign")
    parser.add_argument("--planted", type=int, default=200, help="certificates of the second campaign")
    parser.add_argument("--bases", type=int, default=90, help="certificates that mutants are made of")
    parser.add_argument(
        "--rows", type=int, default=200, help="mutants of published queries, if --data is there"
    )
    parser.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="folder of published queries"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write everything")
    options = parser.parse_args(arguments)
    started = time.process_time()
    found = {"mutants": first_campaign(options.count, options.bases, options.seed)}
    if options.rows and options.data.is_dir():
        found["rows"] = rows_campaign(options.rows, options.data, options.seed)
    planted = second_campaign(options.planted, options.seed)
    seconds = time.process_time() - started
    if options.json:
        document = {**found, "planted": planted, "cpu seconds": seconds}
        options.json.write_text(json.dumps(document, indent=1), encoding="utf-8")
    print(summary(found, planted, seconds))
    return 1 if any(c["wrong"] or c["crashed"] for c in (*found.values(), planted)) else 0


def summary(found: dict[str, dict[str, Any]], planted: dict[str, Any], seconds: float) -> str:
    lines = []
    for name, result in found.items():
        lines += [
            f"{name}: {result['mutants']} from {sum(result['bases'].values())} certificates "
            f"({', '.join(f'{count} {kind}' for kind, count in result['bases'].items())})",
            f"  {result['rejected']} rejected, {len(result['accepted'])} accepted and shown to be true, "
            f"{len(result['wrong'])} accepted and not, {len(result['crashed'])} crashed the checker",
            f"  {result['false']} claim something false, by a witness",
        ]
        kinds = Counter(" + ".join(sorted(a["changes"])) for a in result["accepted"])
        ways = Counter(_way(a["why true"]) for a in result["accepted"])
        lines += [f"  accepted {count:4d}: {kind}" for kind, count in kinds.most_common(25)]
        lines += [f"  shown to be true {count:4d}: {way}" for way, count in ways.most_common()]
        lines += [
            f"  rejected {count:4d}: {reason}" for reason, count in list(result["reasons"].items())[:15]
        ]
    lines.append(
        f"certificates of false claims: {planted['certificates']}, {planted['rejected']} rejected, "
        f"{len(planted['wrong'])} accepted, {len(planted['crashed'])} crashed the checker"
    )
    lines += [f"  bug {count:4d}: {bug}" for bug, count in sorted(planted["bugs"].items())]
    return "\n".join([*lines, f"{seconds:.0f} s of processor time"])


def _way(how: str) -> str:
    return "boxes that exclude every point" if how.endswith(" boxes") else how


if __name__ == "__main__":
    sys.exit(main())
