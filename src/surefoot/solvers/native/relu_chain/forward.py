"""Bounds of all layers of a box in machine code: twice on purpose, see `bounding.network_bounds`.

Intervals, then back-substitution of the entries with an open sign, then the lines around ReLUs.
"""

from __future__ import annotations

from surefoot.network.directed_rounding import TINY, gamma_factor
from surefoot.network.float32_error import LARGEST
from surefoot.solvers.native.relu_chain.backward import (
    D,
    emit_centre_radius,
    emit_chain_multiply,
    emit_plane_bounds,
    emit_round_down,
    emit_round_up,
    emit_walk_call,
    format_call,
)
from surefoot.solvers.native.relu_chain.llvm_builder import (
    SHEETS,
    ChainFunction,
    LayerWord,
    PlaneState,
    RoundingFactor,
    ScratchBuffer,
    TableField,
    V,
)
from surefoot.work.machine.llvm_ir import IrFunction

SMALL = 2.0**-960


def forward_functions(worth: float) -> tuple[IrFunction, ...]:
    """`worth`: the part of a width that a new bound must gain."""
    return (
        _emit_interval(),
        _emit_entry_bounds(),
        _emit_tighten_layer(worth),
        _emit_relu_relaxation(),
        _emit_bound_layers(),
    )


def _emit_interval() -> IrFunction:
    """The interval of a layer from what it reads, its float32 rounding, and its costs per coefficient."""
    f = ChainFunction("interval", ", i64 %box, i64 %number")
    layer, before = f.layer("%number"), f.layer(f.sub("%number", "1"))
    column, padded = f.word(layer, LayerWord.COLUMN), f.word(layer, LayerWord.PADDED)
    source = f.word(before, LayerWord.COLUMN)
    error = f.factor(layer, RoundingFactor.INTERVAL)
    _emit_read_source(f, source, f.word(before, LayerWord.PADDED), f.word(layer, LayerWord.BENT), error)
    totals = [
        f.buffer(b) for b in (ScratchBuffer.PRODUCT_ONE, ScratchBuffer.PRODUCT_TWO, ScratchBuffer.EFFECT)
    ]
    count = f.word(before, LayerWord.WIDTH)
    _emit_interval_products(f, layer, LayerWord.TURNED, count, padded, totals)
    with f.unless_zero(f.word(layer, LayerWord.DIRECT)):
        inputs = f.address(TableField.LAYERS)
        _emit_read_source(f, "0", f.word(inputs, LayerWord.PADDED), "0", error)
        extra = [f.buffer(b) for b in (ScratchBuffer.ONE, ScratchBuffer.TWO, ScratchBuffer.ONE_AFTER)]
        _emit_interval_products(
            f, layer, LayerWord.DIRECT_TURNED, f.word(inputs, LayerWord.WIDTH), padded, extra
        )
        with f.vectors(padded) as i:
            for total, more in zip(totals, extra, strict=True):
                f.put_vector(total, i, f.plus(f.vector(total, i), f.vector(more, i)))
    _emit_interval_ends(f, layer, column, padded, totals, error)
    return f


def _emit_interval_products(
    f: ChainFunction, layer: str, name: LayerWord, count: str, padded: str, out: list[str]
) -> None:
    """Centres times weights; widths, and largest sizes, times weights without signs."""
    weights = f.array(layer, name)
    middle, width, size = (
        f.buffer(b) for b in (ScratchBuffer.MIDDLE, ScratchBuffer.WIDTH, ScratchBuffer.SIZE)
    )
    listed = f"ptr {f.buffer(ScratchBuffer.EVERY)}, i64 {count}"
    emit_chain_multiply(f, [middle], out[:1], listed, weights, padded)
    emit_chain_multiply(f, [width, size], out[1:], listed, weights, padded, False)


def _emit_read_source(f: ChainFunction, source: str, padded: str, bent: str, error: str) -> None:
    """Centres, widths with their error, and largest sizes of what a layer reads."""
    low, high = f.sheet(TableField.LOW, "%box", source), f.sheet(TableField.HIGH, "%box", source)
    error = f.broadcast_number(error)
    cut = f.broadcast_number(f.choose(f.compare("ne", bent, "0"), "0.0", f.constant(float("-inf"), D), D))
    with f.vectors(padded) as i:
        least, most = f.larger(f.vector(low, i), cut), f.larger(f.vector(high, i), cut)
        at, far = emit_centre_radius(f, least, most)
        f.put_vector(f.buffer(ScratchBuffer.MIDDLE), i, at)
        wide = f.plus(far, f.times(error, f.plus(f.size(at), far)))
        f.put_vector(f.buffer(ScratchBuffer.WIDTH), i, wide)
        f.put_vector(f.buffer(ScratchBuffer.SIZE), i, f.larger(f.size(least), f.size(most)))


