"""The ascent of `bounding.slope_ascent` in machine code, box by box: twice on purpose.

Every step substitutes the combined row rigorously, so the best plane found is one that counts, and a box that
is refuted takes no more steps.
"""

from __future__ import annotations

from surefoot.solvers.native.relu_chain.backward import (
    D,
    alive_list_pointer,
    emit_box_preparation,
    emit_chain_multiply,
    emit_plane_bounds,
    emit_walk_call,
    format_call,
)
from surefoot.solvers.native.relu_chain.llvm_builder import (
    AscentArray,
    ChainFunction,
    LayerWord,
    PlaneState,
    ScratchBuffer,
    TableField,
    V,
)
from surefoot.work.machine.llvm_ir import IrFunction


def climb_functions() -> tuple[IrFunction, ...]:
    return (
        _emit_row_combination(),
        _emit_plane_height(),
        _emit_relaxed_forward(),
        _emit_slope_step(),
        _emit_share_step(),
        _emit_keep_best(),
        _emit_input_gains(),
        _emit_ascent(),
    )


def _emit_row_combination() -> IrFunction:
    """Put the rows together, by their shares and scales."""
    f = ChainFunction("row", ", i64 %box")
    layer, rows = f.layer(f.field(TableField.LAST)), f.field(TableField.ROW_COUNT)
    width, total = f.word(layer, LayerWord.WIDTH), f.buffer(ScratchBuffer.ROW)
    first, shares = f.mul("%box", rows), f.address(TableField.SHARES)
    f.fill(total, f.word(layer, LayerWord.PADDED))
    with f.count("0", rows) as r:
        place = f.add(first, r)
        weight = f.times(f.number(shares, place), f.number(f.address(TableField.SCALES), place), D)
        own = f.at(f.address(TableField.ROWS), f.mul(r, width), D)
        with f.count("0", width) as j:
            f.put_number(total, j, f.plus(f.number(total, j), f.times(weight, f.number(own, j), D), D))
    f.copy_vectors(total, f.buffer(ScratchBuffer.ONE), f.word(layer, LayerWord.PADDED))
    for part in (PlaneState.CONSTANT, PlaneState.SLACK):
        f.put_number(f.buffer(ScratchBuffer.STATE), str(int(part)), "0.0")
    return f


def _emit_plane_height() -> IrFunction:
    """Where the plane is least, and how high it is there but for all roundings."""
    f = ChainFunction("height", ", i64 %box, ptr %found, ptr %extra, i64 %direct")
    low, high = f.sheet(TableField.LOW, "%box"), f.sheet(TableField.HIGH, "%box")
    sums = f.running_sum()
    with f.vectors(f.word(f.address(TableField.LAYERS), LayerWord.PADDED)) as i:
        slopes = f.place(V, "zeroinitializer")
        f.store_place(slopes, f.vector("%found", i), V)
        with f.unless_zero("%direct"):
            f.add_to_sum(slopes, f.vector("%extra", i))
        steep = f.load_place(slopes, V)
        point = f.choose(f.less("zeroinitializer", steep), f.vector(low, i), f.vector(high, i))
        f.put_vector(f.buffer(ScratchBuffer.POINT), i, point)
        f.add_to_sum(sums, f.times(steep, point))
    value = f.plus(f.reduce_sum(sums), f.number(f.buffer(ScratchBuffer.STATE), PlaneState.CONSTANT), D)
    f.put_number(f.buffer(ScratchBuffer.HEIGHT), "0", value)
    return f


