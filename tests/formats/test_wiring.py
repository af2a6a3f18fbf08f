# ruff: noqa: E501 - one text with its message on each line
"""Wiring: from the problem file, from a sidecar, from options; and what does not fit."""

from pathlib import Path

import numpy as np
import pytest
from tests.formats.test_problem_file import BODY, PROGRAM, load

from surefoot.errors import InvalidProblem
from surefoot.formats.normalization import NOT_NORMALISED
from surefoot.formats.problem_file import read_problem_file
from surefoot.formats.wiring import (
    PolicyWiring,
    Vocabulary,
    WiringChanges,
    change_wiring,
    read_wiring,
    wire_network,
    wiring_changes_from_options,
    wiring_from_options,
    wiring_path,
)
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.policy import Choose, EdgesOf, NeuralPolicy
from surefoot.problem.window import window
from surefoot.term.parser import parse_term
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Real

t = parse_term
PAGES = Path(__file__).parents[2] / "docs" / "reference"
NETWORK = '[policy]\nfile = "net.onnx"\nobserve = ["x", "x / N"]\nactions = ["go", "stay"]\n'
ASKED = '[properties]\na = "never x = 1"\n[constants]\nN = 4\n'


def test_a_network_is_wired_by_the_file_by_a_sidecar_or_by_options(write, tmp_path: Path) -> None:
    path = write(ASKED + BODY + NETWORK)
    policy = read_problem_file(path, load=load).policy
    assert isinstance(policy, NeuralPolicy)
    assert policy.network.name == "net.onnx"
    assert policy.observe == (Var("x"), t("x / 4"))
    assert policy.actions == ("go", "stay")
    assert policy.choose is Choose.ARGMAX
    assert policy.notes == (NOT_NORMALISED,)

    given = wiring_from_options("x / N, max(x, 1)", "stay,go", "sample")
    other = read_problem_file(path, policy=tmp_path / "other.onnx", wiring=given, load=load).policy
    assert isinstance(other, NeuralPolicy)
    assert other.network.name == "other.onnx"
    assert other.observe == (t("x / 4"), t("max(x, 1)"))
    assert other.choose is Choose.SAMPLE

    as_in_file = read_problem_file(path, policy=tmp_path / "other.onnx", load=load).policy
    assert isinstance(as_in_file, NeuralPolicy)
    assert as_in_file.actions == ("go", "stay")

    write('observe = ["x", "N"]\nedges_of = "main"\norder = [1, 0]\n', "other.wiring.toml")
    beside = read_problem_file(path, policy=tmp_path / "other.onnx", load=load).policy
    assert isinstance(beside, NeuralPolicy)
    assert beside.observe == (Var("x"), Const(4))
    assert beside.actions == EdgesOf("main", (1, 0))


def test_an_output_is_named_by_the_file_by_a_sidecar_or_by_an_option(write, tmp_path: Path) -> None:
    def named(**options: object) -> str:
        policy = read_problem_file(path, load=load, **options).policy
        assert isinstance(policy, NeuralPolicy)
        return policy.network.name

    other = tmp_path / "other.onnx"
    path = write(ASKED + BODY + NETWORK + 'output = "action"\n')
    assert named() == "net.onnx:action"
    assert named(output="value") == "net.onnx:value"
    assert named(policy=other) == "other.onnx:action"
    given = wiring_from_options("x, x", "go,stay")
    assert named(wiring=given) == "net.onnx:action"
    assert named(policy=other, wiring=given) == "other.onnx"

    wiring = 'observe = ["x", "N"]\nactions = ["go", "stay"]\n'
    write(wiring, "other.wiring.toml")
    assert named(policy=other) == "other.onnx"
    write(wiring + 'output = "beside"\n', "other.wiring.toml")
    assert named(policy=other) == "other.onnx:beside"
    path = write(ASKED + BODY + '[policy]\nfile = "other.onnx"\noutput = "action"\n')
    assert named() == "other.onnx:action"

    path = write(ASKED + BODY + PROGRAM)
    with pytest.raises(InvalidProblem, match="there is no network that could have an output `action`"):
        named(output="action")


