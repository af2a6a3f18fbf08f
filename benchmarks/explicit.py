"""How long building explicit states takes, compared with stormpy on the same JANI files.

    python -m benchmarks.explicit [--rows GLOB …] [--models FOLDER] [--python FILE] [--json FILE]

Every build has a process of its own. Ours is measured with an empty cache (`first`: as after installation)
and with the object files of that run (`warm`). States and choices must be the same, or the command fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MODELS = ROOT.parent / "shared" / "data" / "jani"
TARGETS = ((300_000, 3.0), (0, 0.3))  # from so many states on, how many times as fast as stormpy
FIRST = 15.0  # seconds that a first command may take
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
    command = [str(python.absolute()), "-W", "ignore", "-m", "benchmarks.builders", name, str(file)]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)]) if name == "surefoot" else str(ROOT)
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command += [c for c in constants.split(",") if c]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"failed": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def measured(file: str, constants: str, options: argparse.Namespace) -> dict[str, Any]:
    place, here = options.models / file, Path(sys.executable)
    with tempfile.TemporaryDirectory() as cache:
        row = {
            "model": f"{Path(file).stem} {constants}".strip(),
            "first": build(here, "surefoot", place, constants, cache),
            "warm": build(here, "surefoot", place, constants, cache),
            "stormpy": build(options.python, "stormpy", place, constants, cache),
        }
    return {**row, **judged(row["first"], row["warm"], row["stormpy"])}


def judged(first: dict[str, Any], warm: dict[str, Any], storm: dict[str, Any]) -> dict[str, Any]:
    if "failed" in warm or "failed" in storm:
        return {"agrees": "failed" not in warm, "ratio": None, "met": "failed" not in warm}
    agrees = all(warm[key] == storm[key] for key in ("states", "choices"))
    ratio = storm["build"] / warm["build"]
    target = next(factor for states, factor in TARGETS if warm["states"] >= states)
    in_time = first["imports"] + first["read"] + first["build"] <= FIRST
    return {"agrees": agrees, "ratio": ratio, "met": ratio >= target and in_time}


def line(row: dict[str, Any]) -> str:
    first, warm, storm = row["first"], row["warm"], row["stormpy"]
    if "failed" in warm:
        return f"{row['model']}: failed: {warm['failed']}"
    ours = (
        f"{first['build']:.2f} first, {warm['build']:.3f} warm ({warm['tier']}, {warm['bytes per state']} B)"
    )
    theirs = storm.get("failed") or f"{storm['build']:.3f}, {row['ratio']:.1f}x"
    said = "" if row["agrees"] else " DIFFERS"
    missed = "" if row["met"] else " (slower than intended)"
    return f"{row['model']}: {warm['states']:,} states: {ours}; stormpy {theirs}{said}{missed}"


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.explicit", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--rows", nargs="*", default=["*"], metavar="GLOB", help="such as 'racetrack*'")
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of JANI models")
    parser.add_argument("--python", type=Path, default=Path(".venv-bench/bin/python"), help="with stormpy")
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
