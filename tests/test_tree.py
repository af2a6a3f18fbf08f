"""The tree check finds what it is there for, and nothing else."""

import subprocess
from pathlib import Path

import pytest

from tests.tree import findings


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "src" / "surefoot").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    return tmp_path


def write(tree: Path, name: str, text: str) -> None:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


HARMLESS = """
pattern = re.compile("x")
model.eval()
evaluate(term)
except ValueError:
    "src/surefoot/work/budget.py"
"""


def test_accepts_ordinary_code(tree: Path) -> None:
    write(tree, "src/surefoot/work/budget.py", HARMLESS)
    assert findings(tree) == []


@pytest.mark.parametrize(
    "line",
    [
        "eval(text)",
        "x = exec (text)",
        "pickle.load(file)",
        "pickle.loads(data)",
        "    except:",
        "run(command, shell=True)",
        "yaml.load(file)",
        "from html import escape",
        "    from rich.console import Console",
        'DATA = "/' + 'work/data"',
        "see /" + "root/notes",
    ],
)
def test_refuses_a_line(tree: Path, line: str) -> None:
    write(tree, "src/surefoot/run.py", f"first = 1\n{line}\n")
    assert [finding.split(": ")[0] for finding in findings(tree)] == ["src/surefoot/run.py:2"]


def test_refuses_machine_paths_in_any_text_file(tree: Path) -> None:
    write(tree, "docs/page.md", "cd /" + "work/main\n")
    (tree / "net.onnx").write_bytes(b"\xff\x00 /" + b"work/main")
    assert [finding.split(": ")[0] for finding in findings(tree)] == ["docs/page.md:1"]


def test_refuses_drawers(tree: Path) -> None:
    write(tree, "src/surefoot/utils/text.py", "")
    write(tree, "src/surefoot/encode/helpers.py", "")
    assert [finding.split(": ")[0] for finding in findings(tree)] == [
        "src/surefoot/encode/helpers.py",
        "src/surefoot/utils",
    ]


@pytest.mark.parametrize(("lines", "count"), [(600, 0), (601, 1)])
@pytest.mark.parametrize("name", ["src/surefoot/run.py", "tests/test_run.py"])
def test_limits_the_length_of_files(tree: Path, name: str, lines: int, count: int) -> None:
    write(tree, name, "x = 1\n" * lines)
    assert len(findings(tree)) == count


@pytest.mark.parametrize(("files", "count"), [(25, 0), (26, 1)])
def test_limits_the_files_of_a_folder(tree: Path, files: int, count: int) -> None:
    for number in range(files):
        write(tree, f"src/surefoot/encode/part{number}.py", "")
    assert len(findings(tree)) == count
