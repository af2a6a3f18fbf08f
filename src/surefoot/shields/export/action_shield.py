"""A shield of actions as source code: a tree of comparisons in tables, walked by a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.shields.export.guard import c_symbol, comment_text
from surefoot.visible import make_visible

_PYTHON = '''"""A shield for `{name}`: which actions may be taken in a state, and what else to do.

    action, intervened = step(state, proposed)     # names of actions
    masks = action_masks(state)                    # one truth value per action, as MaskablePPO wants them

state: {state}
actions: {actions}
{promise}

intervened
  0  the proposed action is permitted
  1  it is not: the safest action is taken
  2  a value of the state is not whole, or outside its limits: nothing is promised, likewise

What is no action, and a state that is not so many numbers, is a ValueError.
"""

STATE = {names}
ACTIONS = {labels}
_LIMITS = {limits!r}
_COLUMN = {column!r}
_LIMIT = {limit!r}
_LOW = {low!r}  # where the value is at most the limit; below zero: leaf number -1 - n
_HIGH = {high!r}
_PERMITTED = {permitted!r}
_INSTEAD = {instead!r}


def _leaf(state):
    try:
        if len(state) != len(STATE) or isinstance(state, (dict, set, frozenset, str, bytes)):
            raise TypeError
        sum(state)  # what is no number cannot be added
        at = {root}
        while at >= 0:
            at = _LOW[at] if state[_COLUMN[at]] <= _LIMIT[at] else _HIGH[at]
    except TypeError:
        wanted = f"{{len(STATE)}} numbers in this order: {{', '.join(STATE)}}"
        raise ValueError(f"a state is {{wanted}}; not {{state!r:.80}}") from None
    return -1 - at


def known(state):
    """Is every value whole, and within the limits of the states that the shielded system comes to?"""
    return len(state) == len(STATE) and all(a <= v <= b and v == int(v) for v, (a, b) in zip(state, _LIMITS))


def action_masks(state):
    """Which actions are permitted, in the order of `ACTIONS`; at least one is."""
    mask = _PERMITTED[_leaf(state)]
    return [bool(mask >> i & 1) for i in range(len(ACTIONS))]


def step(state, proposed):
    """The action to take, and whether it is another than the proposed one."""
    if proposed not in ACTIONS:
        names = ", ".join(ACTIONS)
        raise ValueError(f"{{proposed!r:.80}} is no action; give the name of one: {{names}}")
    leaf = _leaf(state)
    if not known(state):
        return ACTIONS[_INSTEAD[leaf]], 2
    if _PERMITTED[leaf] >> ACTIONS.index(proposed) & 1:
        return proposed, 0
    return ACTIONS[_INSTEAD[leaf]], 1
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
 *   0  the proposed action is permitted, and taken
 *   1  it is not: the safest action is taken
 *   2  a value of the state is outside its limits, nothing is promised: likewise
 *   3  there is no action of the proposed number: likewise
 *
 * Compiled with -D{macro}_SELF_TEST the source is a program that compares examples.
 */
#ifndef {macro}_H
#define {macro}_H

#include <stdint.h>

#define {macro}_STATES {states}
#define {macro}_ACTIONS {count}

int {symbol}_permitted(const int64_t state[{macro}_STATES], int action);
int {symbol}_step(const int64_t state[{macro}_STATES], int proposed, int *action);

#endif
"""
_C = """#include "{file}.h"

static const int64_t limits[][2] = {limits};
static const int column[] = {column};
static const int64_t limit[] = {limit};
static const int low[] = {low};
static const int high[] = {high};
static const unsigned char permitted[][{macro}_ACTIONS] = {permitted};
static const int instead[] = {instead};

static int leaf(const int64_t *state)
{{
    int at = {root};
    while (at >= 0)
        at = state[column[at]] <= limit[at] ? low[at] : high[at];
    return -1 - at;
}}

int {symbol}_permitted(const int64_t state[{macro}_STATES], int action)
{{
    return action >= 0 && action < {macro}_ACTIONS && permitted[leaf(state)][action];
}}

int {symbol}_step(const int64_t state[{macro}_STATES], int proposed, int *action)
{{
    const int here = leaf(state);
    *action = instead[here];
    for (int i = 0; i < {macro}_STATES; i++)
        if (state[i] < limits[i][0] || state[i] > limits[i][1])
            return 2;
    if (proposed < 0 || proposed >= {macro}_ACTIONS)
        return 3;
    if (!permitted[here][proposed])
        return 1;
    *action = proposed;
    return 0;
}}

#ifdef {macro}_SELF_TEST
#include <stdio.h>

static const struct {{
    int64_t state[{macro}_STATES];
    int proposed, action, intervened;
}} examples[] = {{
{rows}
}};

int main(void)
{{
    const int count = (int)(sizeof examples / sizeof examples[0]);
    for (int i = 0; i < count; i++) {{
        int action;
        const int intervened = {symbol}_step(examples[i].state, examples[i].proposed, &action);
        if (intervened != examples[i].intervened || action != examples[i].action) {{
            printf("example %d differs\\n", i);
            return 1;
        }}
    }}
    printf("%d examples agree\\n", count);
    return 0;
}}
#endif
"""


