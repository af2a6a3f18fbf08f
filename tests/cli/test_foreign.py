"""`surefoot certify FILE --problem MODEL`: others' barriers are proved, refuted by a state, or open."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from surefoot.certify.barrier.counterexample import confirm_escaping_step, evaluate_barrier
from surefoot.cli import run_command_line
from surefoot.engines.barrier import foreign_barrier
from surefoot.engines.barrier.foreign_barrier import foreign_barrier_term
from surefoot.errors import InvalidProblem
from surefoot.formats.barrier_file import read_barriers, read_polynomial
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.query.polynomial import Polynomial
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.shields import foreign_judgement as judged_barrier
from surefoot.shields.foreign_judgement import as_stated_problem
from surefoot.term.term import TRUE
from surefoot_studies.control.problem import stays_safe

ELLIPSE = "x1**2 + 0.9*x2^2 - 2"


def outcome(
    capsys: pytest.CaptureFixture[str], folder: Path, data: dict[str, Any], *more: str
) -> tuple[int, str, str]:
    (folder / "theirs.json").write_text(json.dumps(data))
    arguments = [str(folder / "theirs.json"), "--problem", "control/satellite", "--quiet", *more]
    code = run_command_line(["certify", *arguments])
    seen = capsys.readouterr()
    return code, seen.out, seen.err


def test_a_true_one_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = tmp_path / "proof.json"
    data = {"barriers_le_0": [ELLIPSE], "program": [["-x1 + 0.5*x2"]], "comment": "is not looked at"}
    code, out, _ = outcome(
        capsys, tmp_path, data, "--certificate", str(proof), "--json", str(tmp_path / "all")
    )
    assert code == 0, out
    assert "as executed (the problem's arithmetic, controls clipped): accepted" in out
    assert run_command_line(["certify", str(proof)]) == 0
    found = json.loads((tmp_path / "all").read_text())
    assert found["systems"]["executed"]["conditions"]["steps"]["word"] == "proved"


def test_a_true_one_is_proved_by_projections(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if its matrices were wide; a larger set of the same shape has unsafe states, and is not proved."""
    monkeypatch.setattr(foreign_barrier, "WIDE", 1)
    data = {"barriers_le_0": [ELLIPSE], "program": [["-x1 + 0.5*x2"]]}
    code, out, _ = outcome(capsys, tmp_path, data, "--certificate", str(tmp_path / "proof.json"))
    assert code == 0, out
    assert run_command_line(["certify", str(tmp_path / "proof.json")]) == 0
    data = {"barriers_le_0": ["x1**2 + x2**2 - 9"], "program": [["-x1 + 0.5*x2"]]}
    assert outcome(capsys, tmp_path, data, "--timeout", "4")[0] == 1


@pytest.mark.parametrize(
    ("barrier", "gains", "condition"),
    [
        (ELLIPSE, [[-1, 2]], "steps"),
        ("x1**2 + x2**2 - 1", [[-1, 0.5]], "starts"),
        ("x1**2 + x2**2 - 9", [[-1, 0.5]], "unsafe"),
    ],
)
def test_a_false_one_is_refuted_by_a_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], barrier: str, gains: list[Any], condition: str
) -> None:
    data = {"barriers_le_0": [barrier], "K": [gains]}
    code, out, _ = outcome(capsys, tmp_path, data, "--json", "-", "--timeout", "2")
    assert code == 1
    answer = json.loads(out)["systems"]["executed"]["conditions"][condition]
    assert answer["word"] == "refuted"
    read = read_barriers(tmp_path / "theirs.json", ["x1", "x2"], ["u1"])
    shown = answer["counterexample"]
    state = {n: Fraction(v) for n, v in shown["state"].items()}
    terms = read[0].barrier
    names = list(state)
    at = sum(c * state[names[0]] ** a * state[names[1]] ** b for (a, b), c in terms.items())
    assert abs(at - Fraction(shown["barrier"])) < Fraction(1, 10**12)  # there the numbers are doubles
    if condition == "steps":
        after = {n: Fraction(v) for n, v in shown["next"].items()}
        assert sum(c * after[names[0]] ** a * after[names[1]] ** b for (a, b), c in terms.items()) > 0
        assert at <= 0


@pytest.mark.parametrize(
    "data",
    [
        {"barriers_le_0": []},
        {"barriers_le_0": ["x1"], "K": [[[1, 2, 3]]]},
        {"barriers_le_0": ["x1 + y"], "K": [[[1, 2]]]},
        {"barriers_le_0": ["(x1 + 1)*x2"], "K": [[[1, 2]]]},
        {"barriers_le_0": ["x1", "x2"], "K": [[[1, 2]]]},
        {"barriers_le_0": ["x1**x2"], "K": [[[1, 2]]]},
        {"barriers_le_0": ["x1"], "K": [[["1", 2]]]},
        {"barriers_le_0": ["0*x1"], "K": [[[1, 2]]]},
        {"barriers_le_0": ["1e400*x1**2 - 1"], "K": [[[1, 2]]]},
        {"barriers_le_0": ["x1"], "K": [[[10**400, 2]]]},
        {"barriers_le_0": ["x1"], "K": [[[1, 2]]], "variables": [1, 2]},
        {"barriers_le_0": ["x1"], "K": [[[1, 2]]], "variables": [["x1"], ["x2"]]},
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: dict[str, Any]
) -> None:
    code, out, err = outcome(capsys, tmp_path, data)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1


def test_a_number_with_a_huge_exponent_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "theirs.json").write_text('{"barriers_le_0": ["x1"], "K": [[[1e999999999, 2]]]}')
    with pytest.raises(InvalidProblem, match="beyond 1e300"):
        read_barriers(tmp_path / "theirs.json", ["x1", "x2"], ["u1"])


