"""What exploration says about small problems whose answer is known."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from tests.examples import EXAMPLES, Example
from tests.explore.against_reference import check

from surefoot.errors import Unsupported
from surefoot.explore.exploration import Tier, explore_problem
from surefoot.problem.environment import Choice, Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy, OraclePolicy, Policy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import policy_decision
from surefoot.term.evaluate import Undefined
from surefoot.term.reserved_names import STALLED, network_output_name
from surefoot.term.term import FALSE, TRUE, Const, Term, Var, conjunction_of, disjunction_of, equal
from surefoot.term.value_types import Arithmetic, Bool, Int, Real
from surefoot.work.budget import Budget
from surefoot_studies.racetrack.model import racetrack_environment as racetrack
from surefoot_studies.racetrack.policies import careful_policy
from surefoot_studies.racetrack.problem import CRASHED, bend_track

N = Var("n")
FINITE = [e for e in EXAMPLES if not any(isinstance(v.kind, Real) for v in e.problem.environment.variables)]


def counting(*edges: Edge, high: int = 9, initial: Term | None = None) -> Environment:
    start = equal(N, 0) if initial is None else initial
    return Environment("counting", (Variable("n", Int(0, high)),), start, (Component("c", edges),))


def asked(where: Environment, who: Policy | None = None) -> Problem:
    return Problem("p", where, who, Never(FALSE))


def sets(value: Term | int, probability: Term | Fraction | int = 1) -> Outcome:
    number = Const(probability) if isinstance(probability, Fraction | int) else probability
    return Outcome(number, (Update(N, value if not isinstance(value, int) else Const(value)),))


@pytest.mark.parametrize("example", FINITE, ids=lambda e: e.name)
def test_examples(example: Example) -> None:
    labels = {"bad": example.problem.property.bad} if isinstance(example.problem.property, Never) else {}
    check(explore_problem(example.problem, labels=labels), example.problem, labels)


def test_the_careful_driver() -> None:
    problem = asked(racetrack(bend_track(), anywhere=True), careful_policy(bend_track()))
    labels = {"crashed": CRASHED, "stalled": Var(STALLED)}
    explored = explore_problem(problem, labels=labels, rewards=("decisions",))
    assert explored.markov.is_chain
    check(explored, problem, labels)


def test_probabilities_that_do_not_sum_to_one() -> None:
    flawed = counting(Edge(outcomes=(sets(1, Fraction(1, 2)), sets(2, Fraction(1, 3)))))
    with pytest.raises(Undefined, match=r"sum to 5/6, not to 1 in transition `silent \(c#0\)`, in .* n = 0"):
        explore_problem(asked(flawed), labels={})
    varying = counting(Edge(outcomes=(sets(N + 1, (N + 1) / 3), sets(0, 1 - (N + 1) / 3))))
    with pytest.raises(Undefined, match=r"4/3 is not a probability .* n = 3"):
        explore_problem(asked(varying), labels={})


def test_a_value_outside_its_kind() -> None:
    with pytest.raises(Undefined, match=r"`n` becomes 10, outside its kind in transition .* n = 9"):
        explore_problem(asked(counting(Edge(outcomes=(sets(N + 1),)))), labels={})
    with pytest.raises(Undefined, match=r"division by zero in the guard of edge `c#0`, in the state n = 0"):
        explore_problem(asked(counting(Edge(guard=1 / N < 1))), labels={})
    with pytest.raises(Undefined, match=r"division by zero in `odd`, in the state n = 0"):
        explore_problem(asked(counting(Edge())), labels={"odd": 1 / N < 1})


def test_limits_leave_cut_states() -> None:
    up = counting(Edge(guard=N < 9999, outcomes=(sets(N + 1),)), high=9999)
    explored = explore_problem(asked(up), labels={"far": N >= 4}, max_states=5)
    assert explored.markov.cut.tolist() == [False] * 4 + [True]
    assert explored.markov.labels["far"].tolist() == [False] * 4 + [True]
    assert explored.why_cut == "the limit of 5 states"
    check(explored, asked(up), {"far": N >= 4})
    late = explore_problem(asked(up), labels={}, budget=Budget(seconds=0))
    assert late.markov.cut.any()
    assert late.why_cut == "the time limit"
    small = explore_problem(asked(up), labels={}, memory=1000, tier="interpreter")
    assert small.markov.cut.any()
    assert small.why_cut == "the limit of 1000 bytes"


@pytest.mark.parametrize("tier", ["interpreter", "llvm"])
def test_what_is_behind_a_final_state_is_not_looked_at(tier: Tier) -> None:
    endless = counting(Edge(guard=1 / (5 - N) > 0, outcomes=(sets(N + 1),)))
    with pytest.raises(Undefined):
        explore_problem(asked(endless), labels={}, tier=tier)
    explored = explore_problem(asked(endless), labels={"goal": N >= 5}, until=N >= 5, tier=tier)
    assert explored.states.column("n").tolist() == [0, 1, 2, 3, 4, 5]
    assert explored.final.tolist() == explored.markov.labels["goal"].tolist() == [False] * 5 + [True]
    assert not explored.markov.cut.any()


def test_start_states_are_enumerated() -> None:
    pairs = Environment(
        "pairs",
        (Variable("n", Int(0, 2000)), Variable("m", Int(0, 2000)), Variable("b", Bool())),
        equal(N, Var("m")) & (N < 3) & ~Var("b"),
        (Component("c", ()),),
    )
    found = explore_problem(asked(pairs), labels={})
    assert [found.valuation(i)["m"] for i in found.markov.initial] == [0, 1, 2]
    open_ended = Environment("open", (Variable("n", Int(0)),), N < 3, (Component("c", ()),))
    with pytest.raises(Unsupported, match="`n` may start with infinitely many values"):
        explore_problem(asked(open_ended), labels={})


def test_listed_start_states_are_taken_from_the_list() -> None:
    """Nine variables with eleven values each: far too many to try, and a list says which it is."""
    variables = tuple(Variable(f"x{i}", Int(0, 10)) for i in range(9))
    listed = [tuple((7 * n + 3 * i) % 11 for i in range(9)) for n in range(40)]
    lines = [
        conjunction_of(tuple(equal(Var(f"x{i}"), Const(v)) for i, v in enumerate(state))) for state in listed
    ]
    starts = disjunction_of(tuple(lines)) & (Var("x0") <= Const(8))
    found = explore_problem(asked(Environment("listed", variables, starts, (Component("c", ()),))), labels={})
    states = [found.valuation(i) for i in found.markov.initial]
    assert {tuple(s[v.name] for v in variables) for s in states} == {s for s in listed if s[0] <= 8}
    assert len(states) == len({s for s in listed if s[0] <= 8})


def test_alternatives_that_say_less_exclude_nothing() -> None:
    """A variable that one alternative leaves open may have any value there."""
    variables = (Variable("x", Int(0, 3)), Variable("y", Int(0, 3)), Variable("b", Bool()))
    x, y = Var("x"), Var("y")
    starts = disjunction_of(
        (equal(x, Const(1)) & equal(y, Const(2)), equal(y, Const(3)) & Var("b"), x > y + 2)
    )
    found = explore_problem(asked(Environment("some", variables, starts, (Component("c", ()),))), labels={})
    wanted = [
        (i, j, b)
        for i in range(4)
        for j in range(4)
        for b in (False, True)
        if (i, j) == (1, 2) or (j == 3 and b) or i > j + 2
    ]
    assert [(s["x"], s["y"], s["b"]) for s in map(found.valuation, found.markov.initial)] == wanted


def test_an_assumption_that_nothing_satisfies_blocks() -> None:
    chosen = (Choice("w", Int(1, 3)),)
    edge = Edge(chosen=chosen, assuming=Var("w") < 3 - N, outcomes=(sets(N + Var("w")),))
    explored = explore_problem(asked(counting(edge)), labels={})
    assert [dict(v) for v in explored.chosen_values] == [{}, {"w": 1}, {"w": 2}]
    assert explored.states.column("n").tolist() == [0, 1, 2]
    assert explored.blocked.tolist() == [False, False, True]
    check(explored, asked(counting(edge)), {})


def drawing(bias: float) -> NeuralPolicy:
    return NeuralPolicy(dense_network([([[0.0], [0.0]], [0.0, bias])]), (N,), ("up", "down"), Choose.SAMPLE)


def test_a_policy_that_draws_its_action() -> None:
    up = Edge(action="up", guard=N < 2, outcomes=(sets(N + 1),))
    down = Edge(action="down", guard=N > 0, outcomes=(sets(N - 1),))
    explored = explore_problem(asked(counting(up, down), drawing(0.5)), labels={"stalled": Var(STALLED)})
    markov = explored.markov
    share = Fraction(exp(-0.5) / (exp(-0.5) + 1)), Fraction(1 / (exp(-0.5) + 1))
    up_share = share[0] / sum(share)
    assert markov.is_chain
    assert explored.states.column("n").tolist() == [0, 1, 0, 2, 2]
    assert explored.halted.tolist() == [False, False, True, False, True]
    assert explored.stalled.tolist() == [True, False, True, True, True]
    first = [markov.values[w] for w in markov.weights[markov.outcomes[0] : markov.outcomes[1]]]
    assert first == [up_share, 1 - up_share]
    for choice in range(len(markov.outcomes) - 1):
        outcomes = slice(markov.outcomes[choice], markov.outcomes[choice + 1])
        assert sum((markov.values[w] for w in markov.weights[outcomes]), Fraction(0)) == 1


def test_the_environment_reacts_to_the_draw() -> None:
    two_ways = [Edge(action="up", outcomes=(sets(value),)) for value in (1, 2)]
    down, own = Edge(action="down", outcomes=(sets(3),)), Edge(outcomes=(sets(4),))
    once = [Edge(e.source, e.action, equal(N, 0), outcomes=e.outcomes) for e in (*two_ways, down, own)]
    explored = explore_problem(asked(counting(*once), drawing(0.0)), labels={})
    markov = explored.markov
    ways = set()
    for choice in range(markov.choices[0], markov.choices[1]):
        outcomes = markov.targets[markov.outcomes[choice] : markov.outcomes[choice + 1]]
        ways.add(tuple(explored.states.column("n")[outcomes].tolist()))
    assert ways == {(u, d) for u in (1, 2, 4) for d in (3, 4)}


def test_network_outputs_in_labels() -> None:
    policy = NeuralPolicy(dense_network([([[0.3], [-0.7]], [0.1, 2.2])]), (N,), ("up", "down"))
    up = Edge(action="up", guard=N < 9, outcomes=(sets(N + 1),))
    down = Edge(action="down", guard=N < 9, outcomes=(sets(N + 1),))
    problem = asked(counting(up, down), policy)
    made = policy_decision(problem, {"n": 4})
    assert made is not None
    assert made.outputs is not None
    labels = {"first": Var(network_output_name(0)) >= Fraction(made.outputs[0])}
    explored = explore_problem(problem, labels=labels)
    assert explored.markov.labels["first"].tolist() == [n >= 4 for n in range(10)]
    check(explored, problem, labels)


def test_near_ties_are_marked() -> None:
    same = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], dtype=np.float32)
    policy = NeuralPolicy(dense_network([(same, [0.0, 0.0])]), (N, N, N), ("up", "down"))
    up = Edge(action="up", guard=N < 5, outcomes=(sets(N + 1),))
    down = Edge(action="down", guard=N < 5, outcomes=(sets(N + 2),))
    problem = asked(counting(up, down), policy)
    explored = explore_problem(problem, labels={})
    assert explored.near_tie[explored.states.column("n") < 5].all()
    check(explored, problem, {})


def test_quantities() -> None:
    explored = explore_problem(
        asked(counting(Edge(guard=N < 3, outcomes=(sets(N + 1),)))), labels={}, quantities={"half": N / 2}
    )
    values = [explored.markov.values[i] for i in explored.quantities["half"]]
    assert values == [0, Fraction(1, 2), 1, Fraction(3, 2)]


def test_a_finite_float64_system() -> None:
    x = Var("x")
    toggles = Environment(
        "toggles",
        (Variable("x", Real(Fraction(0), Fraction(1))),),
        equal(x, Fraction(1, 4)),
        (Component("c", (Edge(outcomes=(Outcome(updates=(Update(x, 1 - x),)),)),)),),
        arithmetic=Arithmetic.FLOAT64,
    )
    explored = explore_problem(asked(toggles), labels={"low": x < Fraction(1, 2)})
    assert explored.states.column("x").tolist() == [0.25, 0.75]
    check(explored, asked(toggles), {"low": x < Fraction(1, 2)})


def test_an_oracle_is_refused() -> None:
    oracle = OraclePolicy("guess", lambda _: "up", ("up",))
    with pytest.raises(Unsupported, match="can only be simulated"):
        explore_problem(asked(counting(Edge(action="up", guard=TRUE)), oracle), labels={})


def test_the_size_is_told() -> None:
    told: list[str] = []
    explore_problem(asked(counting(Edge())), labels={}, budget=Budget(progress=told.append))
    assert told[-1].startswith("1 states, ")
    assert told[-1].endswith(" bytes each (interpreter)")


def test_a_state_with_very_many_choices_is_not_expanded_beyond_a_limit() -> None:
    def asked(most: int, assuming: Term = TRUE) -> Problem:
        edge = Edge(
            chosen=(Choice("w", Int(0, most)),),
            assuming=assuming,
            outcomes=(Outcome(updates=(Update(N, Var("w")),)),),
        )
        idle = Edge(guard=N > 0)
        world = Environment(
            "wide", (Variable("n", Int(0, most)),), equal(N, 0), (Component("m", (idle, edge)),)
        )
        return Problem("wide", world, None, Never(FALSE))

    found = explore_problem(asked(10**12), labels={"five": equal(N, 5)}, max_states=1000)
    assert found.why_cut == "the limit of 1000 states"
    assert found.markov.states < 100_000
    assert found.markov.cut.all()  # the first state too: what else it may lead to is not known
    assert len(found.markov.targets) == 0
    assert np.flatnonzero(found.markov.labels["five"]).tolist() == [5]
    late = explore_problem(asked(10**12), labels={}, budget=Budget(0.5))
    assert late.why_cut
    assert late.markov.cut.all()
    whole = explore_problem(asked(40_000, Var("w") % 2 < N + 1), labels={}, until=N > 0)
    assert whole.why_cut == ""
    assert whole.markov.states == 20_001
    assert len(whole.markov.targets) == 20_001


def test_a_model_that_takes_long_to_compile_is_interpreted() -> None:
    """Few states, and terms that are long when they are written out."""
    long: Term = Var("x")
    for _ in range(12):
        long = long + long
    walk = Edge(guard=Var("x") < 900, outcomes=(Outcome(updates=(Update(Var("x"), Var("x") + 1),)),))
    paid = Edge(guard=Var("x") < 900, action="pay", outcomes=(Outcome(rewards=(("cost", long),)),))
    variables = (Variable("x", Int(0, 900)),)

    def world(*edges: Edge) -> Problem:
        environment = Environment("w", variables, equal(Var("x"), 0), (Component("c", edges),))
        return Problem("w", environment, None, Never(FALSE))

    assert explore_problem(world(walk, paid), labels={}, rewards=("cost",)).tier == "interpreter"
    assert explore_problem(world(walk, paid), labels={}).tier == "llvm"
