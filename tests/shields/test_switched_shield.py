"""Shields of actions over real variables: sets are proved, and nobody behind the shield is ever bad."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

import surefoot as sf
from surefoot.cli import run_command_line
from surefoot.errors import SurefootError
from surefoot.interface.shield import SlidingShield
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import apply_move, permitted_transitions
from surefoot.search.switched_shield import is_moved_by_real_steps, make_switched_synthesis
from surefoot.shields.switched.set_obligation import invert_rows, state_obligation
from surefoot.shields.switched.sliding_set import SlidingSet, find_sliding_sets
from surefoot.shields.switched.switched_shield import covered_share, make_switched_shield
from surefoot.shields.switched.switched_system import read_switched_system
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

UPRIGHT = "never x < -2.4 or x > 2.4 or a < -0.20943951023931953 or a > 0.20943951023931953"
CARTPOLE = files("surefoot_studies.closed_loop").joinpath("problems", "gym-cartpole-early.toml")


def lander(arithmetic: str = "float64", pull: float = 1.62, bad: Any = None) -> Problem:
    """A craft that burns or drifts, and an odometer that nothing depends on."""
    h, v, way = sf.real("h"), sf.real("v"), sf.real("way")
    start = (h >= -0.1) & (h <= 0.1) & (v >= -0.2) & (v <= 0.2) & (way == 0)
    env = sf.Environment("lander", start=start, arithmetic=arithmetic)
    for action, thrust in (("burn", 3), ("drift", 0)):
        fall = {
            h: h + 0.05 * v,
            v: v + 0.05 * (thrust - Fraction(str(pull)) - 0.02 * v * v * v),
            way: way + 1,
        }
        env = env.edge(action, update=fall)
    return Problem("lander", env, None, sf.never((h > 1) | (h < -1)) if bad is None else sf.never(bad(h, v)))


def module_of(source: str) -> SimpleNamespace:
    """What surefoot wrote, as a user runs it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "shield.py"
        path.write_text(source)
        return SimpleNamespace(**runpy.run_path(str(path)))


@pytest.fixture(scope="module")
def made() -> Any:
    found = make_switched_synthesis(lander(), Budget(60))
    assert found.is_accepted
    return found


@pytest.fixture(scope="module")
def cartpole() -> SlidingShield:
    found = sf.shield(str(CARTPOLE), property=UPRIGHT, timeout=100)
    assert isinstance(found, SlidingShield)
    return found


def test_a_lander_is_kept_whatever_is_proposed(made: Any) -> None:
    assert made.covered == 1
    module, rng = module_of(made.python()), Random(1)
    system = made.shield.system
    bad = 0
    for run in range(60):
        state = [rng.choice((-0.1, 0.1, rng.uniform(-0.1, 0.1))), rng.uniform(-0.2, 0.2)]
        for _ in range(300):
            proposed = ("burn", "drift", rng.choice(("burn", "drift")))[run % 3]
            taken, intervened = module.step(state, proposed)
            assert intervened < 2
            mask = module.action_masks(state)
            assert mask[module.ACTIONS.index(taken)]
            assert (taken == proposed) == (intervened == 0) or mask[module.ACTIONS.index(proposed)]
            state = step_exactly(made.shield.problem, state, taken)
            bad += abs(state[0]) > 1
    assert not bad
    assert system.variables == ("h", "v")


def step_exactly(problem: Problem, values: list[float], action: str) -> list[float]:
    """By the reference semantics."""
    state = {"h": Fraction(values[0]), "v": Fraction(values[1]), "way": Fraction(0), "@main": 0}
    for move in permitted_transitions(problem, state):
        if move.label == action:
            after = apply_move(problem, state, replace_move(move))
            return [float(after["h"]), float(after["v"])]
    raise AssertionError(action)


def replace_move(transition: Any) -> Any:
    from surefoot.problem.semantics import Move

    return Move(transition, tuple(0 for _ in transition.edges), {})


