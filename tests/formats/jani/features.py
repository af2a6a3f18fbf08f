# ruff: noqa: E501 - one feature with its model on each line
"""What of JANI is read, and what it becomes: the table of `docs/reference/jani.md` and its tests in one.

Run `python -m tests.formats.jani.features` to write the table into the page.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.formats.jani.build import (
    COUNT,
    X,
    asks,
    assign,
    automaton,
    bounded,
    edge,
    goes,
    model,
    op,
    unary,
    variable,
)

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "jani.md"
START, END = "<!-- features: written by tests/formats/jani/features.py -->", "<!-- end of features -->"


@dataclass(frozen=True)
class Feature:
    """`states`: how many are reachable; `ends`: values of `x` there; `asks`: the property as text."""

    group: str
    name: str
    content: dict[str, Any]
    states: int | None = None
    ends: tuple[Any, ...] | None = None
    asks: str | None = None
    rewards: tuple[str, ...] | None = None  # what outcomes earn, as text
    constants: dict[str, str] = field(default_factory=dict)
    note: str = ""  # for the reader of the table


def stepping(value: Any, **more: Any) -> dict[str, Any]:
    """One step sets `x` (any integer) to the value."""
    variables = [variable("x", "int", 0), variable("done", "bool", False), *more.pop("variables", ())]
    step = edge(goes("here", assign("x", value), assign("done", True)), guard=unary("¬", "done"))
    return model(automaton("main", step), variables=variables, **more)


F3 = unary("F", op("=", "x", 3))
TRANSIENT = variable("cost", "real", 0, transient=True)
PAYING = automaton(
    "main", edge(goes("here", assign("x", op("+", "x", 1)), assign("cost", 2)), guard=op("<", "x", 5))
)
TWICE = automaton(
    "walker", edge(goes("there")), locations=("here", "there"), variables=[variable("n", "int", 7)]
)
LEFT = automaton("left", edge(goes("b"), source="a", action="go"), locations=("a", "b"))
RIGHT = automaton("right", edge(goes("b"), source="a", action="go"), locations=("a", "b"))
NEST = {"op": "aa", "exp": {"op": "aa", "exp": "m", "index": 1}, "index": 0}
MATRIX = {"op": "av", "elements": [{"op": "av", "elements": [1, 2]}, {"op": "av", "elements": [3, 4]}]}
SQUARES = {"op": "ac", "var": "i", "length": 3, "exp": op("*", "i", "i")}
DOUBLE = {
    "name": "double",
    "type": "int",
    "parameters": [{"name": "n", "type": "int"}],
    "body": op("*", 2, "n"),
}
STEPS = {"op": "Emax", "exp": 1, "accumulate": ["steps"], "reach": op("=", "x", 3)}


def expected(exp: Any, *ways: str, **more: Any) -> dict[str, Any]:
    return {"op": "Emin", "exp": exp, "accumulate": list(ways), "reach": op("=", "x", 3), **more}


FEATURES = (
    Feature("models", "`mdp`", model(), states=6),
    Feature("models", "`dtmc`", model(type="dtmc"), states=6),
    Feature("models", "`lts`", model(type="lts"), states=6),
    Feature("models", "`x-…` keys, `comment`, `metadata`", model(comment="c", **{"x-tool": 1}), states=6),
    Feature(
        "declarations",
        "constants, also from the command line (`--const N=3`)",
        model(
            constants=[{"name": "M", "type": "int", "value": op("*", 2, "N")}, {"name": "N", "type": "int"}],
            variables=[variable("x", bounded(0, "M"), "N")],
        ),
        ends=(5,),
        constants={"N": "3"},
        states=3,
    ),
    Feature("declarations", "`bool`, bounded and unbounded `int`", stepping(7), ends=(7,)),
    Feature(
        "declarations",
        "`real`, exact: `0.1` is one tenth",
        model(
            automaton(
                "main", edge(goes("here", assign("x", op("+", "x", 0.1))), guard=op("<", "x", 0.3))
            ),
            variables=[variable("x", "real", 0)],
        ),
        states=4,
    ),
    Feature(
        "declarations",
        "arrays, also nested; `av`, `ac`, `aa`",
        stepping(
            op("+", NEST, {"op": "aa", "exp": "s", "index": 2}),
            variables=[
                variable("m", {"kind": "array", "base": {"kind": "array", "base": "int"}}, MATRIX),
                variable("s", {"kind": "array", "base": "int"}, SQUARES),
            ],
        ),
        ends=(7,),
        note="the length is that of the initial value",
    ),
    Feature(
        "declarations",
        "functions of the model and of automata",
        stepping({"op": "call", "function": "double", "args": [4]}, functions=[DOUBLE]),
        ends=(8,),
    ),
    Feature("expressions", "`∨ ∧ ¬ ⇒ = ≠ < ≤ > ≥`", asks(unary("∀", unary("G", op("⇒", op("≥", "x", 2), op("≠", "x", 1)))), fun="∀"), asks="always x >= 2 => x != 1"),
    Feature("expressions", "`+ - * / % pow min max abs sgn floor ceil trc`", stepping(unary("floor", op("/", op("pow", 7, 2), op("%", 11, 4)))), ends=(16,)),
    Feature("expressions", "`ite`", stepping({"op": "ite", "if": op("<", "x", 1), "then": 4, "else": 5}), ends=(4,)),
    Feature("expressions", "`sin cos tan asin acos atan tanh`, `π`, `e`", stepping(unary("floor", op("*", 100, unary("sin", op("/", {"constant": "π"}, 4))))), ends=(70,), note="each rounded to the nearest double"),
    Feature("expressions", "`log`", stepping(op("log", 8, 2)), ends=(3,), note="of constants; to base `e` of anything"),
    Feature("edges", "guards, destinations with probabilities", model(automaton("main", edge(goes("here", assign("x", 1), probability=0.1), goes("here", assign("x", 2), probability=0.9), guard=op("=", "x", 0)))), ends=(1, 2)),
    Feature("edges", "probabilities that depend on the state", model(automaton("main", edge(goes("here", assign("x", 1), probability=op("/", "x", 5)), goes("here", assign("x", 2), probability=op("-", 1, op("/", "x", 5))), guard=op("=", "x", 3))), variables=[variable("x", bounded(0, 5), 3)]), ends=(1, 2)),
    Feature("edges", "probability 0", model(automaton("main", edge(goes("here", assign("x", 1), probability=0), goes("here", assign("x", 2), probability=1), guard=op("=", "x", 0)))), ends=(2,), note="the destination is left out, with a note"),
    Feature("edges", "assignments at once", model(automaton("main", edge(goes("here", assign("x", "y"), assign("y", "x")))), variables=[X, variable("y", bounded(0, 5), 4)]), states=2),
    Feature("edges", "assignment `index`", stepping(op("+", "y", 1), variables=[variable("y", "int", 0)]) | {"automata": [automaton("main", edge(goes("here", assign("y", 3), assign("x", op("+", "y", 1), 1), assign("done", True)), guard=unary("¬", "done")))]}, ends=(4,)),
    Feature("edges", "assignments of an edge, for all its destinations", model(automaton("main", edge(goes("here", probability=0.5), goes("there", probability=0.5), assignments=[assign("x", 4)]), locations=("here", "there"))), ends=(4,)),
    Feature("edges", "assignments to elements of arrays", stepping({"op": "aa", "exp": "s", "index": 1}, variables=[variable("s", {"kind": "array", "base": "int"}, SQUARES)]) | {"automata": [automaton("main", edge(goes("here", assign({"op": "aa", "exp": "s", "index": 1}, 9), assign("x", {"op": "aa", "exp": "s", "index": 1}, 1), assign("done", True)), guard=unary("¬", "done")))]}, ends=(9,)),
    Feature("composition", "synchronisation vectors", model(LEFT, RIGHT, actions=("go", "both"), syncs=[(("go", "go"), "both")]), states=2),
    Feature("composition", "`null` in a vector", model(LEFT, RIGHT, actions=("go", "l", "r"), syncs=[(("go", None), "l"), ((None, "go"), "r")]), states=4),
    Feature("composition", "a vector without `result`: a silent step", model(LEFT, RIGHT, actions=("go",), syncs=[(("go", "go"), None)]), states=2),
    Feature("composition", "silent edges move alone", model(LEFT, automaton("main", COUNT), actions=("go",), syncs=[(("go", None), None)]), states=12),
    Feature("composition", "an automaton used twice: two components with variables of their own", model(TWICE, elements=[{"automaton": "walker"}, {"automaton": "walker"}]), states=4),
    Feature("composition", "`input-enable`", model(LEFT, automaton("right", locations=("a",)), actions=("go",), elements=[{"automaton": "left"}, {"automaton": "right", "input-enable": ["go"]}], syncs=[(("go", "go"), None)]), states=2),
    Feature("composition", "one automaton without `syncs`: edges with actions move alone", model(LEFT, actions=("go",)), states=2),
    Feature("starts", "several initial locations", model(automaton("main", locations=("a", "b", "c"), **{"initial-locations": ["a", "c"]})), states=2),
    Feature("starts", "variables without initial value: every value", model(automaton("main"), variables=[variable("x", bounded(0, 5))]), states=6),
    Feature("starts", "`restrict-initial`, of the model and of automata", model(automaton("main", **{"restrict-initial": {"exp": op("≠", "x", 1)}}), variables=[variable("x", bounded(0, 5))], **{"restrict-initial": {"exp": op("<", "x", 4)}}), states=3),
    Feature("transient variables", "in guards and properties: the initial value, or that of the location", model(automaton("main", edge(goes("b"), source="a", guard="open"), edge(goes("c"), source="b", guard="open"), locations=({"name": "a", "transient-values": [assign("open", True)]}, "b", "c")), variables=[X, variable("open", "bool", False, transient=True)]), states=2),
    Feature("transient variables", "read in the step that assigns them", stepping(0, variables=[variable("t", "int", 0, transient=True)]) | {"automata": [automaton("main", edge(goes("here", assign("t", 6), assign("x", op("+", "t", 1), 1), assign("done", True)), guard=unary("¬", "done")))]}, ends=(7,)),
    Feature("rewards", "`accumulate: [steps]` of a constant", asks(STEPS), asks="Emax=? [ steps until x = 3 ]", rewards=()),
    Feature("rewards", "`accumulate: [steps]` of transient variables: their values at the end of the step", asks(expected("cost", "steps")) | {"automata": [PAYING], "variables": [X, TRANSIENT]}, asks="Emin=? [ cost until x = 3 ]", rewards=("cost 2",)),
    Feature("rewards", "`accumulate: [exit]`: the value in the state that is left", asks(expected("x", "exit")), asks="Emin=? [ x until x = 3 ]", rewards=("x x",)),
    Feature("rewards", "both together", asks(expected("cost", "exit", "steps")) | {"automata": [PAYING], "variables": [X, variable("cost", "real", 1, transient=True)]}, asks="Emin=? [ `question reward` until x = 3 ]", rewards=("question reward 3",), note="here 1 for leaving the state and 2 for the step"),
    Feature("rewards", "once for each step of synchronised automata", asks(expected("x", "exit")) | model(LEFT, RIGHT, actions=("go",), syncs=[(("go", "go"), None)]) | {"properties": asks(expected("x", "exit"))["properties"]}, asks="Emin=? [ x until x = 3 ]", rewards=("x x",)),
    Feature("rewards", "sums to which several automata add in one step", model(automaton("left", edge(goes("b", assign("cost", 2)), source="a", action="go"), locations=("a", "b")), automaton("right", edge(goes("b", assign("toll", 3)), source="a", action="go"), locations=("a", "b")), actions=("go",), syncs=[(("go", "go"), None)], variables=[X, TRANSIENT, variable("toll", "real", 0, transient=True)], properties=asks(expected(op("+", "cost", "toll"), "steps"))["properties"]), asks="Emin=? [ `question reward` until x = 3 ]", rewards=("question reward 2", "question reward 3")),
    Feature("rewards", "set after the variables they depend on, in the same destination", model(automaton("main", edge(goes("here", assign("x", op("+", "x", 1)), assign("cost", op("*", 2, "x"), 1)), guard=op("<", "x", 3))), variables=[X, TRANSIENT], properties=asks(expected("cost", "steps"))["properties"]), asks="Emin=? [ cost until x = 3 ]", rewards=("cost 2 * (x + 1)",)),
    Feature("rewards", "of every step, where no automaton takes part in every synchronisation", model(LEFT, RIGHT, actions=("go",), syncs=[(("go", "go"), None), (("go", None), None), ((None, "go"), None)], properties=asks(expected("x", "exit"))["properties"]), asks="Emin=? [ x until x = 3 ]", rewards=("x x", "x x", "x x"), states=4),
    Feature("properties", "`Pmin`, `Pmax`", asks({"op": "Pmax", "exp": F3}), asks="Pmax=? [ F (x = 3) ]"),
    Feature("properties", "`F G U W R X`", asks({"op": "Pmin", "exp": op("W", op("<", "x", 3), op("=", "x", 5))}, fun="min"), asks="Pmin=? [ (x < 3) W (x = 5) ] over min"),
    Feature("properties", "`step-bounds`", asks({"op": "Pmax", "exp": {**F3, "step-bounds": {"lower": 2, "lower-exclusive": True, "upper": 7, "upper-exclusive": True}}}), asks="Pmax=? [ F[3, 6] (x = 3) ]"),
    Feature("properties", "`reward-bounds`", asks({"op": "Pmax", "exp": {**F3, "reward-bounds": [{"exp": "cost", "accumulate": ["steps"], "bounds": {"upper": 4}}]}}) | {"automata": [PAYING], "variables": [X, TRANSIENT]}, asks="Pmax=? [ F{cost}<=4 (x = 3) ]", rewards=("cost 2",)),
    Feature("properties", "`lower-exclusive` of rewards whose amounts are constants", asks({"op": "Pmax", "exp": {**F3, "reward-bounds": [{"exp": "cost", "accumulate": ["steps"], "bounds": {"lower": 1, "lower-exclusive": True}}]}}) | {"automata": [PAYING], "variables": [X, TRANSIENT]}, asks="Pmax=? [ F{cost}>=2 (x = 3) ]", rewards=("cost 2",)),
    Feature("properties", "comparison with a number", asks(op("≥", {"op": "Pmin", "exp": F3}, 0.5), fun="∀"), asks="Pmin>=0.5 [ F (x = 3) ]"),
    Feature("properties", "`count` of a comparison", asks(op("≥", {"op": "Pmin", "exp": F3}, 0.5), fun="count"), asks="Pmin>=0.5 [ F (x = 3) ] over count"),
    Feature("properties", "`Emin`, `Emax` with `reach`", asks(STEPS), asks="Emax=? [ steps until x = 3 ]"),
    Feature("properties", "`step-instant`", asks({"op": "Emax", "exp": 1, "accumulate": ["steps"], "step-instant": 4}), asks="Emax=? [ steps for 4 steps ]"),
    Feature("properties", "`∀ G`, `∀ F`", asks(unary("∀", unary("F", op("=", "x", 5))), fun="∀"), asks="eventually x = 5"),
    Feature("properties", "`∀ X`, `∀ W`, `∀ R`", asks(unary("∀", unary("X", op("=", "x", 1))), fun="∀"), asks="Pmin>=1 [ X (x = 1) ]", note="violated by a finite run already"),
    Feature("properties", "`∃ F`, `∃ U`, `∃ X`", asks(unary("∃", F3), fun="∀"), asks="Pmax>0 [ F (x = 3) ]", note="a finite run is enough"),
    Feature("properties", "a condition on the initial states", asks(op("<", "x", 3), fun="∀"), asks="always x < 3 at the start"),
    Feature("properties", "`deadlock`", asks(unary("∃", unary("F", {"op": "deadlock"})), fun="∃"), asks="Pmax>0 [ F deadlocked ] over max"),
    Feature("properties", "filters `min max sum avg values argmin argmax ∀ ∃` over `initial`", asks({"op": "Pmax", "exp": F3}, fun="argmax"), asks="Pmax=? [ F (x = 3) ] over argmax"),
    Feature("properties", "PlaJA's `PA` with `reach`", model(properties=[{"name": "question", "expression": {"op": "PA", "predicates": [], "reach": {"op": "state-condition", "exp": op("=", "x", 3)}}}]), asks="never x = 3"),
)  # fmt: skip


def table() -> str:
    """The rows of the page: what is read, then what is refused with its message."""
    from tests.formats.jani.refusals import REFUSALS

    lines = [START, "", "| | read | becomes |", "| --- | --- | --- |"]
    for feature in FEATURES:
        becomes = f"`{feature.asks}`" if feature.asks else ""
        told = "; ".join(part for part in (becomes, feature.note) if part)
        lines.append(f"| {feature.group} | {feature.name} | {told} |")
    lines += ["", "| refused | with the words |", "| --- | --- |"]
    for name, _, message in REFUSALS:
        what, _, fix = message.partition("; fix: ")
        lines.append(f"| {name} | {_cell(what)}{f' (fix: {_cell(fix)})' if fix else ''} |")
    return "\n".join([*lines, "", END])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def with_table(page: str) -> str:
    return re.sub(f"{re.escape(START)}.*{re.escape(END)}", lambda _: table(), page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
