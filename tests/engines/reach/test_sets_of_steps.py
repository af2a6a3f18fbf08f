"""Networks, decisions, terms in float64 and returns of engine `reach`, against samples."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from benchmarks.reach_attack.loops import LoopMaker, RandomLoop
from benchmarks.reach_attack.runs import simulate_steps, simulate_time
from benchmarks.reach_attack.sets import find_escape_in_steps, find_escape_in_time, follow_sets
from tests.engines.reach.small_loops import linear_network, stepped_loop, write_edge

from surefoot.engines.reach.analysis import prepare_problem
from surefoot.engines.reach.decision_forms import StateTerms, arithmetic_nodes, enumerate_decisions
from surefoot.engines.reach.network_forms import propagate_network
from surefoot.engines.reach.search import Cell, close_regions, split_cell
from surefoot.engines.reach.symbols import forms_of_box
from surefoot.engines.reach.term_levels import arrange_levels
from surefoot.engines.reach.walk import Failure
from surefoot.errors import SurefootError
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Affine, Network
from surefoot.reductions.closed_loop import read_closed_loop
from surefoot.term.evaluate import evaluate_term
from surefoot.term.value_types import Arithmetic


def sample_outputs(network: Network, forms: np.ndarray, draw: Random, count: int) -> None:
    """Outputs of float32 for inputs of the set are around the forms of the outputs."""
    found, good = propagate_network(network, forms[None])
    assert good.all()
    for _ in range(count):
        e = np.array([draw.choice((-1.0, 1.0, draw.uniform(-1, 1))) for _ in range(forms.shape[-1] - 2)])
        inputs = (forms[:, 0] + forms[:, 1:-1] @ e).astype(np.float32)
        outputs = infer_outputs(network, inputs[None])[0].astype(np.float64)
        centre = found[0, :, 0] + found[0, :, 1:-1] @ e
        assert (np.abs(outputs - centre) <= found[0, :, -1] * (1 + 1e-12) + 1e-14).all()


@pytest.mark.parametrize("seed", range(60))
def test_networks_of_all_kinds(seed: int) -> None:
    maker, draw = LoopMaker(seed), Random(seed)
    network = maker.network(3, 2)
    low = np.array([[draw.uniform(-1, 1) for _ in range(3)]])
    high = low + draw.choice((0.0, 1e-6, 0.1, 1.0))
    sample_outputs(network, forms_of_box(low, high)[0], draw, 25)


def test_sums_in_float32() -> None:
    """Of many numbers that are known exactly: what float32 loses is all that there is."""
    draw = np.random.default_rng(3)
    for _ in range(10):
        terms = draw.normal(size=200).astype(np.float32)
        weights = draw.normal(size=(4, 200)).astype(np.float32)
        first = Affine(0, np.zeros((200, 1), np.float32), terms)
        network = Network(1, (first, Affine(1, weights, np.zeros(4, np.float32))))
        sample_outputs(network, forms_of_box(np.zeros((1, 1)), np.zeros((1, 1)))[0], Random(1), 1)


def test_inputs_are_rounded_to_float32() -> None:
    network = linear_network([1e6, 0.0])
    point = np.array([[1 / 3]])
    sample_outputs(network, forms_of_box(point, point)[0], Random(1), 1)


def test_every_action_that_is_best_somewhere_is_followed() -> None:
    """Outputs x, 0.25 and -x: all of them are best somewhere in [-1, 1], the second only around 0."""
    edges = [write_edge({"x": "x"}, action=a) for a in ("a", "b", "c")]
    network = linear_network([1, 0], [0, 0.25], [-1, 0])
    problem = stepped_loop(edges, {"x": (-1.0, 1.0)}, "never x > 9", actions=("a", "b", "c"), network=network)
    walk, _ = prepare_problem(problem)

    def picked(low: float, high: float) -> set[str | None]:
        forms = forms_of_box(np.array([[low]]), np.array([[high]]))
        return {d.action for d in enumerate_decisions(walk.decisions, forms)}

    assert picked(-1, 1) == {"a", "b", "c"}
    assert picked(0.5, 1) == {"a"}
    assert picked(-0.1, 0.1) == {"b"}
    assert picked(-0.3, 0.1) == {"b", "c"}
    assert picked(0.25, 0.25) == {"a", "b"}


@pytest.mark.parametrize("seed", range(40))
def test_terms_in_float64(seed: int) -> None:
    """Every operation is rounded: values of doubles are within the bounds, at single points as well."""
    maker, draw = LoopMaker(seed, "float64"), Random(seed)
    problem = stepped_loop({"x": "x", "y": "y"}, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, "never x > 9")
    loop = read_closed_loop(problem)
    term = maker.term(["x", "y"], 3, True)
    for rounded in (True, False):
        arithmetic = Arithmetic.FLOAT64 if rounded else Arithmetic.EXACT
        nodes = arithmetic_nodes(read_closed_loop(_with_arithmetic(problem, arithmetic)))
        names = np.array([nodes.name(v) for v in loop.variables])
        try:
            place = nodes.value(term)
        except SurefootError:
            return
        terms = StateTerms(arrange_levels(nodes), names)
        for width in (0.0, 1e-3, 0.5):
            low = np.array([[draw.uniform(-1, 1) for _ in range(2)]])
            bounds = terms.bound(forms_of_box(low, low + width))
            for _ in range(6):
                point = [float(x) + draw.choice((0.0, width, draw.random() * width)) for x in low[0]]
                point = [min(p, float(x + width)) for p, x in zip(point, low[0], strict=True)]
                exact = [p if rounded else Fraction(p) for p in point]
                try:
                    value = Fraction(
                        evaluate_term(term, dict(zip(loop.variables, exact, strict=True)), arithmetic)
                    )
                except SurefootError:
                    continue
                least, most = bounds[0][place][0], bounds[1][place][0]
                assert np.isnan(least) or Fraction(least) <= value
                assert np.isnan(most) or value <= Fraction(most)


def _with_arithmetic(problem, arithmetic: Arithmetic):
    from dataclasses import replace

    return replace(problem, environment=replace(problem.environment, arithmetic=arithmetic))


def test_a_return_is_into_the_whole_box() -> None:
    problem = stepped_loop({"x": "x", "y": "y"}, {"x": (0.0, 1.0), "y": (0.1, 0.3)}, "never x > 9")
    _, search = prepare_problem(problem)
    close_regions(search)
    assert search.closing is not None
    returns = search.closing.begin_walk(1)

    def region(low: list[float], high: list[float]) -> int:
        return int(returns.find_regions(forms_of_box(np.array([low]), np.array([high])), np.array([0]))[0])

    assert region([0.1, 0.15], [0.9, 0.2]) == 0
    assert region([-1e-9, 0.15], [0.9, 0.2]) == -1
    assert region([0.1, 0.15], [1.0 + 1e-9, 0.2]) == -1
    assert region([0.1, 0.15], [0.9, 0.30001]) == -1
    assert region([0.1, 0.0], [0.9, 0.2]) == -1


def followed(loop: RandomLoop, seed: int) -> int:
    draw = Random(seed)
    if loop.kind == "time":
        timed = simulate_time(loop, 3, draw, 8)
        sets = follow_sets(loop, 3, draw)
        assert find_escape_in_time(sets, timed, draw) is None
    else:
        stepped = simulate_steps(loop, 4, draw, 6)
        sets = follow_sets(loop, 4, draw)
        assert find_escape_in_steps(sets, stepped, draw) is None
    return len(sets.periods)


@pytest.mark.parametrize("kind", ["time", "exact", "float64"])
def test_runs_of_random_loops_stay_inside(kind: str) -> None:
    """A small share of `benchmarks/reach_campaign.py`."""
    assert sum(followed(LoopMaker(seed, kind).make(), seed) for seed in range(9000, 9010)) >= 12


@pytest.mark.parametrize("place", [0, 1])
def test_halves_are_the_whole(place: int) -> None:
    low, high = (Fraction(0), Fraction(1, 10)), (Fraction(1), Fraction(3, 10))
    cell = Cell(0, low, high, failure=Failure(Fraction(0), "", np.eye(2)[place]))
    first, second = split_cell(cell, cell)
    assert cell.split == place
    assert first.low == low
    assert second.high == high
    assert first.high[place] == second.low[place] == (low[place] + high[place]) / 2
    assert first.high[1 - place] == high[1 - place]
    assert second.low[1 - place] == low[1 - place]
