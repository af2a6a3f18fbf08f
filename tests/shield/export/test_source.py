"""A shield as source code: Python and C agree with the reference meaning, bit for bit."""

from __future__ import annotations

import ast
import importlib.util
import json
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from math import inf, isnan, nan
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.integrations.native import native
from surefoot.problem.environment import Component, Control, Edge, Environment, Variable
from surefoot.problem.meaning.decision import decide_in_state
from surefoot.problem.policy import Branch, OraclePolicy, ProgramPolicy, ShieldedPolicy
from surefoot.shields.export.c_code import GuardExample, c_source
from surefoot.shields.export.guard import guard_of
from surefoot.shields.export.python_code import python_source
from surefoot.term.evaluate import Undefined
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, conjunction_of, disjunction_of
from surefoot.term.value_types import Arithmetic, Real

X, Y, A, B = Var("x"), Var("while"), Var("a"), Var("b")
FLAGS = ["-Wall", "-Wextra", "-Werror", "-std=c99", "-O2"]
STATES = 20_000
TENTH = Const(Fraction(1, 10))
ENVIRONMENT = Environment(
    "two */ variables",
    (Variable("x", Real()), Variable("while", Real())),
    TRUE,
    (Component("plant", (Edge(),)),),
    (Control("a", Fraction(-3, 10), Fraction(7, 10)), Control("b", Fraction(1), Fraction(2))),
    arithmetic=Arithmetic.FLOAT64,
)


def inside(values: tuple[Term, Term], size: Fraction, barrier: Term) -> Term:
    sides = [side for v in values for side in (Const(-size) <= v, v <= Const(size))]
    return conjunction_of((*sides, barrier <= Const(Fraction(-1, 7))))


def barrier(x: Term, y: Term) -> Term:
    """With sums, differences, powers, divisions, signs, whole numbers and shared parts."""
    shared = Apply(Op.ADD, (Const(1), Const(2), TENTH * x, y / 3))
    return shared * shared * TENTH + x**3 - (y - x) * (x - y) / 7 - (-x) - 1


def shield() -> ShieldedPolicy:
    following = (X + TENTH * (Y - X**3 / 6) + A, Y - TENTH * (X * B - A))
    permits = disjunction_of(
        (inside(following, Fraction(9, 10), barrier(*following)), ~(following[0] < -1) & (following[1] < -1))
    )
    program = ProgramPolicy(
        (
            Branch(inside((X, Y), Fraction(1), barrier(X, Y)), (-X * 3 + TENTH, Const(1) + Y * Y)),
            Branch(inside((X, Y), Fraction(2), X * X + Y * Y - 3), (Const(0) - X, 2 - X / 3)),
        )
    )
    return ShieldedPolicy(OraclePolicy("nobody", lambda _: (0.0, 0.0)), permits, program)


def module(text: str, path: Path) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def questions(count: int) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    random = Random(3)
    return [
        (
            tuple(random.uniform(-2.3, 2.3) for _ in range(2)),
            (random.uniform(-1, 1), random.uniform(0.5, 2.5)),
        )
        for _ in range(count)
    ]


def bits(values: Any) -> bytes:
    return struct.pack(f"{len(values)}d", *values)


def reference(state: tuple[float, ...], proposed: tuple[float, ...]) -> tuple[bytes, int] | None:
    policy = replace(shield(), policy=OraclePolicy("given", lambda _: proposed))
    try:
        made = decide_in_state(policy, ENVIRONMENT, {"x": state[0], "while": state[1]})
    except Undefined:
        return None
    return bits((made.controls["a"], made.controls["b"])), int(made.intervened)


def test_python_agrees_with_the_meaning(tmp_path: Path) -> None:
    step = module(python_source(guard_of(ENVIRONMENT, shield())), tmp_path / "guard.py").step
    seen = {0: 0, 1: 0, 2: 0}
    for state, proposed in questions(1_500):
        applied, intervened = step(state, proposed)
        expected = reference(state, proposed)
        assert intervened == 2 if expected is None else (bits(applied), intervened) == expected
        seen[intervened] += 1
    assert min(seen.values()) > 50


