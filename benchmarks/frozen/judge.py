"""What a checker says about many certificates, in one process.

    python -m benchmarks.frozen.judge MODULE FOLDER SECONDS < names

The checker is used as anybody uses it, as `python -m MODULE FILE --json`: exit code 0, 1 or 2, and one JSON
object with `accepted`, and `claim`, `arithmetic`, `not_certified` of an accepted certificate. It runs in the
folder of the certificates, so that its words have no other paths than theirs. One JSON line for each name;
seconds are processor time. Standard library only, so that nothing else is measured.
"""

from __future__ import annotations

import io
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from time import process_time
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
MOST_BYTES = 6 << 30  # of memory
KEPT = ("verdict", "claim", "arithmetic", "not certified")  # of an accepted certificate, what must not change

Judgement = dict[str, Any]


class TooLong(BaseException):
    """Not an error of the checker, which must not catch it."""


def judge_file(module: str, name: str, seconds: float) -> Judgement:
    """The verdict about one certificate; a checker that fails in another way has `crashed`."""
    output, began = io.StringIO(), process_time()
    sys.argv = [module, name, "--json"]
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        with redirect_stdout(output), redirect_stderr(output):
            runpy.run_module(module, run_name="__main__")
        code: object = 0
    except SystemExit as end:
        code = end.code or 0
    except TooLong:
        return {"verdict": "too long", "seconds": process_time() - began}
    except BaseException as error:  # noqa: BLE001 - every crash is written down
        return {
            "verdict": "crashed",
            "reason": f"{type(error).__name__}: {error}"[:400],
            "seconds": process_time() - began,
        }
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return {**read_verdict(code, output.getvalue()), "seconds": process_time() - began}


def read_verdict(code: object, text: str) -> Judgement:
    """Of what the checker printed; exit code and words must say the same."""
    try:
        said = json.loads(text)
    except ValueError:
        return {"verdict": "crashed", "reason": f"exit {code}: {text[-400:]}"}
    if code not in (0, 1, 2) or (code == 0) is not (said["accepted"] is True):
        return {"verdict": "crashed", "reason": f"exit {code}, but accepted is {said['accepted']}"}
    if code == 0:
        return {
            "verdict": "accepted",
            "claim": said["claim"],
            "arithmetic": said["arithmetic"],
            "not certified": list(said["not_certified"]),
        }
    return {"verdict": "refused", "exit": code, "reason": str(said.get("error") or said.get("reason"))[:400]}


def judge_files(
    module: str, folder: Path, names: Sequence[str], seconds: float, jobs: int = 1
) -> Iterator[tuple[str, Judgement]]:
    """The verdicts about certificates of a folder, by a process of their own, or several."""
    shares = [names[number::jobs] for number in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda share: _judge_share(module, folder, share, seconds), shares):
            yield from found


def _judge_share(
    module: str, folder: Path, names: Sequence[str], seconds: float
) -> list[tuple[str, Judgement]]:
    """If the process itself dies, that is the verdict about the certificate it died of; then the rest."""
    found: list[tuple[str, Judgement]] = []
    while len(found) < len(names):
        left = names[len(found) :]
        command = [sys.executable, "-m", "benchmarks.frozen.judge", module, str(folder), f"{seconds:g}"]
        path = os.pathsep.join([str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            command,
            cwd=ROOT,
            input="\n".join(left),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        found += zip(left, lines, strict=False)
        if len(lines) < len(left):
            if not lines and "No module named" in done.stderr:
                raise SystemExit(f"error: --checker: {done.stderr.strip().splitlines()[-1]}")
            reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
            found.append((left[len(lines)], {"verdict": "crashed", "reason": reason[:400], "seconds": 0.0}))
    return found


def _stop(_: int, __: FrameType | None) -> None:
    raise TooLong


def main(arguments: Sequence[str]) -> int:
    module, folder, seconds = arguments
    names = sys.stdin.read().split()
    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        runpy.run_module(module)  # under its own name: its parts are imported, and not counted
    signal.signal(signal.SIGVTALRM, _stop)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    os.chdir(folder)
    for name in names:
        print(json.dumps(judge_file(module, name, float(seconds))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
