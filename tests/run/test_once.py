"""The walk of `check toy.toml --engine bmc --solver native --certificate`: every translation is made once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.problem.problem import Problem
from surefoot.query.query import Query
from surefoot.reductions import network_call, transition_system, unroll
from surefoot.run import verify
from surefoot.solvers import remote
from surefoot.solvers.milp import Milp
from surefoot.solvers.milp import solver as milp
from surefoot.solvers.native import Native
from surefoot.solvers.native import solver as native
from surefoot.solvers.protocol import Solver
from surefoot.verdict.verdict import Proved, Violated
from surefoot.work.budget import Budget
from surefoot_studies.toy.problem import PROBLEMS


class _SameProcess:
    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
        return function(*arguments)


@contextmanager
def _no_child() -> Iterator[_SameProcess]:
    yield _SameProcess()


class Calls:
    """How often each translation was made, by what was translated."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.lowered: Counter[Query] = Counter()
        self.systems: Counter[tuple[int, bool]] = Counter()
        self.unrolled: Counter[tuple[object, ...]] = Counter()
        self.observed: Counter[int] = Counter()
        self._kept: list[Problem] = []
        patch.setattr(remote, "borrow_worker", _no_child)
        for module in (native, milp):
            self._count(patch, module, "lower_query", lambda query: self.lowered.update([query]))
        self._count(
            patch, unroll, "build_transition_system", lambda p, r: self.systems.update([(self._id(p), r)])
        )
        self._count(
            patch, unroll, "_copy_steps", lambda p, *more: self.unrolled.update([(self._id(p), *more)])
        )
        self._count(patch, network_call, "_observed_terms", lambda p, *_: self.observed.update([id(p)]))

    def _id(self, problem: Problem) -> int:
        self._kept.append(problem)
        return id(problem)

    def _count(self, patch: pytest.MonkeyPatch, module: Any, name: str, note: Callable[..., None]) -> None:
        inner = getattr(module, name)

        def counted(*arguments: Any, **more: Any) -> Any:
            note(*arguments)
            return inner(*arguments, **more)

        patch.setattr(module, name, counted)


@pytest.mark.parametrize("solver", [Native(), Milp()], ids=lambda s: s.name)
@pytest.mark.parametrize(("name", "kind"), [("below-thirteen", Proved), ("below-ten", Violated)])
def test_every_translation_of_the_walk_is_made_once(
    monkeypatch: pytest.MonkeyPatch, solver: Solver, name: str, kind: type
) -> None:
    calls = Calls(monkeypatch)
    result = verify(PROBLEMS[name](), Bmc(solver=solver, depth=2), Budget(60))
    assert isinstance(result.verdict, kind)
    assert calls.lowered
    assert set(calls.lowered.values()) == {1}
    assert set(calls.systems.values()) == {1}
    assert set(calls.unrolled.values()) == {1}
    assert set(calls.observed.values()) == {1}


def test_an_objection_lowers_nothing_and_expands_observations_once(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS["below-ten"]()
    calls = Calls(monkeypatch)
    for engine in (Bmc(solver=Native()), Bmc(solver=Milp()), Induction(solver=Native())):
        engine.objection(problem)
    assert transition_system.encoding_objection(problem) is None
    assert not calls.lowered
    assert sum(calls.systems.values()) == 1
    assert sum(calls.observed.values()) == 1
