"""Bounds of all layers of a box, in machine code: what `bounding.bounds` does, box by box.

Intervals, then back-substitution of the entries with an open sign, then the lines around ReLUs.
"""

from __future__ import annotations

from surefoot.network.outward import TINY, gamma
from surefoot.network.rounding import LARGEST
from surefoot.solve.native.chain.backward import (
    D,
    bounded_below,
    call,
    down,
    middle_reach,
    multiply,
    up,
    walked,
)
from surefoot.solve.native.chain.code import Buffer, Code, Factor, Field, Layer, State, V
from surefoot.work.machine.text import Function

SMALL = 2.0**-960


def forward_functions(worth: float) -> tuple[Function, ...]:
    """`worth`: the part of a width that a new bound must gain."""
    return (_interval(), _entry(), _narrow(worth), _lines(), _bound())


def _interval() -> Function:
    """The interval of a layer from what it reads, its float32 rounding, and its costs per coefficient."""
    f = Code("interval", ", i64 %box, i64 %number")
    layer, before = f.layer("%number"), f.layer(f.sub("%number", "1"))
    column, padded = f.word(layer, Layer.COLUMN), f.word(layer, Layer.PADDED)
    source = f.word(before, Layer.COLUMN)
    error = f.factor(layer, Factor.INTERVAL)
    _read_source(f, source, f.word(before, Layer.PADDED), f.word(layer, Layer.BENT), error)
    totals = [f.buffer(b) for b in (Buffer.PRODUCT_ONE, Buffer.PRODUCT_TWO, Buffer.EFFECT)]
    count = f.word(before, Layer.WIDTH)
    _products(f, layer, Layer.TURNED, count, padded, totals)
    with f.unless_zero(f.word(layer, Layer.DIRECT)):
        inputs = f.address(Field.LAYERS)
        _read_source(f, "0", f.word(inputs, Layer.PADDED), "0", error)
        extra = [f.buffer(b) for b in (Buffer.ONE, Buffer.TWO, Buffer.ONE_AFTER)]
        _products(f, layer, Layer.DIRECT_TURNED, f.word(inputs, Layer.WIDTH), padded, extra)
        with f.vectors(padded) as i:
            for total, more in zip(totals, extra, strict=True):
                f.put_vector(total, i, f.plus(f.vector(total, i), f.vector(more, i)))
    _ends(f, layer, column, padded, totals, error)
    f.do("ret i64 0")
    return f


def _products(f: Code, layer: str, name: Layer, count: str, padded: str, out: list[str]) -> None:
    """Centres times weights; widths, and largest sizes, times weights without signs."""
    weights = f.array(layer, name)
    middle, width, size = (f.buffer(b) for b in (Buffer.MIDDLE, Buffer.WIDTH, Buffer.SIZE))
    listed = f"ptr {f.buffer(Buffer.EVERY)}, i64 {count}"
    multiply(f, [middle], out[:1], listed, weights, padded)
    multiply(f, [width, size], out[1:], listed, weights, padded, False)


def _read_source(f: Code, source: str, padded: str, bent: str, error: str) -> None:
    """Centres, widths with their error, and largest sizes of what a layer reads."""
    low, high = f.sheet(Field.LOW, "%box", source), f.sheet(Field.HIGH, "%box", source)
    error = f.spread(error)
    cut = f.spread(f.choose(f.compare("ne", bent, "0"), "0.0", f.constant(float("-inf"), D), D))
    with f.vectors(padded) as i:
        least, most = f.larger(f.vector(low, i), cut), f.larger(f.vector(high, i), cut)
        at, far = middle_reach(f, least, most)
        f.put_vector(f.buffer(Buffer.MIDDLE), i, at)
        wide = f.plus(far, f.times(error, f.plus(f.size(at), far)))
        f.put_vector(f.buffer(Buffer.WIDTH), i, wide)
        f.put_vector(f.buffer(Buffer.SIZE), i, f.larger(f.size(least), f.size(most)))


