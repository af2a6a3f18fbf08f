"""The comparison with stormpy says what differs and what is slower than intended."""

import json
import sys
from pathlib import Path

from benchmarks.explicit import build, judged, line, models

OURS = {"states": 400_000, "choices": 5, "imports": 0.5, "read": 0.1, "build": 1.0}
OURS |= {"tier": "llvm", "bytes per state": 80.0}


def test_verdicts() -> None:
    storm = {"states": 400_000, "choices": 5, "build": 4.0}
    assert judged(OURS, OURS, storm) == {"agrees": True, "ratio": 4.0, "met": True}
    assert not judged(OURS, OURS, {**storm, "build": 2.0})["met"]
    assert not judged({**OURS, "build": 20.0}, OURS, storm)["met"]
    assert not judged(OURS, OURS, {**storm, "choices": 6})["agrees"]
    row = {"model": "m", "first": OURS, "warm": OURS, "stormpy": {**storm, "choices": 6}}
    assert "4.0x DIFFERS" in line({**row, **judged(OURS, OURS, row["stormpy"])})
    absent = {**row, "stormpy": {"failed": "No module"}}
    assert "stormpy No module" in line({**absent, **judged(OURS, OURS, absent["stormpy"])})


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
    wrong = build(Path(sys.executable), "surefoot", tmp_path / "none.jani", "", str(tmp_path))
    assert "failed" in wrong
