"""Heat maps of results that were stored before, by `surefoot check --json`: nothing is computed again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from surefoot.errors import InvalidProblem
from surefoot.formats.json_file import read_json, read_stored_results
from surefoot.formats.result_json.read import StoredResult
from surefoot.report.heatmap.problem_variants import LONGEST, Subject
from surefoot.report.heatmap.start_tables import StartTables
from surefoot.report.heatmap.start_values import Table, Which, effort_table, value_table
from surefoot.term.lexer import shorten_text
from surefoot.verdict.verdict import PerStart


def read_start_tables(files: Sequence[Path], quantities: Sequence[Which]) -> list[StartTables]:
    """One map for each stored result with a value for each start."""
    found: list[tuple[Path, StoredResult]] = []
    for file in files:
        if file.suffix != ".json":
            fix = "draw them in two commands"
            raise InvalidProblem("stored results and models cannot be drawn together", fix=fix)
        found += [(file, stored) for stored in read_stored_results(read_json(file), file)]
    return [_tables_from_result(file, stored, quantities, len(found) > 1) for file, stored in found]


def _tables_from_result(
    file: Path, stored: StoredResult, quantities: Sequence[Which], several: bool
) -> StartTables:
    verdict = stored.result.verdict
    if not isinstance(verdict, PerStart):
        fix = 'check a property `over values`, for example "P=? [ F x = 3 ] over values"'
        raise InvalidProblem(f"`{stored.kind}` is no table of starts", fix=fix, where=str(file))
    tables: dict[Which, Table] = {}
    for which in quantities:
        match which:
            case "value":
                tables[which] = value_table(verdict)
            case "effort":
                tables[which] = effort_table(verdict)
            case _:
                fix = "draw the model itself"
                raise InvalidProblem(f"a stored result does not know the {which}", fix=fix, where=str(file))
    words = shorten_text((stored.words or "").removesuffix(" over values"), LONGEST)
    measure = "probability" if words.startswith("P") else "expected value"
    title = ", ".join([file.stem, stored.problem]) if several else stored.problem
    return StartTables(Subject(title, stored.problem, words, measure, None, None), stored.result, tables)