def _ends(f: Code, layer: str, column: str, padded: str, totals: list[str], error: str) -> None:
    """From the three products to bounds, radius and effect."""
    low, high = f.sheet(Field.LOW, "%box", column), f.sheet(Field.HIGH, "%box", column)
    radius, effect = f.sheet(Field.RADIUS, "%box", column), f.buffer(Buffer.EFFECT)
    bias = f.array(layer, Layer.BIAS)
    error, back = f.spread(error), f.spread(f.factor(layer, Factor.BACK))
    rounded = f.word(layer, Layer.ROUNDED)
    factors = [f.spread(f.factor(layer, w)) for w in (Factor.RADIUS, Factor.RADIUS_LEAST, Factor.RADIUS_ROOM)]
    with f.vectors(padded) as i:
        shift = f.vector(bias, i)
        middle, size = f.plus(f.vector(totals[0], i), shift), f.size(shift)
        spread = f.plus(f.vector(totals[1], i), f.plus(f.times(error, size), f.constant(TINY)))
        least, most = f.minus(middle, spread), f.plus(middle, spread)
        total = f.plus(f.vector(totals[2], i), size)
        f.put_vector(effect, i, f.times(back, total))
        f.put_vector(low, i, least)
        f.put_vector(high, i, most)
        f.put_vector(radius, i, "zeroinitializer")
        with f.unless_zero(rounded):
            own = f.larger(f.size(least), f.size(most))
            once = f.spread_bit(f.compare("eq", rounded, "2"))
            base = f.choose(once, own, total)
            by = f.plus(f.times(base, factors[0]), factors[1])
            fits = f.less(f.times(base, factors[2]), f.constant(LARGEST))
            by = f.choose(fits, by, f.constant(float("inf")))
            exact = f.less(f.vector(f.array(layer, Layer.MASK), i), f.constant(0.5))
            by = f.choose(exact, "zeroinitializer", by)
            f.put_vector(radius, i, by)
            f.put_vector(low, i, down(f, f.minus(least, by)))
            f.put_vector(high, i, up(f, f.plus(most, by)))
    with f.unless_zero(f.field(Field.KNOWN_LOW)):
        least, most = (
            f.sheet(Field.KNOWN_LOW, "%box", column),
            f.sheet(Field.KNOWN_HIGH, "%box", column),
        )
        with f.vectors(padded) as i:
            f.put_vector(low, i, f.larger(f.vector(least, i), f.vector(low, i)))
            f.put_vector(high, i, f.smaller(f.vector(most, i), f.vector(high, i)))


def _entry() -> Function:
    """Bounds of an entry of a layer by back-substitution: below it, and below it with its sign turned."""
    f = Code("entry", ", i64 %box, i64 %number, i64 %which")
    layer, state = f.layer("%number"), f.buffer(Buffer.STATE)
    columns, column = f.word(layer, Layer.SOURCE_PADDED), f.word(layer, Layer.COLUMN)
    row = f.at(f.array(layer, Layer.WEIGHTS), f.mul("%which", columns), D)
    one, two = f.buffer(Buffer.ONE), f.buffer(Buffer.TWO)
    with f.vectors(columns) as i:
        weights = f.vector(row, i)
        f.put_vector(one, i, weights)
        f.put_vector(two, i, f.minus(f.constant(-0.0), weights))
    bias = f.number(f.array(layer, Layer.BIAS), "%which")
    radius = f.number(f.sheet(Field.RADIUS, "%box", column), "%which")
    slack = f.number(f.buffer(Buffer.EFFECT), "%which")
    slack = f.plus(slack, f.times(radius, f.factor(layer, Factor.RADIUS_BACK), D), D)
    for r, constant in enumerate((bias, f.minus("-0.0", bias, D))):
        f.put_number(state, str(State.CONSTANT + r), constant)
        f.put_number(state, str(State.SLACK + r), f.plus(slack, f.constant(TINY, D), D))
    before, bent = f.sub("%number", "1"), f.word(layer, Layer.BENT)
    bounded_below(f, "%box", walked(f, "%box", before, bent, ("null", "null"), "0"), "0")
    f.do("ret i64 0")
    return f


def _narrow(worth: float) -> Function:
    """Back-substitution of the open entries of a layer; what decides no sign and gains little is left out."""
    f = Code("narrow", ", i64 %box, i64 %number")
    layer, state = f.layer("%number"), f.buffer(Buffer.STATE)
    column = f.word(layer, Layer.COLUMN)
    low, high = f.sheet(Field.LOW, "%box", column), f.sheet(Field.HIGH, "%box", column)
    bytes_at = f.add(f.mul("%box", f.field(Field.COLUMNS)), column)
    used_low = f.at(f.address(Field.USED_LOW), bytes_at, "i8")
    used_high = f.at(f.address(Field.USED_HIGH), bytes_at, "i8")
    with f.count("0", f.word(layer, Layer.WIDTH)) as j:
        least, most = f.number(low, j), f.number(high, j)
        is_open = f.value(f"and i1 {f.less(least, '0.0', D)}, {f.less('0.0', most, D)}")
        with f.when(is_open):
            f.do(call("entry", "i64 %box", "i64 %number", f"i64 {j}"))
            lower = f.larger(f.number(state, str(int(State.LEAST))), least, D)
            negated = f.minus("-0.0", f.number(state, str(State.LEAST + 1)), D)
            upper = f.smaller(negated, most, D)
            enough = f.times(f.minus(most, least, D), f.constant(worth, D), D)
            on, off = f.less("0.0", lower, D, "ole"), f.less(upper, "0.0", D, "ole")
            rises = f.less(enough, f.minus(lower, least, D), D, "ole")
            falls = f.less(enough, f.minus(most, upper, D), D, "ole")
            rises = _without(f, f.value(f"or i1 {rises}, {on}"), off)
            falls = _without(f, f.value(f"or i1 {falls}, {off}"), on)
            f.put_number(low, j, f.choose(rises, lower, least, D))
            f.put_number(high, j, f.choose(falls, upper, most, D))
            f.store(used_low, j, f.value(f"zext i1 {rises} to i8"), "i8")
            f.store(used_high, j, f.value(f"zext i1 {falls} to i8"), "i8")
    f.do("ret i64 0")
    return f