def _emit_interval_ends(
    f: ChainFunction, layer: str, column: str, padded: str, totals: list[str], error: str
) -> None:
    """From the three products to bounds, radius and effect."""
    low, high = f.sheet(TableField.LOW, "%box", column), f.sheet(TableField.HIGH, "%box", column)
    radius, effect = f.sheet(TableField.RADIUS, "%box", column), f.buffer(ScratchBuffer.EFFECT)
    bias = f.array(layer, LayerWord.BIAS)
    error, back = f.broadcast_number(error), f.broadcast_number(f.factor(layer, RoundingFactor.BACK))
    rounded = f.word(layer, LayerWord.ROUNDED)
    factors = [
        f.broadcast_number(f.factor(layer, w))
        for w in (RoundingFactor.RADIUS, RoundingFactor.RADIUS_LEAST, RoundingFactor.RADIUS_ROOM)
    ]
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
            once = f.broadcast_bit(f.compare("eq", rounded, "2"))
            base = f.choose(once, own, total)
            by = f.plus(f.times(base, factors[0]), factors[1])
            fits = f.less(f.times(base, factors[2]), f.constant(LARGEST))
            by = f.choose(fits, by, f.constant(float("inf")))
            exact = f.less(f.vector(f.array(layer, LayerWord.MASK), i), f.constant(0.5))
            by = f.choose(exact, "zeroinitializer", by)
            f.put_vector(radius, i, by)
            f.put_vector(low, i, emit_round_down(f, f.minus(least, by)))
            f.put_vector(high, i, emit_round_up(f, f.plus(most, by)))
    with f.unless_zero(f.field(TableField.KNOWN_LOW)):
        least, most = f.sheets("%box", column, TableField.KNOWN_LOW, TableField.KNOWN_HIGH)
        with f.vectors(padded) as i:
            f.put_vector(low, i, f.larger(f.vector(least, i), f.vector(low, i)))
            f.put_vector(high, i, f.smaller(f.vector(most, i), f.vector(high, i)))


def _emit_entry_bounds() -> IrFunction:
    """Bounds of an entry of a layer by back-substitution: below it, and below it with its sign turned."""
    f = ChainFunction("entry", ", i64 %box, i64 %number, i64 %which")
    layer, state = f.layer("%number"), f.buffer(ScratchBuffer.STATE)
    columns, column = f.word(layer, LayerWord.SOURCE_PADDED), f.word(layer, LayerWord.COLUMN)
    row = f.at(f.array(layer, LayerWord.WEIGHTS), f.mul("%which", columns), D)
    one, two = f.buffer(ScratchBuffer.ONE), f.buffer(ScratchBuffer.TWO)
    with f.vectors(columns) as i:
        weights = f.vector(row, i)
        f.put_vector(one, i, weights)
        f.put_vector(two, i, f.minus(f.constant(-0.0), weights))
    bias = f.number(f.array(layer, LayerWord.BIAS), "%which")
    radius = f.number(f.sheet(TableField.RADIUS, "%box", column), "%which")
    slack = f.number(f.buffer(ScratchBuffer.EFFECT), "%which")
    slack = f.plus(slack, f.times(radius, f.factor(layer, RoundingFactor.RADIUS_BACK), D), D)
    for r, constant in enumerate((bias, f.minus("-0.0", bias, D))):
        f.put_number(state, PlaneState.CONSTANT + r, constant)
        f.put_number(state, PlaneState.SLACK + r, f.plus(slack, f.constant(TINY, D), D))
    before, bent = f.sub("%number", "1"), f.word(layer, LayerWord.BENT)
    emit_plane_bounds(f, "%box", emit_walk_call(f, "%box", before, bent, ("null", "null"), "0"), "0")
    return f


def _emit_tighten_layer(worth: float) -> IrFunction:
    """Back-substitution of the open entries of a layer; what decides no sign and gains little is left out."""
    f = ChainFunction("narrow", ", i64 %box, i64 %number")
    layer, state = f.layer("%number"), f.buffer(ScratchBuffer.STATE)
    column = f.word(layer, LayerWord.COLUMN)
    low, high = f.sheet(TableField.LOW, "%box", column), f.sheet(TableField.HIGH, "%box", column)
    bytes_at = f.add(f.mul("%box", f.field(TableField.COLUMNS)), column)
    used_low = f.at(f.address(TableField.USED_LOW), bytes_at, "i8")
    used_high = f.at(f.address(TableField.USED_HIGH), bytes_at, "i8")
    with f.count("0", f.word(layer, LayerWord.WIDTH)) as j:
        least, most = f.number(low, j), f.number(high, j)
        is_open = f.value(f"and i1 {f.less(least, '0.0', D)}, {f.less('0.0', most, D)}")
        with f.when(is_open):
            f.do(format_call("entry", "i64 %box", "i64 %number", f"i64 {j}"))
            lower = f.larger(f.number(state, PlaneState.LEAST), least, D)
            negated = f.minus("-0.0", f.number(state, PlaneState.LEAST + 1), D)
            upper = f.smaller(negated, most, D)
            enough = f.times(f.minus(most, least, D), f.constant(worth, D), D)
            on, off = f.less("0.0", lower, D, "ole"), f.less(upper, "0.0", D, "ole")
            rises = f.less(enough, f.minus(lower, least, D), D, "ole")
            falls = f.less(enough, f.minus(most, upper, D), D, "ole")
            rises = _emit_and_not(f, f.value(f"or i1 {rises}, {on}"), off)
            falls = _emit_and_not(f, f.value(f"or i1 {falls}, {off}"), on)
            f.put_number(low, j, f.choose(rises, lower, least, D))
            f.put_number(high, j, f.choose(falls, upper, most, D))
            f.store(used_low, j, f.value(f"zext i1 {rises} to i8"), "i8")
            f.store(used_high, j, f.value(f"zext i1 {falls} to i8"), "i8")
    return f


