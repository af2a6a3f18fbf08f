"""Does every command end at its deadline? A table of command x engine x model.

    python -m benchmarks.deadlines [--seconds 2,5,20] [--only TEXT] [--shared FOLDER] [--json FILE]
    python -m benchmarks.deadlines --random 200 [--seed 1] [--shared FOLDER] [--json FILE]

Each row is one process of `surefoot … --timeout S` on a model that is too large for that time: wall seconds
from its start to its end (imports, reading, certification, files: all of it), processor seconds of the
process and its children, and what it said. On a busy machine a process has only a share of a processor, also
after its deadline, so that `over` is what it was late in processor seconds: late wall seconds times its
share. A row is late if that is more than max(2, S / 20). The time of
`study` is that of each expectation, that of `sweep` of each problem: the row is about the slowest. Exit 1
if a row is late, or ends with another code than an answer. `--random`: so many commands, models and times
from 1 to 30 s of `benchmarks.random_commands`; those that are refused are drawn again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import IO, Any

from benchmarks.late_models import MAKERS
from benchmarks.random_commands import draw_commands

PATIENCE = 120.0  # seconds after the deadline, until a process is killed
PATIENCE_WITH_STUDIES = 1800.0  # they have many deadlines
ANSWERS = (0, 1, 3)
DRAWN = (*ANSWERS, 2)  # a drawn command may be refused


@dataclass(frozen=True, slots=True)
class Row:
    """A command; `{}` is the model, `OUT` a folder for what it writes."""

    model: str
    arguments: str

    @property
    def command(self) -> str:
        return self.arguments.split()[0]


@dataclass(frozen=True, slots=True)
class Timed:
    model: str
    arguments: str
    seconds: float
    wall: float
    processor: float
    code: int
    said: str

    @property
    def over(self) -> float:
        """Processor seconds after the deadline, if they were spread evenly."""
        return (self.wall - self.seconds) * min(1.0, self.processor / self.wall)

    @property
    def late(self) -> bool:
        return self.over > grace(self.seconds)


def grace(seconds: float) -> float:
    return max(2.0, seconds / 20)


ROWS = (
    *(
        Row(model, f"check {{}} --property safe{more}")
        for model in ("planning-88", "planning-212")
        for more in (
            "",
            " --engine predicates",
            " --engine predicates --means table",
            " --engine predicates --means cells",
            " --engine predicates --fixed --predicates t0>3",
            " --engine predicates --configuration pa-milp",
            " --engine bmc",
            " --engine bmc --solver native",
            " --engine bmc --solver z3",
            " --engine induction",
            " --engine explicit",
            " --engine explicit --tier interpreter",
        )
    ),
    Row("planning-88", "check {} --engine recurrence --property eventually(t0=8)"),
    *(
        Row("planning-88", f"check {{}} --property chance{more}")
        for more in (
            "",
            " --engine explicit",
            " --engine statistical --uniform",
            " --engine predicates --bounds",
        )
    ),
    *(
        Row("grid-110", f"check {{}} {more}")
        for more in (
            "--property chance",
            "--property chance --engine explicit --tier interpreter",
            "--property chance --engine explicit --certificate OUT/c.gz --json OUT/r.json",
            "--property effort",
            "--property safe",
            "--property safe --engine explicit",
            "--property safe --engine predicates",
            "--property chance --engine statistical --uniform --eps 0.0001",
        )
    ),
    Row("grid-110", "optimum {} --property chance --json OUT/o.json"),
    Row("grid-110", "shield {} --property safe"),
    Row("grid-110", "shield {} --property safe --bound 0.9 --certificate OUT/c.json"),
    Row("ridge-1100", "check {} --property chance"),
    Row("ridge-1100", "check {} --property safe"),
    Row("ridge-1100", "shield {} --property safe"),
    Row("ridge-1100", "optimum {} --property chance"),
    Row("ridge-1100", "heatmap {} --property chance --x x --y y --svg OUT/h.svg --json OUT/h.json"),
    Row("ridge-60", "heatmap {} --property chance --x x --y y --svg OUT/h.svg --report OUT/h.html"),
    Row(
        "ridge-60",
        "heatmap {} --property chance --x x --y y --engine statistical --eps 0.001 --json OUT/h.json",
    ),
    Row("ridge-60", "starts {} --property safe --json OUT/s.json"),
    Row("ridge-60", "check {} --property chance --report OUT/r.html --json OUT/r.json"),
    *(
        Row("chain-3000000", f"check {{}} --property {more}")
        for more in (
            "arrives",
            "arrives --engine explicit --tier interpreter",
            "arrives --engine explicit --exact",
            "arrives --engine statistical",
            "safe",
            "safe --engine bmc",
            "soon",
            "soon --engine explicit",
        )
    ),
    *(
        Row("deep-256", f"check {{}} --property low{more}")
        for more in (
            "",
            " --engine bmc",
            " --engine bmc --solver milp",
            " --engine induction --solver native",
            " --abstract auto",
            " --report OUT/r.html --json OUT/r.json --certificate OUT/c.json",
        )
    ),
    *(
        Row("rod-64", more)
        for more in (
            "faults {} --property upright --runs 1000000",
            "faults {} --property bounded",
            "check {} --property upright --witnesses 1000000",
            "check {} --property bounded --engine falsify",
            "check {} --property bounded",
            "check {} --property soon --engine statistical --starts uniform --eps 0.0001",
            "check {} --property late --engine statistical --starts uniform",
            "heatmap {} --property soon --engine statistical --starts uniform --x x --y a --eps 0.0001"
            " --json OUT/h.json",
        )
    ),
    Row("ridge-60", "check {} --property chance --engine statistical --eps 0.0001"),
    Row("planning-88", "faults {} --property safe"),
    Row("planning-88", "check {} --property safe --engine falsify"),
    Row("polynomial-6", "check {} --engine falsify"),
    Row("polynomial-6", "check {} --engine falsify --time continuous"),
    Row("automata-11", "check {} --property safe --engine falsify"),
    Row("deep-256", "starts {} --property low"),
    Row("deep-256", "invariant {} --property low --inductive s0<= 0 10"),
    Row("deep-256", "invariant {} --property low --tighten s1<= --between 0 1"),
    Row("wide-512", "vnnlib {}"),
    Row("wide-512", "vnnlib {} --solver milp"),
    Row("wide-512", "vnnlib {} --solver z3"),
    *(
        Row("polynomial-6", more)
        for more in (
            "check {}",
            "check {} --engine barrier",
            "check {} --engine barrier --degree 4",
            "check {} --engine barrier --time continuous",
            "check {} --engine bmc --solver z3",
            "shield {} --degree 2",
            "shield {} --degree 4",
            "shield {} --degree 2,4 --runs 1000 --steps 5000 --report OUT/r.html --json OUT/r.json",
            "shield {} --time continuous",
            "starts {}",
        )
    ),
    *(
        Row("automata-11", f"check {{}} --property {more}")
        for more in (
            "chance",
            "chance --engine explicit --tier interpreter",
            "safe",
            "safe --engine predicates",
        )
    ),
    Row("automata-11", "shield {} --property never(n0=3)"),
    Row("control", "shield control/self-driving --degree 4"),
    Row("control", "shield control/eight-car-platoon --runs 1000"),
    Row("proved-ridge", "certify {}"),
    Row("proved-grid", "certify {}"),
    Row("foreign-12", "certify {} --json OUT/f.json --certificate OUT/c.json"),
    *(
        Row("study", f"study compare {name} --json")
        for name in ("aurora", "pensieve", "deeprm", "pendulum", "control", "npuzzle", "line-transport")
    ),
)
SHARED = (
    *(
        Row(f"jani/racetrack/racetrack_{size}.jani", f"check {{}} --property goalProbability{more}")
        for size in ("barto_sml", "ring")
        for more in ("", " --engine statistical --uniform --eps 0.0001")
    ),
    *(
        Row(f"control/nets/{actor}.onnx", f"{command} control/{actor} --policy {{}}{more}")
        for actor in ("oscillator", "cartpole")
        for command, more in (("faults", ""), ("check", " --witnesses 1000"), ("check", " --engine falsify"))
    ),
    *(
        Row(f"ainncs/problems/{name}.toml", "check {}")
        for name in ("acc", "airplane", "docking", "tora_relu", "unicycle")
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", default="2,5,20", help="the deadlines, with commas between them")
    parser.add_argument("--only", default="", help="rows with this text")
    parser.add_argument("--shared", type=Path, help="a folder with models of others")
    parser.add_argument("--random", type=int, metavar="N", help="so many random commands with an answer")
    parser.add_argument("--seed", type=int, default=1, help="of --random")
    parser.add_argument("--folder", type=Path, help="where models are made; default: a temporary one")
    parser.add_argument("--json", type=Path, help="write the rows, also those of earlier runs in this file")
    given = parser.parse_args(arguments)
    print("seconds    wall    over     cpu  code  model, command: what was said")
    with tempfile.TemporaryDirectory() as name:
        folder = given.folder or Path(name)
        measured = measure_random(given, folder) if given.random else measure_table(given, folder)
        found = []
        for one in measured:
            print(line(one), flush=True)
            found.append(one)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(t) for t in found], indent=1) + "\n")
    wrong = [t for t in found if t.late or t.code not in (ANSWERS if not given.random else DRAWN)]
    print(f"{len(found)} rows, {sum(t.late for t in found)} late, {len(wrong)} late or without an answer")
    return 1 if wrong else 0


def measure_table(given: argparse.Namespace, folder: Path) -> Iterator[Timed]:
    rows = [r for r in (*ROWS, *(SHARED if given.shared else ())) if given.only in f"{r.model} {r.arguments}"]
    for seconds in map(float, given.seconds.split(",")):
        for row in rows:
            yield timed(row, seconds, folder, given.shared)


def measure_random(given: argparse.Namespace, folder: Path) -> Iterator[Timed]:
    """Drawn commands, until so many were not refused."""
    answered = 0
    for drawn in draw_commands(given.seed, given.shared):
        row = Row(drawn.model, drawn.arguments)
        if given.only not in f"{row.model} {row.arguments}":
            continue
        yield (one := timed(row, drawn.seconds, folder, given.shared))
        answered += one.code in ANSWERS
        if answered >= given.random:
            return


def line(found: Timed) -> str:
    mark = "LATE" if found.late else "    "
    return (
        f"{found.seconds:7g} {found.wall:7.1f} {found.over:7.1f} {found.processor:7.1f}  {found.code:4d}"
        f"  {mark} {found.model}, {found.arguments}: {found.said}"
    )


def timed(row: Row, seconds: float, folder: Path, shared: Path | None) -> Timed:
    """One process, from its start."""
    if row.model in MAKERS:
        made = MAKERS[row.model](folder)
        named = " ".join(map(str, made)) if isinstance(made, tuple) else str(made)
    else:
        files = [(shared or folder) / part for part in row.model.split("|")]
        named = " ".join(map(str, files)) if all(one.exists() for one in files) else row.model
    words = (
        row.arguments.replace("{}", named).replace("OUT", str(folder)).replace("DATA", str(shared)).split()
    )
    words = [w.replace("(", " ").replace(")", "").replace("NUMBER", f"{monotonic():.6f}") for w in words]
    command = [sys.executable, "-m", "surefoot", *words, "--timeout", f"{seconds:g}"]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        begun = monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
        )
        patience = PATIENCE_WITH_STUDIES if row.command == "study" else PATIENCE
        killer = Timer(seconds + patience, process.kill)
        killer.start()
        _, status, used = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        ended, lines, told = monotonic(), _lines(errors), _lines(output)
        said = (told or lines or [""])[0]
    processor, wall = used.ru_utime + used.ru_stime, ended - begun
    if row.command == "study" and process.returncode in ANSWERS:
        return slowest_expectation(
            row, seconds, wall, processor, process.returncode, json.loads("\n".join(told))
        )
    if row.command == "sweep" and process.returncode in ANSWERS:
        return slowest_problem(row, seconds, wall, processor, process.returncode, json.loads("\n".join(told)))
    return Timed(row.model, row.arguments, seconds, wall, processor, process.returncode, said[:160])


def slowest_problem(
    row: Row, seconds: float, wall: float, processor: float, code: int, told: Mapping[str, Any]
) -> Timed:
    """Each problem of a sweep has the time for itself; its share of a processor is that of the whole."""
    worst = max((one["answer"] for one in told["rows"]), key=lambda answer: float(answer["seconds"]))
    said = f"{len(told['rows'])} problems in {wall:.0f} s, the slowest {worst['words']}"
    part = float(worst["seconds"])
    share = min(1.0, processor / wall)
    return Timed(row.model, row.arguments, seconds, part, share * part, code, said)


def slowest_expectation(
    row: Row, seconds: float, wall: float, processor: float, code: int, told: Mapping[str, Any]
) -> Timed:
    """Each expectation has the time for itself; its share of a processor is that of the whole."""
    worst = max(told["rows"], key=lambda one: one["seconds"])
    slow = f"{worst['problem']} ({worst['engine']})"
    said = f"{len(told['rows'])} expectations in {wall:.0f} s, the slowest {slow}"
    part = float(worst["seconds"])
    return Timed(row.model, row.arguments, seconds, part, processor * part / wall, code, said)


def _lines(stream: IO[str]) -> list[str]:
    stream.seek(0)
    return [one.strip() for one in stream.read().splitlines() if one.strip()]


if __name__ == "__main__":
    sys.exit(main())
