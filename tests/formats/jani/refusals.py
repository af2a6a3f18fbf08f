# ruff: noqa: E501 - one feature with its model on each line
"""Features of JANI that are refused: name, model, and the error without the name of the file."""

from tests.formats.jani.build import X, asks, assign, automaton, edge, goes, model, op, unary, variable

TRANSIENT = variable("cost", "real", 0, transient=True)
F3 = unary("F", op("=", "x", 3))
Q = ":/properties/0/expression"
PAYS = edge(goes("b", assign("cost", 1)), source="a", action="go")
ROW = variable("row", {"kind": "array", "base": "int"}, {"op": "av", "elements": [1, 2]})
ELEMENT = {"op": "aa", "exp": "row", "index": 0}
BOUND = {"exp": "x", "accumulate": ["exit"], "bounds": {"lower": 1, "lower-exclusive": True}}
REACH = {"reach": op("=", "x", 3)}


def value_of(expression):  # type: ignore[no-untyped-def]
    return model(automaton("main", edge(goes("here", assign("x", expression)))))


def earning(exp, way, *edges, syncs=((("go", "go"), None),)):  # type: ignore[no-untyped-def]
    """A reward of one automaton alone, or of two that move together."""
    asked = asks({"op": "Emin", "exp": exp, "accumulate": [way], **REACH})["properties"]
    rewards = [X, TRANSIENT, variable("toll", "real", 0, transient=True), ROW]
    if len(edges) == 1:
        return model(automaton("main", *edges), variables=rewards, properties=asked)
    pair = [
        automaton(name, e, locations=("a", "b")) for name, e in zip(("left", "right"), edges, strict=True)
    ]
    return model(*pair, actions=("go",), syncs=syncs, variables=rewards, properties=asked)


V = ":/automata/0/edges/0/destinations/0/assignments/0/value"

