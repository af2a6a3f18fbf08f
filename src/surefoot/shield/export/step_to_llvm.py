"""The functions of a Python shield as LLVM IR: what `python_code.py` writes, and nothing else.

Every operation becomes one operation on doubles, in the same order and without flags that would let a
compiler change it; conditions are decided from left to right, as Python decides them. Whatever could mean
something else than such operations (a number that is no float, a name that is not always set, a function that
is not known, a loop) is refused. Where Python would stop with an error (a division by zero) the functions ask
for Python.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from struct import pack

from surefoot.errors import Unsupported
from surefoot.shield.export.step_preamble import parse_step_preamble, plain_parameters, refuse_syntax
from surefoot.work.machine.llvm_ir import IrFunction

ASK_PYTHON = -1
_FUNCTIONS = frozenset(("type", "float", "max", "isfinite", "ValueError"))
_OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "fadd",
    ast.Sub: "fsub",
    ast.Mult: "fmul",
    ast.Div: "fdiv",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "olt",
    ast.LtE: "ole",
    ast.Gt: "ogt",
    ast.GtE: "oge",
    ast.Eq: "oeq",
    ast.NotEq: "une",
}


@dataclass(frozen=True, slots=True)
class TranslatedStep:
    """`@own_step(ptr %applied, double …)` of a state and controls gives 0, 1, 2 or ASK_PYTHON."""

    text: str
    states: int
    controls: int
    applied: int  # how many controls are results
    functions: tuple[str, ...]  # that were translated
    called: frozenset[str]  # functions of Python whose meaning was used


@dataclass(slots=True)
class _Module:
    trees: Mapping[str, ast.FunctionDef]
    texts: dict[str, str | None] = field(default_factory=dict)  # None: being translated
    called: set[str] = field(default_factory=set)
    applied: int | None = None


def translate_step(trees: Mapping[str, ast.FunctionDef]) -> TranslatedStep:
    """`step` and what it calls; `Unsupported` where something else is written."""
    if "step" not in trees:
        raise Unsupported("there is no function `step` in its file")
    (states, controls), rest = parse_step_preamble(trees["step"])
    module = _Module(trees, {"step": None})
    module.called.update(("type", "float"))
    text = _translate_function(module, "step", (*states, *controls), rest)
    others = [found for found in module.texts.values() if found is not None]
    assert module.applied is not None  # every function returns something
    names = tuple(module.texts)
    counts = len(states), len(controls), module.applied
    return TranslatedStep("\n".join([*others, text]), *counts, names, frozenset(module.called))


def _translate_function(module: _Module, name: str, numbers: Sequence[str], body: Sequence[ast.stmt]) -> str:
    tree = module.trees[name]
    names = [part for statement in body for part in ast.walk(statement) if isinstance(part, ast.Name)]
    local = {
        *plain_parameters(tree),
        *numbers,
        *(part.id for part in names if not isinstance(part.ctx, ast.Load)),
    }
    if local & {*_FUNCTIONS, *module.trees}:
        refuse_syntax(tree, "the name of a function stands for a number")
    given = "".join(f", double %n{index}" for index in range(len(numbers)))
    values = {number: f"%n{index}" for index, number in enumerate(numbers)}
    made = _Body(module, IrFunction(f"own_{name}", f"ptr %applied{given}", internal=True), values)
    made.block(body)
    if not made.function.ended:
        refuse_syntax(tree, "it may end without a result")
    return made.function.text()


@dataclass(slots=True)
class _Body:
    module: _Module
    function: IrFunction
    values: dict[str, str]  # of names that have one, whatever was decided before

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.function.ended:
                refuse_syntax(statement, "it is never reached")
            match statement:
                case ast.Expr(ast.Constant(str())):
                    pass
                case ast.Assign([ast.Name(name)], value):
                    self.values[name] = self.number(value)
                case ast.If(test, body, other):
                    self.decision(test, body, other)
                case ast.Return(value):
                    self.result(statement, value)
                case _:
                    refuse_syntax(statement, "such a statement is never written")

    def decision(self, test: ast.expr, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        f, after, ways = self.function, self.function.label(), []
        labels = f.label(), f.label()
        self.branch(test, *labels)
        before = self.values
        for label, statements in zip(labels, (body, other), strict=True):
            self.values = {**before}
            f.begin(label)
            self.block(statements)
            if not f.ended:
                ways.append((self.values, f.block))
                f.do(f"br label %{after}")
        if ways:
            f.begin(after)
            self.values = self.join_values(ways)

    def join_values(self, ways: Sequence[tuple[dict[str, str], str]]) -> dict[str, str]:
        """What names stand for after these blocks, if they have a value in each."""
        (first, _), *others = ways
        found = {}
        for name in first:
            if all(name in values for values, _ in others):
                one = len({values[name] for values, _ in ways}) == 1
                sources = ", ".join(f"[ {values[name]}, %{block} ]" for values, block in ways)
                found[name] = first[name] if one else self.function.value(f"phi double {sources}")
        return found

    def result(self, place: ast.stmt, value: ast.expr | None) -> None:
        f = self.function
        match value:
            case ast.Tuple([ast.Tuple([*controls]), ast.Constant(int(word))]) if word in (0, 1, 2):
                if self.module.applied not in (None, len(controls)) or isinstance(word, bool):
                    refuse_syntax(place, "its results are of several kinds")
                self.module.applied = len(controls)
                for index, number in enumerate([self.number(control) for control in controls]):
                    f.store("%applied", str(index), number, "double")
                f.do(f"ret i64 {word}")
            case ast.Call(ast.Name(name), [*arguments], []):
                _translate_callee(self.module, place, name, len(arguments))
                given = "".join(f", double {self.number(argument)}" for argument in arguments)
                f.do(f"ret i64 {f.value(f'call i64 @own_{name}(ptr %applied{given})')}")
            case _:
                refuse_syntax(place, "such a result is never written")

    def number(self, expression: ast.expr) -> str:
        f = self.function
        match expression:
            case ast.Constant(float(value)):
                return f"0x{pack('>d', value).hex()}"
            case ast.Name(name) if name in self.values:
                return self.values[name]
            case ast.UnaryOp(ast.USub(), inner):
                return f.value(f"fneg double {self.number(inner)}")
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATIONS:
                numbers = self.number(left), self.number(right)
                if isinstance(operator, ast.Div):
                    f.fail(self.compare_numbers("oeq", numbers[1], "0.0"), ASK_PYTHON)
                return f.value(f"{_OPERATIONS[type(operator)]} double {numbers[0]}, {numbers[1]}")
            case ast.Call(ast.Name("max"), [left, right], []):
                self.module.called.add("max")
                first, second = self.number(left), self.number(right)
                larger = self.compare_numbers("ogt", second, first)
                return f.value(f"select i1 {larger}, double {second}, double {first}")
        refuse_syntax(expression, "such a number is never written")

    def branch(self, test: ast.expr, yes: str, no: str) -> None:
        """Continue at one of two labels."""
        f = self.function
        match test:
            case ast.Constant(bool(value)):
                f.do(f"br label %{yes if value else no}")
            case ast.UnaryOp(ast.Not(), inner):
                self.branch(inner, no, yes)
            case ast.BoolOp(operator, [*parts, last]):
                for part in parts:
                    following = f.label()
                    self.branch(
                        part, *((following, no) if isinstance(operator, ast.And) else (yes, following))
                    )
                    f.begin(following)
                self.branch(last, yes, no)
            case ast.Compare(left, [sign], [right]) if type(sign) in _COMPARISONS:
                found = self.compare_numbers(_COMPARISONS[type(sign)], self.number(left), self.number(right))
                f.do(f"br i1 {found}, label %{yes}, label %{no}")
            case ast.Call(ast.Name("isfinite"), [inner], []):
                self.module.called.add("isfinite")
                f.do(f"br i1 {emit_is_finite(f, self.number(inner))}, label %{yes}, label %{no}")
            case _:
                refuse_syntax(test, "such a condition is never written")

    def compare_numbers(self, sign: str, left: str, right: str) -> str:
        return self.function.value(f"fcmp {sign} double {left}, {right}")


def emit_is_finite(function: IrFunction, number: str) -> str:
    """The difference of a number and itself is 0, but for infinities and NaN, where it is NaN."""
    difference = function.value(f"fsub double {number}, {number}")
    return function.value(f"fcmp oeq double {difference}, 0.0")


def _translate_callee(module: _Module, place: ast.stmt, name: str, count: int) -> None:
    """Translate a function of the module that is called, once."""
    tree = module.trees.get(name)
    if tree is None or (name in module.texts and module.texts[name] is None):
        refuse_syntax(place, f"`{name}` is not of this module, or calls itself")
    numbers = plain_parameters(tree)
    if len(numbers) != count:
        refuse_syntax(place, f"`{name}` has {len(numbers)} parameters")
    if name not in module.texts:
        module.texts[name] = None
        module.texts[name] = _translate_function(module, name, numbers, tree.body)
