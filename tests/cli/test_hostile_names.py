"""Names from files are read and do nothing else: on the screen, in pages and pictures, in source code."""

from __future__ import annotations

import ast
import io
import json
import sys
from pathlib import Path

import pytest
from tests.cli.hostile import EVIL, evil, write_files

from surefoot.cli import run_command_line
from surefoot.visible import is_visible, make_visible
from surefoot_checker.__main__ import main as check_certificate

# What is run on the hostile files, and what is written then.
COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check", "{never}", "--json", "{out}/r.json", "--report", "{out}/r.html"),
    "check a chance": ("check", "{chance}", "--json", "{out}/r.json", "--report", "{out}/r.html"),
    "check by sampling": ("check", "{chance}", "--engine", "statistical", "--eps", "0.1"),
    "check a graph": ("check", "{never}", "--engine", "predicates", "--graph", "{out}/g.html"),
    "check a graph as dot": ("check", "{never}", "--engine", "predicates", "--graph", "{out}/g.dot"),
    "check jani": ("check", "{jani}", "--json", "{out}/r.json", "--report", "{out}/r.html"),
    "check with an unknown property": ("check", "{never}", "--property", EVIL),
    "check an unknown action": ("check", "{jani}", "--property", "never chosen(nobody)"),
    "check a missing file": ("check", "{out}/" + EVIL.replace("/", "|")),
    "invariant": ("invariant", "{never}", "--inductive", "`nobody`<=", "0", "3"),
    "starts": ("starts", "{never}", "--report", "{out}/r.html"),
    "optimum": ("optimum", "{value}", "--json", "{out}/r.json"),
    "shield": ("shield", "{never}", "--python", "{out}/g.py", "--c", "{out}/g", "--json", "{out}/r.json"),
    "heatmap": ("heatmap", "{chance}", "--svg", "{out}/h.svg", "--starts", "true", "--report",
                "{out}/h.html"),
    "sweep": ("sweep", "{never}", "{chance}", "--report", "{out}/s.html", "--run-directory", "{out}/run"),
    "vnnlib": ("vnnlib", "{network}", "{specification}", "--report", "{out}/r.html"),
    "inspect a problem": ("inspect", "{never}"),
    "inspect jani": ("inspect", "{jani}"),
    "inspect half a letter": ("inspect", "{half}"),
    "inspect a network": ("inspect", "{network}", "--samples", "0"),
    "inspect a specification": ("inspect", "{specification}"),
    "export": ("export", "{never}", "{out}/m.jani"),
    "engines": ("engines", "{never}"),
    "engines jani": ("engines", "{jani}"),
}  # fmt: skip


REFUSED = (
    "check with an unknown property",
    "check an unknown action",
    "check a missing file",
    "invariant",
    "inspect half a letter",
)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return write_files(tmp_path) | {"out": tmp_path}


def unseen(text: str) -> list[str]:
    return sorted({hex(ord(c)) for c in text if c != "\n" and not is_visible(c)})


def assert_harmless(text: str, where: str) -> None:
    assert unseen(text) == [], where
    assert not any(line.startswith("proved: all is well") for line in text.split("\n")), where


def assert_harmless_files(folder: Path) -> int:
    """Of pages, pictures and source code; JSON is data. How many were looked at."""
    found = [p for p in folder.iterdir() if p.suffix in (".html", ".svg", ".dot", ".py", ".c", ".h")]
    found = [p for p in found if p.is_file()]
    for path in found:
        text = path.read_text("utf-8")
        assert_harmless(text, path.suffix)
        assert path.suffix == ".py" or '<script>"' not in text
        if path.suffix == ".py":
            ast.parse(text)
    return len(found)