def test_names_of_the_problem_come_before_numbered_ones(tmp_path: Path) -> None:
    (tmp_path / "theirs.json").write_text(json.dumps({"barriers_le_0": ["x1**2 - 1"], "K": [[[1, 2]]]}))
    for names, monomial in ((["x0", "x1"], (0, 2)), (["x2", "x1"], (0, 2)), (["speed", "way"], (2, 0))):
        (rule,) = read_barriers(tmp_path / "theirs.json", names, ["u1"])
        assert set(rule.barrier) == {monomial, (0, 0)}


def test_a_start_on_the_edge_of_the_published_set_is_no_refutation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """0.1 + 0.2 - 0.3 is 0, but not in doubles."""
    data = {"barriers_le_0": ["0.1*x1**2 + 0.2*x2**2 - 0.3"], "K": [[[-1, 0.5]]]}
    _, out, _ = outcome(capsys, tmp_path, data, "--json", "-", "--timeout", "2")
    assert json.loads(out)["systems"]["executed"]["conditions"]["starts"]["word"] == "unknown"


def test_without_a_problem_nothing_can_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "theirs.json").write_text(json.dumps({"barriers_le_0": ["x1"], "K": [[[1, 2]]]}))
    assert run_command_line(["certify", str(tmp_path / "theirs.json")]) == 2
    assert "--problem" in capsys.readouterr().err


def test_an_interruption_keeps_what_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(judged_barrier, "prove_foreign_set", interrupted)
    data = {"barriers_le_0": ["x1**2 + x2**2 - 1"], "K": [[[-1, 0.5]]]}
    code, out, _ = outcome(capsys, tmp_path, data)
    assert code == 130
    assert "a start is in no set" in out
    assert "interrupted: this is what was found before" in out


def test_polynomials_mean_what_is_written() -> None:
    read = read_polynomial("-2*x**2*y + 3e-2 - -y*x*x + 1.5*y", ["x", "y"])
    assert read == {(2, 1): Fraction(-1), (0, 0): Fraction(3, 100), (0, 1): Fraction(3, 2)}
    for wrong in ("2 x", "x +", "*x", "x**-1", "x**99"):
        with pytest.raises(InvalidProblem):
            read_polynomial(wrong, ["x"])


@pytest.mark.parametrize("name", ["lane_keeping", "biology"])
def test_the_published_false_ones_are_refuted(
    name: str, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a state of our own, and the states that were published with them are confirmed exactly."""
    file = shared_data / "control" / "shields" / f"{name}.json"
    study = f"control/{name.replace('_', '-')}"
    code = run_command_line(
        ["certify", str(file), "--problem", study, "--quiet", "--json", "-", "--timeout", "12"]
    )
    data = json.loads(capsys.readouterr().out)
    assert code == 1
    for system in ("stated", "executed"):
        assert data["systems"][system]["conditions"]["steps"]["word"] == "refuted"
    problem = discretise(as_stated_problem(stays_safe(name.replace("_", "-"))))
    system_ = read_control_system(problem)
    (rule,) = read_barriers(file, system_.variables, [c for c, _, _ in system_.controls])
    published = json.loads((file.parent / "REFUTED_counterexamples.json").read_text())[name]
    state = dict(zip(system_.variables, map(Fraction, published["state"]), strict=True))
    barrier = foreign_barrier_term(system_, Polynomial(rule.barrier), system_.rounded)
    alone = ProgramPolicy((Branch(TRUE, rule.then),))
    chosen = {"wind": Fraction(7, 200)} if name == "lane_keeping" else {}
    found = confirm_escaping_step(
        type(problem)(problem.name, problem.environment, alone, problem.property), barrier, state, chosen
    )
    assert found is not None
    assert float(evaluate_barrier(barrier, state)) == pytest.approx(published["B_now"])
    assert found.after is not None
    assert float(found.after) == pytest.approx(published["B_next"])


def test_one_of_ten_variables_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Matrices of 66 monomials: a chain in which each variable follows the one before it."""
    names = [f"x{i}" for i in range(1, 11)]
    box = " and ".join(f"-0.5 <= {n} <= 0.5" for n in names)
    bad = " or ".join(f"{n} > 2 or {n} < -2" for n in names)
    flow = [f'{b} = "{a} - 2 * {b}"' for a, b in pairwise(names)]
    lines = [
        'name = "chain"',
        'arithmetic = "float64"',
        f'initial = "{box}"',
        "[variables]",
        *(f'{n} = "real"' for n in names),
        "[controls]",
        'u = "[-5, 5]"',
        "[flow]",
        "step = 0.02",
        'method = "euler"',
        "[flow.derivatives]",
        'x1 = "-x1 + u"',
        *flow,
        "[[edges]]",
        "[properties]",
        f'stays = "never {bad}"',
    ]
    (tmp_path / "chain.toml").write_text("\n".join(lines))
    barrier = " + ".join([*(f"{n}**2 + 0.25*{n}**4" for n in names), "0.1*x1*x2*x3", "0.1*x4**2*x5**2"])
    data = {"barriers_le_0": [f"{barrier} - 3"], "program": [["-x1"]]}
    (tmp_path / "theirs.json").write_text(json.dumps(data))
    arguments = [str(tmp_path / "theirs.json"), "--problem", str(tmp_path / "chain.toml"), "--timeout", "200"]
    code = run_command_line(["certify", *arguments, "--quiet", "--certificate", str(tmp_path / "proof.json")])
    out = capsys.readouterr().out
    assert code == 0, out
    assert "as stated (exact numbers, controls without limits): accepted" in out
