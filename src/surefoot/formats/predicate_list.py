"""A list of conditions, such as predicates: text or a file with one condition a line."""

from __future__ import annotations

from pathlib import Path

from surefoot.errors import InvalidProblem, locate_errors
from surefoot.formats.untrusted.regular_file import read_input_bytes
from surefoot.term.parser import parse_term
from surefoot.term.term import Term

MOST_BYTES = 1 << 24


def read_conditions(given: str) -> tuple[Term, ...]:
    """The conditions in a file, if there is one of this name, else in the text; `#` begins a comment."""
    path = Path(given)
    if not _is_file(path):
        if path.suffix == ".txt" and not set(given) & set(" ;<>=!&|"):
            fix = "name a file with one condition a line, or write conditions: 'x < 3; y = 0'"
            raise InvalidProblem(f"there is no file `{given}`", fix=fix, where="--predicates")
        return tuple(_parse_conditions(given, "--predicates"))
    data = read_input_bytes(path)
    if len(data) > MOST_BYTES:
        raise InvalidProblem(f"the file has {len(data)} bytes, more than {MOST_BYTES}", where=given)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidProblem("not a text file", where=given) from None
    found: list[Term] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found += _parse_conditions(line.partition("#")[0], f"{given}:{number}")
    return tuple(found)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a long text is no name of a file
        return False


def _parse_conditions(text: str, where: str) -> list[Term]:
    with locate_errors(where):
        return [parse_term(part.strip()) for part in text.split(";") if part.strip()]