def test_the_certificate_is_accepted_alone(made: Any) -> None:
    assert judge_certificate(made.proof.verdict.certificate.content).accepted


def test_a_smaller_set_is_not_proved() -> None:
    """The radii matter: with the first one halved a push goes beyond."""
    problem = lander()
    system = read_switched_system(problem)
    candidate = next(iter(find_sliding_sets(system, Budget(30))))
    for i in range(len(candidate.radii)):
        radii = list(candidate.radii)
        radii[i] = radii[i] / 100
        broken = replace(candidate, radii=tuple(radii))
        result = sf.verify(state_obligation(system, broken).problem, sf.Reach(), Budget(3))
        assert not result.certified


def test_the_wrong_side_is_not_proved() -> None:
    problem = lander()
    system = read_switched_system(problem)
    candidate = next(iter(find_sliding_sets(system, Budget(30))))
    swapped = replace(candidate, down=candidate.up, up=candidate.down)
    result = sf.verify(state_obligation(system, swapped).problem, sf.Reach(), Budget(3))
    assert not result.certified


def test_where_no_push_is_strong_enough_there_is_no_shield() -> None:
    with pytest.raises(SurefootError, match="there is no shield"):
        make_switched_synthesis(lander(pull=3.2), Budget(20))
    small = make_switched_synthesis(lander(bad=lambda h, v: (h > 0.05) | (h < -0.05)), Budget(20))
    assert small.is_accepted
    assert 0 < small.covered < Fraction(1, 2)


def test_sizes_and_other_conditions() -> None:
    found = make_switched_synthesis(lander(bad=lambda h, v: h * h > 1), Budget(60))
    assert found.is_accepted
    assert found.covered == 1
    exact = make_switched_synthesis(lander("exact"), Budget(60))
    assert exact.is_accepted
    assert max(exact.shield.obligation.errors) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('initial = "x >= 0"', "no lower or no upper bound"),
        ('chosen = { w = "real [-1, 1]" }', "the environment chooses values"),
        ('guard = "x < 3"', "is not always possible"),
    ],
)
def test_what_is_refused_says_why(text: str, message: str, tmp_path: Path) -> None:
    lines = {"initial": 'initial = "0 <= x <= 1"', "edge": ""}
    lines["initial" if text.startswith("initial") else "edge"] = text
    model = tmp_path / "m.toml"
    model.write_text(
        f'{lines["initial"]}\n[variables]\nx = "real"\n[[edges]]\naction = "a"\n{lines["edge"]}\n'
        'updates = { x = "x + 1" }\n[[edges]]\naction = "b"\nupdates = { x = "x - 1" }\n'
        '[properties]\nsafe = "never x > 9"\n'
    )
    (problem,) = [sf.load(model, no_policy=True)]
    assert not is_moved_by_real_steps(problem)
    with pytest.raises(SurefootError, match=message):
        sf.shield(problem)


def test_the_coverage_is_a_lower_bound() -> None:
    rows = ((Fraction(1), Fraction(1)), (Fraction(1), Fraction(-1)))
    found = SlidingSet(rows, (Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)), "a", "b")
    one = (Fraction(-1), Fraction(1))
    share = covered_share(found, (one, one))
    assert Fraction(1, 3) < share <= Fraction(1, 2)
    half = (Fraction(-1, 2), Fraction(1, 2))
    assert covered_share(found, (half, half)) == 1
    inverse = invert_rows(rows)
    assert inverse == ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 2), Fraction(-1, 2)))


def test_cartpole_is_kept_up_behind_a_policy_that_always_fails(cartpole: SlidingShield) -> None:
    assert cartpole.accepted
    assert cartpole.covered > Fraction(7, 10)
    assert cartpole.cost is not None
    assert cartpole.cost.bad == (cartpole.cost.runs, 0)
    assert cartpole.cost.overruled > 0
    assert "overruled" in str(cartpole)
    for problem in (cartpole.problem, cartpole.synthesis.shield.anybody()):
        inside = replace(
            problem.environment, initial=problem.environment.initial & cartpole.synthesis.shield.in_set()
        )
        found = sf.check(replace(problem, environment=inside), engine="falsify", timeout=4)
        assert not found.violated


