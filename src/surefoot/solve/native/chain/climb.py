"""The ascent of `bounding.dual` in machine code: multipliers of rows and slopes below ReLUs, box by box.

Every step substitutes the combined row rigorously, so the best plane found is one that counts, and a box that
is refuted takes no more steps.
"""

from __future__ import annotations

from surefoot.solve.native.chain.backward import D, alive_list, bounded_below, call, multiply, prepare, walked
from surefoot.solve.native.chain.code import Buffer, Code, Field, Layer, State, V, Work
from surefoot.work.machine.text import Function


def climb_functions() -> tuple[Function, ...]:
    return (_row(), _height(), _raise(), _move(), _share(), _keep(), _gain(), _climb())


def _row() -> Function:
    """Put the rows together, by their shares and scales."""
    f = Code("row", ", i64 %box")
    layer, rows = f.layer(f.field(Field.LAST)), f.field(Field.ROW_COUNT)
    width, total = f.word(layer, Layer.WIDTH), f.buffer(Buffer.ROW)
    first, shares = f.mul("%box", rows), f.address(Field.SHARES)
    f.fill(total, f.word(layer, Layer.PADDED))
    with f.count("0", rows) as r:
        place = f.add(first, r)
        weight = f.times(f.number(shares, place), f.number(f.address(Field.SCALES), place), D)
        own = f.at(f.address(Field.ROWS), f.mul(r, width), D)
        with f.count("0", width) as j:
            f.put_number(total, j, f.plus(f.number(total, j), f.times(weight, f.number(own, j), D), D))
    f.copy_vectors(total, f.buffer(Buffer.ONE), f.word(layer, Layer.PADDED))
    for part in (State.CONSTANT, State.SLACK):
        f.put_number(f.buffer(Buffer.STATE), str(int(part)), "0.0")
    f.do("ret i64 0")
    return f


def _height() -> Function:
    """Where the plane is least, and how high it is there but for all roundings."""
    f = Code("height", ", i64 %box, ptr %found, ptr %extra, i64 %direct")
    low, high = f.sheet(Field.LOW, "%box"), f.sheet(Field.HIGH, "%box")
    sums = f.sum_up()
    with f.vectors(f.word(f.address(Field.LAYERS), Layer.PADDED)) as i:
        slopes = f.place(V, "zeroinitializer")
        f.write(slopes, f.vector("%found", i), V)
        with f.unless_zero("%direct"):
            f.gather(slopes, f.vector("%extra", i))
        steep = f.read(slopes, V)
        point = f.choose(f.less("zeroinitializer", steep), f.vector(low, i), f.vector(high, i))
        f.put_vector(f.buffer(Buffer.POINT), i, point)
        f.gather(sums, f.times(steep, point))
    value = f.plus(f.gathered(sums), f.number(f.buffer(Buffer.STATE), str(int(State.CONSTANT))), D)
    f.put_number(f.buffer(Buffer.HEIGHT), "0", value)
    f.do("ret i64 0")
    return f


def _raise() -> Function:
    """The layers at the point if every ReLU is the line that its coefficient has met."""
    f = Code("raise", ", i64 %box")
    source, inputs = f.buffer(Buffer.MIDDLE), f.address(Field.LAYERS)
    f.copy_vectors(f.buffer(Buffer.POINT), source, f.word(inputs, Layer.PADDED))
    with f.count("1", f.add(f.field(Field.LAST), "1")) as number:
        layer, before = f.layer(number), f.layer(f.sub(number, "1"))
        with f.unless_zero(f.word(layer, Layer.BENT)):
            column = f.word(before, Layer.COLUMN)
            names = (Field.BELOW, Field.ABOVE, Field.CONSTANT)
            below, above, lines = (f.sheet(name, "%box", column) for name in names)
            met = f.work(Work.MET, column)
            with f.vectors(f.word(before, Layer.PADDED)) as i:
                value = f.vector(source, i)
                upper = f.plus(f.times(f.vector(above, i), value), f.vector(lines, i))
                lower = f.times(f.vector(below, i), value)
                rises = f.less("zeroinitializer", f.vector(met, i))
                f.put_vector(source, i, f.choose(rises, lower, upper))
        entries, out = alive_list(f, f.sub(number, "1")), f.work(Work.ARGUMENTS, f.word(layer, Layer.COLUMN))
        is_first = f.compare("eq", number, "1")
        places = f.choose(is_first, f.buffer(Buffer.EVERY), f.at(entries, "1"), "ptr")
        count = f.choose(is_first, f.word(inputs, Layer.WIDTH), f.load(entries, "0"), "i64")
        padded = f.word(layer, Layer.PADDED)
        listed = f"ptr {places}, i64 {count}"
        multiply(f, [source], [out], listed, f.array(layer, Layer.TURNED), padded)
        with f.unless_zero(f.word(layer, Layer.DIRECT)):
            extra = f.buffer(Buffer.PRODUCT_ONE)
            every = f"ptr {f.buffer(Buffer.EVERY)}, i64 {f.word(inputs, Layer.WIDTH)}"
            weights = f.array(layer, Layer.DIRECT_TURNED)
            multiply(f, [f.buffer(Buffer.POINT)], [extra], every, weights, padded)
            with f.vectors(padded) as i:
                f.put_vector(out, i, f.plus(f.vector(out, i), f.vector(extra, i)))
        with f.vectors(padded) as i:
            value = f.plus(f.vector(out, i), f.vector(f.array(layer, Layer.BIAS), i))
            f.put_vector(out, i, value)
            f.put_vector(source, i, value)
    f.do("ret i64 0")
    return f


