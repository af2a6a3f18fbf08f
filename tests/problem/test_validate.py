# ruff: noqa: E501 - one defect with its message on each line
"""Every defect of a problem is named, with its place; sound problems pass."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Law,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.flow import Flow
from surefoot.problem.network import dense_network
from surefoot.problem.policy import (
    Branch,
    Choose,
    EdgesOf,
    NeuralPolicy,
    OraclePolicy,
    Policy,
    ProgramPolicy,
    ShieldedPolicy,
)
from surefoot.problem.problem import Problem
from surefoot.problem.property import Bound, Never, Path, Probability
from surefoot.problem.property_parser import parse_property
from surefoot.problem.validate import validate_problem
from surefoot.term.parser import parse_term
from surefoot.term.term import TRUE, Apply, Const, Op, Var
from surefoot.term.types import TYPE_RULES
from surefoot.term.value_types import Array, Bool, Int, Real

t = parse_term
NETWORK = dense_network([(np.ones((2, 2)), np.zeros(2))])
VARIABLES = (
    Variable("x", Int(0, 9)),
    Variable("speed", Real()),
    Variable("on", Bool()),
    Variable("a", Array(Int(0, 3), 4)),
)
STEP = Outcome(
    updates=(Update(t("x"), t("min(9, x + 1)")), Update(t("a[x % 4]"), t("2"))),
    rewards=(("cost", t("speed")),),
)
GO = Edge(
    "here", "go", t("on and x < 9"), (Choice("w", Real(Fraction(0), Fraction(1))),), t("w <= speed"), (STEP,)
)
STAY = Edge("here", "stay")
ENVIRONMENT = Environment("toy", VARIABLES, t("x = 0 and a[0] = 1"), (Component("main", (GO, STAY)),))
POLICY = NeuralPolicy(NETWORK, (t("x"), t("on")), ("go", "stay"))
PROBLEM = Problem(
    "toy", ENVIRONMENT, POLICY, Never(t("x > 5 and chosen(go) and output[1] < 2 and at(main, here)"))
)
CONTROLLED = replace(ENVIRONMENT, controls=(Control("force"), Control("brake", Fraction(0), Fraction(1))))
VALUES = NeuralPolicy(NETWORK, (t("x"), t("speed")), (), Choose.VALUE)
SOFTMAX = replace(NETWORK, head="softmax", scores="logits")
ARGMAX = replace(NETWORK, head="argmax", scores="a b")
NOT_READ = "which is not read as part of it; fix: ask about its scores with --output"


def edge(**changes: object) -> Problem:
    component = Component("main", (replace(GO, **changes), STAY))
    return replace(PROBLEM, environment=replace(ENVIRONMENT, components=(component,)))


def outcome(**changes: object) -> Problem:
    return edge(outcomes=(replace(STEP, **changes),))


def choosing(name: str, action: str, high: int) -> Component:
    return Component(name, (Edge(action=action, chosen=(Choice("c", Int(0, high)),)),))


TOGETHER = (choosing("left", "go", 1), choosing("right", "go", 2))


def world(**changes: object) -> Problem:
    return replace(PROBLEM, environment=replace(ENVIRONMENT, **changes))


def policy(value: Policy | None, environment: Environment = ENVIRONMENT) -> Problem:
    return Problem("toy", environment, value, Never(t("x > 5")))


def asked(text: str) -> Problem:
    return replace(PROBLEM, property=parse_property(text))


@pytest.mark.parametrize(
    "problem",
    [
        PROBLEM,
        policy(
            None,
            replace(
                ENVIRONMENT,
                components=(choosing("left", "go", 1), choosing("right", "stay", 2)),
                synchronisations=(Synchronisation(("go", None)), Synchronisation((None, "stay"))),
            ),
        ),
        policy(VALUES, CONTROLLED),
        policy(ProgramPolicy((Branch(t("x > 3"), "go"), Branch(TRUE, POLICY)), ("go",))),
        policy(ProgramPolicy((Branch(TRUE, (t("x"), t("speed"))),)), CONTROLLED),
        policy(ShieldedPolicy(POLICY, t("x < 3 or chosen(stay)"), ProgramPolicy((Branch(TRUE, "stay"),)))),
        policy(ShieldedPolicy(VALUES, t("force < 1"), VALUES), CONTROLLED),
        policy(ShieldedPolicy(replace(POLICY, choose=Choose.SAMPLE), t("x < 3"), POLICY)),
        policy(ShieldedPolicy(POLICY, t("chosen(go)"), replace(POLICY, choose=Choose.SAMPLE))),
        policy(NeuralPolicy(NETWORK, (t("x"), t("speed")), EdgesOf("main", (1, 0)))),
        policy(OraclePolicy("dice", lambda _: "go", ("go",))),
        *(policy(replace(POLICY, network=SOFTMAX, choose=c)) for c in Choose if c is not Choose.VALUE),
        policy(replace(POLICY, network=ARGMAX)),
        policy(replace(POLICY, network=ARGMAX, choose=Choose.ARGMAX_APPLICABLE)),
        asked("P<=0.5 [ on U{cost}<=3 x = 9 ] over avg of at(main, here)"),
        asked("Emax=? [ cost until x = 9 ]"),
        asked("never stalled or deadlocked for 3 steps"),
        replace(asked("Pmin=? [ F deadlocked ]"), policy=None),
        world(flow=Flow((("speed", t("-speed")),), Fraction(1, 100))),
        edge(chosen=(Choice("w", Int(1, 6), Law("integer", (Fraction(1), Fraction(6)))),)),
        outcome(updates=(Update(t("x"), t("1")), Update(t("x"), t("2"), 1), Update(t("a[0]"), t("1")), Update(t("a[1]"), t("1")))),
        world(initial=t("a = [0, 1, 2, 3] and ite(on, x, speed) < 2^x")),
    ],
)  # fmt: skip
def test_accepts(problem: Problem) -> None:
    validate_problem(problem)


G = "environment.components[0].edges[0]"
DEFECTS = [
    # declarations
    (world(variables=(*VARIABLES, Variable("x", Bool()))), "environment.variables[4]: variable `x` is declared twice; fix: rename one of them"),
    (world(controls=(Control("f"), Control("f"))), "environment.controls[1]: control `f` is declared twice; fix: rename one of them"),
    (world(controls=(Control("x"),)), "environment.controls[0]: the name `x` is declared twice; fix: rename one of them"),
    (world(variables=(Variable("stalled", Bool()),)), "environment.variables[0]: `stalled` is a reserved name; fix: rename it"),
    (world(variables=(Variable("output[0]", Bool()),)), "environment.variables[0]: `output[0]` is a reserved name; fix: rename it"),
    (world(variables=(Variable("", Bool()),)), "environment.variables[0]: a name is empty; fix: give it a name"),
    (world(variables=(Variable("x", Int(3, 2)),)), "environment.variables[0]: the lower limit 3 of `x` is above its upper limit 2; fix: swap them"),
    (world(variables=(Variable("x", Array(Real(Fraction(1), Fraction(1, 3)), 2)),)), "environment.variables[0]: the lower limit 1 of `x` is above its upper limit 1/3; fix: swap them"),
    (world(variables=(Variable("x", Array(Bool(), 0)),)), "environment.variables[0]: array `x` has length 0; fix: use at least 1"),
    (world(controls=(Control("f", Fraction(1), Fraction(0)),)), "environment.controls[0]: the lower limit 1 of `f` is above its upper limit 0; fix: swap them"),
    (world(components=()), "environment: there is no component; fix: add one with at least one edge"),
    # names and kinds
    (world(initial=t("sped > 0")), "environment.initial: `sped` is not declared; fix: did you mean `speed`?"),
    (world(initial=t("x")), "environment.initial: `x` is an integer, but a truth value is needed; fix: compare it with something: `x > 0`"),
    (world(initial=t("stalled")), "environment.initial: `stalled` cannot be used here; fix: it may be used in properties only"),
    (edge(guard=t("w > 0")), f"{G}.guard: `w` is not declared; fix: known names: `x`, `speed`, `on`, `a`"),
    (edge(guard=t("on + 1 > 0")), f"{G}.guard: `on` is a truth value, but `+` needs numbers in `on + 1`; fix: turn it into a number: `ite(on, 1, 0)`"),
    (edge(guard=t("x and on")), f"{G}.guard: `x` is an integer, but `and` needs truth values in `x and on`; fix: compare it with something: `x > 0`"),
    (edge(guard=t("on = 1")), f"{G}.guard: `1` is an integer and `on` is a truth value in `on = 1`"),
    (edge(guard=t("speed % 2 = 0")), f"{G}.guard: `speed` is a real number, but `%` needs integers in `speed % 2`; fix: round it with floor, ceil or trc"),
    (edge(guard=t("ite(x, on, on)")), f"{G}.guard: the condition `x` of `ite` is an integer, not a truth value; fix: compare it with something: `x > 0`"),
    (edge(guard=t("x[0] = 1")), f"{G}.guard: `x` is an integer, not an array, in `x[0]`"),
    (edge(guard=t("a[speed] = 1")), f"{G}.guard: the index `speed` is a real number, not an integer"),
    (edge(guard=t("a[4] = 1")), f"{G}.guard: index 4 is outside `a`; fix: it goes from 0 to 3"),
    (edge(guard=t("a = [1, 2]")), f"{G}.guard: `[1, 2]` is an array of 2 (an integer each) and `a` is an array of 4 (an integer each) in `a = [1, 2]`"),
    (edge(guard=t("[] = a")), f"{G}.guard: an array without elements has no kind; fix: write at least one element"),
    (edge(guard=Apply(Op.LT, (Var("x"),))), f"{G}.guard: `<` has 1 arguments in `<(x)`"),
    (edge(assuming=t("v > 0")), f"{G}.assuming: `v` is not declared; fix: known names: `x`, `speed`, `on`, `a`, `w`"),
    # edges
    (edge(source="there"), f"{G}.source: component `main` has no location `there`; fix: did you mean `here`?"),
    (edge(outcomes=()), f"{G}: an edge has no outcome; fix: add one, or drop the edge"),
    (edge(chosen=(Choice("x", Bool()),)), f"{G}.chosen[0]: chosen value `x` has the name of a variable or control; fix: rename it"),
    (edge(chosen=(Choice("v", Bool()), Choice("v", Bool())), assuming=TRUE), f"{G}.chosen[1]: chosen value `v` is declared twice; fix: rename one of them"),
    (edge(chosen=(Choice("w", Real(), Law("unifrm", ())),)), f"{G}.chosen[0]: unknown law `unifrm`; fix: did you mean `uniform`?"),
    (edge(chosen=(Choice("w", Real(), Law("normal", (Fraction(0),))),)), f"{G}.chosen[0]: law `normal` takes 2 numbers, not 1"),
    (edge(chosen=(Choice("w", Real(), Law("normal", (Fraction(0), Fraction(-1)))),)), f"{G}.chosen[0]: the deviation of `w` is negative"),
    (edge(chosen=(Choice("w", Int(), Law("uniform", (Fraction(0), Fraction(1)))),)), f"{G}.chosen[0]: law `uniform` does not fit the kind of `w`"),
    (outcome(target="there"), f"{G}.outcomes[0].target: component `main` has no location `there`; fix: did you mean `here`?"),
    (outcome(probability=Const(Fraction(-1, 2))), f"{G}.outcomes[0].probability: probability -0.5 is not between 0 and 1"),
    (outcome(probability=Const(2)), f"{G}.outcomes[0].probability: probability 2 is not between 0 and 1"),
    (outcome(probability=t("0.9999999")), f"{G}: the probabilities 0.9999999 add up to 0.9999999; fix: they have to add up to exactly 1"),
    (outcome(updates=(Update(t("x"), t("1")), Update(t("x"), t("2")))), f"{G}.outcomes[0].updates[1].target: `x` is assigned twice at once; fix: keep one of them"),
    (outcome(updates=(Update(t("a[1]"), t("1")), Update(t("a"), t("a")))), f"{G}.outcomes[0].updates[1].target: `a` is assigned twice at once; fix: keep one of them"),
    (outcome(updates=(Update(t("x + 1"), t("1")),)), f"{G}.outcomes[0].updates[0].target: `x + 1` cannot be assigned; fix: assign a variable or an element of an array"),
    (outcome(updates=(Update(t("w"), t("1")),)), f"{G}.outcomes[0].updates[0].target: `w` is not a variable, so it cannot be assigned; fix: assign a declared variable"),
    (outcome(updates=(Update(t("x"), t("1/2")),)), f"{G}.outcomes[0].updates[0].value: `0.5` is a real number, but an integer is needed; fix: round it with floor, ceil or trc"),
    (outcome(updates=(Update(t("on"), t("1")),)), f"{G}.outcomes[0].updates[0].value: `1` is an integer, but a truth value is needed; fix: write `true` or `false`"),
    (outcome(rewards=(("cost", t("on")),)), f"{G}.outcomes[0].rewards[0]: `on` is a truth value, but a real number is needed; fix: turn it into a number: `ite(on, 1, 0)`"),
    # components
    (world(components=(Component("main", (GO,)), Component("main", ()))), "environment.components[1]: component `main` is declared twice; fix: rename one of them"),
    (world(components=(Component("main", (), ("p", "p"), ("p",)),)), "environment.components[0].locations[1]: location `p` is declared twice; fix: rename one of them"),
    (world(components=(Component("main", (), ("p",), ()),)), "environment.components[0].initial: component `main` has no initial location"),
    (world(components=(Component("main", (), ("p",), ("q",)),)), "environment.components[0].initial[0]: component `main` has no location `q`; fix: known names: `p`"),
    (world(synchronisations=(Synchronisation(("go", "go")),)), "environment.synchronisations[0]: the vector names 2 actions, but there are 1 components; fix: name one action, or none, for each component"),
    (world(synchronisations=(Synchronisation((None,)),)), "environment.synchronisations[0]: no component takes part; fix: name at least one action"),
    (world(components=TOGETHER, synchronisations=(Synchronisation(("go", "go")),)), "environment.synchronisations[0]: components `left` and `right` choose `c` together, but of different kinds; fix: give it one kind, or two names"),
    (world(synchronisations=(Synchronisation(("goo",)),)), "environment.synchronisations[0].actions[0]: component `main` has no action `goo`; fix: did you mean `go`?"),
    (world(flow=Flow((("sped", t("1")),), Fraction(1))), "environment.flow.derivatives[0]: `sped` is not declared; fix: did you mean `speed`?"),
    (world(flow=Flow((("x", t("1")),), Fraction(1))), "environment.flow.derivatives[0]: `x` has a derivative but is not a real variable"),
    (world(flow=Flow((), Fraction(0))), "environment.flow.step: the step 0 is not positive; fix: write how much time one step takes"),
    (world(flow=Flow((), Fraction(1), "eular")), "environment.flow: unknown method `eular` of steps; fix: did you mean `euler`?"),
    # policies
    (replace(asked("P=? [ F on ]"), policy=None), "policy: the property needs a policy, and there is none; fix: give one, or ask about the optimum with Pmin, Pmax, Emin or Emax"),
    (replace(asked("never on"), environment=CONTROLLED, policy=None), "policy: nobody sets the controls `force`, `brake`: there is no policy; fix: give a policy in [policy] or with --policy FILE; `surefoot shield` finds one"),
    (policy(replace(POLICY, observe=(t("x"),))), "policy: the network has 2 inputs (0, 1) for 1 observed terms (x); fix: list exactly one for each of the 2 inputs"),
    (policy(replace(POLICY, actions=("go",))), "policy: the network has 2 outputs (0, 1) for 1 actions (go); fix: list exactly one for each of the 2 outputs"),
    (policy(replace(POLICY, observe=(t("x"), t("a")))), "policy.observe[1]: `a` is an array of 4 (an integer each), but a real number is needed; fix: take an element of it: `a[0]`"),
    (policy(replace(POLICY, observe=(t("x"), t("y")))), "policy.observe[1]: `y` is not declared; fix: known names: `x`, `speed`, `on`, `a`"),
    (policy(replace(POLICY, actions=("go", "sty"))), "policy.actions[1]: the environment has no action `sty`; fix: did you mean `stay`?"),
    (policy(replace(POLICY, actions=("go", "go"))), "policy.actions[1]: action `go` is listed twice; fix: list it once"),
    (policy(replace(POLICY, actions=EdgesOf("man"))), "policy.actions: there is no component `man`; fix: did you mean `main`?"),
    (policy(replace(POLICY, actions=EdgesOf("main", (0, 2)))), "policy.actions.order[1]: component `main` has no edge 2; fix: its edges are numbered from 0 to 1"),
    (policy(replace(POLICY, actions=EdgesOf("main", (0, 0)))), "policy.actions.order: an edge is listed twice; fix: list each edge once"),
    (policy(VALUES), "policy.choose: `choose = \"value\"` needs an environment with controls; fix: declare controls, or choose among actions"),
    (policy(POLICY, CONTROLLED), "policy.choose: the environment has controls, but the policy chooses by argmax; fix: use `choose = \"value\"`"),
    (policy(VALUES, replace(ENVIRONMENT, controls=(Control("force"),))), "policy: the network has 2 outputs (0, 1) for 1 controls (force); fix: list exactly one for each of the 2 outputs"),
    (policy(ProgramPolicy(())), "policy.branches: the program has no branch; fix: add one"),
    (policy(ProgramPolicy((Branch(TRUE, "gogo"),))), "policy.branches[0].then: the environment has no action `gogo`; fix: did you mean `go`?"),
    (policy(ProgramPolicy((Branch(TRUE, (t("x"),)),)), CONTROLLED), "policy.branches[0]: the branch sets 1 controls (x), but there are 2 (force, brake); fix: write one term for each control"),
    (policy(ProgramPolicy((Branch(t("x"), "go"),))), "policy.branches[0].when: `x` is an integer, but a truth value is needed; fix: compare it with something: `x > 0`"),
    (policy(ProgramPolicy((Branch(TRUE, "go"),)), CONTROLLED), "policy.branches[0].then: the branch picks action `go`, but the environment has controls; fix: write one term for each control"),
    (policy(ShieldedPolicy(POLICY, t("chosen(goo)"), POLICY)), "policy.permits: `goo` is not an action of the policy; fix: did you mean `go`?"),
    # networks whose last softmax or argmax was left out
    (policy(replace(VALUES, network=SOFTMAX), CONTROLLED), f"policy.choose: the network ends in a softmax, {NOT_READ} logits"),
    (policy(replace(VALUES, network=ARGMAX), CONTROLLED), f"policy.choose: the network ends in an argmax, {NOT_READ} 'a b'"),
    (policy(ShieldedPolicy(replace(POLICY, choose=Choose.SAMPLE), t("chosen(go)"), POLICY)), "policy.permits: a shield that looks at the proposed action needs a policy that proposes one, and this draws; fix: choose by argmax, or permit by what is known of the state alone"),
    (policy(ShieldedPolicy(ProgramPolicy((Branch(TRUE, replace(POLICY, choose=Choose.SAMPLE)),)), t("not chosen(go)"), POLICY)), "policy.permits: a shield that looks at the proposed action needs a policy that proposes one, and this draws; fix: choose by argmax, or permit by what is known of the state alone"),
    (policy(ShieldedPolicy(VALUES, TRUE, replace(VALUES, network=SOFTMAX)), CONTROLLED), f"policy.fallback.choose: the network ends in a softmax, {NOT_READ} logits"),
    (policy(replace(VALUES, network=replace(SOFTMAX, scores="")), CONTROLLED), "policy.choose: the network ends in a softmax, which is not read as part of it; fix: export it without the softmax"),
    (policy(replace(VALUES, network=replace(SOFTMAX, scores="l" * 201)), CONTROLLED), f"policy.choose: the network ends in a softmax, {NOT_READ} NAME"),
    (policy(replace(POLICY, network=ARGMAX, choose=Choose.SAMPLE)), "policy.choose: the network ends in an argmax, so what it does is not to sample; fix: use `choose = argmax`, or ask about its scores with --output 'a b'"),
    (replace(PROBLEM, policy=replace(POLICY, network=SOFTMAX)), f"property.bad: the network ends in a softmax, {NOT_READ} logits"),
    (replace(PROBLEM, policy=ShieldedPolicy(replace(POLICY, network=ARGMAX), TRUE, POLICY)), f"property.bad: the network ends in an argmax, {NOT_READ} 'a b'"),
    (replace(asked("E=? [ (output[0]) until on ]"), policy=replace(POLICY, network=SOFTMAX)), f"property.reward: the network ends in a softmax, {NOT_READ} logits"),
    # properties
    (asked("never output[2] > 0"), "property.bad: `output[2]`: the policy has 2 outputs; fix: they are numbered from 0 to 1"),
    (asked("never chosen(goo)"), "property.bad: `goo` is not an action of the policy; fix: did you mean `go`?"),
    (asked("never at(mane, here)"), "property.bad: there is no component `mane`; fix: did you mean `main`?"),
    (asked("never at(main, her)"), "property.bad: component `main` has no location `her`; fix: did you mean `here`?"),
    (asked("never x"), "property.bad: `x` is an integer, but a truth value is needed; fix: compare it with something: `x > 0`"),
    (asked("never on for -1 steps"), "property.steps: -1 steps: a number of steps is not negative"),
    (asked("never on before stalled"), "property.goal: `stalled` is about what the policy does, and this is about states; fix: use variables and `at(component, location)`"),
    (asked("never on before output[0] > 1"), "property.goal: `output[0]` is about what the policy does, and this is about states; fix: use variables and `at(component, location)`"),
    (asked("never on before chosen(go)"), "property.goal: `chosen(go)` is about what the policy does, and this is about states; fix: use variables and `at(component, location)`"),
    (asked("never on before on for -1 steps"), "property.steps: -1 steps: a number of steps is not negative"),
    (asked("within -1 on"), "property.steps: -1 steps: a number of steps is not negative"),
    (asked("within 3 on after 4"), "property.after: the property looks at states from number 4 to number 3: there are none; fix: `after` is at most the number of steps"),
    (asked("P<=1.5 [ F on ]"), "property.threshold: 1.5 is not a probability; fix: use a number from 0 to 1"),
    (asked("P=? [ F<=0.5 on ]"), "property.path.bounds[0]: `0.5` is not a number of steps; fix: use a whole number from 0 on"),
    (asked("P=? [ F[3, 2] on ]"), "property.path.bounds[0]: the lower limit 3 is above the upper limit 2; fix: swap them"),
    (asked("P=? [ F{cots}<=2 on ]"), "property.path.bounds[0]: there is no reward `cots`; fix: did you mean `cost`?"),
    (asked("P=? [ x U on ]"), "property.path.left: `x` is an integer, but a truth value is needed; fix: compare it with something: `x > 0`"),
    (asked("P=? [ F on ] over max of stalled"), "property.starts: `stalled` is about what the policy does, and this is about states; fix: use variables and `at(component, location)`"),
    (replace(PROBLEM, property=Probability(Path("F", TRUE, bounds=(Bound(),)))), "property.path.bounds[0]: a bound without a limit; fix: drop it"),
    (asked("P=? [ F on ] over count"), "property.over: `over count` counts the starts for which something is so, but this is a number; fix: compare it: P>=0.9 [ … ] over count"),
    (asked("P>0 [ F on ] over argmin"), "property.over: `over argmin` names starts, which cannot be compared with a number; fix: ask with =?"),
    (asked("E=? [ cots until on ]"), "property.reward: there is no reward `cots`; fix: did you mean `cost`?"),
    (asked("E=? [ (on) until on ]"), "property.reward: `on` is a truth value, but a real number is needed; fix: turn it into a number: `ite(on, 1, 0)`"),
    (replace(asked("Pmin=? [ F stalled ]"), policy=None), "property.path.right: `stalled` cannot be used here; fix: it needs a policy"),
    (replace(asked("Pmin=? [ F output[0] > 1 ]"), policy=None), "property.path.right: `output[0]`: the policy has 0 outputs; fix: only a network policy has outputs"),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "message"), DEFECTS, ids=[m.split(";")[0] for _, m in DEFECTS])
def test_names_the_defect(problem: Problem, message: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        validate_problem(problem)
    assert str(caught.value) == message


def test_every_operator_has_a_kind() -> None:
    assert set(TYPE_RULES) == set(Op)


def test_shared_and_deep_terms_are_checked_quickly() -> None:
    shared = t("speed + 1")
    for _ in range(3000):  # as a tree it would have 2^3000 leaves
        shared = shared * shared
    validate_problem(edge(guard=shared < 1))
    with pytest.raises(InvalidProblem, match="is a real number, but `and` needs truth values"):
        validate_problem(edge(guard=Apply(Op.AND, (shared, TRUE))))