def test_what_is_no_number_gets_the_documented_answer(tmp_path: Path) -> None:
    step = module(python_source(guard_of(ENVIRONMENT, shield())), tmp_path / "guard.py").step
    for bad in (nan, inf, -inf):
        assert step((bad, 0.0), (0.0, 1.0)) == ((0.0, 1.0), 2)
        applied, intervened = step((0.1, 0.1), (bad, 1.0))
        assert intervened
        assert not any(map(isnan, applied))
        assert -0.3 <= applied[0] <= 0.7
        assert 1 <= applied[1] <= 2
    applied, intervened = step((1e200, -1e200), (0.0, 1.0))
    assert intervened == 2
    assert -0.3 <= applied[0] <= 0.7
    assert 1 <= applied[1] <= 2
    right = (0.0, 1.0)
    few: list[tuple[Any, Any]] = [((0.0,), right), (right, (1.0,)), ((0.0, "x"), right), (0.0, right)]
    texts: list[tuple[Any, Any]] = [("12", right), (right, "12"), ((0.0, "1"), right), (right, (1, "1.5"))]
    others: list[tuple[Any, Any]] = [({"x": 0, "y": 1}, right), (right, (None, 1.0)), (right, None)]
    for state, proposed in few + texts + others:
        with pytest.raises(ValueError, match="2 state values"):
            step(state, proposed)


def test_numbers_of_any_kind_are_computed_as_floats(tmp_path: Path) -> None:
    step = module(python_source(guard_of(ENVIRONMENT, shield())), tmp_path / "guard.py").step
    for x, y in [(1, -1), (10**9, 10**9 + 1), (-2, 3)]:
        as_floats = step((float(x), float(y)), (0.0, 1.0))
        for kind in (int, np.float64, Fraction):
            given = step((kind(x), kind(y)), (kind(0), kind(1)))
            assert given == as_floats
            assert all(type(value) is float for value in given[0])
        assert step(np.array([x, y]), [0, 1]) == as_floats


def compiled(folder: Path, *more: str) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler")
    examples = [
        GuardExample(s, p, struct.unpack("2d", e[0]), e[1])
        for s, p in questions(50)
        if (e := reference(s, p)) is not None
    ]
    header, source = c_source(guard_of(ENVIRONMENT, shield()), "my-guard", examples)
    (folder / "my-guard.h").write_text(header)
    (folder / "my-guard.c").write_text(source)
    (folder / "main.c").write_text(
        '#include "my-guard.h"\n#include <stdio.h>\n'
        "int main(void) { double row[4], out[3]; while (fread(row, sizeof row, 1, stdin)) {"
        " out[2] = my_guard_step(row, row + 2, out); fwrite(out, sizeof out, 1, stdout); } return 0; }\n"
    )
    subprocess.run(["gcc", *FLAGS, *more, "my-guard.c", "main.c", "-o", "run"], cwd=folder, check=True)
    return folder / "run"


@pytest.mark.parametrize("more", [(), ("-std=gnu99", "-O3", "-march=native")])
def test_c_agrees_with_python_bit_for_bit(tmp_path: Path, more: tuple[str, ...]) -> None:
    program = compiled(tmp_path, *more)
    step = module(python_source(guard_of(ENVIRONMENT, shield())), tmp_path / "guard.py").step
    rows = questions(STATES)
    rows += [
        ((v, w), (p, q))
        for v in (nan, inf, 1e300, -0.0)
        for w in (0.0, -1e300)
        for p, q in [(nan, 1.0), (0.0, 9.0)]
    ]
    given = b"".join(bits((*state, *proposed)) for state, proposed in rows)
    answers = subprocess.run([program], input=given, capture_output=True, check=True).stdout
    for index, (state, proposed) in enumerate(rows):
        applied, intervened = step(state, proposed)
        assert answers[24 * index : 24 * index + 24] == bits((*applied, float(intervened)))


