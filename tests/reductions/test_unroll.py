from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.flow import Flow
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, OraclePolicy, Policy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import holds_in_state
from surefoot.query.query import Assignment, Sat
from surefoot.reductions.concretise import concretise_run
from surefoot.reductions.scalar_layout import invert_value
from surefoot.reductions.unroll import Unrolling, encoding_objection, unroll
from surefoot.term.term import FALSE, TRUE, Apply, Op, Term, Var, conjunction_of, equal
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType
from surefoot.verdict.verdict import Trace

X = Var("x")
KIND = Int(-5, 5)
LEFT_OR_RIGHT = dense_network([([[1], [-1]], [0, 0])])  # ties at 0


def single(*edges: Edge, kind: ValueType = KIND, **more: Any) -> Environment:
    return Environment("line", (Variable("x", kind),), equal(X, 0), (Component("c", edges),), **more)


def move(action: str, by: int) -> Edge:
    return Edge(action=action, outcomes=(Outcome(updates=(Update(X, X + by),)),))


WALK = single(move("left", -1), move("right", 1))
WALKER = NeuralPolicy(LEFT_OR_RIGHT, (X,), ("left", "right"))


def walk(environment: Environment = WALK, policy: Policy | None = WALKER, bad: Term = FALSE) -> Problem:
    return Problem("walk", environment, policy, Never(bad))


def solution(encoded: Unrolling, *more: Term) -> Assignment | None:
    prepare = pytest.importorskip("surefoot.solvers.z3.solver").prepare_z3
    answer = prepare(encoded.query, 0)(more, 20.0)
    return answer.assignment if isinstance(answer, Sat) else None


def test_a_run_is_found_and_replays() -> None:
    problem = walk(bad=X <= -3)
    encoded = unroll(problem, 3, rounding=False)
    model = solution(encoded, encoded.condition_at(X <= -3, 3))
    assert model is None  # after the tie at 0, `left` first, the policy turns back at -1
    model = solution(encoded, encoded.condition_at(equal(X, -1), 3))
    assert model is not None
    trace = concretise_run(problem, encoded.invert(model))
    assert isinstance(trace, Trace)
    assert [s["x"] for s in trace.states] == [0, -1, 0, -1]


@pytest.mark.parametrize("choose", [Choose.ARGMAX, Choose.ARGMAX_APPLICABLE])
def test_a_tie_admits_every_best_action_with_rounding_and_the_first_without(choose: Choose) -> None:
    problem = walk(policy=replace(WALKER, choose=choose))
    for rounding, at_right in ((True, True), (False, False)):
        encoded = unroll(problem, 1, rounding=rounding)
        assert solution(encoded, encoded.condition_at(equal(X, -1), 1)) is not None
        found = solution(encoded, encoded.condition_at(equal(X, 1), 1))
        assert (found is not None) is at_right


def test_at_a_tie_the_conditions_speak_of_the_action_that_is_taken() -> None:
    encoded = unroll(walk(), 1)
    for action, place in (("left", -1), ("right", 1)):
        chosen = encoded.condition_at(Var(f"chosen({action})"), 0)
        assert solution(encoded, chosen, encoded.condition_at(equal(X, place), 1)) is not None
        assert solution(encoded, chosen, encoded.condition_at(equal(X, -place), 1)) is None
    both = Var("chosen(left)") & Var("chosen(right)")
    assert solution(encoded, encoded.condition_at(both, 0)) is None


def test_outputs_within_their_rounding_error_are_possible() -> None:
    """float32(1/3) exceeds 1/3, so exactly `right` is best; but float32 sees a tie and takes `left`."""
    third = Fraction(1, 3)
    network = dense_network([([[1.0], [0.0]], [0, float(np.float32(1 / 3))])])
    environment = single(move("left", 0), move("right", 0), kind=Real(Fraction(0), Fraction(1)))
    environment = replace(environment, initial=equal(X, third))
    problem = walk(environment, NeuralPolicy(network, (X,), ("left", "right")))
    assert holds_in_state(problem, {"x": third}, Var("chosen(left)"))
    for rounding in (True, False):
        encoded = unroll(problem, 1, rounding=rounding)
        model = solution(encoded, encoded.condition_at(Var("chosen(left)"), 0))
        assert (model is not None) is rounding


