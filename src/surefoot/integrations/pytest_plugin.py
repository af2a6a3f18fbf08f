"""A pytest plugin: a policy that violates its requirement fails a test, with the run as the message.

    def test_stays_below_ten(verify):
        verify("toy.toml", property="below_ten")

    @pytest.mark.surefoot("toy.toml", property="below_thirteen", timeout=30)
    def test_with_more(surefoot_result):
        assert surefoot_result.certified

With `surefoot_files = problems/*.toml` in the configuration every property of these files is a test of its
own. `surefoot_unknown` says what a question that is not answered does to a test: `fail` (the default),
`skip`, `xfail` or `pass`. What passed is kept in pytest's cache by the content of its question, and is asked
again where that has changed.

This file is imported whenever pytest starts: nothing else of surefoot is, before a test needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

UNKNOWN = ("fail", "skip", "xfail", "pass")
_MARK = "surefoot(problem, policy=None, property=None, timeout=…, engine=…, unknown=…)"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("surefoot", "policies that are checked")
    group.addoption(
        "--surefoot-timeout", type=float, metavar="SECONDS", help="For each question that names no time."
    )
    group.addoption(
        "--surefoot-unknown",
        choices=UNKNOWN,
        metavar="|".join(UNKNOWN),
        help="What a question that is not answered does to its test.",
    )
    group.addoption("--surefoot-no-cache", action="store_true", help="Ask again, whatever is known already.")
    parser.addini("surefoot_timeout", "seconds for each question that names no time", default="60")
    parser.addini("surefoot_unknown", "fail, skip, xfail or pass", default="fail")
    parser.addini("surefoot_files", "problem files whose properties are tests", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{_MARK}: check this before the test; see `surefoot_result`.")
    _read_settings(config)


def _read_settings(config: pytest.Config) -> tuple[float, str]:
    """Seconds, and what unknown does; what is misspelt in the configuration is told at the start."""
    given, unknown = config.getoption("--surefoot-timeout"), config.getoption("--surefoot-unknown")
    text = str(config.getini("surefoot_timeout")) if given is None else str(given)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise pytest.UsageError(f"surefoot_timeout: `{text}` is not a positive number of seconds")
    word = str(config.getini("surefoot_unknown")) if unknown is None else str(unknown)
    if word not in UNKNOWN:
        raise pytest.UsageError(f"surefoot_unknown: `{word}` is none of {', '.join(UNKNOWN)}")
    return seconds, word


@pytest.fixture
def verify(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`verify(problem, policy=None, property=None, …)`: as `surefoot.check`, but a violation fails the test.

    A path is looked for beside the test first, then where pytest runs. `unknown` is what a question that is
    not answered does: `fail`, `skip`, `xfail` or `pass`.
    """
    folder = request.path.parent

    def verify_problem(
        problem: object, policy: object = None, property: object = None, **options: Any
    ) -> Any:
        __tracebackhide__ = True
        return _check_in_test(request.config, folder, (problem, policy, property), options)

    return verify_problem


@pytest.fixture
def surefoot_result(request: pytest.FixtureRequest) -> Any:
    """The answer to the question of the mark `surefoot`; of several marks, to the one nearest to the test."""
    found = getattr(request.node, "surefoot_results", ())
    if not found:
        pytest.fail("`surefoot_result` needs the mark: @pytest.mark.surefoot(problem, …)", pytrace=False)
    return found[0]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a test is marked with is asked before its fixtures are made."""
    marks = list(item.iter_markers("surefoot"))
    if marks:
        item.surefoot_results = [_check_mark(item, mark) for mark in marks]  # type: ignore[attr-defined]


def _check_mark(item: pytest.Item, mark: pytest.Mark) -> Any:
    options = dict(mark.kwargs)
    given = [*mark.args[:3], *[None] * (3 - len(mark.args[:3]))]
    for place, name in enumerate(("problem", "policy", "property")):
        if name in options:
            given[place] = options.pop(name)
    if given[0] is None or len(mark.args) > 3:
        pytest.fail(f"the mark is @pytest.mark.{_MARK}", pytrace=False)
    return _check_in_test(item.config, item.path.parent, tuple(given), options)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The problem files that the configuration names."""
    for pattern in parent.config.getini("surefoot_files"):
        if file_path.match(pattern) or file_path in parent.config.rootpath.glob(pattern):
            found: pytest.Collector = ProblemFile.from_parent(parent, path=file_path)
            return found
    return None


class ProblemFile(pytest.File):
    """A problem file: every property is a test."""

    def collect(self) -> Iterator[pytest.Item]:
        from surefoot import api

        try:
            loaded = api.read_model(self.path)
        except api.SurefootError as error:
            raise self.CollectError(str(error)) from None
        for name in loaded.problems:
            yield PropertyItem.from_parent(self, name=name)


class PropertyItem(pytest.Item):
    """One property of a problem file."""

    def runtest(self) -> None:
        _check_in_test(self.config, self.path.parent, (self.path, None, self.name), {})

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


def _check_in_test(
    config: pytest.Config, folder: Path, given: tuple[Any, Any, Any], options: Mapping[str, Any]
) -> Any:
    """The answer, or the end of the test."""
    __tracebackhide__ = True
    from surefoot import api
    from surefoot.integrations.answer_cache import AnswerCache, check_with_cache

    seconds, unknown = _read_settings(config)
    wanted = dict(options)
    word = wanted.pop("unknown", unknown)
    if word not in UNKNOWN:
        pytest.fail(f"unknown={word!r} is none of {', '.join(UNKNOWN)}", pytrace=False)
    wanted.setdefault("timeout", seconds)
    problem, policy, property = given
    cache = None if config.getoption("--surefoot-no-cache") else getattr(config, "cache", None)
    try:
        posed = api.pose_problem(_locate_file(problem, folder), _locate_file(policy, folder), property)
        kept = None if cache is None else AnswerCache(cache.mkdir("surefoot"))
        result = check_with_cache(posed, wanted, kept)
    except api.SurefootError as error:
        pytest.fail(f"surefoot: {error}", pytrace=False)
    outcome = api.classify_outcome(result.problem, result.data)
    if outcome == "failed":
        pytest.fail(str(result), pytrace=False)
    if outcome == "unknown":
        _end_unanswered(word, str(result))
    return result


def _end_unanswered(word: str, text: str) -> None:
    if word != "pass":
        _end_test(word, text)


def _end_test(word: str, text: str) -> NoReturn:
    if word == "skip":
        pytest.skip(text.partition("\n")[0])
    if word == "xfail":
        pytest.xfail(text.partition("\n")[0])
    pytest.fail(text, pytrace=False)


def _locate_file(given: Any, folder: Path) -> Any:
    """A path that is there beside the test; anything else as it is."""
    if isinstance(given, str | Path):
        try:
            if not Path(given).is_absolute() and (folder / given).is_file():
                return folder / given
        except OSError:  # a property, or another text that can be no path
            return given
    return given
