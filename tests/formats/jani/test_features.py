"""Each feature of JANI is read with the meaning the page promises, or refused in the words it promises."""

from pathlib import Path

import pytest
from tests.formats.jani.build import write
from tests.formats.jani.features import FEATURES, PAGE, Feature, with_table
from tests.formats.jani.reachable import question, reachable
from tests.formats.jani.refusals import REFUSALS

from surefoot.errors import SurefootError
from surefoot.formats.jani import read_jani
from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.problem.semantics import enumerate_successors
from surefoot.problem.validate import check_environment, validate_problem
from surefoot.term.printer import show_term


@pytest.mark.parametrize("feature", FEATURES, ids=lambda f: f"{f.group}: {f.name}")
def test_is_read(tmp_path: Path, feature: Feature) -> None:
    model = read_jani(write(tmp_path, feature.content), feature.constants)
    check_environment(model.environment)
    assert not model.refused
    for asked in model.properties.values():
        validate_problem(Problem("question", model.environment, None, asked))
    states = reachable(model.environment)
    if feature.states is not None:
        assert len(states) == feature.states
    if feature.ends is not None:
        last = [s["x"] for s in states if not list(enumerate_successors(question(model.environment), s))]
        assert sorted(set(last)) == list(feature.ends)
    if feature.asks is not None:
        assert show_property(model.properties["question"]) == feature.asks
    if feature.rewards is not None:
        earned = [
            f"{name} {show_term(amount)}"
            for component in model.environment.components
            for edge in component.edges
            for outcome in edge.outcomes
            for name, amount in outcome.rewards
        ]
        assert tuple(earned) == feature.rewards


@pytest.mark.parametrize(("name", "content", "message"), REFUSALS, ids=[r[0] for r in REFUSALS])
def test_is_refused(tmp_path: Path, name: str, content: dict, message: str) -> None:
    path = write(tmp_path, content)
    error = _refusal(path)
    assert str(error) == f"{path}{message}"
    assert error.exit_code == 2


def _refusal(path: Path) -> SurefootError:
    try:
        model = read_jani(path)
    except SurefootError as error:
        return error
    return model.refused["question"]


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page), "run `python -m tests.formats.jani.features`"
