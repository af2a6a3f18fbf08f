"""Sweeps: every problem once, the same answers for any number of workers, and a folder that resumes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest
from jsonschema import Draft202012Validator
from tests.cli.conftest import Command
from tests.cli.conftest import command as command
from tests.cli.conftest import toy as toy
from tests.report.sweep.sweep_models import read_answers, without_times, write_models

import surefoot
from surefoot.errors import InvalidProblem, WrongType
from surefoot.formats.schemas import read_schema
from surefoot.report.sweep.answer_unit import answer_unit, load_file_model
from surefoot.report.sweep.sweep_page import render_sweep_page
from surefoot.report.sweep.sweep_table import render_sweep
from surefoot.search.sweep.sweep_file import read_sweep_file
from surefoot.search.sweep.sweep_plan import SweepPlan, SweepUnit, list_units
from surefoot.search.sweep.sweep_row import SweepAnswer, SweepRow, SweepTable
from surefoot.search.sweep.swept_values import SweptValues, read_swept_values

SIX = ("--const", "N=5,6", "--property", "safe", "--property", "never x = {k}", "--value", "k=2,3")


def no_names(_: SweepUnit) -> tuple[str, ...]:
    return ("safe", "early")


def units(**axes: object) -> tuple[SweepUnit, ...]:
    return list_units(SweepPlan(**({"models": ("m.toml",)} | axes)), no_names)  # type: ignore[arg-type]


# What is asked.


def test_every_combination_is_asked_once() -> None:
    found = units(
        properties=("never x > {k}", "safe"),
        constants=(SweptValues("N", ("5", "10")),),
        values=(SweptValues("k", ("1", "2")),),
        engines=("bmc", "explicit"),
        options=(SweptValues("depth", ("3", "4")),),
    )
    # of `safe` k makes no second problem, and of `explicit` a depth does not
    assert len(found) == 2 * (2 + 1) * (2 + 1) == len({one.key for one in found})
    assert {one.question for one in found} == {"never x > 1", "never x > 2", "safe"}
    assert {one.values for one in found if one.property == "safe"} == {()}
    assert {one.options for one in found if one.engine == "explicit"} == {()}


def test_without_a_property_it_is_every_one_of_the_model() -> None:
    assert [one.property for one in units()] == ["safe", "early"]


def test_patterns_are_files_in_the_order_of_training(tmp_path: Path) -> None:
    for step in (500, 20, 1000):
        (tmp_path / f"agent-{step}.onnx").touch()
    found = units(policies=(str(tmp_path / "*.onnx"),), properties=("safe",))
    assert [Path(one.policy or "").name for one in found] == [
        "agent-20.onnx",
        "agent-500.onnx",
        "agent-1000.onnx",
    ]


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"models": ()}, "there is no model"),
        ({"policies": ("nothing-*.onnx",)}, "no file is called like"),
        ({"values": (SweptValues("k", ("1",)),)}, "`k` stands nowhere"),
        ({"engines": ("bcm",)}, "no engine `bcm`"),
        ({"options": (SweptValues("depth", ("1",)),)}, "none of the engines"),
        ({"engines": ("statistical",), "options": (SweptValues("ray", ("x",)),)}, "none of the engines"),
        ({"constants": (SweptValues("N", ("1",)), SweptValues("N", ("2",)))}, "given twice"),
        ({"constants": (SweptValues("N", tuple(map(str, range(100_001)))),)}, "more than 100000 problems"),
    ],
)
def test_plans_that_mean_nothing_are_refused(axes: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        units(**axes)


def test_values_are_a_list_or_a_range() -> None:
    assert read_swept_values("N=5, 10", "--const").values == ("5", "10")
    assert read_swept_values("p=0.1:0.3:0.1", "--const").values == ("0.1", "0.2", "0.3")
    for text in ("N", "N=", "N=1:2", "N=2:1:1", "N=1:2:0", "N=1:100:1", "N=a:b:c"):
        with pytest.raises(InvalidProblem):
            read_swept_values(text, "--const")


def test_a_file_says_the_same_as_options(tmp_path: Path, command: Command) -> None:
    write_models(tmp_path)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'models = ["counter.toml"]\nproperties = ["safe", "never x = {k}"]\ntimeout = 30\n'
        '[constants]\nN = [5, 6]\n[values]\nk = "2:3:1"\n'
    )
    written = [tmp_path / name for name in ("a.json", "b.json")]
    quiet = ("--quiet", "--workers", "2", "--json")
    assert command("sweep", "--plan", plan, *quiet, written[0])[0] == 1
    assert command("sweep", tmp_path / "counter.toml", *SIX, "--timeout", "30", *quiet, written[1])[0] == 1
    assert len({json.dumps(without_times(json.loads(p.read_text()))) for p in written}) == 1


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("model = ['a']", "1:1", "unknown key `model`"),
        ("[constants]\nN = []", "2:1", "takes no value"),
        ("timeout = 0", "1:1", "not positive"),
        ("[settings]\ndegree = 3", "2:1", "unknown key `degree`"),
        ("[values]\nk = '1:2'", "2:6", "FIRST:LAST:STEP"),
    ],
)
def test_errors_of_a_plan_have_their_place(tmp_path: Path, text: str, place: str, words: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(InvalidProblem) as error:
        read_sweep_file(path)
    assert str(error.value).startswith(f"{path}:{place}")
    assert words in str(error.value)


# What is answered.


def test_answers_are_those_of_check_for_any_number_of_workers(tmp_path: Path, command: Command) -> None:
    models = write_models(tmp_path)
    asked = (*models, *SIX, "--property", "P>=0.5 [ F<=9 x = N ]", "--timeout", "60", "--quiet")
    folders = [tmp_path / f"by-{workers}" for workers in (1, 2)]
    for workers, folder in zip((1, 2), folders, strict=True):
        code, out, _ = command("sweep", *asked, "--workers", workers, "--run-directory", folder)
        assert code == 1
    assert read_answers(folders[0]) == read_answers(folders[1])
    table, results = read_answers(folders[0])
    assert "16 problems" in out
    answered = [row for row in table["rows"] if row["answer"]["kind"] != "error"]
    assert len(answered) == 14  # the coin has no property of this name
    for row in answered:
        told, result = row["answer"], results[Path(row["result"]).name]
        assert told["kind"] == result["verdict"]["kind"]
        code, _, _ = command(
            *("check", row["problem"]["model"], "--property", result["property"], "--quiet"),
            *(part for n, v in row["problem"]["constants"].items() for part in ("--const", f"{n}={v}")),
        )
        assert code == told["code"]
    stored = next(folders[0] / row["result"] for row in table["rows"] if row["answer"]["kind"] == "proved")
    assert command("certify", stored)[0] == 0


def test_the_schema_fits_what_is_written(tmp_path: Path, command: Command) -> None:
    write_models(tmp_path)
    path = tmp_path / "t.json"
    strange = tmp_path / "strange.toml"
    strange.write_text("initial = 3")
    asked = (tmp_path / "counter.toml", strange, tmp_path / "coin.toml", "--const", "N=4", "--quiet")
    code, out, _ = command("sweep", *asked, "--json", path, "--csv", tmp_path / "t.csv")
    table = json.loads(path.read_text())
    assert list(Draft202012Validator(json.loads(read_schema("sweep"))).iter_errors(table)) == []
    assert [row["answer"]["kind"] for row in table["rows"]] == ["proved", "proved", "error", "exact"]
    assert (code, table["exit_code"]) == (2, 2)
    assert "strange.toml" in table["rows"][2]["answer"]["words"]
    assert out.endswith("4 problems: 2 proved, 1 error, 1 exact\n")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("model,property,N,answer,words,threshold,low,high")


def test_what_goes_wrong_with_one_problem_is_its_row(tmp_path: Path) -> None:
    write_models(tmp_path)
    table = surefoot.sweep(
        [tmp_path / "counter.toml", tmp_path / "missing.toml"],
        properties=["never x = 3", "never y = 3"],
        constants={"N": 6},
        policies=(),
        timeout=30,
        workers=2,
    )
    assert [row.answer.kind for row in table] == ["violated", "error", "error", "error"]
    assert [row.answer.code for row in table] == [1, 2, 2, 2]
    assert "unknown name `y`" in table.rows[1].answer.words
    assert "no such file" in table.rows[2].answer.words
    assert table.exit_code == 1


def test_starts_and_options_are_swept(tmp_path: Path) -> None:
    write_models(tmp_path)
    table = surefoot.sweep(
        tmp_path / "counter.toml",
        properties="never x = 3",
        constants={"N": 6},
        where=["x = {a}"],
        values={"a": [0, 1]},
        engines="bmc",
        options={"depth": [2, 5]},
        timeout=30,
    )
    told = {(row.unit.start_condition, dict(row.unit.options)["depth"]): row.answer.words for row in table}
    assert told["x = 1", "2"] == "violated after 2 steps"
    assert told["x = 0", "5"] == "violated after 3 steps"
    assert told["x = 0", "2"].startswith(("holds up to 2 steps", "unknown"))


def test_an_option_that_cannot_be_read_is_told_in_its_row(tmp_path: Path) -> None:
    write_models(tmp_path)
    plan = SweepPlan(
        (str(tmp_path / "counter.toml"),),
        properties=("safe",),
        constants=(SweptValues("N", ("5",)),),
        engines=("bmc",),
        options=(SweptValues("depth", ("deep",)), SweptValues("solver", ("nobody",))),
    )
    found = [answer_unit(load_file_model, False, unit) for unit in list_units(plan, no_names)]
    assert [(one.answer.kind, one.answer.code) for one in found] == [("error", 2)]
    assert "`deep` is no number" in found[0].answer.words


def test_a_defect_in_one_problem_is_an_internal_error_of_its_row() -> None:
    def fail(*_: object) -> object:
        raise KeyError("a defect")

    (unit,) = units(properties=("safe",))
    found = answer_unit(fail, False, unit)  # type: ignore[arg-type]
    assert (found.answer.kind, found.answer.code) == ("error", 4)
    assert "internal: KeyError" in found.answer.words


def test_reading_that_takes_too_long_ends_at_its_time() -> None:
    def wait(*_: object) -> object:
        sleep(60)
        raise AssertionError

    (unit,) = units(properties=("safe",), seconds=0.5)
    begun = monotonic()
    found = answer_unit(wait, False, unit)  # type: ignore[arg-type]
    assert monotonic() - begun < 10
    assert (found.answer.kind, found.answer.code) == ("timeout", 3)


# The folder of results.


def sweep_into(folder: Path, command: Command, *more: object) -> tuple[int, str, str]:
    model = folder.parent / "counter.toml"
    return command("sweep", model, *SIX, "--quiet", "--workers", "1", "--run-directory", folder, *more)


def test_a_killed_sweep_resumes_and_ends_the_same(tmp_path: Path, command: Command) -> None:
    write_models(tmp_path)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert sweep_into(whole, command)[0] == 1
    words = [sys.executable, "-m", "surefoot", "sweep", str(tmp_path / "counter.toml"), *SIX, "--quiet"]
    running = subprocess.Popen(
        [*words, "--workers", "1", "--run-directory", str(cut)], stdout=subprocess.DEVNULL
    )
    while not list(cut.glob("results/*.json")) and running.poll() is None:
        sleep(0.01)
    running.kill()
    running.wait()
    kept = {path.name: path.read_bytes() for path in cut.glob("results/*.json")}
    assert 1 <= len(kept) <= 6
    assert sweep_into(cut, command, "--resume")[0] == 1
    assert all((cut / "results" / name).read_bytes() == data for name, data in kept.items())
    assert read_answers(cut) == read_answers(whole)


def test_an_interrupted_sweep_tells_what_there_is(tmp_path: Path) -> None:
    write_models(tmp_path)
    folder = tmp_path / "run"
    words = [sys.executable, "-m", "surefoot", "sweep", str(tmp_path / "counter.toml"), "--const", "N=5:25:1"]
    running = subprocess.Popen(
        [*words, "--quiet", "--workers", "1", "--run-directory", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    while len(list(folder.glob("results/*.json"))) < 2 and running.poll() is None:
        sleep(0.01)
    os.kill(running.pid, signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted: " in out
    table = json.loads((folder / "table.json").read_text())
    kinds = [row["answer"]["kind"] for row in table["rows"]]
    assert len(kinds) == 42
    assert "not asked" in kinds
    assert len(list(folder.glob("results/*.json"))) == 42 - kinds.count("not asked")


def test_a_folder_goes_on_only_with_the_same_sweep(tmp_path: Path, command: Command) -> None:
    write_models(tmp_path)
    folder = tmp_path / "run"
    assert sweep_into(folder, command)[0] == 1
    code, _, err = sweep_into(folder, command)
    assert (code, "already" in err) == (2, True)
    code, _, err = sweep_into(folder, command, "--resume", "--seed", "1")
    assert (code, "of other problems, times or seeds" in err) == (2, True)
    sweep = folder / "sweep.json"
    sweep.write_text(json.dumps(json.loads(sweep.read_text()) | {"surefoot": "0.0.0"}))
    code, _, err = sweep_into(folder, command, "--resume")
    assert (code, "another version" in err) == (2, True)
    sweep.unlink()
    code, _, err = sweep_into(folder, command, "--resume")
    assert (code, "not the sweep that they belong to" in err) == (2, True)


def test_a_changed_input_is_refused_and_a_torn_result_is_asked_again(
    tmp_path: Path, command: Command
) -> None:
    counter, _ = write_models(tmp_path)
    folder, before = tmp_path / "run", counter.read_text()
    sweep_into(folder, command)
    known = read_answers(folder)
    torn = sorted(folder.glob("results/*.json"))[0]
    torn.write_bytes(torn.read_bytes()[:-200])
    assert sweep_into(folder, command, "--resume")[0] == 1
    assert read_answers(folder) == known
    counter.write_text(before + "# changed\n")
    code, _, err = sweep_into(folder, command, "--resume")
    assert code == 2
    assert "counter.toml` has changed since results here were found" in err
    counter.write_text(before)
    document = json.loads(torn.read_text())
    document["sweep"]["problem"]["seed"] = 7
    torn.write_text(json.dumps(document))
    code, _, err = sweep_into(folder, command, "--resume")
    assert (code, "is not what a sweep wrote" in err) == (2, True)


def test_a_file_that_changes_meanwhile_makes_no_result(tmp_path: Path) -> None:
    from surefoot.search.sweep.conduct_sweep import keep_report
    from surefoot.search.sweep.sweep_directory import SweepDirectory

    counter, _ = write_models(tmp_path)
    plan = SweepPlan((str(counter),), properties=("safe", "early"), constants=(SweptValues("N", ("5",)),))
    asked = list_units(plan, no_names)
    with SweepDirectory(tmp_path / "run", asked, "1", False) as directory:
        first = answer_unit(load_file_model, True, asked[0])
        assert keep_report(asked[0], first, directory).answer.kind == "proved"
        counter.write_text(counter.read_text() + "\n")
        second = answer_unit(load_file_model, True, asked[1])
        row = keep_report(asked[1], second, directory)
        assert (row.answer.kind, row.answer.code, row.result) == ("error", 2, None)
        assert "changed while the sweep was at work" in row.answer.words
        with pytest.raises(InvalidProblem, match="another process"):
            SweepDirectory(tmp_path / "run", asked, "1", True)


# What is shown.


def made_table() -> SweepTable:
    found = {
        ("a", "1"): SweepAnswer("proved", "proved", "good", 0, certified=True),
        ("a", "2"): SweepAnswer("violated", "violated after 2 steps", "bad", 1),
        ("b<i>", "1"): SweepAnswer(
            "exact", "met (exactly 1/3)", "good", 0, threshold="met", low="1/3", high="1/3"
        ),
        ("b<i>", "2"): SweepAnswer("unknown", "unknown (timeout)", "open", 3, detail="the \x1b[31m time"),
    }
    rows = []
    for (policy, value), answer in found.items():
        unit = SweepUnit(
            "m.toml", f"{policy}.onnx", "never x", (("N", value),), (), None, None, (), (), 60.0, 0
        )
        rows.append(SweepRow(unit, answer, f"results/{unit.key}.json", f"results/{unit.key}.html"))
    return SweepTable(tuple(rows))


def test_the_page_has_a_matrix_with_links_and_green_is_for_yes() -> None:
    table = made_table()
    page = render_sweep_page(table, lambda file: f"run/{file}")
    assert page.count('<td class="good"') == 2
    assert f'<td class="good" title="proved"><a href="run/{table.rows[0].page}">proved</a></td>' in page
    assert '<td class="bad"' in page
    assert ">met: exactly 1/3</a>" in page
    assert "<th>N = 1</th><th>N = 2</th>" in page
    assert "<i>" not in page
    assert "\x1b" not in page
    assert "default-src 'none'" in page
    assert "4 problems: 1 met, 1 proved, 1 unknown, 1 violated" in page
    assert "run/results" not in render_sweep_page(table)


def test_the_text_shows_in_what_problems_differ() -> None:
    lines = render_sweep(made_table()).splitlines()
    assert lines[:2] == ["model: m.toml", "property: never x"]
    assert lines[2].split() == ["time", "policy", "N", "answer"]
    assert lines[-1] == "4 problems: 1 met, 1 proved, 1 unknown, 1 violated"


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    for given, words in (
        ({"timeout": 0}, "positive number of seconds"),
        ({"constants": ["N"]}, "no dictionary"),
        ({"constants": {"N": []}}, "takes no value"),
        ({"policys": "x"}, "no argument `policys`"),
        ({"properties": 3}, "no list of texts"),
    ):
        with pytest.raises(WrongType, match=words):
            surefoot.sweep(tmp_path / "x.toml", **given)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="nothing to resume"):
        surefoot.sweep(tmp_path / "x.toml", properties="safe", resume=True)


def test_tables_are_saved_by_their_ending(toy: Path) -> None:
    table = surefoot.sweep(toy, properties="below_ten", engines="bmc", timeout=30)
    for name in ("t.csv", "t.json", "t.html"):
        table.save(toy.with_name(name))
        assert toy.with_name(name).stat().st_size > 100
    with pytest.raises(InvalidProblem, match="no kind of file"):
        table.save(toy.with_name("t.txt"))
    assert (len(table), table.counts, table.exit_code) == (1, {"violated": 1}, 1)
    assert str(table).endswith("1 problem: 1 violated")
    assert "violated" in table._repr_html_()
