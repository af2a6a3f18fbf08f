"""Sub-steps whose states and controls have symbols of their own: sets contain runs."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.checker.reach.loops import affine, name, network_of, timed_problem
from tests.checker.reach.test_wide_networks import is_noticed
from tests.laws.test_reach_laws import check_timed, random_timed_problem

from surefoot_checker.claims.reach import period, sub_step
from surefoot_checker.claims.reach.claim import check_reach
from surefoot_checker.claims.reach.loop_system import ClosedLoop, read_closed_loop
from surefoot_checker.claims.reach.network_outputs import InputBasis
from surefoot_checker.claims.reach.sub_step import follow_sub_step
from surefoot_checker.claims.unsat.query_claim import FileLocations
from surefoot_checker.kernel.strict_json import Refused

Patch = pytest.MonkeyPatch


@pytest.fixture
def always_own(monkeypatch: Patch) -> None:
    monkeypatch.setattr(sub_step, "MANY", 0)


@pytest.mark.usefixtures("always_own")
@pytest.mark.parametrize("first", range(0, 150, 30))
def test_runs_stay_inside(first: int) -> None:
    assert sum(check_timed(seed) for seed in range(first, first + 30)) >= 17


def _forget_off(basis: Any, x: Any) -> Any:
    return None if x is None else (x[0], basis.expand([x[0], *x[1]])[0], 0)


def _turn_signs(basis: Any, x: Any) -> Any:
    found = sub_step_expand(basis, x)
    return None if found is None else (found[0], [-a for a in found[1]], found[2])


sub_step_expand = sub_step.expand_form


@pytest.mark.usefixtures("always_own")
def test_planted_mistakes_are_noticed(monkeypatch: Patch) -> None:
    def halved(self: Any) -> Any:
        return [(c, [q // 2 for q in a], r) for c, a, r in true(self)]

    true = InputBasis.own_forms
    assert not is_noticed(monkeypatch, InputBasis, "own_forms", true, check_timed)
    assert is_noticed(monkeypatch, InputBasis, "own_forms", halved, check_timed)
    assert is_noticed(monkeypatch, sub_step, "expand_form", _forget_off, check_timed)
    assert is_noticed(monkeypatch, sub_step, "expand_form", _turn_signs, check_timed)


def follow_both_ways(loop: ClosedLoop, draw: random.Random, patch: Patch) -> tuple[Any, Any]:
    """One sub-step from forms over many symbols, with symbols of their own and without."""
    assert loop.time is not None
    one, symbols = 1 << 44, 12

    def form(count: int) -> Any:
        return (
            draw.randint(-one, one),
            [draw.randint(-one, one) >> draw.randint(5, 9) for _ in range(count)],
            0,
        )

    starts, controls = ([form(symbols) for _ in some] for some in (loop.reals, loop.controls))
    found = []
    for many in (0, 1000):
        patch.setattr(sub_step, "MANY", many)
        found.append(follow_sub_step(loop.time.flow, 44, starts, controls, Fraction(1, 5), 4))
    return found[0], found[1]


@pytest.mark.parametrize("seed", range(20))
def test_linear_flows_lose_nothing(seed: int, monkeypatch: Patch) -> None:
    draw = random.Random(seed)

    def term() -> Any:
        parts = [["*", f"{draw.uniform(-1, 1):.3f}", name(n)] for n in ("x0", "x1", "u0")]
        return ["+", *parts]

    starts = {"x0": ("0", "1"), "x1": ("0", "1")}
    asked = {"kind": "never", "condition": ["<", 5, ["-", name("x0"), name("x1")]], "until": "1"}
    network = network_of(2, affine(0, [[1.0, 1.0]], [0.0]))
    problem = timed_problem(starts, [term(), term()], "0.2", network, asked, ["u0"])
    loop = read_closed_loop(problem, "exact", 44, FileLocations(Path()))
    own, plain = follow_both_ways(loop, draw, monkeypatch)
    near = 1 << 14  # of 2^44
    for x, y in zip(own.end, plain.end, strict=True):
        assert abs(x[0] - y[0]) <= near
        assert abs(x[2] - y[2]) <= near
        assert max(abs(p - q) for p, q in zip(x[1], y[1], strict=True)) <= near
    assert loop.time is not None
    asked_about = loop.time.condition[1]
    spans = own.bound_by_ends(asked_about, Fraction(0), Fraction(1, 5))
    assert spans == pytest.approx(
        plain.bound_by_ends(asked_about, Fraction(0), Fraction(1, 5)), abs=32 * near
    )


@pytest.mark.parametrize("seed", range(60))
def test_other_flows_overlap(seed: int, monkeypatch: Patch) -> None:
    """Both hold the same states, so that neither is beside the other."""
    draw = random.Random(seed)
    problem, _ = random_timed_problem(draw)
    loop = read_closed_loop(problem, "exact", 44, FileLocations(Path()))
    try:
        own, plain = follow_both_ways(loop, draw, monkeypatch)
    except Refused:
        return
    for x, y in zip(own.end, plain.end, strict=True):
        gap = abs(x[0] - y[0])
        assert gap <= sum(abs(p - q) for p, q in zip(x[1], y[1], strict=True)) + x[2] + y[2]


def test_what_nothing_changes_stays_as_it_is(monkeypatch: Patch) -> None:
    starts = {"x0": ("0", "1"), "x1": ("2", "3")}
    asked = {"kind": "never", "condition": ["<", 5, name("x0")], "until": "1"}
    network = network_of(2, affine(0, [[1.0, 1.0]], [0.0]))
    derivatives = [["*", name("x1"), name("u0")], "0"]
    problem = timed_problem(starts, derivatives, "0.2", network, asked, ["u0"])
    loop = read_closed_loop(problem, "exact", 44, FileLocations(Path()))
    own, plain = follow_both_ways(loop, random.Random(0), monkeypatch)
    assert own.end[1] == plain.end[1]


def test_cells_that_are_refused_are_followed_with_all_symbols(monkeypatch: Patch) -> None:
    """And after some of these all others at once."""
    tried: list[bool] = []

    def follow(flow: Any, *more: Any) -> Any:
        tried.append(flow.program.finest)
        if not flow.program.finest:
            raise Refused("too wide")
        return true(flow, *more)

    true = follow_sub_step
    monkeypatch.setattr(period, "follow_sub_step", follow)
    starts = {"x0": ("0", "1")}
    asked = {"kind": "never", "condition": ["<", 5, name("x0")], "until": "0.2"}
    network = network_of(1, affine(0, [[-1.0]], [0.0]))
    problem = timed_problem(starts, [name("u0")], "0.2", network, asked, ["u0"])
    run: Any = ["run", 1, ["done"]]
    tree: Any = run
    for _ in range(3):
        tree = ["split", 0, tree, tree]
    regions = [{"start": True, "box": {"x0": ["0", "1"]}, "tree": tree}]
    walk = {"bits": 44, "order": 4, "taylor": 3, "pieces": 1, "regions": regions}
    claim = {"kind": "reach", "plant": "exact", "problem": problem}
    assert check_reach(claim, walk, FileLocations(Path())).cells == 8
    assert tried == [False, True] * 3 + [True] * 5
