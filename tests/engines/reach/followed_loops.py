"""Small closed loops whose sets are followed: a spring with a controller, in continuous time and in steps."""

from __future__ import annotations

from pathlib import Path

from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.problem import Problem

SPRING = """
name = "spring"
initial = "0.5 <= x <= 1 and -0.25 <= v <= 0.25"
[variables]
x = "real [-100, 100]"
v = "real [-100, 100]"
[controls]
u = {{ limits = "[-20, 20]", clipped = true }}
[flow]
time = "continuous"
period = 0.25
[flow.derivatives]
x = "v"
v = "u - sin(x)"
[[edges]]
[policy.program]
[[policy.program.branches]]
controls = ["-0.5 * v - x^3 / 8"]
[properties]
asked = "{asked}"
"""
STEPS = """
name = "steps"
initial = "0 <= x <= 1 and 0 <= y <= 1"
[variables]
x = "real [-100, 100]"
y = "real [-100, 100]"
[controls]
u = {{ limits = "[-5, 5]", clipped = true }}
[[edges]]
updates = {{ x = "0.9 * x + 0.2 * y", y = "0.9 * y - 0.2 * x + 0.1 * u" }}
[policy.program]
[[policy.program.branches]]
controls = ["-x"]
[properties]
asked = "{asked}"
"""
SAFE = "never x > 1.25 or x + v > 1.4 for 2 seconds"
TIGHT = "never v < -0.76 for 2 seconds"  # needs cells
BROKEN = "never x < 0.2 for 1.5 seconds"  # some starts violate it


def spring_problem(folder: Path, asked: str = SAFE) -> Problem:
    return _read(folder / "spring.toml", SPRING.format(asked=asked))


def steps_problem(folder: Path, asked: str) -> Problem:
    return _read(folder / "steps.toml", STEPS.format(asked=asked))


def _read(path: Path, text: str) -> Problem:
    path.write_text(text)
    return read_problem_file(path)
