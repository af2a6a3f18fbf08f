"""Values of a chain at points, in machine code and plain float64: for guesses, not for proofs."""

from __future__ import annotations

from surefoot.solve.native.chain.backward import D, multiply
from surefoot.solve.native.chain.code import Buffer, Code, Field, Layer
from surefoot.work.machine.text import Function

_NOW, _NEXT = (Buffer.ONE, Buffer.TWO), (Buffer.ONE_AFTER, Buffer.TWO_AFTER)
_POINTS, _MORE = (Buffer.MIDDLE, Buffer.WIDTH), (Buffer.PRODUCT_ONE, Buffer.PRODUCT_TWO)


def points_functions() -> tuple[Function, ...]:
    return (_values(),)


def _values() -> Function:
    """The last layer at the points in place of rows, two of them side by side: BOXES is how many pairs."""
    f = Code("values", internal=False)
    inputs, last = f.address(Field.LAYERS), f.layer(f.field(Field.LAST))
    wide, outputs = f.word(inputs, Layer.WIDTH), f.word(last, Layer.WIDTH)
    now, after = [f.buffer(b) for b in _NOW], [f.buffer(b) for b in _NEXT]
    points, more = [f.buffer(b) for b in _POINTS], [f.buffer(b) for b in _MORE]
    with f.count("0", f.field(Field.BOXES)) as pair:
        first = f.mul(pair, "2")
        numbers = (first, f.add(first, "1"))
        for number, own, kept in zip(numbers, now, points, strict=True):
            given = f.at(f.address(Field.ROWS), f.mul(number, wide), D)
            with f.count("0", wide) as j:
                f.put_number(own, j, f.number(given, j))
                f.put_number(kept, j, f.number(given, j))
        with f.count("1", f.add(f.field(Field.LAST), "1")) as number:
            _layer(f, number, now, after, points, more)
        for number, own in zip(numbers, now, strict=True):
            out = f.at(f.address(Field.PLANES), f.mul(number, outputs), D)
            with f.count("0", outputs) as j:
                f.put_number(out, j, f.number(own, j))
    f.do("ret i64 0")
    return f


def _layer(
    f: Code, number: str, now: list[str], after: list[str], points: list[str], more: list[str]
) -> None:
    """One layer on, in place."""
    layer, before = f.layer(number), f.layer(f.sub(number, "1"))
    padded, every = f.word(layer, Layer.PADDED), f.buffer(Buffer.EVERY)
    with f.unless_zero(f.word(layer, Layer.BENT)), f.vectors(f.word(before, Layer.PADDED)) as i:
        for own in now:
            f.put_vector(own, i, f.larger(f.vector(own, i), "zeroinitializer"))
    listed = f"ptr {every}, i64 {f.word(before, Layer.WIDTH)}"
    multiply(f, now, after, listed, f.array(layer, Layer.TURNED), padded)
    with f.unless_zero(f.word(layer, Layer.DIRECT)):
        listed = f"ptr {every}, i64 {f.word(f.address(Field.LAYERS), Layer.WIDTH)}"
        multiply(f, points, more, listed, f.array(layer, Layer.DIRECT_TURNED), padded)
        with f.vectors(padded) as i:
            for own, extra in zip(after, more, strict=True):
                f.put_vector(own, i, f.plus(f.vector(own, i), f.vector(extra, i)))
    with f.vectors(padded) as i:
        bias = f.vector(f.array(layer, Layer.BIAS), i)
        for own, out in zip(after, now, strict=True):
            f.put_vector(out, i, f.plus(f.vector(own, i), bias))
