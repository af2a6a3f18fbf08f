"""A shield as a Python module that needs nothing but Python."""

from __future__ import annotations

from collections.abc import Callable
from sys import float_info
from textwrap import fill

from surefoot.compile.source.guard import Guard, comment
from surefoot.compile.source.listing import Listing
from surefoot.problem.term import Term

_WORDS = {"and": "and", "or": "or", "not": "not ", "true": "True", "false": "False"}
_HEAD = '''"""A shield for `{name}`: proposed controls are used where they are seen to lead into a safe set.

    applied, intervened = step(state, proposed)

state: {state}
proposed, applied: {controls}

intervened
  0  the proposed controls, clipped to their ends, are applied
  1  they are not seen to lead into a safe set, or are no numbers: the program decides
  2  the state is in no safe set, nothing is promised: the rule whose set is nearest (smallest barrier)
     decides; if a value of the state is no finite number, or nothing finite is computed, the controls are
     {rest}

Everything is computed in float64 in the order written.
"""

from math import isfinite
'''


def python_source(guard: Guard) -> str:
    """The text of the module."""
    numbers: dict[str, str] = {}

    def number(value: float) -> str:
        return numbers.setdefault(value.hex(), f"C{len(numbers)}")

    parts = [_condition("permitted", guard.permits, guard, number, proposed=True)]
    for index, rule in enumerate(guard.rules):
        parts.append(_condition(f"applies_{index}", rule.when, guard, number))
        parts.append(_values(f"gap_{index}", (rule.gap,), guard, number))
        parts.append(_values(f"rule_{index}", rule.then, guard, number))
    parts.append(_step(guard, number))
    head = _HEAD.format(
        name=comment(guard.name),
        state=comment(", ".join(guard.variables)),
        controls=comment(", ".join(name for name, _, _ in guard.controls)),
        rest=", ".join(map(repr, guard.at_rest())),
    )
    constants = "\n".join(f'{name} = float.fromhex("{text}")' for text, name in numbers.items())
    return "\n".join([head, constants, "", "", "\n\n".join(parts)])


def _names(guard: Guard) -> dict[str, str]:
    named = {name: f"x{i}" for i, name in enumerate(guard.variables)}
    return named | {name: f"u{i}" for i, (name, _, _) in enumerate(guard.controls)}


def _listing(guard: Guard, number: Callable[[float], str]) -> Listing:
    return Listing(lambda name: _names(guard)[name], number)


def _head(name: str, guard: Guard, proposed: bool) -> list[str]:
    lines = [f"def {name}(x, u):" if proposed else f"def {name}(x):"]
    lines.append(f"    {_several([f'x{i}' for i in range(len(guard.variables))])} = x")
    if proposed:
        lines.append(f"    {_several([f'u{i}' for i in range(len(guard.controls))])} = u")
    return lines


def _several(texts: list[str]) -> str:
    return f"({', '.join(texts)},)" if len(texts) != 1 else f"({texts[0]},)"


def _wrapped(start: str, text: str) -> str:
    whole = f"    {start}{text}"
    if len(whole) <= 100:
        return whole
    body = fill(text, 92, initial_indent=" " * 8, subsequent_indent=" " * 8, break_long_words=False)
    return f"    {start}(\n{body}\n    )"


def _named(listing: Listing) -> list[str]:
    return [_wrapped(f"t{i} = ", listing.shown(i, whole=True)) for i in listing.named()]


def _condition(
    name: str, term: Term, guard: Guard, number: Callable[[float], str], proposed: bool = False
) -> str:
    listing = _listing(guard, number)
    found = listing.condition(term)
    return "\n".join(
        [
            *_head(name, guard, proposed),
            *_named(listing),
            _wrapped("return ", listing.told(found, _WORDS)),
            "",
        ]
    )


def _values(name: str, terms: tuple[Term, ...], guard: Guard, number: Callable[[float], str]) -> str:
    listing = _listing(guard, number)
    places = [listing.used(t) for t in terms]
    texts = [listing.shown(p) for p in places]
    return "\n".join([*_head(name, guard, False), *_named(listing), _wrapped("return ", _several(texts)), ""])


def _finite(names: list[str]) -> str:
    return " and ".join(f"isfinite({name})" for name in names)


def _step(guard: Guard, number: Callable[[float], str]) -> str:
    lines = ["def clipped(u):", f"    {_several([f'u{i}' for i in range(len(guard.controls))])} = u"]
    for i, (_, low, high) in enumerate(guard.controls):
        if low is not None:
            lines += [f"    if {number(low)} > u{i}:", f"        u{i} = {number(low)}"]
        if high is not None:
            lines += [f"    if {number(high)} < u{i}:", f"        u{i} = {number(high)}"]
    lines += [f"    return {_several([f'u{i}' for i in range(len(guard.controls))])}", "", ""]
    states = [f"x{i}" for i in range(len(guard.variables))]
    controls = [f"u{i}" for i in range(len(guard.controls))]
    lines += [
        "def step(state, proposed):",
        "    x, u = tuple(map(float, state)), tuple(map(float, proposed))",
        f"    if len(x) != {len(guard.variables)} or len(u) != {len(guard.controls)}:",
        f'        raise ValueError("{len(guard.variables)} state values and {len(guard.controls)} controls")',
        f"    rest = {_several([number(v) for v in guard.at_rest()])}",
        f"    {_several(states)} = x",
        f"    {_several(controls)} = u",
        f"    if not ({_finite(states)}):",
        "        return rest, 2",
        f"    if {_finite(controls)}:",
        "        u = clipped(u)",
        "        if permitted(x, u):",
        "            return u, 0",
    ]
    for i in range(len(guard.rules)):
        lines += [f"    if applies_{i}(x):", f"        return clipped(rule_{i}(x)), 1"]
    lines += [f"    nearest, least = rest, {number(float_info.max)}"]
    for i in range(len(guard.rules)):
        lines += [
            f"    (gap,) = gap_{i}(x)",
            "    if gap < least:",
            f"        nearest, least = clipped(rule_{i}(x)), gap",
        ]
    lines += ["    return (nearest if all(map(isfinite, nearest)) else rest), 2", ""]
    return "\n".join(lines)
