"""A shield as C99: a header and a source file without allocation and without dependencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

from surefoot.shields.export.guard import ShieldGuard, c_symbol, comment_text
from surefoot.term.operation_listing import OperationListing
from surefoot.term.term import Apply, Op, Term
from surefoot.term.traverse import enumerate_parts

_WORDS = {"and": "&&", "or": "||", "not": "!", "true": "1", "false": "0"}
_HEADER = """/* A shield for `{name}`: proposed controls are used where they are seen to lead into a safe set.
 *
 * state: {state}
 * proposed, applied: {controls}
 *
 * {symbol}_step returns
 *   0  the proposed controls, clipped to their ends, are applied
 *   1  they are not seen to lead into a safe set, or are no numbers: the program decides
 *   2  the same, and the state is in no safe set, nothing is promised: the nearest rule (smallest barrier)
 *      decides; if a value of the state is no finite number, or nothing finite is computed, the controls are
 *      {rest}
 *
 * {symbol}_sizes: how many values a state has, and how many controls there are.
 *
 * Everything is computed in float64 in the order written: do not compile with -ffast-math
 * or parts of it.
 * Compiled with -D{macro}_SELF_TEST the source is a program that compares examples bit for bit.
 */
#ifndef {macro}_H
#define {macro}_H

#define {macro}_STATES {states}
#define {macro}_CONTROLS {count}

extern const int {symbol}_sizes[2];

int {symbol}_step(const double state[{macro}_STATES], const double proposed[{macro}_CONTROLS],
                  double applied[{macro}_CONTROLS]);

#endif
"""
_TOP = """#include "{file}.h"

#include <float.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "-ffast-math and its parts change what is computed"
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "-ffinite-math-only takes what is no number for one"
#endif
#if FLT_EVAL_METHOD != 0
#error "doubles have to be computed as doubles (on x86: -msse2 -mfpmath=sse)"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("fp-contract=off", "no-unsafe-math-optimizations")
#else
#pragma STDC FP_CONTRACT OFF
#endif

static int finite_all(const double *v, int count)
{{
    for (int i = 0; i < count; i++)
        if (!(v[i] - v[i] == 0.0))
            return 0;
    return 1;
}}
"""
_LARGER = """static double max(double a, double b)
{
    return b > a ? b : a;
}
"""
_TEST = """
#ifdef {macro}_SELF_TEST
#include <stdio.h>
#include <string.h>

static const struct {{
    double state[{macro}_STATES], proposed[{macro}_CONTROLS], applied[{macro}_CONTROLS];
    int intervened;
}} examples[] = {{
{rows}
}};

