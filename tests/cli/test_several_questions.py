"""How several questions of one run share the time."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from surefoot import api
from surefoot.cli.several_questions import announce_questions, answer_questions

CLEAR = api.Estimated(Fraction(1, 2), Fraction(51, 100), Fraction(19, 20), {}, "timeout")
COARSE = replace(CLEAR, high=Fraction(9, 10))
OPEN = api.Unknown(api.Reason.TIMEOUT, "no time")


class Questions:
    """Verdicts by name, one after the other, and what was asked with how many seconds."""

    def __init__(self, seconds: float, **verdicts: list[Any]) -> None:
        self.left, self.verdicts = seconds, verdicts
        self.asked: list[tuple[str, float]] = []

    def ask(self, name: str, _: Any, seconds: float) -> Any:
        self.asked.append((name, seconds))
        self.left -= min(seconds, 5.0)
        verdict = self.verdicts[name].pop(0)
        if verdict is KeyboardInterrupt:
            raise KeyboardInterrupt

        class Answer:
            pass

        found: Any = Answer()
        found.verdict = verdict
        return found

    def answers(self, *, quick: bool) -> dict[str, Any]:
        problems: Any = dict.fromkeys(self.verdicts)
        found = answer_questions(problems, self.ask, lambda: self.left, quick=quick)
        return {name: result.verdict for name, result in found.items()}


def test_open_questions_share_what_cheap_ones_leave() -> None:
    asking = Questions(60.0, a=[OPEN, CLEAR], b=[CLEAR], c=[COARSE, COARSE], d=[CLEAR])
    assert asking.answers(quick=True) == {"a": CLEAR, "b": CLEAR, "c": COARSE, "d": CLEAR}
    assert asking.asked == [("a", 5), ("b", 5), ("c", 5), ("d", 5), ("a", 20), ("c", 35)]


def test_a_short_time_is_halved() -> None:
    asking = Questions(8.0, a=[CLEAR], b=[CLEAR])
    asking.answers(quick=True)
    assert asking.asked == [("a", 2), ("b", 2)]


def test_questions_of_a_file_share_equally() -> None:
    asking = Questions(30.0, a=[OPEN], b=[CLEAR], c=[CLEAR])
    assert list(asking.answers(quick=False)) == ["a", "b", "c"]
    assert asking.asked[0] == ("a", 10)


def test_an_interrupt_keeps_what_is_known() -> None:
    asking = Questions(60.0, a=[OPEN, KeyboardInterrupt], b=[CLEAR])
    assert asking.answers(quick=True) == {"a": OPEN, "b": CLEAR}
    with pytest.raises(KeyboardInterrupt):
        Questions(60.0, a=[KeyboardInterrupt], b=[CLEAR]).answers(quick=True)


def test_the_line_says_what_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    announce_questions(["safe", "return"], 60.0)
    said = capsys.readouterr().err
    assert said.startswith("asking 2 questions: safe, return; 5 s each at first, ")
    assert said.count("\n") == 1
