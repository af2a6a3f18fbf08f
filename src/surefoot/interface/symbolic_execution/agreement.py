"""The recorded model against the function: many states, and the ends of ranges."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.interface.symbolic_execution.refusal import Refusal, traceback_line
from surefoot.interface.symbolic_execution.step_function import scalar_parts
from surefoot.term.evaluate import Undefined, make_evaluator
from surefoot.term.term import Term, is_number
from surefoot.term.traverse import enumerate_parts
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

SPECIAL_SHARE = 0.3  # of values that are ends of ranges and constants of the model
LARGEST_DIFFERENCE = 1e-6  # relative, where the platform rounds functions in its own way
_FAR = 100.0
_TINY = 1e-9  # beside zero: quotients by the smallest doubles overflow, which says little
MOST_CONSTANT, MOST_CONSTANTS = 10**15, 60


@dataclass(slots=True)
class Agreement:
    """What was compared, and the largest difference; the variables that leave their limits, with a state."""

    compared: int = 0
    largest: float = 0.0
    missing: list[str] = field(default_factory=list)  # where neither has a value
    leaving: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)


class Sampler:
    """Values of kinds: even over the range, at its ends, and around the constants of the model."""

    def __init__(
        self, seed: int, constants: Sequence[float], around: Mapping[str, tuple[float, float]]
    ) -> None:
        self.chance, self.constants, self.around = random.Random(seed), list(constants), around

    def draw(self, name: str, kind: ValueType) -> Any:
        match kind:
            case Array(element, length):
                drawn = [self.draw(name, element) for _ in range(length)]
                return np.array(drawn)
            case Bool():
                return self.chance.random() < 0.5
            case Int(low, high):
                return self._draw_whole(low, high)
            case Real(low, high):
                return self._draw_real(name, low, high)

    def _draw_whole(self, low: int | None, high: int | None) -> int:
        least = low if low is not None else (high if high is not None else 0) - 1000
        most = high if high is not None else least + 1000 if low is not None else 1000
        if self.chance.random() < SPECIAL_SHARE / 2:
            return self.chance.choice([least, most])
        return self.chance.randint(least, most)

    def _draw_real(self, name: str, low: Any, high: Any) -> float:
        least, most = self.around.get(name, (-_FAR, _FAR))
        if low is not None:
            least = float(low)
            most = max(most, least + _FAR) if high is None else most
        if high is not None:
            most = float(high)
            least = min(least, most - _FAR) if low is None else least
        if self.chance.random() < SPECIAL_SHARE:
            special: list[float] = [least, most, 0.0, *self.constants]
            value: float = self.chance.choice(special)
            beside = (math.nextafter(value, side) for side in (math.inf, -math.inf))
            value = self.chance.choice([value, *(beside if value else (_TINY, -_TINY))])
            if least <= value <= most:
                return value + 0.0
        return self.chance.uniform(least, most) + 0.0


def model_constants(terms: Sequence[Term]) -> list[float]:
    """The numbers with which something is compared, and other constants: where branches meet."""
    found: dict[float, None] = {}
    for part in (part for whole in terms for part in enumerate_parts(whole)):
        if is_number(part):
            size = abs(Fraction(part.value))
            value = float(part.value) if size < MOST_CONSTANT else 0.0
            found[value] = found[-value] = None
        if len(found) > MOST_CONSTANTS:
            break
    return list(found)


def enumerate_model_names(state: Mapping[str, Any]) -> dict[str, Any]:
    """Values as terms see them."""
    return {name: _plain(value) for name, value in state.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | list | tuple):
        return tuple(_plain(v) for v in value)
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, slots=True)
class ComparedStep:
    """The function and the terms for one action, with the kinds of what they take and give."""

    call: Callable[[Mapping[str, Any]], dict[str, Any]]  # of values of the state, controls and disturbances
    parts: Sequence[tuple[str, ValueType]]  # of the result, in the order of the terms
    terms: Sequence[Term]
    arithmetic: Arithmetic
    exact: bool
    label: str = ""

    def compare(self, values: Mapping[str, Any], agreement: Agreement) -> dict[str, Any] | None:
        """The next state, None if there is none; an error where function and model differ."""
        shown = describe_state(values, self.label)
        evaluate = make_evaluator(enumerate_model_names(values), self.arithmetic)
        try:
            found = self.call(values)
        except Refusal:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the user's code raises
            line = traceback_line(error.__traceback__) or " "
            what = f"the step raises {type(error).__name__} ({error})"
            self._judge_missing(evaluate, what, shown, line, agreement)
            return None
        expected = [
            (name, _plain(v)) for name, kind in self.parts for v in scalar_parts(found[name], kind, name)
        ]
        endless = [name for name, plain in expected if isinstance(plain, float) and not math.isfinite(plain)]
        if endless:
            what = f"`{endless[0]}` becomes infinite or no number"
            self._judge_missing(evaluate, what, shown, " ", agreement)
            return None
        for (name, plain), term in zip(expected, self.terms, strict=True):
            try:
                modelled = evaluate(term)
            except Undefined as error:
                raise Refusal(
                    f"the model has no value for `{name}` at {shown} ({error.what}), and the step {plain}",
                    _WHY,
                    " ",
                ) from None
            self._judge(name, plain, modelled, shown, agreement)
        agreement.compared += 1
        return found

    def _judge_missing(
        self, evaluate: Callable[[Term], Any], what: str, shown: str, line: str, agreement: Agreement
    ) -> None:
        """The step has no value here; then the model must have none."""
        for term in self.terms:
            try:
                evaluate(term)
            except Undefined:
                agreement.compared += 1
                agreement.missing.append(f"{what} at {shown}")
                return
        raise Refusal(
            f"{what} at {shown}, where the model has a value",
            "return a value there, or give the state narrower limits",
            line,
        )

    def _judge(self, name: str, plain: Any, modelled: Any, shown: str, agreement: Agreement) -> None:
        if isinstance(plain, bool) or isinstance(modelled, bool):
            same = bool(plain) == bool(modelled) and plain in (0, 1) and modelled in (0, 1)
        else:
            same = float(plain) == float(modelled) if isinstance(plain, float) else plain == modelled
        if same:
            return
        apart = abs(Fraction(plain) - Fraction(modelled)) if not isinstance(plain, bool) else Fraction(1)
        relative = float(apart) / max(1.0, abs(float(plain)))
        if self.exact or isinstance(plain, bool | int) or relative > LARGEST_DIFFERENCE:
            show = float(modelled) if isinstance(modelled, Fraction) else modelled
            raise Refusal(f"`{name}` becomes {plain} at {shown}, and {show} in the model", _WHY, " ")
        agreement.largest = max(agreement.largest, float(apart))


_WHY = (
    "leave out what a symbol cannot show: identity tests, `type(x)`, try, values that are kept between calls"
)


def describe_state(values: Mapping[str, Any], label: str = "") -> str:
    parts = [f"{name} = {_plain(value)}" for name, value in values.items()]
    return ", ".join([*parts, *([f"action {label}"] if label else [])])