def _emit_relaxed_forward() -> IrFunction:
    """The layers at the point if every ReLU is the line that its coefficient has met."""
    f = ChainFunction("raise", ", i64 %box")
    source, inputs = f.buffer(ScratchBuffer.MIDDLE), f.address(TableField.LAYERS)
    f.copy_vectors(f.buffer(ScratchBuffer.POINT), source, f.word(inputs, LayerWord.PADDED))
    with f.count("1", f.add(f.field(TableField.LAST), "1")) as number:
        layer, before = f.layer(number), f.layer(f.sub(number, "1"))
        with f.unless_zero(f.word(layer, LayerWord.BENT)):
            column = f.word(before, LayerWord.COLUMN)
            fields = (TableField.BELOW, TableField.ABOVE, TableField.CONSTANT)
            below, above, lines = f.sheets("%box", column, *fields)
            met = f.work(AscentArray.MET, column)
            with f.vectors(f.word(before, LayerWord.PADDED)) as i:
                value = f.vector(source, i)
                upper = f.plus(f.times(f.vector(above, i), value), f.vector(lines, i))
                lower = f.times(f.vector(below, i), value)
                rises = f.less("zeroinitializer", f.vector(met, i))
                f.put_vector(source, i, f.choose(rises, lower, upper))
        entries = alive_list_pointer(f, f.sub(number, "1"))
        out = f.work(AscentArray.ARGUMENTS, f.word(layer, LayerWord.COLUMN))
        is_first = f.compare("eq", number, "1")
        places = f.choose(is_first, f.buffer(ScratchBuffer.EVERY), f.at(entries, "1"), "ptr")
        count = f.choose(is_first, f.word(inputs, LayerWord.WIDTH), f.load(entries, "0"), "i64")
        padded = f.word(layer, LayerWord.PADDED)
        listed = f"ptr {places}, i64 {count}"
        emit_chain_multiply(f, [source], [out], listed, f.array(layer, LayerWord.TURNED), padded)
        with f.unless_zero(f.word(layer, LayerWord.DIRECT)):
            extra = f.buffer(ScratchBuffer.PRODUCT_ONE)
            every = f"ptr {f.buffer(ScratchBuffer.EVERY)}, i64 {f.word(inputs, LayerWord.WIDTH)}"
            weights = f.array(layer, LayerWord.DIRECT_TURNED)
            emit_chain_multiply(f, [f.buffer(ScratchBuffer.POINT)], [extra], every, weights, padded)
            with f.vectors(padded) as i:
                f.put_vector(out, i, f.plus(f.vector(out, i), f.vector(extra, i)))
        with f.vectors(padded) as i:
            value = f.plus(f.vector(out, i), f.vector(f.array(layer, LayerWord.BIAS), i))
            f.put_vector(out, i, value)
            f.put_vector(source, i, value)
    return f


def _emit_slope_step() -> IrFunction:
    """The slopes below open ReLUs by the sign of their gradient, which is coefficient times argument."""
    f = ChainFunction("move", ", i64 %box, double %rate")
    zero, one, rate = "zeroinitializer", f.constant(1.0), f.broadcast_number("%rate")
    with f.count("1", f.field(TableField.LAST)) as number:
        layer = f.layer(number)
        with f.unless_zero(f.word(f.layer(f.add(number, "1")), LayerWord.BENT)):
            column, padded = f.word(layer, LayerWord.COLUMN), f.word(layer, LayerWord.PADDED)
            met, arguments = f.work(AscentArray.MET, column), f.work(AscentArray.ARGUMENTS, column)
            momentum, slopes = f.work(AscentArray.MOMENTUM, column), f.sheet(TableField.BELOW, "%box", column)
            low, high = f.sheet(TableField.LOW, "%box", column), f.sheet(TableField.HIGH, "%box", column)
            largest = f.place(D, "0.0")
            f.store_place(largest, "0.0", D)
            with f.count("0", f.word(layer, LayerWord.WIDTH)) as j:
                pull = f.times(f.larger(f.number(met, j), "0.0", D), f.number(arguments, j), D)
                f.store_place(largest, f.larger(f.size(pull, D), f.load_place(largest, D), D), D)
            size = f.plus(f.load_place(largest, D), f.constant(1e-300, D), D)
            scale = f.broadcast_number(f.value(f"fdiv double {f.constant(8.0, D)}, {size}"))
            with f.vectors(padded) as i:
                pull = f.times(f.larger(f.vector(met, i), zero), f.vector(arguments, i))
                share = f.smaller(f.larger(f.times(pull, scale), f.constant(-1.0)), one)
                going = f.plus(f.times(f.vector(momentum, i), f.constant(0.5)), share)
                f.put_vector(momentum, i, going)
                now = f.vector(slopes, i)
                moved = f.smaller(f.larger(f.plus(now, f.times(rate, going)), zero), one)
                is_open = f.value(
                    f"and <8 x i1> {f.less(f.vector(low, i), zero)}, {f.less(zero, f.vector(high, i))}"
                )
                f.put_vector(slopes, i, f.choose(is_open, moved, now))
    return f


