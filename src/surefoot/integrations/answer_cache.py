"""Answers by the content of their question, so that a test suite asks again only where something changed.

Only what passed is kept: a violation is found again, and what is unknown is asked again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from surefoot import api


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A folder with a file for each answer."""

    folder: Path

    def read_answer(self, key: str) -> api.Result | None:
        """What is kept; a file that cannot be read is none."""
        path = self._path(key)
        try:
            found = api.read_stored_results(api.read_json(path), path)[0].result
        except (OSError, api.SurefootError):
            return None
        return found

    def write_answer(self, key: str, problem: api.Problem, result: api.Result) -> None:
        document = api.annotated_result_to_json(problem, result)
        api.write_file(self._path(key), json.dumps(document) + "\n")

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def question_key(problem: api.Problem, options: Mapping[str, Any]) -> str | None:
    """Everything that an answer depends on but time; None where a part of it has no content."""
    content = api.problem_digest(problem)
    if content is None:
        return None
    asked = sorted((name, repr(value)) for name, value in options.items() if name != "timeout")
    return hashlib.sha256(repr((version("surefoot"), content, asked)).encode()).hexdigest()


def check_with_cache(
    problem: api.Problem, options: Mapping[str, Any], cache: AnswerCache | None
) -> api.CheckResult:
    """The answer of `check`, or the one that is kept."""
    key = None if cache is None else question_key(problem, options)
    if cache is not None and key is not None and (kept := cache.read_answer(key)) is not None:
        return api.CheckResult(problem, kept)
    found = api.check(problem, **options)
    if cache is not None and key is not None and api.classify_outcome(problem, found.data) == "passed":
        cache.write_answer(key, found.problem, found.data)
    return found
