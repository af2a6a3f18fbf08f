"""Toy text against the installed library: equal tables; hidden parts and Blackjack by its steps."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

from surefoot.errors import Unsupported
from surefoot.formats.tables.transition_table import TableOutcome, TransitionTable
from surefoot.formats.toy_text import TOY_TEXT, build_toy_model, observed_terms
from surefoot.formats.toy_text.blackjack import add_card, dealer_scores
from surefoot.formats.toy_text.live_tables import check_live_table

gymnasium = pytest.importorskip("gymnasium")
LAKES: list[tuple[str, dict[str, Any]]] = [
    ("FrozenLake-v1", {}),
    ("FrozenLake8x8-v1", {}),
    ("FrozenLake-v1", {"is_slippery": False}),
    ("FrozenLake-v1", {"map_name": "8x8", "success_rate": 0.8}),
    ("FrozenLake-v1", {"desc": ["SFFS", "FHFF", "FFHG"], "reward_schedule": (10, -5, -1)}),
]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("CliffWalking-v1", {}),
    ("CliffWalkingSlippery-v1", {}),
    ("Taxi-v4", {}),
    ("Taxi-v4", {"is_rainy": True}),
    ("Taxi-v4", {"is_rainy": True, "rainy_probability": 0.5}),
]


def make_library(name: str, values: dict[str, Any]) -> Any:
    if name not in gymnasium.registry:
        pytest.skip(f"the installed library has no {name}")
    try:
        return gymnasium.make(name, **values).unwrapped
    except TypeError:
        pytest.skip(f"{name} of the installed library has no such arguments")


def shown(state: Any) -> int:
    """What the library shows of a state."""
    return state if isinstance(state, int) else int(state.state)


def outcome_chances(table: TransitionTable, several: tuple[TableOutcome, ...]) -> dict[Any, Fraction]:
    found: dict[Any, Fraction] = defaultdict(Fraction)
    for one in several:
        found[shown(table.states[one.state]), one.reward, one.terminated] += one.probability
    return found


@pytest.mark.parametrize(("name", "values"), [*LAKES, *OTHERS], ids=str)
def test_tables_are_those_of_the_library(name: str, values: dict[str, Any]) -> None:
    library = make_library(name, values)
    model = build_toy_model(name, **values)
    table = model.table
    starts: dict[int, float] = defaultdict(float)
    for number, share in table.starts:
        starts[shown(table.states[number])] += float(share)
    wanted = {n: p for n, p in enumerate(library.initial_state_distrib) if p}
    assert starts == pytest.approx(wanted, abs=1e-15)
    looked = 0
    for number, row in enumerate(table.rows):
        if not any(row):
            continue
        for action, several in enumerate(row):
            expected: dict[Any, float] = defaultdict(float)
            for share, after, reward, ends in library.P[shown(table.states[number])][action]:
                expected[int(after), Fraction(reward), bool(ends)] += share
            assert several is not None
            assert outcome_chances(table, several) == pytest.approx(expected, abs=1e-15)
            looked += 1
    assert looked >= 36


def test_every_state_of_the_library_that_can_be_reached_is_there() -> None:
    library = make_library("Taxi-v4", {})
    assert len(build_toy_model("Taxi-v4").table.states) == 404
    seen, waiting = set(), [int(n) for n, p in enumerate(library.initial_state_distrib) if p]
    while waiting:
        state = waiting.pop()
        if state not in seen:
            seen.add(state)
            waiting += [int(n) for a in range(6) for _, n, _, ends in library.P[state][a] if not ends]
    table = build_toy_model("Taxi-v4").table
    assert {shown(s) for s, row in zip(table.states, table.rows, strict=True) if any(row)} == seen


def test_old_taxi_is_the_dry_one() -> None:
    assert build_toy_model("Taxi-v3").table == build_toy_model("Taxi-v4").table


@pytest.mark.parametrize("rainy", [False, True])
def test_fickle_taxi_takes_every_step_of_the_library(rainy: bool) -> None:
    values = {"is_rainy": rainy, "fickle_passenger": True}
    library = make_library("Taxi-v4", values)
    table = build_toy_model("Taxi-v4", **values).table
    numbers = {state: number for number, state in enumerate(table.states)}
    kind = type(table.states[0])
    shares = {table.states[number]: share for number, share in table.starts}
    assert sum(share for state, share in shares.items() if state.fickle) == Fraction(3, 10)
    changed = 0
    library.reset(seed=7)
    draw = Random(7)
    acting = [state for state, row in zip(table.states, table.rows, strict=True) if any(row)]
    for _ in range(10_000):
        before = draw.choice(acting)
        library.s, library.fickle_step = before.state, bool(before.fickle)
        action = draw.randrange(6)
        _, reward, ends, _, _ = library.step(action)
        after = kind(int(library.s), bool(library.fickle_step))
        outcomes = table.rows[numbers[before]][action]
        assert outcomes is not None
        match = [o for o in outcomes if (o.state, o.reward, o.terminated) == (numbers[after], reward, ends)]
        assert len(match) == 1
        changed += before.fickle and not after.fickle
    assert changed > 20
    fickle = kind(next(s.state for s in table.states if s.fickle and s.state // 4 % 5 == 4), True)
    assert sum(o.probability for o in table.rows[numbers[fickle]][0] or ()) == 1


def test_hands_are_those_of_the_library() -> None:
    hands = pytest.importorskip("gymnasium.envs.toy_text.blackjack")
    for cards in product(range(1, 11), repeat=3):
        total, ace = 0, False
        for card in cards:
            total, ace = add_card(total, ace, card)
        assert (total, ace) == (hands.sum_hand(list(cards)), bool(hands.usable_ace(list(cards))))


def test_dealer_draws_as_in_the_library() -> None:
    """By enumeration of all hands with the library's own functions."""
    hands = pytest.importorskip("gymnasium.envs.toy_text.blackjack")
    for shown_card in range(1, 11):
        found: dict[tuple[int, bool], Fraction] = defaultdict(Fraction)
        waiting = [([shown_card, c], Fraction(hands.deck.count(c), 13)) for c in range(1, 11)]
        while waiting:
            hand, share = waiting.pop()
            if hands.sum_hand(hand) < 17:
                waiting += [([*hand, c], share * Fraction(hands.deck.count(c), 13)) for c in range(1, 11)]
            else:
                found[hands.score(hand), hands.is_natural(hand)] += share
        assert dict(found) == dealer_scores(shown_card)


