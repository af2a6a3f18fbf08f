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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.mutation import files
from benchmarks.mutation.claim_mutations import CLAIM
from benchmarks.mutation.claims import read_claim
from benchmarks.mutation.producer import BUGS, GaveUp, produce
from benchmarks.mutation.proof_mutations import PROOF, Certificate, damaged_text
from benchmarks.mutation.questions import question, rounded_question, touching_question
from benchmarks.mutation.truth import find_witness, truth
from surefoot.certify.checker.check import check, read_certificate
from surefoot.certify.checker.number import BadCertificate

MARGINS = (0.02, 0.05, 0.1, 0.3)
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
        verdict = check(read_certificate(path), base=folder)
    except BadCertificate as reason:
        return False, str(reason)
    return verdict.accepted, verdict.reason


def bases(count: int, seed: int, folder: Path) -> Iterator[Base]:
    """Accepted certificates of claims that are shown to be true, written out or about files."""
    number = seed * 1_000_003
    while count > 0:
        number += 1
        name, arithmetic = f"question {number}", "real"
        home: Path | None = None
        try:
            if number % 3 == 0:
                home = folder / f"files{number}"
                home.mkdir()
                files.write_question(home, number, MARGINS[number % 4])
                arithmetic, inputs = (("real", "real"), ("float32", "float32"), ("float32", "real"))[
                    number // 3 % 3
                ]
                certificate = files.certificate(home, arithmetic, inputs, number)
                claim = files.claimed(home, arithmetic, inputs)[1]
            else:
                written, arithmetic = question(number, True, MARGINS[number % 4])
                certificate = produce(written, arithmetic, number)
                claim = read_claim(written, arithmetic)
        except GaveUp:
            continue
        if truth(claim, number)[0] and accepted(json.dumps(certificate), home or folder)[0]:
            yield Base(name, json.loads(json.dumps(certificate)), home)  # no part stands in two places
            count -= 1


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
        on_claim = source.random() < 0.55
        try:
            if on_claim and base.folder is not None and source.random() < 0.85:
                what: str | None = files.mutate_files(home, certificate, source)
            elif on_claim and base.folder is not None:
                certificate["arithmetic"] = "real" if certificate["arithmetic"] == "float32" else "float32"
                certificate["claim"]["inputs"] = source.choice(["real", "float32"])
                what = f"{certificate['arithmetic']} arithmetic, {certificate['claim']['inputs']} inputs"
            else:
                what = source.choice(CLAIM if on_claim else PROOF)(certificate, source)
        except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
            continue  # an earlier mutation left nothing that this one understands
        if what is not None:
            changes.append(what)
            touched |= on_claim
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
    result: dict[str, Any] = {
        "mutants": 0,
        "rejected": 0,
        "false": 0,
        "accepted": [],
        "wrong": [],
        "crashed": [],
    }
    reasons: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pool = list(bases(base_count, seed, folder))
        for mutant in mutants(pool, count, seed, folder):
            result["mutants"] += 1
            about = {"base": mutant.base, "changes": list(mutant.changes)}
            try:
                took, reason = accepted(mutant.text, mutant.folder)
            except Exception as error:  # noqa: BLE001 - every crash is listed
                result["crashed"].append(about | {"error": repr(error)[:300], "certificate": mutant.text})
                continue
            true, how = judge(mutant, thorough=took)
            result["false"] += true is False
            if not took:
                result["rejected"] += 1
                reasons["".join(c for c in reason if not c.isdigit())[:50]] += 1
            elif true:
                result["accepted"].append(about | {"why true": how})
            else:
                wrong = {"verdict": "false" if true is False else "not known", "why": how}
                result["wrong"].append(about | wrong | {"certificate": mutant.text})
    result["reasons"] = dict(reasons.most_common(40))
    return result


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
    if bug in ("slope above one", "chord below", "flat above"):
        return question(number, False, 0.003, "relu")
    return question(number, False, 0.02 if number % 2 else 0.1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000, help="mutants of the first campaign")
    parser.add_argument("--planted", type=int, default=200, help="certificates of the second campaign")
    parser.add_argument("--bases", type=int, default=60, help="certificates that mutants are made of")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write everything")
    options = parser.parse_args(arguments)
    started = time.process_time()
    first = first_campaign(options.count, options.bases, options.seed)
    second = second_campaign(options.planted, options.seed)
    seconds = time.process_time() - started
    if options.json:
        options.json.write_text(
            json.dumps({"first": first, "second": second, "cpu seconds": seconds}, indent=1)
        )
    print(summary(first, second, seconds))
    return 1 if any(c["wrong"] or c["crashed"] for c in (first, second)) else 0


def summary(first: dict[str, Any], second: dict[str, Any], seconds: float) -> str:
    lines = [
        f"{first['mutants']} mutants: {first['rejected']} rejected,"
        f"  {len(first['accepted'])} accepted and shown true,",
        f"  {len(first['wrong'])} accepted and not shown true, {len(first['crashed'])} crashed the checker",
        f"  {first['false']} of them claim something false, by a witness",
    ]
    kinds = Counter(" + ".join(sorted(a["changes"])) for a in first["accepted"])
    ways = Counter(a["why true"].split()[-1] for a in first["accepted"])
    lines += [f"  accepted {count:4d}: {kind}" for kind, count in kinds.most_common(30)]
    lines += [f"  shown true {count:4d}: {way}" for way, count in ways.most_common()]
    lines += [f"  rejected {count:4d}: {reason}" for reason, count in first["reasons"].items()]
    lines.append(
        f"{second['certificates']} certificates of false claims: {second['rejected']} rejected, "
        f"{len(second['wrong'])} accepted, {len(second['crashed'])} crashed the checker"
    )
    lines += [f"  bug {count:4d}: {bug}" for bug, count in sorted(second["bugs"].items())]
    return "\n".join([*lines, f"{seconds:.0f} s"])


if __name__ == "__main__":
    sys.exit(main())
