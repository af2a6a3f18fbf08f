"""Check what no linter checks: sizes and names of files, forbidden calls, paths of one machine.

Run as `python tests/tree.py [ROOT]`; one line per finding, exit 1 if there is any.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

MOST_LINES = 600
MOST_FILES = 25
DRAWERS = {"utils", "common", "helpers", "core", "base", "manager"}
FORBIDDEN = {
    "eval(": re.compile(r"(?<![\w.])eval\s*\("),
    "exec(": re.compile(r"(?<![\w.])exec\s*\("),
    "pickle.load": re.compile(r"\bpickle\.loads?\b"),
    "except:": re.compile(r"\bexcept\s*:"),
    "shell=True": re.compile(r"\bshell\s*=\s*True\b"),
    "yaml.load(": re.compile(r"\byaml\.load\s*\("),
}
# Absolute only: a folder of ours may well be called `work`, as in `src/surefoot/work/`.
MACHINE_PATH = re.compile(r"(?<![\w.*)}\]>-])/(?:work|root|home|Users)/")


def long_files(root: Path) -> Iterator[str]:
    for path in python_files(root / "src", root / "tests"):
        count = len(path.read_text(encoding="utf-8").splitlines())
        if count > MOST_LINES:
            yield f"{path.relative_to(root)}: {count} lines, more than {MOST_LINES}; fix: split it by subject"


def drawers(root: Path) -> Iterator[str]:
    found = set()
    for path in python_files(root / "src"):
        below = path.relative_to(root)
        found.update(p for p in (below, *below.parents) if p.stem in DRAWERS)
    for path in sorted(found):
        yield f"{path}: `{path.stem}` says nothing; fix: name it after a word of the pipeline"


def crowded_folders(root: Path) -> Iterator[str]:
    counts = Counter(path.parent for path in python_files(root / "src"))
    for folder, count in sorted(counts.items()):
        if count > MOST_FILES:
            yield f"{folder.relative_to(root)}: {count} python files, more than {MOST_FILES}; fix: regroup"


def forbidden_calls(root: Path) -> Iterator[str]:
    for path in python_files(root / "src"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for name, pattern in FORBIDDEN.items():
                if pattern.search(line):
                    yield f"{path.relative_to(root)}:{number}: `{name}` is not used here"


# Text from files is made visible at these doors; a page or a terminal reached around them is not safe.
DOORS = {
    re.compile(r"^\s*(?:from|import) html\b"): "src/surefoot/visible.py",
    re.compile(r"^\s*(?:from|import) rich\.console\b"): "src/surefoot/cli/terminal.py",
}


def other_doors(root: Path) -> Iterator[str]:
    for path in python_files(root / "src"):
        name = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for pattern, door in DOORS.items():
                if pattern.search(line) and name != door:
                    yield f"{name}:{number}: `{line.strip()}` goes around {door}"


def machine_paths(root: Path) -> Iterator[str]:
    for path in repository_files(root):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # not a text file
        for number, line in enumerate(lines, start=1):
            if match := MACHINE_PATH.search(line):
                yield f"{path.relative_to(root)}:{number}: `{match[0]}` exists on one machine only"


def python_files(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def repository_files(root: Path) -> list[Path]:
    """What git tracks or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return sorted(path for name in listing.split("\0") if name and (path := root / name).is_file())


def findings(root: Path) -> list[str]:
    checks = (long_files, drawers, crowded_folders, forbidden_calls, other_doors, machine_paths)
    return [finding for check in checks for finding in check(root)]


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    found = findings(root)
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
