"""What users write in Python and do not mean: refused in one sentence, or taken for what it says."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidProblem, WrongType
from surefoot.problem.environment import Control, Law, Synchronisation
from surefoot.problem.flow import Flow
from surefoot.problem.policy import Choose, EdgesOf, OraclePolicy
from surefoot.problem.property import Bound, Expected, Path, Probability, Threshold
from surefoot.term.term import (
    Apply,
    Const,
    Op,
    array_term,
    conjunction_of,
    divide_terms,
    negate_number,
    term_from_python,
)
from surefoot.verdict.verdict import Proved, Violated

x, y, b = sf.Var("x"), sf.Var("y"), sf.Var("b")
UP = sf.Edge(action="up", guard=x < 12, outcomes=(sf.Outcome(updates=(sf.Update(x, x + 1),)),))
STAY = sf.Edge(action="up", guard=x >= 12)
COUNTER = sf.Environment(
    "counter", (sf.Variable("x", sf.Int(0, 20)),), sf.equal(x, 0), (sf.Component("c", (UP, STAY)),)
)
PROGRAM = sf.ProgramPolicy((sf.Branch(x >= 0, "up"),), ("up",))
NETWORK = sf.Network(1, ())


def problem(asked: object, policy: object = PROGRAM) -> sf.Problem:
    return sf.Problem("counter", COUNTER, policy, asked)


def test_an_equation_written_with_python_is_not_taken_for_false() -> None:
    assert isinstance(sf.verify(problem(sf.Never((x > 12) | sf.equal(x, 5)))).verdict, Violated)
    with pytest.raises(WrongType, match=r"fix: write equal\(x, 5\)"):
        sf.verify(problem(sf.Never((x > 12) | (x == 5))))


@pytest.mark.parametrize(
    "other",
    [5, 0.5, "red", True, Fraction(1, 2), Decimal("0.1"), np.int64(5), np.float64(0.5), (1,), object()],
)
@pytest.mark.parametrize("own", [x, Const(5), x + 1], ids=["Var", "Const", "Apply"])
def test_comparing_a_term_with_a_value_raises(own: sf.Var, other: object) -> None:
    for compare in (lambda: own == other, lambda: other == own, lambda: own != other, lambda: own in [other]):
        with pytest.raises(WrongType, match=r"fix: write equal\("):
            compare()


def test_terms_are_data_that_can_be_compared() -> None:
    assert x == sf.Var("x")
    assert x != y
    assert x + 1 == sf.Var("x") + 1
    assert x + 1 != x
    assert Const(5) != x
    assert x.__ne__(None)  # where there is no term there is None
    assert {x + 1: "a", sf.Var("x") + 1: "b"} == {x + 1: "b"}
    assert Const(True) != Const(1)
    named, summed = Expected("steps", x > 1), Expected(x, x > 1)
    assert named != summed
    assert named == Expected("steps", x > 1)
    assert summed == Expected(x, x > 1)
    assert hash(summed) == hash(Expected(x, x > 1))
    assert named != 3
    assert Bound(high=Const(3)) != Bound(low=Const(3))
    assert Probability(Path("F", b)) != problem(sf.Never(b))


TRUTHS: dict[str, Callable[[object], object]] = {
    "and": lambda t: (x < 5) & t,
    "or": lambda t: (x < 5) | t,
    "and, first": lambda t: t & (x < 5),
    "or, first": lambda t: t | (x < 5),
    "plus": lambda t: x + t,
    "less": lambda t: x < t,
    "index": lambda t: x[t],
    "equal": lambda t: sf.equal(b, t),
    "ite": lambda t: sf.ite(t, 1, 0),
    "array": lambda t: array_term(t),
    "negate": lambda t: negate_number(t),
    "divide": lambda t: divide_terms(t, x),
    "conjunction": lambda t: conjunction_of((term_from_python(t),)),
    "Never": lambda t: sf.Never(t),
    "Eventually": lambda t: sf.Eventually(t),
    "Recurs": lambda t: sf.Recurs(t),
    "Within": lambda t: sf.Within(t, 5),
    "Path": lambda t: Path("F", t),
    "Path, left": lambda t: Path("U", x > 1, t),
    "Bound": lambda t: Bound(high=t),
    "Probability": lambda t: Probability(Path("F", b), starts=t),
    "Expected": lambda t: Expected("steps", t),
    "Expected, sum": lambda t: Expected(t, x > 1),
    "Expected, starts": lambda t: Expected("steps", x > 1, starts=t),
    "guard": lambda t: sf.Edge(guard=t),
    "assuming": lambda t: sf.Edge(assuming=t),
    "update": lambda t: sf.Update(b, t),
    "target": lambda t: sf.Update(t, x),
    "probability": lambda t: sf.Outcome(t),
    "reward": lambda t: sf.Outcome(rewards=(("cost", t),)),
    "updates": lambda t: sf.Outcome(updates={b: t}),
    "initial": lambda t: sf.Environment("e", (), t, ()),
    "derivative": lambda t: Flow((("x", t),), Fraction(1, 10)),
    "observe": lambda t: sf.NeuralPolicy(NETWORK, (t,), ("up",)),
    "branch": lambda t: sf.Branch(t, "up"),
    "decision": lambda t: sf.Branch(x > 1, (t,)),
    "permits": lambda t: sf.ShieldedPolicy(PROGRAM, t, PROGRAM),
    "shift": lambda t: sf.window("h", 3, sf.Bool()).shift(t),
}


@pytest.mark.parametrize("door", TRUTHS)
@pytest.mark.parametrize("truth", [x == y, x == x, np.bool_(True)], ids=["x == y", "x == x", "numpy"])
def test_every_door_refuses_the_truth_values_of_python(door: str, truth: object) -> None:
    with pytest.raises(WrongType, match=r"truth value|is not a term") as told:
        TRUTHS[door](truth)
    assert told.value.fix
    assert "\n" not in str(told.value)


ABSENT = ("Bound", "Probability", "Expected, starts")  # None stands for nothing there
NAMED = ("Expected, sum",)  # a text is the name of a reward


@pytest.mark.parametrize(
    ("door", "wrong"),
    [
        *((d, w) for d in TRUTHS for w in (float("nan"), [x], {"x": 1}, sf.Never)),
        *((d, None) for d in TRUTHS if d not in ABSENT),
        *((d, "x > 5") for d in TRUTHS if d not in NAMED),
    ],
)
def test_every_door_refuses_what_is_no_term(door: str, wrong: object) -> None:
    with pytest.raises(TypeError) as told:
        TRUTHS[door](wrong)
    if isinstance(told.value, InvalidProblem):
        assert told.value.fix
        assert "\n" not in str(told.value)
    else:
        assert door.endswith("first")  # Python itself refuses: no term takes part on the left


def test_a_term_has_no_truth_in_python() -> None:
    for wrong in (lambda: x < 5 and y < 3, lambda: not b, lambda: 0 <= x <= 9, lambda: max(x, y)):
        with pytest.raises(WrongType, match="no truth value"):
            wrong()
    with pytest.raises(WrongType, match="iterated"):
        list(x)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (3, 3),
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (1e-7, Fraction(1, 10**7)),
        (1e22, 10**22),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(6, 3), 2),
        (np.int8(-4), -4),
        (np.uint64(2**63), 2**63),
    ],
)
def test_numbers_are_the_ones_that_are_written(given: float, meant: Fraction) -> None:
    assert term_from_python(given) == Const(meant)
    assert x + given == Apply(Op.ADD, (x, Const(meant)))
    assert given * x == Apply(Op.MUL, (Const(meant), x))
    assert sf.Real(given, None).low == meant


@pytest.mark.parametrize("wrong", [float("inf"), float("nan"), Decimal("nan"), Decimal("-Infinity"), 1j])
def test_numbers_are_finite_and_real(wrong: float) -> None:
    for door in (term_from_python, lambda v: x < v, lambda v: sf.Real(v), lambda v: Threshold("<", v)):
        with pytest.raises(WrongType):
            door(wrong)


def test_series_may_be_lists_or_generated_and_updates_a_dictionary() -> None:
    edges = [
        sf.Edge(
            action="up", guard=x < 12, outcomes=[sf.Outcome(0.25, {x: x + 1}), sf.Outcome(Decimal("0.75"))]
        ),
        sf.Edge(action="up", guard=x >= 12, outcomes=[sf.Outcome(rewards={"cost": 1})]),
    ]
    environment = sf.Environment(
        "counter",
        [sf.Variable("x", sf.Int(np.int64(0), 20))],
        sf.equal(x, 0),
        [sf.Component("c", (e for e in edges))],
        arithmetic="exact",
    )
    assert environment.components[0].edges[0].outcomes[0].probability == Const(Fraction(1, 4))
    assert environment.components[0].edges[1].outcomes[0].rewards == (("cost", Const(1)),)
    assert hash(environment) == hash(environment)
    policy = sf.ProgramPolicy([sf.Branch(x >= 0, "up")], ["up"])
    result = sf.verify(sf.Problem("c", environment, policy, sf.Never(x > 12)), "induction", sf.Budget(60))
    assert isinstance(result.verdict, Proved)


def test_words_stand_for_what_they_name() -> None:
    policy = sf.NeuralPolicy(NETWORK, [x], ["up"], "argmax-applicable")
    assert policy.choose is Choose.ARGMAX_APPLICABLE
    assert policy.actions == ("up",)
    assert sf.Bmc("z3").solver.name == "z3"
    result = sf.verify(problem(sf.Never(x > 12)), ["bmc", sf.Induction(depth=3)])
    assert isinstance(result.verdict, Proved)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "property as text": (lambda: problem("never x > 5"), "parse_property"),
    "condition as text": (lambda: sf.Never("x > 5"), "parse_term"),
    "policy as path": (lambda: problem(sf.Never(x > 5), "p.onnx"), "load_policy"),
    "network as policy": (lambda: problem(sf.Never(x > 5), NETWORK), "NeuralPolicy"),
    "path as network": (lambda: sf.NeuralPolicy("p.onnx", (x,), ("up",)), "load_policy"),
    "problem as path": (lambda: sf.verify("p.toml"), "Problem"),
    "engine class": (lambda: sf.verify(problem(sf.Never(x > 5)), sf.Bmc), "bmc"),
    "unknown engine": (lambda: sf.verify(problem(sf.Never(x > 5)), "bcm"), "did you mean `bmc`"),
    "unknown solver": (lambda: sf.Bmc("z4"), "`milp`, `z3`, `native`"),
    "solver class": (lambda: sf.Bmc(sf.Bmc), "milp"),
    "depth": (lambda: sf.Induction(depth="3"), "int"),
    "budget as number": (lambda: sf.verify(problem(sf.Never(x > 5)), None, 60), "Budget"),
    "seconds": (lambda: sf.Budget("60"), "Budget"),
    "seconds, nan": (lambda: sf.Budget(float("nan")), "Budget"),
    "seed": (lambda: sf.Budget(1, seed=1.5), "int"),
    "progress": (lambda: sf.Budget(1, progress="loud"), "function"),
    "steps": (lambda: sf.Never(x > 5, 2.5), "int"),
    "steps, truth": (lambda: sf.Within(x > 5, True), "int"),
    "after": (lambda: sf.Within(x > 5, 5, "1"), "int"),
    "kind as class": (lambda: sf.Variable("x", sf.Int), "Int"),
    "kind as text": (lambda: sf.Variable("x", "int"), "Bool()"),
    "name as term": (lambda: sf.Variable(x, sf.Bool()), "str"),
    "name as number": (lambda: sf.Var(3), "Var"),
    "limit": (lambda: sf.Int(0.0, 3), "int"),
    "limit, infinite": (lambda: sf.Real(float("-inf"), 0), "leave it out"),
    "limit as text": (lambda: sf.Real("0", 1), "int"),
    "float32": (lambda: sf.Real(0, 1, "yes"), "True"),
    "array": (lambda: sf.Array(sf.Int, 3), "Int"),
    "length": (lambda: sf.Array(sf.Int(), "3"), "int"),
    "control": (lambda: Control(3), "str"),
    "choice": (lambda: sf.Choice("c", 3), "Bool()"),
    "law": (lambda: sf.Choice("c", sf.Real(), "uniform"), "Law"),
    "law's numbers": (lambda: Law("uniform", ("0", "1")), "int"),
    "target as text": (lambda: sf.Update("x", 1), "parse_term"),
    "update alone": (lambda: sf.Outcome(updates=sf.Update(x, 1)), "tuple"),
    "updates as pairs": (lambda: sf.Outcome(updates=[(x, 1)]), "Update"),
    "rewards": (lambda: sf.Outcome(rewards=["cost"]), "cost"),
    "outcome alone": (lambda: sf.Edge(outcomes=sf.Outcome()), "tuple"),
    "chosen": (lambda: sf.Edge(chosen=["d"]), "Choice"),
    "action": (lambda: sf.Edge(action=3), "str"),
    "location alone": (lambda: sf.Component("c", (), initial="here"), "tuple"),
    "edges as a set": (lambda: sf.Component("c", {UP}), "tuple"),
    "component alone": (lambda: sf.Environment("e", (), x > 1, COUNTER.components[0]), "tuple"),
    "initial as text": (lambda: sf.Environment("e", (), "x = 0", ()), "parse_term"),
    "variables as names": (lambda: sf.Environment("e", ["x"], x > 1, ()), "Variable"),
    "arithmetic": (lambda: sf.Environment("e", (), x > 1, (), arithmetic="float"), "float64"),
    "synchronisation": (lambda: Synchronisation("up"), "tuple"),
    "observe as names": (lambda: sf.NeuralPolicy(NETWORK, ("x",), ("up",)), "parse_term"),
    "actions as text": (lambda: sf.NeuralPolicy(NETWORK, (x,), "up"), "tuple"),
    "choose": (lambda: sf.NeuralPolicy(NETWORK, (x,), ("up",), "max"), "argmax"),
    "edges of": (lambda: EdgesOf("c", ("0",)), "int"),
    "branches": (lambda: sf.ProgramPolicy((x > 1, "up")), "Branch"),
    "decision": (lambda: sf.Branch(x > 1, 3), "tuple"),
    "shield": (lambda: sf.ShieldedPolicy("p.onnx", x > 1, PROGRAM), "load_policy"),
    "oracle": (lambda: OraclePolicy("o", "up"), "function"),
    "width": (lambda: sf.Network("1", ()), "int"),
    "nodes": (lambda: sf.Network(1, "relu"), "tuple"),
    "a node": (lambda: sf.Network(1, ["relu"]), "Affine"),
    "window": (lambda: sf.window("h", 3, sf.Int), "Int"),
    "text of a term": (lambda: sf.parse_term(x), "str"),
    "text of a property": (lambda: sf.parse_property(sf.Never(x > 1)), "str"),
    "path": (lambda: sf.load_policy(None), "Path"),
    "result": (lambda: sf.render("p", "r"), "Problem"),
    "operator": (lambda: Path("Q", x > 1), "known names"),
    "relation": (lambda: Threshold("=", 1), "did you mean"),
    "path formula": (lambda: Probability("F x > 1"), "Path"),
    "threshold": (lambda: Probability(Path("F", x > 1), 0.5), "Threshold"),
    "over": (lambda: Probability(Path("F", x > 1), over="mean"), "known names"),
}


@pytest.mark.parametrize("call", WRONG)
def test_a_natural_mistake_is_told_in_one_line_with_a_fix(call: str) -> None:
    wrong, fix = WRONG[call]
    with pytest.raises(WrongType) as told:
        wrong()
    assert fix in told.value.fix
    assert "\n" not in str(told.value)


def test_the_examples_of_the_page_run(tmp_path: pathlib.Path) -> None:
    root = pathlib.Path(__file__).parents[2]
    page = (root / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    for name in ("toy.toml", "toy.onnx"):
        (tmp_path / name).write_bytes(
            (root / "src" / "surefoot_studies" / "toy" / "assets" / name).read_bytes()
        )
    code = "".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    code += "print(r.proved, sf.check_certificate('c.json').accepted)\n"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert shown.stdout.startswith("violated after")
    assert shown.stdout.endswith("True True\n")
