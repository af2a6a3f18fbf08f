"""Back-substitution of two rows of coefficients at a time, in machine code.

The steps of `bounding.substitute`, and its account of rounding: what a step back from a layer can change per
unit of a coefficient is in the sheet of costs; the constant of a plane is one long sum, off by at most its
length's `gamma` times the sum of its absolute terms.
"""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.network.outward import TINY, gamma
from surefoot.solve.native.chain.code import BLOCKS, LANES, Buffer, Code, Factor, Field, Layer, State, V
from surefoot.work.machine.text import Function

D = "double"
TURNS = ((Buffer.ONE, Buffer.ONE_AFTER), (Buffer.TWO, Buffer.TWO_AFTER))
DIRECT = (Buffer.ONE_DIRECT, Buffer.TWO_DIRECT)


def backward_functions() -> tuple[Function, ...]:
    products = (_product(count, signs) for count in (1, 2) for signs in (True, False))
    return (*products, _walk(1), _walk(2), _alive(), _finish(), _least(), _input_box(), _below())


def call(name: str, *given: str) -> str:
    return f"call i64 @{name}({', '.join(('ptr %table', *given))})"


def _product(count: int, signs: bool) -> Function:
    """Rows of coefficients times weights, or these without signs; only the entries in the list count."""
    rows, outs = [f"%row{r}" for r in range(count)], [f"%out{r}" for r in range(count)]
    given = ", ".join(f"ptr {name}" for name in (*rows, *outs))
    name = _product_name(count, signs)
    f = Code(name, f", {given}, ptr %list, i64 %count, ptr %weights, i64 %columns")
    done = f.variable("0")
    for block in BLOCKS:
        with f.loop() as after:
            start = f.get(done)
            end = f.add(start, str(block * LANES))
            f.leave(f.compare("sgt", end, "%columns"), after)
            sums = [[f.sum_up() for _ in range(block)] for _ in rows]
            with f.count("0", "%count") as t:
                j = f.load("%list", t)
                row = f.at("%weights", f.add(f.mul(j, "%columns"), start), D)
                values = [f.spread(f.number(own, j)) for own in rows]
                for i in range(block):
                    weights = f.vector(row, str(i * LANES))
                    weights = weights if signs else f.size(weights)
                    for value, places in zip(values, sums, strict=True):
                        f.gather(places[i], f.times(value, weights))
            for out, places in zip(outs, sums, strict=True):
                for i, place in enumerate(places):
                    f.put_vector(out, f.add(start, str(i * LANES)), f.read(place, V))
            f.set(done, end)
    f.do("ret i64 0")
    return f


def _product_name(count: int, signs: bool) -> str:
    return f"product{count}" if signs else f"product{count}_of_sizes"


def multiply(
    f: Code,
    rows: Sequence[str],
    outs: Sequence[str],
    listed: str,
    weights: str,
    columns: str,
    signs: bool = True,
) -> None:
    """`listed`: list and length as arguments; without `signs` those of the weights are left out."""
    given = [f"ptr {name}" for name in (*rows, *outs)]
    f.do(call(_product_name(len(rows), signs), *given, listed, f"ptr {weights}", f"i64 {columns}"))


def _alive() -> Function:
    """List the entries of a layer whose coefficients are not zero whatever meets them."""
    f = Code("alive", ", i64 %box, i64 %number, i64 %bent")
    layer = f.layer("%number")
    found, column = f.variable("0"), f.word(layer, Layer.COLUMN)
    below, above = f.sheet(Field.BELOW, "%box", column), f.sheet(Field.ABOVE, "%box", column)
    entries = alive_list(f, "%number")
    with f.count("0", f.word(layer, Layer.WIDTH)) as j:
        at = f.get(found)
        f.store(entries, f.add(at, "1"), j)
        slopes = f.plus(f.size(f.number(below, j), D), f.size(f.number(above, j), D), D)
        counts = f.value(f"or i1 {f.less(slopes, '0.0', D, 'une')}, {f.compare('eq', '%bent', '0')}")
        f.set(found, f.add(at, f.value(f"zext i1 {counts} to i64")))
    f.store(entries, "0", f.get(found))
    f.do("ret i64 0")
    return f


def alive_list(f: Code, number: str) -> str:
    place = f.mul(f.field(Field.SCRATCH_SIZE), f.add(number, str(int(Buffer.ALIVE))))
    return f.at(f.address(Field.SCRATCH), place, D)


