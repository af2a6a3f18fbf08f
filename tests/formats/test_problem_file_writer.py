"""What is written as a problem file reads back as the same data, or is refused in one line."""

from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from surefoot.errors import Unsupported
from surefoot.formats.problem_file import write_problem_file
from surefoot.formats.problem_file.canonical_terms import canonical_environment
from surefoot.formats.problem_file.reader import parse_problem_text
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Law,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.flow import Flow
from surefoot.problem.policy import RANDOM, Branch, ProgramPolicy, ShieldedPolicy
from surefoot.problem.property import Never
from surefoot.problem.property_parser import parse_property
from surefoot.term.parser import parse_term
from surefoot.term.reserved_names import location_name
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real

NOWHERE = Path("nowhere/model.toml")


def again(environment: Environment, policy: Any = None, **properties: Any) -> str:
    """The text; that all parts are the same is looked at here once more."""
    text = write_problem_file(environment, properties, policy, path=NOWHERE)
    copy, acting, asked = parse_problem_text(text, NOWHERE)
    environment = canonical_environment(environment)
    for part in fields(Environment):
        assert getattr(copy, part.name) == getattr(environment, part.name), part.name
    assert asked == properties
    assert policy is None or acting == policy
    return text


def everything() -> Environment:
    """One of each thing that an environment can have."""
    x, y, on, a = Var("x"), Var("y y"), Var("on"), Var("a")
    edges = (
        Edge(
            "low",
            "go",
            x > 0,
            (Choice("w", Real(Fraction(-1, 3), None), Law("normal", (Fraction(0), Fraction(1, 7)))),),
            Var("w") <= x,
            (
                Outcome(
                    Const(Fraction(1, 3)), (Update(x, y), Update(a[1], x, 2), Update(a[0], y, 2)), (), "top"
                ),
                Outcome(Const(Fraction(2, 3)), (), (("cost €", x * 2), ("time", Const(1))), "low"),
            ),
        ),
        Edge("top", None, outcomes=(Outcome(target="top"),)),
    )
    other = Component("other one", (Edge(action="go"), Edge(action="wait")))
    return Environment(
        'say "so" \\ \n',
        (
            Variable("x", Real(None, Fraction(1, 3))),
            Variable("y y", Real(Fraction(-1), Fraction(5), float32=True)),
            Variable("on", Bool()),
            Variable("a", Array(Array(Int(-3, 4), 2), 3)),
            Variable("b", Array(Real(), 3)),
            Variable("n", Int(None, 7)),
            Variable("m", Int(-2, None)),
            Variable("true", Bool()),
        ),
        (x >= 0) & ~on & ~Var("true") & parse_term("b[0] = 0.1 + 1/3"),
        (Component("c", edges[1:], ("low", "top", "idle"), ("top", "low")), other),
        (
            Control("u", Fraction(-1), Fraction(1, 3)),
            Control("v", None, Fraction(2), clipped=False),
            Control("f"),
        ),
        (
            Synchronisation((None, "go"), "go"),
            Synchronisation((None, "go"), None),
            Synchronisation((None, "wait"), "pause"),
        ),
        Arithmetic.FLOAT64,
        Flow((("x", Var("b")[0] + Var("u")),), Fraction(1, 3), "rk4", False, Fraction(1)),
        overapproximate=True,
        definitions=(("high up", parse_term("x > 2")), ("there", Var(location_name("c", "top")))),
        normalised=("c: go",),
        notes=("a note", 'and "another"'),
        start_laws=(("n", Law("integer", (Fraction(1), Fraction(6)))),),
    )


def test_everything_reads_back() -> None:
    text = again(everything(), None, **{"a b": parse_property("never m > 3 for 2 steps")})
    assert "silent = true" in text


def test_updates_keep_their_order() -> None:
    x, a = Var("x"), Var("a")
    updates = (Update(x, x + 1, 0), Update(a[x], Const(1), 3), Update(Var("y"), x, 3))
    variables = (Variable("x", Int(0, 3)), Variable("y", Int()), Variable("a", Array(Int(), 2)))
    text = again(
        Environment(
            "order", variables, TRUE, (Component("main", (Edge(outcomes=(Outcome(updates=updates),)),)),)
        )
    )
    assert '"a[x]" = "1"' in text


def test_a_program_reads_back() -> None:
    x = Var("x")
    edges = (Edge(action="go"), Edge(action="stop"), Edge(action="wait"))
    world = Environment("walk", (Variable("x", Int(0, 3)),), TRUE, (Component("main", edges),))
    for actions in (("go", "stop", "wait"), ("go",)):
        policy = ProgramPolicy((Branch(x > 1, "go"), Branch(TRUE, "go")), actions)
        again(world, policy, safe=Never(x > 2))
    assert "actions" not in again(world, ProgramPolicy((Branch(TRUE, "go"),), ("go", "stop", "wait")))
    with pytest.raises(Unsupported, match="no action of its own"):
        again(world, ProgramPolicy((Branch(TRUE, "go"),)))


# --- what cannot be said ---------------------------------------------------------------------------------


def world(*updates: Update, **parts: Any) -> Environment:
    edges = (Edge(action="go", outcomes=(Outcome(updates=updates),)),)
    variables = (Variable("x", Int(0, 3)), Variable("y", Int(0, 3)))
    return replace(Environment("w", variables, TRUE, (Component("main", edges),)), **parts)


GO = ProgramPolicy((Branch(TRUE, "go"),), ("go",))
REFUSED = {
    "a surrogate": (world(name="\ud800"), None, "half of a character"),
    "an oracle": (world(), RANDOM, "the policy `random` is a Python function"),
    "a shield": (world(), ShieldedPolicy(GO, TRUE, GO), "a shield around a policy"),
    "a program inside": (world(), ProgramPolicy((Branch(TRUE, GO),), ("go",)), "inside a program"),
    "a far index": (world(Update(Var("x"), Const(1), 10**6)), None, "updates are numbered beyond"),
    "a negative index": (world(Update(Var("x"), Const(1), -1)), None, "updates are numbered beyond"),
    "two of one name": (
        world(variables=(Variable("x", Int(0, 3)), Variable("x", Bool()))),
        None,
        "a name stands twice",
    ),
    "a defined variable": (world(definitions=(("x", TRUE),)), None, "both defined and a variable"),
    "an undeclared name": (world(initial=Var("z") > 0), None, "could not be read back"),
    "too large": (world(notes=("n" * 1_000_001,)), None, "1000000 are read"),
}


@pytest.mark.parametrize("sign", ["*", "and"])
def test_shared_parts_are_counted_before_they_are_written(sign: str) -> None:
    """A term of 60 parts whose text would have more characters than any disk."""
    term: Term = Var("x") if sign == "*" else Var("x") > 1
    for _ in range(60):
        term = term * term if sign == "*" else Apply(Op.AND, (term, term))
    where = {"initial": term > 3} if sign == "*" else {"definitions": (("far", term),)}
    with pytest.raises(Unsupported, match=r"more than 10\^12 bytes, and 1000000 are read"):
        write_problem_file(world(**where), path=NOWHERE)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_said_is_refused(case: str) -> None:
    environment, policy, what = REFUSED[case]
    with pytest.raises(Unsupported, match=what) as caught:
        write_problem_file(environment, {}, policy, path=NOWHERE)
    assert "\n" not in str(caught.value)
    assert caught.value.fix
