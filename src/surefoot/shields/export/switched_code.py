"""A shield of actions over real variables as source code: the state after each action, and a test of a set.

Operations stand in the order of the terms, so that Python computes the bits of `term/evaluate.py` but for
elementary functions; the limits leave room for those of a platform, and for products that C adds at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.shields.export.guard import c_symbol, comment_text, find_export_obstacle
from surefoot.shields.switched.switched_shield import SwitchedShield, find_unbounded_rounding, row_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term
from surefoot.visible import make_visible

_PYTHON = '''"""A shield for `{name}`: which actions may be taken in a state, and what else to do.

    action, intervened = step(state, proposed)     # names of actions
    masks = action_masks(state)                    # one truth value per action, as MaskablePPO wants them

state: {state}
actions: {actions}
{promise}

intervened
  0  the state after the proposed action is seen to be in the set: it may be taken
  1  it is not: the program decides
  2  the state itself is not in the set, nothing is promised: likewise

What is no action, and a state that is not so many numbers, is a ValueError. All is computed in float64.
"""

from math import {functions}isfinite

STATE = {names}
ACTIONS = {labels}
_LIMITS = {limits}


def _power(x, n):
    value = x
    for _ in range(n - 1):
        value = value * x
    return value


def _heights({arguments}):
    return ({heights})

{maps}
_AFTER = ({after})


def _numbers(state):
    try:
        if isinstance(state, (dict, set, frozenset, str, bytes)):
            raise TypeError
        values = [float(v) for v in state]
        if len(values) != len(STATE):
            raise TypeError
    except (TypeError, ValueError):
        wanted = f"{{len(STATE)}} numbers in this order: {{', '.join(STATE)}}"
        raise ValueError(f"a state is {{wanted}}; not {{state!r:.80}}") from None
    return values


def known(state):
    """Is the state in the set?"""
    return _in_set(_numbers(state))


def _in_set(values):
    if not all(map(isfinite, values)):
        return False
    return all(low <= height <= high for height, (low, high) in zip(_heights(*values), _LIMITS))


def _leads_into(values, number):
    try:
        return all(map(isfinite, values)) and _in_set(_AFTER[number](*values))
    except (ArithmeticError, ValueError):
        return False


def _program(values):
    return {down} if _heights(*values)[0] >= {middle!r} else {up}


def action_masks(state):
    """Which actions are permitted, in the order of `ACTIONS`; that of the program always is."""
    values = _numbers(state)
    mask = [_leads_into(values, i) for i in range(len(ACTIONS))]
    mask[_program(values)] = True
    return mask


def step(state, proposed):
    """The action to take, and whether it is another than the proposed one."""
    if proposed not in ACTIONS:
        names = ", ".join(ACTIONS)
        raise ValueError(f"{{proposed!r:.80}} is no action; give the name of one: {{names}}")
    values = _numbers(state)
    number = ACTIONS.index(proposed)
    if not _in_set(values):
        return ACTIONS[_program(values)], 2
    if _leads_into(values, number):
        return proposed, 0
    return ACTIONS[_program(values)], 1
'''
_HEADER = """/* A shield for `{name}`: which actions may be taken in a state, and what else to do.
 *
 * state: {state}
 * actions, by number: {actions}
 * {promise}
 *
 * {symbol}_permitted returns 1 where an action may be taken, 0 where it may not or is none of these numbers.
 * {symbol}_step takes a state and the number of the action that somebody proposes. It always writes the
 * number of an action to take, and returns
 *   0  the state after the proposed action is seen to be in the set: it is taken
 *   1  it is not: the program decides
 *   2  the state itself is not in the set, nothing is promised: likewise
 *   3  there is no action of the proposed number: likewise
 */
#ifndef {macro}_H
#define {macro}_H

#define {macro}_STATES {states}
#define {macro}_ACTIONS {count}

int {symbol}_permitted(const double state[{macro}_STATES], int action);
int {symbol}_step(const double state[{macro}_STATES], int proposed, int *action);

#endif
"""
_C = """#include "{file}.h"

#include <math.h>

static const double limits[][2] = {{{limits}}};

{power}static void heights(const double *s, double *height)
{{
{heights}
}}

static int in_set(const double *s)
{{
    double height[{macro}_STATES];
    heights(s, height);
    for (int i = 0; i < {macro}_STATES; i++)
        if (!(height[i] >= limits[i][0] && height[i] <= limits[i][1]))
            return 0;
    return 1;
}}

static int after(const double *s, int action, double *t)
{{
    switch (action) {{
{maps}
    default:
        return 0;
    }}
    return 1;
}}

static int program(const double *s)
{{
    double height[{macro}_STATES];
    heights(s, height);
    return height[0] >= {middle} ? {down} : {up};
}}

int {symbol}_permitted(const double state[{macro}_STATES], int action)
{{
    double t[{macro}_STATES];
    if (action == program(state))
        return 1;
    return after(state, action, t) && in_set(t);
}}

int {symbol}_step(const double state[{macro}_STATES], int proposed, int *action)
{{
    double t[{macro}_STATES];
    *action = program(state);
    if (!in_set(state))
        return 2;
    if (proposed < 0 || proposed >= {macro}_ACTIONS)
        return 3;
    if (!(after(state, proposed, t) && in_set(t)))
        return 1;
    *action = proposed;
    return 0;
}}
"""
_C_POWER = """static double power(double x, int n)
{
    double value = x;
    for (int i = 1; i < n; i++)
        value *= x;
    return value;
}

