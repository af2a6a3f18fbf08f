"""`surefoot vnnlib NET SPEC`: does the network satisfy a VNN-LIB specification?"""

from __future__ import annotations

from pathlib import Path

import click

from surefoot.cli.output import check_writable, exit_code, positive, sha256, write, write_json
from surefoot.cli.progress import progress
from surefoot.engines.bmc import Bmc
from surefoot.errors import SurefootError
from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import read_vnnlib, to_problem, witness_text
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import decision
from surefoot.run import verify
from surefoot.solve import SOLVERS
from surefoot.verdict.verdict import Holds, Reason, Result, Unknown, Violated
from surefoot.work.budget import Budget


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
@click.option("--solver", type=click.Choice(list(SOLVERS)), help="Default: the first without objection.")
@click.option("--output", metavar="NAME", help="Which output of the network, if it has several.")
@click.option("--timeout", type=float, callback=positive, default=60.0, show_default=True, metavar="SECONDS")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "json_path", metavar="FILE|-", help="Write the complete result.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
def vnnlib(
    network: Path,
    specification: Path,
    form: str,
    solver: str | None,
    output: str | None,
    timeout: float,
    seed: int,
    json_path: str | None,
    quiet: bool,
) -> int:
    """Look for an input that satisfies SPEC (VNN-LIB 1, .gz too), or show that none exists.

    A specification describes what must NOT happen: `violated` (competition word: sat) comes with the input,
    replayed on the float32 network with zero tolerance.
    """
    with progress(quiet) as tell:
        budget = Budget(timeout, seed, tell)
        check_writable(json_path, [network, specification])
        spec = read_vnnlib(specification)
        try:
            problem = to_problem(load_policy(network, output=output).network, spec, specification.name)
        except SurefootError as error:
            raise error if error.where else error.at(str(network)) from None
        source = {
            "kind": "vnnlib",
            "network": str(network),
            "specification": str(specification),
            "output": output,
        }
        inputs = {str(p): sha256(p) for p in (network, specification)}
        engine = None if solver is None else Bmc(SOLVERS[solver]())
        result = verify(problem, engine, budget, inputs=inputs, source=source)
    if form == "text":
        return write([(problem, result)], json_path, quiet)
    if json_path == "-":
        write_json([(problem, result)], json_path, quiet)
    else:
        print(competition(problem, result).rstrip())
        write_json([(problem, result)], json_path, quiet)
    return exit_code(result)


def competition(problem: Problem, result: Result) -> str:
    """The verdict in the words of the VNN competition, with the witness after `sat`."""
    match result.verdict:
        case Violated(trace):
            state = trace.states[0]
            made = decision(problem, state)
            inputs = [float(state[v.name]) for v in problem.environment.variables]
            return witness_text(inputs, list((made and made.outputs) or ()))
        case Holds(as_asked=True):
            return "unsat"
        case Unknown(reason=Reason.TIMEOUT):
            return "timeout"
        case _:
            return "unknown"
