"""What onnxruntime makes of models, asked in a process of its own: on some it crashes, which is a refusal.

`python -m tests.formats.onnxruntime_says FILE FIRST` answers for the models of a file from number FIRST on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

ROOT = Path(__file__).parents[2]


def sample(model: bytes) -> NDArray[np.float32]:
    """The same numbers for everybody who evaluates the model."""
    declared = ModelProto.FromString(model).graph.input[0].type.tensor_type.shape.dim
    shape = [d.dim_value for d in declared]
    return np.random.default_rng(7).uniform(-1, 1, shape).astype(np.float32)


def onnxruntime_says(models: Sequence[bytes], folder: Path) -> list[dict[str, Any]]:
    """For each model its outputs (`values`), or why it is `refused`."""
    file = folder / "models"
    file.write_bytes(b"".join(len(m).to_bytes(4, "little") + m for m in models))
    answers: list[dict[str, Any]] = []
    while len(answers) < len(models):
        command = [sys.executable, "-m", "tests.formats.onnxruntime_says", str(file), str(len(answers))]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.endswith("}")]
        answers += map(json.loads, lines)
        if done.returncode and len(answers) < len(models):
            answers.append({"refused": f"onnxruntime crashes with {done.returncode}"})
        elif not done.returncode and len(answers) < len(models):
            raise AssertionError(done.stderr)
    return answers


def main(file: str, first: str) -> None:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = Path(file).read_bytes()
    for model in list(_models(data))[int(first) :]:
        try:
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            found = np.asarray(session.run(None, {"x": sample(model)})[0])
            answer: dict[str, Any] = {"values": [float(n) for n in found.ravel()], "kind": str(found.dtype)}
        except Exception as error:  # noqa: BLE001 - whatever it raises, it does not run the model
            answer = {"refused": " ".join(str(error).split())[:300]}
        print(json.dumps(answer), flush=True)


def _models(data: bytes) -> list[bytes]:
    found, place = [], 0
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "little")
        found.append(data[place + 4 : place + 4 + size])
        place += 4 + size
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
