"""What a model of a library environment consists of, and what its builder is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Environment
from surefoot.problem.property import Bound, Expected, Path, Probability, Property, Within
from surefoot.term.term import Const, Term

Value: TypeAlias = bool | int | float | str
REWARD = "reward"  # what the library's step returns
USUAL = "give numbers of a usual size"
ELAPSED = "elapsed"  # the steps of the episode so far, a variable where a question names it


@dataclass(frozen=True, slots=True)
class GymArgument:
    """A constructor argument, an attribute that may be set on `env.unwrapped`, or an option of `reset`."""

    default: Value
    attribute: str = ""  # of the unwrapped environment; empty: called like the argument
    known: tuple[Value, ...] = ()  # the values that it can have; empty: any of the kind of the default
    positive: bool = False
    live: bool = True  # is it seen on a live environment? Options of `reset` are not


@dataclass(frozen=True, slots=True)
class GymModel:
    """An environment, how policies are wired to it, and the properties that can be asked by name."""

    environment: Environment
    observe: tuple[Term, ...]  # the entries of an observation, as a network reads them
    actions: tuple[str, ...] = ()  # by number, of a Discrete space; empty: controls are the entries of a Box
    properties: Mapping[str, Property] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)  # further names of properties
    absent: Mapping[str, str] = field(default_factory=dict)  # why a usual name is not there, and what to ask
    limit: int | None = None  # the library cuts an episode off after so many steps
    terminates: Term | None = None  # in which states the library ends an episode; None: in none
    outside: Term | None = None  # where the model is not the library: these states count as bad
    rewards_after: Term | None = None  # of the state after a step, where edges do not say what one earns
    numbers: tuple[Term, ...] = ()  # what the library shows where that is numbered; `observe`: one-hot of it
    facts: tuple[str, ...] = ()  # how exact the model is, for `surefoot inspect`


Build: TypeAlias = Callable[[str, Mapping[str, Any], bool], GymModel]


@dataclass(frozen=True, slots=True)
class GymKind:
    """How a registered name becomes a model.

    `build(name, values, counted)`: `values` has a value for every argument and for `max_episode_steps` (None:
    no limit). `counted`: the question names `elapsed`, so the steps of the episode are part of the state.
    """

    build: Build
    implementation: str  # `module:class` of the library, by which a live environment is recognised
    limit: int | None  # `max_episode_steps` as registered
    arguments: Mapping[str, GymArgument] = field(default_factory=dict)
    check_given: Callable[[Mapping[str, Any]], None] | None = (
        None  # refuses what does not go together in a text
    )
    fixed: Mapping[str, Any] = field(default_factory=dict)  # attributes that have one value in the model
    read_live: Callable[[Any], Mapping[str, Any]] | None = (
        None  # of an unwrapped environment; None: attributes
    )


def shortest_decimal(value: float) -> Fraction:
    """The shortest decimal number whose nearest double this is."""
    if not isfinite(value):
        raise InvalidProblem("with these arguments a number of the model is beyond all doubles", fix=USUAL)
    return Fraction(repr(float(value)))


def nearest_constant(value: float) -> Const:
    """The constant that means this double."""
    number = shortest_decimal(value)
    return Const(number.numerator if number.denominator == 1 else number)


def success_properties(good: Term, limit: int | None) -> dict[str, Property]:
    """That an episode reaches a good state, and how likely it does over the law of resets."""
    asked: dict[str, Property] = {} if limit is None else {"goal": Within(good, limit)}
    return asked | {"P goal": Probability(Path("F", good, bounds=step_bounds(limit)), over="avg")}


def step_bounds(limit: int | None) -> tuple[Bound, ...]:
    return () if limit is None else (Bound(high=Const(limit)),)


def episode_values(over: Term, limit: int | None) -> dict[str, Property]:
    """The expected sum of rewards and number of steps of an episode, over the law of resets."""
    return {
        "return": Expected(REWARD, over, over="avg", steps=limit),
        "steps": Expected("steps", over, over="avg", steps=limit),
    }
