"""No answer is lost to an encoding, a reader that is gone, a full disk or a file that cannot be written."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys
from importlib.resources import files as resources
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from surefoot import api
from surefoot.cli import output, run_command_line
from surefoot.cli.terminal import spell_in_encoding

WALK = """
name = "Größe λ…"
initial = "`größe` = 0"
[variables]
"größe" = "int 0..3"
[[edges]]
action = "weiter→"
guard = "`größe` < 3"
updates = { "größe" = "`größe` + 1" }
[properties]
"nie ∞" = "never `größe` = 3"
"sicher" = "never `größe` > 5"
"wie oft" = "Pmax=? [ F `größe` = 2 ]"
"""
COMMANDS: dict[str, tuple[int, tuple[str, ...]]] = {
    "violated": (1, ("check", "{walk}", "--property", "nie ∞")),
    "proved": (0, ("check", "{walk}", "--property", "sicher")),
    "value": (0, ("check", "{walk}", "--property", "wie oft")),
    "unknown": (3, ("check", "{walk}", "--property", "nie ∞", "--engine", "explicit", "--max-states", "2")),
    "json": (1, ("check", "{walk}", "--property", "nie ∞", "--json", "-")),
    "starts": (1, ("starts", "{walk}", "--property", "nie ∞")),
    "optimum": (0, ("optimum", "{walk}", "--property", "wie oft")),
    "heatmap": (0, ("heatmap", "{walk}", "--property", "wie oft", "--starts", "true")),
    "sweep": (1, ("sweep", "{walk}", "--property", "nie ∞", "--property", "wie oft", "--workers", "1")),
    "shield": (3, ("shield", "{walk}", "--property", "nie ∞")),
    "engines": (0, ("engines", "{walk}")),
    "solvers": (0, ("solvers",)),
    "inspect": (0, ("inspect", "{walk}")),
    "inspect a network": (0, ("inspect", "{network}", "--samples", "0")),
    "vnnlib": (1, ("vnnlib", "{network}", "{specification}")),
    "certify": (1, ("certify", "{stored}")),
    "study": (0, ("study", "show", "toy")),
    "studies": (0, ("study", "list")),
    "export": (0, ("export", "{walk}", "{out}/größe.jani")),
    "help": (0, ("--help",)),
    "help of check": (0, ("check", "--help")),
    "error": (2, ("check", "{walk}", "--property", "niemals …")),
    "bad option": (2, ("check", "--größe")),
}
ENCODINGS = ("ascii", "cp1252", "utf-8")
SPECIFICATION = """(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)
(assert (>= X_0 -1))(assert (<= X_0 1))(assert (>= X_1 -1))(assert (<= X_1 1))(assert (>= Y_0 0))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("größe…")
    paths = {
        "walk": folder / "größe….toml",
        "network": folder / "netz.onnx",
        "specification": folder / "frage….vnnlib",
        "stored": folder / "ergebnis.json",
        "out": folder,
    }
    paths["walk"].write_text(WALK, "utf-8")
    paths["network"].write_bytes(
        resources("surefoot_studies.toy").joinpath("assets", "toy.onnx").read_bytes()
    )
    paths["specification"].write_text(SPECIFICATION, "utf-8")
    code = run_command_line(
        ["check", str(paths["walk"]), "--property", "nie ∞", "--json", str(paths["stored"]), "--quiet"]
    )
    assert code == 1
    stored = json.loads(paths["stored"].read_text("utf-8"))
    stored["problem"] = "niemand…"
    paths["stored"].write_text(json.dumps(stored), "utf-8")
    return paths


