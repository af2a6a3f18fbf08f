"""Certificates about whole executions: accepted as they are made, rejected as soon as anything is changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.laws.test_execution_laws import satisfied

from surefoot.certify.runs.canonical import run_problem_to_json
from surefoot.certify.runs.prove import prove_run_certificate
from surefoot.errors import Unsupported
from surefoot.formats.onnx import read_onnx_network
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
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.run import verify
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import TRUE, Apply, Const, Op, Term, Var, equal
from surefoot.term.value_types import Arithmetic, Int, Real
from surefoot.verdict.verdict import Certificate, Holds, ProofArgument, Proved
from surefoot.work.budget import Budget
from surefoot_checker.check import CheckerVerdict, judge_certificate
from surefoot_checker.claims.runs.argument import RunArgument as Read
from surefoot_checker.claims.runs.canonical_problem import read_canonical_problem
from surefoot_checker.claims.runs.obligations import enumerate_obligations
from surefoot_checker.claims.unsat.query_claim import FileLocations
from surefoot_checker.kernel.strict_json import BadCertificate
from surefoot_studies.aurora.problem import liveness_excellent, liveness_loss, safety_excellent
from surefoot_studies.toy.problem import below_thirteen, settles_within

Json = dict[str, Any]
X, NEW = Var("x"), Var("new")


def made(problem: Problem, argument: ProofArgument) -> Json:
    """A certificate as it comes out of a file."""
    found = prove_run_certificate(problem, run_problem_to_json(problem), argument, Budget(60))
    assert isinstance(found, Certificate), found
    content = json.loads(json.dumps(found.content))
    assert isinstance(content, dict)
    return content


def counting(
    asked: Property, *, high: int = 3, choose: Choose = Choose.ARGMAX, guard: Term = TRUE
) -> Problem:
    """x rises by 1 while it is below 2, then falls to 0: output 0 is 3/2 - x, output 1 is x - 3/2."""
    edges = (
        Edge(action="up", guard=guard, outcomes=(Outcome(updates=(Update(X, X + 1),)),)),
        Edge(action="reset", outcomes=(Outcome(updates=(Update(X, Const(0)),)),)),
    )
    environment = Environment("count", (Variable("x", Int(0, high)),), equal(X, 0), (Component("c", edges),))
    network = dense_network([([[-1], [1]], [1.5, -1.5])])
    return Problem("count", environment, NeuralPolicy(network, (X,), ("up", "reset"), choose), asked)


def drifting(asked: Property) -> Problem:
    """x becomes what is picked within 1/4 of half of x; the network is x itself, the control clips it."""
    side = Real(Fraction(-1), Fraction(1))
    near = Apply(Op.ABS, (NEW - X / 2,)) <= Fraction(1, 4)
    edge = Edge(chosen=(Choice("new", side),), assuming=near, outcomes=(Outcome(updates=(Update(X, NEW),)),))
    environment = Environment(
        "drift",
        (Variable("x", side),),
        Apply(Op.ABS, (X,)) <= Fraction(1, 2),
        (Component("c", (edge,)),),
        (Control("u", Fraction(-1, 2), Fraction(1, 2)),),
    )
    network = dense_network([([[1], [-1]], [0, 0]), ([[1, -1]], [0])])
    return Problem("drift", environment, NeuralPolicy(network, (X,), choose=Choose.VALUE), asked)


def overruled(asked: Property) -> Problem:
    """Like `counting`, but a rule resets from 1 on, whatever the network says there."""
    problem = counting(asked)
    assert problem.policy is not None
    rules = (Branch(X >= 1, "reset"), Branch(TRUE, problem.policy))
    return Problem("overruled", problem.environment, ProgramPolicy(rules), asked)


def by_program(asked: Property) -> Problem:
    """x moves towards 0 by halves; no network at all."""
    problem = drifting(asked)
    program = ProgramPolicy((Branch(X > 0, (-X / 2,)), Branch(TRUE, (X * 0 - X / 2,))))
    edge = Edge(outcomes=(Outcome(updates=(Update(X, X + Var("u")),)),))
    where = Environment(
        "e", problem.environment.variables, TRUE, (Component("c", (edge,)),), problem.environment.controls
    )
    return Problem("halves", where, program, asked)


OUTPUT = Var(network_output_name(0))
TOO_FAR = OUTPUT - Fraction(3, 5) > 0
ACCEPTED: dict[str, tuple[Callable[[], Problem], ProofArgument]] = {
    "toy, unrolled": (below_thirteen, ProofArgument("unrolled", 2)),
    "toy, bounded liveness": (lambda: settles_within(4), ProofArgument("unrolled", 4)),
    "never, induction": (lambda: counting(Never(X > 2)), ProofArgument("induction", 2)),
    "never, longer induction": (lambda: counting(Never(X > 2), high=9), ProofArgument("induction", 3)),
    "recurs": (lambda: counting(Recurs(equal(X, 0))), ProofArgument("induction", 1, 4)),
    "eventually": (lambda: counting(Eventually(equal(X, 2))), ProofArgument("unrolled", 2)),
    "within, from 1 on": (lambda: counting(Within(equal(X, 0), 3, 1)), ProofArgument("unrolled", 3)),
    "applicable": (
        lambda: counting(Never(X > 2), choose=Choose.ARGMAX_APPLICABLE),
        ProofArgument("induction", 2),
    ),
    "chosen values": (lambda: drifting(Never(TOO_FAR, 3)), ProofArgument("unrolled", 3)),
    "rules before the network": (lambda: overruled(Never(X > 1)), ProofArgument("induction", 2)),
    "rules alone": (lambda: by_program(Never(Apply(Op.ABS, (X,)) > 1)), ProofArgument("induction", 1)),
    "clipped control": (lambda: drifting(Never(Var("u") > Fraction(1, 2))), ProofArgument("induction", 1)),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_checker_accepts_what_the_solver_proves(name: str) -> None:
    build, argument = ACCEPTED[name]
    verdict = judge_certificate(made(build(), argument))
    assert verdict.accepted, verdict.reason
    assert "written out" in verdict.not_certified[0]


@pytest.mark.parametrize(
    ("problem", "argument"),
    [
        (counting(Never(X > 1)), ProofArgument("induction", 2)),
        (counting(Never(X > 2), high=2), ProofArgument("unrolled", 2)),  # three different states
        (counting(Recurs(equal(X, 0))), ProofArgument("induction", 1, 2)),
        (counting(Recurs(equal(X, 3))), ProofArgument("induction", 1, 5)),
        (counting(Eventually(equal(X, 3))), ProofArgument("unrolled", 4)),
        (counting(Within(equal(X, 0), 2, 1)), ProofArgument("unrolled", 2)),
        (counting(Recurs(equal(X, 0)), guard=X < 1), ProofArgument("induction", 1, 4)),  # it may stall at 1
        (drifting(Never(TOO_FAR | (-Fraction(2, 5) > OUTPUT), 3)), ProofArgument("unrolled", 3)),
    ],
)
def test_what_is_false_or_not_shown_gets_no_certificate(problem: Problem, argument: ProofArgument) -> None:
    assert isinstance(prove_run_certificate(problem, run_problem_to_json(problem), argument, Budget(30)), str)


def test_an_escape_has_to_be_excluded() -> None:
    """Without the network's reset the counter would leave its range: never is then not shown."""
    problem = counting(Never(X < 0), high=1)
    why = prove_run_certificate(
        problem, run_problem_to_json(problem), ProofArgument("induction", 1), Budget(30)
    )
    assert isinstance(why, str)
    assert "escape" in why


