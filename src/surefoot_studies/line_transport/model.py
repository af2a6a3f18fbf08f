"""Trucks on a line: one drives one way to a weak bridge, one drives to and fro between two ends.

One way: `load` and `unload` change the load by five packages, `drive` moves on by 2048, 3072 or 4096 metres.
Where the bridge begins the load must be small. Two ways: the gear says how fast the truck goes and in which
direction; `faster` and `slower` change it by one and move the truck, `hold` moves it; it takes packages on
and puts them down while it stands. Beyond the ends of the line the track stops.
"""

from __future__ import annotations

from fractions import Fraction

from surefoot import api

PLACE, LOAD, WAITING, FUEL = (api.Var(n) for n in ("place", "load", "waiting", "fuel"))
GEAR, CHARGE = api.Var("gear"), api.Var("charge")
ROAD = 2**20 - 1  # metres
BRIDGE, BRIDGE_LOAD = 800_000, 40
CAPACITY, PARCEL = 100, 5
ONE_WAY = ("load", "unload", "drive")
STRIDES = ((2048, Fraction(1, 2)), (3072, Fraction(1, 4)), (4096, Fraction(1, 4)))

END = 1_000_000  # metres: the line of the truck that goes to and fro
BEYOND = 8192  # metres that are left to represent a truck that has left the line
STRIDE, GEARS = 1024, 3
Changes = dict[api.Var, api.Term]
TWO_WAYS = ("slower", "hold", "faster", "load", "unload")


def one_way_environment() -> api.EnvironmentData:
    """Starts: anywhere on the first 600 km, any load, any number of packages waiting, 1000 units of fuel."""
    kinds = {
        PLACE: api.Int(0, ROAD),
        LOAD: api.Int(0, CAPACITY),
        WAITING: api.Int(0, 1000),
        FUEL: api.Int(0, 10_000),
    }
    more = api.Apply(api.Op.MIN, (api.Const(1000), WAITING + 8))
    more_load: Changes = {LOAD: LOAD + PARCEL}
    drive = tuple(
        api.Outcome(api.Const(share), _make_updates({PLACE: PLACE + metres, FUEL: FUEL - 1, WAITING: more}))
        for metres, share in STRIDES
    )
    edges = (
        _truck_edge(
            "load", (LOAD <= CAPACITY - PARCEL, WAITING >= PARCEL), more_load | {WAITING: WAITING - PARCEL}
        ),
        _truck_edge("unload", (LOAD >= PARCEL,), {LOAD: LOAD - PARCEL}),
        api.Edge(action="drive", guard=(FUEL >= 1) & (ROAD - STRIDES[-1][0] >= PLACE), outcomes=drive),
    )
    start = (PLACE <= 600_000) & (LOAD <= CAPACITY - PARCEL) & (FUEL >= 1000)
    variables = tuple(api.Variable(v.name, k) for v, k in kinds.items())
    return api.EnvironmentData("line-transport-one-way", variables, start, (api.Component("truck", edges),))


def two_way_environment() -> api.EnvironmentData:
    """Starts: standing or moving in any gear, at least 100 km from both ends, with any load and charge."""
    line = api.Int(-BEYOND, END + BEYOND)
    kinds = {PLACE: line, GEAR: api.Int(-GEARS, GEARS), LOAD: api.Int(0, CAPACITY), CHARGE: api.Int(0, 1000)}
    on_line = (PLACE >= 0, PLACE <= END)
    standing = (GEAR >= 0, GEAR <= 0)
    driven = PLACE + STRIDE * GEAR
    full = api.Apply(api.Op.MIN, (api.Const(1000), CHARGE + 10))
    edges = (
        _truck_edge("slower", (*on_line, GEAR >= 1 - GEARS), {GEAR: GEAR - 1, PLACE: driven - STRIDE}),
        _truck_edge("hold", on_line, {PLACE: driven, CHARGE: full}),
        _truck_edge(
            "faster",
            (*on_line, GEAR <= GEARS - 1, CHARGE >= 1),
            {GEAR: GEAR + 1, PLACE: driven + STRIDE, CHARGE: CHARGE - 1},
        ),
        _truck_edge("load", (*standing, LOAD <= CAPACITY - PARCEL), {LOAD: LOAD + PARCEL}),
        _truck_edge("unload", (*standing, LOAD >= PARCEL), {LOAD: LOAD - PARCEL}),
    )
    start = (PLACE >= 100_000) & (PLACE <= END - 100_000)
    variables = tuple(api.Variable(v.name, k) for v, k in kinds.items())
    return api.EnvironmentData("line-transport-two-ways", variables, start, (api.Component("truck", edges),))


def _truck_edge(action: str, guard: tuple[api.Term, ...], changes: Changes) -> api.Edge:
    done = api.Outcome(updates=_make_updates(changes))
    return api.Edge(action=action, guard=api.conjunction_of(guard), outcomes=(done,))


def _make_updates(changes: Changes) -> tuple[api.Update, ...]:
    return tuple(api.Update(v, t) for v, t in changes.items())
