"""Starts that miss a threshold, for certain or possibly."""

from __future__ import annotations

import csv
import io
from fractions import Fraction

import pytest
from tests.report.heatmap.tables import table

from surefoot.errors import InvalidProblem
from surefoot.problem.property import Threshold
from surefoot.report.heatmap.critical_starts import (
    critical_csv,
    critical_data,
    find_critical_starts,
    misses_threshold,
    read_threshold,
)
from surefoot.report.heatmap.start_values import StartValue, value_table


@pytest.mark.parametrize(
    ("low", "high", "limit", "judged"),
    [
        ("0.1", "0.2", "<= 0.2", "no"),
        ("0.1", "0.2", "< 0.2", "possible"),
        ("0.1", "0.3", "<= 0.2", "possible"),
        ("0.21", "0.3", "<= 1/5", "certain"),
        ("0.1", "0.2", ">= 0.1", "no"),
        ("0.1", "0.2", "> 0.1", "possible"),
        ("0.1", "0.2", "> 0.2", "certain"),
        ("0.1", "0.2", ">= 3e-1", "certain"),
    ],
)
def test_a_bound_beyond_the_threshold(low: str, high: str, limit: str, judged: str) -> None:
    assert misses_threshold(StartValue(Fraction(low), Fraction(high)), read_threshold(limit)) == judged


@pytest.mark.parametrize(("limit", "judged"), [("<= 5", "certain"), (">= 5", "no")])
def test_infinite(limit: str, judged: str) -> None:
    assert misses_threshold(StartValue(None, None), read_threshold(limit)) == judged


@pytest.mark.parametrize(
    ("limit", "judged"), [("<= 5", "possible"), ("<= 1", "certain"), (">= 2", "no"), (">= 5", "possible")]
)
def test_no_upper_bound(limit: str, judged: str) -> None:
    assert misses_threshold(StartValue(Fraction(2), None), read_threshold(limit)) == judged


def test_the_worst_first_and_unknown_ones_too() -> None:
    found = find_critical_starts(value_table(table()), read_threshold("<= 0.2"))
    assert [(c.start["x"], c.start["y"], c.certain) for c in found] == [
        (2, 1, True),
        (2, 0, True),
        (1, 0, True),
        (0, 1, False),
        (0, 0, False),
    ]


def test_as_json_and_as_csv() -> None:
    found = find_critical_starts(value_table(table()), Threshold("<=", Fraction("0.2")))
    data = critical_data(found, Threshold("<=", Fraction("0.2")), "P=? [ F crash ]")
    assert data["threshold"] == {"relation": "<=", "value": "0.2"}
    assert data["starts"][2]["start"] == {"x": "1", "y": "0", "speed": "0"}
    assert data["starts"][2]["counts"]["runs"] == 4096
    rows = list(csv.DictReader(io.StringIO(critical_csv(found))))
    assert (rows[2]["x"], rows[2]["low"], rows[2]["confidence"], rows[2]["certain"]) == (
        "1",
        "0.85",
        "0.95",
        "true",
    )
    assert rows[0]["low"] == "infinite"


def test_arrays_and_fractions_lose_nothing() -> None:
    start = {"a": (1, (True, Fraction(1, 3))), "f": 0.1 + 0.2}
    found = find_critical_starts([(start, StartValue(Fraction(1), Fraction(1)))], read_threshold("< 1"))
    assert critical_csv(found).splitlines() == [
        "a[0],a[1][0],a[1][1],f,low,high,confidence,certain",
        "1,true,1/3,0.30000000000000004,1,1,,true",
    ]


@pytest.mark.parametrize("text", ["0.1", "<= ", "= 0.1", "<= x", "<= 1/0", "<= 1e99999999", "< 1.2.3"])
def test_no_threshold(text: str) -> None:
    with pytest.raises(InvalidProblem, match="is no threshold"):
        read_threshold(text)
