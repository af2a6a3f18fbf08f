"""Sampling is killed at random moments, again and again, and resumed: the answer is that of one go.

    python -m benchmarks.kills [--kills 200] [--seed 0]

Each trial asks a question in a process of its own with a run directory, with one worker or two. A `kill -9`
hits the whole tree of processes, the parent alone, or one of its workers, when the file of results has grown
to a random size; several times in a row. Then the question is resumed to its end. Its verdict has to be equal
to that of an uninterrupted run in every number, within a multiple of its processor time and of the size of
its file; and no process may be left behind. A line for each trial; the command fails if one is not so.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from surefoot.cli import run_command_line

MODEL = """
name = "walk"
initial = "START"
[variables]
x = "int 0..4"
[[edges]]
action = "go"
outcomes = [
  { probability = "2/3", updates = { x = "min(x + 1, 4)" }, rewards = { cost = "1" } },
  { probability = "1/3", updates = { x = "max(x - 1, 0)" }, rewards = { cost = "x" } },
]
[policy.program]
branches = [ { action = "go" } ]
[properties]
asked = "ASKED"
"""
KILLED = ("tree", "parent", "worker")
TIMES = 4.0  # as much processor time, and
SECONDS = 6.0  # so much more (interpreters start), may a resumed run take in the end
LARGER = 1.5  # times as large may the file become, and
BYTES = 20_000  # so much more: batches of workers that were under way
PATIENCE = 300.0  # seconds of the clock until a run counts as stalled


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, with the options that make it long enough to be killed."""

    name: str
    start: str
    text: str
    options: tuple[str, ...]


QUESTIONS = (
    Asked("probability", "x = 1", "P=? [ x > 0 U x = 4 ]", ("--eps", "0.006", "--method", "okamoto")),
    Asked("all starts", "true", "P=? [ x > 0 U x = 4 ] over values", ("--eps", "0.008")),
    Asked("threshold", "x = 1", "P>=0.53 [ x > 0 U x = 4 ]", ("--eps", "0.001")),
    Asked(
        "reward",
        "x = 1",
        "E=? [ cost for 6 steps ]",
        (
            "--eps",
            "0.05",
        ),
    ),
    Asked("splitting", "x = 0", "P=? [ F<=9 x = 4 ]", ("--importance", "x", "--trees", "300")),
)


def command(asked: Asked, seed: int, workers: int, folder: Path, resume: bool) -> list[str]:
    model = folder / "model.toml"
    model.write_text(MODEL.replace("START", asked.start).replace("ASKED", asked.text))
    files = ["--run-directory", str(folder / "runs"), "--json", str(folder / "result.json"), "--quiet"]
    more = ["--resume"] if resume else []
    given = ["--engine", "statistical", "--seed", str(seed), "--workers", str(workers), "--timeout", "600"]
    return ["check", str(model), *given, *asked.options, *files, *more]


def begin(arguments: Sequence[str]) -> int:
    """The command in a fork of this process, which has imported everything; its number."""
    sys.stdout.flush()
    if number := os.fork():
        return number
    os.setsid()
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os._exit(run_command_line(list(arguments)))


def size_of(folder: Path) -> int:
    runs = folder / "runs"
    return sum(file.stat().st_size for file in runs.iterdir()) if runs.is_dir() else 0


def below(number: int) -> list[int]:
    """The children of a process."""
    try:
        return [int(n) for n in Path(f"/proc/{number}/task/{number}/children").read_text().split()]
    except OSError:
        return []


def is_over(number: int) -> bool:
    found, _ = os.waitpid(number, os.WNOHANG)
    return found == number


def is_alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Killing:
    """`hit`: it was at work when the signal came. `left`: processes that did not end with their parent."""

    hit: bool
    left: int


