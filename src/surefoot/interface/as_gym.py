"""A model as a Gymnasium environment, so that what is proved is also what is trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsFloat

from surefoot.errors import InvalidProblem, Unsupported, WrongType, did_you_mean
from surefoot.formats.gymnasium.gym_model import REWARD
from surefoot.interface.environment import plain_environment
from surefoot.interface.expression import Expression, Operand, expression_from
from surefoot.interface.gym_environment import GymEnvironment
from surefoot.problem.environment import Environment as EnvironmentData
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import (
    Eventually,
    Never,
    NeverBefore,
    Path,
    Probability,
    Property,
    Within,
)
from surefoot.problem.validate import environment_labels
from surefoot.reductions.discretise import discretise
from surefoot.simulate.path_property import reward_names
from surefoot.term.arguments import (
    describe_value,
    take_in_range,
    take_named_tuple,
    take_optional,
    take_text,
    whole_number,
)
from surefoot.term.term import FALSE, Term, Var, disjunction_of, free_names
from surefoot.term.value_types import Array

Earn = Callable[[dict[str, Any], Any, dict[str, Any]], SupportsFloat]


def as_gym(
    model: Problem | EnvironmentData,
    *,
    reward: str | Operand | Earn | None = None,
    max_steps: int | None = None,
    observe: Sequence[Operand] | None = None,
    actions: Sequence[str] | None = None,
    ends: Operand | None = None,
) -> Any:
    """A Gymnasium environment whose steps are those of a model: an environment, or a problem, whose policy
    says what is observed and done, and whose property says when an episode is over.

    `reward`: a reward of the model by its name, an expression of the state after a step, or a function of
    state, action and next state; by default the only one that the model has. `max_steps`: the episode is cut
    off then. `observe`: by default all variables; `actions`: labels by number, by default all; where there
    are controls these are set. `ends`: where an episode terminates.

    >>> from surefoot import Environment, as_gym, integer
    >>> x = integer("x", 0, 9)
    >>> env = Environment("counter", start=x == 0)
    >>> env = env.edge("up", guard=x < 9, update={x: x + 1}).edge("reset", update={x: 0})
    >>> walk = as_gym(env, reward=x, ends=x == 9, max_steps=20)
    >>> observation, info = walk.reset(seed=0)
    >>> float(walk.step(0)[1])
    1.0
    """
    from surefoot.integrations.model_environment import EpisodeRules, ModelEnvironment

    if not isinstance(model, Problem | EnvironmentData):
        fix = "give an environment, or a problem from load(path)"
        raise WrongType(f"{describe_value(model)} is no model", fix=fix, where="model")
    environment = model.environment if isinstance(model, Problem) else model
    asked = Problem(environment.name, plain_environment(environment), None, Never(FALSE))
    plain = discretise(asked).environment
    policy = model.policy if isinstance(model, Problem) else None
    seen, done = _spaces_of(model, plain, policy)
    if observe is not None:
        seen = take_named_tuple("observe", observe, lambda one: expression_from(one).term)
    if actions is not None:
        done = take_named_tuple("actions", actions, take_text)
    _check_names(plain, seen, done)
    over, limit = _end_of(model)
    if ends is not None:
        over = expression_from(ends).term
        _check_free(plain, over, "ends")
    steps: Any = take_optional(take_in_range(whole_number, 1))(max_steps)
    earned = _reward_of(model, plain, reward)
    rules = EpisodeRules(seen, done, earned, over, limit if steps is None else steps)
    return ModelEnvironment(plain, rules)


def _spaces_of(
    model: Problem | EnvironmentData, plain: EnvironmentData, policy: Any
) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    """What is observed and done: as a network's wiring says, as the library does, or everything."""
    labels = () if plain.controls else environment_labels(plain)
    if isinstance(policy, NeuralPolicy):
        return policy.observe, policy.actions if isinstance(policy.actions, tuple) else labels
    if isinstance(model, GymEnvironment):
        return model.model.observe, model.model.actions
    seen: tuple[Term, ...] = tuple(
        Var(v.name) if not isinstance(v.kind, Array) else Var(v.name)[i]
        for v in plain.variables
        for i in (range(v.kind.length) if isinstance(v.kind, Array) else (0,))
    )
    return seen, labels


def _check_names(plain: EnvironmentData, seen: Sequence[Term], done: Sequence[str]) -> None:
    if not seen:
        raise InvalidProblem("nothing is observed", fix="give observe=[x]", where="observe")
    for term in seen:
        _check_free(plain, term, "observe")
    known = environment_labels(plain)
    if unknown := [action for action in done if action not in known]:
        what = f"no edge has the action `{unknown[0]}`"
        raise InvalidProblem(what, fix=did_you_mean(unknown[0], known), where="actions")
    if not done and not plain.controls:
        what = "the environment has neither actions nor controls, so there is nothing to learn"
        raise InvalidProblem(what, fix="label its edges", where="model")
    if done and plain.controls:
        fix = "leave `actions` out: the controls are set"
        raise Unsupported("an environment with actions and controls", fix=fix, where="actions")


def _check_free(plain: EnvironmentData, term: Term, where: str) -> None:
    known = [v.name for v in plain.variables]
    if unknown := sorted(free_names(term) - set(known)):
        what = f"there is no variable `{unknown[0]}`"
        raise InvalidProblem(what, fix=did_you_mean(unknown[0], known), where=where)


def _end_of(model: Problem | EnvironmentData) -> tuple[Term | None, int | None]:
    """Where an episode is over, and after how many steps it is cut off, as the model says."""
    if isinstance(model, GymEnvironment):
        return model.model.terminates, model.model.limit
    if not isinstance(model, Problem):
        return None, None
    asked: Property = model.property
    match asked:
        case Never(bad, steps):
            return bad, steps
        case NeverBefore(bad, goal, steps):
            return disjunction_of((bad, goal)), steps
        case Within(good, steps):
            return good, steps
        case Eventually(good):
            return good, None
        case Probability(Path("F", goal)):
            return goal, None
    return None, None


def _reward_of(model: Problem | EnvironmentData, plain: EnvironmentData, given: Any) -> Any:
    """The reward as a name, a term of the state after a step, or a function."""
    names = sorted(reward_names(plain))
    if given is None:
        if isinstance(model, GymEnvironment) and model.model.rewards_after is not None:
            return model.model.rewards_after
        if REWARD in names or len(names) == 1:
            return REWARD if REWARD in names else names[0]
        what = "the model has several rewards" if names else "the model has no rewards"
        fix = f'name one: reward="{names[0]}"' if names else "give reward=expression, or a function"
        raise InvalidProblem(what, fix=fix, where="reward")
    if isinstance(given, str) and given in names:
        return given
    if callable(given) and not isinstance(given, Expression | Term):
        return given
    term = expression_from(given).term
    _check_free(plain, term, "reward")
    return term
