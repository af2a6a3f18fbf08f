"""Which inputs and outputs of the network are meant: `free=NAME,…`, `keep=NAME,…` or `auto`.

A name is that of a variable or window that the network reads, may contain `*`, or is `input[3]` (counted from
0) or `output[0]`. Behind it a wider range may stand: `free=send_ratio@0:1000`. `keep` frees all other inputs,
`auto` as many as a proof permits; a name with a range, as in `auto=send_ratio@0:1000` or
`keep=x,send_ratio@0:1000`, says there in which range an input is freed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.problem.problem import Problem
from surefoot.reductions.abstraction import FreedValues, inputs_except, network_policy
from surefoot.term.decimal_literals import read_number
from surefoot.term.interval import Span
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import output_index
from surefoot.term.term import Var

_INPUT = re.compile(r"input\[(\d+)\]\Z")
_NUMBER = re.compile(r"(-?)(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:/(\d+))?\Z")


@dataclass(frozen=True, slots=True)
class AbstractionRequest:
    """What to free; None: as much as a proof permits, inputs in these ranges."""

    freed: FreedValues | None
    ranges: Mapping[int, Span] = field(default_factory=dict)


def parse_abstraction_request(text: str, problem: Problem) -> AbstractionRequest:
    """What `free=…`, `keep=…` or `auto` asks for."""
    how, equals, names = text.partition("=")
    if how not in ("free", "keep", "auto") or ((how != "auto" or equals) and not names.strip()):
        fix = "write keep=NAME,… or free=NAME,… or auto"
        raise InvalidProblem(f"`{text}` does not say what to abstract from", fix=fix)
    inputs: set[int] = set()
    outputs: set[int] = set()
    ranges: dict[int, Span] = {}
    output_ranges: dict[int, Span] = {}
    for part in names.split(",") if names else ():
        name, at, span = (p.strip() for p in part.partition("@"))
        output = output_index(name)
        if output is not None and how != "free":
            raise InvalidProblem("outputs are kept unless they are freed", fix=f"leave `{name}` out")
        if output is not None:
            outputs.add(output)
            output_ranges |= {output: _parse_span(span)} if at else {}
            continue
        found = named_inputs(name, problem)
        ranges |= dict.fromkeys(found, _parse_span(span)) if at else {}
        inputs |= set() if at and how == "keep" else found
    match how:
        case "free":
            return AbstractionRequest(
                FreedValues(frozenset(inputs), frozenset(outputs), ranges, output_ranges)
            )
        case "keep":
            freed = inputs_except(problem, inputs)
            return AbstractionRequest(
                FreedValues(freed, ranges={i: s for i, s in ranges.items() if i in freed})
            )
        case _:
            return AbstractionRequest(None, ranges)


def named_inputs(name: str, problem: Problem) -> set[int]:
    """The inputs that a name stands for."""
    observe = network_policy(problem).observe
    if (index := _INPUT.match(name)) is not None:
        if int(index[1]) >= len(observe):
            raise InvalidProblem(f"there is no {name}: the network has {len(observe)} inputs")
        return {int(index[1])}
    entry = re.compile(re.escape(name) + r"_\d+\Z")
    known = [t.name if isinstance(t, Var) else "" for t in observe]
    found = {i for i, own in enumerate(known) if own and (fnmatchcase(own, name) or entry.match(own))}
    if not found:
        fix = did_you_mean(name, dict.fromkeys(n for n in known if n))
        raise InvalidProblem(f"the network reads no `{name}`", fix=f"{fix}; or input[0], input[1], …")
    return found


def _input_label(index: int, problem: Problem) -> str:
    """How an input is called: its variable, or its number with the term that it reads."""
    term = network_policy(problem).observe[index]
    return term.name if isinstance(term, Var) else f"input[{index}] (`{show_term(term)}`)"


def describe_inputs(indices: tuple[int, ...], problem: Problem) -> str:
    """The names of inputs; all entries of a window that are in a row as one: `send_ratio_5..9`."""
    runs: list[tuple[str, int, int]] = []
    others: list[str] = []
    for index in indices:
        name = _input_label(index, problem)
        stem, _, number = name.rpartition("_")
        if not stem or not number.isdecimal():
            others.append(name)
            continue
        position = next((i for i, r in enumerate(runs) if r[0] == stem and r[2] == int(number) - 1), None)
        if position is None:
            runs.append((stem, int(number), int(number)))
        else:
            runs[position] = (stem, runs[position][1], int(number))
    spans = (f"{s}_{a}" if a == b else f"{s}_{a}..{b}" for s, a, b in runs)
    return ", ".join((*others, *spans)) or "nothing"


def _parse_span(text: str) -> Span:
    low, colon, high = (p.strip() for p in text.partition(":"))
    numbers = [_NUMBER.match(end) for end in (low, high)]
    if not colon or not all(numbers):
        raise InvalidProblem(f"`{text}` is not a range", fix="write NAME@LOW:HIGH, such as x@-1:1")
    ends = [_read_fraction(m) for m in numbers if m is not None]
    if ends[0] > ends[1]:
        raise InvalidProblem(f"the range `{text}` is empty", fix="give the smaller number first")
    return Span(ends[0], ends[1])


def _read_fraction(found: re.Match[str]) -> Fraction:
    size = Fraction(read_number(found[2])) / int(found[3] or 1)
    return -size if found[1] else size
