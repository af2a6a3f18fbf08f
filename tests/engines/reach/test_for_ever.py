"""Never, for ever, where runs do not come back into their starts: boxes that they do not leave are found."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.engines.reach.small_loops import (
    ask_reach,
    check_reach_proof,
    linear_network,
    stepped_loop,
    timed_loop,
    write_edge,
)

from surefoot.certify.reach.claim import build_reach_certificate
from surefoot.problem.network import Activation, Affine, Network, Shape
from surefoot.problem.problem import Problem
from surefoot.term.parser import parse_term
from surefoot.verdict.verdict import Proved, Unknown
from surefoot_checker.check import judge_certificate

State = tuple[float, ...]
SECONDS = 180.0  # where a proof is expected: most take a second or two


def layered_network(kind: Shape, *layers: Sequence[Sequence[float]]) -> Network:
    """Layers as rows of weights, the last number of each being the bias."""
    nodes: list[Any] = []
    for number, rows in enumerate(layers):
        weights = np.array([row[:-1] for row in rows], dtype=np.float32)
        nodes.append(Affine(len(nodes), weights, np.array([row[-1] for row in rows], np.float32)))
        if number + 1 < len(layers):
            nodes.append(Activation(len(nodes), kind))
    return Network(len(layers[0][0]) - 1, tuple(nodes))


# u = -0.25 (relu(x) - relu(-x)) - 0.25 (relu(y) - relu(-y)), and nearly that with tanh
FOLDS = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]
RELU = layered_network(Shape.RELU, FOLDS, [[-0.25, 0.25, -0.25, 0.25, 0]])
TANH = layered_network(Shape.TANH, [[1, 0, 0], [0, 1, 0]], [[-1, -1, 0]])


def follow_flow(slope: Callable[..., State], period: float) -> Callable[[State, float], State]:
    """One period by Runge and Kutta, in small steps."""

    def move(state: State, w: float) -> State:
        def ahead(k: State, h: float) -> State:
            return slope(*(x + h * v for x, v in zip(now, k, strict=True)), w)

        now, h = state, period / 20
        for _ in range(20):
            a = slope(*now, w)
            b = ahead(a, h / 2)
            c = ahead(b, h / 2)
            d = ahead(c, h)
            rates = ((p + 2 * q + 2 * r + s) / 6 for p, q, r, s in zip(a, b, c, d, strict=True))
            now = tuple(x + h * v for x, v in zip(now, rates, strict=True))
        return now

    return move


@dataclass(frozen=True)
class EverSystem:
    """`move`: a period as we compute it here, with a disturbance from -1 to 1."""

    problem: Problem
    move: Callable[[State, float], State]
    bad: Callable[..., bool]


def list_systems() -> dict[str, EverSystem]:
    far = {"x": (2.0, 2.2), "y": (-0.1, 0.1)}
    ring = {"x": "x * (1 - x^2 - y^2) - y", "y": "y * (1 - x^2 - y^2) + x"}
    return {
        "contraction": EverSystem(
            stepped_loop({"x": "0.9 * x + 0.05 * y", "y": "0.8 * y"}, far, "never x > 3 or y < -1"),
            lambda s, w: (0.9 * s[0] + 0.05 * s[1], 0.8 * s[1]),
            lambda x, y: x > 3 or y < -1,
        ),
        "turning steps": EverSystem(
            stepped_loop(
                {"x": "0.99 * (0.95 * x - 0.31 * y)", "y": "0.99 * (0.31 * x + 0.95 * y)"}, far, "never x > 3"
            ),
            lambda s, w: (0.99 * (0.95 * s[0] - 0.31 * s[1]), 0.99 * (0.31 * s[0] + 0.95 * s[1])),
            lambda x, y: x > 3,
        ),
        "spiral": EverSystem(
            timed_loop({"x": "y", "y": "0 - x - 0.1 * y"}, far, "never x > 3", period=0.25),
            follow_flow(lambda x, y, w: (y, -x - 0.1 * y), 0.25),
            lambda x, y: x > 3,
        ),
        "ring": EverSystem(
            timed_loop(ring, {"x": (0.1, 0.2), "y": (0.1, 0.2)}, "never x > 1.5", period=0.2),
            follow_flow(lambda x, y, w: (x * (1 - x * x - y * y) - y, y * (1 - x * x - y * y) + x), 0.2),
            lambda x, y: x > 1.5,
        ),
        "disturbed": EverSystem(
            timed_loop(
                {"x": "y", "y": "0 - x - y + w"},
                {"x": (0.5, 0.6), "y": (0.0, 0.1)},
                "never x > 1.5",
                chosen={"w": (-0.1, 0.1)},
                period=0.2,
            ),
            follow_flow(lambda x, y, w: (y, -x - y + 0.1 * w), 0.2),
            lambda x, y: x > 1.5,
        ),
        "relu": EverSystem(
            stepped_loop({"x": "0.9 * x + 0.1 * y", "y": "0.9 * y + u"}, far, "never x > 3", network=RELU),
            lambda s, w: (0.9 * s[0] + 0.1 * s[1], 0.9 * s[1] - 0.25 * s[0] - 0.25 * s[1]),
            lambda x, y: x > 3,
        ),
        "tanh": EverSystem(
            timed_loop({"x": "y", "y": "u"}, far, "never x > 3", network=TANH, period=0.1),
            lambda s, w: follow_flow(lambda x, y, _: (y, -float(np.tanh(s[0])) - float(np.tanh(s[1]))), 0.1)(
                s, w
            ),
            lambda x, y: x > 3,
        ),
        "clock": EverSystem(
            stepped_loop(
                {"x": "0.8 * x + ite(k = 0, 0.2, 0)", "k": "ite(k >= 2, 0, k + 1)"},
                {"x": (2.0, 2.1), "k": (0, 0)},
                "never x > 3",
            ),
            lambda s, w: (0.8 * s[0] + (0.2 if s[1] == 0 else 0), 0.0 if s[1] >= 2 else s[1] + 1),
            lambda x, k: x > 3,
        ),
        "parameter": EverSystem(
            timed_loop(
                {"x": "p - x", "p": "0"}, {"x": (2.0, 2.2), "p": (0.3, 1.1)}, "never x > 3", period=0.2
            ),
            follow_flow(lambda x, p, w: (p - x, 0.0), 0.2),
            lambda x, p: x > 3,
        ),
    }


SYSTEMS = list_systems()


def box_of(region: Any) -> list[tuple[float, float]]:
    ends = (e if isinstance(e, list) else [e, e] for e in region["box"].values())
    return [(float(Fraction(low)), float(Fraction(high))) for low, high in ends]


def is_inside(state: State, box: Sequence[tuple[float, float]]) -> bool:
    return all(low - 1e-9 <= x <= high + 1e-9 for x, (low, high) in zip(state, box, strict=True))


def longest_way(node: Any) -> int:
    match node:
        case ["split", _, *parts]:
            return max(map(longest_way, parts))
        case ["run", int(count), end, *_]:
            return count + longest_way(end)
        case ["fork", dict() as ways]:
            return 1 + max(map(longest_way, ways.values()))
    return 0


@pytest.mark.parametrize("name", SYSTEMS)
def test_runs_that_do_not_come_back_into_their_starts(name: str) -> None:
    system = SYSTEMS[name]
    verdict = ask_reach(system.problem, SECONDS)
    checked = check_reach_proof(system.problem, verdict)
    assert checked.accepted, checked.reason
    assert isinstance(verdict, Proved)
    assert verdict.certificate is not None
    regions = verdict.certificate.content["regions"]
    assert regions[0]["start"]
    assert not any(region["start"] for region in regions[1:])
    assert len(regions) == (4 if name == "clock" else 2)
    draw = random.Random(name)
    boxes = [box_of(region) for region in regions]
    for number, region in enumerate(regions):
        for _ in range(20):  # from each region, into one that is no start
            state = tuple(draw.choice([low, high, draw.uniform(low, high)]) for low, high in boxes[number])
            for _ in range(longest_way(region["tree"])):
                state = system.move(state, draw.choice([-1.0, 1.0]))
                assert not system.bad(*state)
                if any(is_inside(state, box) for box in boxes[1:]):
                    break
            else:
                pytest.fail(f"{name}: a run does not come back")


def test_the_cells_of_a_limit_cycle() -> None:
    """Van der Pol: runs from corners of the box around the cycle get to y > 4.

    A small box across the cycle is closed. Its cells go round twice, after which the sets of the checker are
    a little wider: without room at the sides of the box it refused this proof.
    """
    starts = {"x": (1.4, 1.5), "y": (2.3, 2.4)}
    asked = "never x > 3 or y > 4 or y < -4"
    problem = timed_loop({"x": "y", "y": "(1 - x^2) * y - x"}, starts, asked, period=0.1)
    verdict = ask_reach(problem, SECONDS)
    assert check_reach_proof(problem, verdict).accepted


@pytest.mark.parametrize(
    ("rates", "starts", "asked"),
    [
        ({"x": "y", "y": "0.05 * y - x"}, {"x": (0.1, 0.2), "y": (0.1, 0.2)}, "never x > 50"),  # unstable
        ({"x": "0.01 * x"}, {"x": (0.1, 0.2)}, "never x > 50"),
        ({"x": "y", "y": "0 - x"}, {"x": (0.1, 0.2), "y": (0.1, 0.2)}, "never x > 0.25"),  # by 0.03 too tight
        (
            {"x": "x * (1 - x^2 - y^2) - y", "y": "y * (1 - x^2 - y^2) + x"},
            {"x": (0.1, 0.2), "y": (0.1, 0.2)},
            "never x > 0.99",  # the ring is at 1
        ),
    ],
)
def test_what_is_violated_late_is_not_proved(rates: dict[str, str], starts: Any, asked: str) -> None:
    assert isinstance(ask_reach(timed_loop(rates, starts, asked, period=0.2), 4.0), Unknown)


def test_a_disturbance_that_leads_out_of_every_box() -> None:
    """In 200 steps x may go from 1 to 3; without the disturbance it goes to 0."""
    for size, proved in ((0.02, True), (0.05, False)):
        problem = stepped_loop(
            {"x": "0.98 * x + w"}, {"x": (1.0, 1.0)}, "never x > 2", chosen={"w": (-size, size)}
        )
        verdict = ask_reach(problem, SECONDS if proved else 5.0)
        assert isinstance(verdict, Proved) is proved
        if proved:
            assert check_reach_proof(problem, verdict).accepted


def test_regions_of_starts_that_lead_into_each_other() -> None:
    problem = stepped_loop(
        {"x": "ite(x > 1.5, 0.5 + 0.9 * (x - 2.5), 2.5 + 0.9 * (x - 0.5))"},
        {"x": (0.0, 1.0)},
        "never x > 3.5",
    )
    both = parse_term("x >= 0 and x <= 1 or x >= 2 and x <= 3")
    problem = replace(problem, environment=replace(problem.environment, initial=both))
    verdict = ask_reach(problem)
    assert check_reach_proof(problem, verdict).accepted
    assert isinstance(verdict, Proved)
    assert verdict.certificate is not None
    regions = verdict.certificate.content["regions"]
    assert [region["tree"][2] for region in regions] == [["return", 1], ["return", 0]]


def test_a_box_that_is_not_closed_is_refused() -> None:
    problem = SYSTEMS["spiral"].problem
    verdict = ask_reach(problem, SECONDS)
    assert isinstance(verdict, Proved)
    assert verdict.certificate is not None
    content = verdict.certificate.content
    start, region = content["regions"]
    word, count, end, *options = region["tree"]
    assert word == "run"
    ends = {name: [str(Fraction(e) + 1) for e in pair] for name, pair in region["box"].items()}
    for damaged in (
        {**region, "box": ends},
        {**region, "tree": ["done"]},
        {**region, "tree": [word, count - 1, end, *options]},  # it is back after all periods only
        {**region, "tree": end},
    ):
        data = {**content, "regions": [start, damaged]}
        assert not judge_certificate(build_reach_certificate(problem, data, {}).content).accepted


@pytest.mark.parametrize("asked", ["never x > 3", "never x > 0.9 and y > 0.9"])
def test_starts_that_are_no_box(asked: str) -> None:
    """The corners of the box around a disc, one of which is bad: left out, the box is not come back to."""
    starts = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    problem = stepped_loop({"x": "0.5 * x", "y": "0.5 * y"}, starts, asked)
    disc = parse_term("x >= -1 and x <= 1 and y >= -1 and y <= 1 and x^2 + y^2 <= 1")
    problem = replace(problem, environment=replace(problem.environment, initial=disc))
    assert check_reach_proof(problem, ask_reach(problem, SECONDS)).accepted


def test_a_parameter_that_the_starts_have_many_values_of() -> None:
    """Numbers that a checker rounds: it comes back into a box with others."""
    starts = {"x": (0.0, 2.0), "p": (0.1, 1.1)}
    for problem in (
        timed_loop({"x": "p - x", "p": "0"}, starts, "never x > 3", period=0.2),
        stepped_loop({"x": "0.9 * x + 0.1 * p"}, starts, "never x > 3"),
    ):
        assert check_reach_proof(problem, ask_reach(problem, SECONDS)).accepted


def test_a_zero_is_scaled_without_rounding() -> None:
    """The checker's parameter stays where it is, so that a box of its values is come back into."""
    from surefoot_checker.claims.reach.affine_form import FormArithmetic

    forms = FormArithmetic(30, 2)
    assert forms.scale((0, [0, 0], 0), 1, 3) == (0, [0, 0], 0)
    assert forms.scale((0, [0, 1], 0), 1, 3)[2] > 0


