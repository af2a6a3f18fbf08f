"""Does a tipping point depend on absolute values or on a ratio?"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from surefoot.cli import run_command_line
from surefoot.engines.bmc import Bmc
from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.network import Network, dense_network
from surefoot.search import SearchSettings
from surefoot.solvers.native import Native
from surefoot.work.budget import Budget
from surefoot_studies.generalisation import (
    DependenceAnswer,
    TippingBounds,
    find_tipping_bounds,
    judge_dependence,
    load_instances,
    render_tipping_bounds,
)

AURORA = load_instances("aurora")
SCALES = (Fraction(2), Fraction(4), Fraction(8))


def ends(*pairs: tuple[str, str]) -> tuple[TippingBounds, ...]:
    return tuple(
        TippingBounds("p", scale, Fraction(low), Fraction(high), True, 1.0)
        for scale, (low, high) in zip(SCALES, pairs, strict=False)
    )


@pytest.mark.parametrize(
    ("found", "depends"),
    [
        (ends(("1", "1.5"), ("1.25", "1.5"), ("1.25", "1.75")), "the absolute value"),
        (ends(("1", "1.1"), ("1.9", "2.1"), ("3.8", "4.1")), "the ratio"),
        (ends(("1", "2"), ("1", "4"), ("1", "8")), "both fit"),
        (ends(("1.3", "1.4"), ("1.8", "1.9"), ("2.5", "2.6")), "neither alone"),
        (ends(("1.125", "1.25"), ("1.25", "1.375")), "neither alone"),  # what is refuted does not fit
        (ends(("1", "1.5")), "not known"),
    ],
)
def test_what_fits_all_scales_is_what_it_depends_on(found: tuple[TippingBounds, ...], depends: str) -> None:
    said = judge_dependence(AURORA, found)
    assert said.depends == depends
    if said.exponent is not None:
        low, high = said.exponent
        assert low <= high
        assert (low <= 0 <= high) or depends not in ("the absolute value", "both fit")
        assert (low <= 1 <= high) or depends not in ("the ratio", "both fit")


def of_ratio() -> Network:
    """Decreases the rate unless the oldest send ratio is at least twice the newest."""
    return dense_network([([[0.0, 0.0, 1.0] + [0.0] * 24 + [0.0, 0.0, -2.0]], [0.0])])


def of_value() -> Network:
    """Decreases the rate if the newest send ratio is above 1.3."""
    return dense_network([([[0.0] * 27 + [0.0, 0.0, -1.0]], [1.3])])


def measured(network: Network, scales: tuple[Fraction, ...] = SCALES) -> tuple[TippingBounds, ...]:
    return tuple(
        find_tipping_bounds(AURORA, "mine", network, scale, SearchSettings(Bmc(Native()), Budget(60)))
        for scale in scales
    )


def test_a_policy_that_compares_send_ratios_depends_on_their_ratio() -> None:
    found = measured(of_ratio())
    assert all(t.certified for t in found)
    for t in found:
        assert t.proved is not None
        assert t.refuted is not None
        assert t.refuted <= t.scale / 2 <= t.proved
        assert t.proved - t.refuted <= AURORA.precision
    said = judge_dependence(AURORA, found)
    assert said.depends == "the ratio"
    assert "P / L between" in said.sentence
    text = render_tipping_bounds(AURORA, found, (said,))
    assert text.count("certified") == 3
    assert text.splitlines()[-1] == said.sentence


def test_a_policy_with_a_threshold_depends_on_the_value() -> None:
    found = measured(of_value())
    assert all(t.refuted is not None and t.refuted <= Fraction(13, 10) <= (t.proved or 0) for t in found)
    assert judge_dependence(AURORA, found).depends == "the absolute value"


def test_the_command_tells_table_answer_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(AURORA, scales=SCALES[:2], precision=Fraction(1, 2))
    monkeypatch.setattr("surefoot_studies.generalisation.load_instances", lambda _: few)
    picture = tmp_path / "bounds.svg"
    asked = ["study", "generalise", "aurora", "--policy", "aurora-48", "--plot", str(picture), "--quiet"]
    assert run_command_line(asked) == 0
    assert "aurora-48" in capsys.readouterr().out
    root = ElementTree.fromstring(picture.read_text("utf-8"))
    assert len(root.findall(".//{http://www.w3.org/2000/svg}title")) == 2
    page = picture.with_suffix(".html")
    assert run_command_line([*asked, "--json", "--plot", str(page)]) == 0
    assert "<svg" in page.read_text("utf-8")
    assert "<pre" in page.read_text("utf-8")
    facts = json.loads(capsys.readouterr().out)
    assert [b["certified"] for b in facts["bounds"]] == [True, True]
    assert DependenceAnswer(**facts["answers"][0]).policy == "aurora-48"


def test_an_unknown_policy_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["study", "generalise", "aurora", "--policy", "aurora-49", "--quiet"]) == 2
    assert "did you mean `aurora-48`" in capsys.readouterr().err


def test_no_time_is_no_answer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "surefoot_studies.generalisation.load_instances", lambda _: replace(AURORA, scales=SCALES[:2])
    )
    asked = ["study", "generalise", "aurora", "--policy", "aurora-48", "--timeout", "0.001", "--quiet"]
    assert run_command_line(asked) == 3
    out = capsys.readouterr().out
    assert "not certified, less precise than asked" in out
    assert "bounds at fewer than two scales" in out


def test_a_study_without_instances_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["study", "generalise", "toy", "--quiet"]) == 2
    assert "`toy` compares no instances" in capsys.readouterr().err


@pytest.mark.shared_data
def test_the_published_network_at_a_small_scale(shared_data: Path) -> None:
    network = read_onnx_network(shared_data / "policies" / "aurora_icml" / "aurora_icml.onnx")
    coarse = replace(AURORA, precision=Fraction(1, 2))
    found = find_tipping_bounds(
        coarse, "aurora_icml", network, Fraction(2), SearchSettings(Bmc(Native()), Budget(60))
    )
    assert found.certified
    assert (found.refuted, found.proved) == (Fraction(1), Fraction(3, 2))
