"""From which states of a finite system the property can still be kept: the game, solved.

The environment is explored without the policy, from some starts. Where the exploration is cut short nothing
is known of what would follow: the game is solved twice, once with that counted as lost and once as won, and
what both agree on is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.explore.exploration import explore_problem
from surefoot.explore.explored_model import ExploredModel
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import action_among, action_names
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.semantics import State
from surefoot.shields.finite.arena import Arena, is_finite_environment
from surefoot.shields.finite.game import OWN, ActionGame, Flags, Ranks
from surefoot.shields.finite.safest_strategy import action_risks
from surefoot.solvers.markov import MarkovUndecided
from surefoot.solvers.markov.qualitative import NEVER
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_action, location_key, output_index
from surefoot.term.term import FALSE, Const, Term, Var, conjunction_of, equal, free_names
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Bool
from surefoot.verdict.verdict import Trace
from surefoot.work.budget import Budget

MOST_STATES = 3_000_000
GOOD, BAD = "good", "bad"


@dataclass(slots=True, eq=False)
class WinningRegion:
    """`surely_won(i)`, `maybe_won(i)`: by state, if it is number i of a run. `picked_bad`: by group."""

    explored: ExploredModel
    game: ActionGame
    actions: tuple[str, ...]
    surely_won: Callable[[int], Flags]
    maybe_won: Callable[[int], Flags]
    distance: Ranks | None  # of liveness: steps to the next good state, at most
    picked_bad: Flags | None
    starts: dict[Hashable, int]
    bad: Flags | None  # of `never` without a limit of steps, where all is explored
    _risks: NDArray[np.float64] | None = None

    def action_risks(self, seconds_left: Callable[[], float]) -> NDArray[np.float64] | None:
        """[states, actions]: how likely a bad state is at best after each action; 2: it is not offered.

        Numbers in doubles, by value iteration. None: there is no chance in it, or no time.
        """
        if self.bad is None or (np.diff(self.game.markov.outcomes) <= 1).all():
            return None
        if self._risks is None:
            arena = Arena(self.explored, self.actions, self.game.action, self.bad)
            try:
                # No state counts as sure: there an action with a risk would be marked, not given its number.
                self._risks = action_risks(arena, np.zeros_like(self.bad), seconds_left)
            except MarkovUndecided:
                return None
        return self._risks

    def place_run(self, trace: Trace) -> list[int]:
        """The numbers of the states of a run; fewer where the exploration does not have them."""
        number = self.starts.get(_state_key(trace.states[0]))
        found = [] if number is None else [number]
        for state in trace.states[1:] if found else ():
            choices = self.game.markov.choices[found[-1] : found[-1] + 2]
            arrows = slice(*self.game.markov.outcomes[choices].tolist())
            after = np.unique(self.game.markov.targets[arrows]).tolist()
            same = [n for n in after if self.explored.valuation(n) == state]
            if not same:
                break
            found.append(same[0])
        return found

    def safe_actions(self, number: int, index: int) -> tuple[str, ...]:
        """The actions of a won state after which everything that may follow is won too."""
        inside = self.surely_won(index + 1)
        return tuple(self.actions[a] for a in self.game.actions_inside(number, inside, self.picked_bad))

    def progress_actions(self, number: int) -> tuple[str, ...]:
        """The actions after which a good state is nearer, whatever follows."""
        if self.distance is None:
            return ()
        nearer = (self.distance != NEVER) & (self.distance < self.distance[number])
        return tuple(self.actions[a] for a in self.game.actions_inside(number, nearer))

    def is_nearer(self, after: int, before: int) -> bool:
        """Is a good state nearer in the first of these two states?"""
        return self.distance is not None and 0 <= self.distance[after] < self.distance[before]


def region_objection(problem: Problem) -> str | None:
    """Why the game is not solved exactly, in a sentence."""
    environment = problem.environment
    if problem.policy is None:
        return "nobody decides: the problem has no policy"
    if environment.controls:
        return "the policy sets real numbers"
    if environment.flow is not None or not is_finite_environment(environment):
        return "there are infinitely many states"
    return condition_objection(problem)


def condition_objection(problem: Problem) -> str | None:
    """Why it cannot be said whether a decision keeps the property, in a sentence."""
    if not isinstance(problem.property, Never | Within | Eventually | Recurs):
        kind = type(problem.property).__name__
        return f"faults are those of runs that violate Never, Within, Eventually or Recurs, not {kind}"
    controls = {c.name for c in problem.environment.controls}
    for name in free_names(_condition(problem)):
        if name in controls:
            return f"the property is about the control `{name}` itself"
        if output_index(name) is not None:
            return f"the property is about `{name}`, a number that no decision changes"
        if (name == STALLED or chosen_action(name) is not None) and not isinstance(problem.property, Never):
            return f"what should happen is about the decision itself: `{name}`"
    return None


def _condition(problem: Problem) -> Term:
    match problem.property:
        case Never(condition) | Within(condition) | Eventually(condition) | Recurs(condition):
            return condition
        case other:
            raise Unsupported(f"{type(other).__name__} has no violating runs")


def pick_condition(condition: Term, action: str | None) -> Term:
    """What the condition says where this action is picked, which is enabled; None: nobody picks."""
    names = free_names(condition)
    said: dict[str, Term] = {n: Const(a == action) for n in names if (a := chosen_action(n)) is not None}
    return substitute_names(condition, said | ({STALLED: FALSE} if STALLED in names else {}))


def start_only_in(environment: Environment, state: State) -> Environment:
    """The same environment with one start."""
    parts: list[Term] = []
    for variable in environment.variables:
        own, value = Var(variable.name), state[variable.name]
        if isinstance(variable.kind, Bool):
            parts.append(own if value else ~own)
        else:
            parts.append(equal(own, Const(value)))
    components = tuple(
        replace(c, initial=(c.locations[state.get(location_key(c.name), 0)],)) for c in environment.components
    )
    return replace(environment, initial=conjunction_of(tuple(parts)), components=components)


def solve_region(problem: Problem, budget: Budget, max_states: int | None = None) -> WinningRegion:
    """Explore from all starts of the problem as far as the time goes, and solve the game.

    A property `never BAD before GOAL` must have become a plain `never`. Half of the time is for exploring.
    """
    if (why := region_objection(problem)) is not None or problem.policy is None:
        raise Unsupported(why or "")
    names = action_names(problem.policy, problem.environment)
    condition = _condition(problem)
    picks = sorted({a for n in free_names(condition) if (a := chosen_action(n)) is not None and a in names})
    labels = {f"pick {a}": pick_condition(condition, a) for a in picks}
    labels["plain"] = pick_condition(condition, None)
    if isinstance(problem.property, Never | Eventually) and DEADLOCKED not in free_names(condition):
        until = conjunction_of(tuple(labels.values()))
    else:
        until = FALSE
    explored = explore_problem(
        replace(problem, policy=None),
        labels=labels,
        until=until,
        budget=budget.part(0.5),
        max_states=min(max_states or MOST_STATES, MOST_STATES),
    )
    carried = [action_among(names, problem.environment, transition) for (transition,) in explored.transitions]
    numbers = np.array([OWN if a is None else names.index(a) for a in carried], dtype=np.int64)
    action = numbers[explored.transition] if len(numbers) else np.zeros(0, dtype=np.int64)
    game = ActionGame(explored.markov, action)
    picked = None
    if picks:
        picked = np.zeros(len(game.group_owner), dtype=np.bool_)
        for place, group in enumerate(zip(game.group_owner, game.group_action, strict=True)):
            owner, a = group
            if a != OWN:
                name = f"pick {names[a]}" if names[a] in picks else "plain"
                picked[place] = explored.markov.labels[name][owner]
    return _solve(problem, explored, game, names, picked)


def _solve(
    problem: Problem,
    explored: ExploredModel,
    game: ActionGame,
    names: tuple[str, ...],
    picked: Flags | None,
) -> WinningRegion:
    holds = explored.markov.labels["plain"]
    surely = np.logical_and.reduce(list(explored.markov.labels.values()))  # whatever is picked
    unknown = (explored.markov.cut | explored.blocked) & ~surely
    distance: Ranks | None = None
    match problem.property:
        case Never(_, steps):
            holds = surely | (holds & (game.action_counts == 0) & ~unknown)  # or it depends on what is picked
            low, high = (_avoiding(game, h, picked, steps) for h in (holds | unknown, holds))
        case Eventually():
            distance = game.force_action(holds)
            low, high = _always(distance != NEVER), _always(game.force_action(holds | unknown) != NEVER)
        case Recurs():
            distance = game.force_again(holds, unknown)
            most = game.force_again(holds, unknown, hopeful=True)
            low, high = _always(distance != NEVER), _always(most != NEVER)
        case Within(_, steps, after):
            low, high = (_reaching(game, holds, u, steps, after) for u in (None, unknown))
        case other:
            raise Unsupported(f"{type(other).__name__} has no violating runs")
    starts = {_state_key(explored.valuation(int(n))): int(n) for n in explored.markov.initial}
    timeless = isinstance(problem.property, Never) and problem.property.steps is None and picked is None
    bad = holds if timeless and not unknown.any() else None
    return WinningRegion(explored, game, names, low, high, distance, picked, starts, bad)


def _always(won: Flags) -> Callable[[int], Flags]:
    return lambda _: won


def _avoiding(
    game: ActionGame, bad: Flags, picked: Flags | None, steps: int | None
) -> Callable[[int], Flags]:
    """Where bad states are avoided, in all states up to number `steps`."""
    rank = game.force_environment(bad, picked)
    if steps is None:
        return _always(rank == NEVER)
    return lambda index: np.asarray((rank == NEVER) | (rank > steps - index))


def _reaching(
    game: ActionGame, good: Flags, hoped: Flags | None, steps: int, after: int
) -> Callable[[int], Flags]:
    """Where a good state number `after` to `steps` is forced; `hoped`: states that count as won."""
    extra = np.zeros(game.markov.states, dtype=np.bool_) if hoped is None else hoped
    rank = game.force_action(good | extra)
    known: dict[int, Flags] = {}

    def won(index: int) -> Flags:
        if index > steps:
            return extra
        if index >= after:
            return np.asarray((rank != NEVER) & (rank <= steps - index))
        if index not in known:
            for number in range(after - 1, index - 1, -1):
                if number not in known:
                    known[number] = game.keeps_inside(won(number + 1)) | extra
        return known[index]

    return won


def _state_key(state: State) -> Hashable:
    return tuple(sorted(state.items()))
