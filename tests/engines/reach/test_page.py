"""The example of docs/reference/reach.md, in a problem file and in Python, with a network of its shape."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.formats.onnx_models import model, node

import surefoot as sf
from surefoot.errors import WrongType

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "reach.md"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the problem file and a network: u = -x / 2 - 3 y, by way of tanh."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "oscillator.toml").write_text(block("toml"), "utf-8")
    constants = {"W": np.array([[0.1, 0.5]], np.float32), "V": np.array([[-6.0]], np.float32)}
    nodes = [node("Gemm", "x W", "a", transB=1), node("Tanh", "a", "b"), node("Gemm", "b V")]
    (tmp_path / "oscillator.onnx").write_bytes(model(nodes, (1, 2), constants))
    return tmp_path


def block(language: str) -> str:
    """The first one of the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_problem_file(here: Path) -> None:
    for name in ("safe", "arrives", "rests", "first"):
        assert sf.check(here / "oscillator.toml", name, engine="reach").proved, name


def test_in_python(here: Path) -> None:
    names: dict[str, object] = {"sf": sf}
    exec(block("python"), names)  # noqa: S102 - the example of the page
    result = names["r"]
    assert isinstance(result, sf.CheckResult)
    assert result.proved
    assert result.problem.environment.components[0].edges == (sf.Edge(),)


def test_derivatives_of_variables_by_themselves_or_by_name() -> None:
    x, v = sf.real("x"), sf.real("v")
    assert sf.Flow({x: v, v: -x}, 0.1) == sf.Flow({"x": v, "v": -x}, 0.1)
    for wrong in (x + v, 3):
        with pytest.raises(WrongType, match="is not a name"):
            sf.Flow({wrong: v}, 0.1)
