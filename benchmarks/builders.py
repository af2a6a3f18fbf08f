"""Build one model in this process and print what it took, as JSON.

    python -m benchmarks.builders surefoot|stormpy|momba FILE [NAME=VALUE …]

Seconds of processor time: `imports` (with the start of Python), `read` (parse and fix constants) and `build`
(the explicit states; momba counts them only, it does not keep transitions). `peak` is the largest size of the
process in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any


def surefoot(file: str, constants: dict[str, str]) -> dict[str, Any]:
    from surefoot.explore.exploration import explore_problem
    from surefoot.formats.jani import read_jani
    from surefoot.problem.problem import Problem
    from surefoot.problem.property import Never
    from surefoot.term.term import FALSE

    imported = time.process_time()
    model = read_jani(Path(file), constants)
    read = time.process_time()
    explored = explore_problem(Problem(model.name, model.environment, None, Never(FALSE)), labels={})
    built = time.process_time()
    markov = explored.markov
    ended = int((markov.choices[1:] == markov.choices[:-1]).sum())
    return {
        "states": markov.states,
        "choices": len(markov.outcomes) - 1 + ended,  # Storm gives a state where runs end a loop
        "imports": imported,
        "read": read - imported,
        "build": built - read,
        "tier": explored.tier,
        "bytes per state": round(explored.bytes_per_state, 1),
    }


def stormpy(file: str, constants: dict[str, str]) -> dict[str, Any]:
    import stormpy

    imported = time.process_time()
    model, _ = stormpy.parse_jani_model(file)
    description = stormpy.SymbolicModelDescription(model)
    given = ",".join(f"{name}={value}" for name, value in constants.items())
    values = description.parse_constant_definitions(given) if given else {}
    model = description.instantiate_constants(values).as_jani_model()
    model.substitute_functions()
    read = time.process_time()
    built = stormpy.build_sparse_model_with_options(model, stormpy.BuilderOptions([]))
    return {
        "states": built.nr_states,
        "choices": built.nr_choices,
        "imports": imported,
        "read": read - imported,
        "build": time.process_time() - read,
    }


def momba(file: str, constants: dict[str, str]) -> dict[str, Any]:
    from momba import engine, jani, model

    imported = time.process_time()
    network = jani.load_model(Path(file).read_text(encoding="utf-8-sig"), ignore_properties=True)
    given = {name: model.ensure_expr(json.loads(value)) for name, value in constants.items()}
    explorer = engine.Explorer.new_discrete_time(network, parameters=given)
    read = time.process_time()
    states = explorer.count_states()
    return {
        "states": states,
        "imports": imported,
        "read": read - imported,
        "build": time.process_time() - read,
    }


def main(name: str, file: str, *constants: str) -> int:
    given = dict(text.split("=", 1) for text in constants)
    found = {"surefoot": surefoot, "stormpy": stormpy, "momba": momba}[name](file, given)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**found, "peak": peak * (1 if sys.platform == "darwin" else 1024)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