REFUSALS = (
    ("continuous time, clocks, hybrid models", model(type="pta"), ":/type: models of type `pta` are not supported; fix: read are lts, dtmc, mdp"),
    ("features of other tools", model(features=["x-future"]), ":/features/0: feature `x-future` is not supported; fix: write the model without it"),
    ("plugins", model(plugins=[]), ":/plugins: `plugins` (code outside the model) is not supported; fix: write it as automata"),
    ("`clock`, `continuous`, data types, options", model(variables=[variable("x", "clock", 0)]), ":/variables/0/type: type `clock` is not supported; fix: clocks need a timed model"),
    ("arrays with rows of different lengths", value_of({"op": "av", "elements": [{"op": "av", "elements": [1]}, {"op": "av", "elements": [1, 2]}]}), f"{V}: an array whose rows have different lengths is not supported; fix: fill the rows up"),
    ("sampling", value_of({"distribution": "Normal", "args": [0, 1]}), f"{V}: `distribution` (sampling from a distribution) is not supported; fix: only discrete models are read"),
    ("`nondet`", value_of({"op": "nondet", "var": "y", "exp": True}), f"{V}: operator `nondet` is not supported; fix: known names: `∨`, `∧`, `⇒`, `=`, `<`, `≤`, `+`, `-`, `*`, `%`, `/`, `pow`, …"),
    ("recursive functions", value_of({"op": "call", "function": "f", "args": []}) | {"functions": [{"name": "f", "type": "int", "parameters": [], "body": {"op": "call", "function": "f", "args": []}}]}, ":/functions/0/body: function `f` calls itself; fix: recursive functions are not supported"),
    ("`rate`", model(automaton("main", edge(goes(), rate={"exp": 1}))), ":/automata/0/edges/0/rate: `rate` needs a model in continuous time; fix: only discrete models are read"),
    ("`time-progress`", model(automaton("main", locations=({"name": "here", "time-progress": {"exp": op("≤", "x", 1)}},))), ":/automata/0/locations/0/time-progress: `time-progress` needs a timed model; fix: only discrete models are read"),
    ("initial states restricted by values that locations give", model(automaton("main", locations=("a", {"name": "b", "transient-values": [assign("cost", 1)]})), variables=[X, TRANSIENT], **{"restrict-initial": {"exp": op("=", "cost", 0)}}), ":/restrict-initial/exp: a restriction of the initial states that depends on values of locations"),
    ("transient values that depend on transient variables", model(automaton("main", locations=({"name": "here", "transient-values": [assign("cost", op("+", "cost", 1))]},)), variables=[X, TRANSIENT]), ":/automata/0/locations/0/transient-values/0/value/left: a transient value that depends on a transient variable is not supported"),
    ("transient values from the locations of two automata", model(automaton("main", locations=({"name": "here", "transient-values": [assign("cost", 1)]},)), automaton("other", locations=({"name": "here", "transient-values": [assign("cost", 1)]},)), variables=[X, TRANSIENT]), ":/automata/1/locations/0: `cost` gets values in the locations of both `main` and `other`; fix: let one automaton set it"),
    ("transient variables read after what they depend on has changed", model(automaton("main", edge(goes("here", assign("cost", "x"), assign("x", 3), assign("y", "cost", 1)))), variables=[X, TRANSIENT, variable("y", "real", 0)]), ":/automata/0/edges/0/destinations/0/assignments/2/value: `cost` is read after `x`, on which it depends, has changed"),
    ("transient variables that another automaton assigns in the same step", model(automaton("left", PAYS, locations=("a", "b")), automaton("right", edge(goes("b", assign("y", "cost", 1)), source="a", action="go"), locations=("a", "b")), actions=("go",), syncs=[(("go", "go"), None)], variables=[X, TRANSIENT, variable("y", "real", 0)]), ":/automata/1/edges/0/destinations/0/assignments/0/value: `cost` is transient and assigned by another automaton in the same step"),
    ("rewards of steps over variables that are not transient", asks({"op": "Emin", "exp": "x", "accumulate": ["steps"], **REACH}), f"{Q}/values/exp: a reward of steps that depends on `x`, which is not transient; fix: tools disagree on whether it is read before or after the step; use `exit`"),
    ("a reward that two automata set in one step", asks({"op": "Emin", "exp": "cost", "accumulate": ["steps"], **REACH}) | model(automaton("left", PAYS, locations=("a", "b")), automaton("right", PAYS, locations=("a", "b")), actions=("go",), syncs=[(("go", "go"), None)], variables=[X, TRANSIENT], properties=asks({"op": "Emin", "exp": "cost", "accumulate": ["steps"], **REACH})["properties"]), f"{Q}/values/exp: two automata set this reward in one step; fix: let one of them set it"),
    ("a reward that is set after an element of an array, or another automaton, has changed what it depends on", earning("cost", "steps", edge(goes("here", assign(ELEMENT, 3), assign("cost", ELEMENT, 1)))), ":/automata/0/edges/0/destinations/0: a reward that is set after the variables it depends on have changed; fix: assign it with the lowest index"),
    ("a reward of two automata that is not a sum", earning(op("*", "cost", "toll"), "steps", PAYS, edge(goes("b", assign("toll", 1)), source="a", action="go")), f"{Q}/values/exp: two automata set parts of this reward, which is not a sum; fix: use a sum"),
    ("values at an instant that are not accumulated", asks({"op": "Emin", "exp": "x", **REACH}), f'{Q}/values: an expected value that is not accumulated is not supported; fix: add "accumulate": ["steps"] or ["exit"]'),
    ("rewards for ever", asks({"op": "Emin", "exp": 1, "accumulate": ["steps"]}), f"{Q}/values: a reward that is accumulated for ever is not supported; fix: add `reach`"),
    ("`time-instant`, `reward-instants`", asks({"op": "Emin", "exp": 1, "accumulate": ["steps"], "time-instant": 3}), f"{Q}/values/time-instant: `time-instant` is not supported; fix: use `reach` or `step-instant`"),
    ("`time-bounds`", asks({"op": "Pmax", "exp": {**F3, "time-bounds": {"upper": 3}}}), f"{Q}/values/exp/time-bounds: `time-bounds` need a timed model; fix: use `step-bounds`"),
    ("a lower end of `reward-bounds` that is excluded, where the reward depends on the state", asks({"op": "Pmax", "exp": {**F3, "reward-bounds": [BOUND]}}), f"{Q}/values/exp/reward-bounds/0/bounds: a lower bound that is excluded, on a reward that depends on the state, is not supported; fix: include it"),
    ("nested `P`", asks({"op": "Pmax", "exp": unary("F", op("≥", {"op": "Pmin", "exp": F3}, 1))}), f"{Q}/values/exp/exp/left: `Pmin` inside an expression is not supported; fix: ask about one path formula"),
    ("nested path formulas", asks({"op": "Pmax", "exp": unary("G", F3)}), f"{Q}/values/exp/exp: `F` inside an expression is not supported; fix: ask about one path formula"),
    ("steady state", asks({"op": "Smin", "exp": op("=", "x", 3)}), f"{Q}/values: `Smin` (a steady-state probability) is not supported; fix: ask for Pmin, Pmax, Emin, Emax, ∀ or ∃"),
    ("filters over other states", model(properties=[{"name": "question", "expression": {"op": "filter", "fun": "max", "values": {"op": "Pmax", "exp": F3}, "states": op("=", "x", 1)}}]), f'{Q}/states: a filter over other states than the initial ones; fix: use {{"op": "initial"}}'),
    ("`∀ U`, `∃ G`, `∃ W`, `∃ R`", asks(unary("∃", unary("G", op("<", "x", 3))), fun="∀"), f"{Q}/values: ∃ G is not supported; fix: ask ∀ F of the opposite"),
    ("several measures in one property", asks(op("≤", {"op": "Pmin", "exp": F3}, {"op": "Pmax", "exp": F3}), fun="∀"), f"{Q}/values: a comparison of two probabilities or rewards is not supported; fix: ask one by one"),
)  # fmt: skip
