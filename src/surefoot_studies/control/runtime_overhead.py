"""What a shield costs at run time beside the network that it guards (the paper's column "overhead").

The exported Python module and, where there is a C compiler, the exported C step (`-O2 -std=c99`, the loop
without the step taken off) decide about states along shielded runs and what the network proposes there. The
network is asked for one state after the other, by onnxruntime on one thread if it is installed, and by numpy.
All are processor times, measured in turns; of each the least counts, because other work only adds.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, TypeAlias

import numpy as np

from surefoot import api
from surefoot_studies import Tell

# states asked about; runs they are taken from; steps between two of a run
STATES, LANES, APART = 1024, 64, 10
ROUNDS = 15
FLAGS = ("-O2", "-std=c99", "-Wall", "-Wextra", "-Werror")
Work: TypeAlias = Callable[[], object]
Ask: TypeAlias = Callable[[Any], Any]
DRIVER = """#define _POSIX_C_SOURCE 199309L
#include "guard.h"
#include <stdio.h>
#include <time.h>

#define N {count}
static double rows[N][GUARD_STATES], proposed[N][GUARD_CONTROLS];

static double now(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}}

int main(void)
{{
    double least = 1e300, idle = 1e300, kept = 0;
    if (fread(rows, sizeof rows, 1, stdin) != 1 || fread(proposed, sizeof proposed, 1, stdin) != 1)
        return 1;
    for (int r = 0; r < 40; r++) {{
        double out[GUARD_CONTROLS] = {{0}}, began = now();
        for (int k = 0; k < 20; k++)
            for (int i = 0; i < N; i++) {{
                kept += guard_step(rows[i], proposed[i], out);
                kept += out[0];
            }}
        double took = (now() - began) / (20.0 * N);
        least = took < least ? took : least;
        began = now();
        for (int k = 0; k < 20; k++)
            for (int i = 0; i < N; i++) {{
                __asm__ volatile("" : : "r"(rows[i]), "r"(proposed[i]) : "memory");
                kept += proposed[i][0];
            }}
        took = (now() - began) / (20.0 * N);
        idle = took < idle ? took : idle;
    }}
    printf("%.3f %g\\n", least - idle, kept);
    return 0;
}}
"""


@dataclass(frozen=True, slots=True)
class Overhead:
    """Nanoseconds of one step; None: not measured, for want of a compiler, a network or a package."""

    python: float
    c: float | None
    network: float | None
    by: str  # what evaluates the network: onnxruntime or numpy
    numpy: float | None

    def share(self, step: float | None) -> float | None:
        """In percent of the network."""
        return None if step is None or self.network is None else 100 * step / self.network

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        times = {"python": self.python, "c": self.c, "network": self.network, "network by numpy": self.numpy}
        return {
            "ns": {name: None if ns is None else round(ns, 1) for name, ns in times.items()},
            "network by": self.by,
            "python %": self.share(self.python),
            "c %": self.share(self.c),
        }


def shield_overhead(
    made: api.ShieldSynthesis, policy: api.AnyPolicy | None, file: Path | None, tell: Tell
) -> Overhead | None:
    """Of the shield of a synthesis, if it has one; `file`: the network for onnxruntime."""
    if not made.accepted or not isinstance(made.problem.policy, api.ShieldedPolicy):
        return None
    tell("overhead: timing the shield and the network")
    states, proposed = sample_proposals(made, policy)
    network = policy.network if isinstance(policy, api.NeuralPolicy) else None
    with TemporaryDirectory() as folder:
        step = import_exported_step(made, Path(folder))
    works = step_works(step, states, proposed) | network_works(network, file, states)
    least = time_in_turns(works)
    by = "onnxruntime" if "onnxruntime" in least else "numpy"
    own = least["python"] - least["idle"]
    return Overhead(own, time_c_step(made, states, proposed), least.get(by), by, least.get("numpy"))


def overhead_cells(costs: Overhead | None, paper: float | None) -> tuple[str, str]:
    """Of C and of Python, and what the paper prints of its own."""
    found = (None, None) if costs is None else (costs.share(costs.c), costs.share(costs.python))
    printed = "–" if paper is None else f"{paper:g} %"
    texts = ["–" if share is None else f"{share:.2g} %" for share in found]
    return f"{texts[0]} / {printed}", f"{texts[1]} / {printed}"


def sample_proposals(
    made: api.ShieldSynthesis, policy: api.AnyPolicy | None
) -> tuple[api.Floats, api.Floats]:
    """States along runs from covered starts and what the network proposes there; without one, anything."""
    generator, guard = np.random.default_rng(0), api.BatchGuard(made.guard())
    plant = api.BatchPlant(made.system)
    low, high = (np.clip(ends, -1e3, 1e3) for ends in plant.ends())
    propose = api.by_network(policy, made.system) if isinstance(policy, api.NeuralPolicy) else None
    states = api.draw_start_states(
        api.covered_boxes([b.set.proof for b in made.found.branches], made.system.initial), LANES, generator
    )
    rows, wanted = [], []
    for step in range(APART * STATES // LANES):
        if propose is None:
            proposed = generator.uniform(low, high, (LANES, len(low)))
        else:
            proposed = propose(states, step)
        if step % APART == 0:
            rows.append(states)
            wanted.append(proposed)
        states = plant.step(
            states, guard.step(states, proposed).applied, plant.draw_disturbances(LANES, generator)
        )
    return np.concatenate(rows), np.concatenate(wanted)


def time_in_turns(works: Mapping[str, Work]) -> dict[str, float]:
    """Of each, the least nanoseconds for one of the states."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for name, work in works.items():
            began = process_time()
            work()
            least[name] = min(least[name], (process_time() - began) / STATES * 1e9)
    return least


