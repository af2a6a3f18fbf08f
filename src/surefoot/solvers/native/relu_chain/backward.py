"""Back-substitution of two rows at a time in machine code: twice on purpose, see `network.back_substitution`.

The same steps and the same account of rounding: what a step back from a layer can change per
unit of a coefficient is in the sheet of costs; the constant of a plane is one long sum, off by at most its
length's `gamma_factor` times the sum of its absolute terms.
"""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.network.directed_rounding import TINY, gamma_factor
from surefoot.solvers.native.relu_chain.llvm_builder import (
    BLOCKS,
    LANES,
    ChainFunction,
    LayerWord,
    PlaneState,
    RoundingFactor,
    ScratchBuffer,
    TableField,
    V,
)
from surefoot.work.machine.llvm_ir import IrFunction

D = "double"
TURNS = ((ScratchBuffer.ONE, ScratchBuffer.ONE_AFTER), (ScratchBuffer.TWO, ScratchBuffer.TWO_AFTER))
DIRECT = (ScratchBuffer.ONE_DIRECT, ScratchBuffer.TWO_DIRECT)


def backward_functions() -> tuple[IrFunction, ...]:
    products = (_emit_product(count, signs) for count in (1, 2) for signs in (True, False))
    return (
        *products,
        _emit_walk(1),
        _emit_walk(2),
        _emit_alive_list(),
        _emit_plane_constant(),
        _emit_plane_minimum(),
        _emit_input_box(),
        _emit_planes_below(),
    )


def format_call(name: str, *given: str) -> str:
    return f"call i64 @{name}({', '.join(('ptr %table', *given))})"


def _emit_product(count: int, signs: bool) -> IrFunction:
    """Rows of coefficients times weights, or these without signs; only the entries in the list count."""
    rows, outs = [f"%row{r}" for r in range(count)], [f"%out{r}" for r in range(count)]
    given = ", ".join(f"ptr {name}" for name in (*rows, *outs))
    name = _product_name(count, signs)
    f = ChainFunction(name, f", {given}, ptr %list, i64 %count, ptr %weights, i64 %columns")
    done = f.variable("0")
    for block in BLOCKS:
        with f.loop() as after:
            start = f.get(done)
            end = f.add(start, str(block * LANES))
            f.leave(f.compare("sgt", end, "%columns"), after)
            sums = [[f.running_sum() for _ in range(block)] for _ in rows]
            with f.count("0", "%count") as t:
                j = f.load("%list", t)
                row = f.at("%weights", f.add(f.mul(j, "%columns"), start), D)
                values = [f.broadcast_number(f.number(own, j)) for own in rows]
                for i in range(block):
                    weights = f.vector(row, str(i * LANES))
                    weights = weights if signs else f.size(weights)
                    for value, places in zip(values, sums, strict=True):
                        f.add_to_sum(places[i], f.times(value, weights))
            for out, places in zip(outs, sums, strict=True):
                for i, place in enumerate(places):
                    f.put_vector(out, f.add(start, str(i * LANES)), f.load_place(place, V))
            f.set_variable(done, end)
    return f


def _product_name(count: int, signs: bool) -> str:
    return f"product{count}" if signs else f"product{count}_of_sizes"


def emit_chain_multiply(
    f: ChainFunction,
    rows: Sequence[str],
    outs: Sequence[str],
    listed: str,
    weights: str,
    columns: str,
    signs: bool = True,
) -> None:
    """`listed`: list and length as arguments; without `signs` those of the weights are left out."""
    given = [f"ptr {name}" for name in (*rows, *outs)]
    f.do(format_call(_product_name(len(rows), signs), *given, listed, f"ptr {weights}", f"i64 {columns}"))


def _emit_alive_list() -> IrFunction:
    """List the entries of a layer whose coefficients are not zero whatever meets them."""
    f = ChainFunction("alive", ", i64 %box, i64 %number, i64 %bent")
    layer = f.layer("%number")
    found, column = f.variable("0"), f.word(layer, LayerWord.COLUMN)
    below, above = f.sheet(TableField.BELOW, "%box", column), f.sheet(TableField.ABOVE, "%box", column)
    entries = alive_list_pointer(f, "%number")
    with f.count("0", f.word(layer, LayerWord.WIDTH)) as j:
        at = f.get(found)
        f.store(entries, f.add(at, "1"), j)
        slopes = f.plus(f.size(f.number(below, j), D), f.size(f.number(above, j), D), D)
        counts = f.value(f"or i1 {f.less(slopes, '0.0', D, 'une')}, {f.compare('eq', '%bent', '0')}")
        f.set_variable(found, f.add(at, f.value(f"zext i1 {counts} to i64")))
    f.store(entries, "0", f.get(found))
    return f