def test_a_network_without_wiring_is_refused(write, tmp_path: Path) -> None:
    path = write(ASKED + BODY + '[policy]\nfile = "net.onnx"\n')
    write("a network", "net.onnx")
    with pytest.raises(InvalidProblem) as caught:
        read_problem_file(path, load=load)
    fix = "add `observe` and `actions`, or write net.wiring.toml beside it"
    assert str(caught.value) == f"{tmp_path / 'net.onnx'}: nothing says what the network observes; fix: {fix}"


def test_a_missing_network_is_named_where_it_is_written(write, tmp_path: Path) -> None:
    for policy in (NETWORK, '[policy]\nfile = "net.onnx"\n'):
        path = write(ASKED + BODY + policy)
        with pytest.raises(InvalidProblem) as caught:
            read_problem_file(path)
        fix = "check the path, which is relative to this file"
        assert str(caught.value) == f"{path}:13:9: there is no such file; fix: {fix}"
        with pytest.raises(InvalidProblem) as caught:
            read_problem_file(path, policy=tmp_path / "other.onnx")
        assert str(caught.value) == f"{tmp_path / 'other.onnx'}: there is no such file; fix: check the path"


def test_parts_of_a_wiring_can_be_replaced(write, tmp_path: Path) -> None:
    path = write(ASKED + BODY + NETWORK)
    changes = wiring_changes_from_options("stay, go", "sample")
    for policy in (None, tmp_path / "other.onnx"):
        changed = read_problem_file(path, policy=policy, wiring=changes, load=load).policy
        assert isinstance(changed, NeuralPolicy)
        assert changed.observe == (Var("x"), t("x / 4"))
        assert (changed.actions, changed.choose) == (("stay", "go"), Choose.SAMPLE)
    write('observe = ["x", "N"]\nactions = ["go", "stay"]\nchoose = "sample"\n', "other.wiring.toml")
    beside = read_problem_file(
        path, policy=policy, wiring=wiring_changes_from_options("stay,go"), load=load
    ).policy
    assert isinstance(beside, NeuralPolicy)
    assert beside.observe == (Var("x"), Const(4))
    assert (beside.actions, beside.choose) == (("stay", "go"), Choose.SAMPLE)
    with pytest.raises(InvalidProblem) as caught:
        read_problem_file(write(ASKED + BODY + PROGRAM), wiring=changes)
    assert (
        str(caught.value) == f"{path}: there is no network that could be wired; fix: give one with --policy"
    )


@pytest.mark.parametrize(
    ("changes", "actions", "choose"),
    [
        (WiringChanges(), ("a", "b"), Choose.SAMPLE),
        (WiringChanges(("c",)), ("c",), Choose.SAMPLE),
        (WiringChanges(choose=Choose.ARGMAX), ("a", "b"), Choose.ARGMAX),
        (WiringChanges(choose=Choose.VALUE), (), Choose.VALUE),
    ],
)
def test_what_is_not_replaced_stays(changes: WiringChanges, actions: tuple[str, ...], choose: Choose) -> None:
    result = change_wiring(PolicyWiring((Var("x"),), ("a", "b"), Choose.SAMPLE), changes)
    assert (result.observe, result.actions, result.choose) == ((Var("x"),), actions, choose)


def test_whoever_names_actions_chooses_among_them() -> None:
    assert (
        change_wiring(PolicyWiring((Var("x"),), (), Choose.VALUE), WiringChanges(("a",))).choose
        is Choose.ARGMAX
    )


def test_widths_that_do_not_fit_are_listed(write) -> None:
    path = write(ASKED + BODY + NETWORK.replace('"x", ', ""))
    with pytest.raises(InvalidProblem) as caught:
        read_problem_file(path, load=load)
    what = "the network has 2 inputs (0, 1) for 1 observed terms (x / 4)"
    assert str(caught.value) == f"{path}:policy: {what}; fix: list exactly one for each of the 2 inputs"


