"""Read a file that a user named: one line says what is wrong with it."""

from __future__ import annotations

from pathlib import Path

from surefoot.errors import InvalidProblem

MOST_BYTES = 512 << 20


def read_bytes(path: Path) -> bytes:
    """The content of a regular file that is neither empty nor too large."""
    where = str(path)
    try:
        if path.is_dir():
            raise InvalidProblem("this is a folder, not a file", where=where)
        if not path.exists():
            raise InvalidProblem("there is no such file", where=where)
        if not path.is_file():
            raise InvalidProblem("this is not a regular file", where=where)
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise InvalidProblem(f"the file has {size} bytes, more than {MOST_BYTES}", where=where)
        data = path.read_bytes()
    except (OSError, ValueError) as problem:  # ValueError: a path with a zero byte
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise InvalidProblem(f"the file cannot be read ({reason})", where=where) from problem
    if not data:
        raise InvalidProblem("the file is empty", where=where)
    return data
