"""Who drives: networks over 4 or 15 observations, and a hand-made controller."""

from __future__ import annotations

from surefoot import api
from surefoot_studies.racetrack.model import ACCELERATIONS, DX, DY, X, Y, absolute_term, constant_table
from surefoot_studies.racetrack.track import DIRECTIONS, GOAL, Track, nearest_goal, wall_distance
from surefoot_studies.terms import maximum_term, minimum_term


def _observe_position() -> tuple[api.Term, ...]:
    """Four inputs: position and velocity (policy predicate abstraction, section Experiments)."""
    return X, Y, DX, DY


def _observe_surroundings(track: Track) -> tuple[api.Term, ...]:
    """The 15 integer inputs of the paper, in alphabetical order of their names in the published model.

    What depends on the position alone is a constant table: looking up is fast, whatever the engine.
    """
    here = _clipped_cell(track)
    distances = tuple(_look_up_cell(wall_distance(track, direction), here) for direction in DIRECTIONS)
    goal = nearest_goal(track)
    goal_x, goal_y = (_look_up_cell(tuple(tuple(d[i] for d in row) for row in goal), here) for i in (0, 1))
    apart = _look_up_cell(tuple(tuple(abs(d[0]) + abs(d[1]) for d in row) for row in goal), here)
    return DX, DY, X, Y, *distances, apart, goal_x, goal_y


def racetrack_policy(network: api.Network, track: Track) -> api.NeuralPolicy:
    """Output k stands for edge k of `car`; the width of the network tells which observation it reads."""
    observe = _observe_position() if network.width == 4 else _observe_surroundings(track)
    return api.NeuralPolicy(network, observe, api.EdgesOf("car", tuple(range(len(ACCELERATIONS)))))


def careful_policy(track: Track) -> api.ProgramPolicy:
    """A hand-made controller: never faster than one cell per step, and along a shortest way of free cells."""
    way, here = _shortest_way(track), _clipped_cell(track)

    def wanted_acceleration(velocity: api.Term, axis: int) -> api.Term:
        towards = _look_up_cell(tuple(tuple(d[axis] for d in row) for row in way), here)
        return minimum_term(maximum_term(towards - velocity, -1), 1)

    return _acceleration_program(wanted_acceleration(DX, 0), wanted_acceleration(DY, 1))


def reactive_policy(track: Track, top: int = 2) -> api.ProgramPolicy:
    """A hand-made controller after the paper's: brake if a wall is near, otherwise accelerate to the goal.

    Per axis: a wall is near if the car would meet it when one acceleration slips and it brakes from then on.
    Otherwise it accelerates, up to a top speed, along a shortest way of free cells; where that does not lead
    along this axis, it slows down.
    """
    here = _clipped_cell(track)
    way = _shortest_way(track)

    def wanted_acceleration(velocity: api.Term, axis: int, ahead: str, behind: str) -> api.Term:
        speed = absolute_term(velocity)
        way_to_stop = speed * (speed + 1) / 2 + speed
        room = api.ite(
            velocity > 0,
            _look_up_cell(wall_distance(track, ahead), here),
            _look_up_cell(wall_distance(track, behind), here),
        )
        towards = _look_up_cell(tuple(tuple(d[axis] for d in row) for row in way), here)
        slower = -api.Apply(api.Op.SIGN, (velocity,))
        near = ~api.equal(velocity, 0) & (way_to_stop >= room)
        faster = minimum_term(maximum_term(towards * top - velocity, -1), 1)
        return api.ite(near, slower, faster)

    return _acceleration_program(
        wanted_acceleration(DX, 0, "east", "west"), wanted_acceleration(DY, 1, "south", "north")
    )


def _acceleration_program(wanted_x: api.Term, wanted_y: api.Term) -> api.ProgramPolicy:
    """The program that picks the edge with these accelerations, each -1, 0 or 1."""

    def sideways(ax: int) -> api.ProgramPolicy:
        picks = [(ay, f"car#{ACCELERATIONS.index((ax, ay))}") for ay in (-1, 0, 1)]
        return api.ProgramPolicy(tuple(api.Branch(api.equal(wanted_y, ay), edge) for ay, edge in picks))

    return api.ProgramPolicy(tuple(api.Branch(api.equal(wanted_x, ax), sideways(ax)) for ax in (-1, 0, 1)))


def _clipped_cell(track: Track) -> tuple[api.Term, api.Term]:
    """Where the car is. A crashing car may be outside, where no policy is asked: the nearest cell will do."""
    return minimum_term(maximum_term(X, 0), track.width - 1), minimum_term(
        maximum_term(Y, 0), track.height - 1
    )


def _look_up_cell(rows: tuple[tuple[int, ...], ...], place: tuple[api.Term, api.Term]) -> api.Term:
    x, y = place
    return constant_table(rows)[y][x]


def _shortest_way(track: Track) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Per cell: the unit step (x, y) of a shortest way to a goal; (0, 0) where there is none."""
    steps: dict[tuple[int, int], tuple[int, int]] = dict.fromkeys(track.places(GOAL), (0, 0))
    frontier = list(steps)
    while frontier:
        following = []
        for x, y in frontier:
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
                before = (x - dx, y - dy)
                if before not in steps and not track.is_blocked(*before):
                    steps[before] = (dx, dy)
                    following.append(before)
        frontier = following
    return tuple(tuple(steps.get((x, y), (0, 0)) for x in range(track.width)) for y in range(track.height))
