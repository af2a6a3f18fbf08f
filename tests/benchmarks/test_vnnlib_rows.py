"""The benchmark of known answers notices a wrong answer, a false witness and a command that hangs."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from benchmarks import vnnlib_rows

SPECIFICATION = """(declare-const X_0 Real) ; y = 2 x
(declare-const Y_0 Real)
(assert (>= X_0 0.1))
(assert (<= X_0 0.75))
(assert (or (and (>= Y_0 1) (<= Y_0 (* 2 X_0))) (<= Y_0 -1)))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One row whose network doubles its input: sat for inputs of at least a half."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        "double",
        [helper.make_tensor_value_info("x", kind, [1, 1])],
        [helper.make_tensor_value_info("y", kind, [1, 1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (tmp_path / "net.onnx.gz").write_bytes(gzip.compress(model.SerializeToString()))
    (tmp_path / "spec.vnnlib").write_text(SPECIFICATION)
    (tmp_path / "answers.csv").write_text("onnx,vnnlib,answer\nnet.onnx,spec.vnnlib,sat\n")
    return tmp_path


def run(folder: Path, body: str, *more: str) -> tuple[int, dict[str, object]]:
    """The exit code and the only row when the command is a script with this body."""
    command = folder / "answering"
    command.write_text(f"#!{sys.executable}\nimport sys, time\n{body}\n")
    command.chmod(0o755)
    target = folder / "rows.json"
    given = [str(folder), "--command", str(command), "--json", str(target), *more]
    code = vnnlib_rows.main(given)
    return code, json.loads(target.read_text())["rows"][0]


def test_a_right_answer_is_replayed(folder: Path) -> None:
    code, row = run(folder, r"print('sat\n((X_0 0.5)\n (Y_0 1.0))')")
    assert (code, row["answer"], row["replay"], row["contradiction"]) == (0, "sat", "ok", False)


@pytest.mark.parametrize(
    ("witness", "why"),
    [
        ("((X_0 0.25) (Y_0 1.0))", "not satisfied: (or (and (>= Y_0 1) (<= Y_0 (* 2 X_0))) (<= Y_0 -1))"),
        ("((X_0 0.8) (Y_0 1.6))", "not satisfied: (<= X_0 0.75)"),
        ("((X_0 zero))", "the witness cannot be read: "),
        ("", "the witness cannot be read: "),
    ],
)
def test_a_false_witness_fails(folder: Path, witness: str, why: str) -> None:
    code, row = run(folder, f"print('sat\\n{witness}')")
    assert code == 1
    assert str(row["replay"]).startswith(why)


def test_the_box_is_exact(folder: Path) -> None:
    """The float32 number nearest to 0.1 is above it, the nearest to 0.7 is below it."""
    for bound, code in (("(>= X_0 0.7)", 1), ("(<= X_0 0.7)", 0)):
        (folder / "spec.vnnlib").write_text(SPECIFICATION + f"(assert {bound})")
        assert run(folder, r"print('sat\n((X_0 0.7) (Y_0 1.4))')")[0] == code


def test_a_contradiction_fails(folder: Path) -> None:
    code, row = run(folder, "print('unsat')")
    assert (code, row["contradiction"], row["replay"]) == (1, True, "")


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("print('unknown')", "unknown"),
        ("print('timeout')", "timeout"),
        ("sys.exit('error: no such file')", "error"),
        ("print('Sat')", "error"),
        ("time.sleep(60)", "timeout"),
    ],
)
def test_no_answer_is_no_contradiction(
    folder: Path, body: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vnnlib_rows, "GRACE", 0.4)
    code, row = run(folder, body, "--timeout", "1")
    assert (code, row["answer"], row["contradiction"]) == (0, answer, False)


def test_options_reach_the_command(folder: Path) -> None:
    body = "given = sys.argv[1:]\nprint('unknown' if given[-2:] == ['--solver', 'milp'] else 'unsat')"
    assert run(folder, body, "--solver", "milp")[1]["answer"] == "unknown"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--rows", "net sp*"], 0),
        (["--rows", "other*"], 2),
        (["--max-variables", "1"], 0),
        (["--max-variables", "0"], 2),
    ],
)
def test_rows_are_chosen(folder: Path, more: list[str], code: int) -> None:
    (folder / "rows.json").write_text('{"rows": [{}]}')
    assert run(folder, "print('unknown')", *more)[0] == code
