"""What Storm says about PRISM files: run by a Python that has stormpy, asked and answering in JSON.

Each file has a process of its own, because Storm may end the one that it runs in.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def answer_job(job: dict[str, Any]) -> dict[str, Any]:
    import stormpy  # type: ignore[import-not-found]

    program = stormpy.parse_prism_program(job["path"], prism_compat=True)
    options = stormpy.BuilderOptions()
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    model = stormpy.build_sparse_exact_model_with_options(program, options)
    values: list[Any] = []
    for question in job["questions"]:
        try:
            asked = stormpy.parse_properties_for_prism_program(question, program)[0]
            found = stormpy.model_checking(model, asked, only_initial_states=True)
            values.append([str(found.at(state)) for state in model.initial_states])
        except Exception as error:  # noqa: BLE001
            values.append(str(error)[:200])
    return {"states": model.nr_states, "values": values}


def main() -> None:
    answers = []
    for job in json.load(sys.stdin):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                told = answer_job(job)
            except Exception as error:  # noqa: BLE001
                told = {"error": str(error)[:300]}
            os.write(write, json.dumps(told).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            data = pipe.read()
        os.waitpid(child, 0)
        answers.append(json.loads(data) if data else {"error": "Storm ended"})
    sys.stdout.write("\nANSWERS" + json.dumps(answers))


if __name__ == "__main__":
    main()