def call(arguments: tuple[str, ...], files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> int:
    code = run_command_line([a.format(**files) if a != EVIL else a for a in arguments])
    shown = capsys.readouterr()
    assert_harmless(shown.out, "stdout")
    assert_harmless(shown.err, "stderr")
    return code


@pytest.mark.parametrize("name", COMMANDS)
def test_no_name_acts(name: str, files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code = call(COMMANDS[name], files, capsys)
    assert code in (0, 1, 2, 3)
    written = [a for a in COMMANDS[name] if a.startswith("{out}/") and a.endswith((".html", ".svg", ".dot"))]
    assert assert_harmless_files(files["out"]) >= (len(written) if code != 2 else 0)
    assert (code == 2) == (name in REFUSED)


def test_what_is_certified_again(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """A result and its certificate; and both with names that were put into them by hand."""
    result, proof = files["out"] / "r.json", files["out"] / "c.json"
    files["never"].write_text(files["never"].read_text("utf-8").replace('= 3"', '> 5"'), "utf-8")
    run_command_line(
        ["check", str(files["never"]), "--json", str(result), "--certificate", str(proof), "--quiet"]
    )
    capsys.readouterr()
    assert call(("certify", "{out}/r.json"), files, capsys) == 0
    assert call(("certify", "{out}/c.json"), files, capsys) == 0
    data = json.loads(result.read_text())
    for path in (("problem",), ("engine",), ("verdict", "certificate", "kind"), ("source", "property")):
        changed = json.loads(result.read_text())
        part = changed
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = evil("\ud800" + path[-1])
        result.with_name("forged.json").write_text(json.dumps(changed))
        assert call(("certify", "{out}/forged.json"), files, capsys) != 4
    assert data["problem"] in evil("problem") + "/" + evil("q")


def test_the_checker_alone(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """By its own code."""
    proof = files["out"] / "c.json"
    run_command_line(["check", str(files["chance"]), "--certificate", str(proof), "--quiet"])
    capsys.readouterr()
    assert proof.is_file()
    hostile = [proof.read_text()]
    hostile.append(hostile[0].replace('"surefoot-certificate"', json.dumps(evil("\ud800"))))
    hostile.append(json.dumps({"surefoot-certificate": 1, "claim": {"kind": evil("\ud800kind")}}))
    hostile.append(json.dumps({"surefoot-certificate": evil("\ud800")}))
    for text in hostile:
        proof.write_text(text)
        code = check_certificate([str(proof)])
        shown = capsys.readouterr()
        assert_harmless(shown.out, "stdout")
        assert code == (0 if text is hostile[0] else 2)


def test_live_lines_and_colours_have_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal: what rich draws are its own escapes, and names are text."""

    class Terminal(io.StringIO):
        encoding = "utf-8"  # type: ignore[assignment]

        def isatty(self) -> bool:
            return True

    from surefoot.cli.progress import report_progress
    from surefoot.cli.terminal import open_screens

    err, out = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("TERM", "xterm-256color")
    with open_screens(), report_progress(False) as tell:
        tell("[bold]" + EVIL)
        from time import sleep

        sleep(0.4)
        print("a row")
    assert out.getvalue() == "a row\n"  # not to the terminal of stderr
    assert make_visible("[bold]x\x1b[1A") in err.getvalue()
    assert "\u202e" not in err.getvalue()


CHARACTERS = (
    "\x00\x08\t\x1b\x7f\x80\x9f\u00ad\u061c\u200b\u200d\u200e\u202a\u202e\u2028\u2029\u2060\u2066\u2069"
    "\ufeff\u3164\ufe0f\ud800\n\r\U000e0001\U000e0100"
)


@pytest.mark.parametrize("character", CHARACTERS, ids=ascii)
def test_what_is_not_seen_is_escaped(character: str) -> None:
    assert make_visible(f"a{character}b").isprintable()
    assert make_visible(f"a{character}b").isascii()


def test_what_is_seen_stays() -> None:
    assert make_visible("Größe λ₁ 速度 é ≤ …") == "Größe λ₁ 速度 é ≤ …"
