"""Problem files and wiring files: what they build, what overrides do, and the examples of the pages."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.normalization import NOT_NORMALISED
from surefoot.formats.problem_file import read_problem_file, read_problems
from surefoot.formats.problem_file.variable_types import parse_variable_type
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Law,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.flow import Flow
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.problem.property import Never, Within
from surefoot.problem.property_parser import parse_property
from surefoot.term.parser import parse_term
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real

t = parse_term
PAGES = Path(__file__).parents[2] / "docs" / "reference"
BODY = """
[variables]
x = "int 0..3"
[[edges]]
action = "go"
[[edges]]
action = "stay"
"""
PROGRAM = """
[policy.program]
branches = [{ action = "go" }]
"""


def load(path: Path, output: str | None = None) -> LoadedPolicy:
    """Two outputs from two inputs, whatever the file is called."""
    network = dense_network(
        [(np.eye(2), np.zeros(2))], name=path.name if output is None else f"{path.name}:{output}"
    )
    return LoadedPolicy(network, "scores", "test", notes=(NOT_NORMALISED,))


def blocks(page: str, language: str) -> list[str]:
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("line", "".join(blocks("syntax.md", "term")).splitlines())
def test_terms_of_the_page_are_read(line: str) -> None:
    parse_term(line)


@pytest.mark.parametrize("line", "".join(blocks("syntax.md", "property")).splitlines())
def test_properties_of_the_page_are_read(line: str) -> None:
    parse_property(line)


def test_examples_of_the_page_are_sound(write) -> None:
    examples = blocks("problem-file.md", "toml")
    assert len(examples) == 4
    braking, policy, _, pendulum = examples
    assert set(read_problems(write(braking))) == {"stops", "calm"}
    assert set(read_problems(write(pendulum))) == {"upright"}
    without = braking[: braking.index("[policy.program]")] + '[properties]\nstops = "never speed > 9"\n'
    assert read_problem_file(write(without + policy), load=load).name == "braking/stops"


def test_reads_everything_an_edge_may_say(write) -> None:
    path = write("""
        name = "all"
        arithmetic = "float64"
        initial = "x = N"
        [constants]
        N = 2
        half = "1 / N"
        [variables]
        x = "int 0..N + 1"
        "my array" = "array N of bool"
        [windows]
        late = { length = "N", kind = "real [1, 10]" }
        [controls]
        force = "[-half, half]"
        turn = { limits = ">= 0", clipped = false }
        [[edges]]
        guard = "x < N and force < 1"
        chosen = { w = { kind = "real [0, 1]", law = "uniform(0, half)" }, n = "int 1..6" }
        assuming = "w < force"
        [[edges.outcomes]]
        probability = "half"
        updates = [{ x = "x + n" }, { "`my array`[x]" = true, "my array" = "`my array`" }]
        rewards = { cost = 0.1 }
        [[edges.outcomes]]
        probability = "half"
        shift = { late = "w" }
        [flow]
        step = 0.01
        method = "rk4"
        derivatives = { late_0 = "force" }
        [policy.program]
        branches = [{ when = "x > N", controls = ["x", 0] }]
        [properties]
        soon = "within N x > 0"
    """)
    with pytest.raises(InvalidProblem, match="is assigned twice at once"):
        read_problem_file(path)
    write(path.read_text(encoding="utf-8").replace(', "my array" = "`my array`"', ""))
    problem = read_problem_file(path)
    environment = problem.environment
    half = Fraction(1, 2)
    assert problem.name == "all/soon"
    assert problem.property == Within(t("x > 0"), 2)
    assert environment.variables == (
        Variable("x", Int(0, 3)),
        Variable("my array", Array(Bool(), 2)),
        Variable("late_0", Real(Fraction(1), Fraction(10))),
        Variable("late_1", Real(Fraction(1), Fraction(10))),
    )
    assert environment.initial == t("x = 2")
    assert environment.arithmetic is Arithmetic.FLOAT64
    assert environment.controls == (Control("force", -half, half), Control("turn", Fraction(0), None, False))
    first = Outcome(
        Const(half),
        (Update(Var("x"), t("x + n")), Update(Var("my array")[Var("x")], t("true"), 1)),
        (("cost", Const(Fraction(1, 10))),),
    )
    second = Outcome(Const(half), (Update(Var("late_0"), Var("late_1")), Update(Var("late_1"), Var("w"))))
    law = Law("uniform", (Fraction(0), half))
    chosen = (Choice("w", Real(Fraction(0), Fraction(1)), law), Choice("n", Int(1, 6)))
    edge = Edge("here", None, t("x < 2 and force < 1"), chosen, t("w < force"), (first, second))
    assert environment.components == (Component("main", (edge,)),)
    assert environment.flow == Flow((("late_0", Var("force")),), Fraction(1, 100), "rk4")
    assert problem.policy == ProgramPolicy((Branch(t("x > 2"), (Var("x"), Const(0))),))


def test_an_equation_needs_no_edges(write) -> None:
    text = """
