"""VNN-LIB 1: what the text means, how it becomes a problem, and the real queries beside the repository."""

import csv
import gzip
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.onnx import read_onnx_network
from surefoot.formats.vnnlib import (
    Specification,
    VnnlibWitness,
    no_float32_point,
    parse_vnnlib,
    problem_from_vnnlib,
    read_vnnlib_file,
    read_witness,
    witness_text,
    write_vnnlib,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.property import Never
from surefoot.problem.semantics import holds_in_state, is_initial, permitted_transitions
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import TRUE, Apply, Const, Op, Var, equal
from surefoot.term.value_types import Real

x, y = Var("X_0"), Var("Y_0")
DECLARED = "(declare-const X_0 Real)(declare-const Y_0 Real)"
BOX = "(assert (>= X_0 0))(assert (<= X_0 1))"


def constraint(formulas: str) -> object:
    """The constraint without the two bounds of the only input."""
    parsed = parse_vnnlib(DECLARED + BOX + formulas).constraint
    assert isinstance(parsed, Apply)
    return parsed.args[2:]


def test_reads_a_whole_specification() -> None:
    text = "; a comment (with parentheses\n(declare-const X_0 Real)\n(declare-fun Y_0 () Real)" + BOX
    assert parse_vnnlib(text + "(assert (<= Y_0 -1.5e-1)) ; the end") == Specification(
        inputs=1,
        outputs=1,
        low=(Fraction(0),),
        high=(Fraction(1),),
        constraint=(Const(0) <= x) & (x <= 1) & (y <= Fraction(-3, 20)),
    )


@pytest.mark.parametrize(
    ("formula", "meaning"),
    [
        ("(<= Y_0 1)", y <= 1),
        ("(>= Y_0 1)", Const(1) <= y),
        ("(< Y_0 1)", y < 1),
        ("(> Y_0 1)", Const(1) < y),
        ("(= Y_0 1)", equal(y, 1)),
        ("(<= (+ X_0 Y_0 1) (- Y_0))", Apply(Op.ADD, (x, y, Const(1))) <= -y),
        ("(<= (- X_0 Y_0 1) (* 2 Y_0))", (x - y) - 1 <= 2 * y),
        ("(<= (* X_0 Y_0) 1)", x * y <= 1),
        ("(<= Y_0 (- 1))", y <= -1),
        ("(<= Y_0 (* 2 (- 3 0.5)))", y <= 5),
        ("(<= Y_0 (+ 1 2 0.5))", y <= Const(Fraction(7, 2))),
        ("(<= Y_0 (- 1 2 0.5))", y <= Const(Fraction(-3, 2))),
        ("(<= Y_0 (* 1e30 1e30))", y <= Const(10**30) * Const(10**30)),
        ("(or (and (<= Y_0 1) (<= Y_0 X_0)) (<= 2 Y_0))", ((y <= 1) & (y <= x)) | (Const(2) <= y)),
        ("(or (<= Y_0 1))", y <= 1),
    ],
)
def test_formulas(formula: str, meaning: Apply) -> None:
    assert constraint(f"(assert {formula})") == (meaning,)


def test_assertions_are_a_conjunction_also_after_a_disjunction() -> None:
    parts = constraint("(assert (or (<= Y_0 1) (<= 5 Y_0)))(assert (<= 3 Y_0))")
    assert parts == ((y <= 1) | (Const(5) <= y), Const(3) <= y)


def test_strictness_is_kept() -> None:
    strict = parse_vnnlib(DECLARED + BOX + "(assert (< Y_0 1))").constraint
    weak = parse_vnnlib(DECLARED + BOX + "(assert (<= Y_0 1))").constraint
    at_the_edge = {"X_0": Fraction(1, 2), "Y_0": Fraction(1)}
    assert not evaluate_term(strict, at_the_edge)
    assert evaluate_term(weak, at_the_edge)


@pytest.mark.parametrize(
    ("bounds", "low", "high"),
    [
        ("(assert (or (and (>= X_0 0) (<= X_0 1)) (and (>= X_0 2) (<= X_0 3))))", 0, 3),
        ("(assert (or (and (>= X_0 0) (<= X_0 1)) (>= X_0 2)))(assert (<= X_0 9))(assert (>= X_0 -1))", 0, 9),
        ("(assert (= X_0 2))", 2, 2),
        ("(assert (> X_0 1))(assert (< X_0 2))", 1, 2),
        ("(assert (<= 1 X_0))(assert (>= 2 X_0))(assert (<= X_0 5))", 1, 2),
        ("(assert (and (or (and (= X_0 4)) (= X_0 6)) (<= X_0 5)))", 4, 5),
    ],
)
def test_box_is_the_hull_of_the_bounds(bounds: str, low: int, high: int) -> None:
    parsed = parse_vnnlib(DECLARED + bounds + "(assert (<= Y_0 0))")
    assert (parsed.low, parsed.high) == ((Fraction(low),), (Fraction(high),))


def test_numbers_are_exact() -> None:
    parsed = parse_vnnlib(DECLARED + "(assert (>= X_0 0.1))(assert (<= X_0 .3E0))(assert (<= Y_0 7.))")
    assert (parsed.low, parsed.high) == ((Fraction(1, 10),), (Fraction(3, 10),))
    assert parse_vnnlib(DECLARED + f"(assert (= X_0 0.{'3' * 9000}))(assert (<= Y_0 1e-9999))").inputs == 1


def test_the_largest_float32_number_is_in_range() -> None:
    largest = 340282346638528859811704183484516925440
    parsed = parse_vnnlib(DECLARED + f"(assert (= X_0 {largest}))(assert (<= Y_0 -{largest}))")
    assert parsed.high == (Fraction(largest),)
    assert no_float32_point(parsed) is None


def test_gzip_is_read_by_content(tmp_path: Path) -> None:
    text = DECLARED + BOX + "(assert (<= Y_0 0))"
    for name, data in (("a.vnnlib", text.encode()), ("b.vnnlib", gzip.compress(text.encode()))):
        (tmp_path / name).write_bytes(data)
        assert read_vnnlib_file(tmp_path / name) == parse_vnnlib(text)


def test_problem() -> None:
    text = "(assert (or (and (<= X_0 0.25)) (and (>= X_0 0.75))))(assert (<= Y_0 X_0))(assert (> X_0 0))"
    network = dense_network([([[2.0]], [0.0])])
    problem = problem_from_vnnlib(network, parse_vnnlib(DECLARED + BOX + text), "double")
    (variable,) = problem.environment.variables
    assert variable.kind == Real(Fraction(0), Fraction(1), float32=True)
    assert problem.environment.initial == ((x <= Fraction(1, 4)) | (Const(Fraction(3, 4)) <= x)) & (
        Const(0) < x
    )
    assert problem.property == Never(Var("output[0]") <= x, steps=0)
    assert isinstance(problem.policy, NeuralPolicy)
    assert problem.policy.choose is Choose.VALUE
    assert [c.name for c in problem.environment.controls] == ["Y_0"]
    assert [is_initial(problem.environment, {"X_0": Fraction(n, 8)}) for n in (0, 1, 4, 7)] == [0, 1, 0, 1]
    assert not holds_in_state(problem, {"X_0": Fraction(1, 8)}, problem.property.bad)
    assert permitted_transitions(problem, {"X_0": Fraction(1, 8)}) == ()


def test_problem_of_a_plain_box_has_no_other_start_condition() -> None:
    problem = problem_from_vnnlib(
        dense_network([([[1.0]], [0.0])]), parse_vnnlib(DECLARED + BOX + "(assert (<= Y_0 0))"), "q"
    )
    assert problem.environment.initial == TRUE
    assert holds_in_state(problem, {"X_0": Fraction(0)}, problem.property.bad)  # type: ignore[union-attr]


def test_widths_must_agree() -> None:
    specification = parse_vnnlib(DECLARED + BOX + "(assert (<= Y_0 0))")
    with pytest.raises(
        InvalidProblem, match="the network has 2 inputs and 1 outputs, the specification 1 and 1"
    ):
        problem_from_vnnlib(dense_network([([[1.0, 2.0]], [0.0])]), specification, "q")


@pytest.mark.parametrize(
    ("low", "high", "empty"),
    [
        ("0.1", "0.1", True),
        ("0.5", "0.5", False),
        ("0.1", "0.10000001", False),
        ("0.1", "0.100000001", True),
        ("-0.1", "-0.1", True),
        ("1e-50", "1e-46", True),
        ("-1e-50", "1e-50", False),
        ("16777217", "16777217", True),
    ],
)
def test_no_float32_point(low: str, high: str, empty: bool) -> None:
    text = DECLARED + f"(assert (>= X_0 {low}))(assert (<= X_0 {high}))(assert (<= Y_0 0))"
    sentence = no_float32_point(parse_vnnlib(text))
    assert (sentence is not None) is empty
    if sentence and low == "0.1" == high:
        assert sentence == "input X_0 lies between 0.1 and 0.1, where there is no float32 number"


def test_write_refuses_what_the_format_cannot_say() -> None:
    for term in (x <= Fraction(1, 3), Apply(Op.ABS, (y,)) <= 1, TRUE):
        with pytest.raises(Unsupported):
            write_vnnlib(Specification(1, 1, (Fraction(0),), (Fraction(1),), term))


def test_witness_in_the_form_of_the_competition() -> None:
    tenth = float(np.float32(0.1))
    text = witness_text([tenth, -0.0], [1e-45 * 0, 3.0])
    assert text == "sat\n((X_0 0.10000000149011612)\n (X_1 -0.0)\n (Y_0 0.0)\n (Y_1 3.0))\n"
    assert str(read_witness(text)) == str(VnnlibWitness((tenth, -0.0), (0.0, 3.0)))
    assert read_witness("(X_0 0.1)\n(Y_0 1)\n(X_1 -0)\n(Y_1 3e0)").inputs == (tenth, 0.0)


@pytest.mark.parametrize("value", [0.1, float("nan"), float("inf"), 1e300])
def test_witness_values_must_be_float32(value: float) -> None:
    with pytest.raises(InvalidProblem, match=r"X_0 = .* is not a float32 number"):
        witness_text([value], [0.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sat\n((X_0 1)\n (X_2 1))", "3:10: the witness has no value for X_1"),
        ("(X_0 1)(X_0 2)", "1:8: `X_0` has two values; fix: remove one of them"),
        ("(X_0 1_0)", "1:1: `1_0` is not a number; fix: write (X_0 0.25)"),
        ("(X_0 nan)", "1:1: `nan` is not a number; fix: write (X_0 0.25)"),
        ("(X_0 1e39)", "1:1: `1e39` is out of the range of float32"),
        ("((X_0))", "1:2: cannot read this value; fix: write (X_0 0.25)"),
        ("sat (Z_0 1)", "1:12: the witness has no value for Y_0"),
        ("unsat", "1:1: `unsat` stands outside any list; fix: put it in parentheses"),
    ],
)
def test_bad_witnesses(text: str, message: str) -> None:
    with pytest.raises(InvalidProblem) as error:
        read_witness(text)
    assert str(error.value) == message


@pytest.mark.shared_data
def test_every_shared_specification_is_read_and_written_back(shared_data: Path) -> None:
    paths = sorted((shared_data / "queries").rglob("*.vnnlib*"))
    assert len(paths) >= 140
    for path in paths:
        specification = read_vnnlib_file(path)
        assert parse_vnnlib(write_vnnlib(specification)) == specification
        assert all(low <= high for low, high in zip(specification.low, specification.high, strict=True))


@pytest.mark.shared_data
def test_fixed_inputs_of_pensieve_have_no_float32_point(shared_data: Path) -> None:
    sentence = no_float32_point(
        read_vnnlib_file(shared_data / "queries/nn4sys_pensieve/vnnlib/pensieve_simple_0.vnnlib")
    )
    assert sentence is not None
    assert sentence.startswith("input X_8 lies between 5.966128716865232 and 5.966128716865232")


def witnesses(folder: Path) -> list[tuple[Path, Path, Path]]:
    """(network, specification, witness) of each row whose witness is there."""
    found = []
    with (folder / "answers.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            network, specification = folder / row["onnx"], folder / row["vnnlib"]
            witness = folder / "ce" / f"{network.stem}_{specification.stem}.counterexample"
            if witness.exists():
                found.append((existing(network), existing(specification), witness))
    return found


def existing(path: Path) -> Path:
    return path if path.exists() else path.with_name(path.name + ".gz")


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("suite", "count"), [("acasxu", 20), ("sat_relu", 24), ("cersyve", 3), ("lsnc_relu", 5)]
)
def test_every_shared_witness_satisfies_its_specification(shared_data: Path, suite: str, count: int) -> None:
    """With the outputs of onnxruntime, in exact arithmetic and without any tolerance."""
    rows = witnesses(shared_data / "queries" / suite)
    assert len(rows) == count
    for network, specification_path, witness_path in rows:
        witness, specification = read_witness(witness_path.read_text()), read_vnnlib_file(specification_path)
        outputs = onnxruntime_outputs(network, witness.inputs)
        assert len(outputs) == specification.outputs
        point = {f"X_{i}": Fraction(v) for i, v in enumerate(witness.inputs)}
        values = point | {f"Y_{i}": Fraction(v) for i, v in enumerate(outputs)}
        box = zip(specification.low, point.values(), specification.high, strict=True)
        assert all(low <= value <= high for low, value, high in box)
        assert evaluate_term(specification.constraint, values)


@pytest.mark.shared_data
@pytest.mark.parametrize("suite", ["acasxu", "sat_relu", "cersyve", "lsnc_relu"])
def test_every_shared_witness_is_a_bad_start_of_its_problem(shared_data: Path, suite: str) -> None:
    """The same through `to_problem` and the reference semantics."""
    for network, specification, witness in witnesses(shared_data / "queries" / suite):
        problem = problem_from_vnnlib(
            read_onnx_network(network), read_vnnlib_file(specification), network.name
        )
        state = {f"X_{i}": Fraction(v) for i, v in enumerate(read_witness(witness.read_text()).inputs)}
        assert is_initial(problem.environment, state)
        assert isinstance(problem.property, Never)
        assert holds_in_state(problem, state, problem.property.bad)


def onnxruntime_outputs(path: Path, inputs: tuple[float, ...]) -> list[float]:
    runtime = pytest.importorskip("onnxruntime")
    data = path.read_bytes()
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    content = gzip.decompress(data) if path.suffix == ".gz" else data
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    (argument,) = session.get_inputs()
    shape = [d if isinstance(d, int) else 1 for d in argument.shape]
    feed = np.array(inputs, np.float32).reshape(shape)
    return [float(v) for v in session.run(None, {argument.name: feed})[0].reshape(-1)]