def test_a_stall_ends_the_run_unless_the_environment_moves() -> None:
    stuck = single(replace(move("left", -1), guard=X > 0), move("right", 1))
    encoded = unroll(walk(stuck), 0, rounding=False)
    model = solution(
        encoded, encoded.condition_at(Var("stalled") & ~Var("deadlocked"), 0), encoded.ended_at(0)
    )
    assert model is not None
    assert solution(unroll(walk(stuck), 1, rounding=False)) is None
    free = single(*stuck.components[0].edges, Edge())
    encoded = unroll(walk(free), 1, rounding=False)
    assert solution(encoded, encoded.condition_at(Var("stalled"), 0)) is not None
    assert solution(encoded, encoded.ended_at(0)) is None


def test_an_escape_says_where_a_step_leaves_the_kind() -> None:
    free = walk(policy=None)
    encoded = unroll(free, 5)
    escape = encoded.escape(5)
    assert escape is not None
    assert solution(encoded, escape) is not None
    earlier = unroll(free, 4)
    assert solution(earlier, *(e for e in [earlier.escape(4)] if e is not None)) is None
    clipped = Apply(Op.MIN, (X + 1, Apply(Op.ABS, (X,))))
    safe = single(Edge(outcomes=(Outcome(updates=(Update(X, clipped),)),)), kind=Int(0, 5))
    assert unroll(walk(safe, None), 1).escape(1) is None


def test_an_escape_by_a_chosen_value_is_not_bound_by_the_step_that_is_taken() -> None:
    push = Edge(
        chosen=(Choice("w", Int(0, 9)),),
        assuming=Var("w") > 0,
        outcomes=(Outcome(updates=(Update(X, X + Var("w")),)),),
    )
    encoded = unroll(walk(single(push), None), 0)
    escape = encoded.escape(0)
    assert escape is not None
    model = solution(encoded, escape)
    assert model is not None
    assert model["w!@0"] > 5
    weak = replace(push, chosen=(Choice("w", Int(0, 0)),))  # cannot be assumed
    assert unroll(walk(single(weak), None), 0).escape(0) is None


def test_an_index_out_of_range_is_an_escape_and_not_a_step() -> None:
    a = Var("a")
    edge = Edge(guard=X > 0, outcomes=(Outcome(updates=(Update(a[X], TRUE), Update(X, X - 1))),))
    environment = Environment(
        "array",
        (Variable("x", Int(0, 3)), Variable("a", Array(Bool(), 2))),
        TRUE,
        (Component("c", (edge,)),),
    )
    encoded = unroll(walk(environment, None), 1)
    assert solution(encoded, encoded.condition_at(equal(X, 2), 0)) is None
    assert solution(encoded, encoded.condition_at(equal(X, 1), 0)) is not None
    last = unroll(walk(environment, None), 0)
    escape = last.escape(0)
    assert escape is not None
    assert solution(last, escape, last.condition_at(equal(X, 2), 0)) is not None
    assert solution(last, escape, last.condition_at(equal(X, 1), 0)) is None


def test_names_are_kept_apart() -> None:
    """Variables may be called like the quantities of the encoding."""
    names = ("move", "action", "a[0]", "w")
    variables = (*(Variable(n, KIND) for n in names), Variable("a", Array(KIND, 1)))
    edges = tuple(
        Edge(action=label, chosen=(Choice("v", Int(0, 1)),), outcomes=(Outcome(updates=(update,)),))
        for label, update in (
            ("left", Update(Var("move"), Var("move") + Var("v"))),
            ("right", Update(Var("a")[0], Var("a[0]") + Var("v") + 1)),
        )
    )
    zero = conjunction_of((*(equal(Var(n), 0) for n in names), equal(Var("a")[0], 0)))
    environment = Environment("names", variables, zero, (Component("c", edges),))
    policy = NeuralPolicy(LEFT_OR_RIGHT, (Var("w"),), ("left", "right"))
    problem = Problem("names", environment, policy, Never(FALSE))
    encoded = unroll(problem, 1)
    declared = [q.name for q in encoded.query.quantities]
    assert len(declared) == len(set(declared))
    model = solution(encoded, encoded.condition_at(equal(Var("a")[0], 2), 1))
    assert model is not None
    candidate = encoded.invert(model)
    assert candidate.initial == {"move": 0, "action": 0, "a[0]": 0, "w": 0, "a": (0,)}
    assert candidate.moves[0].transition.label == "right"
    assert candidate.moves[0].chosen == {"v": 1}


