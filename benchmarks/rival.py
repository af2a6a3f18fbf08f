"""Ask an engine of the other environment: see `benchmarks.rivals`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

WALL = 4.0  # times the cap: how long a process may last on a busy machine


def rival(python: Path, name: str, file: Path, cap: float) -> dict[str, Any]:
    """Answer, seconds and witness; `capped` with the processor time used when it was stopped."""
    if not python.exists():
        return {"answer": "absent", "detail": f"no {python}"}
    root = Path(__file__).parents[1]
    command = [str(python.absolute()), "-W", "ignore", "-m", "benchmarks.rivals", name, str(file), f"{cap:g}"]
    process = subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    deadline = time.monotonic() + WALL * cap + 60
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline:
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stdout is not None
    with process.stdout as output:
        said = [json.loads(line) for line in output.read().splitlines() if line.startswith("{")]
    if said and "answer" in said[-1]:
        answer: dict[str, Any] = said[-1]
        return answer
    before = said[0]["ready"] if said else 0.0
    used = usage.ru_utime + usage.ru_stime - before
    stopped = process.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    return {
        "answer": "capped" if stopped else "died",
        "seconds": used,
        "detail": f"exit {process.returncode}",
    }