def _emit_and_not(f: ChainFunction, one: str, other: str) -> str:
    return f.value(f"and i1 {one}, {f.value(f'xor i1 {other}, true')}")


def _emit_relu_relaxation() -> IrFunction:
    """Lines around the ReLUs of a layer, and what roundings of its coefficients cost."""
    f = ChainFunction("lines", ", i64 %box, i64 %number")
    layer = f.layer("%number")
    column, padded = f.word(layer, LayerWord.COLUMN), f.word(layer, LayerWord.PADDED)
    low, high, below, above, constant, cost, real, radius = f.sheets("%box", column, *SHEETS)
    effect = f.buffer(ScratchBuffer.EFFECT)
    back, one = f.broadcast_number(f.factor(layer, RoundingFactor.RADIUS_BACK)), f.constant(1.0)
    total, zero, tiny, small = f.running_sum(), "zeroinitializer", f.constant(TINY), f.constant(SMALL)
    with f.vectors(padded) as i:
        least, most = f.vector(low, i), f.vector(high, i)
        is_open = f.value(f"and <8 x i1> {f.less(least, zero)}, {f.less(zero, most)}")
        negated = f.minus(zero, least)
        slope = f.choose(is_open, f.choose(f.less(negated, most), one, zero), zero)
        slope = f.choose(f.less(zero, least, V, "ole"), one, slope)
        width = f.choose(is_open, f.minus(most, least), one)
        chord = f.choose(is_open, f.value(f"fdiv {V} {most}, {width}"), slope)
        left = emit_round_up(f, f.minus(zero, emit_round_down(f, f.times(chord, least))))
        right = emit_round_up(f, f.minus(most, emit_round_down(f, f.times(chord, most))))
        ends = f.larger(f.larger(left, right), small)
        f.put_vector(below, i, slope)
        f.put_vector(above, i, chord)
        f.put_vector(constant, i, f.choose(is_open, ends, small))
        size = f.larger(f.size(least), f.size(most))
        plain = f.plus(f.plus(f.times(size, f.constant(gamma_factor(1))), f.vector(effect, i)), tiny)
        f.put_vector(real, i, plain)
        whole = f.plus(plain, f.times(back, f.vector(radius, i)))
        f.put_vector(cost, i, whole)
        f.add_to_sum(total, whole)
    state, place = f.buffer(ScratchBuffer.STATE), PlaneState.COSTS
    f.put_number(state, place, f.plus(f.number(state, place), f.reduce_sum(total), D))
    next_one = f.add("%number", "1")
    is_last = f.compare("sgt", next_one, f.field(TableField.LAST))
    bent = f.word(f.layer(f.choose(is_last, "%number", next_one, "i64")), LayerWord.BENT)
    bent = f.choose(is_last, "0", bent, "i64")
    f.do(format_call("alive", "i64 %box", "i64 %number", f"i64 {bent}"))
    return f


def _emit_bound_layers() -> IrFunction:
    """All layers of all boxes."""
    f = ChainFunction("bound", internal=False)
    last, substitutes = f.field(TableField.LAST), f.field(TableField.SUBSTITUTES)
    with f.count("0", f.field(TableField.BOXES)) as box:
        f.do(format_call("input_box", f"i64 {box}"))
        f.put_number(f.buffer(ScratchBuffer.STATE), PlaneState.COSTS, "0.0")
        with f.count(f.field(TableField.START), f.add(last, "1")) as number:
            f.do(format_call("interval", f"i64 {box}", f"i64 {number}"))
            wanted = f.value(f"and i64 {f.word(f.layer(number), LayerWord.WANTED)}, {substitutes}")
            with f.unless_zero(wanted):
                f.do(format_call("narrow", f"i64 {box}", f"i64 {number}"))
            f.do(format_call("lines", f"i64 {box}", f"i64 {number}"))
    return f