def test_synchronised_edges_that_choose_one_name_choose_one_value() -> None:
    y = Var("y")
    components = tuple(
        Component(
            name,
            (
                Edge(
                    action="go",
                    chosen=(Choice("w", kind),),
                    outcomes=(Outcome(updates=(Update(target, Var("w")),)),),
                ),
            ),
        )
        for name, kind, target in (("first", Int(0, 2), X), ("second", Int(1, 4), y))
    )
    environment = Environment(
        "pair",
        (Variable("x", KIND), Variable("y", KIND)),
        TRUE,
        components,
        synchronisations=(Synchronisation(("go", "go"), "go"),),
    )
    problem = walk(environment, None)
    encoded = unroll(problem, 1)
    assert solution(encoded, encoded.condition_at(~equal(X, y), 1)) is None
    values = [v for v in range(-5, 6) if solution(encoded, encoded.condition_at(equal(X, v), 1)) is not None]
    assert values == [1, 2]
    model = solution(encoded)
    assert model is not None
    assert isinstance(concretise_run(problem, encoded.invert(model)), Trace)


def test_the_last_state_asks_the_policy_only_where_it_matters() -> None:
    quiet = unroll(walk(), 2, decide_last=False)
    assert len(quiet.query.calls) == 2
    assert len(unroll(walk(), 2).query.calls) == 3
    assert len(unroll(walk(bad=Var("chosen(left)")), 2, decide_last=False).query.calls) == 3
    assert quiet.condition_at(X > 0, 2) is not None
    with pytest.raises(ValueError, match="decide_last"):
        quiet.condition_at(Var("stalled") | Var("chosen(left)"), 2)
    with pytest.raises(ValueError, match="states 0 to 2"):
        quiet.ended_at(3)


def test_values_come_back_in_their_types() -> None:
    edge = Edge(
        chosen=(Choice("w", Real(Fraction(0), Fraction(1))),), assuming=equal(Var("w"), Fraction(1, 3))
    )
    variables = (
        Variable("x", Real(Fraction(0), Fraction(1))),
        Variable("b", Bool()),
        Variable("n", Int(0, 1)),
    )
    start = equal(X, Fraction(1, 2)) & Var("b") & equal(Var("n"), 1)
    environment = Environment("types", variables, start, (Component("c", (edge,)),))
    for arithmetic, kind in ((Arithmetic.EXACT, Fraction), (Arithmetic.FLOAT64, float)):
        encoded = unroll(walk(replace(environment, arithmetic=arithmetic), None), 1)
        model = solution(encoded)
        assert model is not None
        candidate = encoded.invert(model)
        assert {n: type(v) for n, v in candidate.initial.items()} == {"x": kind, "b": bool, "n": int}
        assert type(candidate.moves[0].chosen["w"]) is kind


