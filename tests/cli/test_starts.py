"""`surefoot starts`: counts and conditions, JSON that can be certified again, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tests.cli.test_predicates import MODEL

from surefoot.formats.nnet import write_nnet
from surefoot.problem.network import dense_network


@pytest.fixture
def anywhere(tmp_path: Path) -> Path:
    """Counts up while x is below 6, from any start."""
    write_nnet(dense_network([([[-1.0], [1.0]], [6.0, -5.5])]), tmp_path / "counter.nnet")
    model = MODEL.replace('initial = "x <= 2"', 'initial = "x >= 3"')
    (tmp_path / "anywhere.toml").write_text(model, "utf-8")
    return tmp_path / "anywhere.toml"


def test_some_starts_are_safe(anywhere: Path, command: Command) -> None:
    stored, page = anywhere.with_name("starts.json"), anywhere.with_name("starts.html")
    code, out, _ = command("starts", anywhere, "--json", stored, "--report", page)
    assert code == 1
    assert "7 starts: 6 proved, 1 refuted, 0 open: never x > 8" in out
    assert "proved    x <= 8 (6 starts, certificate accepted by the independent checker)" in out
    assert "refuted   x = 9 (1 start, a run of 0 steps replayed)" in out
    artifact = json.loads(stored.read_text("utf-8"))["verdict"]["artifact"]
    assert artifact["condition"] == "x <= 8"
    assert artifact["counts"] == {"proved": 6, "refuted": 1, "unknown": 0}
    assert "x &lt;= 8" in page.read_text("utf-8")
    assert command("certify", stored)[0] == 0


def test_a_stored_answer_that_says_too_much_is_rejected(anywhere: Path, command: Command) -> None:
    stored = anywhere.with_name("starts.json")
    command("starts", anywhere, "--json", stored)
    text = stored.read_text("utf-8")
    for place in ("group", "whole"):
        data = json.loads(text)
        artifact = data["verdict"]["artifact"]
        (artifact if place == "whole" else artifact["groups"][0])["condition"] = "true"
        stored.write_text(json.dumps(data), "utf-8")
        assert command("certify", stored)[0] == 1


def test_all_starts_are_safe(anywhere: Path, command: Command) -> None:
    text = anywhere.read_text("utf-8").replace("x >= 3", "x <= 5")
    anywhere.write_text(text, "utf-8")
    code, out, _ = command("starts", anywhere)
    assert code == 0
    assert "6 starts: 6 proved, 0 refuted, 0 open" in out


def test_starts_are_split_where_that_is_asked_for(anywhere: Path, command: Command) -> None:
    code, out, _ = command("starts", anywhere, "--engine", "explicit", "--parts", "2")
    assert code == 1
    assert "refuted   x = 9 (1 start, a run of 0 steps replayed)" in out
    assert "stopped   there are enough parts" in out


@pytest.mark.parametrize(
    ("place", "told", "counts"),
    [
        ("engines.predicates.enumerative.sorted_starts._replay_start", "0 refuted, 1 open", [6, 0, 1]),
        (
            "engines.predicates.enumerative.sorted_starts.tabulate_states",
            "open      true (interrupted by the user",
            [0, 0, None],
        ),
        ("search.safe_starts.certify_verdict", "1 refuted, 0 open", [6, 1, 0]),
    ],
    ids=("replaying", "tabulating", "certifying"),
)
def test_an_interrupt_leaves_what_is_decided(
    anywhere: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    told: str,
    counts: list[int | None],
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"surefoot.{place}", stopped)
    stored = anywhere.with_name("starts.json")
    code, out, _ = command("starts", anywhere, "--json", stored)
    assert code == 130
    artifact = json.loads(stored.read_text("utf-8"))["verdict"]["artifact"]
    assert told in out
    assert [artifact["counts"][k] for k in ("proved", "refuted", "unknown")] == counts
    assert artifact["stopped"] == "it was interrupted"


def test_without_a_policy_any_action_may_be_taken(anywhere: Path, command: Command) -> None:
    text = anywhere.read_text("utf-8")
    before, rest = text.split("[policy]")
    anywhere.write_text(f"{before}[properties]{rest.split('[properties]')[1]}", "utf-8")
    stored = anywhere.with_name("starts.json")
    code, out, _ = command("starts", anywhere, "--json", stored)
    assert code == 1
    assert "7 starts: 0 proved, 7 refuted, 0 open: never x > 8" in out
    assert command("certify", stored)[0] == 0


def test_what_the_environment_does_beside_the_policy_needs_no_rounding(
    anywhere: Path, command: Command
) -> None:
    """A gust may move the counter where the network, too, could be moved."""
    gust = '[[edges]]\naction = "gust"\nguard = "x = 7"\nupdates = { x = "9" }\n\n[policy]'
    anywhere.write_text(anywhere.read_text("utf-8").replace("[policy]", gust), "utf-8")
    code, out, _ = command("starts", anywhere)
    assert code == 1
    assert "refuted" in out
    assert ", 0 open: never x > 8" in out
    assert "7 starts: 4 proved, 3 refuted" in out


def test_numbers_are_no_reason_to_sort_starts(command: Command) -> None:
    code, _, error = command("starts", "racetrack/goal/small")
    assert code == 2
    assert "asks for a number; fix: ask `never BAD`" in error
