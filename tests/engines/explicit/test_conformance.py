"""Reference values of the Quantitative Verification Benchmark Set: in the interval, certified, and narrow."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from surefoot.certify.checker.check import check
from surefoot.certify.process.claim import about_values
from surefoot.engines.explicit import Explicit
from surefoot.formats.jani import read_jani
from surefoot.problem.problem import Problem
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "jani" / "qvbs"
LARGEST = 1200  # states; larger ones are for the benchmarks

pytestmark = pytest.mark.shared_data


def rows() -> list[dict]:
    if not (FOLDER / "conformance.json").is_file():
        return []
    found = json.loads((FOLDER / "conformance.json").read_text())
    return [row for row in found if row["states"] <= LARGEST]


def answered(row: dict, exact: bool) -> Exact:
    file = next(iter(FOLDER.rglob(Path(row["file"]).name)))
    given = {k: str(v).lower() for k, v in row["params"].items()}
    model = read_jani(file, given)
    problem = Problem(row["property"], model.environment, None, model.properties[row["property"]])
    engine = Explicit(exact=exact)
    assert engine.objection(problem) is None
    verdict = engine.check(problem, Budget(120))
    assert isinstance(verdict, Exact)
    certificate = about_values(problem, verdict)
    assert certificate is not None
    found = check(dict(certificate.content))
    assert found.accepted, found.reason
    return verdict


@pytest.mark.parametrize("row", rows(), ids=lambda r: f"{Path(r['file']).stem}-{r['property']}-{r['states']}")
def test_reference_value(row: dict) -> None:
    verdict = answered(row, exact=False)
    if row["reference"] == "∞":
        assert (verdict.low, verdict.high) == (None, None)
        return
    assert verdict.low is not None
    assert verdict.high is not None
    reference = Fraction(row.get("exact", row["reference"]))
    slack = 0 if "exact" in row or reference.denominator == 1 else reference / 10**12  # a rounded reference
    assert verdict.low - slack <= reference <= verdict.high + slack
    assert verdict.high - verdict.low <= verdict.low / 10**6
    if "exact" in row and row["states"] < 700:
        assert answered(row, exact=True).low == reference
