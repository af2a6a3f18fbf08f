"""What is written as JANI reads back with the same meaning, step by step."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.jani.random_environments import random_environment, random_state
from tests.formats.jani.reachable import packed, question, reachable, starts

from surefoot.errors import SurefootError, Unsupported
from surefoot.formats.jani import JaniModel, read_jani, write_jani
from surefoot.formats.jani.export.terms import WITHOUT_COUNTERPART, WRITERS
from surefoot.problem.environment import Control, Environment
from surefoot.problem.property import Expected, Property
from surefoot.problem.property_parser import parse_property
from surefoot.problem.property_printer import show_property
from surefoot.problem.semantics import State, enumerate_successors, is_initial
from surefoot.problem.validate import check_environment
from surefoot.term.term import Op
from surefoot.term.value_types import Arithmetic

REWARDS: dict[str, Property] = {
    name: parse_property(f"Emin=? [ {name} until x = 3 ]") for name in ("cost", "time")
}


def again(environment: Environment, properties: Mapping[str, Property], kind: str = "mdp") -> JaniModel:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.jani"
        path.write_text(write_jani(environment, properties, kind=kind), encoding="utf-8")
        return read_jani(path)


def steps(environment: Environment, state: State, renamed: Mapping[str, str]) -> Any:
    """What can happen in a state: label and choice apart, the distribution over next states and rewards."""
    try:
        found: dict[Any, Counter] = {}
        for s in enumerate_successors(question(environment), state):
            earned = {renamed.get(n, n): v for n, v in s.rewards.items() if v != 0}
            move = found.setdefault((s.move.transition, packed(s.move.chosen)), Counter())
            move[packed(s.state), tuple(sorted(earned.items()))] += s.probability
    except SurefootError:
        return "undefined"
    labelled = [(t.label, tuple(sorted(c.items(), key=repr))) for (t, _), c in found.items()]
    return sorted(labelled, key=repr)


def paid(environment: Environment) -> set[str]:
    return {r for c in environment.components for e in c.edges for o in e.outcomes for r, _ in o.rewards}


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_environments_mean_the_same(seed: int) -> None:
    random = Random(seed)
    environment = random_environment(random)
    check_environment(environment)
    asked = {name: REWARDS[name] for name in sorted(paid(environment))}
    copy = again(environment, asked)
    check_environment(copy.environment)
    assert copy.environment.variables == environment.variables
    assert not copy.refused
    renamed = {p.reward: n for n, p in copy.properties.items() if isinstance(p, Expected)}
    for _ in range(8):
        state = random_state(random, environment)
        assert steps(copy.environment, state, renamed) == steps(environment, state, {})
        assert is_initial(copy.environment, state) == is_initial(environment, state)


PROPERTIES = (
    "never x = 3",
    "always x < 3",
    "never x = 3 for 4 steps",
    "eventually x = 3",
    "within 7 x = 3",
    "Pmax=? [ F (x = 3) ]",
    "Pmin=? [ (x < 3) U[2, 7] (x = 5) ] over avg",
    "Pmax=? [ X (x = 3) ] over values",
    "Pmin=? [ (x < 3) W (x = 5) ]",
    "Pmin=? [ G<=9 (x < 3) ]",
    "Pmin>=1/3 [ F (x = 3) ] over min",
    "Pmin<0.5 [ F (x = 3) ]",
    "Pmin>=0.5 [ F (x = 3) ]",
    "Pmax=? [ F{cost}<2.5 (x = 3) ]",
    "Pmax=? [ F deadlocked ]",
    "Pmax=? [ F at(walker, b) ]",
    "Emin=? [ steps until x = 3 ]",
    "Emax=? [ cost until x = 3 for 9 steps ] over min",
    "Emax=? [ cost for 9 steps ]",
    "Emax<=7 [ cost until x = 3 ]",
)


def walker(tmp_path: Path) -> Environment:
    from tests.formats.jani.build import X, asks, assign, automaton, bounded, edge, goes, op, variable, write

    step = edge(
        goes("b", assign("x", op("+", "x", 1)), assign("cost", 0.1)), source="a", guard=op("<", "x", 5)
    )
    back = edge(goes("a", probability=0.75), goes("b", probability=0.25), source="b")
    content = asks({"op": "Emin", "exp": "cost", "accumulate": ["steps"], "reach": True}) | {
        "automata": [automaton("walker", step, back, locations=("a", "b"))],
        "system": {"elements": [{"automaton": "walker"}]},
        "variables": [X, variable("z", bounded(0, 2)), variable("cost", "real", 0, transient=True)],
    }
    return read_jani(write(tmp_path, content)).environment


@pytest.mark.parametrize("text", PROPERTIES)
def test_properties_read_back(tmp_path: Path, text: str) -> None:
    environment = walker(tmp_path)
    asked = parse_property(text)
    copy = again(environment, {"question": asked})
    assert show_property(copy.properties["question"]) == show_property(asked)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recurs x = 3", "Recurs properties of this form cannot be written in JANI"),
        ("within 7 x = 3 after 2", "Within properties of this form cannot be written in JANI"),
        ("P=? [ F (x = 3) ]", "JANI asks for the smallest or largest value only"),
        (
            "Pmax=? [ F (x = 3) ] over max of x = 1",
            "starts other than the initial states cannot be written in JANI",
        ),
        ("Pmax>0.5 [ F (x = 3) ] over sum", "a threshold over `sum` of the starts cannot be written in JANI"),
        ("Emin=? [ (x) until x = 3 ]", "a reward that is a term cannot be written in JANI"),
        ("Pmax=? [ F stalled ]", "`stalled` has no counterpart in JANI"),
        ("never sqrt(x) > 2", "`sqrt` in `sqrt(x)` has no counterpart in JANI"),
    ],
)
def test_properties_that_cannot_be_written(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(Unsupported) as error:
        write_jani(walker(tmp_path), {"question": parse_property(text)})
    assert error.value.what == message
    assert error.value.fix


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"controls": (Control("u"),)}, "JANI has no controls"),
        (
            {"arithmetic": Arithmetic.FLOAT64},
            "JANI numbers are exact; this environment computes with float64",
        ),
    ],
)
def test_environments_that_cannot_be_written(tmp_path: Path, change: dict, message: str) -> None:

    with pytest.raises(Unsupported) as error:
        write_jani(replace(walker(tmp_path), **change))
    assert error.value.what == message
    assert error.value.fix


def test_every_operator_is_written_or_refused() -> None:
    assert set(WRITERS) | set(WITHOUT_COUNTERPART) == set(Op)
    assert not set(WRITERS) & set(WITHOUT_COUNTERPART)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("file", "constants"),
    [
        ("qvbs/leader_sync/leader_sync.3-2.jani", {}),
        ("qvbs/consensus/consensus.2.jani", {"K": "2"}),
        ("qvbs/herman/herman.3.jani", {}),
        ("qvbs/brp/brp.jani", {"N": "4", "MAX": "2"}),
        ("qvbs/coupon/coupon.5-2.jani", {"B": "5"}),
        ("plaja/for_pa_cegar2.jani", {}),
    ],
)
def test_models_read_back(shared_data: Path, file: str, constants: dict[str, str]) -> None:
    model = read_jani(shared_data / "jani" / file, constants)
    copy = again(model.environment, model.properties, model.kind)
    texts = {n: show_property(p) for n, p in model.properties.items()}
    renamed = {}
    for name, asked in copy.properties.items():
        original = model.properties[name]
        if isinstance(asked, Expected) and isinstance(original, Expected):
            renamed[asked.reward] = original.reward
        else:
            assert show_property(asked) == texts[name]
    limited = reachable(model.environment)[:150]
    assert sorted(map(packed, starts(copy.environment))) == sorted(map(packed, starts(model.environment)))
    for state in limited:
        assert steps(copy.environment, state, renamed) == steps(model.environment, state, {})


def test_the_environment_of_a_study_reads_back() -> None:
    """Three components, locations that guards ask for, arrays, and a reward of every decision."""
    from surefoot_studies.racetrack.problem import PROBLEMS, decisions_to_goal

    environment = PROBLEMS["decisions-to-goal"]().environment
    asked = replace(decisions_to_goal(), optimise="max")
    copy = again(environment, {"question": asked})
    renamed = {p.reward: asked.reward for p in copy.properties.values() if isinstance(p, Expected)}
    waiting = list(starts(environment))
    seen = {packed(s) for s in waiting}
    for state in waiting:
        for successor in enumerate_successors(question(environment), state):
            if packed(successor.state) not in seen and len(seen) < 80:
                seen.add(packed(successor.state))
                waiting.append(successor.state)
        assert steps(copy.environment, state, renamed) == steps(environment, state, {})
    assert len(waiting) == 80
