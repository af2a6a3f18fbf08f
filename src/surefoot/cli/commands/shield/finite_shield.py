"""`surefoot shield MODEL` for systems with finitely many states: permitted actions and the safest ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from surefoot import api
from surefoot.cli.output import deliver_file, write_certificate, write_facts
from surefoot.cli.progress import report_progress
from surefoot.cli.terminal import print_line


@dataclass(frozen=True, slots=True)
class ShieldFiles:
    """The files that `surefoot shield` was asked for."""

    certificate: str | None = None
    python: str | None = None
    c: str | None = None
    json: str | None = None


def run_finite_shield(
    problem: api.Problem,
    bound: Fraction,
    wanted: ShieldFiles,
    source: Mapping[str, object],
    inputs: Mapping[str, str],
    budget: Callable[[Callable[[str], None]], api.Budget],
    quiet: bool,
    goals: Mapping[str, api.Term] | None = None,
) -> int:
    """The whole command; exit 0 if the shield is certified, 3 if it is not, 130 if it was interrupted."""
    began = api.processor_time()
    try:
        with report_progress(quiet) as tell:
            made = api.make_finite_shield(problem, bound, budget(tell), goals)
    except KeyboardInterrupt:
        why = "there is no shield of a part: what may be permitted depends on all states that can be reached"
        print_line(f"interrupted: {why}", error=True)
        if wanted.json is not None:
            facts = {"schema": 1, "kind": "actions", "problem": problem.name, "certified": False,
                     "certified about": "nothing", "interrupted": True, "reason": why}  # fmt: skip
            write_facts(wanted.json, lambda: facts, quiet)
        return 130
    if isinstance(made, str):
        why = f"{made}; of a part of the states there is no shield"
        if wanted.json != "-":
            print_line(f"unknown (timeout): {why}")
        if wanted.json is not None:
            facts = {"schema": 1, "kind": "actions", "problem": problem.name, "certified": False,
                     "certified about": "nothing", "interrupted": False, "reason": why}  # fmt: skip
            write_facts(wanted.json, lambda: facts, quiet)
        return 3
    seconds = api.processor_time() - began
    _write_finite_shield(made, wanted.certificate, wanted.python, wanted.c, quiet)
    if wanted.json is not None:
        write_facts(wanted.json, lambda: api.finite_synthesis_to_json(made, seconds, source, inputs), quiet)
    if wanted.json != "-":
        print(api.render_finite_synthesis(made, seconds))
    if made.interrupted:
        return 130
    return 0 if made.is_accepted and made.kept_by_anybody else 3


def _write_finite_shield(
    made: api.FiniteSynthesis,
    certificate: str | None,
    python_path: str | None,
    c_prefix: str | None,
    quiet: bool,
) -> None:
    """The files that were asked for: nothing that is not certified."""
    wanted = [p for p in (certificate, python_path, c_prefix) if p is not None]
    if not made.is_accepted:
        for path in wanted:
            print_line(f"not written: {path} (nothing is certified)", error=True)
        return
    if certificate is not None and made.anybody is not None:
        write_certificate(made.anybody, certificate, quiet)
    if python_path is not None:
        deliver_file(python_path, made.python, quiet)
    if c_prefix is not None:
        name = Path(c_prefix).name
        deliver_file(f"{c_prefix}.h", lambda: made.c(name)[0], quiet)
        deliver_file(f"{c_prefix}.c", lambda: made.c(name)[1], quiet)