def _emit_share_step() -> IrFunction:
    """Rows that are higher at the point count more: a step of exponentiated gradient ascent."""
    f = ChainFunction("share", ", i64 %box, double %rate")
    rows, layer = f.field(TableField.ROW_COUNT), f.layer(f.field(TableField.LAST))
    width = f.word(layer, LayerWord.WIDTH)
    values = f.work(AscentArray.ARGUMENTS, f.word(layer, LayerWord.COLUMN))
    heights, first = f.buffer(ScratchBuffer.HEIGHT), f.mul("%box", rows)
    shares, scales = (f.at(f.address(name), first, D) for name in (TableField.SHARES, TableField.SCALES))
    mean, largest, total = (f.place(D, "0.0") for _ in range(3))
    with f.count("0", rows) as r:
        own, height = f.at(f.address(TableField.ROWS), f.mul(r, width), D), f.place(D, "0.0")
        f.store_place(height, "0.0", D)
        with f.count("0", width) as j:
            part = f.times(f.number(own, j), f.number(values, j), D)
            f.store_place(height, f.plus(f.load_place(height, D), part, D), D)
        value = f.times(f.load_place(height, D), f.number(scales, r), D)
        f.put_number(heights, r, value)
        f.store_place(mean, f.plus(f.load_place(mean, D), f.times(f.number(shares, r), value, D), D), D)
    with f.count("0", rows) as r:
        idle = f.less(f.number(scales, r), "0.0", D, "oeq")
        centred = f.choose(idle, "0.0", f.minus(f.number(heights, r), f.load_place(mean, D), D), D)
        f.put_number(heights, r, centred)
        f.store_place(largest, f.larger(f.size(centred, D), f.load_place(largest, D), D), D)
    size = f.plus(f.load_place(largest, D), f.constant(1e-300, D), D)
    with f.count("0", rows) as r:
        idle = f.less(f.number(scales, r), "0.0", D, "oeq")
        least = f.larger(f.number(shares, r), f.constant(1e-4, D), D)
        step = f.value(f"fdiv double {f.times('%rate', f.number(heights, r), D)}, {size}")
        factor = f.value(f"call double @llvm.exp.f64(double {step})")
        moved = f.times(f.choose(idle, f.constant(1e-12, D), least, D), factor, D)
        f.put_number(shares, r, moved)
        f.store_place(total, f.plus(f.load_place(total, D), moved, D), D)
    with f.count("0", rows) as r:
        f.put_number(shares, r, f.value(f"fdiv double {f.number(shares, r)}, {f.load_place(total, D)}"))
    return f


def _emit_keep_best() -> IrFunction:
    """Note the plane at hand as the best one so far."""
    f = ChainFunction("keep", ", i64 %box, ptr %found")
    layer, inputs = f.layer(f.field(TableField.LAST)), f.address(TableField.LAYERS)
    state = f.buffer(ScratchBuffer.STATE)
    width, wide = f.word(layer, LayerWord.WIDTH), f.word(inputs, LayerWord.WIDTH)
    columns = f.field(TableField.COLUMNS)
    f.put_number(f.address(TableField.LEAST), "%box", f.number(state, PlaneState.LEAST))
    f.put_number(f.address(TableField.CONSTANTS), "%box", f.number(state, PlaneState.CONSTANT))
    f.put_number(f.address(TableField.HEIGHTS), "%box", f.number(f.buffer(ScratchBuffer.HEIGHT), "0"))
    for field, count, source in (
        (TableField.MULTIPLIERS, width, f.buffer(ScratchBuffer.ROW)),
        (TableField.PLANES, wide, "%found"),
    ):
        out = f.at(f.address(field), f.mul("%box", count), D)
        with f.count("0", count) as j:
            f.put_number(out, j, f.number(source, j))
    f.copy_vectors(f.sheet(TableField.BELOW, "%box"), f.work(AscentArray.BEST), columns)
    f.copy_vectors(f.work(AscentArray.MET), f.work(AscentArray.BEST_MET), columns)
    return f


