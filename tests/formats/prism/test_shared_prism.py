"""Every PRISM file beside the repository is read, and has the reference values that its suite states."""

from pathlib import Path

import pytest
from benchmarks.prism_results import ask_row, model_rows, result_rows
from tests.formats.prism.ask_prism import count_states

from surefoot.formats.prism import read_prism
from surefoot.formats.prism.property_file import read_prism_questions
from surefoot.formats.prism_model import prism_question_scope
from surefoot.problem.validate import check_environment

pytestmark = pytest.mark.shared_data

OWN_CONSTANTS = {"bluetooth": {"mrec": "1"}}  # commented out in `models`, where they are too large for PRISM
_CHECKED = ("crowds(TotalRuns=3,CrowdSize=5)", "leader_sync")  # by the checker too, which is slower
_MIDDLE = ("crowds(TotalRuns=3,CrowdSize=10)", "crowds(TotalRuns=4,CrowdSize=10)")
KNOWN = {  # PRISM's website lists these states; that of firewire is in the JANI set too
    "csma2_2": 1038,
    "csma2_4": 7958,
    "leader_sync3_2": 26,
    "leader_sync3_3": 69,
    "leader_sync3_4": 147,
    "wlan0": 2954,
}


def _constants(path: Path) -> dict[str, str]:
    for model, constants in model_rows(path.parent):
        if model == path:
            return dict(c.split("=") for c in constants)
    return OWN_CONSTANTS.get(path.parent.name, {})


def _models(folder: Path) -> list[Path]:
    return sorted(p for p in folder.glob("*/*") if p.suffix in (".nm", ".pm", ".prism", ".sm"))


def test_every_model_and_every_question_is_read(shared_data: Path) -> None:
    models = _models(shared_data / "prism")
    assert len(models) >= 18
    for path in models:
        model = read_prism(path, _constants(path))
        check_environment(model.environment)
        for file in sorted(path.parent.glob("*.pctl")):
            found = read_prism_questions(file, prism_question_scope(model))
            assert found.questions, file
            assert not found.refused, (path, found.refused)


@pytest.mark.parametrize(("name", "states"), KNOWN.items())
def test_known_numbers_of_states(name: str, states: int, shared_data: Path) -> None:
    path = next(p for p in _models(shared_data / "prism") if p.stem == name)
    assert count_states(read_prism(path, _constants(path))) == states


def test_reference_values(shared_data: Path) -> None:
    """All rows that are small: the others take minutes, `python -m benchmarks.prism_results`."""
    rows = [row for row in result_rows(shared_data / "prism") if _is_small(row.name)]
    assert len(rows) == 18
    for row in rows:
        certified = row.name.startswith(_CHECKED)
        answer = ask_row(row, 60, check=certified)
        assert answer["outcome"] == "agrees", answer
        assert answer.get("checker", "accepted") == "accepted", answer


def _is_small(name: str) -> bool:
    """Those with CrowdSize=20 are left to the interpreter, which takes minutes."""
    if name.startswith("crowds"):
        return "CrowdSize=5)" in name or "=3,CrowdSize=15" in name or name.startswith(_MIDDLE)
    return "N=5" in name or name.startswith("leader_sync")
