"""The reference page is what the docstrings say, and every public function has an example."""

from __future__ import annotations

import inspect

import pytest

from surefoot import api
from tests.python_reference import PAGE, make_page, user_sections


def test_the_page_is_made_from_the_docstrings() -> None:
    assert PAGE.read_text("utf-8") == make_page(), "run python tests/python_reference.py"


def test_the_page_has_every_public_name() -> None:
    assert sorted(name for _, names in user_sections() for name in names) == list(api.USER_NAMES)


@pytest.mark.parametrize("name", [name for name in api.USER_NAMES if inspect.isfunction(getattr(api, name))])
def test_every_public_function_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(api, name).__doc__ or "")
