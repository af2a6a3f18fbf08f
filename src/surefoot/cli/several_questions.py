"""Several questions in one run: what is asked, and how they share the time.

Those of a model file share it equally. An environment of the library that nobody asked anything particular
about is asked all that it has, so each question first has a few seconds, which is enough for most answers;
what is open after that shares the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from surefoot import api
from surefoot.cli.terminal import print_line

if TYPE_CHECKING:
    Ask = Callable[[str, api.Problem, float], api.Result]

QUICK_SECONDS, QUICK_SHARE = 5.0, 0.5  # at first: so many seconds each, and no more of the time together
COARSE = Fraction(1, 10)  # of the size of a mean, or of 1 if that is larger: an estimate that is not left so


def announce_questions(names: list[str], seconds: float) -> None:
    """One line that says what will be answered."""
    first = min(QUICK_SECONDS, QUICK_SHARE * seconds / len(names))
    listed = ", ".join(names)
    print_line(
        f"asking {len(names)} questions: {listed}; {first:.3g} s each at first, the open ones share the rest "
        f"of {seconds:.6g} s (one alone: --property '{names[0]}')",
        error=True,
    )


def answer_questions(
    problems: Mapping[str, api.Problem], ask: Ask, remaining: Callable[[], float], *, quick: bool
) -> dict[str, api.Result]:
    """The answers in the order of the questions; fewer after an interrupt."""
    found: dict[str, api.Result] = {}
    if quick:
        first = min(QUICK_SECONDS, QUICK_SHARE * remaining() / len(problems))

        def ask_shortly(name: str, _: int) -> api.Result:
            return ask(name, problems[name], first)

        if not _ask_in_order(list(problems), ask_shortly, found):
            return found
    still = [name for name in problems if name not in found or _is_open(found[name].verdict)]

    def ask_with_share(name: str, left: int) -> api.Result:
        return ask(name, problems[name], remaining() / left)

    _ask_in_order(still, ask_with_share, found)
    return {name: found[name] for name in problems if name in found}


def _is_open(verdict: api.Verdict) -> bool:
    """Is nothing known, or no more than a coarse estimate for want of time?"""
    if isinstance(verdict, api.Estimated) and not verdict.complete:
        return verdict.high - verdict.low > COARSE * max(Fraction(1), abs(verdict.low), abs(verdict.high))
    return isinstance(verdict, api.Unknown)


def _ask_in_order(
    names: list[str],
    ask: Callable[[str, int], api.Result],
    found: dict[str, api.Result],
) -> bool:
    """Ask one after the other; False: interrupted. An interrupt before any answer goes through."""
    for number, name in enumerate(names):
        try:
            found[name] = ask(name, len(names) - number)
        except KeyboardInterrupt:
            if not found:
                raise
            return False
        if api.is_interrupted(found[name].verdict):
            return False
    return True
