"""Flags of engines say what they mean."""

from __future__ import annotations

from dataclasses import fields

import pytest
from tests.cli.conftest import Command

from surefoot.cli.engine_options import field_explanations
from surefoot.engines import ENGINES


def test_every_flag_is_explained(command: Command) -> None:
    code, out, _ = command("check", "--help")
    assert code == 0
    assert "The risk that the interval does not contain" in out
    assert "[auto|interpreter|llvm]" in out
    assert "option of:" not in out


@pytest.mark.parametrize("name", ENGINES)
def test_every_field_has_a_line_under_it(name: str) -> None:
    kind = ENGINES[name]
    told = field_explanations(kind)
    assert {f.name for f in fields(kind)} <= set(told)  # type: ignore[arg-type]
    assert all(told.values())