def _without(f: Code, one: str, other: str) -> str:
    return f.value(f"and i1 {one}, {f.value(f'xor i1 {other}, true')}")


def _lines() -> Function:
    """Lines around the ReLUs of a layer, and what roundings of its coefficients cost."""
    f = Code("lines", ", i64 %box, i64 %number")
    layer = f.layer("%number")
    column, padded = f.word(layer, Layer.COLUMN), f.word(layer, Layer.PADDED)
    names = (Field.LOW, Field.HIGH, Field.BELOW, Field.ABOVE, Field.CONSTANT, Field.COST, Field.REAL)
    low, high, below, above, constant, cost, real = (f.sheet(name, "%box", column) for name in names)
    radius, effect = f.sheet(Field.RADIUS, "%box", column), f.buffer(Buffer.EFFECT)
    back, one = f.spread(f.factor(layer, Factor.RADIUS_BACK)), f.constant(1.0)
    total, zero, tiny, small = f.sum_up(), "zeroinitializer", f.constant(TINY), f.constant(SMALL)
    with f.vectors(padded) as i:
        least, most = f.vector(low, i), f.vector(high, i)
        is_open = f.value(f"and <8 x i1> {f.less(least, zero)}, {f.less(zero, most)}")
        negated = f.minus(zero, least)
        slope = f.choose(is_open, f.choose(f.less(negated, most), one, zero), zero)
        slope = f.choose(f.less(zero, least, V, "ole"), one, slope)
        width = f.choose(is_open, f.minus(most, least), one)
        chord = f.choose(is_open, f.value(f"fdiv {V} {most}, {width}"), slope)
        left = up(f, f.minus(zero, down(f, f.times(chord, least))))
        right = up(f, f.minus(most, down(f, f.times(chord, most))))
        ends = f.larger(f.larger(left, right), small)
        f.put_vector(below, i, slope)
        f.put_vector(above, i, chord)
        f.put_vector(constant, i, f.choose(is_open, ends, small))
        size = f.larger(f.size(least), f.size(most))
        plain = f.plus(f.plus(f.times(size, f.constant(gamma(1))), f.vector(effect, i)), tiny)
        f.put_vector(real, i, plain)
        whole = f.plus(plain, f.times(back, f.vector(radius, i)))
        f.put_vector(cost, i, whole)
        f.gather(total, whole)
    state, place = f.buffer(Buffer.STATE), str(int(State.COSTS))
    f.put_number(state, place, f.plus(f.number(state, place), f.gathered(total), D))
    next_one = f.add("%number", "1")
    is_last = f.compare("sgt", next_one, f.field(Field.LAST))
    bent = f.word(f.layer(f.choose(is_last, "%number", next_one, "i64")), Layer.BENT)
    bent = f.choose(is_last, "0", bent, "i64")
    f.do(call("alive", "i64 %box", "i64 %number", f"i64 {bent}"))
    f.do("ret i64 0")
    return f


def _bound() -> Function:
    """All layers of all boxes."""
    f = Code("bound", internal=False)
    last, substitutes = f.field(Field.LAST), f.field(Field.SUBSTITUTES)
    with f.count("0", f.field(Field.BOXES)) as box:
        f.do(call("input_box", f"i64 {box}"))
        f.put_number(f.buffer(Buffer.STATE), str(int(State.COSTS)), "0.0")
        with f.count(f.field(Field.START), f.add(last, "1")) as number:
            f.do(call("interval", f"i64 {box}", f"i64 {number}"))
            wanted = f.value(f"and i64 {f.word(f.layer(number), Layer.WANTED)}, {substitutes}")
            with f.unless_zero(wanted):
                f.do(call("narrow", f"i64 {box}", f"i64 {number}"))
            f.do(call("lines", f"i64 {box}", f"i64 {number}"))
    f.do("ret i64 0")
    return f
