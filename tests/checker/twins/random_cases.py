"""Random networks of the checker with awkward numbers, and the states of a search over them."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from tests.checker.twins.plain_bounds import Box, Plane

from surefoot_checker.bounds.case_problem import CaseProblem, GraphValue, number_values
from surefoot_checker.bounds.subdomain import LinearRelaxation, PrecisionGrid, ReluRelaxation, SubdomainState
from surefoot_checker.kernel.network import (
    ActivationNode,
    AffineNode,
    CombineNode,
    ElementwiseNode,
    FlatNetwork,
    JoinNode,
    Node,
    PickNode,
)
from surefoot_checker.kernel.query import ClaimedVariable, FlatNetworkCall, Linear

# Zeros, the least subnormal and normal numbers, numbers that are no short decimals, large ones.
AWKWARD = [0.0, -0.0, 2.0**-149, -(2.0**-140), 2.0**-126, -(2.0**-40), 2.0**-31, 1.0, -1.0, 0.5, -3.0]
AWKWARD += [0.10000000149011612, -0.3333333432674408, 16777215.0, -1e10]
HUGE = [3.4028234663852886e38, -1e30]
moderate = st.sampled_from(AWKWARD) | st.floats(-4, 4, width=32)
floats = moderate | st.sampled_from(HUGE) | st.floats(width=32, allow_nan=False, allow_infinity=False)
CURVED = ("relu", "relu", "relu", "leaky_relu", "clip", "tanh", "sigmoid")
PARAMETERS = {
    "leaky_relu": [(0.125,), (-0.5,), (3.0,), (0.0,), (1.0,), (0.10000000149011612,)],
    "clip": [(-0.5, 0.75), (0.0, 0.0), (-1.0, 2.0**-149), (-3.0, 1e10)],
}


@st.composite
def flat_networks(
    draw: st.DrawFn, numbers: st.SearchStrategy[float] = moderate, curved: tuple[str, ...] = CURVED
) -> FlatNetwork:
    """Networks of every kind of node; vectors without entries among them."""
    widths, nodes = [draw(st.integers(0, 3))], list[Node]()
    kinds = ["affine", "affine", "activation", "activation", "elementwise", "combine", "quotient"]
    for kind in draw(st.lists(st.sampled_from([*kinds, "pick", "join"]), min_size=1, max_size=6)):
        last = len(widths) - 1
        source = draw(st.sampled_from([last, last, draw(st.integers(0, last))]))
        node, width = _draw_node(draw, kind, source, widths, numbers, curved)
        if kind == "quotient":
            ends = draw(st.sampled_from([(0.25, 8.0), (-4.0, -0.5), (2.0**-20, 2.0)]))
            nodes.append(ActivationNode(draw(_same_width(widths, source)), "clip", ends))
            widths.append(width)
            node = CombineNode(source, len(nodes), "quotient")
        nodes.append(node)
        widths.append(width)
    return FlatNetwork(widths[0], tuple(nodes))


def _same_width(widths: list[int], source: int) -> st.SearchStrategy[int]:
    return st.sampled_from([v for v, w in enumerate(widths) if w == widths[source]])


def _draw_node(
    draw: st.DrawFn,
    kind: str,
    source: int,
    widths: list[int],
    numbers: st.SearchStrategy[float],
    curved: tuple[str, ...],
) -> tuple[Node, int]:
    width = widths[source]

    def vector(size: int) -> tuple[float, ...]:
        return tuple(draw(st.lists(numbers, min_size=size, max_size=size)))

    match kind:
        case "affine":
            rows = draw(st.integers(0 if draw(st.booleans()) else 1, 3))
            return AffineNode(source, width, vector(rows * width), vector(rows)), rows
        case "activation":
            chosen = draw(st.sampled_from(curved))
            return ActivationNode(source, chosen, draw(st.sampled_from(PARAMETERS.get(chosen, [()])))), width
        case "elementwise":
            how = draw(st.sampled_from(("add", "multiply", "divide")))
            constant = vector(width)
            if how == "divide":
                constant = tuple(c if abs(c) > 2.0**-20 else 0.5 for c in constant)
            return ElementwiseNode(source, how, constant), width
        case "pick" if width:
            indices = draw(st.lists(st.integers(0, width - 1), max_size=3))
            return PickNode(source, tuple(indices)), len(indices)
        case "join":
            several = (source, draw(st.integers(0, len(widths) - 1)))
            return JoinNode(several), sum(widths[s] for s in several)
        case _:
            how = draw(st.sampled_from(("sum", "product", "maximum")))
            return CombineNode(source, draw(_same_width(widths, source)), how), width


@st.composite
def case_problems(
    draw: st.DrawFn, networks: st.SearchStrategy[FlatNetwork], ends: st.SearchStrategy[float] = moderate
) -> CaseProblem:
    """One call of a network; its inputs are the variables, or other forms of them."""
    network = draw(networks)
    float32 = draw(st.booleans())
    variables = []
    for i in range(network.width):
        low, high = sorted((draw(ends), draw(ends)))
        kind = draw(st.sampled_from(("float32", "real")))
        point = draw(st.integers(0, 4)) == 0
        variables.append(ClaimedVariable(f"x{i}", Fraction(low), Fraction(low if point else high), kind))
    inputs: list[Linear] = [{v.name: Fraction(1)} for v in variables]
    if draw(st.booleans()):
        rests = [Fraction(0), Fraction(1, 3), Fraction(-5, 7), Fraction(10**6)]
        factors = st.sampled_from([Fraction(1), Fraction(-2), Fraction(1, 9), Fraction(3, 7)])
        inputs = [{v.name: draw(factors), "": draw(st.sampled_from(rests))} for v in variables]
    outputs = tuple(f"y{i}" for i in range(network.widths()[-1]))
    values = number_values(tuple(variables), [FlatNetworkCall(network, tuple(inputs), outputs)]).values
    return CaseProblem(tuple(variables), tuple(values), (), (), float32)


def boxes_of(grid: PrecisionGrid, state: SubdomainState) -> list[Box]:
    """The bounds of a state as fractions."""
    return [
        ([Fraction(x, grid.one) for x in low], [Fraction(x, grid.one) for x in high])
        for low, high in zip(state.low, state.high, strict=True)
    ]


def planes_of(
    grid: PrecisionGrid, value: GraphValue, lines: LinearRelaxation | ReluRelaxation
) -> list[tuple[Plane, Plane]]:
    """Stored lines as fractions: below and above, for each entry."""
    if isinstance(lines, ReluRelaxation):
        zero = Fraction(0)
        found = [(((Fraction(on),), zero), ((Fraction(on),), zero)) for on in lines.on]
        for i, below, above, level in lines.bent:
            found[i] = (
                ((Fraction(below, grid.one),), zero),
                ((Fraction(above, grid.one),), Fraction(level, grid.one)),
            )
        return found
    sides = ((lines.below, lines.below_constant), (lines.above, lines.above_constant))
    both = [
        [
            (tuple(Fraction(s[i], grid.one) for s in slopes), Fraction(constants[i], grid.one))
            for i in range(value.width)
        ]
        for slopes, constants in sides
    ]
    return list(zip(*both, strict=True))
