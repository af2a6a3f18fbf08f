"""Every property of the small public JANI models beside the repository: answered, or refused by name."""

from fractions import Fraction
from pathlib import Path
from time import process_time

import pytest

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.errors import SurefootError, Unsupported
from surefoot.formats.jani import read_jani
from surefoot.problem.problem import Problem
from surefoot.verdict.verdict import Exact, Verdict
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

pytestmark = pytest.mark.shared_data

CONSTANTS = {"smc_storm/nand.v1.jani": {"N": "2", "K": "1"}}
PLUGINS = "/plugins: `plugins` (code outside the model) is not supported"
RAGGED = "/variables/1/initial-value: an array whose rows have different lengths is not supported"
OUTCOMES: dict[str, dict[str, str] | str] = {
    "momba-misc/die.jani": {
        "Probability to throw a six": "1/6",
        "Expected number of coin flips": "11/3",
    },
    "momba-misc/eq_constraints.jani": "/type: models of type `ta` are not supported",
    "smc_storm/add_plugin.jani": PLUGINS,
    "smc_storm/array_test.jani": {"property_no_array_access": "1", "property_with_array_access": "1"},
    "smc_storm/counters_test.jani": {"counters_ok": "0"},
    "smc_storm/dice_plugin.jani": PLUGINS,
    "smc_storm/die.jani": {
        "Probability to throw a six": "1/6",
        "Probability to throw larger than three": "1/2",
    },
    "smc_storm/leader_sync.3-2.v1.jani": {"eventually_elected": "1", "time": "4/3"},
    "smc_storm/nand.v1.jani": {"reliable": "0.7406323027492864"},
    "smc_storm/nested_array_test.jani": RAGGED,
    "smc_storm/plugin_error_test.jani": PLUGINS,
    "smc_storm/real_values_test.jani": {"destination_reached": "1"},
    "smc_storm/robot_plugin.jani": PLUGINS,
    "smc_storm/sum_dice_throws_plugins.jani": PLUGINS,
    "smc_storm/trigonometry_test.jani": {
        "destination_reached": "1",
        "destination_reached_cos": "1",
        "destination_reached_cos_bool": "1",
        "destination_reached_sin": "1",
    },
}
NOT_CERTIFIED = {"smc_storm/trigonometry_test.jani": "which certificates of probabilities do not cover"}


def answered(problem: Problem) -> Verdict:
    assert Explicit(exact=True).objection(problem) is None
    began = process_time()
    verdict = Explicit(exact=True).check(problem, Budget(20))
    assert process_time() - began < 5, "this should take milliseconds"
    return verdict


def test_every_model_is_listed(shared_data: Path) -> None:
    root = shared_data / "jani"
    files = [f for folder in ("smc_storm", "momba-misc") for f in (root / folder).glob("*.jani")]
    assert {str(f.relative_to(root)) for f in files} == set(OUTCOMES)


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcome(shared_data: Path, name: str) -> None:
    path, expected = shared_data / "jani" / name, OUTCOMES[name]
    if isinstance(expected, str):
        with pytest.raises(SurefootError) as refusal:
            read_jani(path)
        assert str(refusal.value).removeprefix(f"{path}:").partition("; fix: ")[0] == expected
        assert refusal.value.fix
        return
    model = read_jani(path, CONSTANTS.get(name))
    assert not model.refused
    assert set(model.properties) == set(expected)
    for asked, value in expected.items():
        problem = Problem(asked, model.environment, None, model.properties[asked])
        verdict = answered(problem)
        assert isinstance(verdict, Exact), (asked, verdict)
        assert verdict.low is not None
        assert verdict.low == verdict.high
        assert abs(verdict.low - Fraction(value)) <= (Fraction(1, 10**15) if "." in value else 0)
        if name in NOT_CERTIFIED:
            with pytest.raises(Unsupported, match=NOT_CERTIFIED[name]):
                build_process_certificate(problem, verdict)
            continue
        certificate = build_process_certificate(problem, verdict)
        assert certificate is not None
        assert judge_certificate(dict(certificate.content)).accepted