int main(void)
{{
    const int count = (int)(sizeof examples / sizeof examples[0]);
    for (int i = 0; i < count; i++) {{
        double applied[{macro}_CONTROLS];
        const int intervened = {symbol}_step(examples[i].state, examples[i].proposed, applied);
        if (intervened != examples[i].intervened || memcmp(applied, examples[i].applied, sizeof applied)) {{
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
class GuardExample:
    """What the shield does in a state, for the self-test."""

    state: tuple[float, ...]
    proposed: tuple[float, ...]
    applied: tuple[float, ...]
    intervened: int


def c_source(guard: ShieldGuard, file: str, examples: Sequence[GuardExample]) -> tuple[str, str]:
    """Header and source; `file` is their name without `.h` and `.c`, and makes the names in them."""
    symbol = c_symbol(file)
    macro = symbol.upper()
    header = _HEADER.format(
        name=comment_text(guard.name),
        state=comment_text(", ".join(guard.variables)),
        controls=comment_text(", ".join(name for name, _, _ in guard.controls)),
        rest=", ".join(map(repr, guard.at_rest())),
        symbol=symbol,
        macro=macro,
        states=len(guard.variables),
        count=len(guard.controls),
    )
    parts = [_TOP.format(file=file), _clip_function(guard)]
    if any(_has_rows(rule.gap) for rule in guard.rules):
        parts.append(_LARGER)
    parts.append(_condition_function("permitted", guard.permits, guard, proposed=True))
    for index, rule in enumerate(guard.rules):
        parts.append(_condition_function(f"applies_{index}", rule.when, guard))
        parts.append(_gap_function(f"gap_{index}", rule.gap, guard))
        parts.append(_controls_function(f"rule_{index}", rule.then, guard))
    rows = ",\n".join(
        f"    {{{_c_row(e.state)}, {_c_row(e.proposed)}, {_c_row(e.applied)}, {e.intervened}}}"
        for e in examples
    )
    parts += [_step_function(guard, symbol, macro), _TEST.format(macro=macro, symbol=symbol, rows=rows)]
    return header, "\n".join(parts)


def _has_rows(term: Term) -> bool:
    return any(isinstance(part, Apply) and part.op is Op.MAX for part in enumerate_parts(term))


def _c_row(values: Sequence[float]) -> str:
    return "{" + ", ".join(v.hex() for v in values) + "}"


def _c_listing(guard: ShieldGuard) -> OperationListing:
    names = {name: f"x[{i}]" for i, name in enumerate(guard.variables)}
    names |= {name: f"u[{i}]" for i, (name, _, _) in enumerate(guard.controls)}
    return OperationListing(names.__getitem__, float.hex)


def _wrap_statement(start: str, text: str) -> str:
    whole = f"    {start}{text};"
    if len(whole) <= 100:
        return whole
    body = fill(f"{text};", 92, initial_indent=" " * 8, subsequent_indent=" " * 8, break_long_words=False)
    return f"    {start}\n{body}"


def _c_function(head: str, listing: OperationListing, body: Sequence[str], unused: Sequence[str]) -> str:
    named = [
        _wrap_statement(f"const double t{i} = ", listing.render_value(i, whole=True))
        for i in listing.named_places()
    ]
    return "\n".join([head, "{", *(f"    (void){name};" for name in unused), *named, *body, "}", ""])


def _condition_function(name: str, term: Term, guard: ShieldGuard, proposed: bool = False) -> str:
    listing = _c_listing(guard)
    found = listing.render_condition(listing.condition(term), _WORDS)
    arguments = "const double *x, const double *u" if proposed else "const double *x"
    unused = ("x", "u") if proposed else ("x",)
    return _c_function(
        f"static int {name}({arguments})", listing, [_wrap_statement("return ", found)], unused
    )


def _gap_function(name: str, term: Term, guard: ShieldGuard) -> str:
    listing = _c_listing(guard)
    place = listing.use_term(term)
    body = [_wrap_statement("return ", listing.render_value(place))]
    return _c_function(f"static double {name}(const double *x)", listing, body, ("x",))


def _controls_function(name: str, terms: Sequence[Term], guard: ShieldGuard) -> str:
    listing = _c_listing(guard)
    places = [listing.use_term(t) for t in terms]
    body = [_wrap_statement(f"u[{i}] = ", listing.render_value(p)) for i, p in enumerate(places)]
    body.append("    clip(u);")
    return _c_function(f"static void {name}(const double *x, double *u)", listing, body, ("x",))


def _clip_function(guard: ShieldGuard) -> str:
    lines = ["static void clip(double *u)", "{", "    (void)u;"]
    for i, (_, low, high) in enumerate(guard.controls):
        if low is not None:
            lines += [f"    if ({low.hex()} > u[{i}])", f"        u[{i}] = {low.hex()};"]
        if high is not None:
            lines += [f"    if ({high.hex()} < u[{i}])", f"        u[{i}] = {high.hex()};"]
    return "\n".join([*lines, "}", ""])


def _step_function(guard: ShieldGuard, symbol: str, macro: str) -> str:
    count = len(guard.controls)
    lines = [
        f"const int {symbol}_sizes[2] = {{{macro}_STATES, {macro}_CONTROLS}};",
        "",
        f"int {symbol}_step(const double state[{macro}_STATES], const double proposed[{macro}_CONTROLS],",
        f"                  double applied[{macro}_CONTROLS])",
        "{",
        f"    static const double rest[{macro}_CONTROLS] = {_c_row(guard.at_rest())};",
        "    double least = DBL_MAX;",
        "    int nearest = -1;",
        f"    if (!finite_all(state, {macro}_STATES)) {{",
        *(f"        applied[{i}] = rest[{i}];" for i in range(count)),
        "        return 2;",
        "    }",
        f"    if (finite_all(proposed, {macro}_CONTROLS)) {{",
        *(f"        applied[{i}] = proposed[{i}];" for i in range(count)),
        "        clip(applied);",
        "        if (permitted(state, applied))",
        "            return 0;",
        "    }",
    ]
    for i in range(len(guard.rules)):
        lines += [
            f"    if (applies_{i}(state)) {{",
            f"        rule_{i}(state, applied);",
            "        return 1;",
            "    }",
        ]
    for i in range(len(guard.rules)):
        lines += [
            "    {",
            f"        const double gap = gap_{i}(state);",
            "        if (gap < least) {",
            "            least = gap;",
            f"            nearest = {i};",
            "        }",
            "    }",
        ]
    for i in range(len(guard.rules)):
        lines += [f"    if (nearest == {i})", f"        rule_{i}(state, applied);"]
    lines += [
        f"    if (nearest < 0 || !finite_all(applied, {macro}_CONTROLS)) {{",
        *(f"        applied[{i}] = rest[{i}];" for i in range(count)),
        "    }",
        "    return 2;",
        "}",
    ]
    return "\n".join(lines)
