"""What a flag of an engine means: the line that stands under the field it was made from."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from surefoot.engines.protocol import Engine


class Explained(click.Option):
    """A flag whose help is looked up when somebody asks for it."""

    def __init__(self, *names: Any, users: Mapping[str, type[Engine]], **more: Any) -> None:
        super().__init__(*names, **more)
        self._users = users

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        told = dict.fromkeys(explanations(kind).get(self.name or "", "") for kind in self._users.values())
        words = " / ".join(text for text in told if text)
        self.help = f"{words} ({', '.join(self._users)})" if words else f"option of: {', '.join(self._users)}"
        return super().get_help_record(ctx)


def explanations(kind: type[Engine]) -> dict[str, str]:
    """By field, the first sentence that its class has under it."""
    file = sys.modules[kind.__module__].__file__
    tree = ast.parse(Path(file).read_text("utf-8")) if file else ast.Module([], [])
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == kind.__name__]
    found: dict[str, str] = {}
    for body in (c.body for c in classes):
        for field, text in pairwise(body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(words))):
                    found[name] = " ".join(words.split()).partition(". ")[0].rstrip(".")
    return found