"""
_FUNCTIONS = {
    Op.SIN: "sin", Op.COS: "cos", Op.ATAN: "atan", Op.TANH: "tanh", Op.SQRT: "sqrt",
}  # fmt: skip
_SIGNS = {Op.ADD: " + ", Op.SUB: " - ", Op.MUL: " * ", Op.DIV: " / "}


@dataclass(frozen=True, slots=True)
class _Language:
    """How a language spells what is not the same in both."""

    names: Mapping[str, str]
    smaller: str
    larger: str
    size: str
    power: str

    def write_term(self, whole: Term) -> str:
        """The term as an expression of doubles."""
        return fold_term(whole, self._leaf, self._operation)

    def _leaf(self, part: Leaf) -> str:
        if isinstance(part, Var):
            return self.names[part.name]
        text = repr(float(part.value))
        return f"({text})" if text.startswith("-") else text

    def _operation(self, term: Apply, parts: list[str]) -> str:
        if term.op in _SIGNS:
            return f"({_SIGNS[term.op].join(parts)})"
        if term.op in _FUNCTIONS:
            return f"{_FUNCTIONS[term.op]}({parts[0]})"
        match term.op, term.args:
            case Op.NEG, _:
                return f"(-{parts[0]})"
            case Op.ABS, _:
                return f"{self.size}({parts[0]})"
            case (Op.MIN | Op.MAX) as op, _:
                name, found = self.smaller if op is Op.MIN else self.larger, parts[0]
                for part in parts[1:]:
                    found = f"{name}({found}, {part})"
                return found
            case Op.POW, (_, Const(int() as exponent)) if exponent >= 1:
                return f"{self.power}({parts[0]}, {exponent})"
        raise Unsupported(f"source code of `{term.op.value}` is not written")


def python_switched(shield: SwitchedShield, promise: str) -> str:
    """The text of a Python module that needs nothing but Python."""
    _refuse_far_steps(shield)
    system, names = shield.system, [f"s{i}" for i in range(len(shield.system.variables))]
    spell = _Language(dict(zip(system.variables, names, strict=True)), "min", "max", "abs", "_power")
    arguments = ", ".join(names)
    maps = []
    for number, action in enumerate(system.actions):
        values = ", ".join(spell.write_term(system.maps[action][v]) for v in system.variables)
        maps.append(f"\ndef _after_{number}({arguments}):\n    return ({values},)\n")
    heights = ", ".join(spell.write_term(row_term(row, system.variables)) for row in shield.found.rows)
    body = "".join(maps)
    used = [name for name in _FUNCTIONS.values() if f"{name}(" in body]
    return _PYTHON.format(
        name=comment_text(shield.problem.name),
        promise=comment_text(promise),
        state=comment_text(", ".join(system.variables)),
        actions=comment_text(", ".join(system.actions)),
        functions="".join(f"{name}, " for name in used),
        names=make_visible(repr(system.variables)),
        labels=make_visible(repr(system.actions)),
        limits=tuple((float(low), float(high)) for low, high in shield.limits),
        arguments=arguments,
        heights=f"{heights},",
        maps=body,
        after=", ".join(f"_after_{i}" for i in range(len(system.actions))) + ",",
        middle=_middle(shield),
        down=system.actions.index(shield.found.down),
        up=system.actions.index(shield.found.up),
    )


def c_switched(shield: SwitchedShield, promise: str, file: str) -> tuple[str, str]:
    """Header and source; `file` is their name without `.h` and `.c`, and makes the names in them."""
    _refuse_far_steps(shield)
    system, symbol = shield.system, c_symbol(file)
    names = {name: f"s[{i}]" for i, name in enumerate(system.variables)}
    spell = _Language(names, "fmin", "fmax", "fabs", "power")
    words = {"symbol": symbol, "macro": symbol.upper(), "file": file}
    header = _HEADER.format(
        name=comment_text(shield.problem.name),
        promise=comment_text(promise),
        state=comment_text(", ".join(system.variables)),
        actions=comment_text(", ".join(f"{i} {name}" for i, name in enumerate(system.actions))),
        states=len(system.variables),
        count=len(system.actions),
        **words,
    )
    maps = []
    for number, action in enumerate(system.actions):
        lines = [
            f"        t[{i}] = {spell.write_term(system.maps[action][v])};"
            for i, v in enumerate(system.variables)
        ]
        maps.append("\n".join([f"    case {number}:", *lines, "        break;"]))
    heights = (
        f"    height[{i}] = {spell.write_term(row_term(row, system.variables))};"
        for i, row in enumerate(shield.found.rows)
    )
    body = "\n".join(maps)
    source = _C.format(
        power=_C_POWER if "power(" in body else "",
        limits=", ".join(f"{{{float(low)!r}, {float(high)!r}}}" for low, high in shield.limits),
        heights="\n".join(heights),
        maps=body,
        middle=repr(_middle(shield)),
        down=system.actions.index(shield.found.down),
        up=system.actions.index(shield.found.up),
        **words,
    )
    return header, source


def _refuse_far_steps(shield: SwitchedShield) -> None:
    """Source code has to do the steps of the model, but for rounding that the limits leave room for."""
    if (why := find_export_obstacle(shield.problem.environment, actions=True)) is not None:
        raise why
    if (unbounded := find_unbounded_rounding(shield)) is not None:
        what = f"source code might do other steps than the model: {unbounded.what}"
        raise Unsupported(what, fix="leave it out, or write that action by other operations")


def _middle(shield: SwitchedShield) -> float:
    """Where the program changes sides."""
    pairs = zip(shield.found.rows[0], shield.found.centre, strict=True)
    return float(sum((w * c for w, c in pairs), Fraction(0)))
