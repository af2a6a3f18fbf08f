"""The native solver never contradicts the others, brute force or dense sampling, and its bounds hold."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.laws.queries import mixed_queries, network_queries, whole_queries
from tests.laws.queries import networks as small_networks
from tests.laws.test_solver_laws import agree, by_milp, by_trying, by_z3, checked
from tests.network.planes import planes_below_outputs
from tests.random_networks import boxes, networks, points

from surefoot.errors import Unsupported
from surefoot.network.back_substitution import linear_bounds
from surefoot.network.directed_rounding import BoxArray
from surefoot.network.exact import exact_outputs
from surefoot.problem.network import Network, Shape, dense_network
from surefoot.query.query import Answer, NetworkCall, Query, QueryVariable, Sat, Undecided, Unsat
from surefoot.solvers.native.bounding.gradients import forward_values
from surefoot.solvers.native.bounding.network_bounds import bound_box_batch, build_bounding_plan
from surefoot.solvers.native.bounding.slope_ascent import ascend_slopes
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.evaluate import Undefined
from surefoot.term.term import Const, Var, equal
from surefoot.term.value_types import Int, Real

pytest.importorskip("z3")
LAW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def by_native(query: Query) -> Answer:
    try:
        return checked(query, decide_native_query(query, seconds=5.0))
    except Unsupported:
        assume(False)
        raise


@LAW
@given(whole_queries())
def test_on_whole_numbers_it_equals_trying_everything(query: Query) -> None:
    assert type(by_native(query)) is type(by_trying(query))


@LAW
@given(mixed_queries())
def test_with_reals_it_equals_z3(query: Query) -> None:
    found = by_native(query)
    agree(found, by_z3(query))
    assert not isinstance(found, Undecided)


@LAW
@given(network_queries())
def test_on_networks_it_equals_z3_and_does_not_contradict_milp(query: Query) -> None:
    found = by_native(query)
    agree(found, by_z3(query), by_milp(query))
    assert not isinstance(found, Undecided)


@LAW
@given(networks(), st.integers(0, 2**32 - 1))
def test_planes_lie_below_the_outputs(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = boxes(rng, network.width, 3)
    found = bound_box_batch(build_bounding_plan(network), low, high, {})
    rows = np.round(rng.normal(size=(2, network.outputs)), 2)
    share = np.abs(rng.normal(size=(3, 2)))
    best = ascend_slopes(found, rows, share, np.ones((3, 2)), 4)
    planes = found.below(rows)
    for member in range(3):
        some = points(rng, low[member], high[member], 40).astype(np.float64)
        outputs = forward_values(network, some)[-1]
        usable = np.isfinite(outputs).all(axis=1)
        # The bound is of the exact value; float64 evaluation is off by a little, which grows with the values.
        size = 1e-9 * (1.0 + np.abs(outputs).max(initial=0.0) + largest(found.boxes, member))
        heights = some @ planes.coefficients[member].T + planes.constant[member]
        assert (heights[usable] <= (outputs @ rows.T)[usable] + size).all()
        combined = some @ best.plane.coefficients[member, 0] + best.plane.constant[member, 0]
        assert (combined[usable] <= (outputs @ best.row[member])[usable] + size).all()


def largest(values: list[BoxArray], member: int) -> float:
    sizes = [b.magnitude[member].max(initial=0.0) for b in values]
    return float(min(max(sizes), 1e300))


@LAW
@given(networks(smooth=False), st.integers(0, 2**32 - 1))
def test_planes_lie_below_the_exact_outputs_without_any_tolerance(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = boxes(rng, network.width, 2)
    found = bound_box_batch(build_bounding_plan(network), low, high, {})
    best = ascend_slopes(found, np.eye(network.outputs), rng.random((2, network.outputs)), np.ones(1), 3)
    for member in range(2):
        for point in points(rng, low[member], high[member], 6).astype(np.float64):
            try:
                exact = exact_outputs(network, [Fraction(x) for x in point])
            except Undefined:
                continue
            row = [Fraction(w) for w in best.row[member]]
            value = sum((w * v for w, v in zip(row, exact, strict=True)), Fraction(0))
            slopes, constant = best.plane.coefficients[member, 0], best.plane.constant[member, 0]
            if np.isfinite(constant):
                parts = (Fraction(a) * Fraction(x) for a, x in zip(slopes, point, strict=True))
                height = sum(parts, Fraction(0))
                assert height + Fraction(constant) <= value
                assert Fraction(best.value[member]) <= value


@st.composite
def chains(draw: st.DrawFn) -> Query:
    """Two calls: the second reads what the first and a whole number make of a state."""
    first, second = draw(small_networks(2, 1)), draw(small_networks(2, 1))
    x, i, u, v, w = (Var(n) for n in "xiuvw")
    weight = draw(st.sampled_from([Fraction(1, 3), Fraction(-1, 2), Fraction(7, 10)]))
    slack = draw(st.sampled_from([(), (Fraction(1, 16),)]))
    calls = (NetworkCall(second, (w, x), ("v",)), NetworkCall(first, (x, i), ("u",), slack))
    single = draw(st.booleans())
    quantities = (
        QueryVariable("x", Real(Fraction(-1), Fraction(1), float32=single)),
        QueryVariable("i", Int(-1, 2)),
        *(QueryVariable(n, Real()) for n in "uvw"),
    )
    bound = Const(draw(st.sampled_from([Fraction(n, 4) for n in range(-6, 7)])))
    asked = draw(st.sampled_from([v <= bound, v > bound, (v >= bound) & (u <= bound), equal(v, bound)]))
    return Query(quantities, (equal(w, u * Const(weight) + x), asked), calls)


@settings(LAW, max_examples=40)
@given(chains())
def test_on_chains_of_networks_it_does_not_contradict_the_others(query: Query) -> None:
    agree(by_native(query), by_z3(query), by_milp(query))


@LAW
@given(networks(smooth=False), st.integers(0, 2**32 - 1))
def test_bounds_are_as_good_as_those_of_the_plain_method(network: Network, seed: int) -> None:
    low, high = boxes(np.random.default_rng(seed), network.width, 2)
    plain = linear_bounds(network, low, high)
    found = bound_box_batch(build_bounding_plan(network), low, high, {})
    ours, theirs = (
        found.below(np.eye(network.outputs)),
        planes_below_outputs(network, plain, np.eye(network.outputs)),
    )
    ours_least, theirs_least = ours.minimum(found.boxes[0]), theirs.minimum(plain[0])
    finite = np.isfinite(theirs_least)
    size = 1.0 + np.abs(theirs_least[finite])
    assert (ours_least[finite] >= theirs_least[finite] - 1e-5 * size).all()


@settings(LAW, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([Shape.TANH, Shape.SIGMOID, Shape.SOFTPLUS, Shape.ERF]))
def test_smooth_networks_agree_with_dense_sampling(seed: int, shape: Shape) -> None:
    rng = np.random.default_rng(seed)
    sizes = [(5, 2), (4, 5), (1, 4)]
    network = dense_network([(2 * rng.normal(size=s), rng.normal(size=s[0])) for s in sizes], hidden=shape)
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 61), np.linspace(-1, 1, 61)), axis=-1).reshape(-1, 2)
    least = float(forward_values(network, grid)[-1].min())
    box = tuple(QueryVariable(n, Real(Fraction(-1), Fraction(1))) for n in "xy")

    def below(threshold: float) -> Answer:
        call = NetworkCall(network, (Var("x"), Var("y")), ("u",))
        return decide_native_query(
            Query((*box, QueryVariable("u", Real())), (Var("u") <= Const(Fraction(threshold)),), (call,))
        )

    assert isinstance(below(least + 1e-6), Sat)
    assert below(least - 0.5) == Unsat()
