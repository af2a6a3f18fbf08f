"""A test whose data or packages are missing is skipped by name, or fails where skipping is not allowed."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

BODIES = {
    "SUREFOOT_REQUIRE_SHARED": "def test_it(shared_data): ...",
    "SUREFOOT_REQUIRE_TRAIN": "import pytest\n@pytest.mark." + "train\ndef test_it(): ...",
    "SUREFOOT_REQUIRE_BROWSER": "import pytest\n@pytest.mark." + "browser\ndef test_it(): ...",
}


@pytest.fixture
def without_needs(pytester: pytest.Pytester) -> pytest.Pytester:
    """A test folder with our conftest, in a place where nothing it asks for exists."""
    text = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    text = text.replace('"torch", "stable_baselines3"', '"no_such_package",')
    pytester.makeconftest(text.replace('"chromium"', '"no-such-browser"'))
    pytester.makeini("[pytest]\nmarkers =\n    shared_data: x\n    train: x\n    browser: x\n")
    return pytester


@pytest.mark.parametrize("variable", BODIES)
def test_skips_with_a_reason(
    without_needs: pytest.Pytester, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    without_needs.makepyfile(BODIES[variable])
    result = without_needs.runpytest("-ra")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*needs *"])


@pytest.mark.parametrize("variable", BODIES)
def test_fails_where_no_skip_is_allowed(
    without_needs: pytest.Pytester, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    without_needs.makepyfile(BODIES[variable])
    outcomes = without_needs.runpytest("-ra").parseoutcomes()
    assert outcomes.get("failed", 0) + outcomes.get("errors", 0) == 1
    assert "skipped" not in outcomes


def test_marks_the_users_of_the_fixture(without_needs: pytest.Pytester) -> None:
    without_needs.makepyfile("def test_it(shared_data): ...")
    without_needs.runpytest("-m", "not shared_data").assert_outcomes(deselected=1)
