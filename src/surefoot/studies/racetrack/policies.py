"""Who drives: networks over 4 or 15 observations, and a hand-made controller."""

from __future__ import annotations

from surefoot.problem.network import Network
from surefoot.problem.policy import Branch, EdgesOf, NeuralPolicy, ProgramPolicy
from surefoot.problem.term import Term, equal
from surefoot.studies.racetrack.model import ACCELERATIONS, DX, DY, X, Y, larger, smaller, table
from surefoot.studies.racetrack.track import DIRECTIONS, GOAL, Track, nearest_goal, wall_distance


def observe_position() -> tuple[Term, ...]:
    """Four inputs: position and velocity (policy predicate abstraction, section Experiments)."""
    return X, Y, DX, DY


def observe_surroundings(track: Track) -> tuple[Term, ...]:
    """The 15 integer inputs of the paper, in alphabetical order of their names in the published model.

    What depends on the position alone is a constant table. A crashing car may be outside the map: the policy
    is not asked there, and the tables give the value of the nearest cell.
    """
    x, y = smaller(larger(X, 0), track.width - 1), smaller(larger(Y, 0), track.height - 1)
    distances = tuple(table(wall_distance(track, direction))[y][x] for direction in DIRECTIONS)
    goal = nearest_goal(track)
    goal_x, goal_y = (table(tuple(tuple(d[i] for d in row) for row in goal))[y][x] for i in (0, 1))
    goal_distance = table(tuple(tuple(abs(d[0]) + abs(d[1]) for d in row) for row in goal))[y][x]
    return DX, DY, X, Y, *distances, goal_distance, goal_x, goal_y


def neural_policy(network: Network, track: Track) -> NeuralPolicy:
    """Output k stands for edge k of `car`; the width of the network tells which observation it reads."""
    observe = observe_position() if network.width == 4 else observe_surroundings(track)
    return NeuralPolicy(network, observe, EdgesOf("car", tuple(range(len(ACCELERATIONS)))))


def careful_policy(track: Track) -> ProgramPolicy:
    """A hand-made controller: never faster than one cell per step, and along a shortest way of free cells."""
    way = shortest_way(track)
    x, y = smaller(larger(X, 0), track.width - 1), smaller(larger(Y, 0), track.height - 1)
    wanted_x, wanted_y = (table(tuple(tuple(d[i] for d in row) for row in way))[y][x] for i in (0, 1))

    def towards(change: int, wanted: Term, velocity: Term) -> Term:
        return equal(smaller(larger(wanted - velocity, -1), 1), change)

    def sideways(ax: int) -> ProgramPolicy:
        picks = [(ay, f"car#{ACCELERATIONS.index((ax, ay))}") for ay in (-1, 0, 1)]
        return ProgramPolicy(tuple(Branch(towards(ay, wanted_y, DY), edge) for ay, edge in picks))

    branches = tuple(Branch(towards(ax, wanted_x, DX), sideways(ax)) for ax in (-1, 0, 1))
    return ProgramPolicy(branches)


def shortest_way(track: Track) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Per cell: the unit step (x, y) of a shortest way to a goal; (0, 0) where there is none."""
    steps: dict[tuple[int, int], tuple[int, int]] = dict.fromkeys(track.places(GOAL), (0, 0))
    frontier = list(steps)
    while frontier:
        following = []
        for x, y in frontier:
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
                before = (x - dx, y - dy)
                if before not in steps and not track.blocked(*before):
                    steps[before] = (dx, dy)
                    following.append(before)
        frontier = following
    return tuple(tuple(steps.get((x, y), (0, 0)) for x in range(track.width)) for y in range(track.height))
