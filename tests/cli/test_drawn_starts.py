"""`--starts uniform`: what the commands say about an average over starts."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command
from tests.engines.statistical.test_drawn_starts import SLIDE

from surefoot.formats.result_json.read import result_from_json
from surefoot.verdict.verdict import Estimated


def test_the_answer_says_so(tmp_path: Path, command: Command) -> None:
    path, stored = tmp_path / "slide.toml", tmp_path / "found.json"
    path.write_text(SLIDE.format(laws=""))
    asked = ("--property", "out", "--engine", "statistical", "--eps", "0.1")
    _, out, _ = command("check", path, *asked, "--starts", "uniform", "--json", stored)
    assert "the value is an average over starts that were drawn: uniform in a box" in out
    data = json.loads(stored.read_text())
    assert data["verdict"]["starts"] == {"average_over": "uniform in a box"}
    again = result_from_json(data).result.verdict
    assert isinstance(again, Estimated)
    assert again.starts == "uniform in a box"
    code, _, err = command("check", path, *asked)
    assert (code, "or draw starts by a law: --starts uniform" in err) == (2, True)
    figure = tmp_path / "map.json"
    drawn = ("--starts", "uniform", "--cells", "x:2", "--json", figure, "--quiet")
    code, _, err = command("heatmap", path, *asked, *drawn)
    assert (code, err) == (0, "")
    cells = json.loads(figure.read_text())["panels"][0]["cells"]
    assert cells[1]["average_over"] == "uniform in a box, with x from 0.5 to 1"
