"""The schemas say what the readers take: every file that is read validates, and no key is missing."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.cli.conftest import Command

from surefoot.formats import wiring
from surefoot.formats.problem_file import edges, reader
from surefoot.formats.schemas import SCHEMAS, read_schema

ROOT = Path(__file__).parents[2]
PROBLEM_FILES = [
    path
    for folder in ("docs", "src")
    for path in sorted((ROOT / folder).rglob("*.toml"))
    if {"properties", "variables"} <= tomllib.loads(path.read_text()).keys()
]


def validator(name: str) -> Draft202012Validator:
    schema = json.loads(read_schema(name))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_there_is_something_to_look_at() -> None:
    assert len(PROBLEM_FILES) >= 15
    assert SCHEMAS == ("problem", "wiring", "result", "sweep")


@pytest.mark.parametrize("path", PROBLEM_FILES, ids=lambda path: path.stem)
def test_problem_files_validate(path: Path) -> None:
    assert list(validator("problem").iter_errors(tomllib.loads(path.read_text()))) == []


def test_the_keys_are_those_that_are_read() -> None:
    schema = json.loads(read_schema("problem"))
    assert set(schema["properties"]) == set(reader.KEYS)
    assert set(schema["$defs"]["edge"]["properties"]) == set(edges._EDGE_KEYS)
    assert set(json.loads(read_schema("wiring"))["properties"]) == {*wiring.KEYS, *wiring.FILE_KEYS}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("nmae = 'x'", "$"),
        ("[variables]\nx = 'interger'", "$.variables.x"),
        ("arithmetic = 'float32'", "$.arithmetic"),
        ("[[edges]]\nguards = 'x > 0'", "$.edges[0]"),
        ("[policy]\nobserve = ['x']", "$.policy"),
        ("[policy]\nfile = 'a.onnx'\nchoose = 'best'", "$.policy"),
        ("[flow]\nderivatives = { x = '1' }", "$.flow"),
    ],
)
def test_what_is_refused_does_not_validate(text: str, place: str) -> None:
    found = [error.json_path for error in validator("problem").iter_errors(tomllib.loads(text))]
    assert found == [place]


def test_results_validate(tmp_path: Path, command: Command) -> None:
    """Of every kind of verdict that these questions have."""
    for name in ("toy.toml", "toy.onnx"):
        source = files("surefoot_studies.toy").joinpath("assets", name)
        (tmp_path / name).write_bytes(source.read_bytes())
    pond = ROOT / "docs" / "reference" / "pond.toml"
    questions: list[tuple[object, ...]] = [
        (tmp_path / "toy.toml",),
        (tmp_path / "toy.toml", "--property", "never output[0] >= 13", "--engine", "bmc", "--depth", 1),
        (pond, "--property", "arrives"),
        (pond, "--property", "arrives", "--engine", "statistical", "--eps", "0.1"),
        (pond, "--property", "P>=0.5 [ F x = 5 ] over values"),
        (pond, "--property", "never x = 5 and y = 4", "--witnesses", 2),
    ]
    kinds = set()
    for number, question in enumerate(questions):
        path = tmp_path / f"{number}.json"
        command("check", *question, "--quiet", "--json", path)
        data: dict[str, Any] = json.loads(path.read_text())
        assert list(validator("result").iter_errors(data)) == []
        kinds |= {r["verdict"]["kind"] for r in data.get("results", [data])}
        data.pop("results" if "results" in data else "verdict")
        assert not validator("result").is_valid(data)
    assert {"violated", "proved", "exact", "estimated", "per-start"} <= kinds
    assert kinds & {"unknown", "holds"}


def test_the_command_prints_them(command: Command) -> None:
    for name in SCHEMAS:
        code, out, _ = command("schema", name)
        assert code == 0
        assert json.loads(out) == json.loads(read_schema(name))
    code, _, err = command("schema", "problems")
    assert code == 2
    assert "problem" in err
