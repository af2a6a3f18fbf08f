"""Every exception surefoot raises on purpose.

SurefootError
  InvalidProblem        the input is wrong                        exit 2
    WrongType           a Python value of another type was given  exit 2
  Unsupported           the input is fine, surefoot cannot        exit 2
  MissingBackend        an optional package is not installed      exit 2
  SolverFailure         an external tool crashed                  exit 4
  CertificationFailed   an engine's claim did not survive         exit 4
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class SurefootError(Exception):
    """`what` went wrong, `where` (file and line, column or key path), and the `fix` a reader can apply."""

    exit_code = 4

    def __init__(self, what: str, *, fix: str = "", where: str = "") -> None:
        super().__init__(what)
        self.what, self.fix, self.where = what, fix, where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"; fix: {self.fix}" if self.fix else ""
        return f"{place}{self.what}{remedy}"

    def at(self, where: str) -> SurefootError:
        """The same error with its place put in front (the file name, once it is known)."""
        inner = f"{where}:{self.where}" if self.where else where
        return type(self)(self.what, fix=self.fix, where=inner)


class InvalidProblem(SurefootError):
    exit_code = 2


class WrongType(InvalidProblem, TypeError):
    """Python gave a value that cannot be meant here: a truth value, a text, a class, a file's name."""


class Unsupported(SurefootError):
    exit_code = 2


class MissingBackend(SurefootError):
    exit_code = 2


class SolverFailure(SurefootError):
    """A solver crashed or answered something impossible."""


class CertificationFailed(SurefootError):
    """An engine claimed something that its evidence does not show: a defect of surefoot."""


@contextmanager
def locate_errors(where: str, kind: type[SurefootError] = SurefootError) -> Iterator[None]:
    """Errors of this kind, raised inside, get their place put in front."""
    try:
        yield
    except kind as error:
        raise error.at(where) from None


def missing_backend(package: str, extra: str) -> MissingBackend:
    """The one-line error for an optional package that is not installed."""
    return MissingBackend(f"this needs {package}", fix=f'pip install "surefoot[{extra}]"')


def did_you_mean(name: str, known: Iterable[str], also: Iterable[str] = ()) -> str:
    """`did you mean `x`?` when a name (or one of `also`) is close, otherwise the list of known names."""
    names = list(known)
    if close := get_close_matches(name, [*names, *also], n=1):
        return f"did you mean `{close[0]}`?"
    shown = ", ".join(f"`{n}`" for n in names[:12]) + (", …" if len(names) > 12 else "")
    return f"known names: {shown}" if names else "no names are declared"