initial = "0 <= x <= 1"
[variables]
x = "real"
[controls]
u = "[-1, 1]"
[flow]
period = 0.1
time = "continuous"
derivatives = { x = "u - x" }
EDGES
[policy.program]
branches = [{ controls = ["-x"] }]
[properties]
asked = "never x > 2"
"""
    with_edge = read_problem_file(write(text.replace("EDGES", "[[edges]]"), "one.toml"))
    assert read_problem_file(write(text.replace("EDGES", ""), "one.toml")) == with_edge


def test_reads_components_that_synchronise(write) -> None:
    problem = read_problem_file(
        write("""
        [[components]]
        name = "car"
        locations = ["park", "drive"]
        [[components.edges]]
        source = "park"
        target = "drive"
        action = "go"
        [[components.edges]]
        source = "drive"
        action = "stop"
        [[components]]
        name = "light"
        edges = [{ action = "green" }]
        [[synchronisations]]
        actions = { light = "green", car = "go" }
        result = "start"
        [[synchronisations]]
        actions = { car = "stop" }
        [policy.program]
        branches = [{ action = "start" }, { when = "false", action = "stop" }]
        [properties]
        drives = "eventually at(car, drive)"
    """)
    )
    car, light = problem.environment.components
    assert car.locations == ("park", "drive")
    assert car.initial == ("park",)
    assert car.edges[0].outcomes[0].target == "drive"
    assert car.edges[1].outcomes[0].target == "drive"
    assert light == Component("light", (Edge(action="green"),))
    assert problem.environment.synchronisations == (
        Synchronisation(("go", "green"), "start"),
        Synchronisation(("stop", None), "stop"),
    )
    assert isinstance(problem.policy, ProgramPolicy)
    assert problem.policy.actions == ("start", "stop")


def test_constants_can_be_replaced(write) -> None:
    path = write('[constants]\nN = 3\nM = "N * 2"\n[properties]\np = "never x = M"' + BODY + PROGRAM)
    assert read_problem_file(path).property == Never(t("x = 6"))
    assert read_problem_file(path, constants={"N": "1/4"}).property == Never(t("x = 0.5"))
    assert read_problem_file(path, constants={"M": 9}).property == Never(t("x = 9"))
    with pytest.raises(InvalidProblem) as caught:
        read_problem_file(path, constants={"K": 9})
    assert str(caught.value) == f"{path}:constants: the file has no constant `K`; fix: known names: `N`, `M`"
    with pytest.raises(InvalidProblem) as caught:
        read_problem_file(path, constants={"N": "2 +"})
    ends = "the text ends where a number, a name or `(` is expected; fix: write what is missing"
    assert str(caught.value) == f"{path}:constants.N:1:4: {ends}"


def test_a_property_is_chosen_by_name_or_written(write) -> None:
    path = write('[properties]\na = "never x = 1"\nb = "never x = 2"' + BODY + PROGRAM)
    assert read_problem_file(path, property="b").property == Never(t("x = 2"))
    assert read_problem_file(path, property="always x < 2").property == Never(t("not x < 2"))
    for asked, message in [
        (None, f"{path}:properties: the file has 2 properties; fix: choose one of `a`, `b`"),
        ("c", f"{path}:properties: the file has no property `c`; fix: known names: `a`, `b`"),
        ("never y", "property:1:7: unknown name `y`; fix: known names: `x`"),
    ]:
        with pytest.raises(InvalidProblem) as caught:
            read_problem_file(path, property=asked)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("bool", Bool()),
        ("int", Int()),
        ("int -2..N", Int(-2, 5)),
        ("int >= 3", Int(3, None)),
        ("real", Real()),
        ("real [-1, 1/3]", Real(Fraction(-1), Fraction(1, 3))),
        ("real <= 1", Real(None, Fraction(1))),
        ("float32 [0, 1]", Real(Fraction(0), Fraction(1), float32=True)),
        ("array 2 of array N of int 0..3", Array(Array(Int(0, 3), 5), 2)),
    ],
)
def test_reads_kinds(text: str, kind: object) -> None:
    assert parse_variable_type(text, {"N": Const(5)}) == kind
