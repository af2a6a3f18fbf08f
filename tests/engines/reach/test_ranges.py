"""Declared ranges in steps: their ends may be reached, and what keeps its value stays inside."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engines.reach.small_loops import ask_reach, check_reach_proof, idle_network

from surefoot.api import load
from surefoot.problem.network import Affine
from surefoot.problem.problem import Problem
from surefoot.verdict.verdict import Unknown
from surefoot_studies.training.onnx_files import onnx_bytes


def read_steps(folder: Path, variables: str, starts: str, updates: str, asked: str) -> Problem:
    (affine,) = idle_network(1).nodes
    assert isinstance(affine, Affine)
    (folder / "net.onnx").write_bytes(onnx_bytes([(affine.weights, affine.bias)], "relu", "net"))
    path = folder / "steps.toml"
    path.write_text(
        f'initial = "{starts}"\n[variables]\nx = "real"\n{variables}\n[controls]\nu = ""\n'
        f"[[edges]]\nupdates = {{ {updates} }}\n"
        '[policy]\nfile = "net.onnx"\nobserve = ["x"]\nchoose = "value"\n'
        f'[properties]\np = "{asked}"\n',
        "utf-8",
    )
    return load(path, property="p")


@pytest.mark.parametrize(
    ("variables", "starts", "updates"),
    [
        ('k = "int 0..1"', "k = 0", 'x = "x / 2 + u", k = "1 - k"'),
        ('k = "bool"', "not k", 'x = "x / 2 + u", k = "not k"'),
        ('p = "real [0, 0.7]"', "0.1 <= p <= 0.7", 'x = "x / 2 + u"'),
        ('p = "real [0, 0.7]"', "0.1 <= p <= 0.7", 'x = "x / 2 + u", p = "p"'),
    ],
)
def test_ends_of_ranges_may_be_reached(tmp_path: Path, variables: str, starts: str, updates: str) -> None:
    asked = "never x > 1.1 for 10 steps"
    problem = read_steps(tmp_path, variables, f"0.9 <= x <= 1 and {starts}", updates, asked)
    assert check_reach_proof(problem, ask_reach(problem)).accepted


@pytest.mark.parametrize(
    ("variables", "updates"),
    [('k = "int 0..5"', 'k = "k + 1"'), ('p = "real [0, 1]"', 'p = "p + 0.2"')],
)
def test_beyond_the_ends_nothing_is_proved(tmp_path: Path, variables: str, updates: str) -> None:
    name = variables[0]
    starts = f"0.9 <= x <= 1 and {name} = 0"
    verdict = ask_reach(
        read_steps(tmp_path, variables, starts, updates, "never x > 1.1 for 10 steps"), seconds=1
    )
    assert isinstance(verdict, Unknown)
