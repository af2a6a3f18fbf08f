"""Terms as the checker compiles them mean what the reference says, with and without known kinds."""

from __future__ import annotations

import ast
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from surefoot.certify.values.canonical import process_term_to_json
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot_checker.claims.values import term_code as module
from surefoot_checker.claims.values.term import compile_row_function
from surefoot_checker.kernel.strict_json import BadCertificate, Refused
from surefoot_checker.kernel.term import evaluate, read_term

SLOTS = {"i": 0, "j": 1, "b": 2, "r": 3, "a": 4}
KINDS = {0: ("integer", -3, 3), 1: ("integer", 0, 4), 2: ("boolean",), 4: ("array", 3, ("integer", 0, 4))}


def number(draw: Random, depth: int) -> Term:
    if depth == 0 or draw.random() < 0.15:
        leaves = (Var("i"), Var("j"), Var("r"), Const(draw.randint(-3, 3)), Const(Fraction(1, 3)))
        return draw.choice(leaves)
    several = tuple(number(draw, depth - 1) for _ in range(draw.randint(2, 3)))
    match draw.randint(0, 7):
        case 0:
            return Apply(draw.choice((Op.ADD, Op.MUL, Op.MIN, Op.MAX)), several)
        case 1:
            return Apply(draw.choice((Op.SUB, Op.DIV, Op.MOD)), several[:2])
        case 2:
            return Apply(draw.choice((Op.NEG, Op.ABS, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC)), several[:1])
        case 3:
            return Apply(Op.ITE, (condition(draw, depth - 1), *several[:2]))
        case 4:
            return Apply(Op.SELECT, (Var("a"), several[0]))
        case 5:
            return Apply(Op.SELECT, (Apply(Op.ARRAY, (Const(4), Const(2), Const(7))), Var("j")))
        case 6:
            return Apply(Op.SELECT, (Apply(Op.ARRAY, several), Var("i")))
        case _:
            return Apply(Op.POW, (several[0], Const(draw.randint(-1, 3))))


def condition(draw: Random, depth: int) -> Term:
    if depth == 0 or draw.random() < 0.1:
        return draw.choice((Var("b"), Const(True), Var("i") < Var("j")))
    inner = tuple(condition(draw, depth - 1) for _ in range(draw.randint(2, 3)))
    match draw.randint(0, 3):
        case 0:
            return Apply(draw.choice((Op.AND, Op.OR)), inner)
        case 1:
            return Apply(
                draw.choice((Op.LT, Op.LE, Op.EQ)), (number(draw, depth - 1), number(draw, depth - 1))
            )
        case 2:
            return Apply(Op.NOT, inner[:1])
        case _:
            return Apply(Op.IMPLIES, inner[:2])


def valued(function: Any, row: Any) -> tuple[str, Any]:
    try:
        found = function(row)
    except (Undefined, Refused):
        return "undefined", None
    return type(found).__name__, found


@pytest.mark.parametrize("block", range(4))
def test_compiled_terms_mean_the_same(block: int) -> None:
    undefined = 0
    for seed in range(300 * block, 300 * block + 300):
        draw = Random(seed)
        term = (number if seed % 3 else condition)(draw, 4)
        read = read_term(process_term_to_json(term))
        functions = [compile_row_function(read, SLOTS, kinds) for kinds in (KINDS, {}, None)]
        functions.append(lambda row, read=read: evaluate(read, lambda atom: row[SLOTS[atom[1]]]))
        for _ in range(8):
            real = Fraction(draw.randint(-6, 6), draw.choice((2, 3)))
            whole = real.numerator if real.denominator == 1 else real
            array = tuple(draw.randint(0, 4) for _ in range(3))
            row = (draw.randint(-3, 3), draw.randint(0, 4), draw.random() < 0.5, whole, array)
            names = dict(zip(SLOTS, row, strict=True))
            wanted = valued(lambda names, term=term: evaluate_term(term, names), names)
            undefined += wanted[0] == "undefined"
            for function in functions:
                assert valued(function, row) == wanted, (seed, term, row)
    assert undefined > 50


def test_text_of_a_certificate_is_never_part_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    trees: list[ast.AST] = []
    plain = compile

    def watched(tree: ast.AST, *more: Any) -> Any:
        trees.append(tree)
        return plain(tree, *more)  # type: ignore[call-overload]

    monkeypatch.setattr(module, "compile", watched, raising=False)
    odd = "__import__('os')"
    for data in (["+", ["name", odd], "1/3"], ["and", ["name", odd], ["not", ["name", "b"]]]):
        assert compile_row_function(read_term(data), {odd: 0, "b": 1})((True, False)) in (
            True,
            Fraction(4, 3),
        )
    for data in ([odd, 1, 2], ["name", "x"], odd, ["lambda", 1], ["+", [odd]]):
        with pytest.raises(BadCertificate):
            compile_row_function(read_term(data), {odd: 0})
    assert trees
    for node in (n for made in trees for n in ast.walk(made)):
        if isinstance(node, ast.Name):
            assert node.id == "row" or (node.id[0] in "kt" and node.id[1:].isdigit())
        if isinstance(node, ast.Constant):
            assert type(node.value) in (int, bool)
        assert not isinstance(node, ast.Attribute | ast.Import | ast.keyword)


def test_deep_and_wide_terms() -> None:
    deep: Any = ["name", "i"]
    for _ in range(190):
        deep = ["max", ["+", deep, 1], 0]
    assert compile_row_function(read_term(deep), SLOTS, KINDS)((2,)) == 192
    wide = ["+", *[["name", "i"]] * 5000]
    assert compile_row_function(read_term(wide), SLOTS, KINDS)((2,)) == 10_000
    several = read_term(["or", *[["<", ["name", "i"], 0]] * 5000])
    assert compile_row_function(several, SLOTS, KINDS)((2,)) is False
