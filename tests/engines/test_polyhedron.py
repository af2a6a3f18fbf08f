"""Polyhedra that no step of a linear system leaves: recursion, proofs by multipliers, shields."""

from __future__ import annotations

import ctypes
import json
import shutil
import struct
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from benchmarks.old_format import to_format_1
from benchmarks.tampered_shields import CHANGES, accepted, judged, mutants
from benchmarks.tampering import executed

from surefoot.certify.barrier.claim import read_claimed_rules
from surefoot.engines.barrier import Barrier
from surefoot.engines.barrier.polyhedron.admissible_set import maximal_admissible_set
from surefoot.engines.barrier.polyhedron.linear_loop import HalfSpace, LinearLoop
from surefoot.engines.barrier.sos_candidate import MANY
from surefoot.problem.meaning.decision import decide_in_state
from surefoot.problem.policy import Branch, OraclePolicy, ProgramPolicy, ShieldedPolicy
from surefoot.reductions.barrier import barrier_rows, read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.run import verify
from surefoot.shields.batch_guard import BatchGuard
from surefoot.shields.certified_shield import ShieldSynthesis, make_certified_shield, shapes_for
from surefoot.shields.recheck import OldRule, recheck_shield
from surefoot.term.evaluate import Undefined
from surefoot.term.term import TRUE
from surefoot.verdict.verdict import Proved, Refused
from surefoot.work.budget import Budget
from surefoot_studies.control.problem import stays_safe

BOX = (np.full(2, -1.0), np.full(2, 1.0))
POINT = (np.zeros(2), np.zeros(2))
PROOFS = ("dropped_row", "weights", "exchanged_proofs", "dropped_proof", "rounding", "margin", "saturation")


def loop(seed: int, noise: float) -> LinearLoop:
    """A stable loop of two variables with one control."""
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(2, 2))
    state = matrix / np.abs(np.linalg.eigvals(matrix)).max() * generator.uniform(0.4, 0.95)
    control, gain = generator.normal(size=(2, 1)), generator.normal(size=(1, 2)) * 0.4
    one, none = np.ones(1), np.zeros(1)
    shaken = generator.normal(size=(2, 1)) * noise
    return LinearLoop(
        state - control @ gain, control, shaken, np.zeros(2), gain, none, -0.5 * one, 0.4 * one, one
    )


def violations(points: np.ndarray, rows: list[HalfSpace]) -> np.ndarray:
    """How far each point is outside of the box and the rows, negative inside."""
    sides = np.abs(points).max(axis=1) - 1
    return np.max([sides, *(-row.margins(points) for row in rows)], axis=0)


@pytest.mark.parametrize("seed", range(8))
def test_the_recursion_gives_the_largest_set(seed: int) -> None:
    """Without disturbances: a state is in it if its run stays in the box with no control at an end."""
    here = loop(seed, 0.0)
    found = maximal_admissible_set(
        BOX, list(here.between()), lambda h: [here.before(h)], POINT, 500, Budget(20)
    )
    assert isinstance(found, list)
    points = np.random.default_rng(seed).uniform(-1, 1, (4000, 2))
    outside = violations(points, found)
    stays, states = np.ones(len(points), dtype=bool), points
    for _ in range(400):
        value = states @ here.gain[0]
        stays &= (np.abs(states).max(axis=1) <= 1) & (value <= 0.4) & (value >= -0.5)
        states = here.step(states, np.zeros((len(points), 1)))
    sure = np.abs(outside) > 1e-6
    assert np.array_equal(outside[sure] < 0, stays[sure])
    assert stays.any()


@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_no_disturbance_leads_out(seed: int, clipped: bool) -> None:
    here = loop(seed, 0.02)
    seen = np.random.default_rng(seed).uniform(-0.3, 0.3, (50, 2))
    first = [] if clipped else list(here.between())
    before = (lambda h: here.before_clipped(h, seen)) if clipped else lambda h: [here.before(h)]
    found = maximal_admissible_set(BOX, first, before, POINT, 500, Budget(20))
    if isinstance(found, Refused):
        pytest.skip(found.detail)
    generator = np.random.default_rng(seed)
    points = generator.uniform(-1, 1, (6000, 2))
    inside = points[violations(points, found) <= 0]
    assert len(inside)
    for noise in (-1.0, 1.0):
        after = here.step(inside, np.full((len(inside), 1), noise))
        assert violations(after, found).max() <= 1e-8


def test_where_no_state_can_stay_there_is_no_set() -> None:
    here = replace(loop(0, 0.0), drift=np.array([5.0, 0.0]))
    found = maximal_admissible_set(BOX, [], lambda h: [here.before(h)], POINT, 500, Budget(20))
    assert isinstance(found, Refused)


@pytest.fixture(scope="module")
def made() -> ShieldSynthesis:
    """A set in which the control is clipped."""
    return make_certified_shield(stays_safe("pendulum"), (MANY,), Budget(60))


def test_a_set_with_a_clipped_control_is_certified(made: ShieldSynthesis) -> None:
    assert made.accepted
    assert not made.found.uncovered
    (branch,) = made.found.branches
    assert len(barrier_rows(branch.set.barrier)) > 1
    assert any(shown is None for pair in branch.set.proof["saturation"] for shown in pair)


def test_a_disturbed_set_is_certified_and_safe() -> None:
    made = make_certified_shield(stays_safe("lane-keeping"), (MANY,), Budget(60))
    assert made.accepted
    assert not made.found.uncovered


