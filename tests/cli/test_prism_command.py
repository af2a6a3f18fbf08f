"""PRISM models on the command line: questions by file, name and text, export, stored results."""

from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.formats.nnet import write_nnet
from surefoot.problem.network import dense_network

Command = Callable[..., tuple[int, str, str]]

WALK = """mdp
const int N;
module walk
  x : [0..N] init 0;
  [left]  x>0 & x<N -> (x'=x-1);
  [right] x<N -> 3/4 : (x'=x+1) + 1/4 : (x'=max(0,x-1));
endmodule
rewards "moves" [right] true : 1; endrewards
label "goal" = x=N;
"""
QUESTIONS = """// what is asked
const int k;
label "near" = x>=N-1;
Pmax=? [ F "goal" ];
"quick": Pmax=? [ F<=k "near" ];
"cost": R{"moves"}min=? [ F "goal" ];
"steady": S=? [ "goal" ];
"""


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.prism"
    path.write_text(WALK, encoding="utf-8")
    (tmp_path / "other.props").write_text(QUESTIONS, encoding="utf-8")
    return path


def test_a_property_file_that_is_named(walk: Path, command: Command) -> None:
    given = ("--const", "N=2", "--properties", walk.with_name("other.props"), "--engine", "explicit")
    code, out, _ = command("check", walk, *given, "--property", "1", "--property", "cost")
    assert code == 0
    assert "exactly 1: Pmax=? [ F (x = 2) ]" in out
    assert "Emin=? [ moves until x = 2 ]" in out
    code, out, _ = command("check", walk, *given, "--const", "k=1", "--property", "quick")
    assert code == 0
    assert "0.75" in out
    code, _, err = command("check", walk, *given, "--property", "quick")
    assert code == 2
    assert err == (
        f"error: {walk.with_name('other.props')}:5:22: constant `k` has no value;"
        " fix: give one: --const k=…\n"
    )
    code, _, err = command("check", walk, *given, "--const", "k=1")
    assert code == 2
    assert "steady-state probabilities are not supported" in err


def test_a_property_file_beside_the_model(walk: Path, command: Command) -> None:
    walk.with_suffix(".props").write_text('"all": Pmax=? [ F "goal" ];', encoding="utf-8")
    code, out, _ = command("check", walk, "--const", "N=3", "--engine", "explicit")
    assert code == 0
    assert "exactly 1" in out
    code, out, _ = command("inspect", walk, "--const", "N=3")
    assert code == 0
    assert "PRISM model (mdp)" in out
    assert "all:" in out


def test_nothing_is_asked(walk: Path, command: Command) -> None:
    code, _, err = command("check", walk, "--const", "N=2")
    assert code == 2
    assert err == (
        f"error: {walk}: there is no question about the model; fix: ask with --property, or give a file with"
        " --properties, such as `other.props`\n"
    )


def test_questions_in_both_syntaxes(walk: Path, command: Command) -> None:
    texts = ("never x > N", "never goal and x < N", "Pmax=? [ F goal ]", "Emin=? [ moves until x = N ]")
    for text in (*texts, 'R{"moves"}max=? [ C<=2 ]', 'filter(max, Pmin=? [ F "goal" ], x=1)'):
        code, _, err = command("check", walk, "--const", "N=2", "--engine", "explicit", "--property", text)
        assert code == 0, (text, err)


def test_a_stored_result_is_checked_again(walk: Path, tmp_path: Path, command: Command) -> None:
    stored = tmp_path / "result.json"
    given = ("--const", "N=2", "--properties", walk.with_name("other.props"), "--property", "cost")
    assert command("check", walk, *given, "--engine", "explicit", "--json", stored)[0] == 0
    code, out, _ = command("certify", stored)
    assert code == 0, out
    assert "accepted" in out


def test_export_and_back(walk: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "out.nm"
    code, _, err = command("export", walk, out, "--const", "N=2", "--property", 'Pmax=? [ F "goal" ]')
    assert (code, err) == (0, f"written: {out}\n")
    assert out.with_suffix(".props").exists()
    code, told, _ = command("check", out, "--engine", "explicit")
    assert code == 0
    assert "exactly 1" in told
    jani = tmp_path / "out.jani"
    assert command("export", walk, jani, "--const", "N=2", "--property", "Pmax=? [ F goal ]")[0] == 0
    code, told, _ = command("check", jani, "--engine", "explicit")
    assert code == 0
    assert "exactly 1" in told


def test_a_policy_is_wired_to_actions_of_modules(walk: Path, tmp_path: Path, command: Command) -> None:
    network = tmp_path / "right.nnet"
    write_nnet(dense_network([([[1], [-1]], [0, 0]), ([[0, 0], [0, 1]], [0, 1])]), network)
    wiring = ("--observe", "x", "--actions", "left, right", "--policy", network)
    asked = ("--property", 'P=? [ F "goal" ]', "--property", "never stalled")
    code, out, err = command("check", walk, "--const", "N=2", *wiring, *asked, "--engine", "explicit")
    assert code == 0, err
    assert "exactly 1" in out


def test_files_that_are_no_prism(tmp_path: Path, command: Command) -> None:
    empty = tmp_path / "empty.pm"
    empty.write_text("", encoding="utf-8")
    assert command("check", empty)[2].startswith(f"error: {empty}: the file is empty")
    binary = tmp_path / "binary.pm"
    binary.write_bytes(bytes(range(256)))
    code, _, err = command("check", binary)
    assert code == 2
    assert err.count("\n") == 1
    code, _, err = command("check", tmp_path / "none.prism")
    assert code == 2
    assert "there is no such file" in err


@pytest.mark.parametrize("kind", ["ctmc", "ma"])
def test_time_is_refused_in_every_form(kind: str, tmp_path: Path, command: Command) -> None:
    path = tmp_path / "timed.sm"
    path.write_text(
        f"{kind}\nmodule m x : [0..2]; <> x<2 -> 3 : (x'=x+1); endmodule\nrewards true : 1; endrewards\n",
        encoding="utf-8",
    )
    for text in ("Pmax=? [ F<=2 x=2 ]", "P=? [ x<2 U[1,2] x=2 ]", "P>0.5 [ G<2 x<2 ]"):
        code, out, err = command("check", path, "--property", text)
        assert (code, out) == (2, ""), text
        assert f"bounds on time in models of type {kind} are not supported" in err
    for text in (
        "Rmax=? [ F x=2 ]",
        "R=? [ C<=2 ]",
        "R=? [ I=2 ]",
        "S=? [ x=2 ]",
        "Emax=? [ rewards_1 until x = 2 ]",
    ):
        assert command("check", path, "--property", text)[0] == 2, text
