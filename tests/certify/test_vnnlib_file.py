"""The checker's VNN-LIB reader: what the text means, agreement with the package's reader, hostile files."""

import gzip
import random
from fractions import Fraction
from pathlib import Path

import pytest

from surefoot.formats.vnnlib import Specification
from surefoot.formats.vnnlib import read_vnnlib_file as read_package
from surefoot.query.formula import negation_normal_form
from surefoot.query.unsat_claim import formula_to_json
from surefoot.term.evaluate import evaluate_term
from surefoot_checker.kernel.query import Formula
from surefoot_checker.kernel.untrusted_file import ReadError
from surefoot_checker.kernel.vnnlib_file import VnnlibClaim, read_vnnlib_claim

DECLARED = "(declare-const X_0 Real)(declare-const Y_0 Real)"
BOX = "(assert (>= X_0 0))(assert (<= X_0 1))"
X, Y, C = "X_0", "Y_0", ""


def formula(assertions: str) -> Formula:
    return read_vnnlib_claim((DECLARED + assertions).encode()).formula


def holds(formula: object, point: dict[str, Fraction]) -> bool:
    assert isinstance(formula, tuple)
    kind, *parts = formula
    if kind == "and":
        return all(holds(p, point) for p in parts)
    if kind == "or":
        return any(holds(p, point) for p in parts)
    value = sum(c * (point[name] if name else 1) for name, c in parts[0].items())
    return bool(value <= 0 if kind == "<=" else value < 0 if kind == "<" else value == 0)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("(<= Y_0 1)", ("<=", {Y: 1, C: -1})),
        ("(>= Y_0 1)", ("<=", {Y: -1, C: 1})),
        ("(< X_0 Y_0)", ("<", {X: 1, Y: -1})),
        ("(> X_0 Y_0)", ("<", {X: -1, Y: 1})),
        ("(= X_0 (* 2 Y_0))", ("=", {X: 1, Y: -2})),
        ("(<= (- X_0) (- 1 2 -3.5e0))", ("<=", {X: -1, C: Fraction(-5, 2)})),
        ("(<= (+ X_0 (* 0 Y_0) X_0 .5 1.) 0)", ("<=", {X: 2, C: Fraction(3, 2)})),
        ("(<= (* (+ 1 2) (- X_0 1) 2) 0)", ("<=", {X: 6, C: -6})),
        ("(<= (- X_0 X_0) 0)", ("and",)),
        ("(< 0 0)", ("or",)),
        ("(and (<= X_0 0) (or (< 1 0)))", ("or",)),
        ("(or (<= X_0 0) (and (< 0 1) (<= 0 0)))", ("and",)),
        ("(or (<= X_0 0) (or (<= Y_0 0) (< 1 0)))", ("or", ("<=", {X: 1}), ("<=", {Y: 1}))),
        ("(and (or (<= X_0 0)))", ("<=", {X: 1})),
    ],
)
def test_formulas(text: str, meaning: Formula) -> None:
    assert formula(f"(assert {text})") == meaning


def test_numbers_are_exact() -> None:
    assert formula("(assert (<= X_0 0.1))") == ("<=", {X: 1, C: Fraction(-1, 10)})
    assert formula("(assert (<= X_0 -3.0E-2))") == ("<=", {X: 1, C: Fraction(3, 100)})


def test_assertions_after_a_disjunction_still_count() -> None:
    """A reader that takes the last assertion, or joins it to the last alternative, would find a solution."""
    either = "(assert (or (<= Y_0 1) (>= Y_0 5)))"
    found = formula(BOX + either + "(assert (>= Y_0 3))")
    assert found[0] == "and"
    assert len(found) == 5
    accepted = [y for y in range(8) if holds(found, {X: Fraction(1, 2), Y: Fraction(y)})]
    assert accepted == [5, 6, 7]
    assert formula("(assert (>= Y_0 3))" + either + either)[0] == "and"


def test_repeated_bounds_are_all_kept() -> None:
    found = formula("(assert (<= X_0 2))(assert (<= X_0 1))(assert (<= X_0 3))")
    assert not holds(found, {X: Fraction(3, 2), Y: Fraction(0)})


def test_declarations() -> None:
    text = "; comment (\n(check-sat)(declare-fun X_0 () Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
    assert read_vnnlib_claim(text.encode()) == VnnlibClaim(2, 1, ("and",))
    assert read_vnnlib_claim(gzip.compress(text.encode())) == VnnlibClaim(2, 1, ("and",))