@dataclass(frozen=True, slots=True)
class ActionTable:
    """A tree in tables: node n compares `state[column[n]] <= limit[n]`; a child below zero is a leaf.

    `permitted[k]`, `instead[k]`: of leaf k, the numbers of permitted actions and the safest one.
    """

    name: str
    promise: str
    state: tuple[str, ...]
    limits: tuple[tuple[int, int], ...]  # of each value, in the states that are known
    actions: tuple[str, ...]
    root: int
    column: tuple[int, ...]
    limit: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    permitted: tuple[tuple[int, ...], ...]
    instead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ActionExample:
    """What the shield does in a state, for the self-test."""

    state: tuple[int, ...]
    proposed: int
    action: int
    intervened: int


def python_actions(table: ActionTable) -> str:
    """The text of a Python module that needs nothing but Python."""
    return _PYTHON.format(
        name=comment_text(table.name),
        promise=comment_text(table.promise),
        state=comment_text(", ".join(table.state)),
        actions=comment_text(", ".join(table.actions)),
        names=make_visible(repr(table.state)),
        labels=make_visible(repr(table.actions)),
        limits=table.limits,
        column=table.column,
        limit=table.limit,
        low=table.low,
        high=table.high,
        permitted=tuple(sum(1 << i for i in actions) for actions in table.permitted),
        instead=table.instead,
        root=table.root,
    )


def c_actions(table: ActionTable, file: str, examples: Sequence[ActionExample]) -> tuple[str, str]:
    """Header and source; `file` is their name without `.h` and `.c`, and makes the names in them."""
    symbol = c_symbol(file)
    names = {"symbol": symbol, "macro": symbol.upper(), "file": file}
    header = _HEADER.format(
        name=comment_text(table.name),
        promise=comment_text(table.promise),
        state=comment_text(", ".join(table.state)),
        actions=comment_text(", ".join(f"{i} {name}" for i, name in enumerate(table.actions))),
        states=max(1, len(table.state)),
        count=len(table.actions),
        **names,
    )
    flags = [[int(i in actions) for i in range(len(table.actions))] for actions in table.permitted]
    rows = ",\n".join(
        f"    {{{_c_list(e.state or (0,))}, {e.proposed}, {e.action}, {e.intervened}}}" for e in examples
    )
    source = _C.format(
        limits="{" + ", ".join(map(_c_list, table.limits or ((0, 0),))) + "}",
        column=_c_list(table.column or (0,)),
        limit=_c_list(table.limit or (0,)),
        low=_c_list(table.low or (-1,)),
        high=_c_list(table.high or (-1,)),
        permitted="{" + ", ".join(map(_c_list, flags)) + "}",
        instead=_c_list(table.instead),
        root=table.root,
        rows=rows,
        **names,
    )
    return header, source


def _c_list(values: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"
