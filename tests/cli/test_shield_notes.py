"""What a shield of actions says of itself: whom a bound is about, and of what use it is."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command

SLIPPERY = """initial = "x = 0"
[variables]
x = "int 0..3"
[[edges]]
action = "risk"
guard = "x = 0"
[[edges.outcomes]]
probability = 0.9
updates = { x = "0" }
[[edges.outcomes]]
probability = 0.1
updates = { x = "3" }
[[edges]]
action = "home"
guard = "x = 0"
updates = { x = "1" }
[[edges]]
action = "home"
guard = "x = 1"
[[edges]]
action = "on"
guard = "x = 1 or x = 2"
updates = { x = "x + 1" }
[policy.program]
branches = [{ when = "x = 0", action = "risk" }, { action = "on" }]
[properties]
safe = "never x = 3"
there = "eventually x = 2"
likely = "P=? [ F x = 1 ]"
"""


def test_a_bound_is_said_of_those_who_keep_it(tmp_path: Path, command: Command) -> None:
    """A risk of one tenth is permitted again and again: whoever takes it is bad for certain."""
    file, told = tmp_path / "slippery.toml", tmp_path / "told.json"
    file.write_text(SLIPPERY, "utf-8")
    code, out, _ = command(
        "shield", str(file), "--property", "safe", "--bound", "0.8", "--quiet", "--json", str(told)
    )
    assert code == 3
    assert "kept safe with probability 4/5 or more, by the safest actions alone" in out
    assert "anybody      bad with probability 1 to 1" in out
    note = "only the safest actions are shown to keep to 1/5, not whoever acts behind the shield"
    assert note in out
    facts = json.loads(told.read_text())
    assert facts["kept by anybody"] is False
    assert any(note in line for line in facts["notes"])
    code, out, _ = command("shield", str(file), "--property", "safe", "--quiet", "--json", str(told))
    assert code == 0
    assert "1 of 1 kept safe with probability 1, whatever happens" in out
    assert json.loads(told.read_text())["kept by anybody"] is True


def test_a_shield_that_is_of_no_use_says_so(tmp_path: Path, command: Command) -> None:
    file, told = tmp_path / "slippery.toml", tmp_path / "told.json"
    file.write_text(SLIPPERY, "utf-8")
    asked = ("shield", str(file), "--property", "safe", "--quiet", "--json", str(told))
    _, out, _ = command(*asked)
    assert "note         behind the shield no run comes to the goal of `there` any more" in out
    assert "goal of `likely`" not in out
    assert "note         the policy is overruled in every state in which it acts behind the shield" in out
    assert len(json.loads(told.read_text())["notes"]) == 2
    file.write_text(SLIPPERY.replace("never x = 3", "never x = 2 and x = 3"), "utf-8")
    _, out, _ = command(*asked)
    assert "note         the shield permits everything: no action is ever overruled" in out
    assert "behind the shield no run" not in out
