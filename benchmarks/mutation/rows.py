"""Certificates of published queries and their mutants: true by implication, or false with a witness at hand.

Networks of this size are beyond `truth`. So every mutant of a claim is made with its answer: a smaller box or
a harder threshold is implied by the claim that was certified, and a property whose thresholds are moved to
where some point of the box just meets them is satisfied by that point. A proof offered for a query with a
published witness claims something false, too.
"""

from __future__ import annotations

import copy
import csv
import gzip
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.mutation.files import NETWORK, PROPERTY, about_files
from benchmarks.mutation.proof_mutations import PROOF, Certificate
from benchmarks.ours import ask_files
from surefoot.formats.onnx import read_onnx_bytes
from surefoot.formats.vnnlib import parse_vnnlib
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.term.evaluate import evaluate_term

FAMILIES = ("planted_needles", "cersyve", "sat_relu", "acasxu")
_ATOM = re.compile(r"\((<=|>=) ([XY]_[0-9]+) (-?[0-9.]+(?:[eE][+-]?[0-9]+)?)\)")


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    network: Path
    specification: Path
    answer: str


def published(data: Path) -> Iterator[Row]:
    """The rows with an agreed answer."""
    for family in FAMILIES:
        with (data / "queries" / family / "answers.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                answer = row.get("answer") or row.get("truth") or ""
                paths = [_existing(data / "queries" / family / row[k]) for k in ("onnx", "vnnlib")]
                if answer in ("sat", "unsat") and None not in paths:
                    network, specification = paths
                    assert network is not None
                    assert specification is not None
                    yield Row(f"{family}/{network.name.split('.')[0]}", network, specification, answer)


def _existing(path: Path) -> Path | None:
    return next((p for p in (path, path.with_name(path.name + ".gz")) if p.is_file()), None)


def certified(row: Row, seconds: float) -> Certificate | None:
    """The certificate that the native solver writes about a row, if it does."""
    found = ask_files(row.network, row.specification, seconds).get("certificate")
    return found if found is not None and found["claim"]["kind"] == "vnnlib" else None


def unpack(row: Row, folder: Path) -> None:
    """Both files of a row, plain, under the names that certificates here use."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, name in ((row.network, NETWORK), (row.specification, PROPERTY)):
        data = path.read_bytes()
        (folder / name).write_bytes(gzip.decompress(data) if path.suffix == ".gz" else data)


def mutated(
    row: Row, certificate: Certificate, others: list[Row], folder: Path, source: random.Random
) -> tuple[Certificate, bool, str]:
    """A mutant in a folder with its files: the certificate, whether its claim is true, what was changed."""
    unpack(row, folder)
    mutant = copy.deepcopy(certificate)
    kind = source.choice(["proof", "proof", "implied", "witness", "witness", "other row"])
    true, what = True, ""
    if kind == "implied":
        what = _implied(folder, mutant, source)
    elif kind == "witness":
        true, what = False, _satisfied(folder, mutant, source)
    elif kind == "other row" and others:
        same = [other for other in others if other.specification == row.specification]
        other = source.choice(same or others)
        before = _thresholds(folder)
        unpack(other, folder)
        for name, number in _thresholds(folder).items():
            if name in before:
                _rewrite(mutant, name, before[name], number)
        true, what = False, f"offered for {other.name}, which has a published witness"
    if not what or source.random() < 0.2:
        true, what = true or not what, f"{what} {_of_proof(mutant, source)}".strip()
    return about_files(mutant, folder, mutant["claim"]["inputs"]), true, what


def _thresholds(folder: Path) -> dict[str, Fraction]:
    """The numbers that plain assertions compare outputs with."""
    text = (folder / PROPERTY).read_text()
    return {name: Fraction(number) for _, name, number in _ATOM.findall(text) if name[0] == "Y"}


def _of_proof(certificate: Certificate, source: random.Random) -> str:
    for _ in range(50):
        try:
            what = source.choice(PROOF)(certificate, source)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            continue
        if what is not None:
            return what
    return "nothing changed"


def _implied(folder: Path, certificate: Certificate, source: random.Random) -> str:
    """A smaller box or a harder threshold; nothing if the property has no plain comparison."""
    path = folder / PROPERTY
    text = path.read_text()
    found = [m for m in _ATOM.finditer(text) if not text[text.rfind("\n", 0, m.start()) :].startswith("\n;")]
    if not found:
        return ""
    atom = source.choice(found)
    by = Fraction(source.choice([1, 10, 1000]), 100_000)
    number = Fraction(atom[3]) + (by if atom[1] == ">=" else -by)
    written = f"{float(number):.17g}"
    if (Fraction(written) - Fraction(atom[3])) * (1 if atom[1] == ">=" else -1) < 0:
        return ""
    changed = text[: atom.start(3)] + written + text[atom.end(3) :]
    try:
        parse_vnnlib(changed)
    except Exception:  # noqa: BLE001 - an empty box: nothing to certify
        return ""
    path.write_text(changed)
    _rewrite(certificate, atom[2], Fraction(atom[3]), Fraction(written))
    return "a comparison of the property is harder to satisfy"


def _satisfied(folder: Path, certificate: Certificate, source: random.Random) -> str:
    """Every assertion that some float32 point violates is moved to where the point meets it, or left out."""
    path = folder / PROPERTY
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith(";")]
    network = read_onnx_bytes((folder / NETWORK).read_bytes())
    specification = parse_vnnlib("\n".join(lines))
    low, high = (np.array([float(x) for x in ends]) for ends in (specification.low, specification.high))
    places = np.random.default_rng(source.getrandbits(32)).random((256, specification.inputs))
    points = (low + places * (high - low)).astype(np.float32)
    outputs = infer_outputs(network, points)
    chosen = int(
        np.argmax(outputs @ np.random.default_rng(source.getrandbits(32)).normal(size=outputs.shape[1]))
    )
    known = {f"X_{i}": Fraction(float(x)) for i, x in enumerate(points[chosen])}
    known |= {f"Y_{i}": Fraction(float(y)) for i, y in enumerate(outputs[chosen])}
    kept, moved, gone = [], 0, 0
    for line in lines:
        atom = _ATOM.search(line)
        if not line.startswith("(assert") or _holds(line, lines, known):
            kept.append(line)
        elif atom is not None and line == f"(assert {atom[0]})":
            written = _decimal(known[atom[2]])
            kept.append(f"(assert ({atom[1]} {atom[2]} {written}))")
            _rewrite(certificate, atom[2], Fraction(atom[3]), known[atom[2]])
            moved += 1
        else:
            gone += 1
    if not any("Y_" in line and line.startswith("(assert") for line in kept):
        kept.append("(assert (or (<= Y_0 1.0) (>= Y_0 1.0)))")  # or it is no property at all
    if not moved + gone:
        return ""
    text = "\n".join(kept) + "\n"
    if evaluate_term(parse_vnnlib(text).constraint, known) is not True:
        raise AssertionError("the point was to satisfy the property")
    path.write_text(text)
    return f"a point satisfies it: {moved} thresholds moved, {gone} assertions left out"


def _decimal(value: Fraction) -> str:
    """Exactly; float32 numbers are finite decimals."""
    places = max(value.denominator.bit_length() - 1, 1)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _holds(line: str, lines: list[str], known: dict[str, Fraction]) -> bool:
    """Whether one assertion holds at a point."""
    declared = [other for other in lines if other.startswith("(declare")]
    wide = [f"(assert (<= {n} 3e38))(assert (>= {n} -3e38))" for n in known if n[0] == "X"]
    trivial = "(assert (or (<= Y_0 1.0) (>= Y_0 1.0)))"
    return evaluate_term(parse_vnnlib("\n".join([*declared, *wide, trivial, line])).constraint, known) is True


def _rewrite(certificate: Certificate, name: str, before: Fraction, after: Fraction) -> None:
    """The same comparison in the atoms of the proof."""
    for case in certificate["cases"]:
        for _, form in case["atoms"]:
            if set(form) <= {name, ""} and name in form:
                constant, factor = Fraction(form.get("", 0)), Fraction(form[name])
                if -constant / factor == before:
                    form[""] = str(-after * factor)
