"""^C in `check` between answers, while files of an answer are written, and with large graphs at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tests.cli.test_predicates import counter as counter

from surefoot import api
from surefoot.cli.commands import check as check_command
from surefoot.work.deadline import Alarm, Late


def interrupt(*_: object, **__: object) -> object:
    raise KeyboardInterrupt


def test_an_answer_is_whole_though_its_page_is_not_written(
    toy: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "render_result_page", interrupt)
    page, result = toy.with_name("r.html"), toy.with_name("r.json")
    code, out, _ = command("check", toy, "--property", "below_ten", "--report", page, "--json", result)
    assert code == 130
    assert "violated" in out
    assert out.endswith("interrupted: what is above is whole, but not every file of it was written\n")
    assert not page.exists()
    assert json.loads(result.read_text())["verdict"]["kind"] == "violated"


def test_the_same_with_json_on_stdout(toy: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "render_result_page", interrupt)
    page = toy.with_name("r.html")
    code, out, err = command("check", toy, "--property", "below_ten", "--report", page, "--json", "-")
    assert code == 130
    assert json.loads(out)["verdict"]["kind"] == "violated"
    assert "not every file of it was written" in err


def test_answers_before_the_interrupt_are_kept_and_the_rest_is_named(
    toy: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def once(*arguments: object, **options: object) -> object:
        asked.append(arguments)
        return verify(*arguments, **options) if len(asked) == 1 else interrupt()  # type: ignore[arg-type]

    verify = api.verify_without_objection
    monkeypatch.setattr(api, "verify_without_objection", once)
    result = toy.with_name("r.json")
    names = ("--property", "below_ten", "--property", "below_thirteen")
    code, out, _ = command("check", toy, *names, "--json", result)
    assert code == 130
    assert "interrupted after 1 of 2 properties; not asked: below_thirteen" in out
    assert "not asked: below_thirteen" in json.loads(result.read_text())["interrupted"]


@pytest.mark.parametrize("most", [300, 0])
def test_large_graphs_are_left_out_after_an_interrupt(
    counter: Path, command: Command, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("surefoot.report.abstraction.graph_file.LARGE", most)
    monkeypatch.setattr("surefoot.engines.predicates.split_preview.with_splits", interrupt)
    result, graph = counter.with_name("r.json"), counter.with_name("g.json")
    options = ("--engine", "predicates", "--splits", 3, "--json", result, "--graph", graph)
    _, out, _ = command("check", counter, *options)
    assert "interrupted: further predicates were not tried" in out
    assert graph.exists()
    assert (json.loads(result.read_text())["verdict"].get("artifact") is None) == (most == 0)
    assert ("is left out; --graph writes it" in out) == (most == 0)


def test_a_result_that_was_cut_off_while_reading_can_be_read(
    toy: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ended by its alarm before there was a problem; `certify` takes what it wrote."""

    def late(*_: object, **__: object) -> None:
        raise Late(Alarm(0.0))

    monkeypatch.setattr(check_command, "load_named_model", late)
    result = toy.with_name("r.json")
    code, out, err = command("check", toy, "--json", result)
    assert code == 3, err
    assert out.startswith("unknown (timeout)")
    code, out, _ = command("certify", result)
    assert code == 3
    assert "carries no evidence" in out


def test_an_interrupt_while_a_class_is_made(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 wraps what `__set_name__` raises."""

    def wrapped(*_: object, **__: object) -> object:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as why:
            raise RuntimeError("Error calling __set_name__") from why

    monkeypatch.setattr("surefoot.cli.surefoot.main", wrapped)
    assert command("doctor") == (130, "", "interrupted: nothing was found yet\n")
