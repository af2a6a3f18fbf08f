# ruff: noqa: E501 - one case on each line
"""How each function of `step_functions.py` is traced, and how it is called for comparison."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tests.interface import step_functions as steps

import surefoot as sf

R, N, B, V = sf.real, sf.integer, sf.boolean, sf.array
U = R(-1, 1)


@dataclass(frozen=True)
class Case:
    """`call` takes the state, the action and the disturbances by name, and gives the next state in order."""

    step: Any
    state: dict[str, Any]
    action: Any = None
    noise: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None


def by_name(step: Any, word: str | None = None) -> Callable[..., Any]:
    """The state by parameters; the first parts of the result are the state."""

    def call(state, action, noise):
        given = {word: action} if word else {}
        result = step(**state, **given, **noise)
        if isinstance(result, dict):
            return tuple(result[name] for name in state)
        if len(state) == 1 and not isinstance(result, tuple):
            return (result,)
        return tuple(result)[: len(state)] if not isinstance(result[0], tuple) else result[0]

    return call


def whole(step: Any, take: Callable[[dict[str, Any]], Any], give: Callable[[Any], Any]) -> Callable[..., Any]:
    """The state as one argument."""

    def call(state, action, noise):
        return give(step(take(state), *([] if action is None else [action]), **noise))

    return call


def attributes(make: Callable[[], Any], names: dict[str, str]) -> Callable[..., Any]:
    """The state in the attributes of a new object."""

    def call(state, action, noise):
        owner = make()
        for variable, attribute in names.items():
            value = state[variable]
            setattr(owner, attribute, value.tolist() if isinstance(value, np.ndarray) else value)
        owner.step(action)
        return tuple(getattr(owner, attribute) for attribute in names.values())

    return call


def dictionary(step: Any) -> Callable[..., Any]:
    def call(state, action, noise):
        found = step(dict(state), action)
        return tuple(found[name] for name in state)

    return call


def pair(state: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(state.values())


def only(state: dict[str, Any]) -> Any:
    return next(iter(state.values()))


def moved_object(state, action, noise):
    from types import SimpleNamespace

    place = SimpleNamespace(**state)
    steps.by_object(place, action)
    return place.x, place.v


def moved_ship(state, action, noise):
    found = steps.sail(steps.Ship(**state), **noise)
    return found.x, found.y, found.heading


CASES = {
    "double_integrator": Case(steps.double_integrator, {"x": R(-2, 2), "v": R(-1, 1)}, U, call=by_name(steps.double_integrator, "u")),
    "cartpole": Case(
        steps.cartpole,
        {"x": R(-2.4, 2.4), "x_dot": R(-3, 3), "theta": R(-0.2, 0.2), "theta_dot": R(-3, 3)},
        R(-10, 10),
        call=by_name(steps.cartpole, "force"),
    ),
    "mountain_car": Case(steps.mountain_car, {"position": R(-1.2, 0.6), "velocity": R(-0.07, 0.07)}, [0, 1, 2], call=by_name(steps.mountain_car, "action")),
    "pendulum": Case(steps.pendulum, {"th": R(-4, 4), "thdot": R(-8, 8)}, R(-2, 2), call=whole(steps.pendulum, pair, lambda r: r[0])),
    "thermostat": Case(steps.thermostat, {"temp": R(5, 35), "heating": B()}, [0, 1, -1], call=by_name(steps.thermostat, "action")),
    "thermostat_chain": Case(steps.thermostat_chain, {"temp": R(10, 30)}, call=by_name(steps.thermostat_chain)),
    "frozen_lake": Case(steps.frozen_lake, {"row": N(0, 3), "col": N(0, 3)}, ["up", "down", "left", "right"], call=dictionary(steps.frozen_lake)),
    "hill_walk": Case(steps.hill_walk, {"r": N(0, 2), "c": N(0, 2)}, N(0, 3), call=by_name(steps.hill_walk, "action")),
    "taxi": Case(steps.taxi, {"x": N(0, 4), "y": N(0, 4), "carrying": B()}, ["n", "s", "e", "w", "pick", "drop"], call=by_name(steps.taxi, "action")),
    "inventory": Case(steps.inventory, {"stock": N(0, 20)}, [0, 5, 10], {"demand": N(0, 8)}, call=lambda s, a, n: (steps.inventory(s["stock"], a, n["demand"])[0],)),
    "newsvendor": Case(steps.newsvendor, {"stock": N(0, 10), "day": N(0, 4)}, range(3), call=by_name(steps.newsvendor, "action")),
    "queue": Case(steps.queue, {"length": N(0, 12)}, None, {"arrivals": N(0, 4)}, call=by_name(steps.queue)),
    "traffic_light": Case(steps.traffic_light, {"phase": N(0, 3), "timer": N(0, 7), "waiting": N(0, 15)}, ["stay", "switch"], call=by_name(steps.traffic_light, "action")),
    "bicycle": Case(
        steps.bicycle,
        {"x": R(-50, 50), "y": R(-50, 50), "psi": R(-3, 3), "v": R(0, 30)},
        {"accel": R(-3, 2), "steer": R(-0.5, 0.5)},
        call=lambda s, a, n: steps.bicycle(**s, **a),
    ),
    "cruise_control": Case(
        steps.cruise_control, {"gap": R(0, 100), "v_ego": R(0, 35), "v_lead": R(0, 35)}, R(-3, 2), {"w": R(-0.5, 0.5)}, call=by_name(steps.cruise_control, "u")
    ),
    "unicycle": Case(steps.unicycle, {"pose": V(3, R(-5, 5))}, V(2, U), call=whole(steps.unicycle, only, lambda r: (r,))),
    "linear_plant": Case(steps.linear_plant, {"s": V(2, R(-5, 5))}, U, call=whole(steps.linear_plant, only, lambda r: (r,))),
    "linear_plant_out": Case(steps.linear_plant_out, {"s": V(2, R(-2, 2))}, R(-3, 3), call=whole(steps.linear_plant_out, only, lambda r: (r,))),
    "vector_field": Case(steps.vector_field, {"s": V(2, R(-3, 3))}, call=whole(steps.vector_field, only, lambda r: (r,))),
    "runge_kutta": Case(steps.runge_kutta, {"x": R(-3, 3), "y": R(-3, 3)}, call=by_name(steps.runge_kutta)),
    "tanks": Case(steps.tanks, {"levels": V(4, R(0, 10))}, R(0, 5), call=whole(steps.tanks, only, lambda r: (r,))),
    "cellular": Case(steps.cellular, {"cells": V(6, B())}, call=whole(steps.cellular, only, lambda r: (r,))),
    "majority": Case(steps.majority, {"votes": V(4, B())}, call=whole(steps.majority, only, lambda r: (r,))),
    "sorted_pair": Case(steps.sorted_pair, {"a": R(-1, 1), "b": R(-1, 1)}, call=by_name(steps.sorted_pair)),
    "sort_three": Case(steps.sort_three, {"v": V(3, N(0, 9))}, call=whole(steps.sort_three, only, lambda r: (r,))),
    "collatz": Case(steps.collatz, {"n": N(0, 99)}, call=by_name(steps.collatz)),
    "gcd_step": Case(steps.gcd_step, {"a": N(-9, 40), "b": N(-9, 40)}, call=by_name(steps.gcd_step)),
    "digits": Case(steps.digits, {"n": N(0, 999)}, call=by_name(steps.digits)),
    "clock": Case(steps.clock, {"t": R(0, 24)}, call=by_name(steps.clock)),
    "compass": Case(steps.compass, {"heading": R(0, 360)}, R(-30, 30), call=by_name(steps.compass, "turn")),
    "quantised": Case(steps.quantised, {"x": R(-3, 3)}, call=by_name(steps.quantised)),
    "rounded": Case(steps.rounded, {"x": R(-9, 9), "n": N(0, 5)}, call=by_name(steps.rounded)),
    "decimals": Case(steps.decimals, {"x": R(-9, 9)}, call=by_name(steps.decimals)),
    "floor_and_ceil": Case(steps.floor_and_ceil, {"x": R(-9, 9)}, call=by_name(steps.floor_and_ceil)),
    "floor_division": Case(steps.floor_division, {"x": R(-9, 9), "y": R(-9, 9)}, call=by_name(steps.floor_division)),
    "piecewise": Case(steps.piecewise, {"x": R(-3, 3)}, call=by_name(steps.piecewise)),
    "binned": Case(steps.binned, {"x": R(-3, 3), "level": N(0, 3)}, call=by_name(steps.binned)),
    "lookup": Case(steps.lookup, {"i": N(0, 3), "x": R(-1, 1)}, call=by_name(steps.lookup)),
    "memory": Case(steps.memory, {"buffer": V(4, R(-1, 1)), "i": N(0, 3), "x": R(-1, 1)}, call=by_name(steps.memory)),
    "history": Case(steps.history, {"h": V(3, U)}, U, call=whole(steps.history, only, lambda r: (r,))),
    "dead_zone": Case(steps.dead_zone, {"x": R(-3, 3)}, U, call=by_name(steps.dead_zone, "u")),
    "relay": Case(steps.relay, {"x": R(-2, 2), "on": B()}, call=by_name(steps.relay)),
    "reflex": Case(steps.reflex, {"x": R(0, 10), "v": R(-20, 20)}, call=by_name(steps.reflex)),
    "sigmoid": Case(steps.sigmoid, {"x": R(0, 1)}, U, call=by_name(steps.sigmoid, "u")),
    "network": Case(steps.network, {"s": V(2, R(-2, 2))}, call=whole(steps.network, only, lambda r: (r,))),
    "relu_network": Case(steps.relu_network, {"s": V(2, R(-2, 2))}, call=whole(steps.relu_network, only, lambda r: (r,))),
    "distance": Case(steps.distance, {"x": R(-2, 2), "y": R(-2, 2)}, call=by_name(steps.distance)),
    "bearing": Case(steps.bearing, {"x": R(-2, 2), "y": R(-2, 2)}, call=by_name(steps.bearing)),
    "norm_limited": Case(steps.norm_limited, {"v": V(2, R(-2, 2))}, call=whole(steps.norm_limited, only, lambda r: (r,))),
    "bang_bang": Case(steps.bang_bang, {"x": R(-2, 2), "v": R(-2, 2)}, call=by_name(steps.bang_bang)),
    "newton": Case(steps.newton, {"x": R(1, 4)}, call=by_name(steps.newton)),
    "horner": Case(steps.horner, {"x": R(-1, 1)}, call=by_name(steps.horner)),
    "cubes": Case(steps.cubes, {"x": R(-1, 1)}, call=by_name(steps.cubes)),
    "swing": Case(steps.swing, {"q": R(-1, 1), "t": R(0, 10)}, call=by_name(steps.swing)),
    "clipped": Case(steps.clipped, {"x": R(-1, 1)}, U, call=by_name(steps.clipped, "u")),
    "nested": Case(steps.nested, {"x": R(-1, 1), "mode": N(0, 2)}, call=by_name(steps.nested)),
    "predator": Case(steps.predator, {"prey": R(0, 5), "hunters": R(0, 5)}, call=by_name(steps.predator)),
    "epidemic": Case(steps.epidemic, {"s": R(0, 1), "i": R(0, 1), "r": R(0, 1)}, call=by_name(steps.epidemic)),
    "battery": Case(steps.battery, {"charge": R(0, 10)}, R(0, 2), {"cloudy": B()}, call=by_name(steps.battery, "load")),
    "elevator": Case(steps.elevator, {"floor": N(0, 9), "direction": N(-1, 1)}, range(10), more={}, call=lambda s, a, n: steps.elevator(**s, target=a)),
    "nim": Case(steps.nim, {"left": N(0, 20), "turn": N(0, 1)}, [1, 2, 3], call=by_name(steps.nim, "action")),
    "blackjack": Case(steps.blackjack, {"total": N(0, 31), "ace": B()}, None, {"card": N(1, 13)}, more={"returns": ("total", "ace", "terminated")}, call=by_name(steps.blackjack)),
    "tic": Case(steps.tic, {"board": V(9, N(0, 2))}, range(9), call=whole(steps.tic, lambda s: only(s).copy(), lambda r: (r,))),
    "safe_divide": Case(steps.safe_divide, {"x": R(-2, 2)}, R(-2, 2), call=by_name(steps.safe_divide, "y")),
    "machine": Case(steps.machine, {"mode": N(0, 2), "speed": N(0, 12)}, ["start", "stop", "wait"], call=by_name(steps.machine, "action")),
    "sail": Case(steps.sail, {"x": R(-2, 2), "y": R(-2, 2), "heading": R(0, 6)}, None, {"w": R(-0.1, 0.1)}, call=moved_ship),
    "walk": Case(steps.walk, {"x": N(0, 5), "y": N(0, 5)}, ["east", "north"], call=whole(steps.walk, lambda s: steps.Point(**s), lambda r: r)),
    "rocket": Case(
        steps.Rocket().step, {"self.height": R(0, 20), "self.speed": R(-20, 20), "self.fuel": N(0, 5)}, [0, 1],
        call=attributes(steps.Rocket, {"height": "height", "speed": "speed", "fuel": "fuel"}),
    ),
    "tracker": Case(steps.Tracker().step, {"self.state": V(2, R(-2, 2))}, R(-2, 2), call=attributes(steps.Tracker, {"state": "state"})),
    "by_object": Case(steps.by_object, {"x": R(-2, 2), "v": R(-1, 1)}, U, call=moved_object),
    "in_place": Case(steps.in_place, {"a": R(-2, 2), "b": R(-2, 2)}, U, call=dictionary(steps.in_place)),
    "walrus": Case(steps.walrus, {"x": R(-2, 2)}, call=by_name(steps.walrus)),
    "comprehension": Case(steps.comprehension, {"v": V(3, R(-2, 2))}, call=whole(steps.comprehension, only, lambda r: (r,))),
    "any_all": Case(steps.any_all, {"v": V(3, R(-2, 2)), "flag": B()}, call=by_name(steps.any_all)),
    "argument_defaults": Case(steps.argument_defaults, {"x": R(-2, 2)}, U, call=by_name(steps.argument_defaults, "u")),
    "extremes": Case(steps.extremes, {"v": V(3, R(-2, 2))}, call=whole(steps.extremes, only, lambda r: (r,))),
    "shared_memory": Case(steps.shared_memory, {"v": V(2, R(-1, 1))}, call=whole(steps.shared_memory, only, lambda r: (r,))),
    "masked": Case(steps.masked, {"v": V(3, R(-1, 1))}, call=whole(steps.masked, only, lambda r: (r,))),
    "sorted_values": Case(steps.sorted_values, {"v": V(3, R(-1, 1))}, call=whole(steps.sorted_values, only, lambda r: (r,))),
    "caught": Case(steps.caught, {"x": R(-1, 1), "y": R(-1, 1)}, call=by_name(steps.caught)),
    "numpy_numbers": Case(steps.numpy_numbers, {"v": V(2, R(-1, 1))}, call=whole(steps.numpy_numbers, only, lambda r: (r,))),
    "shrinking": Case(steps.shrinking, {"x": R(-50, 50), "k": N(0, 6)}, call=by_name(steps.shrinking)),
    "game_of_pig": Case(steps.game_of_pig, {"score": N(0, 100), "turn_total": N(0, 60)}, ["hold", "roll"], {"die": N(1, 6)}, call=by_name(steps.game_of_pig, "action")),
    "counted": Case(steps.counted, {"n": N(0, 9), "limit": N(0, 9)}, call=by_name(steps.counted)),
}  # fmt: skip