def _move() -> Function:
    """The slopes below open ReLUs by the sign of their gradient, which is coefficient times argument."""
    f = Code("move", ", i64 %box, double %rate")
    zero, one, rate = "zeroinitializer", f.constant(1.0), f.spread("%rate")
    with f.count("1", f.field(Field.LAST)) as number:
        layer = f.layer(number)
        with f.unless_zero(f.word(f.layer(f.add(number, "1")), Layer.BENT)):
            column, padded = f.word(layer, Layer.COLUMN), f.word(layer, Layer.PADDED)
            met, arguments = f.work(Work.MET, column), f.work(Work.ARGUMENTS, column)
            momentum, slopes = f.work(Work.MOMENTUM, column), f.sheet(Field.BELOW, "%box", column)
            low, high = f.sheet(Field.LOW, "%box", column), f.sheet(Field.HIGH, "%box", column)
            largest = f.place(D, "0.0")
            f.write(largest, "0.0", D)
            with f.count("0", f.word(layer, Layer.WIDTH)) as j:
                pull = f.times(f.larger(f.number(met, j), "0.0", D), f.number(arguments, j), D)
                f.write(largest, f.larger(f.size(pull, D), f.read(largest, D), D), D)
            size = f.plus(f.read(largest, D), f.constant(1e-300, D), D)
            scale = f.spread(f.value(f"fdiv double {f.constant(8.0, D)}, {size}"))
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
    f.do("ret i64 0")
    return f


def _share() -> Function:
    """Rows that are higher at the point count more: a step of exponentiated gradient ascent."""
    f = Code("share", ", i64 %box, double %rate")
    rows, layer = f.field(Field.ROW_COUNT), f.layer(f.field(Field.LAST))
    width, values = f.word(layer, Layer.WIDTH), f.work(Work.ARGUMENTS, f.word(layer, Layer.COLUMN))
    heights, first = f.buffer(Buffer.HEIGHT), f.mul("%box", rows)
    shares, scales = (f.at(f.address(name), first, D) for name in (Field.SHARES, Field.SCALES))
    mean, largest, total = (f.place(D, "0.0") for _ in range(3))
    with f.count("0", rows) as r:
        own, height = f.at(f.address(Field.ROWS), f.mul(r, width), D), f.place(D, "0.0")
        f.write(height, "0.0", D)
        with f.count("0", width) as j:
            part = f.times(f.number(own, j), f.number(values, j), D)
            f.write(height, f.plus(f.read(height, D), part, D), D)
        value = f.times(f.read(height, D), f.number(scales, r), D)
        f.put_number(heights, r, value)
        f.write(mean, f.plus(f.read(mean, D), f.times(f.number(shares, r), value, D), D), D)
    with f.count("0", rows) as r:
        idle = f.less(f.number(scales, r), "0.0", D, "oeq")
        centred = f.choose(idle, "0.0", f.minus(f.number(heights, r), f.read(mean, D), D), D)
        f.put_number(heights, r, centred)
        f.write(largest, f.larger(f.size(centred, D), f.read(largest, D), D), D)
    size = f.plus(f.read(largest, D), f.constant(1e-300, D), D)
    with f.count("0", rows) as r:
        idle = f.less(f.number(scales, r), "0.0", D, "oeq")
        least = f.larger(f.number(shares, r), f.constant(1e-4, D), D)
        step = f.value(f"fdiv double {f.times('%rate', f.number(heights, r), D)}, {size}")
        factor = f.value(f"call double @llvm.exp.f64(double {step})")
        moved = f.times(f.choose(idle, f.constant(1e-12, D), least, D), factor, D)
        f.put_number(shares, r, moved)
        f.write(total, f.plus(f.read(total, D), moved, D), D)
    with f.count("0", rows) as r:
        f.put_number(shares, r, f.value(f"fdiv double {f.number(shares, r)}, {f.read(total, D)}"))
    f.do("ret i64 0")
    return f


def _keep() -> Function:
    """Note the plane at hand as the best one so far."""
    f = Code("keep", ", i64 %box, ptr %found")
    layer, inputs, state = f.layer(f.field(Field.LAST)), f.address(Field.LAYERS), f.buffer(Buffer.STATE)
    width, wide, columns = f.word(layer, Layer.WIDTH), f.word(inputs, Layer.WIDTH), f.field(Field.COLUMNS)
    f.put_number(f.address(Field.LEAST), "%box", f.number(state, str(int(State.LEAST))))
    f.put_number(f.address(Field.CONSTANTS), "%box", f.number(state, str(int(State.CONSTANT))))
    f.put_number(f.address(Field.HEIGHTS), "%box", f.number(f.buffer(Buffer.HEIGHT), "0"))
    for field, count, source in (
        (Field.MULTIPLIERS, width, f.buffer(Buffer.ROW)),
        (Field.PLANES, wide, "%found"),
    ):
        out = f.at(f.address(field), f.mul("%box", count), D)
        with f.count("0", count) as j:
            f.put_number(out, j, f.number(source, j))
    f.copy_vectors(f.sheet(Field.BELOW, "%box"), f.work(Work.BEST), columns)
    f.copy_vectors(f.work(Work.MET), f.work(Work.BEST_MET), columns)
    f.do("ret i64 0")
    return f


