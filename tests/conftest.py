"""What tests may need from outside the repository, and what happens when it is not there.

Locally a test without its data or packages is skipped, and listed by name at the end. Where a variable
below is set to 1, as in CI, the same test fails instead, so that a green run means it was executed.
"""

import os
import shutil
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BROWSER = "chromium"
TRAINING_PACKAGES = ("torch", "stable_baselines3")


def unavailable(reason: str, required_by: str) -> NoReturn:
    """Skip the running test, or fail it if the environment says that this one may not be skipped."""
    if os.environ.get(required_by) == "1":
        pytest.fail(f"{reason}, and {required_by}=1 allows no skip", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A shell that runs tests in the background has SIGINT ignored, also by what they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of models and networks beside the repository."""
    if not SHARED_DATA.is_dir():
        unavailable("needs ../shared/data", "SUREFOOT_REQUIRE_SHARED")
    return SHARED_DATA


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let `-m "not shared_data"` also find the tests that only name the fixture."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("shared_data")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a marked test whose need is not met, before any of its fixtures run."""
    if item.get_closest_marker("shared_data") and not SHARED_DATA.is_dir():
        unavailable("needs ../shared/data", "SUREFOOT_REQUIRE_SHARED")
    if item.get_closest_marker("browser") and shutil.which(BROWSER) is None:
        unavailable(f"needs the browser {BROWSER}", "SUREFOOT_REQUIRE_BROWSER")
    if item.get_closest_marker("train"):
        missing = [name for name in TRAINING_PACKAGES if find_spec(name) is None]
        if missing:
            unavailable(f"needs {' and '.join(missing)} (make train-setup)", "SUREFOOT_REQUIRE_TRAIN")
