"""An option is used or refused before the work, never passed over: command by command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.cli.conftest import Command

from surefoot.cli import COMMANDS, surefoot

COUNTER = """
name = "counter"
initial = "x = 0"
[constants]
N = 9
[variables]
x = "int 0..N"
[[edges]]
action = "up"
guard = "x < 9"
updates = { x = "x + 1" }
rewards = { gold = 1 }
[[edges]]
action = "down"
guard = "x > 0"
updates = { x = "x - 1" }
[policy.program]
branches = [{ when = "x < 6", action = "up" }, { action = "down" }]
[properties]
safe = "never x > 8"
likely = "P=? [ F x = 3 ]"
paid = "E=? [ gold until x = 3 ]"
each = "P=? [ F x = 3 ] over values"
"""
SAFE, LIKELY, PAID = (("--property", name) for name in ("safe", "likely", "paid"))
CHECKED: list[tuple[tuple[str, ...], str]] = [
    ((*SAFE, "--eps", "0.1"), "--eps: it has no effect on `safe`"),
    (("--eps", "0.1"), "--eps: it has no effect on `safe`"),
    ((*SAFE, "--const", "N=9", "--const", "N=10"), "--const: `N` is given twice"),
    ((*SAFE, "--delta", "0.1"), "--delta: it has no effect on `safe`"),
    ((*SAFE, "--max-steps", "10"), "--max-steps: it has no effect on `safe`"),
    ((*SAFE, "--uniform"), "--uniform: it has no effect on `safe`"),
    ((*SAFE, "--axes", "x,y"), "--axes: it has no effect without --svg or --png"),
    ((*SAFE, "--importance", "x"), "--importance: it has no effect on `safe`"),
    ((*LIKELY, "--trees", "5"), "--trees: it has no effect without --importance"),
    ((*LIKELY, "--factor", "5"), "--factor: it has no effect without --importance"),
    ((*LIKELY, "--importance", "x", "--eps", "0.1"), "--eps: it has no effect on splitting"),
    ((*LIKELY, "--importance", "x", "--method", "chen"), "--method: it has no effect on splitting"),
    ((*LIKELY, "--least", "0"), "--least: it has no effect on a property that is not about a reward"),
    ((*LIKELY, "--most", "9"), "--most: it has no effect on a property that is not about a reward"),
    ((*PAID, "--method", "chen"), "--method: it has no effect on a reward"),
    ((*PAID, "--importance", "x"), "--importance: it has no effect on `paid`"),
    ((*LIKELY, "--family-wise"), "--family-wise: it has no effect unless each start"),
    ((*LIKELY, "--resume"), "--resume: it has no effect without --run-directory"),
    ((*SAFE, "--starts", "uniform"), "--starts: it has no effect on `safe`"),
    ((*SAFE, "--cells", "x"), "--cells: it has no effect on `safe`"),
    ((*LIKELY, "--cells", "x"), "cells are parts of a law of starts"),
    ((*SAFE, "--exact"), "--exact: it has no effect on a property that holds or not"),
    ((*SAFE, "--width", "0.1"), "--width: it has no effect on a property that holds or not"),
    ((*SAFE, "--fuse"), "--fuse: it has no effect here"),
    ((*LIKELY, "--exact", "--width", "0.1"), "--width: it has no effect on exact numbers"),
    ((*LIKELY, "--depth", "3"), "--depth: it has no effect on `likely`"),
    ((*LIKELY, "--solver", "milp"), "--solver: it has no effect on `likely`"),
    ((*LIKELY, "--fixed"), "--fixed: it has no effect on `likely`"),
    ((*LIKELY, "--predicates", "x > 3"), "--predicates: it has no effect on `likely`"),
    ((*SAFE, "--bounds"), "--bounds: it has no effect on a property that is not about a probability"),
    ((*SAFE, "--fixed", "--max-predicates", "3"), "--max-predicates: it has no effect where no predicate"),
    ((*SAFE, "--means", "table", "--tests", "guard"), "--tests: it has no effect on a table"),
    ((*SAFE, "--means", "table", "--strategy", "both"), "--strategy: it has no effect on a table"),
    ((*SAFE, "--fixed", "--strategy", "invariants"), "--strategy: it has no effect where no predicate"),
    ((*SAFE, "--degree", "2"), "--degree: it has no effect on `safe`"),
    ((*SAFE, "--polynomial"), "--polynomial: it has no effect on `safe`"),
    (("--property", "eventually x = 3", "--polynomial"), "--polynomial: it has no effect on `eventually`"),
    (("--property", "eventually x = 3", "--squares", "sos"), "--squares: it has no effect on `eventually`"),
    ((*SAFE, "--depth", "3", "--exact"), "no engine has --depth and --exact"),
    ((*SAFE, "--engine", "bmc", "--eps", "0.1"), "--eps: engine `bmc` has no such option"),
    ((*SAFE, "--engine", "explicit", "--dump-queries", "q"), "--dump-queries: there is no question"),
    ((*SAFE, "--engine", "bmc", "--graph", "g.dot"), "--graph: it has no effect on `bmc`"),
    ((*SAFE, "--engine", "bmc", "--splits", "3", "--json", "r.json"), "--splits: it has no effect on `bmc`"),
    ((*SAFE, "--splits", "3"), "--splits: it has no effect without --graph, --report or --json"),
    ((*SAFE, "--graph", "g.dot", "--depth", "3"), "--depth: engine `predicates` has no such option"),
    ((*SAFE, "--graph", "g.txt"), "--graph: `g.txt` is no .dot, .json or .html file"),
    (("--graph", "g.dot"), "--graph: a graph is about one property"),
    (("--certificate", "c.json"), "--certificate: a certificate is about one property"),
    ((*SAFE, "--no-certificate", "--certificate", "c.json"), "--no-certificate: "),
    ((*SAFE, "--certificate", "c.pdf"), "--certificate: `c.pdf` does not end in"),
    ((*SAFE, "--report", "r.pdf"), "--report: `r.pdf` does not end in .html"),
    ((*LIKELY, "--witnesses", "3"), "--witnesses: it has no effect where a number is asked for"),
    ((*LIKELY, "--svg", "r.svg"), "--svg: it has no effect where a number is asked for"),
    ((*LIKELY, "--png", "r.png"), "--png: it has no effect where a number is asked for"),
    ((*SAFE, "--engine", "bmc", "--runs", "3"), "--runs: engine `bmc` has no such option"),
    ((*SAFE, "--engine", "bmc", "--steps", "3"), "--steps: engine `bmc` has no such option"),
    ((*SAFE, "--json", "r.txt"), "--json: `r.txt` does not end in .json"),
    ((*SAFE, "--choose", "argmax"), "there is no network that could be wired"),
    ((*SAFE, "--actions", "up"), "there is no network that could be wired"),
    ((*SAFE, "--output", "y"), "there is no network"),
    ((*SAFE, "--no-policy", "--choose", "argmax"), "--no-policy: there is no policy that --choose"),
    ((*SAFE, "--ignore-goal"), "--ignore-goal: only questions of PlaJA"),
    ((*SAFE, "--properties", "safe.props"), "--properties: only PRISM models have files"),
    ((*SAFE, "--time", "steps"), "has no differential equation"),
    ((*SAFE, "--flow-method", "euler"), "--flow-method: a method without a time"),
    ((*SAFE, "--const", "M=3"), "M"),
    ((*SAFE, "--abstract", "auto"), "--abstract: it has no effect on `safe`: its policy is no network"),
    ((*LIKELY, "--abstract", "auto"), "--abstract: it has no effect on `likely`"),
    ((*SAFE, "--abstract", "auto", "--assume-invariant", "i.json"), "do not go together"),
]


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counter.toml").write_text(COUNTER, "utf-8")
    return tmp_path / "counter.toml"


@pytest.mark.parametrize(("arguments", "words"), CHECKED, ids=[" ".join(a) for a, _ in CHECKED])
def test_check(command: Command, counter: Path, arguments: tuple[str, ...], words: str) -> None:
    code, out, error = command("check", counter, *arguments, "--quiet")
    assert code == 2, (out, error)
    assert words in error
    assert "; fix: " in error
    assert not out
    assert sorted(p.name for p in counter.parent.iterdir()) == ["counter.toml"]


TOUCHED = [
    ((*LIKELY, "--eps", "0.2"), "estimated"),
    ((*LIKELY, "--exact"), "exactly 1"),
    (("--property", "each", "--family-wise", "--eps", "0.2"), "estimated"),
    ((*SAFE, "--depth", "4", "--solver", "milp"), "depth 4"),
    ((*SAFE, "--fixed", "--predicates", "x > 8; x > 5"), "  engine    predicates"),
    ((*SAFE, "--tests", "guard exact"), "  engine    predicates"),
    ((*SAFE, "--graph", "g.dot"), "  engine    predicates"),
    ((*SAFE, "--max-states", "50"), "  engine    explicit"),
    ((*SAFE, "--no-policy"), "there is no policy"),
    ((*SAFE, "--const", "N=12"), "never x > 8"),
]


@pytest.mark.parametrize(("arguments", "words"), TOUCHED, ids=[" ".join(a) for a, _ in TOUCHED])
def test_an_option_of_an_engine_is_used(
    command: Command, counter: Path, arguments: tuple[str, ...], words: str
) -> None:
    code, out, error = command("check", counter, *arguments, "--quiet", "--timeout", "20")
    assert code in (0, 1, 3), error
    assert words in out


STORED = ("stored.json",)
OTHERS: list[tuple[tuple[str, ...], str]] = [
    (("starts", "counter.toml", *SAFE, "--eps", "0.1"), "--eps: it has no effect on `safe`"),
    (("starts", "counter.toml", *SAFE, "--report", "r.pdf"), "--report: `r.pdf` does not end"),
    (("starts", "counter.toml", *SAFE, "--means", "table", "--fixed"), "--fixed: a table of all states"),
    (("starts", "toy/below-ten", "--property", "x"), "--property: a problem of a study does not take it"),
    (("starts", "toy/below-ten", "--choose", "argmax"), "--choose: a problem of a study does not take it"),
    (("check", "toy/below-ten", "--choose", "argmax"), "--choose: a problem of a study does not take it"),
    (("check", "toy/below-ten", "--output", "y"), "--output: `toy/below-ten` has its own policy"),
    (
        ("invariant", "counter.toml", *SAFE, "--inductive", "x<=", "0", "9", "--probe", "3"),
        "--probe: it has no effect on an inductive invariant",
    ),
    (
        ("invariant", "counter.toml", *SAFE, "--inductive", "x<=", "0", "9", "--between", "0", "9"),
        "--between: it has no effect on an inductive invariant",
    ),
    (
        ("invariant", "counter.toml", *SAFE, "--inductive", "x<=", "0", "9", "--plot", "p.svg"),
        "--plot: it has no effect on an inductive invariant",
    ),
    (
        ("invariant", "counter.toml", *SAFE, "--inductive", "x<=", "0", "9", "--eps", "0.1"),
        "--eps: it has no effect on `safe`",
    ),
    (
        ("invariant", "counter.toml", *SAFE, "--tighten", "x<=", "--between", "0", "9", "--plot", "p.pdf"),
        "--plot: `p.pdf` does not end in .svg",
    ),
    (
        (*("invariant", "counter.toml", *SAFE, "--engine", "bmc"), "--inductive", "x<=", "0", "9", "--fixed"),
        "--fixed: engine `bmc` has no such option",
    ),
    (("optimum", "counter.toml", "--property", "P<=0.5 [ F x = 3 ]"), "the threshold of the property"),
    (("heatmap", "counter.toml", *SAFE), "--property: `safe` is no probability"),
    (("heatmap", "counter.toml", *SAFE, *LIKELY), "--property: `safe` is no probability"),
    (("heatmap", "counter.toml", *LIKELY, "--svg", "a.png"), "--svg: `a.png` does not end in .svg"),
    (("heatmap", "counter.toml", *LIKELY, "--png", "a.svg"), "--png: `a.svg` does not end in .png"),
    (("heatmap", "counter.toml", *LIKELY, "--report", "a.pdf"), "--report: `a.pdf` does not end"),
    (("heatmap", "counter.toml", *LIKELY, "--json", "a.csv"), "--json: `a.csv` does not end"),
    (("heatmap", "counter.toml", *LIKELY, "--optimise", "max"), "--optimise: it has no effect unless"),
    (("heatmap", "counter.toml", *LIKELY, "--x", "x", "--y-down"), "--y-down: it has no effect without --y"),
    (
        ("heatmap", "counter.toml", *LIKELY, "--engine", "explicit", "--eps", "0.1"),
        "--eps: engine `explicit` has no such option",
    ),
    (
        ("heatmap", "counter.toml", *LIKELY, "--engine", "statistical", "--exact"),
        "--exact: engine `statistical` has no such option",
    ),
    (
        ("heatmap", "counter.toml", *LIKELY, "--engine", "statistical", "--no-certificates"),
        "--no-certificates: it has no effect on estimates",
    ),
    (("heatmap", *STORED, "--engine", "explicit"), "--engine: it has no effect on stored results"),
    (("heatmap", *STORED, "--eps", "0.1"), "--eps: it has no effect on stored results"),
    (("heatmap", *STORED, "--sweep", "N=1,2"), "--sweep: it has no effect on stored results"),
    (("heatmap", *STORED, "--starts", "x = 1"), "--starts: it has no effect on stored results"),
    (("heatmap", *STORED, "--policy", "p.onnx"), "--policy: it has no effect on stored results"),
    (("heatmap", *STORED, "--property", "likely"), "--property: it has no effect on stored results"),
    (("shield", "counter.toml", *SAFE, "--report", "r.html"), "--report: it has no effect on a model that"),
    (("shield", "counter.toml", *SAFE, "--steps", "9"), "--steps: it has no effect without --runs"),
    (("shield", "counter.toml", *SAFE, "--runs", "9"), "--runs: it is for models with real controls"),
    (("shield", "counter.toml", *SAFE, "--degree", "2"), "--degree: it is for models with real controls"),
    (("shield", "counter.toml", *SAFE, "--rule", "x"), "--rule: sketches are of real controls"),
    (("shield", "counter.toml", *SAFE, "--recheck", "counter.toml"), "--recheck: old sets are of real"),
    (("shield", "counter.toml", *SAFE, "--time", "steps"), "has no differential equation"),
    (("shield", "pendulum/within-90-degrees", "--bound", "0.9"), "--bound: it is for models with actions"),
    (("shield", "counter.toml", *SAFE, "--certificate", "c.txt"), "--certificate: `c.txt` does not end"),
    (("certify", *STORED, "--seed", "3"), "--seed: it has no effect without --problem"),
    (("certify", *STORED, "--json", "x.json"), "--json: it has no effect without --problem"),
    (("certify", *STORED, "--certificate", "c.txt"), "--certificate: `c.txt` does not end"),
    (("inspect", "counter.toml", "--output", "y"), "--output: it has no effect on this file"),
    (("inspect", "counter.toml", "--samples", "3"), "--samples: it has no effect on this file"),
    (("inspect", "counter.toml", "--activation", "tanh"), "--activation: it has no effect on this file"),
    (("inspect", "toy.onnx", "--const", "N=3"), "--const: it has no effect on this file"),
    (("inspect", "toy.onnx", "--activation", "tanh"), "activation"),
    (("estimate", "log.csv", "--problem", "counter.toml", "--variables", "x"), "--variables: it has no"),
    (("export", "toy/below-ten", "e.jani", "--property", "x"), "--property: it has no effect on a problem"),
    (("export", "counter.toml", "e.txt"), "FILE: `e.txt` does not end in .jani"),
    (("engines", "--property", "safe"), "--property: it is about a model"),
    (("study", "compare", "toy", "--engine", "explicit"), "--engine: it has no effect without figures"),
    (("study", "compare", "toy", "--eps", "0.1"), "--eps: it has no effect without figures"),
    (("study", "compare", "toy", "--seed", "1"), "--seed: it has no effect without figures"),
    (("study", "compare", "pendulum", "--eps", "0.1"), "--eps: it has no effect on figures of closed sets"),
    (("study", "figure", "control", "6", "--engine", "explicit"), "--engine: it has no effect on figures of"),
    (
        ("study", "compare", "control", "--workers", "2"),
        "--workers: it has no effect without figures of pred",
    ),
    (("study", "abstraction", "racetrack", "pa", "--cap", "3"), "--cap: it has no effect without --config"),
    (("study", "abstraction", "racetrack", "pa", "--every", "3"), "--every: it has no effect without --conf"),
    (("study", "abstraction", "toy", "pa"), "study `toy` has no figures of predicate abstraction"),
    (("study", "table", "control", "1", "--cap", "3"), "--cap: it has no effect on table 1"),
    (("study", "table", "control", "2", "--adversarial", "3"), "--adversarial: it has no effect on table 2"),
    (("study", "generalise", "aurora", "--plot", "p.pdf"), "--plot: `p.pdf` is no .svg or .html file"),
    (("study", "retrain", "aurora", "x", "--output", "p.txt"), "--output: `p.txt` is no .onnx file"),
    (("vnnlib", "toy.onnx", "s.vnnlib", "--report", "r.pdf"), "--report: `r.pdf` does not end"),
    (("vnnlib", "toy.onnx", "s.vnnlib", "--json", "r.json", "--certificate", "r.json"), "is the file of"),
]


@pytest.mark.parametrize(("arguments", "words"), OTHERS, ids=[" ".join(a) for a, _ in OTHERS])
def test_other_commands(
    command: Command, toy: Path, counter: Path, arguments: tuple[str, ...], words: str
) -> None:
    (counter.parent / "stored.json").write_text(json.dumps({"schema": 1}), "utf-8")
    (counter.parent / "log.csv").write_text("x\n1\n2\n", "utf-8")
    quiet = () if arguments[0] in ("inspect", "export", "engines", "estimate") else ("--quiet",)
    code, _, error = command(*arguments, *quiet)
    assert code == 2, error
    assert words in error


SEEN = {  # every option of every command: here, above, or without any circumstance in which it does nothing
    "check": "--policy --property --observe --normalize --trust-python --engine --ray --tier --memory "
    "--configuration --timeout --seed --workers --quiet --assume-invariant --normalise --runs --steps "
    "--order --taylor --pieces --halvings --run-directory --junit --sarif",
    "invariant": "--tighten --inductive --precision",
    "starts": "--parts",
    "optimum": "--optimise",
    "shield": "--set --squares --invariant --python --c",
    "faults": "--runs --by --ahead --shield --export",
    "estimate": "--controls --confidence --share",
    "heatmap": "--x --y --where --aggregate --quantity --end --range --checkpoints --curve --threshold "
    "--critical --title --columns",
    "vnnlib": "--format --solver",
    "inspect": "",
    "export": "--type",
    "certify": "--problem --base --timeout",
    "engines": "",
    "solvers": "",
    "study": "",
    "study compare": "",
    "study figure": "--folder",
    "study abstraction": "--folder --configuration --sample",
    "study table": "--problem --networks --runs --steps",
    "study generalise": "--policy",
    "study train": "--hidden --imitate",
    "doctor": "",
    "schema": "",
    "completion": "",
    "demo": "--folder",
    "sweep": "--csv --option --plan --value --where",
}


def test_the_table_knows_every_option() -> None:
    """A new option needs a line here: when would it be passed over?"""
    assert {name.partition(" ")[0] for name in SEEN} == set(COMMANDS)
    shared = {o for a, _ in [*CHECKED, *TOUCHED] for o in a if o.startswith("--")} | set(
        SEEN["check"].split()
    )
    context = click.Context(surefoot)
    every = dict(_commands_of(context, surefoot, ()))
    assert {" ".join(path) for path in every} >= set(SEEN)
    for path, found in every.items():
        options = {p.opts[0] for p in found.params if p.opts[0].startswith("--")}
        tried = {o for a, _ in OTHERS if a[: len(path)] == path for o in a if o.startswith("--")}
        known = tried | shared | set(SEEN.get(" ".join(path), "").split())
        assert options <= known, (path, sorted(options - known))


def _commands_of(
    context: click.Context, group: click.Group, before: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its name, those of a group after it."""
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield (*before, name), found
        if isinstance(found, click.Group):
            yield from _commands_of(context, found, (*before, name))
