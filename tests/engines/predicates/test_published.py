"""Questions of PlaJA's test instances, and what its tests say about the start states of Racetrack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.engines.predicates.end_cells import DX, DY, X, Y, race

from surefoot.engines.predicates import Predicates
from surefoot.formats.jani import read_jani
from surefoot.formats.nnet import read_nnet
from surefoot.problem.problem import Problem
from surefoot.run import verify
from surefoot.term.term import Const
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import Holds, Proved, Violated
from surefoot.work.budget import Budget

RACETRACK = "plaja/icaps22/racetrack"
STARTS = (
    "additional_properties/safety_verification/simple/EvaluationMMB/barto-small/random_starts_999/start.jani"
)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("file", "name", "steps"),
    [
        ("for_pa_cegar", "predicate_abstraction_1", 0),
        ("for_pa_cegar", "predicate_abstraction_2", 2),
        ("for_pa_cegar", "predicate_abstraction_3", None),
        ("for_pa_cegar2", "predicate_abstraction_1", None),
        ("for_pa_cegar3", "predicate_abstraction_1", 3),
        ("for_pa_cegar3", "predicate_abstraction_2", None),
    ],
)
def test_the_questions_of_the_instances(shared_data: Path, file: str, name: str, steps: int | None) -> None:
    """`steps`: the length of a shortest violating run, as the search through all states finds it too."""
    model = read_jani(shared_data / "jani" / "plaja" / f"{file}.jani")
    result = verify(Problem(name, model.environment, None, model.properties[name]), Predicates(), Budget(60))
    if steps is None:
        assert isinstance(result.verdict, Proved | Holds)
    else:
        assert isinstance(result.verdict, Violated)
        assert result.certified
        assert len(result.verdict.trace.moves) == steps


@pytest.mark.shared_data
def test_a_thousand_starts_of_racetrack_are_fifteen_abstract_ones(shared_data: Path) -> None:
    """Predicates 17 <= x, 6 <= y, 0 <= dx, 0 <= dy, as in `ppa_racetrack_test`; the model is written here."""
    folder = shared_data / "jani" / RACETRACK
    listed = json.loads((folder / STARTS).read_text("utf-8"))["values"]
    values = [{v["var"]: v["value"] for v in start["variables"]} for start in listed]
    starts = [tuple(s[f"car0_{n}"] for n in ("x", "y", "dx", "dy")) for s in values]
    network = read_nnet(folder / "networks/simple/barto-small/no_filtering/simple_barto-small_16_16.nnet")
    track = (shared_data / "jani/tracks/barto-small.track").read_text("utf-8").splitlines()[1:13]
    given = (Const(17) <= X, Const(6) <= Y, Const(0) <= DX, Const(0) <= DY)
    problem = race(track, [*starts, (0, 5, 0, 0)], network)  # type: ignore[list-item]
    verdict = Predicates(given, fixed=True).check(problem, Budget(120))
    assert isinstance(verdict, Violated)
    assert isinstance(verdict.artifact, AbstractGraph)
    assert sum(s.start for s in verdict.artifact.states) == 15
