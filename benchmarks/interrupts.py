"""Every command is interrupted at work, as a terminal or a supervisor does it.

    python -m benchmarks.interrupts [NAME …] [--after SECONDS …] [--signal INT|TERM] [--markdown]

Each command runs in a session of its own on something that takes long. The signal goes to its process group.
Then: exit code 130 (TERM: 143), how long that took, no process of it left, the interruption is named in text,
JSON and pages, and nothing is claimed that was not asked to the end. A command that was faster is told apart.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep

LATE = "it did not end in time"
MARK = "SUREFOOT_CAMPAIGN"  # in the environment of everything that a command starts
LIMIT = 60.0  # seconds until a command that does not end is killed, and that is said
CODES = {"INT": 130, "TERM": 143}

COUNTER = """
name = "long"
initial = "n = 0 and m = 0"
[variables]
n = "int 0..4000"
m = "int 0..4000"
[[edges]]
action = "go"
outcomes = [
  { probability = "1/3", updates = { n = "min(n + 1, 4000)" } },
  { probability = "1/3", updates = { m = "min(m + 1, 4000)" } },
  { probability = "1/3", updates = { n = "max(n - 1, 0)", m = "max(m - 1, 0)" } },
]
[policy.program]
branches = [ { action = "go" } ]
[properties]
reached = "P=? [ F n = 4000 ]"
far = "P=? [ F<=40 n >= 20 ]"
"""
CART = """
name = "cart"
arithmetic = "float64"
initial = "-1 <= x <= 1 and -0.1 <= v <= 0.1"
[variables]
x = "real"
v = "real"
[[edges]]
action = "go"
updates = { x = "x + 0.01 * v", v = "v + 0.01 * (sin(3 * x) - x)" }
[policy.program]
branches = [ { action = "go" } ]
[properties]
kept = "never x > 1000"
right = "never x > 1.02"
soon = "P=? [ F<=200 x > 1.02 ] over avg"
"""
GRID = """
name = "grid"
initial = "true"
[variables]
x = "int 0..4"
[[edges]]
action = "go"
outcomes = [
  { probability = "1/2", updates = { x = "min(x + 1, 4)" } },
  { probability = "1/2", updates = { x = "max(x - 1, 0)" } },
]
[policy.program]
branches = [ { action = "go" } ]
[properties]
top = "P=? [ x > 0 U x = 4 ]"
"""
HARD = "aurora/liveness-excellent/aurora-32x16"
NETWORK = """
name = "network"
initial = "true"
[variables]
OBSERVED
[controls]
y = ""
[[edges]]
updates = { x0 = "max(min(y, 1), -1)" }
[policy]
file = "net.onnx"
observe = [NAMES]
choose = "value"
[properties]
safe = "never output[0] >= 2.6"
"""
SHORT = {
    "SAMPLED": "--engine statistical --eps 0.0001 --method okamoto --timeout 600",
    "PAGES": "--json FOLDER/out.json --report FOLDER/out.html",
    "LONG": "--timeout 600",
    "HARD": HARD,
}


@dataclass(frozen=True, slots=True)
class Case:
    """A command; FOLDER in its arguments is a new folder with the models above."""

    name: str
    text: str
    module: str = "surefoot"

    def arguments(self, folder: Path) -> list[str]:
        text = self.text
        for word, meant in SHORT.items():
            text = re.sub(rf"\b{word}\b", meant, text)
        return [part.replace("FOLDER", str(folder)) for part in shlex.split(text)]


CASES = (
    Case("check, explicit", "check FOLDER/long.toml --property reached --engine explicit LONG PAGES"),
    Case("check, exact", "check FOLDER/long.toml --property far --engine explicit --exact LONG PAGES"),
    Case("check, statistical", "check FOLDER/long.toml --property far SAMPLED --workers 1 PAGES"),
    Case("check, statistical, 2 workers", "check FOLDER/grid.toml SAMPLED --workers 2 PAGES"),
    Case("check, splitting", "check FOLDER/long.toml --property far --engine statistical --importance n "
         "--trees 1000000 LONG PAGES"),
    Case("check, bmc milp", "check FOLDER/net.toml --engine bmc --solver milp LONG PAGES"),
    Case("check, bmc native", "check FOLDER/net.toml --engine bmc --solver native LONG PAGES"),
    Case("check, bmc z3", "check HARD --engine bmc --solver z3 LONG PAGES"),
    Case("check, induction", "check deeprm/keeps-placing-cpu-jobs/deeprm-20 --engine induction LONG PAGES"),
    Case("check, recurrence", "check deeprm/keeps-placing-cpu-jobs/deeprm-20 --engine recurrence LONG PAGES"),
    Case("check, barrier", "check pendulum/within-23-degrees --engine barrier --degree 10 LONG PAGES"),
    Case("check, predicates", "check npuzzle/jams --engine predicates LONG PAGES"),
    Case("check, portfolio", "check HARD LONG PAGES"),
    Case("check, several properties", "check FOLDER/long.toml --engine explicit LONG PAGES"),
    Case("check, falsify", "check FOLDER/cart.toml --property kept --engine falsify LONG PAGES"),
    Case("check, witnesses", "check FOLDER/cart.toml --property right --witnesses 1000000 LONG PAGES"),
    Case("check, statistical in columns", "check FOLDER/doubles.toml --property far SAMPLED --workers 1 "
         "PAGES"),
    Case("check, starts uniform", "check FOLDER/cart.toml --property soon SAMPLED --workers 1 "
         "--starts uniform PAGES"),
    Case("heatmap, starts uniform", "heatmap FOLDER/cart.toml --property soon SAMPLED --workers 1 "
         "--starts uniform --x x --y v PAGES"),
    Case("faults, columns", "faults FOLDER/cart.toml --property right --runs 1000000 LONG PAGES"),
    Case("faults", "faults FOLDER/long.toml --property 'never n >= 20' --runs 1000000 LONG PAGES"),
    Case("starts", "starts blocksworld/room-3 LONG PAGES"),
    Case("starts, cells", "starts toy/below-ten --parts 100000 LONG PAGES"),
    Case("invariant, tighten", "invariant HARD --tighten 'output[0]>=' --between -5 5 --precision 1/1000000 "
         "LONG PAGES"),
    Case("invariant, inductive", "invariant toy/below-thirteen --inductive 'x1<=' 0 10 "
         "--inductive 'x2<=' 0 10 --precision 1/1000000 LONG PAGES"),
    Case("optimum", "optimum FOLDER/long.toml --property reached LONG --json FOLDER/out.json"),
    Case("heatmap, explicit", "heatmap racetrack/crash/big LONG PAGES"),
    Case("heatmap, statistical", "heatmap FOLDER/grid.toml SAMPLED --workers 1 --x x --threshold '<= 0.9' "
         "--svg FOLDER/out.svg PAGES"),
    Case("heatmap, several", "heatmap FOLDER/grid.toml FOLDER/other.toml SAMPLED --workers 1 --x x PAGES"),
    Case("heatmap, gap", "heatmap racetrack/crash/big --quantity gap --optimise min LONG PAGES"),
    Case("shield", "shield control/quadcopter LONG PAGES"),
    Case("shield, polynomial", "shield control/self-driving --set polynomial LONG PAGES"),
    Case("shield, runs", "shield pendulum/within-90-degrees --runs 20000 LONG PAGES"),
    Case("shield, actions", "shield racetrack/crash/big LONG --json FOLDER/out.json"),
    Case("vnnlib", "vnnlib FOLDER/net.onnx FOLDER/spec.vnnlib LONG PAGES"),
    Case("certify", "certify FOLDER/result.json"),
    Case("export", "export FOLDER/long.toml FOLDER/out.jani"),
    Case("inspect", "inspect FOLDER/net.onnx"),
    Case("engines", "engines FOLDER/long.toml"),
    Case("doctor", "doctor"),
    Case("demo", "demo"),
    Case("estimate", "estimate FOLDER/log.csv --variables x --controls u"),
    *(Case(f"study {name}, compare", f"study compare {name}")
      for name in ("aurora", "control", "pendulum", "racetrack", "pensieve", "deeprm", "npuzzle")),
    Case("study control, compare json", "study compare control --json"),
    Case("study racetrack, figure", "study figure racetrack all --folder FOLDER/figures"),
    Case("study racetrack, figure json", "study figure racetrack all --json"),
    Case("study racetrack, pa", "study abstraction racetrack pa --folder FOLDER/figures"),
    Case("study racetrack, pa, 2 workers", "study abstraction racetrack pa --workers 2"),
    Case("study pendulum, figure", "study figure pendulum all --folder FOLDER/figures"),
    Case("study control, figure", "study figure control all --folder FOLDER/figures"),
    Case("study control, table 1", "study table control 1"),
    Case("study control, table 2", "study table control 2"),
    Case("study control, table 3 json", "study table control 3 --json"),
    Case("study aurora, checkpoints", "study checkpoints aurora"),
    Case("study aurora, checkpoints json", "study checkpoints aurora --json"),
    Case("study aurora, generalise", "study generalise aurora --plot FOLDER/out.html"),
    Case("study aurora, retrain", f"study retrain aurora {HARD.partition('/')[2]}"),
    Case("study control, train", "study train control pendulum --output FOLDER/out.onnx"),
    Case("training racetrack", "racetrack --output FOLDER/trained", "surefoot_studies.training"),
    Case("training blocksworld", "blocksworld --output FOLDER/trained", "surefoot_studies.training"),
    Case("training aurora", "aurora --output FOLDER/trained", "surefoot_studies.training"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """`flaws`: what the law forbids. `code` None: it had to be killed."""

    case: Case
    after: float
    code: int | None
    seconds: float
    used: float  # seconds of the processor after the signal
    out: str
    err: str
    flaws: tuple[str, ...]
    early: bool = False  # it was faster than the signal


def interrupt(one: Case, after: float, folder: Path, name: str = "INT", twice: bool = False) -> Outcome:
    """Start, wait, send the signal to the group, and look."""
    prepare(folder)
    if "result.json" in one.text:
        store_results(folder)
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, "-m", one.module, *one.arguments(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, MARK: mark, "OMP_NUM_THREADS": "1"},
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and processor_seconds(process.pid) < after:
        sleep(0.2)
    if process.poll() is not None:
        out, err = process.communicate()
        return Outcome(one, after, process.returncode, 0.0, 0.0, out, err, (), early=True)
    before = _children_seconds() + own_seconds(process.pid)
    began = monotonic()
    os.killpg(process.pid, getattr(signal, f"SIG{name}"))
    if twice:
        sleep(0.1)
        if process.poll() is None:
            os.killpg(process.pid, getattr(signal, f"SIG{name}"))
    code: int | None = None
    try:
        out, err = process.communicate(timeout=LIMIT)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    seconds, used = monotonic() - began, _children_seconds() - before
    flaws = [] if code == CODES[name] else [f"exit code {code}"]
    flaws += [f"left behind: {left}" for left in left_behind(mark)]
    flaws += list(claimed(out, err, folder)) if not twice else []
    return Outcome(one, after, code, seconds, used, out, err, tuple(flaws))


def _children_seconds() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def own_seconds(number: int) -> float:
    """Used by a process, by all that are below it, and by those that it has waited for."""
    parts = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return processor_seconds(number) + sum(map(int, parts[13:15])) / os.sysconf("SC_CLK_TCK")


def processor_seconds(number: int) -> float:
    """Used by a process and all that are below it: on a busy machine it gets as far as on an idle one."""
    below: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parts = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        below.setdefault(int(parts[1]), []).append(int(place.name))
        used[int(place.name)] = (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    total, waiting = 0.0, [number]
    while waiting:
        one = waiting.pop()
        total += used.get(one, 0.0)
        waiting += below.get(one, [])
    return total


def left_behind(mark: str) -> list[str]:
    """Processes of the command that are still there a moment later; they are ended."""
    sleep(0.3)
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:80])
                os.kill(int(place.name), signal.SIGKILL)
        except OSError:
            continue
    return found


WHOLE = ("interrupted: what is above is whole", "interrupted: further predicates were not tried")
CLAIMS = re.compile(r"^(reproduced|not reproduced|proved)\b", re.MULTILINE)


def claimed(out: str, err: str, folder: Path) -> Iterator[str]:
    """What a partial result may not say, and what it has to say; a whole one says that it is whole."""
    if "Traceback" in err + out or "error: internal" in err:
        yield "traceback: " + err.strip().splitlines()[-1]
    if LATE in err:
        yield "it did not end by itself"
    if "interrupt" not in (out + err).lower():
        yield "no word of the interruption"
    partial = out.strip() and not out.lstrip().startswith("{")
    if partial and "interrupted" not in out:
        yield "text on stdout without a mark"
    if any(sentence in out + err for sentence in WHOLE):
        return
    for name in ("out.json", "out.html", "out.svg"):
        if (folder / name).exists() and "interrupted" not in (folder / name).read_text("utf-8"):
            yield f"{name} without a mark"
    if out.lstrip().startswith("{"):
        try:
            told = json.loads(out)
        except json.JSONDecodeError:
            yield "stdout is no JSON document"
            return
        if "interrupted" not in out:
            yield "JSON without a mark"
        if any(row.get("reproduced") for row in (*told.get("rows", ()), *told.get("claims", ()))):
            yield "a claim is judged"
    if CLAIMS.search(out):
        yield "a claim is judged"
    for name in ("out.json", "out.html", "out.svg"):
        for rest in folder.glob(f".{name}.*"):
            yield f"{rest.name} is left"


def prepare(folder: Path) -> None:
    """The models, and files of the other commands."""
    (folder / "long.toml").write_text(COUNTER)
    (folder / "cart.toml").write_text(CART)
    (folder / "doubles.toml").write_text(COUNTER.replace('"long"', '"doubles"\narithmetic = "float64"'))
    (folder / "grid.toml").write_text(GRID)
    (folder / "other.toml").write_text(GRID.replace('"grid"', '"other"'))
    rows = "\n".join(f"{n % 7 / 7},{n % 3 / 3}" for n in range(200_000))
    (folder / "log.csv").write_text(f"x,u\n{rows}\n")
    write_network(folder / "net.onnx")
    observed = "\n".join(f'x{i} = "real [-1, 1]"' for i in range(8))
    names = ", ".join(f'"x{i}"' for i in range(8))
    (folder / "net.toml").write_text(NETWORK.replace("OBSERVED", observed).replace("NAMES", names))
    box = "".join(f"(assert (>= X_{i} -1)) (assert (<= X_{i} 1))\n" for i in range(8))
    names = "".join(f"(declare-const X_{i} Real)\n" for i in range(8)) + "(declare-const Y_0 Real)\n"
    (folder / "spec.vnnlib").write_text(f"{names}{box}(assert (>= Y_0 2.6))\n")


def store_results(folder: Path) -> None:
    """Many results in one file: to check them all again takes long."""
    for name in ("toy.toml", "toy.onnx"):
        (folder / name).write_bytes(files("surefoot_studies.toy").joinpath("assets", name).read_bytes())
    asked = ["check", "toy.toml", "--property", "below_ten", "--json", "result.json", "--quiet"]
    subprocess.run([sys.executable, "-m", "surefoot", *asked], cwd=folder, check=False, capture_output=True)
    one = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps({"schema": 1, "results": [one] * 5000}))


def write_network(file: Path) -> None:
    """Deep and random: hard to bound."""
    import numpy as np

    from surefoot_studies.training.onnx_files import onnx_bytes

    rng, sizes = np.random.default_rng(0), (8, 40, 40, 40, 1)
    layers = [(rng.normal(size=(b, a)) / a**0.5, np.zeros(b)) for a, b in pairwise(sizes)]
    file.write_bytes(onnx_bytes(layers, "relu", "hard"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="parts of names; default: all")
    parser.add_argument("--after", type=float, nargs="+", default=[3.0], help="seconds of the processor")
    parser.add_argument("--signal", choices=sorted(CODES), default="INT")
    parser.add_argument("--twice", action="store_true", help="send it again at once")
    parser.add_argument("--show", action="store_true", help="print what the commands said")
    given = parser.parse_args(arguments)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
    wrong = 0
    for one in CASES:
        if given.names and not any(name in one.name for name in given.names):
            continue
        for after in given.after:
            with tempfile.TemporaryDirectory() as folder:
                found = interrupt(one, after, Path(folder), given.signal, given.twice)
            told = "ended before" if found.early else "; ".join(found.flaws) or "as it should be"
            wrong += bool(found.flaws)
            took = f"{found.code} | {found.seconds:.2f} | {found.used:.2f}"
            print(f"| {one.name} | {after:g} | {took} | {told} |", flush=True)
            if given.show:
                print(found.out[-1500:], found.err[-600:], sep="\n---\n", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
