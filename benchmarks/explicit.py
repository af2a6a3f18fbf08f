"""How long building explicit states takes, compared with stormpy and momba on the same JANI files.

    python -m benchmarks.explicit [--rows GLOB …] [--models FOLDER] [--python FILE] [--peers …] [--json FILE]

Every build has a process of its own, whose processor time is counted as a whole: start, imports, reading and
building. Ours is measured with an empty cache (`first`: as after installation) and with the object files of
that run (`warm`). States and choices must be those of stormpy, or the command fails. A peer that takes more
than LONGEST seconds or MOST bytes is broken off.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MODELS = ROOT.parent / "shared" / "data" / "jani"
TARGETS = ((300_000, 3.0), (100_000, 0.0), (0, 0.3))  # from so many states on, how fast as stormpy at least
FIRST = 15.0  # seconds that a first command may take
LONGEST = 600.0  # seconds of wall time
MOST = 6 << 30
PEERS = ("stormpy", "momba")
RACES = [(f"racetrack/racetrack_{name}.jani", "") for name in ("barto_sml", "barto_big", "ring")]


def models(folder: Path) -> list[tuple[str, str]]:
    """Files and constants: the racetracks, then every model of the conformance suite."""
    suite = json.loads((folder / "qvbs" / "conformance.json").read_text(encoding="utf-8"))
    rows = suite if isinstance(suite, list) else suite["rows"]
    found = dict.fromkeys(RACES)
    for row in rows:
        constants = row.get("parameters") or row.get("params") or row.get("constants") or {}
        if isinstance(constants, dict):
            constants = ",".join(f"{k}={str(v).lower()}" for k, v in constants.items())
        found[f"qvbs/{row.get('file') or row.get('model')}", constants] = None
    return list(found)


def build(python: Path, name: str, file: Path, constants: str, cache: str) -> dict[str, Any]:
    """What one process says, and the processor time of all of it (`process`)."""
    command = [str(python.absolute()), "-W", "ignore", "-m", "benchmarks.builders", name, str(file)]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)]) if name == "surefoot" else str(ROOT)
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command += [c for c in constants.split(",") if c]
    before = _children()
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment | {"RUST_BACKTRACE": "0"},
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
            preexec_fn=_limited,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no result in {LONGEST:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"failed": _reason(done.stderr)}
    answer: dict[str, Any] = json.loads(lines[-1])
    return {**answer, "process": _children() - before}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))


def _reason(said: str) -> str:
    """The line that says what went wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ["no output"]
    if any("memory allocation of" in line for line in lines):
        return f"more than {MOST >> 30} GB"
    panicked = [after for line, after in pairwise(lines) if "panicked at" in line]
    return (panicked or [line for line in lines if "note:" not in line] or lines)[-1][:120]


def measured(file: str, constants: str, options: argparse.Namespace) -> dict[str, Any]:
    place, here = options.models / file, Path(sys.executable)
    with tempfile.TemporaryDirectory() as cache:
        row = {
            "model": f"{Path(file).stem} {constants}".strip(),
            "first": build(here, "surefoot", place, constants, cache),
            "warm": build(here, "surefoot", place, constants, cache),
            **{peer: build(options.python, peer, place, constants, cache) for peer in options.peers},
        }
    return {**row, **judged(row)}


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """Whether states and choices agree, how many times as fast as each peer we are, and the target."""
    first, warm = row["first"], row["warm"]
    if "failed" in warm or "failed" in first:
        return {"agrees": False, "ratios": {}, "met": False}
    ratios = {p: row[p]["process"] / warm["process"] for p in PEERS if p in row and "failed" not in row[p]}
    met = first["process"] <= FIRST
    agrees = True
    if "stormpy" in ratios:
        agrees = all(warm[key] == row["stormpy"][key] for key in ("states", "choices"))
        met = met and ratios["stormpy"] >= next(
            least for states, least in TARGETS if warm["states"] >= states
        )
    return {"agrees": agrees, "ratios": ratios, "met": met}


def line(row: dict[str, Any]) -> str:
    first, warm = row["first"], row["warm"]
    if "failed" in warm or "failed" in first:
        return f"{row['model']}: failed: {warm.get('failed') or first['failed']}"
    parts = [
        f"{row['model']}: {warm['states']:,} states: {first['process']:.2f} s first, "
        f"{warm['process']:.2f} warm "
        f"(building {warm['build']:.3f}, {warm['tier']}, {warm['bytes per state']} B a state, {_size(warm)})"
    ]
    parts += [_of_peer(row, peer) for peer in PEERS if peer in row]
    said = "" if row["agrees"] else " DIFFERS"
    missed = "" if row["met"] else " (slower than intended)"
    return "; ".join(parts) + said + missed


def _of_peer(row: dict[str, Any], peer: str) -> str:
    found = row[peer]
    if "failed" in found:
        return f"{peer} {found['failed']}"
    states = "" if found["states"] == row["warm"]["states"] else f", {found['states']:,} states"
    how = f"(building {found['build']:.3f}, {_size(found)}{states})"
    return f"{peer} {found['process']:.2f} {how}, {row['ratios'][peer]:.1f}x"


def _size(found: dict[str, Any]) -> str:
    return f"{found['peak'] / 2**20:.0f} MB"


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.explicit", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--rows", nargs="*", default=["*"], metavar="GLOB", help="such as 'racetrack*'")
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of JANI models")
    parser.add_argument("--python", type=Path, default=Path(".venv-bench/bin/python"), help="with the peers")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(given)
    rows = []
    for file, constants in models(options.models):
        if any(fnmatch(Path(file).stem, pattern) for pattern in options.rows):
            rows.append(measured(file, constants, options))
            print(line(rows[-1]), flush=True)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0 if rows and all(row["agrees"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