def _walk(count: int) -> Function:
    """All steps from a layer to the inputs; 1 if the coefficients end where they began, else 0.

    `bent`: the coefficients are those after the ReLUs of the layer.
    """
    traces = [f"%trace{r}" for r in range(count)]
    more = "".join(f", ptr {trace}" for trace in traces)
    f = Code(f"walk{count}", f", i64 %box, i64 %number, i64 %bent, i64 %traced{more}")
    number, bent, turn = f.variable("%number"), f.variable("%bent"), f.variable("1")
    given, after = ([f.buffer(pair[i]) for pair in TURNS[:count]] for i in (0, 1))
    sums = {name: [f.sum_up() for _ in traces] for name in ("constant", "terms", "slack")}
    with f.loop() as reached:
        here = f.get(number)
        f.leave(f.compare("eq", here, "0"), reached)
        even = f.compare("eq", f.get(turn), "1")
        rows = [f.choose(even, a, b, "ptr") for a, b in zip(given, after, strict=True)]
        out = [f.choose(even, b, a, "ptr") for a, b in zip(given, after, strict=True)]
        layer = f.layer(here)
        padded, column = f.word(layer, Layer.PADDED), f.word(layer, Layer.COLUMN)
        with f.unless_zero("%traced"):
            for own, trace in zip(rows, traces, strict=True):
                f.copy_vectors(own, f.at(trace, column, D), padded)
        with f.unless_zero(f.get(bent)):
            _meet_lines(f, column, padded, rows, sums)
        cost, bias = f.sheet(Field.COST, "%box", column), f.array(layer, Layer.BIAS)
        with f.vectors(padded) as i:
            each, shift = f.vector(cost, i), f.vector(bias, i)
            for r, own in enumerate(rows):
                value = f.vector(own, i)
                f.gather(sums["slack"][r], f.times(f.size(value), each))
                change = f.times(value, shift)
                f.gather(sums["constant"][r], change)
                f.gather(sums["terms"][r], f.size(change))
        entries = alive_list(f, here)
        listed = f"ptr {f.at(entries, '1')}, i64 {f.load(entries, '0')}"
        with f.unless_zero(f.word(layer, Layer.DIRECT)):
            inputs = f.word(f.address(Field.LAYERS), Layer.PADDED)
            direct = [f.buffer(b) for b in DIRECT[:count]]
            multiply(f, rows, direct, listed, f.array(layer, Layer.DIRECT), inputs)
        columns = f.word(layer, Layer.SOURCE_PADDED)
        multiply(f, rows, out, listed, f.array(layer, Layer.WEIGHTS), columns)
        f.set(turn, f.sub("1", f.get(turn)))
        f.set(bent, f.word(layer, Layer.BENT))
        f.set(number, f.sub(here, "1"))
    _close(f, sums)
    f.do(f"ret i64 {f.get(turn)}")
    return f


def _meet_lines(f: Code, column: str, padded: str, rows: Sequence[str], sums: dict[str, list[str]]) -> None:
    """Positive coefficients meet the lines below ReLUs, negative ones those above."""
    names = (Field.BELOW, Field.ABOVE, Field.CONSTANT)
    below, above, lines = (f.sheet(name, "%box", column) for name in names)
    with f.vectors(padded) as i:
        lower, upper, line = f.vector(below, i), f.vector(above, i), f.vector(lines, i)
        for r, own in enumerate(rows):
            value = f.vector(own, i)
            negative = f.smaller(value, "zeroinitializer")
            positive = f.minus(value, negative)
            change = f.times(negative, line)
            f.gather(sums["constant"][r], change)
            f.gather(sums["terms"][r], f.size(change))
            f.put_vector(own, i, f.plus(f.times(positive, lower), f.times(negative, upper)))


def _close(f: Code, sums: dict[str, list[str]]) -> None:
    """Add the sums to constant and slack. What underflows is less than TINY for every unit of a cost."""
    state = f.buffer(Buffer.STATE)
    length = f.factor(f.address(Field.LAYERS), Factor.LINES)
    least = f.times(f.plus(f.number(state, str(int(State.COSTS))), "1.0", D), f.constant(TINY, D), D)
    for r in range(len(sums["constant"])):
        constant, slack = str(State.CONSTANT + r), str(State.SLACK + r)
        before, change, terms = (
            f.number(state, constant),
            *(f.gathered(sums[n][r]) for n in ("constant", "terms")),
        )
        f.put_number(state, constant, f.plus(before, change, D))
        error = f.times(f.plus(f.size(before, D), terms, D), length, D)
        more = f.plus(f.plus(error, f.gathered(sums["slack"][r]), D), least, D)
        f.put_number(state, slack, f.plus(f.number(state, slack), more, D))


