"""A shield as a Python module that needs nothing but Python.

What runs in every step is one function without calls: Python computes with local variables and literal
numbers faster than with names of a module, and calls cost more than the products of a small barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import float_info
from textwrap import fill

from surefoot.compile.source.guard import Guard, GuardRule, comment
from surefoot.compile.source.listing import Listing
from surefoot.problem.term import FALSE

_WORDS = {"and": "and", "or": "or", "not": "not ", "true": "True", "false": "False"}
_HEAD = '''"""A shield for `{name}`: proposed controls are used where they are seen to lead into a safe set.

    applied, intervened = step(state, proposed)

state: {state}
proposed, applied: {controls}

intervened
  0  the proposed controls, clipped to their ends, are applied
  1  they are not seen to lead into a safe set, or are no numbers: the program decides
  2  the same, and the state is in no safe set, nothing is promised: the nearest rule (smallest barrier)
     decides; if a value of the state is no finite number, or nothing finite is computed, the controls are
     {rest}

Everything is computed in float64 in the order written.
"""

from math import isfinite


def step(state, proposed):
    try:
        {states} = state
        {proposed} = proposed
{other}
{converted}
    except ValueError:
        raise ValueError("{counts}, all of them numbers") from None
{total}
    if total - total != 0.0:  # one of them is not finite, or the sum is too large
{finite_state}
            return {rest_tuple}, 2
{finite_proposed}
            return program({arguments})
'''


def python_source(guard: Guard) -> str:
    """The text of the module."""
    states, controls = _states(guard), _controls(guard)
    both = [*states, *controls]
    head = _HEAD.format(
        name=comment(guard.name),
        state=comment(", ".join(guard.variables)),
        controls=comment(", ".join(name for name, _, _ in guard.controls)),
        rest=", ".join(map(repr, guard.at_rest())),
        states=_several(states),
        proposed=_several(controls),
        other=_wrapped(8, "if ", " or ".join(f"type({name}) is not float" for name in both), ":"),
        converted="\n".join(f"            {name} = float({name})" for name in both),
        counts=f"{len(states)} state values and {len(controls)} controls",
        total=_wrapped(4, "total = ", " + ".join(both)),
        finite_state=_wrapped(8, "if ", f"not ({_finite(states)})", ":"),
        finite_proposed=_wrapped(8, "if ", f"not ({_finite(controls)})", ":"),
        rest_tuple=_rest(guard),
        arguments=", ".join(states),
    )
    return "\n".join([head + _permitted(guard), "", _program(guard), "", _nearest(guard)])


def _states(guard: Guard) -> list[str]:
    return [f"x{i}" for i in range(len(guard.variables))]


def _controls(guard: Guard) -> list[str]:
    return [f"u{i}" for i in range(len(guard.controls))]


def _rest(guard: Guard) -> str:
    return _several([repr(value) for value in guard.at_rest()])


def _several(texts: Sequence[str]) -> str:
    """As a tuple."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _finite(names: Sequence[str]) -> str:
    return " and ".join(f"isfinite({name})" for name in names) or "True"


def _listing(guard: Guard) -> Listing:
    names = {name: f"x{i}" for i, name in enumerate(guard.variables)}
    names |= {name: f"u{i}" for i, (name, _, _) in enumerate(guard.controls)}
    return Listing(names.__getitem__, repr)


def _wrapped(indent: int, start: str, text: str, end: str = "") -> str:
    space = " " * indent
    whole = f"{space}{start}{text}{end}"
    if len(whole) <= 100:
        return whole
    inner = space + " " * 4
    body = fill(text, 92, initial_indent=inner, subsequent_indent=inner, break_long_words=False)
    return f"{space}{start}(\n{body}\n{space}){end}"


def _named(listing: Listing, indent: int) -> list[str]:
    return [_wrapped(indent, f"t{i} = ", listing.shown(i, whole=True)) for i in listing.named()]


def _clipped(guard: Guard, indent: int) -> list[str]:
    lines = []
    for i, (_, low, high) in enumerate(guard.controls):
        for sign, end in ((">", low), ("<", high)):
            if end is not None:
                lines += [f"if {end!r} {sign} u{i}:", f"    u{i} = {end!r}"]
    return [" " * indent + line for line in lines]


def _permitted(guard: Guard) -> str:
    """The end of `step`: are the clipped controls seen to lead into a set?"""
    lines = []
    if guard.permits != FALSE:
        listing = _listing(guard)
        found = listing.told(listing.condition(guard.permits), _WORDS)
        lines += [*_clipped(guard, 4), *_named(listing, 4), _wrapped(4, "if ", found, ":")]
        lines.append(f"        return {_several(_controls(guard))}, 0")
    return "\n".join([*lines, f"    return program({', '.join(_states(guard))})", ""])


def _program(guard: Guard) -> str:
    arguments = ", ".join(_states(guard))
    lines = [f"def program({arguments}):", '    """The first rule in whose set the state is decides."""']
    for rule in guard.rules:
        listing = _listing(guard)
        found = listing.told(listing.condition(rule.when), _WORDS)
        lines += [*_named(listing, 4), _wrapped(4, "if ", found, ":")]
        lines += [*_decided(guard, rule, 8), f"        return {_several(_controls(guard))}, 1"]
    return "\n".join([*lines, f"    return nearest({arguments})", ""])


def _decided(guard: Guard, rule: GuardRule, indent: int) -> list[str]:
    """What the rule says, clipped."""
    listing = _listing(guard)
    texts = [listing.shown(place) for place in [listing.used(term) for term in rule.then]]
    lines = _named(listing, indent)
    lines += [_wrapped(indent, f"u{i} = ", text) for i, text in enumerate(texts)]
    return [*lines, *_clipped(guard, indent)]


def _nearest(guard: Guard) -> str:
    arguments = ", ".join(_states(guard))
    lines = [
        f"def nearest({arguments}):",
        '    """The state is in no set: the rule with the smallest gap."""',
    ]
    lines += [
        f"    {name} = {value!r}" for name, value in zip(_controls(guard), guard.at_rest(), strict=True)
    ]
    lines.append(f"    least = {float_info.max!r}")
    for rule in guard.rules:
        listing = _listing(guard)
        place = listing.used(rule.gap)
        text = listing.shown(place)
        lines += [*_named(listing, 4), _wrapped(4, "gap = ", text), "    if gap < least:"]
        lines += ["        least = gap", *_decided(guard, rule, 8)]
    lines += [
        f"    if not ({_finite(_controls(guard))}):",
        f"        return {_rest(guard)}, 2",
        f"    return {_several(_controls(guard))}, 2",
        "",
    ]
    return "\n".join(lines)