def test_what_an_unsat_does_not_cover_is_said() -> None:
    assert unroll(walk(), 1).faithful is None
    assert "rounding" in str(unroll(walk(), 1, rounding=False).faithful)
    assert "float64" in str(unroll(walk(replace(WALK, arithmetic=Arithmetic.FLOAT64)), 1).faithful)
    huge = NeuralPolicy(dense_network([([[3e38], [-3e38]], [0, 0])]), (X,), ("left", "right"))
    assert "overflow" in str(unroll(walk(policy=huge), 1).faithful)
    sine = single(Edge(guard=Apply(Op.SIN, (X,)) > 0))
    assert "elementary" in str(unroll(walk(sine, None), 1).faithful)
    points = Real(Fraction(-5), Fraction(5), float32=True)
    copies = single(Edge(outcomes=(Outcome(updates=(Update(X, -X),)),)), kind=points)
    assert unroll(walk(copies, None), 1).faithful is None
    halves = single(Edge(outcomes=(Outcome(updates=(Update(X, X / 3),)),)), kind=points)
    assert "float32 number" in str(unroll(walk(halves, None), 1).faithful)


def test_observations_that_are_float32_numbers_need_no_input_rounding() -> None:
    whole = unroll(walk(), 0).query.calls[0].slack
    real = unroll(walk(replace(WALK, variables=(Variable("x", Real(Fraction(-5), Fraction(5))),))), 0)
    assert all(0 < a < b for a, b in zip(whole, real.query.calls[0].slack, strict=True))


def test_refusals_name_the_reason() -> None:
    assert encoding_objection(walk()) is None
    cases = {
        "flow": walk(replace(WALK, flow=Flow((("x", X),), Fraction(1)))),
        "oracle `guess`": walk(
            policy=ProgramPolicy((Branch(TRUE, OraclePolicy("guess", lambda _: "left")),))
        ),
        "no policy sets them": walk(replace(WALK, controls=(Control("u"),)), None),
        "`x` has no bounds": walk(replace(WALK, variables=(Variable("x", Int(0, None)),))),
        "2 inputs": walk(policy=NeuralPolicy(dense_network([([[1, 2]], [0])]), (X,), ("left",))),
        "values": walk(
            replace(WALK, variables=(*WALK.variables, Variable("a", Array(Array(Bool(), 1000), 1000))))
        ),
    }
    many = tuple(Component(f"c{i}", (Edge(action="go"),) * 10) for i in range(5))
    vector = Synchronisation(("go",) * 5, "go")
    cases["100000 joint steps"] = walk(replace(WALK, components=many, synchronisations=(vector,)))
    for words, problem in cases.items():
        assert words in str(encoding_objection(problem))
        with pytest.raises(Unsupported):
            unroll(problem, 1)


def test_conditions_about_what_is_not_there_are_refused() -> None:
    free = unroll(walk(policy=None), 1)
    for name in ("stalled", "chosen(left)", "output[0]"):
        with pytest.raises(InvalidProblem, match="needs a policy"):
            free.condition_at(Var(name), 0)
    with pytest.raises(InvalidProblem, match="not declared"):
        free.condition_at(Var("speed"), 0)
    with pytest.raises(InvalidProblem, match="with that output"):
        unroll(walk(), 1).condition_at(Var("output[7]") > 0, 0)


def test_a_program_without_a_branch_for_a_state_cuts_the_run_but_keeps_the_state() -> None:
    control = Control("u", Fraction(-1), Fraction(1))
    step = Edge(outcomes=(Outcome(updates=(Update(X, X + Var("u")),)),))
    environment = single(step, controls=(control,))
    policy = ProgramPolicy((Branch(X < 2, (1 / (1 - X),)),))
    problem = walk(environment, policy, equal(X, 1))
    encoded = unroll(problem, 1)
    assert solution(encoded, encoded.condition_at(equal(X, 1), 1)) is not None
    assert solution(unroll(problem, 2)) is None  # 1 / 0
    escape = encoded.escape(1)
    assert escape is not None
    assert solution(encoded, escape) is not None


def test_truth_values_and_whole_numbers_may_come_back_with_a_tolerance() -> None:
    near = Fraction(1, 10**9)
    values = {"b": near, "n": 3 - near, "r": 3 - near}
    assert invert_value(Bool(), Var("b"), values) is False
    assert invert_value(Bool(), Var("n"), {"n": 1 - near}) is True
    assert invert_value(Array(Int(), 1), (Var("n"),), values) == (3,)
    assert invert_value(Real(), Var("r"), values) == 3 - near
