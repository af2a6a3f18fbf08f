"""Recurrent policies written out: the runs of an interpreter that remembers, and every engine on them."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.engines.selection import NoEngine
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.flow import Flow
from surefoot.problem.meaning.decision import action_among, pick_network_action
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.meaning.transition import enabled_transitions
from surefoot.problem.network import (
    Activation,
    Affine,
    Join,
    Network,
    Pick,
    Remembered,
    Shape,
    freeze_float32,
    freeze_indices,
)
from surefoot.problem.policy import Branch, Choose, EdgesOf, NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Within
from surefoot.problem.property_parser import parse_property
from surefoot.problem.semantics import enumerate_outcomes, enumerate_successors, holds_in_state
from surefoot.problem.validate import validate_problem
from surefoot.reductions.discretise import discretise
from surefoot.term.evaluate import evaluate_term
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_name
from surefoot.term.term import TRUE, Const, Term, Var, conjunction_of, equal
from surefoot.term.value_types import Arithmetic, Int, Real

ACTIONS, KEPT = ("left", "stay", "right"), 2


def random_network(rng: np.random.Generator, observed: int, decided: int, *, whole: bool) -> Network:
    """Scores and two states, a tanh and a plain sum; of whole numbers there are many ties."""
    shape = (decided + KEPT, observed + KEPT)
    weights = rng.integers(-1, 2, shape) if whole else rng.normal(size=shape) * 0.5
    nodes = (
        Affine(0, freeze_float32(weights), freeze_float32(np.zeros(len(weights)))),
        Pick(1, freeze_indices([*range(decided + 1)])),
        Pick(1, freeze_indices([decided + 1])),
        Activation(3, Shape.CLIP, (-1.0, 1.0)) if whole else Activation(3, Shape.TANH),
        Join((2, 4)),
    )
    return Network(observed + KEPT, nodes, memory=(Remembered.ANY, Remembered.UNIT))


def edge(rng: np.random.Generator, action: str | None, places: tuple[str, ...]) -> Edge:
    x, y = Var("x"), Var("y")
    by = int(rng.integers(-2, 3))
    moved: Term = (x + by) if by else x
    inside = conjunction_of((Const(-3) <= moved, moved <= 3))
    guard = inside if rng.random() < 0.7 else conjunction_of((inside, ~equal(x, y)))
    further = Outcome(Const(Fraction(1, 3)), (Update(x, moved), Update(y, Const(int(rng.integers(-3, 4))))))
    plain = Outcome(
        Const(Fraction(2, 3)), (Update(x, moved, 1), Update(y, x)), target=str(rng.choice(places))
    )
    return Edge(
        str(rng.choice(places)),
        action,
        guard,
        outcomes=(replace(further, target=str(rng.choice(places))), plain),
    )


def random_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    places = ("here",) if seed % 3 else ("a", "b")
    edges = tuple(
        edge(rng, action, places) for action in (*ACTIONS, *ACTIONS, None, "other")[: int(rng.integers(4, 9))]
    )
    environment = Environment(
        "random",
        tuple(Variable(name, Int(-3, 3)) for name in ("x", "y")),
        conjunction_of((equal(Var("x"), int(rng.integers(-3, 4))), equal(Var("y"), 0))),
        (Component("main", edges, places, places[:1]),),
        arithmetic=Arithmetic.FLOAT64 if seed % 2 else Arithmetic.EXACT,
    )
    named: Any = tuple(a for a in ACTIONS if any(e.action == a for e in edges))
    actions = EdgesOf("main") if seed % 5 == 0 else named
    count = len(edges) if seed % 5 == 0 else len(named)
    network = random_network(rng, 2, count, whole=bool(seed % 4))
    choose = Choose.ARGMAX_APPLICABLE if seed % 7 in (1, 2, 3) else Choose.ARGMAX
    policy = NeuralPolicy(network, (Var("x"), Var("y")), actions, choose)
    return Problem("random", environment, policy, Never(equal(Var("x"), 3)))


class Interpreter:
    """Asks the network itself, and keeps what it returns."""

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.policy, NeuralPolicy)
        self.environment, self.policy = problem.environment, problem.policy
        from surefoot.problem.meaning.decision import action_names

        self.names = action_names(self.policy, self.environment)

    def decide(self, state: Any, kept: tuple[float, ...]) -> tuple[Any, tuple[float, ...], list[Any]]:
        enabled = enabled_transitions(self.environment, state)
        own = {a for t in enabled if (a := action_among(self.names, self.environment, t)) is not None}
        row = np.array([state["x"], state["y"], *kept], np.float32)
        outputs = tuple(map(float, infer_outputs(self.policy.network, row[None])[0]))
        count = len(self.names)
        if not own:
            return None, kept, list(enabled)
        made = pick_network_action(self.policy.choose, self.names, outputs[:count], own)
        after = tuple(outputs[count:])
        allowed = {None, *made.actions}
        return made, after, [t for t in enabled if action_among(self.names, self.environment, t) in allowed]

    def successors(self, state: Any, kept: tuple[float, ...]) -> set[Any]:
        _, after, permitted = self.decide(state, kept)
        found = set()
        for transition in permitted:
            own = action_among(self.names, self.environment, transition) is not None
            for one in enumerate_outcomes(self.environment, state, transition, {}, {}):
                found.add((freeze(one.state), after if own else kept, one.probability))
        return found


def freeze(state: Any) -> Any:
    return tuple(sorted((name, value) for name, value in state.items() if not name.startswith("memory_")))


@pytest.mark.parametrize("seed", range(20))
def test_steps_are_those_of_a_policy_that_remembers(seed: int) -> None:
    problem = random_problem(seed)
    validate_problem(problem)
    written, plain = discretise(problem), Interpreter(problem)
    meanings = {
        name: discretise(replace(problem, property=Never(Var(name)))).property
        for name in (*map(chosen_name, plain.names), STALLED, DEADLOCKED)
    }
    start = start_of(problem)
    waiting, seen = [(start, (0.0,) * KEPT)], set()
    while waiting and len(seen) < 40:
        state, kept = waiting.pop(0)
        key = freeze(state), kept
        if key in seen:
            continue
        seen.add(key)
        exact = problem.environment.arithmetic is Arithmetic.EXACT
        values = {f"memory_{i}": Fraction(v) if exact else v for i, v in enumerate(kept)}
        whole = {**state, **values}
        found = {
            (freeze(s.state), tuple(float(s.state[f"memory_{i}"]) for i in range(KEPT)), s.probability)
            for s in enumerate_successors(written, whole)
        }
        assert found == plain.successors(state, kept)
        made, _, _ = plain.decide(state, kept)
        wanted = {chosen_name(a): made is not None and a in made.actions for a in plain.names}
        wanted[STALLED] = made is not None and made.stalls
        wanted[DEADLOCKED] = not enabled_transitions(problem.environment, state)
        for name, meaning in meanings.items():
            assert isinstance(meaning, Never)
            assert holds_in_state(written, whole, meaning.bad) == wanted[name], name
        waiting += [(dict(s), k) for s, k, _ in sorted(found, key=repr)]


def start_of(problem: Problem) -> Any:
    """The one start state."""
    several = len(problem.environment.components[0].locations) > 1
    for x in range(-3, 4):
        state = {"x": x, "y": 0} | ({"@main": 0} if several else {})
        if evaluate_term(problem.environment.initial, state, problem.environment.arithmetic):
            return state
    raise AssertionError


def lstm_problem(arithmetic: Arithmetic = Arithmetic.EXACT) -> Problem:
    """A walk that a small LSTM steers, from the layers of a file of weights."""
    from surefoot.formats.layer_list import connect_layers

    rng = np.random.default_rng(5)
    shapes = {"m.weight_ih_l0": (8, 1), "m.weight_hh_l0": (8, 2), "m.bias_ih_l0": (8,), "m.bias_hh_l0": (8,)}
    tensors = {name: freeze_float32(rng.normal(size=shape)) for name, shape in shapes.items()}
    tensors |= {"h.weight": freeze_float32(rng.normal(size=(2, 2))), "h.bias": freeze_float32([0.2, -0.1])}
    network = connect_layers(tensors, ("lstm m", "linear h"), "walker")
    x = Var("x")
    edges = tuple(
        Edge(action=action, guard=guard, outcomes=(Outcome(updates=(Update(x, x + by),)),))
        for action, guard, by in (("left", x >= -7, Fraction(-1, 2)), ("right", x <= 7, Fraction(1, 2)))
    )
    environment = Environment(
        "walk",
        (Variable("x", Real(Fraction(-8), Fraction(8))),),
        conjunction_of((Const(Fraction(-1, 4)) <= x, x <= Fraction(1, 4))),
        (Component("main", edges),),
        arithmetic=arithmetic,
    )
    policy = NeuralPolicy(network, (x,), ("left", "right"))
    return Problem("walk", environment, policy, Never(x >= 2, 6))


def ends_of_runs(problem: Problem, steps: int) -> tuple[float, float]:
    """The least and the largest x of 200 runs."""
    plain_low, plain_high = np.inf, -np.inf
    assert isinstance(problem.policy, NeuralPolicy)
    network = problem.policy.network
    x = np.linspace(-0.25, 0.25, 200)
    kept = np.zeros((200, len(network.memory)), np.float32)
    for _ in range(steps + 1):
        plain_low, plain_high = min(plain_low, x.min()), max(plain_high, x.max())
        outputs = infer_outputs(network, np.concatenate([x[:, None], kept], axis=1).astype(np.float32))
        kept = outputs[:, 2:]
        x = x + np.where(outputs[:, 1] > outputs[:, 0], 0.5, -0.5)
    return float(plain_low), float(plain_high)


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
def test_an_lstm_is_proved_and_refuted(arithmetic: Arithmetic) -> None:
    problem = lstm_problem(arithmetic)
    low, high = ends_of_runs(problem, 3)
    x = Var("x")
    beyond = Fraction(round(high * 8) + 1, 8)
    proved = sf.verify(replace(problem, property=Never(x >= beyond, 3)), "reach", sf.Budget(60))
    assert isinstance(proved.verdict, sf.Proved)
    assert proved.certified
    reached = Fraction(round(high * 8) - 1, 8)
    refuted = sf.verify(replace(problem, property=Never(x >= reached, 3)), "falsify", sf.Budget(60))
    assert isinstance(refuted.verdict, sf.Violated)
    assert refuted.certified
    assert low < high


def test_reach_says_that_it_looks_at_states() -> None:
    """What is said about acting is about scores, which a certificate of sets of states does not know."""
    stalls = replace(lstm_problem(), property=Never(Var(STALLED), 2))
    with pytest.raises(NoEngine, match="reach looks at conditions on the state, not at `score_0`"):
        sf.verify(stalls, "reach", sf.Budget(20))


def test_every_cell_is_bounded_where_steps_are_counted() -> None:
    written = discretise(lstm_problem())
    kinds = {v.name: v.kind for v in written.environment.variables}
    assert kinds["memory_0"] == Real(Fraction(-1), Fraction(1))
    assert kinds["memory_2"] == Real(Fraction(-7), Fraction(7))
    unbounded = discretise(replace(lstm_problem(), property=Never(Var("x") >= 2)))
    assert {v.name: v.kind for v in unbounded.environment.variables}["memory_2"] == Real()
    late = discretise(replace(lstm_problem(), property=Within(Var("x") >= 2, 9)))
    assert {v.name: v.kind for v in late.environment.variables}["memory_2"] == Real(
        Fraction(-10), Fraction(10)
    )


def test_a_value_is_computed_exactly() -> None:
    """A start, and a policy without a choice of the environment: one run, which is good or bad."""
    problem = lstm_problem()
    start = replace(problem.environment, initial=equal(Var("x"), Fraction(1, 8)))
    problem = replace(problem, environment=start)
    run = [0.125]
    assert isinstance(problem.policy, NeuralPolicy)
    kept = np.zeros(4, np.float32)
    for _ in range(6):
        outputs = infer_outputs(problem.policy.network, np.array([[run[-1], *kept]], np.float32))[0]
        kept = outputs[2:]
        run.append(run[-1] + (0.5 if outputs[1] > outputs[0] else -0.5))
    high = max(run)
    for text, value in ((f"P=? [F<=6 x >= {high}]", 1), (f"P=? [F<=6 x >= {high + 0.25}]", 0)):
        asked = replace(problem, property=parse_property(text, names=["x"]))
        found = sf.verify(asked, "explicit", sf.Budget(30)).verdict
        assert isinstance(found, sf.Exact)
        assert found.low is not None
        assert found.high is not None
        assert abs(found.low - value) + abs(found.high - value) < Fraction(1, 10**9)


def test_controls_remember_too() -> None:
    """Every step carries out a decision where the policy sets controls."""
    rng = np.random.default_rng(8)
    network = random_network(rng, 1, 1, whole=False)
    x, u = Var("x"), Var("u")
    environment = Environment(
        "plant",
        (Variable("x", Real(Fraction(-10), Fraction(10))),),
        conjunction_of((x >= -1, x <= 1)),
        (Component("main", (Edge(outcomes=(Outcome(updates=(Update(x, x * Fraction(1, 2) + u),)),)),)),),
        controls=(Control("u", Fraction(-1), Fraction(1)),),
    )
    policy = NeuralPolicy(network, (x,), choose=Choose.VALUE)
    problem = Problem("plant", environment, policy, Never(x >= 4, 3))
    validate_problem(problem)
    written = discretise(problem)
    assert [c.name for c in written.environment.controls] == ["u", "next_memory_0", "next_memory_1"]
    state: Any = {"x": Fraction(1, 2), "memory_0": Fraction(1, 4), "memory_1": Fraction(-1, 8)}
    (after,) = enumerate_successors(written, state)
    outputs = infer_outputs(network, np.array([[0.5, 0.25, -0.125]], np.float32))[0]
    control = min(max(Fraction(float(outputs[0])), Fraction(-1)), Fraction(1))
    assert dict(after.state) == {
        "x": Fraction(1, 4) + control,
        "memory_0": Fraction(float(outputs[1])),
        "memory_1": Fraction(float(outputs[2])),
    }
    assert sf.verify(problem, "reach", sf.Budget(60)).certified


def test_what_is_refused() -> None:
    problem = lstm_problem()
    policy, environment = problem.policy, problem.environment
    assert isinstance(policy, NeuralPolicy)
    inside = ProgramPolicy((Branch(TRUE, policy),), ("left", "right"))
    with pytest.raises(InvalidProblem, match="a policy with memory is a part of another one"):
        validate_problem(replace(problem, policy=inside))
    with pytest.raises(Unsupported, match="a policy with memory inside a program"):
        discretise(replace(problem, policy=inside))
    with pytest.raises(Unsupported, match="draws its actions"):
        discretise(replace(problem, policy=replace(policy, choose=Choose.SAMPLE)))
    two = replace(environment, components=(*environment.components, Component("other", ())))
    with pytest.raises(Unsupported, match="several components"):
        discretise(replace(problem, environment=two))
    flow = Flow((("x", Const(0)),), Fraction(1), "taylor", continuous=True)
    with pytest.raises(Unsupported, match="continuous time"):
        discretise(replace(problem, environment=replace(environment, flow=flow)), continuous=True)


def test_the_reference_knows_no_memory() -> None:
    with pytest.raises(InvalidProblem, match="the memory of the network is no part of the state yet"):
        list(enumerate_successors(lstm_problem(), {"x": Fraction(0)}))


def test_names_that_are_taken_stay() -> None:
    problem = lstm_problem()
    environment = replace(
        problem.environment,
        variables=(*problem.environment.variables, Variable("memory_0", Int(0, 1))),
        components=tuple(
            replace(c, edges=tuple(replace(e, chosen=(Choice("score_0", Int(0, 1)),)) for e in c.edges))
            for c in problem.environment.components
        ),
    )
    written = discretise(replace(problem, environment=environment)).environment
    assert [v.name for v in written.variables][:3] == ["x", "memory_0", "memory_0.1"]
    assert written.controls[0].name == "score_0.1"