def kill(arguments: Sequence[str], folder: Path, kind: str, at: int, later: float) -> Killing:
    """Run until the file of results is this large and a moment longer, then kill."""
    number = begin(arguments)
    began = monotonic()
    while size_of(folder) < at and monotonic() - began < PATIENCE:
        if is_over(number):
            return Killing(False, 0)
        sleep(0.01)
    sleep(later)
    workers = below(number)
    victims = {"tree": [*workers, number], "parent": [number], "worker": workers[:1] or [number]}[kind]
    for victim in victims:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            continue
    os.waitpid(number, 0)  # without one of its workers it ends, and says so
    until = monotonic() + 20.0
    while (left := sum(map(is_alive, workers))) and monotonic() < until:
        sleep(0.05)
    return Killing(True, left)


@dataclass(frozen=True, slots=True)
class Finished:
    verdict: Any
    cpu: float
    size: int
    stalled: bool


def finish(arguments: Sequence[str], folder: Path) -> Finished:
    used = _children_seconds()
    number, began = begin(arguments), monotonic()
    while not is_over(number):
        if monotonic() - began > PATIENCE:
            for one in (*below(number), number):
                os.kill(one, signal.SIGKILL)
            os.waitpid(number, 0)
            return Finished(None, _children_seconds() - used, size_of(folder), True)
        sleep(0.01)
    verdict = json.loads((folder / "result.json").read_text())["verdict"]
    return Finished(verdict, _children_seconds() - used, size_of(folder), False)


def _children_seconds() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


@cache
def uninterrupted(asked: Asked, seed: int) -> Finished:
    """By one worker: the answer does not depend on how many there are."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = finish(command(asked, seed, 1, folder, False), folder)
    assert not found.stalled
    return found


def trial(number: int, rng: random.Random) -> tuple[int, str, list[str]]:
    """How many kills, what was tried, and what is wrong."""
    asked, seed, workers = rng.choice(QUESTIONS), rng.randrange(2), rng.choice((1, 1, 1, 2))
    whole, kills, flaws = uninterrupted(asked, seed), 0, []
    words = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for turn in range(rng.randint(2, 7)):
            kind = rng.choice(KILLED if workers > 1 else KILLED[:2])
            had = size_of(folder)
            at = had + 1 + int(rng.random() ** 2 * max(0, whole.size - had))
            given = command(asked, seed, workers, folder, turn > 0)
            done = kill(given, folder, kind, at, rng.random() * 0.05)
            kills += done.hit
            words.append(kind if done.hit else "ended")
            flaws += [f"{done.left} processes left"] if done.left else []
        last = finish(command(asked, seed, workers, folder, True), folder)
    flaws += ["stalled"] if last.stalled else []
    flaws += ["another verdict"] if last.verdict != whole.verdict and not last.stalled else []
    if last.cpu > TIMES * whole.cpu + SECONDS:
        flaws.append(f"{last.cpu:.1f} s of processor time, whole {whole.cpu:.1f} s")
    if last.size > LARGER * whole.size + BYTES:
        flaws.append(f"{last.size} bytes, whole {whole.size}")
    grown = last.size / max(1, whole.size)
    told = f"{asked.name}, seed {seed}, {workers} workers: {', '.join(words)}; file x {grown:.2f}"
    return kills, f"{number}: {told}", flaws


def _warm_up() -> None:
    """Everything is imported here, once, and not in each of the forks."""
    with tempfile.TemporaryDirectory() as name, redirect_stdout(StringIO()):
        for asked in QUESTIONS:
            run_command_line(command(asked, 0, 1, Path(name), False))


def campaign(kills: int, seed: int) -> tuple[int, int, list[str]]:
    """Trials until there were so many kills: how many, in how many trials, and the lines of wrong ones."""
    _warm_up()
    rng, done, number, wrong = random.Random(seed), 0, 0, []
    while done < kills:
        number += 1
        more, told, flaws = trial(number, rng)
        done += more
        print(f"{told}: {'; '.join(flaws) or 'equal'}  ({done} kills)", flush=True)
        wrong += [f"{told}: {'; '.join(flaws)}"] if flaws else []
    return done, number, wrong


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    done, trials, wrong = campaign(given.kills, given.seed)
    print(f"{done} kills in {trials} trials: {len(wrong)} not as without them")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
