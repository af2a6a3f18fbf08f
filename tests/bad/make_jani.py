# ruff: noqa: E501 - one file with its message on each line
"""Bad JANI files: what stands in them, and the message without the name of the file."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.formats.jani.build import X, asks, assign, automaton, edge, goes, model, op, unary, variable

F3 = unary("F", op("=", "x", 3))
E0 = ":/automata/0/edges/0"
D0 = f"{E0}/destinations/0"


@dataclass(frozen=True)
class Bad:
    name: str
    content: str | bytes | dict[str, Any]
    message: str
    constants: dict[str, str] = field(default_factory=dict)


def text(**changes: Any) -> str:
    return json.dumps(model(**changes))


def assigns(value: Any, ref: Any = "x") -> dict[str, Any]:
    return model(automaton("main", edge(goes("here", assign(ref, value)))))


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = op("-", value, 1)
    return value


def constants(*declared: dict[str, Any]) -> dict[str, Any]:
    return model(constants=list(declared))


def whole(name: str, value: Any = None) -> dict[str, Any]:
    return {"name": name, "type": "int", **({} if value is None else {"value": value})}


DOUBLING = [{"name": "f0", "type": "int", "parameters": [], "body": 1}]
for _n in range(40):
    _call = {"op": "call", "function": f"f{_n}", "args": []}
    DOUBLING.append({"name": f"f{_n + 1}", "type": "int", "parameters": [], "body": op("+", _call, _call)})

ALL = (
    Bad("empty", "", ": the file is empty; fix: check the path, or write the file again"),
    Bad("not-json", "{", ":1:2: not JSON: expecting property name enclosed in double quotes; fix: correct the syntax"),
    Bad("text-behind", "{} {}", ":1:4: not JSON: extra data; fix: correct the syntax"),
    Bad("utf-16", "{}".encode("utf-16"), ": byte 0 is not part of a UTF-8 text; fix: save the file as UTF-8"),
    Bad("random-bytes", b"\x00\x01\x02\xff", ": byte 3 is not part of a UTF-8 text; fix: save the file as UTF-8"),
    Bad("lone-surrogate", text().replace('"small"', '"\\ud800"'), ":/name: a text contains half of a surrogate pair; fix: write the whole character"),
    Bad("surrogate-key", '{"\\udfff": 1}', ": a key contains half of a surrogate pair; fix: write the whole character"),
    Bad("duplicate-key", text().replace('"type": "mdp"', '"type": "mdp", "type": "lts"'), ": a key occurs twice in this object; fix: keep one of them"),
    Bad("duplicate-key-inside", text().replace('"location": "here"', '"location": "here", "location": "there"', 1), ":/automata/0/edges/0: a key occurs twice in this object; fix: keep one of them"),
    Bad("nan", text().replace('"right": 5', '"right": NaN'), f"{E0}/guard/exp/right: `NaN` is not a number; fix: write a finite number"),
    Bad("infinity", text().replace('"right": 5', '"right": -Infinity'), f"{E0}/guard/exp/right: `-Infinity` is not a number; fix: write a finite number"),
    Bad("giant-exponent", text().replace('"right": 5', '"right": 1e1000000000'), f"{E0}/guard/exp/right: the exponent of `1e1000000000` is too large; fix: write a smaller number"),
    Bad("giant-number", text().replace('"right": 5', '"right": ' + "9" * 20000), f"{E0}/guard/exp/right: a number of 20000 digits; fix: write a smaller number"),
    Bad("deep-json", "[" * 100_000 + "]" * 100_000, ": values are nested too deeply; fix: nest at most some hundred levels"),
    Bad("deep-expression", assigns(nested(300)), f"{D0}/assignments/0/value{'/left' * 201}: an expression of more than 200 levels; fix: nest it less deeply"),
    Bad("a-list", "[]", ": this is not a JANI model: it has no `automata`; fix: give a model"),
    Bad("a-number", "3", ": an object is needed here; fix: write { … }"),
    Bad("no-system", json.dumps({k: v for k, v in model().items() if k != "system"}), ": `system` is missing; fix: add it"),
    Bad("unknown-key", model(varibles=[]), ":/varibles: unknown key `varibles`; fix: did you mean `variables`?"),
    Bad("version", model(**{"jani-version": 7}), ":/jani-version: only version 1 of JANI is read; fix: write the model in version 1"),
    Bad("unknown-type", model(type="dtcm"), ":/type: unknown type of model `dtcm`; fix: read are lts, dtmc, mdp"),
    # probabilities
    Bad("sum-below-1", model(automaton("main", edge(goes(probability=0.5), goes(probability=0.4999999)))), f"{E0}/destinations: the probabilities 0.5 + 0.4999999 add up to 0.9999999; fix: they have to add up to exactly 1"),
    Bad("negative-probability", model(automaton("main", edge(goes(probability=-0.5), goes(probability=1.5)))), f"{D0}/probability/exp: probability -0.5 is not between 0 and 1"),
    Bad("probability-above-1", model(automaton("main", edge(goes(probability=1.5)))), f"{D0}/probability/exp: probability 1.5 is not between 0 and 1"),
    Bad("boolean-probability", model(automaton("main", edge(goes(probability=True)))), f"{D0}/probability/exp: `true` is a truth value, but a real number is needed; fix: turn it into a number: `ite(true, 1, 0)`"),
    Bad("lts-with-probabilities", model(automaton("main", edge(goes(probability=0.5), goes(probability=0.5))), type="lts"), f"{E0}/destinations: a labelled transition system has no probabilities; fix: use type mdp"),
    Bad("no-destination", model(automaton("main", edge())), f"{E0}/destinations: an edge has no destination; fix: add one, or drop the edge"),
    # values
    Bad("division-by-zero", assigns(op("/", "x", 0)), f"{D0}/assignments/0/value: `x / 0` divides by zero; fix: divide by something else"),
    Bad("modulo-zero", assigns(op("%", "x", 0)), f"{D0}/assignments/0/value: `x % 0` divides by zero; fix: divide by something else"),
    Bad("log-of-0", assigns(op("log", 0, 2)), f"{D0}/assignments/0/value: this logarithm has no value; fix: use positive numbers"),
    Bad("start-outside", model(variables=[variable("x", {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 3}, 4)]), ":/variables/0/initial-value: `x` starts with 4, but it is an integer from 0 to 3; fix: change one of them"),
    Bad("bounds-swapped", model(variables=[variable("x", {"kind": "bounded", "base": "int", "lower-bound": 3, "upper-bound": 0}, 0)]), ":/variables/0/type: the lower bound 3 is above the upper bound 0"),
    Bad("real-into-int", assigns(0.5), f"{D0}/assignments/0/value: `0.5` is a real number, but an integer is needed; fix: round it with floor, ceil or trc"),
    Bad("type-error", assigns(op("+", "x", True)), f"{D0}/assignments/0/value: `true` is a truth value, but `+` needs numbers in `x + true`; fix: turn it into a number: `ite(true, 1, 0)`"),
    Bad("guard-is-a-number", model(automaton("main", edge(goes(), guard="x"))), f"{E0}/guard/exp: `x` is an integer, but a truth value is needed; fix: compare it with something: `x > 0`"),
    Bad("index-outside", model(variables=[X, variable("a", {"kind": "array", "base": "int"}, {"op": "av", "elements": [1]})], automata=[automaton("main", edge(goes("here", assign("x", {"op": "aa", "exp": "a", "index": 3}))))]), f"{D0}/assignments/0/value: index 3 is outside `a`; fix: it goes from 0 to 0"),
    Bad("array-without-length", model(variables=[X, variable("a", {"kind": "array", "base": "int"})]), ":/variables/1/type: an array whose length is not known; fix: give it an initial value"),
    Bad("giant-array", model(variables=[X, variable("a", {"kind": "array", "base": "int"}, {"op": "ac", "var": "i", "length": 10**9, "exp": "i"})]), ":/variables/1/initial-value/length: an array of more than 100000 elements; fix: use a smaller one"),
    # names
    Bad("unknown-variable", assigns(op("+", "y", 1)), f"{D0}/assignments/0/value/left: `y` is not declared; fix: known names: `x`"),
    Bad("unknown-target", assigns(1, "y"), f"{D0}/assignments/0/ref: variable `y` is not declared; fix: known names: `x`"),
    Bad("constant-as-target", assigns(1, "N") | {"constants": [whole("N", 3)]}, f"{D0}/assignments/0/ref: variable `N` is not declared; fix: known names: `x`"),
    Bad("unknown-automaton", model(elements=[{"automaton": "mian"}]), ":/system/elements/0/automaton: automaton `mian` is not declared; fix: did you mean `main`?"),
    Bad("unknown-location", model(automaton("main", edge(goes("hero")))), f"{D0}/location: location `hero` is not declared; fix: did you mean `here`?"),
    Bad("unknown-action", model(automaton("main", edge(goes(), action="go"))), f"{E0}/action: action `go` is not declared; fix: no names are declared"),
    Bad("unknown-function", assigns({"op": "call", "function": "f", "args": []}), f"{D0}/assignments/0/value/function: function `f` is not declared; fix: no names are declared"),
    Bad("unknown-operator", assigns(op("xor", "x", 1)), f"{D0}/assignments/0/value: operator `xor` is not supported; fix: known names: `∨`, `∧`, `⇒`, `=`, `<`, `≤`, `+`, `-`, `*`, `%`, `/`, `pow`, …"),
    Bad("variable-twice", model(variables=[X, X]), ":/variables/1: the name `x` is declared twice; fix: rename one of them"),
    Bad("local-and-global", model(automaton("main", variables=[X])), ":/automata/0/variables/0: the name `x` is declared twice; fix: rename one of them"),
    Bad("automaton-twice", model(automaton("main"), automaton("main")), ":/automata/1: automaton `main` is declared twice; fix: rename one of them"),
    Bad("location-twice", model(automaton("main", locations=("a", "a"))), ":/automata/0/locations/1: location `a` is declared twice; fix: rename one of them"),
    Bad("empty-name", model(variables=[variable("", "int", 0)]), ":/variables/0/name: a name is empty; fix: give it a name"),
    Bad("odd-names", model(variables=[variable("<script>\u202e\n", "clock", 0)]), ":/variables/0/type: type `clock` is not supported; fix: clocks need a timed model"),
    Bad("odd-names-shown", assigns("<script>\u202e\n"), f"{D0}/assignments/0/value: `<script>\\u{{202e}}\\u{{a}}` is not declared; fix: known names: `x`"),
    # constants and functions
    Bad("missing-constant", constants(whole("N")), ":/constants/0: constant `N` has no value; fix: give one: --const N=…"),
    Bad("constants-in-a-circle", constants(whole("N", "M"), whole("M", op("+", "N", 1))), ":/constants/1: constant `M` depends on itself; fix: break the cycle"),
    Bad("constant-in-itself", constants(whole("N", op("+", "N", 1))), ":/constants/0/value/left: `N` is not declared; fix: no names are declared"),
    Bad("constant-of-wrong-type", constants(whole("N", 0.5)), ":/constants/0/value: constant `N` is an integer, not 0.5"),
    Bad("given-constant-of-wrong-type", constants(whole("N")), "--const N: constant `N` is an integer, not 0.5; fix: give another value", {"N": "0.5"}),
    Bad("given-constant-unknown", constants(whole("N", 1)), "--const: the model has no constant `M`; fix: known names: `N`", {"M": "1"}),
    Bad("given-constant-unreadable", constants(whole("N")), "--const N:1:3: the text ends where a number, a name or `(` is expected; fix: write what is missing", {"N": "1+"}),
    Bad("functions-in-a-circle", assigns({"op": "call", "function": "f", "args": []}) | {"functions": [{"name": n, "type": "int", "parameters": [], "body": {"op": "call", "function": m, "args": []}} for n, m in ("fg", "gf")]}, ":/functions/1/body: function `f` calls itself; fix: recursive functions are not supported"),
    Bad("functions-that-double", assigns({"op": "call", "function": "f40", "args": []}) | {"functions": DOUBLING}, ":/functions/3/body/left: functions are written out more than 2000 times; fix: call them less often in each other"),
    Bad("transient-outside", model(automaton("main", edge(goes("here", assign("t", 7)))), variables=[X, variable("t", {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 3}, 0, transient=True)]), f"{D0}/assignments/0/value: `t` is an integer, but this value is outside its bounds"),
    Bad("too-many-arguments", assigns({"op": "call", "function": "f", "args": [1]}) | {"functions": [{"name": "f", "type": "int", "parameters": [], "body": 1}]}, f"{D0}/assignments/0/value/args: `f` takes 0 arguments, not 1"),
    # edges and composition
    Bad("assigned-twice", model(automaton("main", edge(goes("here", assign("x", 1), assign("x", 2))))), f"{D0}/assignments/1/ref: `x` is assigned twice at once; fix: keep one of them"),
    Bad("assigned-in-edge-and-destination", model(automaton("main", edge(goes("here", assign("x", 1)), assignments=[assign("x", 2)]))), f"{D0}/assignments/0/ref: `x` is assigned twice at once; fix: keep one of them"),
    Bad("no-initial-location", model(automaton("main", **{"initial-locations": []})), ":/automata/0/initial-locations: automaton `main` has no initial location; fix: name one"),
    Bad("empty-composition", model(elements=[]), ":/system/elements: the composition is empty; fix: name at least one automaton"),
    Bad("vector-too-short", model(automaton("a"), automaton("b"), actions=("go",), syncs=[(("go",), None)]), ":/system/syncs/0/synchronise: the vector names 1 actions, but there are 2 automata; fix: name one action, or null, for each of them"),
    Bad("vector-of-nulls", model(automaton("a"), automaton("b"), syncs=[((None, None), None)]), ":/system/syncs/0/synchronise: no automaton takes part; fix: name at least one action"),
    Bad("labels-without-vectors", model(automaton("main", edge(goes(), action="go")), actions=("go",), syncs=[]), ":/system/syncs: the automaton has edges with actions, but `syncs` is empty; fix: leave `syncs` out, or list the actions"),
    # properties
    Bad("unknown-label", asks({"op": "Pmax", "exp": unary("F", "goal")}), ":/properties/0/expression/values/exp/exp: `goal` is not declared; fix: known names: `x`"),
    Bad("local-in-property", asks({"op": "Pmax", "exp": unary("F", op("=", "n", 1))}) | {"automata": [automaton("main", variables=[variable("n", "int", 0)])]}, ":/properties/0/expression/values/exp/exp/left: `n` is not declared; fix: known names: `x`"),
    Bad("negative-steps", asks({"op": "Pmax", "exp": {**F3, "step-bounds": {"upper": -1}}}), ":/properties/0/expression/values/exp/step-bounds: -1 is not a number of steps; fix: use a whole number from 0 on"),
    Bad("no-limit", asks({"op": "Pmax", "exp": {**F3, "step-bounds": {}}}), ":/properties/0/expression/values/exp/step-bounds: a bound without a limit; fix: add `lower` or `upper`"),
    Bad("count-of-a-number", asks({"op": "Pmax", "exp": F3}, fun="count"), ":/properties/0/expression/fun: `count` needs a truth value, but this is a number; fix: compare it"),
    Bad("unknown-filter", asks({"op": "Pmax", "exp": F3}, fun="mx"), ":/properties/0/expression/fun: unknown filter `mx`; fix: did you mean `max`?"),
    Bad("unknown-accumulation", asks({"op": "Emin", "exp": 1, "accumulate": ["stpes"], "reach": True}), ":/properties/0/expression/values/accumulate/0: unknown accumulation `stpes`; fix: write steps or exit"),
)  # fmt: skip


def write(bad: Bad, folder: Path) -> Path:
    path = folder / "model.jani"
    content = json.dumps(bad.content) if isinstance(bad.content, dict) else bad.content
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path
