"""Plant soundness bugs one at a time in a copy of the tree and see whether the tests notice.

    python -m benchmarks.planted [--only NAME …] [--json FILE] [--seconds 900]

`bugs.toml` lists them: a file, the text that is replaced, and the tests that ought to fail. A bug is caught
if pytest ends with failed tests (exit code 1); a run that cannot collect, or that takes too long, counts as
not caught. With `--sound` the same tests are run without any bug first. Exit 1 if a bug goes unnoticed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = (
    "src",
    "tests",
    "benchmarks",
    "docs",
    "pyproject.toml",
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
)


@dataclass(frozen=True, slots=True)
class Bug:
    """`old` occurs once in `file` (below src) and becomes `new`; `tests` ought to fail then."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    because: str  # which wrong answer it leads to


@dataclass(frozen=True, slots=True)
class Outcome:
    name: str
    caught: bool
    by: str  # the first test that failed, or why there is none
    seconds: float


def read_bugs() -> tuple[Bug, ...]:
    data = tomllib.loads(Path(__file__).with_name("bugs.toml").read_text(encoding="utf-8"))
    return tuple(Bug(**{**entry, "tests": tuple(entry["tests"])}) for entry in data["bug"])


def plant_bug(bug: Bug, root: Path) -> str:
    """Change the file; what it was before is returned."""
    path = root / "src" / bug.file
    before = path.read_text(encoding="utf-8")
    if before.count(bug.old) != 1:
        raise SystemExit(f"{bug.name}: `{bug.old}` occurs {before.count(bug.old)} times in {bug.file}")
    path.write_text(before.replace(bug.old, bug.new), encoding="utf-8")
    return before


def run_tests(root: Path, tests: Sequence[str], seconds: float) -> tuple[int | None, str]:
    """pytest's exit code (None: too long) and the first failure."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0", *tests]
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return None, f"no end after {seconds:g} s"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode, failed[0] if failed else done.stdout.strip()[-200:]


def try_bugs(bugs: Sequence[Bug], root: Path, seconds: float) -> Iterator[Outcome]:
    for bug in bugs:
        before, started = plant_bug(bug, root), time.monotonic()
        try:
            code, said = run_tests(root, bug.tests, seconds)
        finally:
            (root / "src" / bug.file).write_text(before, encoding="utf-8")
        yield Outcome(bug.name, code == 1, said, time.monotonic() - started)


def copy_tree(folder: Path) -> Path:
    """The tree without what is built, with the shared data beside it."""
    root = folder / "tree"
    root.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, root / name)
    if (ROOT.parent / "shared").is_dir():
        (folder / "shared").symlink_to(ROOT.parent / "shared")
    return root


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[], help="names of bugs, or parts of them")
    parser.add_argument("--json", type=Path, help="write the outcomes")
    parser.add_argument("--seconds", type=float, default=900, help="for the tests of one bug")
    parser.add_argument("--sound", action="store_true", help="first run the same tests without any bug")
    options = parser.parse_args()
    bugs = [b for b in read_bugs() if not options.only or any(part in b.name for part in options.only)]
    with tempfile.TemporaryDirectory() as folder:
        root = copy_tree(Path(folder))
        if options.sound:
            every = sorted({test for bug in bugs for test in bug.tests})
            code, said = run_tests(root, every, 20 * options.seconds)
            print(f"without any bug: {'pass' if code == 0 else said}", flush=True)
            if code != 0:
                return 1
        outcomes = []
        for outcome in try_bugs(bugs, root, options.seconds):
            outcomes.append(outcome)
            word = "caught" if outcome.caught else "NOT CAUGHT"
            print(f"{word:10}  {outcome.seconds:6.1f} s  {outcome.name}: {outcome.by[:150]}", flush=True)
            if options.json:
                options.json.write_text(json.dumps([asdict(o) for o in outcomes], indent=1), encoding="utf-8")
    caught = sum(o.caught for o in outcomes)
    print(f"{caught} of {len(outcomes)} caught")
    return 0 if caught == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
