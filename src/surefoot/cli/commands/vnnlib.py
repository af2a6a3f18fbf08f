"""`surefoot vnnlib NET SPEC`: does the network satisfy a VNN-LIB specification?"""

from __future__ import annotations

from pathlib import Path

import click

from surefoot import api
from surefoot.cli.engine_flags import SOLVER_NAMES
from surefoot.cli.option_groups import json_flag, quiet_flag, seed_flag, timeout_flag, workers_flag
from surefoot.cli.output import (
    check_output_files,
    write_certificate,
    write_json,
    write_report,
    write_results,
)
from surefoot.cli.progress import begin_budget, report_progress


@click.command()
@click.argument("network", type=click.Path(path_type=Path), metavar="NET")
@click.argument("specification", type=click.Path(path_type=Path), metavar="SPEC")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "vnncomp"]),
    default="text",
    show_default=True,
    help="vnncomp prints sat, unsat, unknown or timeout.",
)
@click.option("--solver", type=click.Choice(SOLVER_NAMES), help="Default: the first without objection.")
@click.option("--output", metavar="NAME", help="Which output of the network, if it has several.")
@timeout_flag()
@workers_flag
@seed_flag
@json_flag("Write the complete result.")
@click.option("--certificate", metavar="FILE", help="Write the certificate of a proof; .gz packs it.")
@click.option("--report", metavar="FILE", help="Write the result as one HTML page.")
@quiet_flag
def vnnlib(
    network: Path,
    specification: Path,
    form: str,
    solver: str | None,
    output: str | None,
    timeout: float,
    seed: int,
    json_path: str | None,
    certificate: str | None,
    report: str | None,
    quiet: bool,
) -> int:
    """Look for an input that satisfies SPEC (VNN-LIB 1, .gz too), or prove that none exists.

    A specification describes what must NOT happen: `violated` (competition word: sat) comes with the input,
    replayed on the float32 network with zero tolerance. `proved` (unsat) comes with a certificate that the
    independent checker has accepted; it names its arithmetic, float32 or real.
    """
    if ".vnnlib" in network.suffixes and ".vnnlib" not in specification.suffixes:
        fix = f"write surefoot vnnlib {specification} {network}"
        raise api.InvalidProblem("the network comes first, then the specification", fix=fix)
    with report_progress(quiet) as tell:
        budget = begin_budget(timeout, seed, tell)
        outputs = {"--json": json_path, "--report": report, "--certificate": certificate}
        check_output_files(outputs, [network, specification])
        problem, result = api.verify_vnnlib(network, specification, budget, solver, output)
    if certificate is not None:
        write_certificate(result, certificate, quiet)
    if form == "text":
        return write_results([(problem, result)], json_path, quiet, report)
    write_report([(problem, result)], report, quiet)
    write_json([(problem, result)], json_path, quiet)
    if json_path != "-":
        print(api.competition_verdict(problem, result).rstrip())
    return api.exit_code(result)
