"""Texts of properties with seconds: what they mean, how they are shown, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from surefoot import never, never_before, within
from surefoot.errors import InvalidProblem
from surefoot.interface.properties import eventually
from surefoot.problem.property import Eventually, Never, NeverBefore, Property, Timed, Within
from surefoot.problem.property_parser import parse_property
from surefoot.problem.property_printer import show_property
from surefoot.term.parser import parse_term
from surefoot.verdict.sentences import property_clause

BAD, GOAL = parse_term("x > 3"), parse_term("y < 2")
HALF = Fraction(1, 2)
MEANINGS: dict[str, Property] = {
    "never x > 3 for 5 seconds": Timed(Never(BAD), Fraction(5)),
    "never x > 3 for 1 second": Timed(Never(BAD), Fraction(1)),
    "never x > 3 for 0 seconds": Timed(Never(BAD), Fraction(0)),
    "never x > 3 for 1/3 seconds": Timed(Never(BAD), Fraction(1, 3)),
    "never x > 3 for T seconds": Timed(Never(BAD), Fraction(7)),
    "never x > 3 from 0.5 to 1 seconds": Timed(Never(BAD), Fraction(1), HALF),
    "never x > 3 from 0.5 seconds": Timed(Never(BAD), None, HALF),
    "never x > 3 at time 0.5": Timed(Never(BAD), HALF, HALF),
    "always x > 3 for 5 seconds": Timed(Never(~BAD), Fraction(5)),
    "never x > 3 before y < 2 for 5 seconds": Timed(NeverBefore(BAD, GOAL), Fraction(5)),
    "always x > 3 before y < 2 from 0.5 to 5 seconds": Timed(NeverBefore(~BAD, GOAL), Fraction(5), HALF),
    "within 10 seconds y < 2": Timed(Eventually(GOAL), Fraction(10)),
    "within 10 seconds y < 2 after 5 seconds": Timed(Eventually(GOAL), Fraction(10), Fraction(5)),
    "within 10 seconds -y > -2 after 1 second": Timed(
        Eventually(parse_term("-y > -2")), Fraction(10), Fraction(1)
    ),
    "y < 2 at time 5": Timed(Eventually(GOAL), Fraction(5), Fraction(5)),
    "at time 5 y < 2": Timed(Eventually(GOAL), Fraction(5), Fraction(5)),
    "at time 5 seconds (y < 2)": Timed(Eventually(GOAL), Fraction(5), Fraction(5)),
    "at(car, home) at time 5": Timed(Eventually(parse_term("at(car, home)")), Fraction(5), Fraction(5)),
    "at time 5 at(car, home)": Timed(Eventually(parse_term("at(car, home)")), Fraction(5), Fraction(5)),
    "eventually y < 2 after 5 seconds": Timed(Eventually(GOAL), None, Fraction(5)),
    "never x > 3 at all times": Never(BAD),
    "always x > 3 before y < 2 at all times": NeverBefore(~BAD, GOAL),
    "within 3 `seconds`": Within(parse_term("`seconds`"), 3),
    "within 3 seconds `seconds`": Timed(Eventually(parse_term("`seconds`")), Fraction(3)),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_texts_read_and_show(text: str) -> None:
    asked = parse_property(text, constants={"T": parse_term("7")})
    assert asked == MEANINGS[text]
    assert parse_property(show_property(asked)) == asked
    assert property_clause(asked)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("never x > 3 for 5", "the text ends where `steps` after the number is expected"),
        ("never x > 3 for 5 secnds", "did you mean `seconds`?"),
        ("never x > 3 for 2.5 steps", "the number of steps has to be a whole number"),
        ("never x > 3 from 2", "the text ends where `seconds` after the number is expected"),
        ("never x > 3 from 0 seconds", "`from 0 seconds` is no limit"),
        ("never x > 3 at time", "the time has to be a number"),
        ("never x > 3 at all time", "did you mean `times`?"),
        ("never x > 3 for 5/0 seconds", "divides by zero"),
        ("x > 3 and at time 5", "unexpected `time`"),
        ("within 5 seconds x > 3 after 2", "the text ends where `seconds` after the number is expected"),
        ("eventually x > 3 after 0 seconds", "is no limit"),
        ("recurs x > 3 for 5 seconds", "unexpected `for`"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        parse_property(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_functions_of_the_python_interface() -> None:
    assert never("x > 3", seconds=5) == parse_property("never x > 3 for 5 seconds")
    assert never("x > 3", seconds=1, since="1/2") == parse_property("never x > 3 from 0.5 to 1 seconds")
    assert never_before("x > 3", "y < 2", seconds=5) == parse_property(
        "never x > 3 before y < 2 for 5 seconds"
    )
    assert within("y < 2", seconds=5, since=5) == parse_property("y < 2 at time 5")
    assert eventually("y < 2", since=5) == parse_property("eventually y < 2 after 5 seconds")
    for wrong in (
        lambda: never("x > 3", 5, seconds=5),
        lambda: within("x > 3"),
        lambda: within("x > 3", 5, seconds=5),
        lambda: within("x > 3", 5, since=5),
        lambda: within("x > 3", seconds=5, after=2),
        lambda: Timed(Never(BAD), None),
    ):
        with pytest.raises(InvalidProblem):
            wrong()


def test_sentences_say_the_moments() -> None:
    said = property_clause(parse_property("never x > 3 from 0.5 to 1 seconds"))
    assert said == "no run reaches `x > 3` from time 0.5 to time 1"
    assert property_clause(parse_property("x > 3 at time 5")) == "every run comes to `x > 3` at time 5"


def test_steps_may_be_called_so_unless_it_is_a_name() -> None:
    assert parse_property("within 3 steps x > 1 after 2") == parse_property("within 3 x > 1 after 2")
    assert parse_property("within 1 step x > 1") == parse_property("within 1 x > 1")
    for unit in ("steps", "seconds"):
        text = f"within 3 {unit} - 3 > 0"
        assert parse_property(text, names=(unit,)) == Within(parse_term(f"{unit} - 3 > 0"), 3)
