"""Blackjack against a dealer who draws to 17, from an infinite deck (Sutton and Barto, example 5.1).

The dealer's second card is independent of everything until the player sticks, so the state is what the
library shows: the player's sum, the dealer's card and a usable ace, and whether the player was dealt 21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from surefoot.formats.tables import TableModel, TableQuestions, build_table_model, explore_transitions
from surefoot.formats.toy_text.frozen_lake import rounding_notes

ACTIONS = ("stick", "hit")
_CARDS = tuple((card, Fraction(4 if card == 10 else 1, 13)) for card in range(1, 11))


class BlackjackState(NamedTuple):
    player: int
    dealer: int
    ace: bool  # usable: counted as 11
    natural: bool  # an ace and a ten were dealt, and nothing was drawn
    result: str  # "playing", "win", "draw", "lose"


def build_blackjack(name: str, values: Mapping[str, Any], limit: int | None, counted: bool) -> TableModel:
    """`values`: natural, sab."""
    sab, extra = values["sab"], values["natural"] and not values["sab"]

    def successors(at: BlackjackState, action: int) -> Iterator[tuple[Any, ...]]:
        if action == 1:
            for card, share in _CARDS:
                total, ace = add_card(at.player, at.ace, card)
                lost = total > 21
                after = BlackjackState(total, at.dealer, ace, False, "lose" if lost else "playing")
                yield share, after, -1 if lost else 0, lost
            return
        for (score, dealt), share in dealer_scores(at.dealer).items():
            sign = (at.player > score) - (at.player < score)
            if sab and at.natural and not dealt:
                sign = 1
            pays = Fraction(3, 2) if extra and at.natural and sign == 1 else Fraction(sign)
            after = at._replace(result=("draw", "win", "lose")[sign])
            yield share, after, pays, True

    table = explore_transitions(_starts(remember=sab or extra), range(2), _forget(successors, sab or extra))
    asked = TableQuestions(
        goal=lambda at: at.result == "win",
        bad=lambda at: at.result == "lose",
        limit=limit,
        counted=counted,
        notes=rounding_notes(Fraction(1, 13)),
    )
    return build_table_model(name, table, ACTIONS, asked=asked)


def _forget(successors: Any, remember: bool) -> Any:
    """Whether 21 was dealt is no part of the state where it does not count."""
    if remember:
        return successors
    return lambda at, action: [
        (share, after._replace(natural=False), *rest) for share, after, *rest in successors(at, action)
    ]


def add_card(total: int, ace: bool, card: int) -> tuple[int, bool]:
    """The sum of a hand and whether an ace counts as 11 in it, with one card more."""
    low = (total - 10 if ace else total) + card
    usable = (ace or card == 1) and low + 10 <= 21
    return (low + 10 if usable else low), usable


def _starts(*, remember: bool) -> dict[BlackjackState, Fraction]:
    found: dict[BlackjackState, Fraction] = {}
    for dealer, shown in _CARDS:
        for first, one in _CARDS:
            for second, other in _CARDS:
                total, ace = add_card(*add_card(0, False, first), second)
                natural = remember and {first, second} == {1, 10}
                state = BlackjackState(total, dealer, ace, natural, "playing")
                found[state] = found.get(state, Fraction(0)) + shown * one * other
    return found


@lru_cache(maxsize=16)
def dealer_scores(shown: int) -> Mapping[tuple[int, bool], Fraction]:
    """By what the dealer shows: the score (0: more than 21), whether 21 was dealt, its probability."""
    found: dict[tuple[int, bool], Fraction] = {}
    first = add_card(0, False, shown)
    for hidden, share in _CARDS:
        _draw_on(*add_card(*first, hidden), {shown, hidden} == {1, 10}, share, found)
    return found


def _draw_on(
    total: int, ace: bool, dealt: bool, share: Fraction, found: dict[tuple[int, bool], Fraction]
) -> None:
    if total >= 17:
        key = (0 if total > 21 else total, dealt)
        found[key] = found.get(key, Fraction(0)) + share
        return
    for card, own in _CARDS:
        _draw_on(*add_card(total, ace, card), False, share * own, found)