def _gain() -> Function:
    """How much a narrower input would straighten: gaps between lines times coefficients, carried back."""
    f = Code("gain", ", i64 %box")
    carried, other = f.buffer(Buffer.ONE), f.buffer(Buffer.TWO)
    inputs, last = f.address(Field.LAYERS), f.field(Field.LAST)
    number = f.variable(f.sub(last, "1"))
    f.fill(carried, f.word(f.layer(f.get(number)), Layer.PADDED))
    with f.loop() as reached:
        here = f.get(number)
        f.leave(f.compare("eq", here, "0"), reached)
        layer = f.layer(here)
        column, padded = f.word(layer, Layer.COLUMN), f.word(layer, Layer.PADDED)
        with f.unless_zero(f.word(f.layer(f.add(here, "1")), Layer.BENT)):
            below, above = f.sheet(Field.BELOW, "%box", column), f.sheet(Field.ABOVE, "%box", column)
            met = f.work(Work.BEST_MET, column)
            with f.vectors(padded) as i:
                lower, upper = f.vector(below, i), f.vector(above, i)
                gap = f.times(f.size(f.vector(met, i)), f.size(f.minus(upper, lower)))
                steep = f.times(f.vector(carried, i), f.larger(lower, upper))
                f.put_vector(carried, i, f.plus(gap, steep))
        entries = alive_list(f, here)
        listed = f"ptr {f.at(entries, '1')}, i64 {f.load(entries, '0')}"
        columns = f.word(layer, Layer.SOURCE_PADDED)
        multiply(f, [carried], [other], listed, f.array(layer, Layer.WEIGHTS), columns, False)
        f.copy_vectors(other, carried, columns)
        f.set(number, f.sub(here, "1"))
    wide = f.word(inputs, Layer.WIDTH)
    out = f.at(f.address(Field.GAINS), f.mul("%box", wide), D)
    with f.count("0", wide) as j:
        f.put_number(out, j, f.number(carried, j))
    f.do("ret i64 0")
    return f


def _climb() -> Function:
    """The ascents of all boxes."""
    f = Code("climb", internal=False)
    last, steps, state = f.field(Field.LAST), f.field(Field.STEPS), f.buffer(Buffer.STATE)
    direct, columns = f.word(f.layer(last), Layer.DIRECT), f.field(Field.COLUMNS)
    extra = f.buffer(Buffer.ONE_DIRECT)
    several = f.compare("sgt", f.field(Field.ROW_COUNT), "1")
    count = f.value(f"sitofp i64 {steps} to double")
    with f.count("0", f.field(Field.BOXES)) as box:
        f.do(call("input_box", f"i64 {box}"))
        prepare(f, box, last)
        f.fill(f.work(Work.MOMENTUM), columns)
        best, step = f.place(D, "0.0"), f.variable("0")
        f.write(best, f.constant(float("-inf"), D), D)
        f.set(step, "0")
        f.copy_vectors(f.sheet(Field.BELOW, box), f.work(Work.BEST), columns)
        f.fill(f.work(Work.BEST_MET), columns)
        with f.loop() as enough:
            f.do(call("row", f"i64 {box}"))
            found = walked(f, box, last, "0", [f.work(Work.MET)], "1")
            f.do(call("height", f"i64 {box}", f"ptr {found[0]}", f"ptr {extra}", f"i64 {direct}"))
            bounded_below(f, box, found, direct)
            value = f.number(state, str(int(State.LEAST)))
            with f.when(f.less(f.read(best, D), value, D)):
                f.write(best, value, D)
                f.do(call("keep", f"i64 {box}", f"ptr {found[0]}"))
            here = f.get(step)
            done = f.add(here, "1")
            f.set(step, done)
            ended = f.value(f"or i1 {f.less('0.0', value, D)}, {f.compare('sge', done, steps)}")
            f.leave(ended, enough)
            f.do(call("raise", f"i64 {box}"))
            part = f.value(f"fdiv double {f.value(f'sitofp i64 {here} to double')}, {count}")
            rate = f.minus("1.0", part, D)
            f.do(call("move", f"i64 {box}", f"double {f.times(rate, f.constant(0.4, D), D)}"))
            with f.when(several):
                f.do(call("share", f"i64 {box}", f"double {f.times(rate, f.constant(1.5, D), D)}"))
        f.copy_vectors(f.work(Work.BEST), f.sheet(Field.BELOW, box), columns)
        f.do(call("gain", f"i64 {box}"))
    f.do("ret i64 0")
    return f
