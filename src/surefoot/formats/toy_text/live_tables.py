"""The arguments of a live toy-text environment, read from its attributes and its table `P`.

What was set on it is honoured: the table that the arguments mean is compared with its own, step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from surefoot.errors import Unsupported
from surefoot.formats.tables import TransitionTable

_CLOSE = 1e-12
_FIX = "give its table: from_table(env.unwrapped.P, env.unwrapped.initial_state_distrib)"


def read_live_lake(plain: Any) -> Mapping[str, Any]:
    """Map, slipping and rewards of FrozenLake; only the map is kept by the library."""
    desc = ["".join(bytes(tile).decode("ascii") for tile in row) for row in plain.desc]
    tiles = "".join(desc)
    moves = [n for n, tile in enumerate(tiles) if tile not in "GH"]
    aslant = [several for n in moves for several in plain.P[n].values() if len(several) == 3]
    paid: dict[str, Any] = {}
    for n in moves:
        for several in plain.P[n].values():
            paid |= {tiles[int(after)]: reward for _, after, reward, _ in several}
    schedule = [paid.get("G", 1), paid.get("H", 0), paid.get("F", paid.get("S", 0))]
    values: dict[str, Any] = {
        "desc": "/".join(desc),
        "is_slippery": bool(aslant),
        "reward_schedule": ",".join(map(_plain_number, schedule)),
    }
    return values | ({"success_rate": float(aslant[-1][1][0])} if aslant else {})


def _plain_number(value: Any) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def read_live_cliff(plain: Any) -> Mapping[str, Any]:
    return {"is_slippery": bool(plain.is_slippery)}


def read_live_taxi(plain: Any) -> Mapping[str, Any]:
    """Rain is seen in the table."""
    values: dict[str, Any] = {
        "is_rainy": any(len(several) > 1 for row in plain.P.values() for several in row.values()),
        "fickle_passenger": bool(getattr(plain, "fickle_passenger", False)),
    }
    for name in ("rainy_probability", "fickle_probability"):
        if hasattr(plain, name):
            values[name] = float(getattr(plain, name))
    return values


def read_live_blackjack(plain: Any) -> Mapping[str, Any]:
    return {"natural": bool(plain.natural), "sab": bool(plain.sab)}


def check_live_table(table: TransitionTable, plain: Any, shown: Callable[[Any], int]) -> None:
    """Refuse an environment whose own table is another one; `shown`: what it shows of a state. A fickle
    passenger is not in the table: the library's step thinks again beside it.
    """
    _check_live_starts(table, plain, shown)
    for state, row in zip(table.states, table.rows, strict=True):
        for action, several in enumerate(row):
            if several is None:
                continue
            found: dict[Any, Fraction] = {}
            for outcome in several:
                key = (shown(table.states[outcome.state]), float(outcome.reward), outcome.terminated)
                found[key] = found.get(key, Fraction(0)) + outcome.probability
            wanted: dict[Any, float] = {}
            for share, after, reward, ends in plain.P[shown(state)][action]:
                key = (int(after), float(reward), bool(ends))
                wanted[key] = wanted.get(key, 0.0) + share
            if found.keys() != {key for key, share in wanted.items() if share} or any(
                abs(float(share) - wanted[key]) > _CLOSE for key, share in found.items()
            ):
                what = f"its table was changed: state {shown(state)}, action {action}"
                raise Unsupported(what, fix=_FIX)


def _check_live_starts(table: TransitionTable, plain: Any, shown: Callable[[Any], int]) -> None:
    """Refuse an environment that starts by another law."""
    law = getattr(plain, "initial_state_distrib", None)
    if law is None:
        return
    wanted: dict[int, Fraction] = {}
    for state, share in table.starts:
        number = shown(table.states[state])
        wanted[number] = wanted.get(number, Fraction(0)) + share
    for number, found in enumerate(law):
        if abs(float(wanted.get(number, 0)) - float(found)) > _CLOSE:
            raise Unsupported(f"its law of starts was changed: state {number}", fix=_FIX)