def test_nothing_false_is_accepted(made: ShieldSynthesis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executed, "STEPS", 40)
    monkeypatch.setattr(executed, "GRID", 60)
    assert made.certificate is not None
    words = [judged(before, data) for _, before, data in mutants([to_format_1(made.certificate)], 60, 3)]
    assert not [w for w in words if w.startswith("ACCEPTED")]
    assert "rejected, claims something false" in words


def test_changed_proofs_are_rejected(made: ShieldSynthesis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows without their proofs, other multipliers: few of these changes leave a proof of the same claim."""
    for name in set(CHANGES) - set(PROOFS):
        monkeypatch.delitem(CHANGES, name)
    assert made.certificate is not None
    results = [
        (accepted(data), before, data) for _, before, data in mutants([to_format_1(made.certificate)], 100, 4)
    ]
    assert sum(not good for good, _, _ in results) > 60
    assert all(judged(before, data).startswith("accepted, ") for good, before, data in results if good)


def test_every_row_is_needed(made: ShieldSynthesis) -> None:
    assert made.certificate is not None
    count = len(to_format_1(made.certificate)["claim"]["system"]["rules"][0]["set"]["barrier"]) - 1
    for index in range(count):
        data = to_format_1(made.certificate)
        del data["claim"]["system"]["rules"][0]["set"]["barrier"][1 + index]
        for several in (*data["sets"][0]["start"], *data["sets"][0]["steps"]):
            del several[index]
        assert not accepted(data)


def module(text: str) -> ModuleType:
    found = ModuleType("guard")
    exec(compile(text, "guard.py", "exec"), found.__dict__)  # noqa: S102 (the text was just written)
    return found


def test_all_run_times_agree_bit_for_bit(made: ShieldSynthesis, tmp_path: Path) -> None:
    """The module, the C source, the batch and the reference meaning, inside, outside and far outside."""
    generator = np.random.default_rng(0)
    size = np.array([float(high) for _, high in made.found.branches[0].set.domain])
    states = generator.uniform(-1.2, 1.2, (3000, len(size))) * size
    states[::50] *= 1e200
    proposed = generator.uniform(-2, 2, (3000, 1))
    guard = module(made.python())
    answers = [guard.step(x, u) for x, u in zip(states, proposed, strict=True)]
    batch = BatchGuard(made.guard()).step(states, proposed)
    assert batch.intervened.tolist() == [kind for _, kind in answers]
    assert batch.applied.tobytes() == struct.pack("3000d", *(u for (u,), _ in answers))
    assert {kind for _, kind in answers} == {0, 1, 2}
    policy, environment = made.problem.policy, made.problem.environment
    assert isinstance(policy, ShieldedPolicy)
    for x, u, (applied, kind) in list(zip(states, proposed, answers, strict=True))[:600]:
        asked = replace(policy, policy=OraclePolicy("proposed", lambda _, u=u: (float(u[0]),)))
        try:
            decided = decide_in_state(
                asked, environment, dict(zip(made.system.variables, map(float, x), strict=True))
            )
        except Undefined:
            assert kind == 2
            continue
        assert (float(decided.controls["u1"]), int(decided.intervened)) == (applied[0], kind)
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler")
    header, source = made.c("guard")
    (tmp_path / "guard.h").write_text(header)
    (tmp_path / "guard.c").write_text(source)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "guard.c", "-o", "guard.so"], cwd=tmp_path, check=True)
    step = ctypes.CDLL(str(tmp_path / "guard.so")).guard_step
    for x, u, (applied, kind) in zip(states, proposed, answers, strict=True):
        given, out = (ctypes.c_double * len(x))(*x), (ctypes.c_double * 1)()
        assert step(given, (ctypes.c_double * 1)(*u), out) == kind
        assert bytes(out) == struct.pack("d", *applied)


def test_an_old_polyhedron_is_kept_after_a_change() -> None:
    old = make_certified_shield(stays_safe("pendulum-continuous"), (MANY,), Budget(60))
    assert old.certificate is not None
    rules = [OldRule(t, s["domain"], s["barrier"]) for t, s in read_claimed_rules(old.certificate)]
    same, heavier = (
        read_control_system(discretise(stays_safe(name)))
        for name in ("pendulum-continuous", "pendulum-heavier")
    )
    assert recheck_shield(same, rules, None, (MANY,), Budget(30)).stage == "kept"
    again = recheck_shield(heavier, rules, None, (MANY,), Budget(30))
    assert again.stage == "sets"
    assert not again.found.uncovered


def test_the_engine_proves_a_program_by_a_polyhedron(made: ShieldSynthesis) -> None:
    (branch,) = made.found.branches
    policy = ProgramPolicy((Branch(TRUE, branch.then),))
    result = verify(replace(made.problem, policy=policy), Barrier(degree=2), Budget(60))
    assert isinstance(result.verdict, Proved)
    assert result.certified
    assert "weights" in json.dumps(result.verdict.certificate.content["sets"])


def test_a_system_that_is_not_linear_has_none() -> None:
    made = make_certified_shield(stays_safe("duffing"), shapes_for("polyhedron"), Budget(3))
    assert not made.found.branches
    assert "polyhedra are for linear systems" in made.found.trouble
    assert made.found.covered_share(made.system.initial) == Fraction(0)
