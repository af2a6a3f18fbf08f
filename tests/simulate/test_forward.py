"""Networks in machine code have the outputs of the reference, bit for bit."""

import ctypes
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from surefoot.explore.llvm.kernel_table import KernelField
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Activation, Affine, Network, Shape, dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.simulate.compiled_simulation import CompiledSimulation
from surefoot.simulate.forward_pass import affine_relu_layers
from surefoot.simulate.path_property import PathProperty
from surefoot.simulate.simulator import RunSimulator, make_simulator
from surefoot.term.evaluate import Undefined
from surefoot.term.term import FALSE, Const, Term, Var, equal
from surefoot.term.value_types import Int

X = Var("x")


def random_network(rng: np.random.Generator, widths: list[int]) -> Network:
    layers = []
    for inputs, outputs in pairwise(widths):
        scale = 10.0 ** rng.uniform(-3, 3)
        weights = (rng.normal(size=(outputs, inputs)) * scale).astype(np.float32)
        layers.append((weights, rng.normal(size=outputs).astype(np.float32)))
    return dense_network(layers)


def simulator(network: Network, observe: tuple[Term, ...], choose: Choose = Choose.ARGMAX) -> RunSimulator:
    """An environment with one edge per output; the odd ones are not always enabled."""
    labels = tuple(f"a{i}" for i in range(network.outputs))
    guards = [X % 5 < 4 if i % 2 else X >= 0 for i in range(network.outputs)]
    moves = [(Outcome(updates=(Update(X, (X + i) % 50),)),) for i in range(network.outputs)]
    edges = tuple(Edge(action=a, guard=g, outcomes=m) for a, g, m in zip(labels, guards, moves, strict=True))
    line = Environment("line", (Variable("x", Int(0, 50)),), equal(X, 7), (Component("c", edges),))
    asked = Problem("line", line, NeuralPolicy(network, observe, labels, choose), Never(FALSE))
    return make_simulator(asked, PathProperty(equal(X, 50)), max_steps=40, tier="llvm", memo=False)


@pytest.mark.parametrize("widths", [[1, 1], [4, 64, 64, 9], [3, 5, 7, 2], [15, 13, 6], [17, 12, 18, 61]])
def test_outputs(widths: list[int]) -> None:
    rng = np.random.default_rng(len(widths) + widths[0])
    network = random_network(rng, widths)
    fast = simulator(network, (X,) * widths[0])._simulation
    assert isinstance(fast, CompiledSimulation)
    assert fast.forward is not None
    memory = fast.memory
    for _ in range(5):
        rows = (rng.normal(size=(16, widths[0])) * 10.0 ** rng.uniform(-4, 4)).astype(np.float32)
        values = memory.array(KernelField.VALUES).reshape(2, -1)
        values[0, : 16 * widths[0]] = rows.T.ravel()
        side = memory.call(fast.kernel, "network")
        found = values[side, : 16 * widths[-1]].reshape(widths[-1], 16).T
        assert np.array_equal(found, infer_outputs(network, rows))


def observed(fast: CompiledSimulation, numbers: list[int], count: int) -> list[float]:
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(fast.machine.address("observe"))
    given, out = np.array(numbers, dtype=np.int64), np.zeros(count, dtype=np.float32)
    assert call(given.ctypes.data, out.ctypes.data) == 0
    return [float(v) for v in out]


def test_observations_are_rounded_once() -> None:
    terms = (X, X / 3, -X / 7, X * 33_554_433, equal(X, 7), (X - 9) / (X + 1))
    network = random_network(np.random.default_rng(0), [len(terms), 3])
    fast = simulator(network, terms)._simulation
    assert isinstance(fast, CompiledSimulation)
    for x in range(51):
        expected = [x, x / 3, -x / 7, x * 33_554_433, x == 7, (x - 9) / (x + 1)]
        assert observed(fast, [x], len(terms)) == [float(np.float32(v)) for v in expected]


