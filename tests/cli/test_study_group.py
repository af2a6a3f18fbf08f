"""`surefoot study …`: its commands, the spelling of before, and the tool without the studies."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from surefoot.errors import InvalidProblem
from surefoot_studies import STUDIES
from surefoot_studies.commands import COMMANDS
from surefoot_studies.commands.old_spelling import translate_old_spelling

ROOT = Path(__file__).parents[2]
OLD = {  # what was written: what is written
    "": "list",
    "toy": "show toy",
    "toy --json": "show toy --json",
    "toy --quiet": "show toy",
    "racetrack --compare": "compare racetrack",
    "--compare racetrack": "compare racetrack",
    "--timeout 60 racetrack --compare --json": "compare racetrack --timeout 60 --json",
    "racetrack --compare --cap 60 --workers 2": "compare racetrack --workers 2",
    "aurora --checkpoints --quiet": "checkpoints aurora --quiet",
    "aurora --generalise --policy a-48 --plot p.svg": "generalise aurora --policy a-48 --plot p.svg",
    "aurora --retrain safety/aurora-48 --seed=3": "retrain aurora safety/aurora-48 --seed 3",
    "control --train=tape --imitate --output a.onnx": "train control tape --imitate --output a.onnx",
    "control --table 2 --cap 60": "table control 2 --cap 60",
    "racetrack --figure 2 --figure 3 --folder d": "figure racetrack 2 3 --folder d",
    "racetrack --figure all --eps 0.1": "figure racetrack all --eps 0.1",
    "racetrack --figure pa-1 --figure pa-2": "abstraction racetrack pa-1 pa-2",
    "racetrack --figure pa --sample --every 20": "abstraction racetrack pa --sample --every 20",
    "pendulum --figure pa-1": "figure pendulum pa-1",
}


@pytest.mark.parametrize("old", OLD)
def test_the_spelling_of_before_is_translated(old: str) -> None:
    found, told = translate_old_spelling(old.split(), COMMANDS)
    assert found == OLD[old].split()
    assert (
        told == f"`{f'surefoot study {old}'.strip()}` is an old spelling; write `surefoot study {OLD[old]}`"
    )


@pytest.mark.parametrize(
    ("old", "what"),
    [
        ("tpy --compare", "there is no command and no study `tpy`; fix: did you mean `toy`?"),
        ("compere toy", "there is no command and no study `compere`; fix: did you mean `compare`?"),
        ("--compare", "--compare: it has no effect without a study; fix: name the study"),
        ("--eps 0.1", "--eps: it has no effect without a study"),
        ("toy --compare --figure 3", "--compare and --figure are asked for at once; fix: give one of them"),
    ],
)
def test_what_it_never_meant(old: str, what: str) -> None:
    with pytest.raises(InvalidProblem) as error:
        translate_old_spelling(old.split(), COMMANDS)
    assert what in str(error.value)


def test_the_old_way_answers_as_the_new_one(command: Command) -> None:
    """One line on stderr more, the same answer."""
    old, new = command("study", "toy", "--json"), command("study", "show", "toy", "--json")
    assert old[:2] == new[:2]
    assert new[2] == ""
    assert old[2] == "warning: `surefoot study toy --json` is an old spelling; " + (
        "write `surefoot study show toy --json`\n"
    )
    assert command("study")[:2] == command("study", "list")[:2] == (0, "\n".join(STUDIES) + "\n")


def test_options_of_another_command_are_refused(command: Command) -> None:
    for given in (
        ("toy", "--eps", "0.1"),
        ("toy", "--compare", "--runs", "3"),
        ("control", "--table", "1.5"),
    ):
        code, out, error = command("study", *given)
        assert (code, out) == (2, "")
        assert error.splitlines()[1].startswith("error: ")
    assert "requires an argument" in command("study", "toy", "--figure")[2]
    assert "does not take a value" in command("study", "toy", "--compare=yes")[2]


def test_pages_use_the_spelling_of_today() -> None:
    """Whatever stands in a page as `surefoot study WORD …` or `study WORD …` begins with a command."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/surefoot_studies/**/*.md")]
    words = set()
    for page in pages:
        if page.name != "CHANGELOG.md":
            found = re.findall(r"(?:`|surefoot )study\s+([\w-]+|--[a-z]+)", page.read_text("utf-8"))
            assert set(found) <= set(COMMANDS), (page, sorted(set(found) - set(COMMANDS)))
            words |= set(found)
    assert words >= {"compare", "figure", "abstraction", "table", "checkpoints", "train", "retrain", "show"}


def test_help_is_short(command: Command) -> None:
    code, out, _ = command("study", "--help")
    assert code == 0
    assert [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines()] == list(COMMANDS)
    for name in COMMANDS:
        code, out, _ = command("study", name, "--help")
        assert code == 0
        assert len(out.splitlines()) <= 32, name
        options = [line.split()[0] for line in out.splitlines() if line.startswith("  --")]
        assert len(options) <= 11, (name, options)


def test_the_tool_without_the_studies(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    found = importlib.util.find_spec

    def find(name: str, package: str | None = None):  # type: ignore[no-untyped-def]
        return None if name == "surefoot_studies" else found(name, package)

    monkeypatch.setattr("surefoot.cli.study_problem.find_spec", find)
    monkeypatch.delitem(sys.modules, "surefoot.cli.commands.study", raising=False)
    code, out, error = command("study", "list")
    assert (code, out) == (2, "")
    assert error.startswith("error: the papers' studies are not installed here; fix: install ")
    code, _, error = command("check", "toy/below-ten")
    assert code == 2
    assert error == "error: toy/below-ten: there is no such file; fix: check the path\n"