def _finish() -> Function:
    """The constant of a plane without its slack, after inputs that are read directly were added."""
    f = Code("finish", ", i64 %box, i64 %which, ptr %given, ptr %extra, i64 %direct")
    state, inputs = f.buffer(Buffer.STATE), f.address(Field.LAYERS)
    constant, slack = f.add("%which", str(int(State.CONSTANT))), f.add("%which", str(int(State.SLACK)))
    with f.unless_zero("%direct"):
        size = f.sum_up()
        low, high = f.sheet(Field.LOW, "%box"), f.sheet(Field.HIGH, "%box")
        with f.vectors(f.word(inputs, Layer.PADDED)) as i:
            largest = f.larger(f.size(f.vector(low, i)), f.size(f.vector(high, i)))
            one, two = f.vector("%given", i), f.vector("%extra", i)
            f.put_vector("%given", i, f.plus(one, two))
            f.gather(size, f.times(f.plus(f.size(one), f.size(two)), f.plus(largest, f.constant(TINY))))
        more = f.plus(f.times(f.gathered(size), f.constant(gamma(4), D), D), f.constant(TINY, D), D)
        f.put_number(state, slack, f.plus(f.number(state, slack), more, D))
    # A little more for the roundings of the slack itself.
    most = f.times(f.number(state, slack), f.constant(1.0 + 2.0**-30, D), D)
    value = f.minus(f.number(state, constant), most, D)
    f.put_number(state, constant, down(f, value, D))
    f.do("ret i64 0")
    return f


def _away(f: Code, value: str, kind: str) -> str:
    """More than one rounding of a number."""
    more = f.times(f.size(value, kind), f.constant(2.0**-52, kind), kind)
    return f.plus(more, f.constant(2.0**-1000, kind), kind)


def down(f: Code, value: str, kind: str = V) -> str:
    return f.minus(value, _away(f, value, kind), kind)


def up(f: Code, value: str, kind: str = V) -> str:
    return f.plus(value, _away(f, value, kind), kind)


def _input_box() -> Function:
    """Centre and reach of the inputs of a box."""
    f = Code("input_box", ", i64 %box")
    low, high = f.sheet(Field.LOW, "%box"), f.sheet(Field.HIGH, "%box")
    centre, reach = f.buffer(Buffer.CENTRE), f.buffer(Buffer.REACH)
    with f.vectors(f.word(f.address(Field.LAYERS), Layer.PADDED)) as i:
        middle, far = middle_reach(f, f.vector(low, i), f.vector(high, i))
        f.put_vector(centre, i, middle)
        f.put_vector(reach, i, far)
    f.do("ret i64 0")
    return f


def middle_reach(f: Code, low: str, high: str) -> tuple[str, str]:
    half = f.constant(0.5)
    middle = f.plus(f.times(low, half), f.times(high, half))
    return middle, up(f, f.larger(f.minus(high, middle), f.minus(middle, low)))


def _least() -> Function:
    """The least value of a plane on the box of the inputs."""
    f = Code("least", ", i64 %which, ptr %given")
    state, inputs = f.buffer(Buffer.STATE), f.address(Field.LAYERS)
    centre, reach = f.buffer(Buffer.CENTRE), f.buffer(Buffer.REACH)
    middle, spread, size = f.sum_up(), f.sum_up(), f.sum_up()
    with f.vectors(f.word(inputs, Layer.PADDED)) as i:
        rows, at = f.vector("%given", i), f.vector(centre, i)
        steep = f.size(rows)
        f.gather(middle, f.times(rows, at))
        f.gather(spread, f.times(steep, f.vector(reach, i)))
        f.gather(size, f.times(steep, f.size(at)))
    constant = f.number(state, f.add("%which", str(int(State.CONSTANT))))
    wide = f.gathered(spread)
    total = f.plus(f.plus(f.gathered(size), wide, D), f.size(constant, D), D)
    error = f.plus(f.times(total, f.factor(inputs, Factor.INTERVAL), D), f.constant(TINY, D), D)
    value = f.minus(f.plus(f.gathered(middle), constant, D), wide, D)
    f.put_number(state, f.add("%which", str(int(State.LEAST))), f.minus(value, error, D))
    f.do("ret i64 0")
    return f


