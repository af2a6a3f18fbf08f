"""The whole catalogue of bad input once more, through the command line: one line, exit 2, nothing written.

The exact messages are tested beside their readers; here it counts that no command adds to them, hides them
behind a traceback or leaves a file behind.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.bad import test_networks, test_policies
from tests.bad.make_networks import make_networks
from tests.bad.make_policies import make_policies
from tests.bad.make_problems import ALL as PROBLEMS
from tests.bad.make_problems import write as write_problem
from tests.bad.make_specifications import ALL as SPECIFICATIONS
from tests.bad.make_specifications import write as write_specification

from surefoot.cli import run_command_line


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_networks(tmp_path_factory.mktemp("networks"))


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_policies(tmp_path_factory.mktemp("policies"))


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str], place: Path, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    started = time.process_time()  # not the clock: others may be at work too
    code = run_command_line(arguments)
    seconds = time.process_time() - started
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert shown.err.startswith(f"error: {place}")
    assert shown.err.count("\n") == 1
    assert seconds < 2
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", test_networks.MESSAGES)
def test_networks_are_refused(
    name: str, networks: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = networks[name]
    refused(["inspect", str(path), "--json"], capsys, path, path.parent)


@pytest.mark.parametrize("name", test_policies.MESSAGES)
def test_policies_are_refused(
    name: str, policies: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = policies[name]
    arguments = ["inspect", str(path)]
    if name.startswith("34"):
        zips = next(p for n, p in policies.items() if n in test_policies.GOOD)
        arguments = ["inspect", str(zips), "--normalize", str(path)]
    place = path.with_suffix(".wiring.toml") if name.startswith("36") else path  # says how weights connect
    refused(arguments, capsys, place, path.parent)


@pytest.mark.parametrize("bad", SPECIFICATIONS, ids=lambda bad: bad.name)
def test_specifications_are_refused(bad: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_specification(bad, tmp_path)  # type: ignore[arg-type]
    refused(["vnnlib", str(path), str(path), "--json", str(tmp_path / "r.json")], capsys, path, tmp_path)


@pytest.mark.parametrize("bad", PROBLEMS, ids=lambda bad: bad.name)
def test_problems_are_refused(bad: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_problem(bad, tmp_path)  # type: ignore[arg-type]
    refused(["check", str(path), "--json", str(tmp_path / "r.json")], capsys, path, tmp_path)
