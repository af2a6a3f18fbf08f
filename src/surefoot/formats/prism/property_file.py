"""Files with properties of PRISM models: constants, labels and questions, numbered or with names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from surefoot.errors import SurefootError
from surefoot.formats.jani.declarations import ConstantOverride
from surefoot.formats.prism.constants import read_prism_constants
from surefoot.formats.prism.expressions import PrismReader
from surefoot.formats.prism.model_syntax import parse_prism_constant, parse_prism_label
from surefoot.formats.prism.questions import PrismQuestion, QuestionScope, read_prism_question
from surefoot.formats.prism.terms import PrismScope, read_prism_term
from surefoot.formats.prism.tokens import PrismPlace
from surefoot.formats.untrusted.regular_file import error_in_file, read_input_bytes
from surefoot.term.types import BOOL

_FIRST_WORDS = ("P", "Pmin", "Pmax", "R", "Rmin", "Rmax", "S", "A", "E", "filter", "const", "label", "(")
PROPERTY_SUFFIXES = (".props", ".pctl", ".csl")


@dataclass(frozen=True, slots=True)
class PrismQuestions:
    """`refused` says of each question that cannot be asked why not."""

    questions: Mapping[str, PrismQuestion]
    refused: Mapping[str, SurefootError]
    known: QuestionScope  # with the constants and labels of the file


def read_prism_questions(
    path: str | Path, known: QuestionScope, constants: Mapping[str, ConstantOverride] | None = None
) -> PrismQuestions:
    """The questions of a file, by their names or numbers."""
    file = Path(path)
    text = read_input_bytes(file).decode("utf-8", errors="replace")
    try:
        found = prism_questions_from_text(text, known, constants or {})
    except SurefootError as error:
        raise error_in_file(error, file) from None
    return replace(found, refused={n: error_in_file(e, file) for n, e in found.refused.items()})


def prism_questions_from_text(
    text: str, known: QuestionScope, given: Mapping[str, ConstantOverride]
) -> PrismQuestions:
    """The questions of a text. One that is written wrongly is refused, and the others are read."""
    scope = _declared_scope(text, known.scope, given)
    known = replace(known, scope=scope)
    reader = PrismReader(text)
    questions: dict[str, PrismQuestion] = {}
    refused: dict[str, SurefootError] = {}
    count = 0
    while reader.token.kind != "end":
        if _skip_declaration(reader) or reader.takes(";"):
            continue
        count += 1
        name, place = str(count), reader.token.place
        if reader.token.kind == "quoted" and reader.ahead().text == ":" and reader.ahead().kind == "symbol":
            name = reader.advance().text
            reader.advance()
        if name in questions or name in refused:
            place.fail(f'the name "{name}" is used twice', "rename one of them")
        try:
            questions[name] = read_prism_question(reader, known)
            if reader.token.kind != "end" and not reader.sees(";") and not _starts_question(reader):
                reader.fail_unexpected("`;` after the question")
        except SurefootError as error:
            questions.pop(name, None)
            refused[name] = error
            _skip_question(reader)
    return PrismQuestions(questions, refused, known)


def _declared_scope(text: str, outer: PrismScope, given: Mapping[str, ConstantOverride]) -> PrismScope:
    """The constants and labels of the file, which may stand after the questions that use them."""
    reader = PrismReader(text)
    constants, labels = [], []
    while reader.token.kind != "end":
        if reader.sees("const", "rate", "prob"):
            constants.append(parse_prism_constant(reader))
        elif reader.sees("label"):
            labels.append(parse_prism_label(reader))
        else:
            reader.advance()
    for constant in constants:
        if constant.name in outer.names or constant.name in outer.formulas:
            constant.place.fail(f"`{constant.name}` is a name of the model", "rename one of them")
    own = {c.name: v for c in constants if (v := given.get(c.name)) is not None}
    plain = replace(outer, labels=None, done={})
    values = read_prism_constants(constants, own, plain, may_be_open=True)
    waiting = {c.name: f"give one: --const {c.name}=…" for c in constants if c.name not in values}
    scope = replace(plain, constants=values, waiting=waiting)
    found = dict(outer.labels or {})
    for label in labels:
        if label.name in found:
            label.place.fail(f'label "{label.name}" is declared twice', "rename one of them")
        found[label.name] = read_prism_term(label.body, replace(scope, labels=found), BOOL)
    return replace(scope, labels=found)


def _skip_declaration(reader: PrismReader) -> bool:
    if reader.sees("const", "rate", "prob"):
        parse_prism_constant(reader)
        return True
    if reader.sees("label"):
        parse_prism_label(reader)
        return True
    return False


def _skip_question(reader: PrismReader) -> None:
    reader.advance()
    while reader.token.kind != "end" and not reader.takes(";") and not _starts_question(reader):
        reader.advance()


def _starts_question(reader: PrismReader) -> bool:
    """Is this the first word of a line, and may a question begin with it? Semicolons may be left out."""
    place = reader.token.place
    line = place.text[place.text.rfind("\n", 0, place.offset) + 1 : place.offset]
    return not line.strip() and (reader.token.kind == "quoted" or reader.sees(*_FIRST_WORDS))


def declared_constants(text: str) -> dict[str, PrismPlace]:
    """The names of the constants that a text of questions declares."""
    reader = PrismReader(text)
    found: dict[str, PrismPlace] = {}
    while reader.token.kind != "end":
        if reader.sees("const", "rate", "prob"):
            constant = parse_prism_constant(reader)
            found[constant.name] = constant.place
        else:
            reader.advance()
    return found