@pytest.mark.parametrize("values", [{}, {"sab": False}, {"sab": False, "natural": True}], ids=str)
def test_blackjack_takes_every_step_of_the_library(values: dict[str, Any]) -> None:
    library = make_library("Blackjack-v1", values)
    hands = pytest.importorskip("gymnasium.envs.toy_text.blackjack")
    table = build_toy_model("Blackjack-v1", **values).table
    numbers = {state: number for number, state in enumerate(table.states)}
    kind = type(table.states[0])
    counts = library.sab or library.natural
    observation, _ = library.reset(seed=3)
    for step in range(10_000):
        natural = counts and hands.is_natural(library.player)
        before = kind(observation[0], observation[1], bool(observation[2]), natural, "playing")
        action = step % 3 % 2
        observation, reward, ends, _, _ = library.step(action)
        result = {1: "win", 0: "draw", -1: "lose"}[(reward > 0) - (reward < 0)] if ends else "playing"
        natural = natural and action == 0
        after = kind(observation[0], observation[1], bool(observation[2]), natural, result)
        outcomes = table.rows[numbers[before]][action]
        assert outcomes is not None
        wanted = (numbers[after], Fraction(reward), ends)
        assert [(o.state, o.reward, o.terminated) for o in outcomes].count(wanted) == 1
        if ends:
            observation, _ = library.reset()


def test_starts_of_blackjack_by_enumeration() -> None:
    table = build_toy_model("Blackjack-v1", sab=False).table
    dealt: dict[Any, Fraction] = defaultdict(Fraction)
    deck = [*range(1, 11), 10, 10, 10]
    for dealer, first, second in product(deck, repeat=3):
        total, ace = add_card(*add_card(0, False, first), second)
        dealt[total, dealer, ace] += Fraction(1, 13**3)
    found = {(s.player, s.dealer, s.ace): share for s, share in named_starts(table)}
    assert found == dealt


def named_starts(table: TransitionTable) -> list[tuple[Any, Fraction]]:
    return [(table.states[number], share) for number, share in table.starts]


def test_every_name_builds_with_its_defaults() -> None:
    for name in TOY_TEXT:
        model = build_toy_model(name)
        assert {"goal", "P goal", "steps"} <= set(model.properties), name


@pytest.mark.parametrize(("name", "values"), [*LAKES, *OTHERS], ids=str)
def test_a_live_environment_says_its_arguments(name: str, values: dict[str, Any]) -> None:
    library = make_library(name, values)
    found = TOY_TEXT[name].read_live(library)
    model = build_toy_model(name, **found)
    assert model.table == build_toy_model(name, **values).table
    check_live_table(model.table, library, shown)
    acting = next(s for s, row in zip(model.table.states, model.table.rows, strict=True) if any(row))
    library.P[shown(acting)][0] = [(1.0, 3, 17, False)]
    with pytest.raises(Unsupported, match=f"its table was changed: state {shown(acting)}, action 0"):
        check_live_table(model.table, library, shown)


def test_a_network_reads_as_many_numbers_as_the_library_has_values() -> None:
    for name, width in (("FrozenLake8x8-v1", 64), ("Taxi-v4", 500), ("Blackjack-v1", 45)):
        assert len(observed_terms(TOY_TEXT[name], build_toy_model(name))) == width
