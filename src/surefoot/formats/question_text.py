"""A question as text, in surefoot's own syntax or in PRISM's, about a model of any format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from surefoot.errors import SurefootError, Unsupported
from surefoot.formats.prism.questions import PrismQuestion, QuestionScope, parse_prism_question
from surefoot.formats.prism.terms import PrismScope
from surefoot.problem.environment import Environment
from surefoot.problem.property import Expected, Probability, Property
from surefoot.problem.property_parser import parse_property
from surefoot.term.reserved_names import DEADLOCKED, location_key, location_name
from surefoot.term.term import Const, Term, Var
from surefoot.term.types import BOOL, INT

_OWN_WORDS = ("never", "always", "eventually", "recurs", "within", "at", "Emin", "Emax")
_PRISM_WORDS = ("R", "Rmin", "Rmax", "S", "A", "filter", "multi")


def parse_question_text(
    text: str,
    *,
    names: Sequence[str],
    constants: Mapping[str, Term],
    hidden: Mapping[str, str] | None = None,
    prism: QuestionScope,
) -> PrismQuestion:
    """The question that a text stands for; `prism` says what it may name in PRISM's syntax.

    A text that could be in both syntaxes is read as PRISM would about a PRISM model, and as surefoot would
    about any other.
    """

    def own() -> PrismQuestion:
        return PrismQuestion(parse_property(text, names=names, constants=constants, hidden=hidden))

    match _syntax_of(text):
        case "own":
            return own()
        case "prism":
            return parse_prism_question(text, prism)

    def other() -> PrismQuestion:
        return parse_prism_question(text, prism)

    first, second = (own, other) if prism.kind is None else (other, own)
    try:
        return first()
    except SurefootError as error:
        if first is other and isinstance(error, Unsupported):
            raise  # it is understood, and the other syntax may mean something else by it
        if first is own and "[" not in text:
            raise  # a bare condition, which PRISM asks about the starts alone, and its writer may mean always
        try:
            found = second()
        except SurefootError as later:
            refused = isinstance(later, Unsupported) and not isinstance(error, Unsupported)
            raise (later if refused else error) from None
        asked = found.asked
        if prism.chain and isinstance(asked, Probability | Expected) and asked.optimise is None:
            asked = replace(asked, optimise="max")  # as in PRISM's syntax: all strategies have the same value
        return replace(found, asked=asked)


def _syntax_of(text: str) -> str:
    """`own`, `prism`, or nothing where the first words do not tell."""
    first, _, rest = text.lstrip().partition(" ")
    word = "".join(c for i, c in enumerate(first) if first[: i + 1].isidentifier())
    rest = (first[len(word) :] + rest).lstrip()
    if word in _OWN_WORDS or (word == "E" and not rest.startswith("[")):
        return "own"
    return "prism" if word in _PRISM_WORDS or word == "E" or text.lstrip().startswith("<<") else ""


def own_question_scope(
    environment: Environment, names: Mapping[str, Term], *, chain: bool = False
) -> QuestionScope:
    """What questions in PRISM's syntax may name in a model that is not PRISM's: its names are labels too."""
    kinds = {v.name: v.kind for v in environment.variables}
    kinds |= {location_key(c.name): INT for c in environment.components if len(c.locations) > 1}
    kinds |= {location_name(c.name, place): BOOL for c in environment.components for place in c.locations}
    scope = PrismScope(
        kinds=kinds | {DEADLOCKED: BOOL},
        names={name: name for name in (*kinds, DEADLOCKED)},
        constants={n: t for n, t in names.items() if isinstance(t, Const)},
        formulas={},
        labels={"init": environment.initial, "deadlock": Var(DEADLOCKED), **names},
        terms={n: t for n, t in names.items() if not isinstance(t, Const)},
    )
    return QuestionScope(scope, None, (), any_reward=True, chain=chain)


def plain_question(found: PrismQuestion) -> Property:
    """The property of a question about any model: instant rewards are those of PRISM models."""
    if found.instant is not None:
        raise Unsupported("rewards of one instant are only read of PRISM models", fix="ask C<=k")
    return found.asked
