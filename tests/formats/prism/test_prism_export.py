"""What is written as PRISM reads back with the same states and values."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from tests.formats.prism.ask_prism import count_states, prism_problem, read_text
from tests.formats.prism.random_programs import enough_programs
from tests.laws.automata_networks import automata_network

from surefoot.engines.explicit import Explicit
from surefoot.errors import Unsupported
from surefoot.explore.exploration import explore_problem
from surefoot.formats.prism import write_prism
from surefoot.formats.prism.property_file import prism_questions_from_text
from surefoot.formats.prism_model import prism_question_scope
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Never, Probability, Property
from surefoot.problem.property import Path as PathFormula
from surefoot.problem.property_parser import parse_property
from surefoot.term.term import FALSE, Apply, Const, Op, Term, Var, equal, ite
from surefoot.term.value_types import Array, Bool, Int, Real
from surefoot.verdict.verdict import Exact, Verdict
from surefoot.work.budget import Budget


def states_of(environment: Environment) -> int:
    problem = Problem("states", environment, None, Never(FALSE))
    return explore_problem(problem, labels={}, budget=Budget(60)).markov.states


def ask(environment: Environment, asked: Property) -> Verdict:
    return Explicit(exact=True).check(Problem("asked", environment, None, asked), Budget(60))


def same(first: Verdict, second: Verdict) -> bool:
    if isinstance(first, Exact) and isinstance(second, Exact):
        return (first.low, first.high) == (second.low, second.high)
    return type(first) is type(second)


def read_again(
    environment: Environment, asked: dict[str, Property]
) -> tuple[Environment, dict[str, Property]]:
    texts = write_prism(environment, asked)
    model = read_text(texts.model)
    assert not texts.refused
    found = prism_questions_from_text(texts.questions, prism_question_scope(model), {})
    assert not found.refused
    return model.environment, {name: q.asked for name, q in found.questions.items()}


def _questions(environment: Environment, goal: Term) -> dict[str, Property]:
    found: dict[str, Property] = {}
    for best in ("max", "min"):
        found[f"reach_{best}"] = Probability(PathFormula("F", goal), None, best)  # type: ignore[arg-type]
        found[f"soon_{best}"] = parse_property(f"P{best}=? [ G<=3 x < 2 ]")
        found[f"cost_{best}"] = Expected("cost", FALSE, None, best, steps=3)  # type: ignore[arg-type]
    return found


def _paying(environment: Environment, seed: int) -> Environment:
    """Some edges earn something."""
    random = Random(seed)
    components = []
    for component in environment.components:
        edges = []
        for edge in component.edges:
            amount: Term = random.choice([Const(1), Const(Fraction(1, 3)), Var("x"), Const(0), Const(0)])
            outcomes = tuple(
                replace(o, rewards=(("cost", amount if random.random() < 0.8 else Const(2)),))
                for o in edge.outcomes
            )
            edges.append(replace(edge, outcomes=outcomes))
        components.append(replace(component, edges=tuple(edges)))
    return replace(environment, components=tuple(components))


def test_networks_of_components() -> None:
    refused = 0
    for seed in range(120):
        environment = automata_network(seed).environment
        environment = _paying(environment, seed) if seed % 2 else environment
        asked = _questions(environment, equal(Var("x"), 2))
        if not seed % 2:
            asked = {name: one for name, one in asked.items() if not name.startswith("cost")}
        try:
            again, questions = read_again(environment, asked)
        except Unsupported:
            refused += 1
            continue
        assert states_of(again) == states_of(environment), seed
        for name, one in asked.items():
            assert same(ask(environment, one), ask(again, questions[name])), (seed, name)
    assert refused < 60


def test_random_programs() -> None:
    for seed, program, _ in enough_programs(40, 5000):
        model = read_text(program.text())
        again = read_text(write_prism(model.environment).model)
        assert count_states(again) == count_states(model), seed
        for question in ('P{}=? [ F "goal" ]', 'R{{"cost"}}{}=? [ C<=3 ]'):
            if program.kind == "ctmc" and question.startswith("R"):
                continue
            for best in ("max", "min"):
                text = f'filter(max, {question.format(best)}, "init")'
                first, second = prism_problem(model, text), prism_problem(again, text)
                assert same(
                    ask(first.environment, first.property), ask(second.environment, second.property)
                ), (seed, text)


def test_operators_with_other_names() -> None:
    x = Var("x")
    values: list[Term] = [
        Apply(Op.ABS, (x - 2,)),
        Apply(Op.SIGN, (x - 1,)) + 1,
        Apply(Op.TRUNC, (x / 2,)),
        Apply(Op.SELECT, (Apply(Op.ARRAY, (Const(3), Const(0), Const(1), Const(2))), x)),
        (x + 3) % 4,
        ite(x > 1, 0, 3 - x),
        Apply(Op.NEG, (x - 3,)),
        Apply(Op.MIN, (Apply(Op.POW, (x, Const(2))), Const(3))),
        Apply(Op.FLOOR, (x * Const(Fraction(2, 3)),)),
    ]
    for value in values:
        edge = Edge("here", None, x < 4, outcomes=(Outcome(updates=(Update(x, value),)),))
        environment = Environment("m", (Variable("x", Int(0, 3)),), x >= 0, (Component("c", (edge,)),))
        for start in range(4):
            for end in range(4):
                asked = parse_property(f"Pmax=? [ F<=1 x = {end} ] over max of x = {start}")
                again, questions = read_again(environment, {"q": asked})
                assert same(ask(environment, asked), ask(again, questions["q"])), (value, start, end)


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        (Variable("y", Int()), "`y` has no bounds"),
        (Variable("y", Real()), "`y` is neither a bounded integer nor a truth value"),
        (Variable("y", Array(Bool(), 2)), "`y` is neither a bounded integer nor a truth value"),
    ],
)
def test_what_prism_cannot_say_is_refused(variable: Variable, said: str) -> None:
    environment = Environment("m", (variable,), Const(True), (Component("c", ()),))
    with pytest.raises(Unsupported, match=said):
        write_prism(environment)


def test_questions_without_counterpart_are_named() -> None:
    edge = Edge("here", None, Var("x") < 3, outcomes=(Outcome(updates=(Update(Var("x"), Var("x") + 1),)),))
    environment = Environment(
        "m", (Variable("x", Int(0, 3)),), equal(Var("x"), 0), (Component("c", (edge,)),)
    )
    asked = {"again": parse_property("recurs x = 3"), "next": parse_property("Pmax=? [ X x = 1 ]")}
    texts = write_prism(environment, asked)
    assert set(texts.refused) == {"again", "next"}
    assert "// left out: again" in texts.questions
