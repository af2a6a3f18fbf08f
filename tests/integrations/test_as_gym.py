"""Models as Gymnasium environments: the library's own checker accepts them, and its steps are theirs."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.examples import EXAMPLES

import surefoot as sf
from surefoot.errors import InvalidProblem, Unsupported, WrongType
from surefoot.problem.semantics import enumerate_outcomes, is_initial, permitted_transitions

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

NAMES = ("CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1")


def walk() -> sf.Environment:
    x = sf.integer("x", 0, 9)
    env = sf.Environment("walk", start=(x >= 4) & (x <= 5))
    env = env.edge(
        "go", guard=(x > 0) & (x < 9), outcomes=[("1/3", {x: x + 1}), ("2/3", {x: x - 1})], rewards={"won": x}
    )
    return env.edge("stay", update={x: x})


def accept(env: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about bounds that are infinite, and the like
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_library_environment_as_the_library_has_it(name: str) -> None:
    env, library = sf.gym(name).as_gym(), gymnasium.make(name).unwrapped
    accept(env)
    env.action_space.seed(0)
    library.reset(seed=0)
    env.reset(seed=3)
    names = list(env.state)[: len(np.asarray(library.state))]
    library.state = np.array([env.state[key] for key in names])
    for _ in range(60):
        action = env.action_space.sample()
        ours, theirs = env.step(action), library.step(action)
        assert np.abs(ours[0] - theirs[0]).max() <= 2e-6
        assert ours[1] == pytest.approx(float(theirs[1]), abs=1e-5)
        assert ours[2] == theirs[2]
        if ours[2]:
            break


def test_it_is_cut_off_as_in_the_library() -> None:
    env = sf.gym("MountainCar-v0", max_episode_steps=7).as_gym()
    env.reset(seed=0)
    ends = [env.step(1)[2:4] for _ in range(7)]
    assert ends == [(False, False)] * 6 + [(False, True)]


def test_steps_are_those_of_the_semantics() -> None:
    env, x = walk().as_gym(max_steps=50), sf.integer("x", 0, 9)
    accept(env)
    plain = sf.Problem("walk", walk(), None, sf.never(x > 9))
    went = dict.fromkeys((-1, 1), 0)
    for seed in range(40):
        seen, _ = env.reset(seed=seed)
        assert is_initial(walk(), env.state)
        for action in (0, 1, 0, 0):
            before = env.state
            if not env.action_masks()[action]:
                break
            following = [
                outcome
                for step in permitted_transitions(plain, before)
                if step.label == ("go", "stay")[action]
                for outcome in enumerate_outcomes(walk(), before, step, {}, {})
            ]
            seen, reward, over, _, _ = env.step(action)
            taken = [o for o in following if o.state["x"] == int(seen[0])]
            assert taken
            assert reward == float(taken[0].rewards.get("won", 0))
            assert not over
            if action == 0:
                went[env.state["x"] - before["x"]] += 1
    assert went[-1] > went[1] > 0


def test_the_same_seed_gives_the_same_episode() -> None:
    env = walk().as_gym(max_steps=50)

    def episode() -> list[Any]:
        return [env.reset(seed=5)[0].tolist(), *(env.step(i % 2)[0].tolist() for i in range(6))]

    assert episode() == episode()


def test_an_action_that_is_not_possible_ends_the_episode() -> None:
    x = sf.integer("x", 0, 3)
    env = sf.Environment("counter", start=x == 0).edge("up", guard=x < 1, update={x: x + 1})
    gym = env.edge("stay", update={x: x}).as_gym(reward=x)
    gym.reset(seed=0)
    assert gym.action_masks().tolist() == [True, True]
    assert gym.step(0)[1:] == (1.0, False, False, {})
    assert gym.action_masks().tolist() == [False, True]
    assert gym.step(0)[1:] == (0.0, True, False, {"stalled": True})


def test_a_problem_says_when_an_episode_ends() -> None:
    x = sf.integer("x", 0, 9)
    program = sf.Policy.program([(sf.TRUE, "go")])
    problem = sf.Problem("walk", walk(), program, sf.never(x >= 6, steps=5))
    env = sf.as_gym(problem, reward=lambda before, action, after: after["x"] - before["x"])
    accept(env)
    for seed in range(20):
        env.reset(seed=seed)
        steps = 0
        while True:
            _, _, over, late, info = env.step(0)
            steps += 1
            assert over == (env.state["x"] >= 6 or "stalled" in info)
            assert late == (steps >= 5)
            if over or late:
                break


def test_exact_controls_and_flows() -> None:
    x, u = sf.real("x", -10, 10), sf.real("u", -1, 1)
    env = sf.Environment("tank", start=x == 0, controls=[u], flow=sf.Flow({x: u}, step=0.5))
    gym = env.as_gym(reward=x, max_steps=4)
    accept(gym)
    gym.reset(seed=0)
    gym.step(np.array([0.25], dtype=np.float32))
    assert gym.state == {"x": Fraction(1, 8)}


def test_the_examples_are_accepted_or_refused_with_a_reason() -> None:
    accepted = 0
    for example in EXAMPLES:
        problem = example.problem
        try:
            env = sf.as_gym(problem, reward=lambda *_: 0.0, max_steps=20)
            for seed in range(3):
                env.reset(seed=seed)
                env.action_space.seed(seed)
                for _ in range(20):
                    if any(env.step(env.action_space.sample())[2:4]):
                        break
        except (InvalidProblem, Unsupported):
            continue
        accepted += 1
    assert accepted > len(EXAMPLES) / 3


def test_what_cannot_be_meant_is_refused() -> None:
    x = sf.integer("x", 0, 9)
    for make, said in (
        (lambda: sf.as_gym(3), "is no model"),
        (lambda: sf.Environment("a", start=x == 0).as_gym(reward=x), "neither actions nor controls"),
        (lambda: walk().as_gym(actions=["goo"]), "no edge has the action `goo`; fix: did you mean `go`?"),
        (lambda: walk().as_gym(reward="won2"), "there is no variable `won2`"),
        (lambda: walk().as_gym(observe=["y"]), "there is no variable `y`"),
        (lambda: walk().as_gym(max_steps=0), "0"),
        (lambda: walk().as_gym(ends="y > 1"), "there is no variable `y`"),
        (
            lambda: sf.Environment("a", start=x == 0).edge("up", update={x: 1}).as_gym(),
            "the model has no rewards; fix: give reward=expression, or a function",
        ),
    ):
        with pytest.raises((InvalidProblem, WrongType, Unsupported)) as caught:
            make()
        assert said in str(caught.value)