@pytest.mark.parametrize("choose", [Choose.ARGMAX, Choose.ARGMAX_APPLICABLE])
def test_ties_go_to_the_lowest_output(choose: Choose) -> None:
    network = dense_network([(np.zeros((4, 1), dtype=np.float32), np.array([1, 2, 2, 2], dtype=np.float32))])
    runs = simulator(network, (X,), choose).runs(0, None, 0, 3)
    stalls = choose is Choose.ARGMAX  # a1 is not enabled where x % 5 is 4: at 9
    assert runs.outcome.tolist() == [3 if stalls else 0] * 3  # 50 is out of reach
    assert runs.steps.tolist() == [2 if stalls else 40] * 3


def test_other_networks_are_left_to_python() -> None:
    plain = random_network(np.random.default_rng(1), [1, 4, 2])
    assert affine_relu_layers(plain) is not None
    for node in (Activation(3, Shape.TANH), Activation(1, Shape.RELU), Affine(0, *_square(1))):
        assert affine_relu_layers(Network(1, (*plain.nodes, node))) is None


def _square(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.ones((size, size), dtype=np.float32), np.zeros(size, dtype=np.float32)


def both_ways(network: Network, choose: Choose, labels: tuple[str, ...], memo: bool) -> list[list[int]]:
    """Outcomes and steps of some runs in machine code and interpreted, one after the other."""
    moves = [(Outcome(updates=(Update(X, (X * 3 + i) % 50),)),) for i in range(len(labels))]
    half = (Outcome(Const(Fraction(1, 2)), (Update(X, (X + 1) % 50),)), Outcome(Const(Fraction(1, 2))))
    edges = [
        Edge(action=a, guard=6 - i > X % 7, outcomes=moves[i]) for i, a in enumerate(dict.fromkeys(labels))
    ]
    edges.append(Edge(guard=X % 7 >= 6, outcomes=half))
    line = Environment("line", (Variable("x", Int(0, 50)),), equal(X, 7), (Component("c", tuple(edges)),))
    policy = NeuralPolicy(network, (X / 50,), labels, choose)
    found = []
    for tier in ("llvm", "interpreter"):
        asked = Problem("line", line, policy, Never(FALSE))
        watched = PathProperty(equal(X, 41))
        simulator = make_simulator(asked, watched, max_steps=40, tier=tier, memo=memo)  # type: ignore[arg-type]
        runs = simulator.runs(3, None, 0, 50)
        found += [runs.outcome.tolist(), runs.steps.tolist()]
    return found


@pytest.mark.parametrize("choose", [Choose.ARGMAX, Choose.ARGMAX_APPLICABLE])
@pytest.mark.parametrize("memo", [True, False])
def test_networks_that_numpy_decides(choose: Choose, memo: bool) -> None:
    outcomes = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        plain = random_network(rng, [1, 5, 3])
        first, _, last = plain.nodes
        network = Network(1, (first, Activation(1, Shape.TANH), last))
        found = both_ways(network, choose, ("a", "b", "c"), memo)
        assert found[:2] == found[2:]
        outcomes |= set(found[0])
    assert len(outcomes) > 1


def test_two_outputs_for_one_action() -> None:
    """Here the number of an output is not that of its action."""
    network = dense_network([(np.zeros((3, 1), dtype=np.float32), np.array([2, 1, 0], dtype=np.float32))])
    found = both_ways(network, Choose.ARGMAX, ("a", "a", "b"), memo=True)
    assert found[:2] == found[2:]


def test_outputs_that_are_not_finite() -> None:
    large = np.full((2, 1), 3e38, dtype=np.float32)
    network = dense_network([(large, large[:, 0]), (np.full((2, 2), 3e38, dtype=np.float32), large[:, 0])])
    with pytest.raises(Undefined, match="output is not finite in the policy, in the state x = 7"):
        both_ways(network, Choose.ARGMAX, ("a", "b"), memo=False)
