"""Processor time of a piece of work in a process of its own, after imports.

The process is a fork of this one, which has imported the program; what a piece of work imports beyond that is
imported here too before it is measured. All processes that it waits for are counted with it.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

import surefoot
import surefoot_checker
import surefoot_studies

Facts = dict[str, Any]
Work = Callable[[Path], Facts]  # in an empty folder; what must not change
SHORT = 2.0  # seconds; below, a row is run again
AGAIN = 3  # times
BLOCKED = ("torch", "stable_baselines3", "gymnasium", "ray", "matplotlib", "onnxruntime", "pytest")


@dataclass(frozen=True, slots=True)
class Once:
    facts: Facts
    seconds: float
    imported: tuple[str, ...]
    compiled: bool  # it left files in the cache, so that another run is faster


@dataclass(frozen=True, slots=True)
class Timed:
    facts: Facts
    seconds: float
    runs: tuple[float, ...]
    varies: tuple[str, ...]  # facts that were not the same in all runs
    wall: float


def load_program() -> None:
    """Import all of the package, so that nothing of it is measured; what is optional is left out."""
    hidden = {name: sys.modules.pop(name) for name in BLOCKED if name in sys.modules}
    sys.modules.update(dict.fromkeys(BLOCKED))  # type: ignore[arg-type]
    for package in (surefoot, surefoot_checker, surefoot_studies):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda _: None):
            if not module.name.endswith("__main__"):
                _import_quietly(module.name)
    for name in BLOCKED:
        del sys.modules[name]
    sys.modules.update(hidden)


def _import_quietly(name: str) -> None:
    try:
        import_module(name)
    except (ImportError, AttributeError, surefoot.SurefootError):
        return


def time_work(work: Work, cache: Path) -> Timed:
    """Of short work the median of some runs after a first one, of long work one that compiles nothing."""
    began = monotonic()
    first = run_once(work, cache)
    for name in first.imported:
        _import_quietly(name)
    runs = [] if first.compiled else [first]
    if first.seconds < SHORT:
        runs = [run_once(work, cache) for _ in range(AGAIN)]
    elif not runs:
        runs = [run_once(work, cache)]
    seen = [first, *runs]
    keys = dict.fromkeys(key for one in seen for key in one.facts)
    varies = tuple(k for k in keys if any(one.facts.get(k) != first.facts.get(k) for one in seen))
    seconds = tuple(round(one.seconds, 4) for one in runs)
    return Timed(first.facts, median(seconds), seconds, varies, round(monotonic() - began, 2))


def run_once(work: Work, cache: Path) -> Once:
    folder = Path(tempfile.mkdtemp())
    try:
        return _run_in(work, cache, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_in(work: Work, cache: Path, folder: Path) -> Once:
    before = _count_files(cache)
    answer = folder / "answer"
    inside = folder / "inside"
    inside.mkdir()
    sys.stdout.flush()
    sys.stderr.flush()
    gc.collect()
    gc.freeze()
    number = os.fork()
    if number == 0:
        _work_here(work, cache, inside, answer)
    _, _, used = os.wait4(number, 0)
    gc.unfreeze()
    said: Mapping[str, Any] = json.loads(answer.read_text()) if answer.exists() else {}
    return Once(
        said.get("facts", {"failed": "the process died"}),
        used.ru_utime + used.ru_stime,
        tuple(said.get("imported", ())),
        _count_files(cache) > before,
    )


def _work_here(work: Work, cache: Path, folder: Path, answer: Path) -> None:
    """In the child; does not return."""
    known = set(sys.modules)
    os.environ["XDG_CACHE_HOME"] = str(cache)
    os.chdir(folder)
    words = os.open(folder.parent / "words", os.O_CREAT | os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(words, stream)
    try:
        facts = work(folder)
    except BaseException as error:  # noqa: BLE001 - it is the answer
        traceback.print_exc()
        facts = {"failed": f"{type(error).__name__}: {error}"[:300]}
    imported = sorted(set(sys.modules) - known)
    answer.write_text(json.dumps({"facts": facts, "imported": imported}))
    sys.stdout.flush()
    atexit._run_exitfuncs()  # ends processes that wait for more work, which only then are counted
    os._exit(0)


def _count_files(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*"))
