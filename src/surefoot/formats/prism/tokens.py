"""Words of the PRISM language, each with its line and column."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.term.lexer import shorten_text

_WORDS = """
A bool clock const ctmc C double dtmc E endinit endinvariant endmodule endobservables
endrewards endsystem false formula filter func F global G init invariant I int label max
mdp min module X nondeterministic observable observables Pmax Pmin P probabilistic prob
pta popta pomdp rate rewards Rmax Rmin R S stochastic system true U W
"""
KEYWORDS = frozenset(_WORDS.split())
_MOST_CHARACTERS = 20_000_000
_SKIPPED = re.compile(r"(?:[ \t\r\n\f\v\ufeff]|//[^\n]*)*")
_WORD = re.compile(
    r"(?P<number>(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<primed>[A-Za-z_][A-Za-z0-9_]*')"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r'|(?P<quoted>"[^"\n]*")'
    r"|(?P<symbol><=>|->|<-|=>|<=|>=|!=|\.\.|[()\[\]{}<>=!&|+\-*/?:;,#])"
)
_INSTEAD = {"^": "write pow(a, b)", "%": "write mod(a, b)", "'": "only updates have primed names"}


@dataclass(frozen=True, slots=True)
class PrismPlace:
    """Where something stands in a text."""

    text: str = field(repr=False, compare=False)
    offset: int = field(compare=False)

    def __str__(self) -> str:
        line = self.text.count("\n", 0, self.offset) + 1
        return f"{line}:{self.offset - self.text.rfind(chr(10), 0, self.offset)}"

    def fail(self, what: str, fix: str = "") -> NoReturn:
        raise InvalidProblem(what, fix=fix, where=str(self))

    def refuse(self, what: str, fix: str = "") -> NoReturn:
        """For what PRISM can mean and surefoot cannot."""
        raise Unsupported(what, fix=fix, where=str(self))


@dataclass(frozen=True, slots=True)
class PrismToken:
    kind: str  # number, primed, name, keyword, quoted, symbol, end
    text: str  # without the prime and the quotes
    place: PrismPlace

    def shown(self) -> str:
        if self.kind == "end":
            return "the end of the text"
        spelled = {"primed": f"{self.text}'", "quoted": f'"{self.text}"'}.get(self.kind, self.text)
        return f"`{shorten_text(spelled)}`"


def split_prism_text(text: str) -> list[PrismToken]:
    """The words of a text; the last one is the end."""
    if len(text) > _MOST_CHARACTERS:
        PrismPlace(text, 0).refuse(
            f"the text has {len(text)} characters", f"at most {_MOST_CHARACTERS} are read"
        )
    found: list[PrismToken] = []
    offset = 0
    while True:
        if skipped := _SKIPPED.match(text, offset):
            offset = skipped.end()
        if offset == len(text):
            found.append(PrismToken("end", "", PrismPlace(text, offset)))
            return found
        word = _WORD.match(text, offset)
        if word is None:
            _refuse_character(text, offset)
        kind, spelled = word.lastgroup or "", word[0]
        if kind == "name" and spelled in KEYWORDS:
            kind = "keyword"
        if kind == "number" and re.match(r"[A-Za-z0-9_]", text[word.end() : word.end() + 1]):
            PrismPlace(text, offset).fail(
                f"`{spelled}{text[word.end()]}…` is not a number", "write 12 or 0.25"
            )
        plain = spelled[:-1] if kind == "primed" else spelled[1:-1] if kind == "quoted" else spelled
        found.append(PrismToken(kind, plain, PrismPlace(text, offset)))
        offset = word.end()


def _refuse_character(text: str, offset: int) -> NoReturn:
    character = text[offset]
    place = PrismPlace(text, offset)
    if character == '"':
        place.fail("a name in quotes is not closed", 'end it with "')
    shown = character if character.isprintable() else f"\\u{{{ord(character):x}}}"
    place.fail(f"unexpected character `{shown}`", _INSTEAD.get(character, "remove it"))
