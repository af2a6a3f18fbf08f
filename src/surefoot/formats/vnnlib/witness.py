"""Witnesses as the competition writes them: `sat`, then `((X_0 v) … (Y_0 v) …)`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.errors import InvalidProblem
from surefoot.formats.vnnlib.sexpr import (
    SExpression,
    error_at_offset,
    line_and_column,
    quote_vnnlib_word,
    top_level_lists,
)
from surefoot.formats.vnnlib.specification import is_input, vnnlib_input_name, vnnlib_output_name
from surefoot.term.decimal_literals import read_number
from surefoot.term.float32 import round_to_float32

_NUMBER = re.compile(r"(-?)((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\Z")
_ANSWER = re.compile(r"\s*sat\b")


@dataclass(frozen=True, slots=True)
class VnnlibWitness:
    """Values that are float32 numbers."""

    inputs: tuple[float, ...]
    outputs: tuple[float, ...]


def witness_text(x: Sequence[float], y: Sequence[float]) -> str:
    """`sat` and the values, written so that they read back to the same float32 (and the same float64)."""
    named = [(vnnlib_input_name(i), float(v)) for i, v in enumerate(x)]
    named += [(vnnlib_output_name(i), float(v)) for i, v in enumerate(y)]
    for name, value in named:
        if not math.isfinite(value) or float(round_to_float32(value)) != value:
            raise InvalidProblem(f"{name} = {value!r} is not a float32 number")
    pairs = "\n ".join(f"({name} {value!r})" for name, value in named)
    return f"sat\n({pairs})\n"


def read_witness(text: str) -> VnnlibWitness:
    """A witness with or without the word `sat` and the parentheses around all values, rounded to float32."""
    answer = _ANSWER.match(text)
    body = text if answer is None else " " * answer.end() + text[answer.end() :]
    values: dict[str, float] = {}
    for node in top_level_lists(body, ()):
        pairs = node.content if node.content and isinstance(node.content[0], SExpression) else ()
        nested = pairs and isinstance(pairs[0], SExpression) and isinstance(pairs[0].content, tuple)
        for pair in pairs if nested else (node,):
            assert isinstance(pair, SExpression)
            name, value = _parse_value(body, pair)
            if name in values:
                raise error_at_offset(
                    body, pair.offset, f"{quote_vnnlib_word(name)} has two values", "remove one of them"
                )
            values[name] = value
    inputs = sum(1 for name in values if is_input(name))
    order = [vnnlib_input_name(i) for i in range(inputs)]
    order += [vnnlib_output_name(i) for i in range(len(values) - inputs)]
    for name in order:
        if name not in values:
            raise InvalidProblem(
                f"the witness has no value for {name}", where=line_and_column(body, len(body))
            )
    numbers = [values[name] for name in order]
    return VnnlibWitness(tuple(numbers[:inputs]), tuple(numbers[inputs:]))


def _parse_value(text: str, pair: SExpression) -> tuple[str, float]:
    words = [n.content for n in pair.content if isinstance(n, SExpression)]
    if len(words) != 2 or not isinstance(words[0], str) or not isinstance(words[1], str):
        raise error_at_offset(text, pair.offset, "cannot read this value", "write (X_0 0.25)")
    number = _NUMBER.match(words[1])
    if number is None:
        raise error_at_offset(
            text, pair.offset, f"{quote_vnnlib_word(words[1])} is not a number", "write (X_0 0.25)"
        )
    try:
        value = float(round_to_float32(read_number(number[2])))
    except InvalidProblem as error:
        raise error.at(line_and_column(text, pair.offset)) from None
    if not np.isfinite(value):
        raise error_at_offset(
            text, pair.offset, f"{quote_vnnlib_word(words[1])} is out of the range of float32"
        )
    return words[0], -value if number[1] else value
