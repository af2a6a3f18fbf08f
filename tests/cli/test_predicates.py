"""`surefoot check --engine predicates`: predicates from text and file, the graph as a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from surefoot.engines.predicates.enumerative import refinement as ENUMERATIVE
from surefoot.engines.predicates.symbolic import refinement as SYMBOLIC
from surefoot.formats.nnet import write_nnet
from surefoot.formats.output_file import write_file
from surefoot.problem.network import dense_network

MODEL = """
name = "counter"
initial = "x <= 2"

[variables]
x = "int 0..9"

[[edges]]
action = "up"
guard = "x < 9"
updates = { x = "x + 1" }

[[edges]]
action = "down"
guard = "x > 0"
updates = { x = "x - 1" }

[policy]
file = "counter.nnet"
observe = ["x"]
actions = ["up", "down"]

[properties]
safe = "never x > 8"
"""


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    """Counts up while x is below 6."""
    write_nnet(dense_network([([[-1.0], [1.0]], [6.0, -5.5])]), tmp_path / "counter.nnet")
    (tmp_path / "counter.toml").write_text(MODEL, "utf-8")
    return tmp_path / "counter.toml"


def test_no_predicate_need_be_given(counter: Path, command: Command) -> None:
    graph, proof = counter.with_name("graph.dot"), counter.with_name("proof.json")
    code, out, err = command(
        "check", counter, "--engine", "predicates", "--graph", graph, "--certificate", proof
    )
    assert code == 0
    assert "1 abstract state (1 start, 0 unsafe)" in out
    assert "written" in err
    assert graph.read_text("utf-8").startswith("digraph")
    assert "proved" in out
    assert command("certify", proof)[0] == 0


def test_predicates_from_a_file_are_kept(counter: Path, command: Command) -> None:
    given = counter.with_name("given.txt")
    given.write_text("x <= 4  # half way\nx <= 8\n", "utf-8")
    code, out, _ = command(
        "check", counter, "--engine", "predicates", "--predicates", given, "--fixed", "--json", "-"
    )
    artifact = json.loads(out)["verdict"]["artifact"]
    assert artifact["predicates"] == ["x <= 4", "x <= 8"]
    assert code == 0


def test_what_cannot_be_read_is_refused_in_one_line(counter: Path, command: Command) -> None:
    code, _, err = command("check", counter, "--engine", "predicates", "--predicates", "x <=")
    assert code == 2
    code, _, err = command("check", counter, "--engine", "predicates", "--predicates", "z <= 3")
    assert code == 2
    assert "`z`" in err
    code, _, err = command("check", counter, "--engine", "predicates", "--graph", "graph.txt")
    assert code == 2
    assert "no .dot, .json or .html file" in err


def test_a_page_to_look_at_and_what_one_more_predicate_does(counter: Path, command: Command) -> None:
    graph, report, result = (counter.with_name(n) for n in ("graph.html", "report.html", "result.json"))
    given = ("check", counter, "--engine", "predicates", "--predicates", "x <= 4; x <= 8", "--fixed")
    code, _, _ = command(*given, "--graph", graph, "--report", report, "--json", result)
    assert code == 0
    for page in (graph, report):
        text = page.read_text("utf-8")
        assert text.count('<section class="abstraction"') == 1
        assert "default-src 'none'" in text
        assert '"splits":[{' in text
    artifact = json.loads(result.read_text("utf-8"))["verdict"]["artifact"]
    split = next(s for s in artifact["splits"] if s["predicate"] == "x <= 2")
    assert (split["states"], split["unsafe"], split["pieces"]) == (3, 0, [2, 1])
    assert len(split["graph"]["states"]) == 3


def test_splits_are_tried_only_for_a_page_or_when_asked_for(counter: Path, command: Command) -> None:
    given = ("check", counter, "--engine", "predicates", "--json", "-")
    assert "splits" not in json.loads(command(*given)[1])["verdict"]["artifact"]
    assert len(json.loads(command(*given, "--splits", 2)[1])["verdict"]["artifact"]["splits"]) == 2
    page = counter.with_name("graph.html")
    command(*given, "--splits", 0, "--graph", page)
    assert "No further predicate was tried" in page.read_text("utf-8")


def test_a_graph_that_no_engine_makes_is_refused(command: Command, counter: Path, tmp_path: Path) -> None:
    graph = tmp_path / "graph.dot"
    code, out, err = command("check", counter, "--engine", "explicit", "--graph", graph, "--quiet")
    assert (code, out) == (2, "")
    assert "--graph: it has no effect on `explicit`: of `predicates` only" in err
    assert command("check", counter, "--graph", graph, "--quiet")[0] == 0  # who asks for it means that engine
    assert graph.exists()


def test_means_are_a_choice(command: Command, counter: Path) -> None:
    code, _, err = command("check", counter, "--engine", "predicates", "--means", "tables")
    assert code == 2
    assert "'tables' is not one of 'auto', 'table', 'cells'" in err


def test_an_option_of_another_engine_is_refused(command: Command, counter: Path) -> None:
    code, _, err = command("check", counter, "--engine", "explicit", "--fixed")
    assert code == 2
    assert (
        "--fixed: engine `explicit` has no such option; fix: leave it out; it is an option of predicates"
        in err
    )
    code, _, err = command("starts", counter, "--engine", "predicates", "--depth", "3")
    assert code == 2
    assert "--depth: engine `predicates` has no such option" in err
    assert command("check", counter, "--fixed", "--quiet")[0] == 3  # by `predicates`, with none of them


@pytest.mark.parametrize("means", ["table", "cells"])
def test_an_interruption_keeps_the_last_graph(
    means: str, counter: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of the second predicate."""
    place, calls = (
        (ENUMERATIVE, "refine_partition") if means == "table" else (SYMBOLIC, "concretise_path"),
        [],
    )
    original = getattr(*place)

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(*place, interrupted)
    graph, data = counter.with_name("graph.json"), counter.with_name("all.json")
    options = ("--means", means, "--predicates", "x <= 3", "--property", "never x = 8 or x = 9")
    alone = () if means == "table" else ("--strategy", "refinement")
    code, out, err = command(
        "check", counter, "--engine", "predicates", *options, *alone, "--graph", graph, "--json", data
    )
    assert code == 130
    assert "interrupted by the user with " in out
    assert "not written" not in err
    written = json.loads(graph.read_text("utf-8"))
    assert written["states"]
    assert all(len(state["values"]) == len(written["predicates"]) for state in written["states"])
    assert json.loads(data.read_text("utf-8"))["verdict"]["kind"] == "unknown"


