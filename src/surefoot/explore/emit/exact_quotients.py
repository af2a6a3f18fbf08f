"""Quotients that might not fit into 64 bits: computed in lowest terms, by functions that a model shares.

Numerators and denominators of unreduced sums and products grow with every operation, though the values that
they stand for stay simple: twenty shares of 1/20 add up to 1, and multiplied out to 20^20 / 20^20. Where
ranges do not exclude that, operands are reduced, and only a value that is too large itself ends the function.
"""

from __future__ import annotations

from collections.abc import Callable

from surefoot.work.machine.llvm_ir import IrFunction

_FOUR = "i64 %a, i64 %b, i64 %c, i64 %d, ptr noalias nocapture %top, ptr noalias nocapture %bottom"


def quotient_functions(overflow: int) -> tuple[IrFunction, ...]:
    """`add_quotients` and `multiply_quotients` of a/b and c/d, whose b and d are positive."""
    return divisor_function(), _add_function(overflow), _multiply_function(overflow)


def divisor_function() -> IrFunction:
    """The greatest common divisor of |a| and b; b is positive, so this is too."""
    f = IrFunction("common_divisor", "i64 %a, i64 %b", internal=True)
    size = f.value(f"select i1 {f.compare('slt', '%a', '0')}, i64 {f.sub('0', '%a')}, i64 %a")
    first, second = f.variable("%b"), f.variable(size)
    with f.loop() as done:
        rest = f.get(second)
        f.leave(f.compare("eq", rest, "0"), done)
        f.set_variable(second, f.value(f"urem i64 {f.get(first)}, {rest}"))
        f.set_variable(first, rest)
    f.do(f"ret i64 {f.get(first)}")
    return f


def emit_lowest_terms(f: IrFunction, top: str, bottom: str) -> tuple[str, str]:
    divisor = f.value(f"call i64 @common_divisor(i64 {top}, i64 {bottom})")
    return f.value(f"sdiv i64 {top}, {divisor}"), f.value(f"sdiv i64 {bottom}, {divisor}")


def emit_reduced_product(
    f: IrFunction, left: tuple[str, str], right: tuple[str, str], overflow: int
) -> tuple[str, str]:
    """The product of two quotients in lowest terms, in lowest terms."""
    a, d = emit_lowest_terms(f, left[0], right[1])
    c, b = emit_lowest_terms(f, right[0], left[1])
    return f.checked_arithmetic("smul", a, c, overflow), f.checked_arithmetic("smul", b, d, overflow)


def emit_reduced_sum(
    f: IrFunction, left: tuple[str, str], right: tuple[str, str], overflow: int
) -> tuple[str, str]:
    """The sum of two quotients in lowest terms, in lowest terms (Knuth, 4.5.1)."""
    (a, b), (c, d) = left, right
    shared = f.value(f"call i64 @common_divisor(i64 {b}, i64 {d})")
    mine, theirs = f.value(f"sdiv i64 {b}, {shared}"), f.value(f"sdiv i64 {d}, {shared}")
    first = f.checked_arithmetic("smul", a, theirs, overflow)
    second = f.checked_arithmetic("smul", c, mine, overflow)
    top, rest = emit_lowest_terms(f, f.checked_arithmetic("sadd", first, second, overflow), shared)
    return top, f.checked_arithmetic(
        "smul", f.checked_arithmetic("smul", mine, theirs, overflow), rest, overflow
    )


_Reduced = Callable[[IrFunction, tuple[str, str], tuple[str, str], int], tuple[str, str]]


def _quotient_function(name: str, compute: _Reduced, overflow: int) -> IrFunction:
    f = IrFunction(name, _FOUR, internal=True)
    left, right = emit_lowest_terms(f, "%a", "%b"), emit_lowest_terms(f, "%c", "%d")
    top, bottom = compute(f, left, right, overflow)
    f.do(f"store i64 {top}, ptr %top")
    f.do(f"store i64 {bottom}, ptr %bottom")
    f.do("ret i64 0")
    return f


def _add_function(overflow: int) -> IrFunction:
    return _quotient_function("add_quotients", emit_reduced_sum, overflow)


def _multiply_function(overflow: int) -> IrFunction:
    return _quotient_function("multiply_quotients", emit_reduced_product, overflow)