def alive_list_pointer(f: ChainFunction, number: str) -> str:
    place = f.mul(f.field(TableField.SCRATCH_SIZE), f.add(number, ScratchBuffer.ALIVE))
    return f.at(f.address(TableField.SCRATCH), place, D)


def _emit_walk(count: int) -> IrFunction:
    """All steps from a layer to the inputs; 1 if the coefficients end where they began, else 0.

    `bent`: the coefficients are those after the ReLUs of the layer.
    """
    traces = [f"%trace{r}" for r in range(count)]
    more = "".join(f", ptr {trace}" for trace in traces)
    f = ChainFunction(f"walk{count}", f", i64 %box, i64 %number, i64 %bent, i64 %traced{more}")
    number, bent, turn = f.variable("%number"), f.variable("%bent"), f.variable("1")
    given, after = ([f.buffer(pair[i]) for pair in TURNS[:count]] for i in (0, 1))
    sums = {name: [f.running_sum() for _ in traces] for name in ("constant", "terms", "slack")}
    with f.loop() as reached:
        here = f.get(number)
        f.leave(f.compare("eq", here, "0"), reached)
        even = f.compare("eq", f.get(turn), "1")
        rows = [f.choose(even, a, b, "ptr") for a, b in zip(given, after, strict=True)]
        out = [f.choose(even, b, a, "ptr") for a, b in zip(given, after, strict=True)]
        layer = f.layer(here)
        padded, column = f.word(layer, LayerWord.PADDED), f.word(layer, LayerWord.COLUMN)
        with f.unless_zero("%traced"):
            for own, trace in zip(rows, traces, strict=True):
                f.copy_vectors(own, f.at(trace, column, D), padded)
        with f.unless_zero(f.get(bent)):
            _emit_relaxation_step(f, column, padded, rows, sums)
        cost, bias = f.sheet(TableField.COST, "%box", column), f.array(layer, LayerWord.BIAS)
        with f.vectors(padded) as i:
            each, shift = f.vector(cost, i), f.vector(bias, i)
            for r, own in enumerate(rows):
                value = f.vector(own, i)
                f.add_to_sum(sums["slack"][r], f.times(f.size(value), each))
                change = f.times(value, shift)
                f.add_to_sum(sums["constant"][r], change)
                f.add_to_sum(sums["terms"][r], f.size(change))
        entries = alive_list_pointer(f, here)
        listed = f"ptr {f.at(entries, '1')}, i64 {f.load(entries, '0')}"
        with f.unless_zero(f.word(layer, LayerWord.DIRECT)):
            inputs = f.word(f.address(TableField.LAYERS), LayerWord.PADDED)
            direct = [f.buffer(b) for b in DIRECT[:count]]
            emit_chain_multiply(f, rows, direct, listed, f.array(layer, LayerWord.DIRECT), inputs)
        columns = f.word(layer, LayerWord.SOURCE_PADDED)
        emit_chain_multiply(f, rows, out, listed, f.array(layer, LayerWord.WEIGHTS), columns)
        f.set_variable(turn, f.sub("1", f.get(turn)))
        f.set_variable(bent, f.word(layer, LayerWord.BENT))
        f.set_variable(number, f.sub(here, "1"))
    _emit_add_sums(f, sums)
    f.do(f"ret i64 {f.get(turn)}")
    return f


def _emit_relaxation_step(
    f: ChainFunction, column: str, padded: str, rows: Sequence[str], sums: dict[str, list[str]]
) -> None:
    """Positive coefficients meet the lines below ReLUs, negative ones those above."""
    fields = (TableField.BELOW, TableField.ABOVE, TableField.CONSTANT)
    below, above, lines = f.sheets("%box", column, *fields)
    with f.vectors(padded) as i:
        lower, upper, line = f.vector(below, i), f.vector(above, i), f.vector(lines, i)
        for r, own in enumerate(rows):
            value = f.vector(own, i)
            negative = f.smaller(value, "zeroinitializer")
            positive = f.minus(value, negative)
            change = f.times(negative, line)
            f.add_to_sum(sums["constant"][r], change)
            f.add_to_sum(sums["terms"][r], f.size(change))
            f.put_vector(own, i, f.plus(f.times(positive, lower), f.times(negative, upper)))


def _emit_add_sums(f: ChainFunction, sums: dict[str, list[str]]) -> None:
    """Add the sums to constant and slack. What underflows is less than TINY for every unit of a cost."""
    state = f.buffer(ScratchBuffer.STATE)
    length = f.factor(f.address(TableField.LAYERS), RoundingFactor.LINES)
    least = f.times(f.plus(f.number(state, PlaneState.COSTS), "1.0", D), f.constant(TINY, D), D)
    for r in range(len(sums["constant"])):
        constant, slack = PlaneState.CONSTANT + r, PlaneState.SLACK + r
        before = f.number(state, constant)
        change, terms = f.reduce_sum(sums["constant"][r]), f.reduce_sum(sums["terms"][r])
        f.put_number(state, constant, f.plus(before, change, D))
        error = f.times(f.plus(f.size(before, D), terms, D), length, D)
        more = f.plus(f.plus(error, f.reduce_sum(sums["slack"][r]), D), least, D)
        f.put_number(state, slack, f.plus(f.number(state, slack), more, D))


