"""Make docs/reference/python-api.md from the docstrings: `python tests/python_reference.py`."""

from __future__ import annotations

import ast
import inspect
import sys
from dataclasses import fields
from pathlib import Path
from textwrap import dedent
from typing import Any

from surefoot import api

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "python-api.md"
HEAD = """# Python interface: every name

Made from the docstrings by `python tests/python_reference.py`; a test holds both equal and runs the
examples, in a folder with `toy.toml` and `net.onnx`. How the names belong together: [python.md](python.md).
"""


def user_sections() -> list[tuple[str, list[str]]]:
    """The sections of the table in `surefoot/api.py` with their comments, in its order."""
    text = Path(str(api.__file__)).read_text("utf-8")
    tree = ast.parse(text)
    lines = text.splitlines()
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_USER_SECTIONS":
            assert isinstance(node.value, ast.Tuple)
            tables = [ast.literal_eval(part) for part in node.value.elts]
            titles = [lines[part.lineno - 1].partition("# ")[2] for part in node.value.elts]
            names = [" ".join(table.values()).split() for table in tables]
            return list(zip(titles, names, strict=True))
    raise AssertionError("there is no table of names")


def make_page() -> str:
    parts = [HEAD]
    for title, names in user_sections():
        parts.append(f"## {title}\n")
        parts += [describe_name(name, getattr(api, name)) for name in names]
    return "\n".join(parts)


def describe_name(name: str, value: Any) -> str:
    """A heading with the call, the docstring, its examples as code, and the documented methods of a class."""
    if inspect.isclass(value):
        return describe_class(name, value)
    if inspect.isfunction(value):
        return f"### {name}\n\n`{name}{call_text(value)}`\n\n{prose_and_examples(value)}\n"
    return f"### {name}\n\nThe term `{value!r}`.\n"


def describe_class(name: str, kind: type) -> str:
    heading = f"### {name}\n"
    made = ""
    if "__dataclass_fields__" in vars(kind):
        own = ", ".join(f"{f.name}: {f.type}" for f in fields(kind))  # type: ignore[arg-type]
        made = f"`{name}({own})`\n" if own else ""
    elif "__init__" in vars(kind):
        call = call_text(vars(kind)["__init__"]).replace("(self, ", "(").removesuffix(" -> None")
        made = f"`{name}{call}`\n"
    parts = [heading, *([made] if made else [])]
    if kind.__doc__ and not kind.__doc__.startswith(f"{name}("):
        parts.append(f"{prose_and_examples(kind)}\n")
    for method, member in vars(kind).items():
        plain = member.__func__ if isinstance(member, staticmethod) else member
        function = plain.fget if isinstance(plain, property) else plain
        if method.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        call = "" if isinstance(plain, property) else call_text(function)
        parts.append(f"`{name}.{method}{call}`\n\n{prose_and_examples(function)}\n")
    return "\n".join(parts)


def call_text(function: Any) -> str:
    """The parameters as they are written, annotations and defaults included."""
    found = inspect.signature(function)
    shown: list[str] = []
    for one in found.parameters.values():
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        if one.kind is one.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        kind = "" if one.annotation is one.empty else f": {one.annotation}"
        default = "" if one.default is one.empty else f" = {one.default!r}"
        shown.append(f"{stars}{one.name}{kind}{default}")
    result = "" if found.return_annotation is found.empty else f" -> {found.return_annotation}"
    return f"({', '.join(shown)}){result}"


def prose_and_examples(value: Any) -> str:
    """The docstring as Markdown: examples are blocks of code."""
    text = inspect.cleandoc(value.__doc__ or "")
    shown, inside = [], False
    for line in dedent(text).splitlines():
        if line.startswith(">>>") and not inside:
            shown.append("```python")
            inside = True
        elif inside and not line.strip():
            shown.append("```")
            inside = False
        shown.append(line)
    return "\n".join([*shown, *(["```"] if inside else [])])


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
    sys.stdout.write(f"written: {PAGE.name}\n")
