"""Random environments written as problem files read back as the same data; another form means the same."""

from dataclasses import fields, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.jani.random_environments import condition, number, random_environment, random_state
from tests.formats.prism.random_programs import random_program
from tests.laws import automata_networks, awkward_systems, finite_systems

from surefoot.errors import InvalidProblem, SurefootError
from surefoot.formats.prism import read_prism
from surefoot.formats.problem_file import write_problem_file
from surefoot.formats.problem_file.canonical_terms import canonical_environment, with_canonical_terms
from surefoot.formats.problem_file.reader import parse_problem_text
from surefoot.formats.toml_document import parse_toml_document
from surefoot.formats.toml_text import write_toml_document
from surefoot.problem.environment import Environment
from surefoot.problem.policy import ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.validate import environment_labels
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term
from surefoot.term.value_types import Arithmetic

NOWHERE = Path("nowhere/model.toml")


def again(environment: Environment, policy: Any = None, **properties: Any) -> None:
    """The writer compares by itself; here it is compared once more."""
    text = write_problem_file(environment, properties, policy, path=NOWHERE)
    copy, acting, asked = parse_problem_text(text, NOWHERE)
    environment = canonical_environment(environment)
    for part in fields(Environment):
        assert getattr(copy, part.name) == getattr(environment, part.name), part.name
    assert asked == with_all_canonical(properties, environment.arithmetic)
    assert acting == with_canonical_terms(policy, environment.arithmetic)


def with_all_canonical(properties: dict[str, Any], arithmetic: Arithmetic) -> dict[str, Any]:
    return {name: with_canonical_terms(one, arithmetic) for name, one in properties.items()}


def written_program(problem: Problem) -> ProgramPolicy | None:
    """Its policy, if it is a program without networks."""
    match problem.policy:
        case ProgramPolicy(branches, actions) as policy if all(
            isinstance(b.then, str | tuple) for b in branches
        ):
            known = () if problem.environment.controls else environment_labels(problem.environment)
            return replace(policy, actions=actions or known)
        case _:
            return None


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_environments_read_back(seed: int) -> None:
    again(random_environment(Random(seed)))


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_problems_read_back(seed: int) -> None:
    """Those of the laws: with programs, locations, controls, and every kind of property."""
    one = automata_networks.automata_network(seed)
    again(one.environment, None, asked=one.property)
    for problem in (*finite_systems.problems(seed).values(), awkward_systems.awkward(seed)):
        again(problem.environment, written_program(problem), asked=problem.property)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_prism_programs_read_back(seed: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.prism"
        path.write_text(random_program(seed).text(), encoding="utf-8")
        try:
            model = read_prism(path)
        except SurefootError:
            return  # it is about the writer
    again(model.environment)


@st.composite
def nested_terms(draw: Any, depth: int = 3) -> Term:
    """Conditions with everything that is written in another form: nested, neutral, absorbing, undefined."""
    random = Random(draw(st.integers(0, 2**32)))
    kind = draw(st.integers(0, 6)) if depth else 6
    if kind <= 3:
        parts = draw(st.lists(nested_terms(depth - 1), min_size=1, max_size=3))
        return Apply(draw(st.sampled_from((Op.AND, Op.OR))), tuple(parts))
    if kind == 4:
        ends = [Const(random.randint(-2, 3)) for _ in range(2)]
        return Apply(Op.LT, (Apply(Op.DIV, tuple(ends)), Apply(Op.NEG, (number(random, (), 1),))))
    if kind == 5:
        return draw(st.sampled_from((TRUE, FALSE)))
    return condition(random, (), 1)


@settings(max_examples=300, deadline=None)
@given(term=nested_terms(), seed=st.integers(0, 2**32), arithmetic=st.sampled_from(list(Arithmetic)))
def test_another_form_means_the_same(term: Term, seed: int, arithmetic: Arithmetic) -> None:
    """Also where a part has no value."""
    random = Random(seed)
    state = random_state(random, random_environment(random))
    before, after = (outcome(t, state, arithmetic) for t in (term, with_canonical_terms(term, arithmetic)))
    assert before == after


def outcome(term: Term, state: Any, arithmetic: Arithmetic) -> Any:
    try:
        return evaluate_term(term, state, arithmetic)
    except SurefootError:
        return "no value"


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
values = st.recursive(
    st.one_of(texts, st.booleans(), st.integers(-(2**80), 2**80)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(top=st.dictionaries(texts, values, max_size=4))
def test_any_tables_read_back(top: dict[str, Any]) -> None:
    """Also names that are empty, that move the cursor, or that look like syntax."""
    text = write_toml_document(top, ())
    try:
        read = parse_toml_document(text)
    except InvalidProblem as error:
        if "40 parts" not in error.what:  # the limit of readers on keys
            raise
    else:
        assert read.value == top
