"""Runs of finite systems in which a network decides: against all states, other engines, and all ties."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
from tests.laws.brute_force import truth
from tests.laws.contradictions import contradiction
from tests.laws.finite_systems import problems

from surefoot.certify.replay import replay
from surefoot.certify.values.claim import build_graph_certificate
from surefoot.engines.bmc import Bmc
from surefoot.engines.explicit import Explicit
from surefoot.engines.induction import Induction
from surefoot.problem.environment import Component, Control, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.decision import action_names, action_of, observation_vector
from surefoot.problem.meaning.transition import enabled_transitions
from surefoot.problem.network import Shape, dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.semantics import State, enumerate_successors, holds_in_state, is_initial, may_end
from surefoot.run import verify
from surefoot.solvers import SOLVERS
from surefoot.term.evaluate import Undefined
from surefoot.term.term import TRUE, Apply, Const, Op, Var, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Certificate, Holds, Proved, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

X = Var("x")


def asked(first: int, count: int, *, tied: bool = False) -> list[Problem]:
    """Random problems with networks, one kind of property after the other."""
    found: list[Problem] = []
    for seed in range(first, first + 20 * count):
        several = list(problems(seed).values())
        problem = several[seed % len(several)]
        if isinstance(problem.policy, NeuralPolicy) and Explicit().objection(problem) is None:
            found.append(with_ties(problem, seed) if tied else problem)
        if len(found) == count:
            return found
    raise AssertionError("too few")


def with_ties(problem: Problem, seed: int) -> Problem:
    """The same with outputs that are equal in many states."""
    assert isinstance(problem.policy, NeuralPolicy)
    draw = Random(seed)
    count = len(action_names(problem.policy, problem.environment))
    layer = ([[draw.randint(-1, 1) for _ in range(2)] for _ in range(count)], [draw.randint(0, 1)] * count)
    return replace(problem, policy=replace(problem.policy, network=dense_network([layer])))


def test_against_all_states_and_other_engines() -> None:
    said: dict[str, int] = {}
    solver = SOLVERS["milp"]()
    for number, problem in enumerate(asked(0, 100)):
        result = verify(problem, Explicit(), Budget(20))
        true = truth(problem)
        assert contradiction(problem, result, true) is None, problem.name
        kind = type(result.verdict).__name__
        said[kind] = said.get(kind, 0) + 1
        assert kind != "Holds", (problem.name, result.notes)  # what holds here is certified
        claimed = build_graph_certificate(problem)
        assert isinstance(claimed, Certificate)
        if true == "violated":
            assert not judge_certificate(dict(claimed.content)).accepted, problem.name
        for engine in (Bmc(solver, depth=4), Induction(solver, depth=3)):
            if number % 5 or isinstance(result.verdict, Unknown | Vacuous) or engine.objection(problem):
                continue
            other = engine.check(problem, Budget(5))
            if isinstance(other, Violated) and replay(problem, other.trace) is None:
                assert isinstance(result.verdict, Violated), problem.name
            if isinstance(other, Proved) or (isinstance(other, Holds) and other.as_asked):
                assert isinstance(result.verdict, Proved), problem.name
    assert said["Proved"] >= 8, said
    assert said["Violated"] >= 30, said


def possible(problem: Problem, state: State) -> list[Problem]:
    """The problem with a program instead, for each action whose output is largest up to a tiny margin."""
    policy, environment = problem.policy, problem.environment
    assert isinstance(policy, NeuralPolicy)
    own = {a for t in enabled_transitions(environment, state) if (a := action_of(policy, environment, t))}
    if not own:
        return [problem]
    names = action_names(policy, environment)
    (node,) = policy.network.nodes
    outputs = np.asarray(node.weights) @ observation_vector(policy, environment, state) + node.bias  # type: ignore[union-attr]
    ready = [i for i, n in enumerate(names) if policy.choose is Choose.ARGMAX or n in own]
    best = max(outputs[i] for i in ready)
    picks = [names[i] for i in ready if outputs[i] > best - 1e-3]
    return [replace(problem, policy=ProgramPolicy((Branch(TRUE, p),), names)) for p in picks]


def worst(problem: Problem) -> bool:
    """Do all runs keep the property, whatever is picked where outputs are equal?"""
    starts = [s for s in every_state(problem) if is_initial(problem.environment, s)]
    wanted, limit = problem.property, len(every_state(problem))
    assert isinstance(wanted, Never | Eventually | Recurs | Within)
    term = wanted.bad if isinstance(wanted, Never) else wanted.good

    def after(states: list[State]) -> list[State]:
        found = [x.state for s in states for p in possible(problem, s) for x in enumerate_successors(p, s)]
        return list({tuple(sorted(s.items())): s for s in found}.values())

    def quiet(state: State) -> bool:
        return not all(holds_in_state(p, state, term) for p in possible(problem, state))

    def ends(state: State) -> bool:
        return any(may_end(p, state) for p in possible(problem, state))

    here = starts
    if isinstance(wanted, Recurs):
        for _ in range(limit):
            grown = {tuple(sorted(s.items())): s for s in (*here, *after(here))}
            if len(grown) == len(here):
                break
            here = list(grown.values())
    steps = wanted.steps if isinstance(wanted, Never | Within) and wanted.steps is not None else limit
    seen = list(here)
    for number in range(steps + 1):
        if not here:
            return True
        if isinstance(wanted, Never):
            if any(holds_in_state(p, s, term) for s in here for p in possible(problem, s)):
                return False
            here = [s for s in after(here) if s not in seen]
            seen += here
            continue
        if not isinstance(wanted, Within) or number >= wanted.after:
            here = [s for s in here if quiet(s)]
        if any(map(ends, here)):
            return False
        if number < steps:
            here = after(here)
    return isinstance(wanted, Never) or not here


def every_state(problem: Problem) -> list[State]:
    environment = problem.environment
    found: list[State] = [{}]
    for variable in environment.variables:
        kind = variable.kind
        values = range(kind.low or 0, (kind.high or 0) + 1) if isinstance(kind, Int) else (False, True)
        found = [{**s, variable.name: v} for s in found for v in values]
    for component in environment.components:
        if len(component.locations) > 1:
            places = range(len(component.locations))
            found = [{**s, f"@{component.name}": v} for s in found for v in places]
    return found


def test_every_tied_action_counts() -> None:
    kept = doubtful = 0
    for problem in asked(5000, 40, tied=True):
        verdict = Explicit().check(problem, Budget(20))
        if isinstance(verdict, Vacuous):
            continue
        claimed = build_graph_certificate(problem)
        assert isinstance(claimed, Certificate)
        accepted = judge_certificate(dict(claimed.content)).accepted
        try:
            true = worst(problem)
        except Undefined:
            assert isinstance(verdict, Violated | Unknown), problem.name
            assert not accepted, problem.name
            continue
        kept += true
        doubtful += isinstance(verdict, Unknown) and "within rounding" in verdict.detail
        if isinstance(verdict, Holds):
            assert true, problem.name
            assert accepted, problem.name
        if not true:
            assert not accepted, problem.name
    assert kept >= 4
    assert doubtful >= 2


def controlled(weight: float, bias: float, bad: int) -> Problem:
    """x moves by the floor of what a network says, between 0 and 9."""
    moved = Apply(Op.FLOOR, (X + Var("u"),))
    limited = Apply(Op.MAX, (Const(0), Apply(Op.MIN, (Const(9), moved))))
    edge = Edge("here", outcomes=(Outcome(Const(1), (Update(X, limited),), target="here"),))
    environment = Environment(
        "plant",
        (Variable("x", Int(0, 9)),),
        equal(X, 5),
        (Component("world", (edge,), ("here",), ("here",)),),
        controls=(Control("u", Fraction(-2), Fraction(2)),),
    )
    policy = NeuralPolicy(dense_network([([[weight]], [bias])]), (X,), (), Choose.VALUE)
    return Problem("controlled", environment, policy, Never(equal(X, bad)))


def test_controls_may_be_any_float32_number_within_rounding() -> None:
    assert isinstance(Explicit().check(controlled(0.0, 0.5, 7), Budget(10)), Holds)
    found = verify(controlled(0.0, 1.5, 9), Explicit(), Budget(10))
    assert isinstance(found.verdict, Violated)
    assert found.certified
    # A sum that is 1 in the reference arithmetic may be just below it in another one.
    sure = Explicit().check(controlled(0.0, 1.0, 4), Budget(10))
    assert isinstance(sure, Holds | Unknown)
    thin = Explicit().check(controlled(0.1, 0.5, 5), Budget(10))  # 0.1 * 5 + 0.5
    assert not isinstance(thin, Proved)


def test_a_shield_is_looked_at_with_every_proposal() -> None:
    problem = asked(0, 1)[0]
    assert isinstance(problem.policy, NeuralPolicy)
    names = action_names(problem.policy, problem.environment)
    fallback = ProgramPolicy((Branch(TRUE, names[0]),), names)
    shielded = replace(problem, policy=ShieldedPolicy(problem.policy, X < 2, fallback))
    verdict = Explicit().check(shielded, Budget(10))
    assert {"violated": Violated, "holds": Holds}.get(truth(shielded), Unknown) is type(verdict)


def test_policies_that_draw_are_refused() -> None:
    problem = asked(0, 1)[0]
    assert isinstance(problem.policy, NeuralPolicy)
    why = Explicit().objection(replace(problem, policy=replace(problem.policy, choose=Choose.SAMPLE)))
    assert why is not None
    assert "draw" in why


def test_an_overflow_within_the_network_is_no_sure_decision() -> None:
    edge = Edge("here", "stay", outcomes=(Outcome(Const(1), (Update(X, X),), target="here"),))
    away = Edge("here", "go", outcomes=(Outcome(Const(1), (Update(X, Const(9)),), target="here"),))
    environment = Environment(
        "flat",
        (Variable("x", Int(0, 9)),),
        equal(X, 5),
        (Component("world", (edge, away), ("here",), ("here",)),),
    )
    network = dense_network(
        [([[3e38], [0.0]], [0.0, 0.0]), ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])], Shape.TANH
    )
    policy = NeuralPolicy(network, (X,), ("stay", "go"))
    problem = Problem("flat", environment, policy, Never(equal(X, 9)))
    assert truth(problem) == "holds"  # in the reference arithmetic: tanh of infinity is 1
    verdict = Explicit().check(problem, Budget(10))
    assert isinstance(verdict, Unknown), verdict
    claimed = build_graph_certificate(problem)
    assert isinstance(claimed, Certificate)
    assert not judge_certificate(dict(claimed.content)).accepted