def _emit_plane_constant() -> IrFunction:
    """The constant of a plane without its slack, after inputs that are read directly were added."""
    f = ChainFunction("finish", ", i64 %box, i64 %which, ptr %given, ptr %extra, i64 %direct")
    state, inputs = f.buffer(ScratchBuffer.STATE), f.address(TableField.LAYERS)
    constant, slack = f.add("%which", PlaneState.CONSTANT), f.add("%which", PlaneState.SLACK)
    with f.unless_zero("%direct"):
        size = f.running_sum()
        low, high = f.sheet(TableField.LOW, "%box"), f.sheet(TableField.HIGH, "%box")
        with f.vectors(f.word(inputs, LayerWord.PADDED)) as i:
            largest = f.larger(f.size(f.vector(low, i)), f.size(f.vector(high, i)))
            one, two = f.vector("%given", i), f.vector("%extra", i)
            f.put_vector("%given", i, f.plus(one, two))
            f.add_to_sum(size, f.times(f.plus(f.size(one), f.size(two)), f.plus(largest, f.constant(TINY))))
        more = f.plus(f.times(f.reduce_sum(size), f.constant(gamma_factor(4), D), D), f.constant(TINY, D), D)
        f.put_number(state, slack, f.plus(f.number(state, slack), more, D))
    # A little more for the roundings of the slack itself.
    most = f.times(f.number(state, slack), f.constant(1.0 + 2.0**-30, D), D)
    value = f.minus(f.number(state, constant), most, D)
    f.put_number(state, constant, emit_round_down(f, value, D))
    return f


def _emit_rounding_step(f: ChainFunction, value: str, kind: str) -> str:
    """More than one rounding of a number."""
    more = f.times(f.size(value, kind), f.constant(2.0**-52, kind), kind)
    return f.plus(more, f.constant(2.0**-1000, kind), kind)


def emit_round_down(f: ChainFunction, value: str, kind: str = V) -> str:
    return f.minus(value, _emit_rounding_step(f, value, kind), kind)


def emit_round_up(f: ChainFunction, value: str, kind: str = V) -> str:
    return f.plus(value, _emit_rounding_step(f, value, kind), kind)


def _emit_input_box() -> IrFunction:
    """Centre and reach of the inputs of a box."""
    f = ChainFunction("input_box", ", i64 %box")
    low, high = f.sheet(TableField.LOW, "%box"), f.sheet(TableField.HIGH, "%box")
    centre, reach = f.buffer(ScratchBuffer.CENTRE), f.buffer(ScratchBuffer.REACH)
    with f.vectors(f.word(f.address(TableField.LAYERS), LayerWord.PADDED)) as i:
        middle, far = emit_centre_radius(f, f.vector(low, i), f.vector(high, i))
        f.put_vector(centre, i, middle)
        f.put_vector(reach, i, far)
    return f


def emit_centre_radius(f: ChainFunction, low: str, high: str) -> tuple[str, str]:
    half = f.constant(0.5)
    middle = f.plus(f.times(low, half), f.times(high, half))
    return middle, emit_round_up(f, f.larger(f.minus(high, middle), f.minus(middle, low)))


def _emit_plane_minimum() -> IrFunction:
    """The least value of a plane on the box of the inputs."""
    f = ChainFunction("least", ", i64 %which, ptr %given")
    state, inputs = f.buffer(ScratchBuffer.STATE), f.address(TableField.LAYERS)
    centre, reach = f.buffer(ScratchBuffer.CENTRE), f.buffer(ScratchBuffer.REACH)
    middle, spread, size = f.running_sum(), f.running_sum(), f.running_sum()
    with f.vectors(f.word(inputs, LayerWord.PADDED)) as i:
        rows, at = f.vector("%given", i), f.vector(centre, i)
        steep = f.size(rows)
        f.add_to_sum(middle, f.times(rows, at))
        f.add_to_sum(spread, f.times(steep, f.vector(reach, i)))
        f.add_to_sum(size, f.times(steep, f.size(at)))
    constant = f.number(state, f.add("%which", PlaneState.CONSTANT))
    wide = f.reduce_sum(spread)
    total = f.plus(f.plus(f.reduce_sum(size), wide, D), f.size(constant, D), D)
    error = f.plus(f.times(total, f.factor(inputs, RoundingFactor.INTERVAL), D), f.constant(TINY, D), D)
    value = f.minus(f.plus(f.reduce_sum(middle), constant, D), wide, D)
    f.put_number(state, f.add("%which", PlaneState.LEAST), f.minus(value, error, D))
    return f


