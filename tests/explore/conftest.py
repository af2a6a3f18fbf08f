"""Object files of these tests go to a folder of their own."""

import pytest


@pytest.fixture(scope="session")
def object_files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def own_cache(object_files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", object_files)
