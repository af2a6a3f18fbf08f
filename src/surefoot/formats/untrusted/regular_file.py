"""Read a file that a user named: one line says what is wrong with it."""

from __future__ import annotations

from pathlib import Path

from surefoot.errors import InvalidProblem, SurefootError

MOST_BYTES = 512 << 20
NO_SUCH_FILE = "there is no such file"


def require_file(path: Path) -> None:
    """Refuse a path that is not a regular file, in the same words everywhere."""
    where = str(path)
    try:
        if path.is_dir():
            raise InvalidProblem("this is a folder, not a file", fix="name a file in it", where=where)
        if not path.exists():
            raise InvalidProblem(NO_SUCH_FILE, fix="check the path", where=where)
        if not path.is_file():
            raise InvalidProblem("this is not a regular file", fix="copy it to a regular file", where=where)
    except (OSError, ValueError) as problem:
        raise _unreadable_error(problem, where) from problem


def read_input_bytes(path: Path) -> bytes:
    """The content of a regular file that is neither empty nor too large."""
    where = str(path)
    require_file(path)
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            what = f"the file has {size} bytes, more than {MOST_BYTES}"
            raise InvalidProblem(what, fix="give a smaller file", where=where)
        data = path.read_bytes()
    except (OSError, ValueError) as problem:
        raise _unreadable_error(problem, where) from problem
    if not data:
        raise InvalidProblem("the file is empty", fix="check the path, or write the file again", where=where)
    return data


def read_model_file(path: Path, ending: str, most: int) -> bytes:
    """Up to so many bytes of a regular file; errors name the ending that is expected, but not the path."""
    try:
        if path.is_dir():
            raise InvalidProblem("this is a directory", fix=f"give the {ending} file inside it")
        if not path.exists():
            raise InvalidProblem(NO_SUCH_FILE, fix="check the path")
        if not path.is_file():
            raise InvalidProblem("this is not a regular file", fix=f"give a {ending} file")
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise InvalidProblem(f"cannot be read: {error.strerror or 'input/output error'}") from None


def error_in_file(error: SurefootError, path: Path) -> SurefootError:
    """The error with the name of the file, unless it is about an option; on one line always."""
    named = error if error.where.startswith("--const") else error.at(str(path))
    what, fix, where = (
        "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
        for text in (named.what, named.fix, named.where)
    )
    return type(named)(what, fix=fix, where=where)


def _unreadable_error(problem: OSError | ValueError, where: str) -> InvalidProblem:
    reason = problem.strerror if isinstance(problem, OSError) else str(problem)  # ValueError: a zero byte
    return InvalidProblem(
        f"the file cannot be read ({reason})", fix="check path and permissions", where=where
    )
