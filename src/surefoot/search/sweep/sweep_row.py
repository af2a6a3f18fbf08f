"""What became of one problem of a sweep: a line of its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

from surefoot.search.sweep.sweep_plan import SweepUnit

Shade: TypeAlias = Literal["good", "bad", "open", "value", "error", "absent"]


@dataclass(frozen=True, slots=True)
class SweepAnswer:
    """Of a problem: the verdict in a word and in a few, and its numbers."""

    kind: str  # proved, violated, holds, estimated, …; error; not asked
    words: str  # the headline of the result, or what went wrong
    shade: Shade
    code: int  # as `surefoot check` would end
    certified: bool = False
    threshold: str | None = None  # met, missed or undecided
    low: str | None = None
    high: str | None = None
    engine: str = ""
    seconds: float = 0.0
    detail: str = ""  # why nothing is known


@dataclass(frozen=True, slots=True)
class UnitReport:
    """What a worker hands back: an answer, the whole result as JSON, and its page."""

    answer: SweepAnswer
    inputs: Mapping[str, str]  # path -> sha256
    document: Mapping[str, Any] | None = None
    page: str | None = None


@dataclass(frozen=True, slots=True)
class SweepRow:
    unit: SweepUnit
    answer: SweepAnswer
    result: str | None = None  # the file of the result, from the run directory
    page: str | None = None


@dataclass(frozen=True, slots=True)
class SweepTable:
    """All rows in the order of the plan. `interrupted`: how far it came, if it did not come to the end."""

    rows: tuple[SweepRow, ...]
    interrupted: str = ""

    def count_answers(self) -> dict[str, int]:
        """How many there are of each kind, the most frequent first."""
        kinds = [row.answer.threshold or row.answer.kind for row in self.rows]
        return {k: kinds.count(k) for k in sorted(set(kinds), key=lambda k: (-kinds.count(k), k))}

    @property
    def exit_code(self) -> int:
        """That of the worst row; a file that cannot be read is worse than an open answer."""
        codes = {row.answer.code for row in self.rows} | ({130} if self.interrupted else set())
        return next((code for code in (130, 4, 1, 2, 3) if code in codes), 0)


NOT_ASKED = SweepAnswer("not asked", "not asked", "absent", 130)


def error_answer(words: str, code: int, seconds: float = 0.0) -> SweepAnswer:
    return SweepAnswer("error", words, "error", code, seconds=seconds)


def answer_to_json(answer: SweepAnswer) -> dict[str, Any]:
    return asdict(answer)


def answer_from_json(data: Mapping[str, Any]) -> SweepAnswer:
    """Raises KeyError, TypeError or ValueError where it is none."""
    found = SweepAnswer(**data)
    if not (isinstance(found.kind, str) and isinstance(found.words, str) and isinstance(found.code, int)):
        raise ValueError("not an answer of a sweep")
    return replace(found, seconds=float(found.seconds), certified=found.certified is True)
