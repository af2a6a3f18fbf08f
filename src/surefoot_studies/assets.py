"""Files that a study ships beside its problems."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import as_file, files

from surefoot import api
from surefoot_studies import STUDIES


@cache
def shipped_network(study: str, policy: str) -> api.Network:
    """The network `assets/POLICY.onnx` of a study."""
    with as_file(files(STUDIES[study]).joinpath("assets", f"{policy}.onnx")) as path:
        return api.read_onnx_network(path)


@cache
def shipped_model(study: str, name: str) -> api.EnvironmentData:
    """The JANI model `assets/NAME.jani` of a study."""
    with as_file(files(STUDIES[study]).joinpath("assets", f"{name}.jani")) as path:
        return api.read_jani(path).environment


def shipped_names(study: str) -> tuple[str, ...]:
    """The policies that a study ships."""
    folder = files(STUDIES[study]).joinpath("assets")
    names = (f.name for f in folder.iterdir()) if folder.is_dir() else ()
    return tuple(sorted(n.removesuffix(".onnx") for n in names if n.endswith(".onnx")))


def recipe_curve(study: str, policy: str, over: str) -> dict[int, float]:
    """Mean return after so many `decisions` or `episodes`: the recipe of a shipped policy, its first seed."""
    text = files(STUDIES[study]).joinpath("assets", f"{policy}.toml").read_text("utf-8")
    seed = tomllib.loads(text)["seeds"][0]
    return dict(zip(seed[f"curve_{over}"], seed["curve_returns"], strict=True))