def _emit_input_gains() -> IrFunction:
    """How much a narrower input would straighten: gaps between lines times coefficients, carried back."""
    f = ChainFunction("gain", ", i64 %box")
    carried, other = f.buffer(ScratchBuffer.ONE), f.buffer(ScratchBuffer.TWO)
    inputs, last = f.address(TableField.LAYERS), f.field(TableField.LAST)
    number = f.variable(f.sub(last, "1"))
    f.fill(carried, f.word(f.layer(f.get(number)), LayerWord.PADDED))
    with f.loop() as reached:
        here = f.get(number)
        f.leave(f.compare("eq", here, "0"), reached)
        layer = f.layer(here)
        column, padded = f.word(layer, LayerWord.COLUMN), f.word(layer, LayerWord.PADDED)
        with f.unless_zero(f.word(f.layer(f.add(here, "1")), LayerWord.BENT)):
            below, above = f.sheets("%box", column, TableField.BELOW, TableField.ABOVE)
            met = f.work(AscentArray.BEST_MET, column)
            with f.vectors(padded) as i:
                lower, upper = f.vector(below, i), f.vector(above, i)
                gap = f.times(f.size(f.vector(met, i)), f.size(f.minus(upper, lower)))
                steep = f.times(f.vector(carried, i), f.larger(lower, upper))
                f.put_vector(carried, i, f.plus(gap, steep))
        entries = alive_list_pointer(f, here)
        listed = f"ptr {f.at(entries, '1')}, i64 {f.load(entries, '0')}"
        columns = f.word(layer, LayerWord.SOURCE_PADDED)
        emit_chain_multiply(f, [carried], [other], listed, f.array(layer, LayerWord.WEIGHTS), columns, False)
        f.copy_vectors(other, carried, columns)
        f.set_variable(number, f.sub(here, "1"))
    wide = f.word(inputs, LayerWord.WIDTH)
    out = f.at(f.address(TableField.GAINS), f.mul("%box", wide), D)
    with f.count("0", wide) as j:
        f.put_number(out, j, f.number(carried, j))
    return f


def _emit_ascent() -> IrFunction:
    """The ascents of all boxes."""
    f = ChainFunction("climb", internal=False)
    last, steps, state = f.field(TableField.LAST), f.field(TableField.STEPS), f.buffer(ScratchBuffer.STATE)
    direct, columns = f.word(f.layer(last), LayerWord.DIRECT), f.field(TableField.COLUMNS)
    extra = f.buffer(ScratchBuffer.ONE_DIRECT)
    several = f.compare("sgt", f.field(TableField.ROW_COUNT), "1")
    count = f.value(f"sitofp i64 {steps} to double")
    with f.count("0", f.field(TableField.BOXES)) as box:
        f.do(format_call("input_box", f"i64 {box}"))
        emit_box_preparation(f, box, last)
        f.fill(f.work(AscentArray.MOMENTUM), columns)
        best, step = f.place(D, "0.0"), f.variable("0")
        f.store_place(best, f.constant(float("-inf"), D), D)
        f.set_variable(step, "0")
        f.copy_vectors(f.sheet(TableField.BELOW, box), f.work(AscentArray.BEST), columns)
        f.fill(f.work(AscentArray.BEST_MET), columns)
        with f.loop() as enough:
            f.do(format_call("row", f"i64 {box}"))
            found = emit_walk_call(f, box, last, "0", [f.work(AscentArray.MET)], "1")
            f.do(format_call("height", f"i64 {box}", f"ptr {found[0]}", f"ptr {extra}", f"i64 {direct}"))
            emit_plane_bounds(f, box, found, direct)
            value = f.number(state, PlaneState.LEAST)
            with f.when(f.less(f.load_place(best, D), value, D)):
                f.store_place(best, value, D)
                f.do(format_call("keep", f"i64 {box}", f"ptr {found[0]}"))
            here = f.get(step)
            done = f.add(here, "1")
            f.set_variable(step, done)
            ended = f.value(f"or i1 {f.less('0.0', value, D)}, {f.compare('sge', done, steps)}")
            f.leave(ended, enough)
            f.do(format_call("raise", f"i64 {box}"))
            part = f.value(f"fdiv double {f.value(f'sitofp i64 {here} to double')}, {count}")
            rate = f.minus("1.0", part, D)
            f.do(format_call("move", f"i64 {box}", f"double {f.times(rate, f.constant(0.4, D), D)}"))
            with f.when(several):
                f.do(format_call("share", f"i64 {box}", f"double {f.times(rate, f.constant(1.5, D), D)}"))
        f.copy_vectors(f.work(AscentArray.BEST), f.sheet(TableField.BELOW, box), columns)
        f.do(format_call("gain", f"i64 {box}"))
    return f
