"""Several networks chosen by a condition, and controls that are affine terms over outputs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.closed_loop_rows import write_closed_loop_row

from surefoot.engines.falsify import Falsify
from surefoot.errors import InvalidProblem
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.output_nodes import OUTPUTS_CHANGED, append_output_terms
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Affine, Elementwise, Network, dense_network
from surefoot.problem.policy import NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import policy_decision
from surefoot.run import verify
from surefoot.term.parser import parse_term
from surefoot.verdict.verdict import Unknown, Violated
from surefoot.work.budget import Budget

TWO = dense_network([([[1, 0], [0, 1]], [0, 0]), ([[1, 2], [3, -1]], [0.5, 0])])
PROBLEM = """
arithmetic = "{arithmetic}"
initial = "0 <= x <= 3 and k = 0"
[variables]
x = "real [-100, 100]"
k = "int 0..1"
[controls]
u = {{ limits = "[-100, 100]", clipped = false }}
[[edges]]
updates = {{ x = "x + u", k = "1 - k" }}
{policy}
[properties]
safe = "never x > 50 for 3 steps"
"""
PLAIN = '[policy]\nfile = "one.onnx"\nobserve = ["x / 3", "30"]\ncontrols = [{terms}]\n'
SWITCHED = """
[[policy.program.branches]]
when = "k = 0"
network = { file = "one.onnx", observe = ["x", "1"], controls = ["output[0] - 10"] }
[[policy.program.branches]]
when = "x < 2"
controls = ["-1"]
[[policy.program.branches]]
network = { file = "two.onnx", observe = ["x", "2"], controls = ["11 * output[1]"] }
"""


def load(path: Path, output: str | None) -> LoadedPolicy:
    """Two networks that differ by a sign."""
    sign = 1 if path.name == "one.onnx" else -1
    return LoadedPolicy(dense_network([([[sign, 0], [0, 1]], [0, 0])], name=path.name), "scores", "onnx")


def read(folder: Path, policy: str, arithmetic: str = "exact") -> Problem:
    (folder / "problem.toml").write_text(PROBLEM.format(policy=policy, arithmetic=arithmetic))
    return read_problem_file(folder / "problem.toml", load=load)


def with_terms(*terms: str) -> Network:
    return append_output_terms(TWO, tuple(parse_term(t) for t in terms))


def test_terms_over_outputs_are_nodes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-5, 5, (200, 2)).astype(np.float32)
    before = infer_outputs(TWO, points)
    for terms, wanted in {
        ("output[0] - 10", "output[1]"): before + np.array([-10, 0], dtype=np.float32),
        ("11 * output[1]", "2 - output[0]"): np.stack(
            [np.float32(11) * before[:, 1], np.float32(2) - before[:, 0]], axis=1
        ),
        ("output[1]",): before[:, 1:],
        ("output[0] / 4 + 1",): before[:, :1] / np.float32(4) + np.float32(1),
    }.items():
        network = with_terms(*terms)
        assert not isinstance(network.nodes[-1], Affine)
        assert np.array_equal(infer_outputs(network, points), wanted), terms
        assert OUTPUTS_CHANGED in network.notes
    both = with_terms("2 * output[0] - output[1] + 3", "5")
    assert isinstance(both.nodes[-1], Affine)
    assert np.allclose(infer_outputs(both, points)[:, 0], 2 * before[:, 0] - before[:, 1] + 3, atol=1e-4)
    assert (infer_outputs(both, points)[:, 1] == 5).all()
    assert with_terms("output[0]", "output[1]").nodes == TWO.nodes
    tenth = with_terms("output[0] / 10").nodes[-1]
    assert isinstance(tenth, Elementwise)
    assert tenth.constant[0] == np.float32(0.1)  # the nearest float32 number


@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("output[2]", "the network has 2 outputs"),
        ("output[0]^2", "is not affine in the outputs"),
        ("output[0] * output[1]", "is not affine in the outputs"),
        ("x - 1", "`x` is no output of the network"),
        ("1e99 * output[0]", "is beyond float32"),
    ],
)
def test_other_terms_are_refused(tmp_path: Path, term: str, said: str) -> None:
    (tmp_path / "one.onnx").write_text("")
    with pytest.raises(InvalidProblem) as caught:
        read(tmp_path, PLAIN.format(terms=f'"{term}"'))
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "problem.toml") + ":")


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
def test_constants_and_quotients_are_observed(tmp_path: Path, arithmetic: str) -> None:
    problem = read(tmp_path, PLAIN.format(terms='"output[0] + output[1]"'), arithmetic)
    value: Fraction | float = Fraction(1) if arithmetic == "exact" else 1.0
    made = policy_decision(problem, {"x": value, "k": 0})
    assert made is not None
    assert made.outputs is not None
    assert made.controls["u"] == np.float32(np.float32(1 / 3) + np.float32(30))


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
def test_a_condition_picks_the_network(tmp_path: Path, arithmetic: str) -> None:
    problem = read(tmp_path, SWITCHED, arithmetic)
    assert isinstance(problem.policy, ProgramPolicy)
    first, _, last = problem.policy.branches
    assert isinstance(first.then, NeuralPolicy)
    assert isinstance(last.then, NeuralPolicy)
    make = Fraction if arithmetic == "exact" else float
    for x, k, wanted in ((3, 0, -7), (1, 1, -1), (3, 1, 22)):
        made = policy_decision(problem, {"x": make(x), "k": k})
        assert made is not None
        assert made.controls["u"] == wanted
    assert isinstance(verify(problem, Falsify(runs=2000), Budget(10)).verdict, Unknown)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('controls = ["-1"]', 'controls = ["-1"]\naction = "a"', "one of `action`, `controls` and `network`"),
        ('file = "one.onnx", ', "", "the network has no `file`"),
        ('observe = ["x", "1"], ', "", "`observe` is missing"),
        ('"output[0] - 10"', '"output[0]", "output[1]"', "for 1 controls (u)"),
    ],
)
def test_what_is_wrong_in_a_branch_has_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in SWITCHED
    with pytest.raises(InvalidProblem) as caught:
        read(tmp_path, SWITCHED.replace(old, new))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_network_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text(PROBLEM.format(policy=SWITCHED, arithmetic="exact"))
    with pytest.raises(InvalidProblem, match="no such file"):
        read_problem_file(tmp_path / "problem.toml")


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "violated"), [("vcas_19_5", False), ("vcas_25_5", True), ("vcas_28_5", True)]
)
def test_collision_avoidance(tmp_path: Path, name: str, violated: bool) -> None:
    problem = read_problem_file(write_closed_loop_row(name, tmp_path))
    result = verify(problem, Falsify(runs=20_000), Budget(30))
    assert isinstance(result.verdict, Violated if violated else Unknown)
    assert result.certified is violated


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "seen"), [("airplane", True), ("single_pendulum_wide", True), ("tora_sigmoid", False)]
)
def test_closed_loops_in_continuous_time(tmp_path: Path, name: str, seen: bool) -> None:
    problem = read_problem_file(write_closed_loop_row(name, tmp_path))
    verdict = verify(problem, Falsify(runs=400), Budget(30)).verdict
    assert isinstance(verdict, Violated if seen else Unknown)
