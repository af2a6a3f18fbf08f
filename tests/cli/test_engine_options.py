"""Flags of engines say what they mean, and the table of them is what the engines are."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import MISSING, Field, fields
from itertools import pairwise
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from surefoot.cli.engine_flags import ENGINE_FLAGS, SOLVER_NAMES, EngineFlag
from surefoot.engines import ENGINES
from surefoot.engines.predicates.configurations import CONFIGURATIONS
from surefoot.engines.protocol import Engine
from surefoot.engines.statistical.engine import START_LAWS, WAYS
from surefoot.solvers import SOLVERS

CHOICES = {"method": WAYS, "starts": START_LAWS, "configuration": tuple(CONFIGURATIONS)}


def test_every_flag_is_explained(command: Command) -> None:
    code, out, _ = command("check", "--help")
    assert code == 0
    assert "The risk that the interval does not contain" in out
    assert "[auto|interpreter|llvm|delayed]" in out
    assert "option of:" not in out


def test_the_table_names_every_engine_and_every_solver() -> None:
    assert list(ENGINE_FLAGS) == list(ENGINES)
    assert tuple(SOLVERS) == SOLVER_NAMES


@pytest.mark.parametrize("name", ENGINES)
def test_the_table_is_what_the_fields_of_the_engine_are(name: str) -> None:
    """But for `workers`, which every command has a flag for."""
    kind = ENGINES[name]
    sentences = first_sentences(kind)
    found = {f.name: flag_of(f, sentences[f.name]) for f in fields(kind) if f.name != "workers"}  # type: ignore[arg-type]
    assert ENGINE_FLAGS[name] == found
    assert all(flag.help for flag in found.values())


def flag_of(field: Field[object], sentence: str) -> EngineFlag:
    """What the table should say of a field."""
    kind, default = str(field.type), field.default
    if field.default_factory is not MISSING:
        default = field.default_factory()
    if default in (None, ()) or isinstance(default, bool):
        shown = ""
    else:
        shown = str(getattr(default, "name", default))
    choices = CHOICES.get(field.name, ())
    if kind == "Solver":
        choices = tuple(SOLVERS)
    elif kind.startswith("Literal["):
        choices = tuple(re.findall(r"'([^']*)'", kind))
    return EngineFlag(kind, shown, sentence, tuple(choices))


def first_sentences(kind: type[Engine]) -> dict[str, str]:
    """By field, the first sentence that its class has under it."""
    tree = ast.parse(Path(str(sys.modules[kind.__module__].__file__)).read_text("utf-8"))
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
            for field, text in pairwise(node.body):
                match field, text:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(words))):
                        found[name] = " ".join(words.split()).partition(". ")[0].rstrip(".")
    return found