def test_how_far_it_came_is_about_the_starts() -> None:
    """A point of the starts that is bad at once: boxes that are closed do not count."""
    problem = stepped_loop({"x": "0.5 * x"}, {"x": (1.0, 2.0)}, "never x > 1.5")
    verdict = ask_reach(problem, 3.0)
    assert isinstance(verdict, Unknown)
    flowpipe: Any = verdict.artifact
    assert flowpipe.share < 1
    assert all(
        low >= 1 and high <= 2 for s in flowpipe.starts for low, high in zip(s.low, s.high, strict=True)
    )


@pytest.mark.parametrize("asked", ["never x > 0.5 from 3 seconds", "never x > 0.5 from 2.25 seconds"])
def test_what_is_bad_only_later_may_be_passed_through_before(asked: str) -> None:
    """x' = 0.1 - x from 1: x is 0.5 after 0.81 seconds. The starts are bad, and no set that runs stay in."""
    problem = timed_loop({"x": "0.1 - x + 0.01 * u"}, {"x": (0.9, 1)}, asked, period="0.25")
    assert check_reach_proof(problem, ask_reach(problem, SECONDS)).accepted


def test_what_is_bad_later_is_not_proved() -> None:
    problem = timed_loop({"x": "0.6 - x"}, {"x": (0.9, 1)}, "never x > 0.5 from 3 seconds", period="0.25")
    assert isinstance(ask_reach(problem, 3), Unknown)