@pytest.mark.parametrize(
    "part", ["-Ofast", "-funsafe-math-optimizations", "-ffinite-math-only", "-freciprocal-math"]
)
def test_c_is_not_compiled_to_something_else(tmp_path: Path, part: str) -> None:
    """Parts of -ffast-math change bits too, or let what is no number pass."""
    compiled(tmp_path)
    asked = subprocess.run(["gcc", part, "-dM", "-E", "-xc", "/dev/null"], capture_output=True, text=True)
    told = ("FAST_MATH__ 1", "ASSOCIATIVE_MATH__ 1", "RECIPROCAL_MATH__ 1", "FINITE_MATH_ONLY__ 1")
    if not any(name in asked.stdout for name in told):
        pytest.skip("this compiler does not say so")
    command = ["gcc", "-O2", part, "-c", "my-guard.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "#error" in done.stderr


def test_c_loaded_into_python_is_the_same_step(tmp_path: Path) -> None:
    compiled(tmp_path)
    command = ["gcc", *FLAGS, "-shared", "-fPIC", "my-guard.c", "-o", "other.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    step = module(python_source(guard_of(ENVIRONMENT, shield())), tmp_path / "guard.py").step
    loaded, again = (native(tmp_path / "other.so", "my-guard") for _ in range(2))
    for state, proposed in [*questions(500), ((nan, 0.0), (0.0, 1.0)), ((0.1, 0.1), (inf, 1.0))]:
        applied, intervened = step(state, proposed)
        given, word = loaded(state, proposed)
        assert (bits(given), word) == (bits(applied), intervened)
        again((9.0, 9.0), (0.0, 1.0))
    several = [
        ((0.0,), (0.0, 1.0)),
        ((0.0, "x"), (0.0, 1.0)),
        ((0.0, 0.0, 0.0), (1.0,)),
        ((0.0,), (0.0,) * 3),
    ]
    for state, proposed in several:
        with pytest.raises(ValueError, match="2 state values and 2 controls"):
            loaded(state, proposed)
    with pytest.raises(InvalidProblem, match="no shield `other`"):
        native(tmp_path / "other.so")
    with pytest.raises(InvalidProblem, match="cannot be loaded"):
        native(tmp_path / "missing.so")


def test_the_self_test_in_c_passes_and_can_fail(tmp_path: Path) -> None:
    compiled(tmp_path)
    command = ["gcc", *FLAGS, "-DMY_GUARD_SELF_TEST", "my-guard.c", "-o", "self"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "self"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "examples agree" in done.stdout
    source = (tmp_path / "my-guard.c").read_text()
    (tmp_path / "my-guard.c").write_text(source.replace("0x1.999999999999ap-4", "0x1.8p-4"))
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "self"], capture_output=True).returncode == 1


def test_names_cannot_leave_their_comment() -> None:
    guard = guard_of(ENVIRONMENT, shield())
    header, _ = c_source(guard, "9 lives", [])
    assert header.count("*/") == 1
    assert "shield_9_lives_step" in header
    odd = "cells/cool */ /* ??/ x * y > 8: a"
    header, _ = c_source(replace(guard, name=odd), "guard", [])
    assert "cells/cool * / / * __/ x * y > 8: a" in header
    assert (header.count("*/"), header.count("/*"), header.count("?")) == (1, 1, 0)
    tree = ast.parse(python_source(replace(guard, name='"""; import os')))
    kinds = [type(part) for part in tree.body]
    assert kinds == [ast.Expr, ast.ImportFrom, *[ast.FunctionDef] * 3]
    assert "import os" in (ast.get_docstring(tree) or "")


def test_what_cannot_be_written_is_refused() -> None:
    policy = shield()
    with pytest.raises(Unsupported):
        guard_of(replace(ENVIRONMENT, arithmetic=Arithmetic.EXACT), policy)
    with pytest.raises(Unsupported):
        guard_of(ENVIRONMENT, ProgramPolicy((Branch(TRUE, (X, Y)),)))
    odd = replace(policy, permits=Apply(Op.SQRT, (X,)) <= 1)
    with pytest.raises(Unsupported):
        python_source(guard_of(ENVIRONMENT, odd))
    huge = replace(policy, permits=Const(10**400) <= X)
    with pytest.raises(Unsupported):
        python_source(guard_of(ENVIRONMENT, huge))


def test_the_module_needs_only_python(tmp_path: Path) -> None:
    (tmp_path / "guard.py").write_text(python_source(guard_of(ENVIRONMENT, shield())))
    asked = "import guard, json; print(json.dumps(guard.step((0.1, 0.2), (0.0, 1.5))))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'); {asked}"],
                          cwd=tmp_path, capture_output=True, text=True, check=True)  # fmt: skip
    assert len(json.loads(done.stdout)) == 2
