"""Every JANI file beside the repository is read or refused by name; small ones have the known states."""

import json
from pathlib import Path

import pytest
from tests.formats.jani.reachable import reachable

from surefoot.errors import SurefootError
from surefoot.formats.jani import read_jani
from surefoot.problem.problem import Problem
from surefoot.problem.property import Probability
from surefoot.problem.validate import check_environment, validate_problem

pytestmark = pytest.mark.shared_data

CONSTANTS = {
    "smc_storm/nand.v1.jani": {"N": "2", "K": "1"},
    "plaja/blocksworld/cost_terminal/models/legacy_enc/blocksworld_4_3.jani": {
        "failing_probability": "0.1",
        "item_cost_bound": "3",
    },
    "plaja/npuzzle/compact_starts_non_terminal/models/offset_enc/npuzzle_3_3.jani": {
        "failing_probability": "0.1",
        "item_cost_bound": "3",
        "cost_terminal": "true",
    },
}
PLUGINS = ":/plugins: `plugins` (code outside the model) is not supported"
REFUSED = {
    "momba-misc/eq_constraints.jani": ":/type: models of type `ta` are not supported",
    "smc_storm/add_plugin.jani": PLUGINS,
    "smc_storm/dice_plugin.jani": PLUGINS,
    "smc_storm/plugin_error_test.jani": PLUGINS,
    "smc_storm/robot_plugin.jani": PLUGINS,
    "smc_storm/sum_dice_throws_plugins.jani": PLUGINS,
    "smc_storm/nested_array_test.jani": ":/variables/1/initial-value: an array whose rows have different"
    " lengths is not supported",
}
PARTS = ("additional_properties/", "tiny_c_car_v_car")  # of PlaJA: properties and conditions without a model


def conformance(shared_data: Path) -> list[dict]:
    return json.loads((shared_data / "jani/qvbs/conformance.json").read_text())


def as_text(parameters: dict) -> dict[str, str]:
    return {name: str(value).lower() for name, value in parameters.items()}


def test_every_file_is_read_or_refused_by_name(shared_data: Path) -> None:
    root = shared_data / "jani"
    given = {f"qvbs/{row['file']}": as_text(row["params"]) for row in conformance(shared_data)} | CONSTANTS
    outcome: dict[str, str] = {}
    for path in sorted(root.rglob("*.jani")):
        name = str(path.relative_to(root))
        try:
            model = read_jani(path, given.get(name))
        except SurefootError as error:
            outcome[name] = f"{error}".removeprefix(str(path)).partition("; fix: ")[0]
            continue
        check_environment(model.environment)
        for asked in model.properties.values():
            validate_problem(Problem("question", model.environment, None, asked))
        if name.startswith(("qvbs/", "racetrack/", "smc_storm/", "momba-misc/")):
            assert not model.refused, name
            assert model.properties, name
        assert all("is not supported" in e.what for e in model.refused.values()), name
        assert all(e.fix for e in model.refused.values()), name
    assert len(list(root.rglob("*.jani"))) == 79
    for name, what in outcome.items():
        expected = (
            ": this is not a JANI model: it has no `automata`" if any(p in name for p in PARTS) else None
        )
        assert what == REFUSED.get(name, expected), name
    assert set(REFUSED) <= set(outcome)


ALL_STATES = {  # every reachable state; QVBS counts those that matter for the property, where it differs
    ("crowds/crowds.jani", "positive"): (1198, 1145),
    ("elevators/elevators.a-3-3.jani", "goal"): (1008, 909),
    ("philosophers-mdp/philosophers-mdp.3.jani", "eat"): (956, 440),
}
SAME = (
    "brp/brp.jani",
    "haddad-monmege/haddad-monmege.jani",
    "herman/herman.3.jani",
    "leader_sync/leader_sync.3-2.jani",
    "leader_sync/leader_sync.4-2.jani",
    "oscillators/oscillators.3-6-0.1-1.jani",
    "consensus/consensus.2.jani",
    "ij/ij.3.jani",
    "ij/ij.10.jani",
    "rectangle-tireworld/rectangle-tireworld.5.jani",
    "triangle-tireworld/triangle-tireworld.9.jani",
)


@pytest.mark.parametrize("file", SAME)
def test_number_of_states_is_that_of_the_benchmark_set(shared_data: Path, file: str) -> None:
    row = next(row for row in conformance(shared_data) if row["file"] == file)
    model = read_jani(shared_data / "jani/qvbs" / file, as_text(row["params"]))
    assert len(reachable(model.environment)) == row["states"]


@pytest.mark.parametrize(("file", "name"), ALL_STATES)
def test_states_behind_the_goal_make_the_difference(shared_data: Path, file: str, name: str) -> None:
    rows = [r for r in conformance(shared_data) if r["file"] == file and r["property"] == name]
    model = read_jani(shared_data / "jani/qvbs" / file, as_text(rows[0]["params"]))
    every, until_goal = ALL_STATES[file, name]
    assert len(reachable(model.environment)) == every
    asked = model.properties[name]
    assert isinstance(asked, Probability)
    assert len(reachable(model.environment, stop=asked.path.right)) == until_goal == rows[0]["states"]