def thermostat(asked: str) -> Problem:
    """Heat is on below 21; how fast warmth is lost is not known, and does not change."""
    loss = "t - 0.05*k*(t - 10) + w"
    edges = [
        write_edge({"t": text}, action=action, chosen={"w": ("-0.05", "0.05")})
        for action, text in (("off", loss), ("on", f"{loss} + 1.5"))
    ]
    network = linear_network([1.0, 0.0, -21.0], [0.0, 0.0, 0.0])
    starts = {"t": ("19.0", "23.0"), "k": ("0.9", "1.1")}
    return stepped_loop(edges, starts, asked, network=network, actions=("off", "on"))


@pytest.mark.parametrize("until", ["", " for 60 steps"])
def test_runs_that_come_back_with_an_unknown_constant(until: str) -> None:
    """Every step has two successors near 21: only coming back ends that, whatever is asked for how long."""
    problem = thermostat(f"never t < 18 or t > 24{until}")
    verdict = ask_reach(problem, SECONDS)
    assert check_reach_proof(problem, verdict).accepted


def test_runs_that_come_back_and_are_bad() -> None:
    assert isinstance(ask_reach(thermostat("never t > 22.2 for 60 steps"), 3.0), Unknown)


@pytest.mark.parametrize(("high", "fits"), [("1", True), ("1/2", False)])
@pytest.mark.parametrize("rate", ["0", "0.001*u"])
def test_constants_have_the_range_of_the_start(high: str, fits: bool, rate: str) -> None:
    """x falls into a box at once; k, which nothing changes, is in it or not."""
    problem = timed_loop({"x": "-x", "k": rate}, {"x": ("1", "2"), "k": ("0", "1")}, "never x > 3")
    made = build_reach_certificate(
        problem, {"bits": 44, "order": 4, "taylor": 5, "pieces": 4, "regions": []}, {}
    )
    content: Any = made.content
    region: Any = {
        "start": True,
        "box": {"x": ["1", "2"], "k": ["0", "1"]},
        "tree": ["run", 1, ["return", 1]],
    }
    small: Any = {
        "start": False,
        "box": {"x": ["-1", "1"], "k": ["0", high]},
        "tree": ["run", 1, ["return", 1]],
    }
    content["reach"]["regions"] = [region, small]
    accepted = judge_certificate(content).accepted
    assert accepted is (fits and rate == "0")
