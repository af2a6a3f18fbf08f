"""Values of a chain at points, in machine code and plain float64: for guesses, not for proofs."""

from __future__ import annotations

from surefoot.solvers.native.relu_chain.backward import D, emit_chain_multiply
from surefoot.solvers.native.relu_chain.llvm_builder import (
    ChainFunction,
    LayerWord,
    ScratchBuffer,
    TableField,
)
from surefoot.work.machine.llvm_ir import IrFunction

_NOW, _NEXT = (ScratchBuffer.ONE, ScratchBuffer.TWO), (ScratchBuffer.ONE_AFTER, ScratchBuffer.TWO_AFTER)
_POINTS, _MORE = (
    (ScratchBuffer.MIDDLE, ScratchBuffer.WIDTH),
    (ScratchBuffer.PRODUCT_ONE, ScratchBuffer.PRODUCT_TWO),
)


def points_functions() -> tuple[IrFunction, ...]:
    return (_emit_point_values(),)


def _emit_point_values() -> IrFunction:
    """The last layer at the points in place of rows, two of them side by side: BOXES is how many pairs."""
    f = ChainFunction("values", internal=False)
    inputs, last = f.address(TableField.LAYERS), f.layer(f.field(TableField.LAST))
    wide, outputs = f.word(inputs, LayerWord.WIDTH), f.word(last, LayerWord.WIDTH)
    now, after = [f.buffer(b) for b in _NOW], [f.buffer(b) for b in _NEXT]
    points, more = [f.buffer(b) for b in _POINTS], [f.buffer(b) for b in _MORE]
    with f.count("0", f.field(TableField.BOXES)) as pair:
        first = f.mul(pair, "2")
        numbers = (first, f.add(first, "1"))
        for number, own, kept in zip(numbers, now, points, strict=True):
            given = f.at(f.address(TableField.ROWS), f.mul(number, wide), D)
            with f.count("0", wide) as j:
                f.put_number(own, j, f.number(given, j))
                f.put_number(kept, j, f.number(given, j))
        with f.count("1", f.add(f.field(TableField.LAST), "1")) as number:
            _emit_layer_step(f, number, now, after, points, more)
        for number, own in zip(numbers, now, strict=True):
            out = f.at(f.address(TableField.PLANES), f.mul(number, outputs), D)
            with f.count("0", outputs) as j:
                f.put_number(out, j, f.number(own, j))
    f.do("ret i64 0")
    return f


def _emit_layer_step(
    f: ChainFunction, number: str, now: list[str], after: list[str], points: list[str], more: list[str]
) -> None:
    """One layer on, in place."""
    layer, before = f.layer(number), f.layer(f.sub(number, "1"))
    padded, every = f.word(layer, LayerWord.PADDED), f.buffer(ScratchBuffer.EVERY)
    with f.unless_zero(f.word(layer, LayerWord.BENT)), f.vectors(f.word(before, LayerWord.PADDED)) as i:
        for own in now:
            f.put_vector(own, i, f.larger(f.vector(own, i), "zeroinitializer"))
    listed = f"ptr {every}, i64 {f.word(before, LayerWord.WIDTH)}"
    emit_chain_multiply(f, now, after, listed, f.array(layer, LayerWord.TURNED), padded)
    with f.unless_zero(f.word(layer, LayerWord.DIRECT)):
        listed = f"ptr {every}, i64 {f.word(f.address(TableField.LAYERS), LayerWord.WIDTH)}"
        emit_chain_multiply(f, points, more, listed, f.array(layer, LayerWord.DIRECT_TURNED), padded)
        with f.vectors(padded) as i:
            for own, extra in zip(after, more, strict=True):
                f.put_vector(own, i, f.plus(f.vector(own, i), f.vector(extra, i)))
    with f.vectors(padded) as i:
        bias = f.vector(f.array(layer, LayerWord.BIAS), i)
        for own, out in zip(after, now, strict=True):
            f.put_vector(out, i, f.plus(f.vector(own, i), bias))
