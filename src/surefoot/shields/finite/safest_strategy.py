"""How safe a state can be kept, and which actions keep it so (safe-most values, as in deep statistical
model checking's comparison with the optimum, turned into a shield).

The safest way to act is found by value iteration in floating point, which proves nothing. What is
proved is the risk of following it: the greatest probability of a bad state under that way of acting,
whatever the environment picks, as an upper bound that holds exactly (`solvers/markov`). An action is
permitted where its worst transition leads into states whose mean risk is at most `allowed`, in exact
arithmetic. With `allowed` = 0 no number is involved: the states are those of the greatest set without bad
states that some action keeps the run in, whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, lcm

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Markov, MarkovAnswer, Until
from surefoot.shields.finite.arena import OWN, Arena
from surefoot.shields.finite.game import ActionGame
from surefoot.solvers.markov import MarkovUndecided, solve_markov
from surefoot.solvers.markov.qualitative import NEVER, csr_positions

MOST_ROUNDS = 20_000
MOST_EXACT = 500  # states whose risks are computed in fractions, where bounds do not tell
STILL = 1e-13  # value iteration ends when nothing moves by more
NONE = -1  # no action is enabled

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SafestStrategy:
    """`risk`: of a bad state if `action` is followed from here on, an upper bound, in `1 / scale`."""

    action: NDArray[np.int64]  # [states]: an index into the actions of the arena, or `NONE`
    risk: NDArray[np.object_]  # [states]: integers
    scale: int
    permitted: Flags  # [states, actions]
    kept: Flags  # [states]: the risk of following `action` from here on is at most what is allowed


def safest_strategy(
    arena: Arena, allowed: Fraction, seconds_left: Callable[[], float] = lambda: inf
) -> SafestStrategy:
    """The safest way to act, and all actions after which its risk is at most `allowed`.

    Where bounds of the risk do not tell whether it is, the risk itself is computed, in systems of few states.
    """
    sure = _winning_region(arena)
    action = _safest_choice(arena, action_risks(arena, sure))
    if not allowed:
        return _strategy_of_risk(arena, action, np.where(sure, 0, 1).astype(object), 1, allowed)
    answer = _strategy_risk(arena, action, seconds_left)
    least, most = (
        _strategy_of_risk(arena, action, _without_sure(risks, sure), answer.scale, allowed)
        for risks in (answer.low, answer.high)
    )
    settled = (least.kept == most.kept).all() and (least.permitted == most.permitted).all()
    if settled or arena.markov.states > MOST_EXACT:
        return most
    with suppress(MarkovUndecided):
        exact = _strategy_risk(arena, action, seconds_left, exact=True)
        scale = lcm(*(Fraction(v).denominator for v in set(exact.high.tolist())))
        risk = np.array([int(Fraction(v) * scale) for v in exact.high], dtype=object)
        return _strategy_of_risk(arena, action, _without_sure(risk, sure), scale, allowed)
    return most


def _without_sure(risks: NDArray[np.object_], sure: Flags) -> NDArray[np.object_]:
    """No risk where the best action is one that stays sure."""
    return np.where(sure, 0, risks).astype(object)


def _strategy_of_risk(
    arena: Arena, action: NDArray[np.int64], risk: NDArray[np.object_], scale: int, allowed: Fraction
) -> SafestStrategy:
    limit = allowed.numerator * scale
    kept = np.array([value * allowed.denominator <= limit for value in risk], dtype=np.bool_)
    permitted = _permitted_actions(arena, risk, scale, allowed)
    return SafestStrategy(action, risk, scale, permitted, kept)


def _winning_region(arena: Arena) -> Flags:
    """The greatest set without bad states in which some action keeps the run, whatever the rest does."""
    return np.asarray(ActionGame(arena.markov, arena.action).force_environment(arena.bad) == NEVER)


def action_risks(arena: Arena, sure: Flags, seconds_left: Callable[[], float] = lambda: inf) -> Floats:
    """[states, actions]: about how likely a bad state is after each action, at best; 2: not enabled.

    From below, so that a state from which nothing bad is forced keeps 0. Raises `MarkovUndecided` where the
    time ends.
    """
    markov, owners, enabled = arena.markov, arena.markov.owners(), arena.enabled_actions()
    weights = np.array([float(v) for v in markov.values])[markov.weights]
    mine = arena.action != OWN
    places = owners[mine] * len(arena.actions) + arena.action[mine]
    risk = arena.bad.astype(np.float64)
    table = np.zeros(enabled.shape)
    for _ in range(MOST_ROUNDS):
        if seconds_left() <= 0.0:
            raise MarkovUndecided("the time ended while risks were computed")
        mean = (
            np.add.reduceat(weights * risk[markov.targets], markov.outcomes[:-1]) if len(weights) else weights
        )
        table = np.where(enabled, 0.0, 2.0)
        np.maximum.at(table.reshape(-1), places, mean[mine])
        best = np.where(enabled.any(axis=1), table.min(axis=1), 0.0)
        np.maximum.at(best, owners[~mine], mean[~mine])
        best[arena.bad] = 1.0
        best[sure] = 0.0
        if np.abs(best - risk).max(initial=0.0) <= STILL:
            break
        risk = best
    staying = np.logical_and.reduceat(sure[markov.targets], markov.outcomes[:-1]) if len(weights) else mine
    leaves = mine & ~staying
    unsure = np.zeros(enabled.shape, dtype=np.bool_)
    unsure[owners[leaves], arena.action[leaves]] = True
    table[sure[:, None] & unsure & enabled] = 1.5  # a sure state is not left, however small the risk
    return table


def _safest_choice(arena: Arena, table: Floats) -> NDArray[np.int64]:
    return np.where(arena.enabled_actions().any(axis=1), table.argmin(axis=1), NONE)


def _strategy_risk(
    arena: Arena, action: NDArray[np.int64], seconds_left: Callable[[], float], *, exact: bool = False
) -> MarkovAnswer:
    """The greatest probability of a bad state if `action` is followed."""
    markov = arena.markov
    left = (arena.action == OWN) | (arena.action == action[markov.owners()])
    bad = Until("max", np.ones(markov.states, dtype=np.bool_), arena.bad)
    return solve_markov(_restrict_choices(markov, left), bad, exact=exact, seconds_left=seconds_left)


def _restrict_choices(markov: Markov, left: Flags) -> Markov:
    """The same states with some of their choices."""
    owners = markov.owners()
    choices = np.zeros(markov.states + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners[left], minlength=markov.states), out=choices[1:])
    numbers = np.flatnonzero(left).astype(np.int64)
    kept = csr_positions(markov.outcomes, numbers)
    outcomes = np.zeros(len(numbers) + 1, dtype=np.int64)
    np.cumsum(np.diff(markov.outcomes)[numbers], out=outcomes[1:])
    return replace(
        markov,
        choices=choices,
        outcomes=outcomes,
        targets=markov.targets[kept],
        weights=markov.weights[kept],
        rewards={},
    )


def _permitted_actions(arena: Arena, risk: NDArray[np.object_], scale: int, allowed: Fraction) -> Flags:
    """Enabled actions all of whose transitions have a mean risk of at most `allowed`; exact."""
    markov, found = arena.markov, arena.enabled_actions()
    if not len(markov.targets):
        return found
    common = lcm(*(v.denominator for v in markov.values))
    shares = np.empty(len(markov.values), dtype=object)
    shares[:] = [int(v * common) for v in markov.values]
    mean = np.add.reduceat(shares[markov.weights] * risk[markov.targets], markov.outcomes[:-1])
    limit = allowed * common * scale
    above = np.array([value * limit.denominator > limit.numerator for value in mean], dtype=np.bool_)
    lost = above & (arena.action != OWN)
    found[markov.owners()[lost], arena.action[lost]] = False
    return found