@pytest.mark.parametrize("name", COMMANDS)
def test_no_encoding_loses_an_answer(
    name: str, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is the same, every line is there, and what an encoding has is as it is in another."""
    wanted, command = COMMANDS[name]
    arguments = [a.format(**files) for a in command]
    shown: dict[str, list[str]] = {}
    for encoding in (*ENCODINGS, *(("latin-1", "koi8-r", "utf-16") if name == "violated" else ())):
        out, err = io.BytesIO(), io.BytesIO()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", io.TextIOWrapper(out, encoding=encoding, errors="strict"))
            patched.setattr(sys, "stderr", io.TextIOWrapper(err, encoding=encoding, errors="strict"))
            code = run_command_line(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            text = out.getvalue().decode(encoding) + err.getvalue().decode(encoding)
        assert code == wanted, encoding
        assert "internal" not in text
        shown[encoding] = [line for line in text.split("\n") if not timed(line)]
    whole = shown["utf-8"]
    assert any(whole)
    for encoding, lines in shown.items():
        assert lines == [spell_in_encoding(line, encoding) for line in whole], encoding


def timed(line: str) -> bool:
    """Seconds differ from run to run."""
    return re.search(r"[0-9] s\b|seconds", line) is not None or '"' in line


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"},
    ],
    ids=str,
)
def test_locales(environment: dict[str, str], files: dict[str, Path]) -> None:
    """As a user has them, from outside; the file's own name cannot be written in some."""
    walk = files["out"] / "walk.toml"
    walk.write_text(WALK, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "surefoot", "check", str(walk), "--property", "nie \\u221e", "--quiet"],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")  # there is no property of that name
    done = subprocess.run(
        [sys.executable, "-m", "surefoot", "check", str(walk), "--property", "sicher", "--quiet"],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"proved")
    assert b"internal" not in done.stderr


def shell(command: str, *arguments: object) -> tuple[int, str, str]:
    """Through bash, whose pipes and redirections users write."""
    line = [sys.executable, "-m", "surefoot"]
    done = subprocess.run(
        ["bash", "-c", f'set -o pipefail; surefoot() {{ {" ".join(line)} "$@"; }}; {command}', "-",
         *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


FULL = "error: stdout: No space left on device; fix: let it go to a file that can be written\n"


@pytest.mark.parametrize(("asked", "code"), [("nie ∞", 1), ("sicher", 0)])
def test_a_full_disk_changes_no_verdict(
    asked: str, code: int, files: dict[str, Path], tmp_path: Path
) -> None:
    result = tmp_path / "r.json"
    command = 'surefoot check "$1" --property "$2" --json "$3" --quiet > /dev/full'
    assert shell(command, files["walk"], asked, result) == (code, "", FULL)
    assert json.loads(result.read_text("utf-8"))["verdict"]["kind"] == ("violated" if code else "proved")


def test_other_streams_that_cannot_be_written(files: dict[str, Path], tmp_path: Path) -> None:
    walk, result = files["walk"], tmp_path / "r.json"
    assert shell('surefoot inspect "$1" > /dev/full', walk) == (4, "", FULL)
    assert shell('surefoot check "$1" --property "nie ∞" --quiet 2> /dev/full | head -1', walk) == (
        1, "violated after 3 steps: never `größe` = 3\n", ""
    )  # fmt: skip
    code, out, err = shell('surefoot check "$1" --property sicher --quiet --json "$2" >&-', walk, result)
    assert (code, out, err) == (
        0,
        "",
        "error: stdout: it is closed; fix: let it go to a file that can be written\n",
    )
    assert json.loads(result.read_text("utf-8"))["verdict"]["kind"] == "proved"
    assert shell('surefoot check "$1" --property "nie ∞" >&- 2>&-', walk) == (1, "", "")


def test_a_reader_that_is_gone(files: dict[str, Path]) -> None:
    """`| head -1` and `| true`: no traceback, and the verdict's code."""
    command = 'surefoot engines "$1" | head -1; surefoot check "$1" --property "nie ∞" --json - | true'
    code, out, err = shell(command, files["walk"])
    assert (code, out.count("\n"), err) == (1, 1, "")


def test_the_checker_alone_on_streams_that_cannot_be_written(files: dict[str, Path], tmp_path: Path) -> None:
    proof = tmp_path / "proof….json"
    run_command_line(
        ["check", str(files["walk"]), "--property", "sicher", "--certificate", str(proof), "--quiet"]
    )
    checker = f"{sys.executable} -m surefoot_checker"
    assert shell(f'{checker} "$1" > /dev/full', proof)[0] == 0
    assert shell(f'{checker} "$1" | true', proof)[::2] == (0, "")
    code, out, err = shell(f'PYTHONIOENCODING=ascii {checker} "$1"', proof)
    assert (code, err) == (0, "")
    assert out.isascii()
    assert "Gr\\xf6\\xdfe" in out


# Outputs of every command that has some: tried before the work, and no reason to lose a verdict after it.

OUTPUTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "check": (("check", "{walk}", "--property", "sicher"), ("--json", "--report", "--certificate")),
    "graph": (("check", "{walk}", "--property", "sicher", "--engine", "predicates"), ("--graph",)),
    "invariant": (
        ("invariant", "{walk}", "--property", "sicher", "--tighten", "`größe`<=", "--between", "0", "9"),
        ("--json", "--plot", "--report"),
    ),
    "starts": (("starts", "{walk}", "--property", "sicher"), ("--json", "--report")),
    "optimum": (("optimum", "{walk}", "--property", "wie oft"), ("--json",)),
    "heatmap": (
        ("heatmap", "{walk}", "--property", "wie oft", "--starts", "true"),
        ("--svg", "--png", "--json", "--report"),
    ),
    "shield": (("shield", "{walk}", "--property", "sicher"), ("--json", "--certificate", "--report", "--c")),
    "vnnlib": (("vnnlib", "{network}", "{specification}"), ("--json", "--certificate", "--report")),
    "export": (("export", "{walk}"), ("",)),
    "estimate": (("estimate", "{log}", "--variables", "x"), ("--json",)),
    "certify": (("certify", "{stored}", "--problem", "{walk}"), ("--json", "--certificate")),
    "study retrain": (("study", "retrain", "aurora", "safety-excellent/aurora-48"), ("--output",)),
    "study generalise": (("study", "generalise", "aurora"), ("--plot",)),
}
ENDINGS = {"--graph": ".dot", "": ".jani", "--output": ".onnx"}


@pytest.mark.parametrize(("name", "option"), [(n, o) for n, (_, several) in OUTPUTS.items() for o in several])
def test_outputs_are_tried_before_the_work(
    name: str, option: str, files: dict[str, Path], tmp_path: Path, command: Command
) -> None:
    """A folder that is not there, a folder, a name too long, an input, one without room: one line, exit 2."""
    ending = ENDINGS.get(option, "")
    folder = tmp_path / f"folder{ending}"
    folder.mkdir()
    if option == "--c":
        (tmp_path / "folder.c").mkdir()
    bad = [tmp_path / "nowhere" / f"x{ending}", folder, tmp_path / f"{'x' * 300}{ending}"]
    if name in ("check", "starts", "optimum", "heatmap", "shield") and option != "--c":
        bad.append(files["walk"])
    (files["out"] / "log.csv").write_text("x\n1\n2\n3\n")
    before = sorted(tmp_path.rglob("*"))
    arguments = [a.format(**files, log=files["out"] / "log.csv") for a in OUTPUTS[name][0]]
    for path in bad:
        code, out, err = command(*arguments, *filter(None, (option,)), path)
        assert (code, out) == (2, ""), (path, err)
        assert err.startswith((f"error: {option or 'FILE'}: ", "error: the header of --c: "))
        assert err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_two_outputs_are_not_one_file(files: dict[str, Path], tmp_path: Path, command: Command) -> None:
    walk, once = files["walk"], tmp_path / "once"
    (tmp_path / "link").symlink_to(once)
    pairs = {
        "starts": ("--json", "--report"),
        "check": ("--json", "--certificate"),
        "invariant": ("--plot", "--report"),
        "heatmap": ("--svg", "--png"),
        "vnnlib": ("--json", "--report"),
        "shield": ("--json", "--python"),
    }
    for name, (first, second) in pairs.items():
        about = (files["network"], files["specification"]) if name == "vnnlib" else (walk,)
        given = ("--tighten", "`größe`<=", "--between", "0", "9") if name == "invariant" else ()
        code, out, err = command(name, *about, *given, first, once, second, tmp_path / "link")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "is the file of" in err
        assert not once.exists()


def test_a_folder_that_may_not_be_written(
    files: dict[str, Path], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(output.tempfile, "mkstemp", refuse)
    code, out, err = command("check", files["walk"], "--report", tmp_path / "r.html")
    assert (code, out) == (2, "")
    assert err.startswith("error: --report: ")
    assert "Read-only file system" in err


@pytest.mark.parametrize("asked", ["nie ∞", "sicher"])
def test_a_failed_report_changes_no_verdict(
    asked: str, files: dict[str, Path], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full by then, or the page cannot be made: an error line, and the verdict stands."""
    want = ("violated", 1) if asked == "nie ∞" else ("proved", 0)
    options = ("--property", asked, "--quiet", "--json", tmp_path / "r.json", "--report", "/dev/full")
    code, out, err = command("check", files["walk"], *options)
    assert (code, out.startswith(want[0])) == (want[1], True)
    assert err == "error: `/dev/full` cannot be written: No space left on device\n"
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["verdict"]["kind"] == want[0]

    def fails(_: object) -> str:
        raise ZeroDivisionError("no picture\x1b[2K")

    monkeypatch.setattr(api, "render_result_page", fails)
    options = ("--property", asked, "--quiet", "--report", tmp_path / "r.html")
    code, out, err = command("check", files["walk"], *options)
    assert (code, out.startswith(want[0])) == (want[1], True)
    assert err.startswith("error: `")
    assert err.endswith("is not written: internal: ZeroDivisionError: no picture\\x1b[2K; fix: report this\n")
    assert not (tmp_path / "r.html").exists()


def test_files_are_there_before_the_screen(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    class Watching(io.StringIO):
        def write(self, text: str) -> int:
            seen.append(sorted(p.name for p in tmp_path.iterdir()))
            return super().write(text)

    monkeypatch.setattr(sys, "stdout", Watching())
    options = ["--json", str(tmp_path / "r.json"), "--report", str(tmp_path / "r.html")]
    options += ["--certificate", str(tmp_path / "c.json"), "--quiet"]
    assert run_command_line(["check", str(files["walk"]), "--property", "sicher", *options]) == 0
    assert seen[0] == ["c.json", "r.html", "r.json"]


def test_devices_and_links_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    real.write_text("old")
    link.symlink_to(real)
    api.write_file(link, "new")
    assert (real.read_text(), link.is_symlink()) == ("new", True)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    api.write_file(pipe, "through")
    assert os.read(reader, 20) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
