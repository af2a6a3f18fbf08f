"""The comparison with stormpy and momba says what differs and what is slower than intended."""

import json
import sys
from pathlib import Path

from benchmarks.explicit import build, judged, line, models

OURS = {"states": 400_000, "choices": 5, "imports": 0.5, "read": 0.1, "build": 1.0, "process": 1.6}
OURS |= {"tier": "llvm", "bytes per state": 80.0, "peak": 3 << 20}
STORM = {"states": 400_000, "choices": 5, "build": 4.0, "process": 6.4, "peak": 5 << 20}
MOMBA = {"states": 400_000, "build": 7.0, "process": 8.0, "peak": 9 << 20}
ROW = {"model": "m", "first": OURS, "warm": OURS, "stormpy": STORM, "momba": MOMBA}


def test_verdicts() -> None:
    assert judged(ROW) == {"agrees": True, "ratios": {"stormpy": 4.0, "momba": 5.0}, "met": True}
    assert not judged({**ROW, "stormpy": {**STORM, "process": 3.0}})["met"]
    assert not judged({**ROW, "first": {**OURS, "process": 20.0}})["met"]
    other = {**ROW, "stormpy": {**STORM, "choices": 6}}
    assert not judged(other)["agrees"]
    assert "momba 8.00 (building 7.000, 9 MB), 5.0x DIFFERS" in line({**other, **judged(other)})
    absent = {**ROW, "stormpy": {"failed": "No module"}, "momba": {**MOMBA, "states": 1}}
    said = line({**absent, **judged(absent)})
    assert "stormpy No module; momba 8.00 (building 7.000, 9 MB, 1 states)" in said
    small = {key: {**value, "states": 50} for key, value in ROW.items() if isinstance(value, dict)}
    assert judged({**small, "stormpy": {**STORM, "states": 50, "process": 0.5}})["met"]
    assert not judged({**small, "stormpy": {**STORM, "states": 50, "process": 0.4}})["met"]
    failed = {**ROW, "warm": {"failed": "no"}}
    assert line({**failed, **judged(failed)}) == "m: failed: no"


def test_models_are_listed_once(tmp_path: Path) -> None:
    rows = [{"file": "a/a.jani", "parameters": {"N": 3, "on": True}}] * 2 + [{"file": "b/b.jani"}]
    (tmp_path / "qvbs").mkdir()
    (tmp_path / "qvbs" / "conformance.json").write_text(json.dumps(rows))
    assert models(tmp_path)[3:] == [("qvbs/a/a.jani", "N=3,on=true"), ("qvbs/b/b.jani", "")]


def test_a_model_is_built_in_a_process(tmp_path: Path) -> None:
    edge = {
        "location": "here",
        "guard": {"exp": {"op": "<", "left": "n", "right": "N"}},
        "destinations": [
            {"location": "here", "assignments": [{"ref": "n", "value": {"op": "+", "left": "n", "right": 1}}]}
        ],
    }
    bounded = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 9}
    model = {
        "jani-version": 1,
        "name": "count",
        "type": "mdp",
        "constants": [{"name": "N", "type": "int"}],
        "variables": [{"name": "n", "type": bounded, "initial-value": 0}],
        "automata": [
            {"name": "a", "locations": [{"name": "here"}], "initial-locations": ["here"], "edges": [edge]}
        ],
        "system": {"elements": [{"automaton": "a"}]},
    }
    (tmp_path / "m.jani").write_text(json.dumps(model))
    found = build(Path(sys.executable), "surefoot", tmp_path / "m.jani", "N=4", str(tmp_path))
    assert (found["states"], found["choices"]) == (5, 5)
    assert found["process"] >= found["build"]
    wrong = build(Path(sys.executable), "surefoot", tmp_path / "none.jani", "", str(tmp_path))
    assert "failed" in wrong