def walked(f: Code, box: str, number: str, bent: str, traces: Sequence[str], traced: str) -> list[str]:
    """Walk to the inputs with one row or both: where the coefficients are then."""
    own = [f"ptr {trace}" for trace in traces]
    given = (f"i64 {box}", f"i64 {number}", f"i64 {bent}", f"i64 {traced}", *own)
    even = f.compare("eq", f.value(call(f"walk{len(traces)}", *given)), "1")
    return [f.choose(even, f.buffer(a), f.buffer(b), "ptr") for a, b in TURNS[: len(traces)]]


def bounded_below(f: Code, box: str, found: Sequence[str], direct: str) -> None:
    """Constants without slack and least values of planes; `direct`: whether inputs are read directly too."""
    for r, own in enumerate(found):
        more = f"ptr {f.buffer(DIRECT[r])}"
        f.do(call("finish", f"i64 {box}", f"i64 {r}", f"ptr {own}", more, f"i64 {direct}"))
        f.do(call("least", f"i64 {r}", f"ptr {own}"))


def _below() -> Function:
    """Planes below rows of coefficients of the last layer, for all boxes."""
    f = Code("below", internal=False)
    last, rows = f.field(Field.LAST), f.field(Field.ROW_COUNT)
    layer, inputs = f.layer(last), f.address(Field.LAYERS)
    width, wide = f.word(layer, Layer.WIDTH), f.word(inputs, Layer.WIDTH)
    direct, traced, state = f.word(layer, Layer.DIRECT), f.field(Field.TRACE), f.buffer(Buffer.STATE)
    with f.count("0", f.field(Field.BOXES)) as box:
        f.do(call("input_box", f"i64 {box}"))
        prepare(f, box, last)
        with f.count("0", f.value(f"lshr i64 {f.add(rows, '1')}, 1")) as pair:
            first = f.value(f"shl i64 {pair}, 1")
            next_one = f.add(first, "1")
            second = f.choose(f.compare("slt", next_one, rows), next_one, first, "i64")
            traces = []
            for r, which in enumerate((first, second)):
                source = f.at(f.address(Field.ROWS), f.mul(box, f.field(Field.ROW_STEP)), D)
                source, own = f.at(source, f.mul(which, width), D), f.buffer((Buffer.ONE, Buffer.TWO)[r])
                f.fill(own, f.word(layer, Layer.PADDED))
                with f.count("0", width) as j:
                    f.put_number(own, j, f.number(source, j))
                for part in (State.CONSTANT, State.SLACK):
                    f.put_number(state, str(part + r), "0.0")
                place = f.mul(f.add(f.mul(box, rows), which), f.field(Field.COLUMNS))
                traces.append(f.at(f.address(Field.TRACE), place, D))
            found = walked(f, box, last, "0", traces, traced)
            bounded_below(f, box, found, direct)
            for r, which in enumerate((first, second)):
                place = f.add(f.mul(box, rows), which)
                f.put_number(f.address(Field.CONSTANTS), place, f.number(state, str(State.CONSTANT + r)))
                f.put_number(f.address(Field.LEAST), place, f.number(state, str(State.LEAST + r)))
                out = f.at(f.address(Field.PLANES), f.mul(place, wide), D)
                with f.count("0", wide) as j:
                    f.put_number(out, j, f.number(found[r], j))
    f.do("ret i64 0")
    return f


def prepare(f: Code, box: str, last: str) -> None:
    """The lists and sums of a box whose bounds are known."""
    costs, total = f.sheet(Field.COST, box), f.sum_up()
    first = f.word(f.address(Field.LAYERS), Layer.PADDED)
    with f.vectors(f.sub(f.field(Field.COLUMNS), first)) as i:
        f.gather(total, f.vector(costs, f.add(i, first)))
    f.put_number(f.buffer(Buffer.STATE), str(int(State.COSTS)), f.gathered(total))
    with f.count("1", f.add(last, "1")) as number:
        next_one = f.add(number, "1")
        read = f.choose(f.compare("sgt", next_one, last), number, next_one, "i64")
        bent = f.word(f.layer(read), Layer.BENT)
        bent = f.choose(f.compare("eq", number, last), "0", bent, "i64")
        f.do(call("alive", f"i64 {box}", f"i64 {number}", f"i64 {bent}"))