@pytest.fixture(scope="module")
def drift() -> Json:
    return made(drifting(Never(TOO_FAR, 3)), ProofArgument("unrolled", 3))


def rejected(content: Json) -> str:
    try:
        verdict: CheckerVerdict = judge_certificate(content)
    except BadCertificate as error:
        return str(error)
    assert not verdict.accepted
    return verdict.reason


DAMAGE: dict[str, Callable[[Json], None]] = {
    "dropped obligation": lambda c: c["obligations"].pop(),
    "shorter": lambda c: c["claim"]["argument"].update(steps=2),
    "longer property": lambda c: c["claim"]["problem"]["property"].update(steps=4),
    "other property": lambda c: c["claim"]["problem"]["property"].update(
        condition=["<", "1/3", ["output", 0]]
    ),
    "wider start": lambda c: c["claim"]["problem"].update(initial=True),
    "wider range of the pick": lambda c: c["claim"]["problem"]["components"][0]["edges"][0][
        "chosen"
    ].__setitem__(0, ["new", ["real", -2, 2]]),
    "nothing assumed": lambda c: c["claim"]["problem"]["components"][0]["edges"][0].update(assuming=True),
    "other update": lambda c: c["claim"]["problem"]["components"][0]["edges"][0]["outcomes"][0][
        "updates"
    ].__setitem__(0, [["name", "x"], ["*", 2, ["name", "new"]], 0]),
    "no proof": lambda c: c["obligations"][4].update(cases=[]),
    "another obligation's proof": lambda c: c["obligations"][6].update(cases=c["obligations"][4]["cases"]),
    "renamed obligation": lambda c: c["obligations"][0].update(obligation="escape"),
    "induction": lambda c: c["claim"]["argument"].update(kind="induction"),
    "unknown key": lambda c: c["claim"]["problem"].update(extra=1),
    "unknown operator": lambda c: c["claim"]["problem"].update(initial=["sin", ["name", "x"]]),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_certificates_are_rejected(drift: Json, name: str) -> None:
    assert judge_certificate(drift).accepted
    damaged = deepcopy(drift)
    DAMAGE[name](damaged)
    assert rejected(damaged)


def test_another_network_is_rejected(drift: Json) -> None:
    damaged = deepcopy(drift)
    other = run_problem_to_json(
        Problem("drift", *_with_network(drifting(Never(TOO_FAR, 3)), 1.25))
    )  # a steeper one
    damaged["claim"]["problem"]["policy"] = json.loads(json.dumps(other["policy"]))
    assert rejected(damaged)


def _with_network(problem: Problem, slope: float) -> tuple[Environment, NeuralPolicy, Property]:
    network = dense_network([([[1], [-1]], [0, 0]), ([[slope, -slope]], [0])])
    return problem.environment, NeuralPolicy(network, (X,), choose=Choose.VALUE), problem.property


def test_a_loop_without_a_good_state_satisfies_every_obligation_about_good_states() -> None:
    """x stays 0 for ever: whatever k, the sequence without a good state is there."""
    edge = Edge(action="stay")
    environment = Environment("loop", (Variable("x", Int(0, 1)),), equal(X, 0), (Component("c", (edge,)),))
    policy = NeuralPolicy(dense_network([([[1]], [0])]), (X,), ("stay",))
    problem = Problem("loop", environment, policy, Recurs(equal(X, 1)))
    read = read_canonical_problem(run_problem_to_json(problem), FileLocations(Path()))
    for good in range(1, 6):
        (last,) = [
            o for o in enumerate_obligations(read, Read("induction", 1, good)) if o.name == "step/none good"
        ]
        assert satisfied(last.query.formula, {v.name: Fraction(0) for v in last.query.variables})
    for good in (1, 3):
        assert isinstance(
            prove_run_certificate(
                problem, run_problem_to_json(problem), ProofArgument("induction", 1, good), Budget(9)
            ),
            str,
        )
    eventually = Problem("loop", environment, policy, Eventually(equal(X, 1)))
    for steps in (0, 2):
        found = prove_run_certificate(
            eventually, run_problem_to_json(eventually), ProofArgument("unrolled", steps), Budget(9)
        )
        assert isinstance(found, str)


def test_what_the_canonical_form_lacks_is_refused_by_name() -> None:
    problem = counting(Never(X > 2))
    environment = problem.environment
    program = ProgramPolicy((Branch(TRUE, ProgramPolicy((Branch(TRUE, "up"),))),))
    float64 = Environment(
        "f", environment.variables, TRUE, environment.components, arithmetic=Arithmetic.FLOAT64
    )
    for where, who, why in (
        (environment, program, "one network"),
        (float64, problem.policy, "float64"),
    ):
        with pytest.raises(Unsupported, match=why):
            run_problem_to_json(Problem("p", where, who, problem.property))
    with pytest.raises(Unsupported, match="linear"):
        run_problem_to_json(counting(Never(equal(X % 2, 0))))


def test_verify_gives_the_certificate_or_says_what_is_missing() -> None:
    result = verify(counting(Recurs(equal(X, 0))), None, Budget(30))
    assert isinstance(result.verdict, Proved)
    assert result.certified
    assert result.verdict.certificate.kind in ("execution", "graph")  # of whoever comes first
    nested = ProgramPolicy((Branch(TRUE, ProgramPolicy((Branch(X < 2, "up"), Branch(TRUE, "reset")))),))
    problem = Problem("program", counting(Never(X > 2)).environment, nested, Never(X > 2))
    result = verify(problem, None, Budget(30))
    assert isinstance(result.verdict, Holds)
    why = "not certified: certificates cover policies that are one network, with or without rules around it"
    assert why in result.notes


@pytest.mark.shared_data
def test_published_aurora_networks(shared_data: Path) -> None:
    policies = shared_data / "policies"
    original = read_onnx_network(policies / "aurora_icml" / "aurora_icml.onnx")
    small = read_onnx_network(policies / "aurora_nn4sys_small" / "aurora_small_simple.onnx")
    assert judge_certificate(made(safety_excellent(original), ProofArgument("unrolled", 0))).accepted
    assert judge_certificate(made(liveness_excellent(original), ProofArgument("induction", 1, 1))).accepted
    loss = made(liveness_loss(small), ProofArgument("induction", 1, 2))
    assert judge_certificate(loss).accepted
    for name, damage in WINDOW_DAMAGE.items():
        damaged = deepcopy(loss)
        damage(damaged)
        assert rejected(damaged), name


def _shift(content: Json) -> None:
    """The windows keep their values; then two states say no more than one, which is not enough."""
    updates = content["claim"]["problem"]["components"][0]["edges"][0]["outcomes"][0]["updates"]
    for update in updates:
        update[1] = update[0]


def _bound(content: Json) -> None:
    for variable in content["claim"]["problem"]["variables"]:
        if variable[0].startswith("send_ratio"):
            variable[1][1] = 0


def _one_state(content: Json) -> None:
    content["claim"]["argument"]["good"] = 1
    content["obligations"][-1]["steps"] = 0


WINDOW_DAMAGE: dict[str, Callable[[Json], None]] = {
    "shift": _shift,
    "bound": _bound,
    "k": _one_state,
}
