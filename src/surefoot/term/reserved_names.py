"""Reserved names that properties may use beside state variables, and how they are spelled.

`output[3]`            raw network output, a real number
`chosen(accelerate)`   the policy picks this action in this state, or may draw it
`at(car, drive)`       component `car` is in location `drive`
`stalled`              the policy picks an action that is not enabled, or may draw one
`deadlocked`           no transition is enabled at all
"""

from __future__ import annotations

import re

STALLED, DEADLOCKED = "stalled", "deadlocked"
_OUTPUT = re.compile(r"output\[(\d+)\]\Z")
_CHOSEN = re.compile(r"chosen\((.+)\)\Z", re.DOTALL)
_AT = re.compile(r"at\((.+), (.+)\)\Z", re.DOTALL)


def network_output_name(index: int) -> str:
    return f"output[{index}]"


def output_index(name: str) -> int | None:
    return int(m[1]) if (m := _OUTPUT.match(name)) else None


def chosen_name(action: str) -> str:
    return f"chosen({action})"


def chosen_action(name: str) -> str | None:
    return m[1] if (m := _CHOSEN.match(name)) else None


def location_name(component: str, location: str) -> str:
    return f"at({component}, {location})"


def location_parts(name: str) -> tuple[str, str] | None:
    return (m[1], m[2]) if (m := _AT.match(name)) else None


def location_key(component: str) -> str:
    """The key under which a state holds the index of a component's location."""
    return f"@{component}"


def is_about_acting(name: str) -> bool:
    """Does it say what the policy picks, or whether anything can be picked?"""
    return name in (STALLED, DEADLOCKED) or chosen_action(name) is not None


def is_reserved(name: str) -> bool:
    return name in (STALLED, DEADLOCKED) or any(p.match(name) for p in (_OUTPUT, _CHOSEN, _AT))


def fresh_name(name: str, taken: set[str]) -> str:
    """The name itself, or the first of name.1, name.2, … that is not taken; it is taken from now on."""
    number, candidate = 0, name
    while candidate in taken:
        number += 1
        candidate = f"{name}.{number}"
    taken.add(candidate)
    return candidate
