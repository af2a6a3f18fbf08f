"""The measure of names finds what it is there for, and the tree is within its limits."""

from pathlib import Path

import pytest

from tests.names import findings, is_one_word, is_participle


@pytest.mark.parametrize("name", ["made", "_told", "joined", "chosen"])
def test_participles(name: str) -> None:
    assert is_participle(name)


@pytest.mark.parametrize("name", ["seed", "read", "joined_rows", "bounds", "embed"])
def test_no_participles(name: str) -> None:
    assert not is_participle(name)


def test_an_underscore_in_front_is_no_word() -> None:
    assert is_one_word("_bounds")
    assert not is_one_word("_bound_layers")


def write(tree: Path, name: str, text: str) -> None:
    path = tree / "src" / "surefoot" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


GOOD = "".join(f"def bound_layer_{i}():\n    pass\n" for i in range(200))


def test_shares_that_are_too_large_are_found(tmp_path: Path) -> None:
    write(tmp_path, "a.py", GOOD)
    assert findings(tmp_path) == []
    write(
        tmp_path, "b.py", "def made_of():\n    def told(): pass\nclass Kept:\n    def kept(self): pass\n" * 2
    )
    assert {finding.split("`")[1] for finding in findings(tmp_path)} == {"told", "kept"}
    write(tmp_path, "b.py", "".join(f"def bound_layer_{i}(): pass\n" for i in range(20)))
    assert len(findings(tmp_path)) == 20
    write(tmp_path, "b.py", "".join(f"def w{i}(): pass\n" for i in range(150)))
    assert len(findings(tmp_path)) == 150


def test_methods_of_protocols_do_not_count(tmp_path: Path) -> None:
    write(tmp_path, "a.py", GOOD)
    write(
        tmp_path,
        "b.py",
        "class Asks(Protocol):\n" + "".join(f"    def w{i}(self): ...\n" for i in range(150)),
    )
    assert findings(tmp_path) == []


def test_the_tree_is_within_the_limits() -> None:
    assert findings(Path(__file__).parents[1]) == []
