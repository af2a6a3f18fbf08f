"""A shield as a Python module that needs nothing but Python.

What runs in every step is one function without calls: Python computes with local variables and literal
numbers faster than with names of a module, and calls cost more than the products of a small barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import float_info
from textwrap import fill

from surefoot.shields.export.guard import GuardRule, ShieldGuard, comment_text
from surefoot.term.operation_listing import OperationListing
from surefoot.term.term import FALSE

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

Everything is computed in float64 in the order written. What is not so many numbers is a ValueError.
"""

from math import isfinite


def step(state, proposed):
    try:
        {states} = state
        {proposed} = proposed
{other}
{texts}
                raise ValueError
{converted}
    except (TypeError, ValueError):
        raise ValueError("{counts}, all of them numbers") from None
{total}
    if total - total != 0.0:  # one of them is not finite, or the sum is too large
{finite_state}
            return {rest_tuple}, 2
{finite_proposed}
            return program({arguments})
'''


def python_source(guard: ShieldGuard) -> str:
    """The text of the module."""
    states, controls = _state_names(guard), _control_names(guard)
    both = [*states, *controls]
    head = _HEAD.format(
        name=comment_text(guard.name),
        state=comment_text(", ".join(guard.variables)),
        controls=comment_text(", ".join(name for name, _, _ in guard.controls)),
        rest=", ".join(map(repr, guard.at_rest())),
        states=_tuple_text(states),
        proposed=_tuple_text(controls),
        other=_wrap_statement(8, "if ", " or ".join(f"type({name}) is not float" for name in both), ":"),
        converted="\n".join(f"            {name} = float({name})" for name in both),
        texts=_wrap_statement(
            12, "if str in ", f"({', '.join(f'type({n})' for n in (*both, 'state', 'proposed'))})", ":"
        ),
        counts=f"{len(states)} state values and {len(controls)} controls",
        total=_wrap_statement(4, "total = ", " + ".join(both)),
        finite_state=_wrap_statement(8, "if ", f"not ({_finite_test(states)})", ":"),
        finite_proposed=_wrap_statement(8, "if ", f"not ({_finite_test(controls)})", ":"),
        rest_tuple=_rest_tuple(guard),
        arguments=", ".join(states),
    )
    return "\n".join([head + _permission_text(guard), "", _program_text(guard), "", _nearest_text(guard)])


def _state_names(guard: ShieldGuard) -> list[str]:
    return [f"x{i}" for i in range(len(guard.variables))]


def _control_names(guard: ShieldGuard) -> list[str]:
    return [f"u{i}" for i in range(len(guard.controls))]


def _rest_tuple(guard: ShieldGuard) -> str:
    return _tuple_text([repr(value) for value in guard.at_rest()])


def _tuple_text(texts: Sequence[str]) -> str:
    """As a tuple."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _finite_test(names: Sequence[str]) -> str:
    return " and ".join(f"isfinite({name})" for name in names) or "True"


def _python_listing(guard: ShieldGuard) -> OperationListing:
    names = {name: f"x{i}" for i, name in enumerate(guard.variables)}
    names |= {name: f"u{i}" for i, (name, _, _) in enumerate(guard.controls)}
    return OperationListing(names.__getitem__, repr)


def _wrap_statement(indent: int, start: str, text: str, end: str = "") -> str:
    space = " " * indent
    whole = f"{space}{start}{text}{end}"
    if len(whole) <= 100:
        return whole
    inner = space + " " * 4
    body = fill(text, 92, initial_indent=inner, subsequent_indent=inner, break_long_words=False)
    return f"{space}{start}(\n{body}\n{space}){end}"


def _named_lines(listing: OperationListing, indent: int) -> list[str]:
    return [
        _wrap_statement(indent, f"t{i} = ", listing.render_value(i, whole=True))
        for i in listing.named_places()
    ]


def _clip_lines(guard: ShieldGuard, indent: int) -> list[str]:
    lines = []
    for i, (_, low, high) in enumerate(guard.controls):
        for sign, end in ((">", low), ("<", high)):
            if end is not None:
                lines += [f"if {end!r} {sign} u{i}:", f"    u{i} = {end!r}"]
    return [" " * indent + line for line in lines]


def _permission_text(guard: ShieldGuard) -> str:
    """The end of `step`: are the clipped controls seen to lead into a set?"""
    lines = []
    if guard.permits != FALSE:
        listing = _python_listing(guard)
        found = listing.render_condition(listing.condition(guard.permits), _WORDS)
        lines += [*_clip_lines(guard, 4), *_named_lines(listing, 4), _wrap_statement(4, "if ", found, ":")]
        lines.append(f"        return {_tuple_text(_control_names(guard))}, 0")
    return "\n".join([*lines, f"    return program({', '.join(_state_names(guard))})", ""])


def _program_text(guard: ShieldGuard) -> str:
    arguments = ", ".join(_state_names(guard))
    lines = [f"def program({arguments}):", '    """The first rule in whose set the state is decides."""']
    for rule in guard.rules:
        listing = _python_listing(guard)
        found = listing.render_condition(listing.condition(rule.when), _WORDS)
        lines += [*_named_lines(listing, 4), _wrap_statement(4, "if ", found, ":")]
        lines += [*_rule_lines(guard, rule, 8), f"        return {_tuple_text(_control_names(guard))}, 1"]
    return "\n".join([*lines, f"    return nearest({arguments})", ""])


def _rule_lines(guard: ShieldGuard, rule: GuardRule, indent: int) -> list[str]:
    """What the rule says, clipped."""
    listing = _python_listing(guard)
    texts = [listing.render_value(place) for place in [listing.use_term(term) for term in rule.then]]
    lines = _named_lines(listing, indent)
    lines += [_wrap_statement(indent, f"u{i} = ", text) for i, text in enumerate(texts)]
    return [*lines, *_clip_lines(guard, indent)]


def _nearest_text(guard: ShieldGuard) -> str:
    arguments = ", ".join(_state_names(guard))
    lines = [
        f"def nearest({arguments}):",
        '    """The state is in no set: the rule with the smallest gap."""',
    ]
    lines += [
        f"    {name} = {value!r}" for name, value in zip(_control_names(guard), guard.at_rest(), strict=True)
    ]
    lines.append(f"    least = {float_info.max!r}")
    for rule in guard.rules:
        listing = _python_listing(guard)
        place = listing.use_term(rule.gap)
        text = listing.render_value(place)
        lines += [*_named_lines(listing, 4), _wrap_statement(4, "gap = ", text), "    if gap < least:"]
        lines += ["        least = gap", *_rule_lines(guard, rule, 8)]
    lines += [
        f"    if not ({_finite_test(_control_names(guard))}):",
        f"        return {_rest_tuple(guard)}, 2",
        f"    return {_tuple_text(_control_names(guard))}, 2",
        "",
    ]
    return "\n".join(lines)