def import_exported_step(made: api.ShieldSynthesis, folder: Path) -> Callable[[Any, Any], Any]:
    """The step of the Python module, written to a folder."""
    path = folder / "surefoot_guard.py"
    path.write_text(made.python(), "utf-8")
    spec = spec_from_file_location("surefoot_guard", path)
    assert spec is not None
    assert spec.loader is not None
    module, kept = module_from_spec(spec), sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = kept
    step: Callable[[Any, Any], Any] = module.step
    return step


def step_works(step: Callable[[Any, Any], Any], states: api.Floats, proposed: api.Floats) -> dict[str, Work]:
    """The step, and the loop around it."""
    pairs = [(tuple(s), tuple(p)) for s, p in zip(states.tolist(), proposed.tolist(), strict=True)]

    def stepping() -> None:
        for state, wanted in pairs:
            step(state, wanted)

    def idle() -> None:
        for _state, _wanted in pairs:
            pass

    return {"python": stepping, "idle": idle}


def network_works(network: api.Network | None, file: Path | None, states: api.Floats) -> dict[str, Work]:
    """One evaluation for each state, as it is given by a plant in float64."""
    asks = {
        "onnxruntime": _onnxruntime_network(file),
        "numpy": None if network is None else _numpy_network(network),
    }
    return {name: _evaluate_each(ask, list(states)) for name, ask in asks.items() if ask is not None}


def _evaluate_each(ask: Ask, rows: list[api.Floats]) -> Work:
    def asking() -> None:
        for row in rows:
            ask(row)

    return asking


def _onnxruntime_network(file: Path | None) -> Ask | None:
    """By onnxruntime on one thread."""
    if file is None or find_spec("onnxruntime") is None:
        return None
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda state: session.run(None, {name: state[None].astype(np.float32)})[0][0]


def _numpy_network(network: api.Network) -> Ask | None:
    """Layer after layer; None: the network is not made of such layers alone."""
    parts: list[Ask] = []
    for number, node in enumerate(network.nodes):
        if getattr(node, "source", None) != number:
            return None
        match node:
            case api.Affine(_, weights, bias):
                parts.append(lambda x, w=weights, b=bias: w @ x + b)  # type: ignore[misc]
            case api.Activation(_, api.Shape.RELU):
                parts.append(lambda x: np.maximum(x, 0))
            case api.Activation(_, api.Shape.TANH):
                parts.append(np.tanh)
            case api.Elementwise(_, api.Constant.MULTIPLY, constant):
                parts.append(lambda x, c=constant: x * c)  # type: ignore[misc]
            case _:
                return None

    def ask(state: Any) -> Any:
        value = state.astype(np.float32)
        for part in parts:
            value = part(value)
        return value

    return ask


def time_c_step(made: api.ShieldSynthesis, states: api.Floats, proposed: api.Floats) -> float | None:
    """Nanoseconds of the exported C; None: there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    with TemporaryDirectory() as name:
        folder = Path(name)
        header, source = made.c("guard")
        (folder / "guard.h").write_text(header)
        (folder / "guard.c").write_text(source)
        (folder / "driver.c").write_text(DRIVER.format(count=STATES))
        command = [compiler, *FLAGS, "guard.c", "driver.c", "-o", "driver"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        given = np.ascontiguousarray(states).tobytes() + np.ascontiguousarray(proposed).tobytes()
        done = subprocess.run([folder / "driver"], input=given, check=True, capture_output=True)
    return float(done.stdout.split()[0])