def test_normalisation_is_put_in_front_and_named(write) -> None:
    path = write(
        'observe = ["x", "y"]\nactions = ["a", "b"]\n[normalize]\nmean = [1, 2]\nvariance = [4, 0.25]\nepsilon = 0\n'
    )
    wiring = read_wiring(path)
    policy = wire_network(load(path).network, wiring, load(path).notes)
    assert infer_outputs(policy.network, np.array([[3, 3]], dtype=np.float32)).tolist() == [[1.0, 2.0]]
    assert len(policy.notes) == 1
    assert policy.notes[0].startswith("observations are normalised with the statistics of the wiring")


def test_windows_are_observed_whole_or_interleaved(write) -> None:
    vocabulary = Vocabulary(windows=(window("p", 2, Real()), window("q", 2, Real())))
    path = write('observe = ["q", "interleave(p, q)", "p_1"]\n')
    names = [v.name for v in read_wiring(path, vocabulary).observe]
    assert names == ["q_0", "q_1", "p_0", "q_0", "p_1", "q_1", "p_1"]
    assert wiring_path(Path("policy.onnx")) == Path("policy.wiring.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("choose = 'argmax'", ": `observe` is missing; fix: list the observed terms: observe = [\"x\", \"y\"]"),
        ("observe = ['x']\nchoose = 'argmx'", ":2:11: unknown way to choose `argmx`; fix: did you mean `argmax`?"),
        ("observe = ['x +']", ":1:16: the text ends where a number, a name or `(` is expected; fix: write what is missing"),
        ("observe = 'x'", ":1:12: `observe` has to be a list; fix: write observe = [\"x\", \"y\"]"),
        ("obsrve = ['x']", ":1:1: unknown key `obsrve`; fix: did you mean `observe`?"),
        ("observe = ['x']\norder = [1]", ":2:1: `order` needs `edges_of`; fix: name the component"),
        ("observe = ['x']\nactions = []\nedges_of = 'm'", ":2:1: both `actions` and `edges_of`; fix: keep one of them"),
        ("observe = ['interleave(p)']", ":1:13: unknown window `p`; fix: no names are declared"),
        ("observe = ['x']\nnormalize = {mean = [1]}", ":2:1: `normalize` has no `variance`; fix: give mean and variance of every observation"),
        ("observe = ['x']\nnormalize = {mean = [1], variance = [-1]}", ":2:1: a variance is negative, zero without epsilon, or not finite"),
        ("observe = ['x']\nnormalize = {mean = [1e9999], variance = [1]}", ":normalize.mean[0]: the number is too large for a float"),
    ],
)  # fmt: skip
def test_bad_wiring_is_refused(write, text: str, message: str) -> None:
    path = write(text, "policy.wiring.toml")
    with pytest.raises(InvalidProblem) as caught:
        read_wiring(path)
    assert str(caught.value) == f"{path}{message}"


@pytest.mark.parametrize(
    ("observe", "choose", "message"),
    [
        ("x +", "", "--observe:1:4: the text ends where a number, a name or `(` is expected; fix: write what is missing"),
        ("x y", "", "--observe:1:3: unexpected `y` where `,` is expected; fix: write commas between the terms"),
        ("x", "best", "--choose: unknown way to choose `best`; fix: known names: `argmax`, `argmax-applicable`, `value`, `sample`"),
    ],
)  # fmt: skip
def test_bad_options_are_refused(observe: str, choose: str, message: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        wiring_from_options(observe, "", choose)
    assert str(caught.value) == message


def test_edges_of_a_component_on_the_command_line() -> None:
    assert wiring_changes_from_options("edges_of( car )").actions == EdgesOf("car")
    assert wiring_from_options("x, y", "edges_of(car)").choose is Choose.ARGMAX
    assert wiring_changes_from_options("edges_of,car").actions == ("edges_of", "car")