def emit_walk_call(
    f: ChainFunction, box: str, number: str, bent: str, traces: Sequence[str], traced: str
) -> list[str]:
    """Walk to the inputs with one row or both: where the coefficients are then."""
    own = [f"ptr {trace}" for trace in traces]
    given = (f"i64 {box}", f"i64 {number}", f"i64 {bent}", f"i64 {traced}", *own)
    even = f.compare("eq", f.value(format_call(f"walk{len(traces)}", *given)), "1")
    return [f.choose(even, f.buffer(a), f.buffer(b), "ptr") for a, b in TURNS[: len(traces)]]


def emit_plane_bounds(f: ChainFunction, box: str, found: Sequence[str], direct: str) -> None:
    """Constants without slack and least values of planes; `direct`: whether inputs are read directly too."""
    for r, own in enumerate(found):
        more = f"ptr {f.buffer(DIRECT[r])}"
        f.do(format_call("finish", f"i64 {box}", f"i64 {r}", f"ptr {own}", more, f"i64 {direct}"))
        f.do(format_call("least", f"i64 {r}", f"ptr {own}"))


def _emit_planes_below() -> IrFunction:
    """Planes below rows of coefficients of the last layer, for all boxes."""
    f = ChainFunction("below", internal=False)
    last, rows = f.field(TableField.LAST), f.field(TableField.ROW_COUNT)
    layer, inputs = f.layer(last), f.address(TableField.LAYERS)
    width, wide = f.word(layer, LayerWord.WIDTH), f.word(inputs, LayerWord.WIDTH)
    direct, traced = f.word(layer, LayerWord.DIRECT), f.field(TableField.TRACE)
    state = f.buffer(ScratchBuffer.STATE)
    with f.count("0", f.field(TableField.BOXES)) as box:
        f.do(format_call("input_box", f"i64 {box}"))
        emit_box_preparation(f, box, last)
        with f.count("0", f.value(f"lshr i64 {f.add(rows, '1')}, 1")) as pair:
            first = f.value(f"shl i64 {pair}, 1")
            next_one = f.add(first, "1")
            second = f.choose(f.compare("slt", next_one, rows), next_one, first, "i64")
            traces = []
            for r, which in enumerate((first, second)):
                source = f.at(f.address(TableField.ROWS), f.mul(box, f.field(TableField.ROW_STEP)), D)
                source, own = f.at(source, f.mul(which, width), D), f.buffer(TURNS[r][0])
                f.fill(own, f.word(layer, LayerWord.PADDED))
                with f.count("0", width) as j:
                    f.put_number(own, j, f.number(source, j))
                for part in (PlaneState.CONSTANT, PlaneState.SLACK):
                    f.put_number(state, part + r, "0.0")
                place = f.mul(f.add(f.mul(box, rows), which), f.field(TableField.COLUMNS))
                traces.append(f.at(f.address(TableField.TRACE), place, D))
            found = emit_walk_call(f, box, last, "0", traces, traced)
            emit_plane_bounds(f, box, found, direct)
            for r, which in enumerate((first, second)):
                place = f.add(f.mul(box, rows), which)
                for field, part in (
                    (TableField.CONSTANTS, PlaneState.CONSTANT),
                    (TableField.LEAST, PlaneState.LEAST),
                ):
                    f.put_number(f.address(field), place, f.number(state, part + r))
                out = f.at(f.address(TableField.PLANES), f.mul(place, wide), D)
                with f.count("0", wide) as j:
                    f.put_number(out, j, f.number(found[r], j))
    return f


def emit_box_preparation(f: ChainFunction, box: str, last: str) -> None:
    """The lists and sums of a box whose bounds are known."""
    costs, total = f.sheet(TableField.COST, box), f.running_sum()
    first = f.word(f.address(TableField.LAYERS), LayerWord.PADDED)
    with f.vectors(f.sub(f.field(TableField.COLUMNS), first)) as i:
        f.add_to_sum(total, f.vector(costs, f.add(i, first)))
    f.put_number(f.buffer(ScratchBuffer.STATE), PlaneState.COSTS, f.reduce_sum(total))
    with f.count("1", f.add(last, "1")) as number:
        next_one = f.add(number, "1")
        read = f.choose(f.compare("sgt", next_one, last), number, next_one, "i64")
        bent = f.word(f.layer(read), LayerWord.BENT)
        bent = f.choose(f.compare("eq", number, last), "0", bent, "i64")
        f.do(format_call("alive", f"i64 {box}", f"i64 {number}", f"i64 {bent}"))
