"""Only the step of an exported module is translated to machine code, and only as it is written."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from tests.shield.export.test_machine_step import answer, loaded
from tests.shield.export.test_source import ENVIRONMENT, shield

from surefoot.errors import Unsupported
from surefoot.shield.export import cpython_step, guard_of, python_source
from surefoot.shield.export.cpython_step import machine_step
from surefoot.shield.export.step_to_llvm import translate_step

TEXT = python_source(guard_of(ENVIRONMENT, shield()))
LAST = "    return program(x0, x1)\n"
FOREIGN = {
    "side effects": ("    total = ", "    print(x0)\n    total = "),
    "global state": ("    total = ", "    global total\n    total = "),
    "a number of the module": ("-0.3 > u0", "LIMIT > u0"),
    "a whole number": ("-0.3 > u0", "0 > u0"),
    "a large whole number": ("-0.3 > u0", f"{10**40} > u0"),
    "a truth value as a number": ("-0.3 > u0", "True > u0"),
    "a power": ("total = x0", "total = x0 ** 2.0 + x0"),
    "a remainder": ("total = x0", "total = x0 % 2.0 + x0"),
    "another function": ("total = x0", "total = abs(x0)"),
    "three numbers": ("total = x0", "total = max(x0, x1, u0)"),
    "a chain of comparisons": ("if -0.3 > u0:", "if -0.3 > u0 > -7.0:"),
    "a number as a condition": ("if -0.3 > u0:", "if u0:"),
    "recursion": (LAST, "    return step((x0, x1), (u0, u1))\n"),
    "recursion of another": ("    return nearest(x0, x1)", "    return program(x0, x1)"),
    "a result that is computed": (LAST, "    return program(x0, x1)[:2]\n"),
    "a word that is none": (", 2\n", ", 3\n"),
    "a word that is a truth value": (", 2\n", ", True\n"),
    "results of several lengths": ("return (0.0, 1.0), 2", "return (0.0,), 2"),
    "no result": (LAST, "    t = 1.0\n"),
    "more after a result": (LAST, f"{LAST}    print(1.0)\n"),
    "a loop": ("    total = ", "    while x0 > 1.0:\n        x0 = x0 - 1.0\n    total = "),
    "a name not always set": ("    total = ", "    if x0 > 1.0:\n        y = x1\n    t = y\n    total = "),
    "a name that is never set": ("    total = x0", "    total = y"),
    "a set name of a function": ("    total = ", "    max = 1.0\n    total = "),
    "a parameter with the name of a function": ("def step(state, proposed)", "def step(isfinite, proposed)"),
    "a value that is given by itself": ("def step(state, proposed)", "def step(state, proposed=(0.0, 1.0))"),
    "two names at once": ("        least = gap\n", "        (least, gap) = (gap, gap)\n"),
    "any number of values": ("def program(x0, x1)", "def program(*x)"),
    "a decorator": ("def program(", "@staticmethod\ndef program("),
    "a generator": ("            x0 = float(x0)", "            yield x0"),
    "another conversion": ("            x0 = float(x0)", "            x0 = abs(x0)"),
    "a test that is another": ("type(x0) is not float or", "print(x0) or"),
    "a test of something else": ("type(x0) is not float or", "type(x0) is float or"),
    "another error": ("    except ValueError:", "    except TypeError:"),
    "another error is raised": ("raise ValueError(", "raise TypeError("),
    "another beginning": ("    try:\n        (x0", "    x1 = 0.0\n    try:\n        (x0"),
    "names twice": ("(x0, x1) = state", "(x0, x0) = state"),
    "a rest of names": ("(x0, x1) = state", "(x0, *x1) = state"),
    "its own isfinite": ("from math import isfinite", "def isfinite(x):\n    return True"),
    "its own max": ("from math import isfinite", "from math import isfinite\nmax = min"),
    "its own float": ("from math import isfinite", "from math import isfinite\nfloat = int"),
    "a function that is another": ("def nearest(", "def other(x, y):\n    return (x, y), 2\ndef nearest("),
}  # fmt: skip

SEEN_LATER = {"its own isfinite", "its own max", "its own float", "a function that is another"}


@pytest.mark.parametrize("name", FOREIGN)
def test_anything_else_is_left_alone(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = FOREIGN[name]
    assert old in TEXT
    text = TEXT.replace(old, new)
    if name == "its own max":
        text = text.replace("total = x0", "total = max(x0, x0)")
    if name == "a function that is another":
        text += "\n\nnearest = other\n"
    made = loaded(text, tmp_path)
    with pytest.raises(Unsupported):
        machine_step(made.step)
    if name not in SEEN_LATER:
        with pytest.raises(Unsupported, match="no exported shield"):
            translate_step(
                {part.name: part for part in ast.parse(text).body if isinstance(part, ast.FunctionDef)}
            )
    assert capsys.readouterr().out == ""


def test_the_same_module_with_other_numbers_is_translated(tmp_path: Path) -> None:
    made = loaded(TEXT.replace("-0.3 > u0", "-0.2 > u0"), tmp_path)
    fast = machine_step(made.step)
    for state in ((0.1, 0.2), (9.0, 9.0)):
        assert answer(fast, state, (-1.0, 1.5)) == answer(made.step, state, (-1.0, 1.5))


def test_what_runs_has_to_be_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = loaded(TEXT, tmp_path)
    machine_step(made.step)
    path = Path(made.step.__code__.co_filename)
    path.write_text(TEXT.replace("-0.3 > u0", "-0.4 > u0"))
    with pytest.raises(Unsupported, match="has changed"):
        machine_step(made.step)
    path.write_text(TEXT.replace("gap < least", "gap > least"))
    with pytest.raises(Unsupported, match="`nearest` has changed"):
        machine_step(made.step)
    path.write_text("step = (")
    with pytest.raises(Unsupported, match="cannot be compiled"):
        machine_step(made.step)
    path.write_text("")
    with pytest.raises(Unsupported, match="no function `step`"):
        machine_step(made.step)
    path.unlink()
    with pytest.raises(Unsupported, match="cannot be compiled"):
        machine_step(made.step)
    path.write_text(TEXT)
    machine_step(made.step)
    made.isfinite = lambda _: True  # type: ignore[attr-defined]
    with pytest.raises(Unsupported):
        machine_step(made.step)
    made = loaded(TEXT, tmp_path)
    made.program = loaded(TEXT, tmp_path).program  # type: ignore[attr-defined]
    with pytest.raises(Unsupported, match="`program` is not as its file has it"):
        machine_step(made.step)
    monkeypatch.setattr(cpython_step, "_MOST_BYTES", 100)
    with pytest.raises(Unsupported, match="takes too long"):
        machine_step(loaded(TEXT, tmp_path).step)
    monkeypatch.setattr(cpython_step, "_has_expected_layout", lambda: False)
    with pytest.raises(Unsupported, match="this Python"):
        machine_step(loaded(TEXT, tmp_path).step)


def test_what_is_defined_again_below_a_condition_is_another(tmp_path: Path) -> None:
    again = indent(TEXT[TEXT.index("def step") :].replace("-0.3 > u0", "-0.2 > u0"), "    ")
    for name in ("step", "nearest"):
        start = again.index(f"    def {name}(")
        made = loaded(f"{TEXT}\n\nif isfinite(1.0):\n{again[start:]}", tmp_path)
        with pytest.raises(Unsupported, match=f"the text of `{name}` has changed"):
            machine_step(made.step)


def test_other_callables_are_none(tmp_path: Path) -> None:
    made = loaded(TEXT, tmp_path)

    class Counting:
        def step(self, _: Any, proposed: Any) -> tuple[Any, int]:
            return proposed, 0

        __call__ = step

    def step(_: Any, proposed: Any) -> tuple[Any, int]:
        return proposed, 0

    for other in (
        partial(made.step),
        lambda *a: made.step(*a),
        Counting(),
        Counting().step,
        step,
        made.program,
        None,
    ):
        with pytest.raises(Unsupported):
            machine_step(other)
