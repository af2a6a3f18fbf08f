"""A run as text: across the page where a state is narrow, down the page where it is wide.

A text is read from its first line to its last. So of a long run the first and the last states are shown, of
many outputs those that the property asks about, and of a wide state what differs from the one before; JSON
and page have all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from surefoot.problem.problem import Problem
from surefoot.report.run_table import first_and_last, run_table
from surefoot.term.reserved_names import output_index
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Trace

COLUMNS = 10  # a wider state is shown down the page instead of across
MOST_STATES, FIRST_STATES = 60, 20  # that are listed, and how many of them from the start of the run
MOST_OUTPUTS = 8  # where a state is wide
LONGEST_LINE = 110
ALWAYS = frozenset({"time", "action", "taken"})  # also where they are as in the state before
ROUNDED_RUN = "rounded   some numbers of the trace are; --json has them as they are"


def trace_lines(problem: Problem, trace: Trace) -> list[str]:
    table = run_table(problem, first_and_last(trace, MOST_STATES, FIRST_STATES))
    left_out = len(trace.states) - len(table.rows)
    lines = [ROUNDED_RUN] if table.rounded else []
    lines += [
        f"{name} in state 0, oldest first: {', '.join(values)}" for name, values in table.before.items()
    ]
    names, hidden = _shown_names(problem, table.names)
    if hidden:
        lines.append(f"outputs   {hidden} of each state are not listed; --json has them")
    rows = [{name: text for name, text in row.items() if name in names} for row in table.rows]
    numbers = [n if n < FIRST_STATES else n + left_out for n in range(len(rows))]
    if len(names) > COLUMNS:
        body = _rows_down(rows, numbers)
    else:
        cells = [
            [str(n), *(row.get(name, "") for name in names)] for n, row in zip(numbers, rows, strict=True)
        ]
        header, *aligned = _align_columns([["state", *names], *cells])
        lines.append(header)
        body = [[line] for line in aligned]
    for place, state in enumerate(body):
        if left_out and place == FIRST_STATES:
            lines.append(f"…         {count_noun(left_out, 'state')} not listed; --json has all")
        lines += state
    return lines


def _shown_names(problem: Problem, names: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Without the outputs of a network that has many, but for those that are asked about."""
    outputs = [name for name in names if output_index(name) is not None]
    if len(names) <= COLUMNS or len(outputs) <= MOST_OUTPUTS:
        return tuple(names), 0
    from surefoot.report.violation.drawn_run import names_of_conditions, watched_conditions

    hidden = set(outputs) - names_of_conditions(watched_conditions(problem))
    return tuple(name for name in names if name not in hidden), len(hidden)


def _rows_down(rows: Sequence[Mapping[str, str]], numbers: Sequence[int]) -> list[list[str]]:
    """The first state in full; of the next ones what changed. After a gap a state is in full again."""
    found = []
    before: Mapping[str, str] = {}
    for place, (number, row) in enumerate(zip(numbers, rows, strict=True)):
        gap = place > 0 and number != numbers[place - 1] + 1
        before = {} if gap else before
        told = [f"{n} = {text}" for n, text in row.items() if n in ALWAYS or before.get(n) != text]
        head = f"state {number}" + (" (what changed)" if before else "")
        found.append([head, *(f"  {line}" for line in _pack_words(told))])
        before = row
    return found


def _pack_words(parts: Sequence[str]) -> Iterator[str]:
    """As many on a line as it takes."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) + 2 > LONGEST_LINE:
            yield line
            line = ""
        line += f", {part}" if line else part
    if line:
        yield line


def _align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
