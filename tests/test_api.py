"""The Python interface: examples run as written, and what cannot be meant is one clear sentence."""

from __future__ import annotations

import doctest
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import surefoot as sf
from surefoot import api
from surefoot.problem.environment import Environment as EnvironmentData
from surefoot.problem.property import Never
from surefoot.term.term import Var, equal

LANE = """
name = "lane"
arithmetic = "float64"
initial = "-0.5 <= x <= 0.5"
[variables]
x = "real [-2, 2]"
[controls]
u = "[-1, 1]"
[flow]
step = 0.125
method = "euler"
derivatives = { x = "u" }
[[edges]]
[properties]
inside = "never x > 1 or x < -1"
"""

WALK = """
name = "walk"
initial = "1 <= n <= 3"
[variables]
n = "int 0..4"
[[edges]]
action = "go"
guard = "0 < n < 4"
[[edges.outcomes]]
probability = "1/2"
updates = { n = "n + 1" }
[[edges.outcomes]]
probability = "1/2"
updates = { n = "n - 1" }
[[edges]]
action = "go"
guard = "n = 0 or n = 4"
[policy.program]
branches = [{ action = "go" }]
[properties]
high = "P=? [ F n = 4 ]"
ends = "eventually n = 0 or n = 4"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    for name in ("toy.toml", "toy.onnx"):
        shutil.copy(str(files("surefoot_studies.toy") / "assets" / name), name)
    Path("lane.toml").write_text(LANE)
    Path("walk.toml").write_text(WALK)
    # scores of `up` and `reset` over x / 9: up wins while x <= 3
    weights = helper.make_tensor("w", TensorProto.FLOAT, [1, 2], [-1.0, 1.0])
    bias = helper.make_tensor("b", TensorProto.FLOAT, [2], [0.4, -0.4])
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["s", "w", "b"], ["scores"])],
        "net",
        [helper.make_tensor_value_info("s", TensorProto.FLOAT, [1, 1])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 2])],
        [weights, bias],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, "net.onnx")
    return tmp_path


def counter() -> tuple[Any, Any]:
    x = sf.integer("x", 0, 9)
    env = sf.Environment("counter", start=x == 0)
    return x, env.edge("up", guard=x < 9, update={x: x + 1}).edge("reset", update={x: 0})


@pytest.mark.parametrize("module", sorted({api.HOMES[name] for name in api.USER_NAMES}))
def test_the_examples_of_the_docstrings_run(module: str, here: Path) -> None:
    assert doctest.testmod(import_module(module)).failed == 0


def test_a_problem_is_loaded_checked_saved_and_its_certificate_checked(here: Path) -> None:
    p = sf.load("toy.toml", property="below_thirteen")
    r = sf.check(p, engine="bmc", timeout=60)
    assert r.proved
    assert not r.violated
    assert r.trace is None
    assert "toy/below_thirteen" in str(r)
    assert "sha256" in str(r)
    assert "<section>" in r._repr_html_()
    r.save("r.json")
    x, env = counter()
    proof = sf.check(env, sf.Policy.program([(x < 4, "up"), (x >= 4, "reset")]), "never x = 5")
    assert proof.proved
    assert proof.certified
    assert isinstance(proof.verdict, sf.Proved)
    assert proof.certificate is not None
    proof.certificate.save("c.json")
    assert sf.check_certificate("c.json").accepted
    assert sf.check_certificate(proof.certificate).accepted
    assert sf.check_certificate(proof).accepted


def test_a_saved_violation_is_certified_again_by_the_command_line(here: Path) -> None:
    r = sf.check(sf.load("toy.toml", property="below_ten"), engine="bmc", timeout=60)
    assert r.violated
    assert r.trace is not None
    assert len(r.trace) == len(r.trace.states)
    r.save("r.json")
    again = subprocess.run(
        [sys.executable, "-m", "surefoot", "certify", "r.json"], capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stdout + again.stderr
    assert "accepted" in again.stdout


def test_a_changed_problem_does_not_name_the_file_it_came_from(here: Path) -> None:
    p = sf.load("toy.toml", property="below_thirteen")
    changed = sf.check(p, property="never output[0] >= 14 for 1 steps", engine="bmc")
    assert changed.data.source == {}
    assert changed.data.inputs == {}
    assert sf.check(p, engine="bmc").data.source["property"] == "below_thirteen"


def test_a_file_with_several_properties_is_a_list(here: Path) -> None:
    problems = sf.load("toy.toml")
    assert [p.name for p in problems] == ["toy/below_ten", "toy/below_thirteen"]
    with pytest.raises(sf.InvalidProblem, match="2 properties: `below_ten`, `below_thirteen`; fix: name one"):
        sf.check("toy.toml")
    assert sf.check("toy.toml", property="below_ten", engine=sf.Bmc(depth=3)).violated


def test_an_environment_is_written_with_edges_and_a_network_from_a_file(here: Path) -> None:
    x, env = counter()
    pi = sf.Policy.from_file("net.onnx", observe=[x / 9], actions=["up", "reset"])
    assert sf.check(env, pi, sf.never((x >= 12) | (x == 5))).proved
    found = sf.check(env, pi, sf.never(x == 4))
    assert found.violated
    assert found.trace is not None
    assert [state["x"] for state in found.trace.states] == [0, 1, 2, 3, 4]
    assert found.trace.actions == ("up",) * 4
    assert sf.check(env, pi, sf.recurs(x == 0), engine="explicit").proved
    assert sf.check(env, pi, sf.within(x == 4, 3)).violated


def test_a_network_from_a_file_is_named_in_the_result(here: Path) -> None:
    x, env = counter()
    pi = sf.Policy.from_file("net.onnx", observe=[x / 9], actions=["up", "reset"])
    found = sf.check(env, pi, sf.never(x == 5))
    assert found.data.inputs == {"net.onnx": sha256(Path("net.onnx").read_bytes()).hexdigest()}
    assert found.certificate is not None
    found.certificate.save("c.json")
    assert sf.check_certificate("c.json").accepted


def test_edges_lead_from_location_to_location() -> None:
    x = sf.integer("x", 0, 3)
    lamp = sf.Environment("lamp", start=x == 0, location="off")
    lamp = lamp.edge("press", target="on", update={x: 1})
    lamp = lamp.edge("press", source="on", outcomes=[(0.5, {x: 0}, "off"), (0.5, {x: 3}, "broken")])
    lamp = lamp.edge("press", source="broken")
    pi = sf.Policy.program([(sf.TRUE, "press")])
    assert lamp.components[0].locations == ("off", "on", "broken")
    assert sf.check(lamp, pi, sf.never(x == 2)).proved
    trace = sf.check(lamp, pi, sf.never(x == 3)).trace
    assert trace is not None
    assert [state["x"] for state in trace.states] == [0, 1, 3]
    with pytest.raises(sf.WrongType, match="both `location` and `components` are given"):
        sf.Environment("two", start=x == 0, location="a", components=[sf.Component("c", ())])


def test_an_engine_shows_what_differs_from_the_default() -> None:
    assert repr(sf.Bmc()) == "Bmc()"
    assert repr(sf.Bmc(depth=8)) == "Bmc(depth=8)"
    assert repr(sf.Statistical(eps="0.1")) == "Statistical(eps=Fraction(1, 10))"
    assert repr(sf.Predicates(predicates=[sf.parse_term("x < 3")])) == "Predicates(predicates=('x < 3',))"
    x, env = counter()
    told = sf.check(env, sf.Policy.program([(x >= 0, "reset")]), sf.never(x == 5), engine=sf.Bmc()).engine
    assert told == "Bmc(solver=Milp(seed=0), depth=None)"


def test_edges_leave_the_environment_as_it_was() -> None:
    x = sf.integer("x", 0, 9)
    first = sf.Environment("counter", start=x == 0)
    second = first.edge("up", update={x: x + 1})
    assert first.components[0].edges == ()
    assert len(second.components[0].edges) == 1
    assert isinstance(second, EnvironmentData)
    assert second.variables == first.variables


def test_the_environment_of_before_is_still_written_in_the_same_way() -> None:
    x = Var("x")
    edges = [sf.Edge(action="up", outcomes=[sf.Outcome(updates={x: x})])]
    old = sf.Environment("c", [sf.Variable("x", sf.Int(0, 3))], equal(x, 0), [sf.Component("c", edges)])
    problem = sf.Problem("c", old, sf.ProgramPolicy([sf.Branch(x >= 0, "up")], ["up"]), sf.Never(x > 1))
    assert isinstance(sf.verify(problem).verdict, sf.Proved)


def test_expressions_are_equations_and_have_no_truth_value() -> None:
    x, y = sf.integer("x", 0, 9), sf.real("y", "-1/3", 0.3)
    assert y.variables[0].kind == sf.Real(Fraction(-1, 3), Fraction(3, 10))
    assert str((x == 5) & (x != 3)) == "x = 5 and x != 3"
    assert str(x + Decimal("0.5") <= Fraction(1, 3)) == str(x + 0.5 <= "1/3")
    for wrong in (lambda: bool(x == 5), lambda: 0 <= x <= 9, lambda: not x, lambda: x in (y, x + 1)):
        with pytest.raises(sf.WrongType, match="has no truth value in Python"):
            wrong()
    for wrong in (lambda: x & True, lambda: (x > 3) | False, lambda: x + True):
        with pytest.raises(sf.WrongType, match="is Python's truth value"):
            wrong()
    with pytest.raises(sf.InvalidProblem, match="`x` is declared as"):
        _ = x + sf.integer("x", 0, 5)


def test_ten_natural_calls_work_or_say_what_to_write(here: Path) -> None:
    x, env = counter()
    pi = sf.Policy.program([(x < 4, "up"), (x >= 4, "reset")])
    assert sf.Update(x, 1).target == Var("x")
    assert sf.Outcome(probability=0.5).probability.value == Fraction(1, 2)
    assert sf.Real(0, 0.3).high == Fraction(3, 10)
    assert sf.Never(x >= 5) == Never(Var("x") >= 5) == sf.never("x >= 5")
    p = sf.load("toy.toml", property="below_ten")
    assert sf.check(p, engine="bmc").violated
    assert sf.check(p, timeout=10).violated
    assert sf.check(p, engine="bmc", depth=0).holds_up_to == 0
    assert sf.check(p, engine=["bmc", sf.Induction()]).violated
    for call, sentence in (
        (lambda: sf.Never("x >= 5"), r"the text 'x >= 5' is not a term; fix: write parse_term"),
        (lambda: sf.check(p, engine="bcm"), "unknown engine 'bcm'; fix: did you mean `bmc`"),
        (lambda: sf.check(p, engine=sf.Bmc), "the class `Bmc` is not an engine"),
        (lambda: sf.check(p, timeout="10"), "timeout: the text '10' is not a positive number of seconds"),
        (lambda: sf.check(p, timeout=-1), "`-1` is not a positive number of seconds"),
        (lambda: sf.check(p, seed=0.5), "seed"),
        (lambda: sf.check(p, depth=3), 'options need the name of an engine: engine="bmc", depth=8'),
        (
            lambda: sf.check(p, engine="bmc", deep=3),
            "engine `bmc` has no option `deep`; fix: did you mean `depth`",
        ),
        (lambda: sf.check(env, pi), "nothing is asked about the environment"),
        (lambda: sf.check(env, property="never x = 5"), "nobody acts in the environment"),
        (lambda: sf.check(env, "net.onnx", "never x = 5"), "a network alone does not say what it observes"),
        (lambda: sf.check(env, pi, "never z = 5"), "property:.*z"),
        (lambda: sf.check(5), "`5` is not a problem; fix: give a problem from load"),
        (lambda: sf.check(env, pi, x == 5), "`x = 5` alone is no property; fix: write never"),
        (lambda: sf.load("none.toml"), "no such file"),
        (lambda: sf.load("toy.toml", property="below_tn"), "did you mean `below_ten`"),
        (lambda: sf.load(5), "`5` is not the path of a file"),
        (lambda: sf.Environment("c"), "nothing says where runs start; fix: write Environment"),
        (lambda: env.edge(x), "is not a name"),
        (lambda: env.edge("go", update={x: True}), "edge `go`: `True` is Python's truth value"),
        (lambda: env.edge("go", outcomes=[0.5]), "edge `go`: `0.5` is not an outcome"),
        (lambda: sf.Policy(x), "a policy is read from a file or written as a program"),
        (lambda: sf.Policy.from_file("net.onnx", [x], ["up"], choose="best"), "is not `Choose`"),
        (lambda: sf.probability(p), "asks for no probability"),
        (lambda: sf.integer("x", 0.5), "is not a whole number"),
        (lambda: sf.real("x", "low"), "the text 'low' is not a number"),
        (lambda: sf.shield("lane.toml", degrees=(3,)), "`3` is not a degree; fix: give even numbers"),
        (lambda: sf.shield(env, "never x = 5", degrees=(2,)), "degrees: it is for models with real controls"),
        (lambda: sf.shield("lane.toml", bound=0.9), "bound: it is for models that are moved by actions"),
        (lambda: sf.shield(env, "never x = 5", bound=2), "bound: `2` is not a number above 0 and up to 1"),
        (lambda: sf.load("toy.toml", property="never zz > 1"), "^property:1:7: unknown name `zz`"),
        (lambda: sf.load("toy.toml", no_policy=True, policy="toy.onnx"), "^no_policy: .* `policy` could be"),
    ):
        with pytest.raises(sf.SurefootError, match=sentence) as raised:
            call()
        assert "\n" not in str(raised.value)


def test_a_probability_has_two_ends_and_a_heat_map(here: Path) -> None:
    q = sf.probability("walk.toml", "P=? [ F n = 4 ]")
    assert q.low is not None
    assert q.high is not None
    assert q.low <= Fraction(3, 4) <= q.high
    assert q.certified
    assert not q.proved
    assert q.threshold is None
    asked = ("P>=0.2 [ F n = 4 ]", "P>=0.8 [ F n = 4 ]")
    assert [sf.probability("walk.toml", text).threshold for text in asked] == ["met", "missed"]
    q.heatmap("m.svg")
    assert Path("m.svg").read_text().startswith("<svg")
    drawn = sf.heatmap("walk.toml", "high", x="n")
    values = {state["n"]: value for state, value in drawn.result.verdict.table}
    assert values[1].low <= Fraction(1, 4) <= values[1].high
    assert set(values) == {1, 2, 3}
    for name in ("m.png", "m.html", "m.json"):
        drawn.save(name)
        assert Path(name).stat().st_size > 100
    with pytest.raises(sf.InvalidProblem, match=r"ends in \.svg"):
        drawn.save("m.bmp")
    rough = sf.probability("walk.toml", "P=? [ F<=60 n = 4 ]", engine="statistical", eps=0.05)
    assert isinstance(rough.verdict, sf.Estimated)
    assert rough.high - rough.low <= Fraction(1, 10)
    with pytest.raises(sf.InvalidProblem, match="is no value"):
        _ = sf.check("walk.toml", property="never n = 4").low


def test_a_heat_map_is_drawn_for_each_value_of_a_constant(here: Path) -> None:
    Path("swept.toml").write_text(WALK.replace("[variables]", "[constants]\nlast = 3\n[variables]").replace(
        'initial = "1 <= n <= 3"', 'initial = "1 <= n <= last"'
    ))  # fmt: skip
    drawn = sf.heatmap("swept.toml", "high", x="n", sweep={"last": [2, 3]})
    assert [panel.title for panel in drawn.figure.panels] == ["last = 2", "last = 3"]
    assert [len(one.verdict.table) for one in drawn.results] == [2, 3]
    drawn.save("m.svg")
    with pytest.raises(sf.WrongType, match="sweep: constants of a model file are swept"):
        sf.heatmap(sf.load("swept.toml", "high"), sweep={"last": [2]})
    with pytest.raises(sf.InvalidProblem, match="no constant `first`"):
        sf.heatmap("swept.toml", "high", sweep={"first": [2]})


def test_a_shield_is_made_certified_exported_and_put_around_an_environment(here: Path) -> None:
    s = sf.shield("lane.toml", degrees=(2,), timeout=60)
    assert s.accepted
    assert s.covered == 1
    assert "100 %" in str(s)
    assert s.certificate is not None
    assert sf.check_certificate(s.certificate).accepted
    s.export_c("guard")
    s.export_python("guard.py")
    assert Path("guard.c").is_file()
    assert Path("guard.h").is_file()
    said = subprocess.run(
        [sys.executable, "-c", "from guard import step; print(step((0.9,), (1.0,)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    gymnasium = pytest.importorskip("gymnasium")
    import numpy as np

    class Lane(gymnasium.Env):  # type: ignore[misc, name-defined]
        observation_space = gymnasium.spaces.Box(-2, 2, (1,), np.float64)
        action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float64)

        def reset(self, **_: Any) -> Any:
            self.x = np.array([0.0])
            return self.x, {}

        def step(self, action: Any) -> Any:
            self.x = self.x + 0.125 * action
            return self.x, 0.0, False, False, {}

    env = s.wrap(Lane())
    env.reset()
    seen = [env.step(np.array([1.0])) for _ in range(40)]
    assert max(float(step[0][0]) for step in seen) <= 1
    assert any(step[4]["shield"]["intervened"] for step in seen)
    assert "(" in said.stdout


def test_a_shield_of_actions_is_made_exported_and_put_around_an_environment(here: Path) -> None:
    x, env = counter()
    s = sf.shield(env, sf.never(x == 5))
    assert (s.accepted, s.covered) == (True, 1)
    assert "1 of 1 starts kept safe" in str(s)
    assert sf.check_certificate(s.certificate).accepted
    s.export_c("actions")
    s.export_python("actions.py")
    assert Path("actions.h").is_file()
    code = "from actions import step; print(step((3,), 'up'), step((4,), 'up'))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "('up', 0) ('reset', 1)"
    gymnasium = pytest.importorskip("gymnasium")

    class Counter(gymnasium.Env):  # type: ignore[misc, name-defined]
        observation_space = gymnasium.spaces.MultiDiscrete([10])
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, **_: Any) -> Any:
            self.x = 0
            return [self.x], {}

        def step(self, action: Any) -> Any:
            self.x = self.x + 1 if action == 0 else 0
            return [self.x], 0.0, False, False, {}

    wrapped = s.wrap(Counter(), names=["up", "reset"])
    wrapped.reset()
    seen = [wrapped.step(0)[0][0] for _ in range(12)]
    assert max(seen) == 4


def test_a_trace_becomes_a_data_frame_or_says_what_is_missing(here: Path) -> None:
    x, env = counter()
    trace = sf.check(env, sf.Policy.program([(x >= 0, "up")]), sf.never(x == 2)).trace
    assert trace is not None
    if find_spec("pandas") is None:
        with pytest.raises(sf.MissingBackend, match="pip install pandas"):
            trace.to_pandas()
    else:
        assert list(trace.to_pandas()["x"]) == [0, 1, 2]


def test_all_engines_are_classes_with_their_names() -> None:
    from surefoot.engines import ENGINES

    named = (
        *(sf.Falsify, sf.Bmc, sf.Induction, sf.Recurrence),
        *(sf.Explicit, sf.Predicates, sf.Barrier, sf.Reach, sf.Statistical),
    )
    assert {engine.name: engine for engine in named} == ENGINES


@pytest.mark.parametrize(("bound", "starts"), [("1/8", 7), (0.25, 6), (0.5, 4), (0.51, 3), ("7/8", 1)])
def test_a_start_that_is_as_safe_as_the_bound_is_kept(bound: Any, starts: int) -> None:
    """Safety n / 8 equals the bound for one start, which bounds from above alone do not see."""
    n = sf.integer("n", 0, 8)
    walk = sf.Environment("walk", start=(n >= 1) & (n <= 7)).edge("go", guard=(n == 0) | (n == 8))
    walk = walk.edge("go", guard=(n > 0) & (n < 8), outcomes=[(0.5, {n: n + 1}), (0.5, {n: n - 1})])
    made = sf.shield(walk, sf.never(n == 0), bound=bound)
    assert made.synthesis.safe_start_count == (starts, 7)
    assert made.covered == (starts == 7)
    assert str(made).startswith("not certified") is (starts < 7)


def test_a_result_has_no_truth_value(here: Path) -> None:
    x, env = counter()
    with pytest.raises(sf.WrongType, match="has no truth value"):
        bool(sf.check(env, sf.Policy.program([(x >= 0, "up")]), sf.never(x == 2)))


@pytest.mark.parametrize(
    "build",
    [
        lambda: sf.Bmc(depth=-1),
        lambda: sf.Policy.program([], actions="up,down"),
        lambda: sf.Policy.from_file("net.onnx", observe=["x"], actions="up,down"),
        lambda: sf.Statistical(delta=2),
        lambda: sf.Statistical(delta=1),
        lambda: sf.Statistical(eps=0),
        lambda: sf.Statistical(workers=-1),
        lambda: sf.Statistical(max_steps=-5),
        lambda: sf.Explicit(width=-1),
        lambda: sf.Explicit(tier="fast"),
        lambda: sf.Explicit(exact="no"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(build: Callable[[], object]) -> None:
    with pytest.raises(sf.WrongType, match="fix: "):
        build()