HOSTILE = {
    "nothing": "",
    "no outputs": "(declare-const X_0 Real)",
    "gap": "(declare-const X_0 Real)(declare-const X_2 Real)(declare-const Y_0 Real)",
    "twice": DECLARED + "(declare-const X_0 Real)",
    "integer": "(declare-const X_0 Int)(declare-const Y_0 Real)",
    "other name": DECLARED + "(declare-const Z Real)",
    "not closed": DECLARED + "(assert (<= X_0 0)",
    "closed twice": DECLARED + "(assert (<= X_0 0)))",
    "word outside": DECLARED + "assert",
    "used before declared": "(assert (<= X_0 0))" + DECLARED,
    "unknown command": DECLARED + "(push)",
    "version 2": DECLARED + "(declare-network N)",
    "assert nothing": DECLARED + "(assert)",
    "assert two": DECLARED + "(assert (<= X_0 0) (<= X_0 0))",
    "assert term": DECLARED + "(assert (+ X_0 0))",
    "assert word": DECLARED + "(assert X_0)",
    "nested command": DECLARED + "(assert (assert (<= X_0 0)))",
    "not": DECLARED + "(assert (not (<= X_0 0)))",
    "empty or": DECLARED + "(assert (or))",
    "or of terms": DECLARED + "(assert (or X_0 Y_0))",
    "three compared": DECLARED + "(assert (<= 0 X_0 1))",
    "one compared": DECLARED + "(assert (<= X_0))",
    "formula as term": DECLARED + "(assert (<= (<= X_0 0) 1))",
    "empty list": DECLARED + "(assert (<= () 1))",
    "product": DECLARED + "(assert (<= (* X_0 Y_0) 1))",
    "quotient": DECLARED + "(assert (<= (/ X_0 2) 1))",
    "not a number": DECLARED + "(assert (<= X_0 nan))",
    "infinite": DECLARED + "(assert (<= X_0 1e999999))",
    "hexadecimal": DECLARED + "(assert (<= X_0 0x1p3))",
    "fraction": DECLARED + "(assert (<= X_0 1/3))",
    "plus sign": DECLARED + "(assert (<= X_0 +1))",
    "arabic digits": DECLARED + "(assert (<= X_0 \u0661))",
    "underscore": DECLARED + "(assert (<= X_0 1_0))",
    "huge product": DECLARED + f"(assert (<= X_0 (* {'1e9999 ' * 10})))",
    "deep": DECLARED + "(assert " + "(and " * 10_000 + "(<= X_0 0)" + ")" * 10_001,
    "long number": DECLARED + f"(assert (<= X_0 {'1' * 10_000}))",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str) -> None:
    with pytest.raises(ReadError):
        read_vnnlib_claim(HOSTILE[name].encode())


def test_bytes_that_are_no_text_are_refused() -> None:
    for data in (b"\xff\xfe", gzip.compress(DECLARED.encode())[:-5], gzip.compress(bytes(2**24))):
        with pytest.raises(ReadError):
            read_vnnlib_claim(data)


def points(specification: Specification, count: int, seed: int) -> list[dict[str, Fraction]]:
    """Corners and inner points of the box, some a little outside, with random outputs."""
    source = random.Random(seed)
    found = []
    for number in range(count):
        point = {}
        for index, (low, high) in enumerate(zip(specification.low, specification.high, strict=True)):
            place = Fraction(
                source.choice([0, 1] if number % 2 else [-1, 0, 3, 5, 8, 9]), 1 if number % 2 else 8
            )
            point[f"X_{index}"] = low + place * (high - low)
        for index in range(specification.outputs):
            point[f"Y_{index}"] = Fraction(source.randint(-3000, 3000), source.choice([1, 10, 1000]))
        found.append(point)
    return found


@pytest.mark.shared_data
def test_properties_beside_the_repository(shared_data: Path) -> None:
    """The same conjuncts in the same order as the package's reader finds, and the same meaning."""
    paths = sorted((shared_data / "queries").rglob("*.vnnlib*"))
    assert len(paths) == 147
    seen = {True: 0, False: 0}
    for path in paths:
        ours, theirs = read_vnnlib_claim(path.read_bytes()), read_package(path)
        assert (ours.inputs, ours.outputs) == (theirs.inputs, theirs.outputs)
        assert plain(ours.formula) == formula_to_json(negation_normal_form(theirs.constraint)), path.name
        for point in points(theirs, 6, seed=len(path.name)):
            meant = evaluate_term(theirs.constraint, point)
            assert holds(ours.formula, point) is meant, path.name
            seen[bool(meant)] += 1
    assert min(seen.values()) > 20


def plain(formula: object) -> list[object]:
    assert isinstance(formula, tuple)
    kind, *parts = formula
    if kind in ("and", "or"):
        return [kind, *map(plain, parts)]
    return [kind, {name: str(c) for name, c in parts[0].items()}]
