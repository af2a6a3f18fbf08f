"""Heat maps of results that were stored before, by `surefoot check --json`: nothing is computed again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from surefoot.cli.commands.certify import read_results
from surefoot.cli.commands.heatmap.answers import Answers
from surefoot.cli.commands.heatmap.variants import LONGEST, Subject
from surefoot.cli.stored_json import read_json
from surefoot.errors import InvalidProblem
from surefoot.formats.result_json.read import StoredResult
from surefoot.problem.parse.lexer import shorten
from surefoot.report.heatmap.measured import Table, Which, effort, values
from surefoot.verdict.verdict import PerStart


def stored_answers(files: Sequence[Path], quantities: Sequence[Which]) -> list[Answers]:
    """One map for each stored result with a value for each start."""
    found: list[tuple[Path, StoredResult]] = []
    for file in files:
        if file.suffix != ".json":
            fix = "draw them in two commands"
            raise InvalidProblem("stored results and models cannot be drawn together", fix=fix)
        found += [(file, stored) for stored in read_results(read_json(file), file)]
    return [_answers(file, stored, quantities, len(found) > 1) for file, stored in found]


def _answers(file: Path, stored: StoredResult, quantities: Sequence[Which], several: bool) -> Answers:
    verdict = stored.result.verdict
    if not isinstance(verdict, PerStart):
        fix = 'check a property `over values`, for example "P=? [ F x = 3 ] over values"'
        raise InvalidProblem(f"`{stored.kind}` is no table of starts", fix=fix, where=str(file))
    tables: dict[Which, Table] = {}
    for which in quantities:
        match which:
            case "value":
                tables[which] = values(verdict)
            case "effort":
                tables[which] = effort(verdict)
            case _:
                fix = "draw the model itself"
                raise InvalidProblem(f"a stored result does not know the {which}", fix=fix, where=str(file))
    words = shorten((stored.words or "").removesuffix(" over values"), LONGEST)
    measure = "probability" if words.startswith("P") else "expected value"
    title = ", ".join([file.stem, stored.problem]) if several else stored.problem
    return Answers(Subject(title, stored.problem, words, measure, None, None), stored.result, tables)