def test_cartpole_of_the_library(cartpole: SlidingShield) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = cartpole.wrap(gymnasium.make("CartPole-v1"))
    rng, fallen, overruled = Random(0), 0, 0
    for episode in range(40):
        env.reset(seed=episode)
        for _ in range(500):
            wrong = int(env.unwrapped.state[2] < 0)  # away from the side to which the pole leans
            action = (rng.randrange(2), 1, wrong)[episode % 3]
            _, _, terminated, truncated, info = env.step(action)
            overruled += info["shield"]["intervened"] > 0
            assert len(env.action_masks()) == 2
            if terminated or truncated:
                fallen += terminated
                break
    assert fallen == 0
    assert overruled > 0


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_c_source_decides_alike(made: Any, tmp_path: Path) -> None:
    header, source = made.c("guard")
    (tmp_path / "guard.h").write_text(header)
    (tmp_path / "guard.c").write_text(source)
    module, rng = module_of(made.python()), Random(3)
    states = [(rng.uniform(-1.1, 1.1), rng.uniform(-1.5, 1.5)) for _ in range(300)]
    calls = "\n".join(
        f"  {{ double s[] = {{{h!r}, {v!r}}}; int a; int r = guard_step(s, {i % 2}, &a); "
        f'printf("%d %d\\n", a, r); }}'
        for i, (h, v) in enumerate(states)
    )
    (tmp_path / "main.c").write_text(
        f'#include <stdio.h>\n#include "guard.h"\nint main(void) {{\n{calls}\n  return 0;\n}}\n'
    )
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "guard.c", "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.split("\n")
    for i, (state, line) in enumerate(zip(states, said, strict=False)):
        taken, intervened = module.step(state, module.ACTIONS[i % 2])
        assert line == f"{module.ACTIONS.index(taken)} {intervened}"


def test_bad_states_are_refused_by_the_module(made: Any) -> None:
    module = module_of(made.python())
    for state in ([0.0], [0.0, 0.0, 0.0], "ab", {"h": 1.0, "v": 0.0}, [None, 1.0]):
        with pytest.raises(ValueError, match="2 numbers in this order: h, v"):
            module.step(state, "burn")
    with pytest.raises(ValueError, match="is no action"):
        module.step([0.0, 0.0], "brun")
    assert module.step([float("nan"), 0.0], "burn")[1] == 2
    assert module.step([1e300, 1e300], "drift")[1] == 2


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(str(CARTPOLE)).parent
    asked = ["shield", str(folder / "gym-cartpole-early.toml"), "--property", UPRIGHT]
    written = {"--json": "out.json", "--python": "guard.py", "--c": "guard", "--certificate": "c.json"}
    outputs = [part for option, name in written.items() for part in (option, str(tmp_path / name))]
    code = run_command_line([*asked, "--quiet", *outputs])
    said = capsys.readouterr().out
    assert code == 3  # not all starts are covered
    assert "behind the shield" in said
    assert "proved" in said
    assert (tmp_path / "guard.py").exists()
    assert (tmp_path / "guard.c").exists()
    assert run_command_line([*asked, "--degree", "2"]) == 2


def test_a_set_of_another_model_is_no_shield() -> None:
    """The same rows and radii for a craft that falls faster are not accepted."""
    problem = lander()
    candidate = next(iter(find_sliding_sets(read_switched_system(problem), Budget(30))))
    other = lander(pull=2.9)
    shield = make_switched_shield(other, read_switched_system(other), candidate)
    assert not sf.verify(shield.obligation.problem, sf.Reach(), Budget(4)).certified