@pytest.mark.parametrize("means", ["table", "cells"])
@pytest.mark.parametrize("text", ["x", "x + 1", "3"])
def test_a_number_is_no_predicate(means: str, text: str, counter: Path, command: Command) -> None:
    code, out, err = command(
        "check", counter, "--engine", "predicates", "--means", means, "--predicates", text
    )
    assert (code, out) == (2, "")
    assert f"the predicate `{text}` is no condition; fix: compare it" in err


def test_errors_of_predicates_have_one_place_and_one_fix(counter: Path, command: Command) -> None:
    code, _, err = command("check", counter, "--engine", "predicates", "--predicates", "x <= ")
    assert code == 2
    assert err.startswith("error: --predicates:1:5: the text ends where")
    assert err.count("fix: ") == 1


def test_the_engine_names_its_predicates_as_they_are_written(counter: Path, command: Command) -> None:
    code, out, _ = command("check", counter, "--engine", "predicates", "--predicates", "x <= 4; x <= 8")
    assert code == 0
    assert "engine    predicates (predicates x <= 4, x <= 8" in out


def test_two_outputs_are_two_files(counter: Path, command: Command) -> None:
    both, same = counter.with_name("both.json"), counter.parent / "." / "both.json"
    code, out, err = command("check", counter, "--json", both, "--certificate", same)
    assert (code, out) == (2, "")
    assert "is the file of --json too; fix: choose another name" in err
    assert not both.exists()


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "out.json", "{}")
    assert not list(tmp_path.iterdir())
