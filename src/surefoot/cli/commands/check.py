"""`surefoot check MODEL`: decide the properties of a policy in its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from surefoot.cli.engine_options import build_engines, engine_flags
from surefoot.cli.model import load_model, model_flags
from surefoot.cli.output import check_writable, write
from surefoot.cli.progress import progress
from surefoot.problem.problem import Problem
from surefoot.run import choose, verify
from surefoot.transform.discretise import discretise
from surefoot.verdict.verdict import Reason, Result, Unknown
from surefoot.work.budget import Budget


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@model_flags
@engine_flags
@click.option(
    "--timeout", type=float, default=60.0, show_default=True, metavar="SECONDS", help="For the whole run."
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--json", "json_path", metavar="FILE|-", help="Write the complete result; - = stdout, nothing else."
)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def check(
    model: Path,
    engine_name: str | None,
    dump_queries: Path | None,
    timeout: float,
    seed: int,
    json_path: str | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Decide the properties of MODEL: a problem file (.toml), or a Python file with --trust-python.

    Without --property every property of the file is checked, and the exit code is that of the worst answer.
    """
    started = Budget(timeout, seed)
    check_writable(json_path, [model])
    wiring = {name: options.pop(name) for name in MODEL_OPTIONS}
    loaded = load_model(model, **wiring)
    engines = build_engines(engine_name, options, dump_queries)
    results: list[tuple[Problem, Result]] = []
    with progress(quiet) as tell:
        budget = Budget(timeout, seed, tell, started.started)
        for name, problem in loaded.problems.items():
            tell(f"{name}: starting")
            engine = engines[0] if engine_name else choose(discretise(problem)[0], engines)
            source = {**loaded.source, "property": name}
            results.append((problem, verify(problem, engine, budget, inputs=loaded.inputs, source=source)))
            if interrupted(results[-1][1]):
                break
    return write(results, json_path)


def interrupted(result: Result) -> bool:
    """Was this result cut short by the user? Then the rest is not started."""
    return isinstance(result.verdict, Unknown) and result.verdict.reason is Reason.INTERRUPTED


MODEL_OPTIONS = (
    "policy",
    "property_text",
    "constants",
    "observe",
    "actions",
    "choose",
    "normalize",
    "trust_python",
)
