"""`surefoot vnnlib NET SPEC`: does the network satisfy a VNN-LIB specification?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from surefoot.cli.output import (
    check_output_files,
    exit_code,
    write_certificate,
    write_json,
    write_report,
    write_results,
)
from surefoot.cli.progress import limit_command, report_progress
from surefoot.engines.bmc import Bmc
from surefoot.engines.protocol import Engine
from surefoot.errors import InvalidProblem, SurefootError
from surefoot.formats.model_file import file_sha256
from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import no_float32_point, problem_from_vnnlib, read_vnnlib_file, witness_text
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import policy_decision
from surefoot.run import ObjectionTimeout, unanswered_result, verify
from surefoot.run import applicable_engines as without_objection
from surefoot.solvers import SOLVERS
from surefoot.verdict.verdict import Holds, Proved, Reason, Result, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget

PROVERS = ("native", "milp")  # the one that writes certificates first


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
@click.option(
    "--timeout", type=float, callback=limit_command, default=60.0, show_default=True, metavar="SECONDS"
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "json_path", metavar="FILE|-", help="Write the complete result.")
@click.option("--certificate", metavar="FILE", help="Write the certificate of a proof; .gz packs it.")
@click.option("--report", metavar="FILE", help="Write the result as one HTML page.")
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
        raise InvalidProblem("the network comes first, then the specification", fix=fix)
    with report_progress(quiet) as tell:
        budget = Budget(timeout, seed, tell)
        outputs = {"--json": json_path, "--report": report, "--certificate": certificate}
        check_output_files(outputs, [network, specification])
        spec = read_vnnlib_file(specification)
        try:
            read = load_policy(network, output=output).network
            empty = no_float32_point(spec)
            problem = problem_from_vnnlib(read, spec, specification.name, float32=empty is None)
        except SurefootError as error:
            raise error if error.where else error.at(str(network)) from None
        source = {
            "kind": "vnnlib",
            "network": str(network),
            "specification": str(specification),
            "output": output,
        }
        inputs = {str(p): file_sha256(p) for p in (network, specification)}
        try:
            for engine in _applicable_engines(problem, [solver] if solver else PROVERS, budget):
                result = verify(problem, engine, budget, inputs=inputs, source=source)
                if _is_conclusive(result) or budget.is_spent():
                    break
        except ObjectionTimeout as why:
            late = Unknown(Reason.TIMEOUT, str(why))
            result = unanswered_result(problem, late, budget, inputs, source)
        if empty is not None:
            result = _about_rounded_inputs(result, empty)
    if certificate is not None:
        write_certificate(result, certificate, quiet)
    if form == "text":
        return write_results([(problem, result)], json_path, quiet, report)
    write_report([(problem, result)], report, quiet)
    write_json([(problem, result)], json_path, quiet)
    if json_path != "-":
        print(_competition_verdict(problem, result).rstrip())
    return exit_code(result)


def _applicable_engines(problem: Problem, solvers: Sequence[str], budget: Budget) -> Iterator[Engine]:
    """The engines that take the problem, as they are needed; all objections in one error if there is none."""
    engines: list[Engine] = [Bmc(SOLVERS[name]()) for name in solvers]
    (first,) = without_objection(problem, engines, in_order=True, budget=budget)
    yield first
    yield from (e for e in engines if e is not first and e.objection(problem) is None)


def _is_conclusive(result: Result) -> bool:
    """Whether another solver has nothing to add; one that ran out of time or was stopped leaves no time."""
    match result.verdict:
        case Unknown(reason):
            return reason in (Reason.TIMEOUT, Reason.INTERRUPTED)
        case _:
            return True


def _about_rounded_inputs(result: Result, empty: str) -> Result:
    """The result where no float32 input lies in the box, from that for real inputs which are rounded."""
    if isinstance(result.verdict, Proved):
        note = f"{empty}: proved for real inputs, which the network gets rounded to float32"
        return replace(result, notes=(*result.notes, note))
    return replace(result, verdict=Vacuous(empty), certified=False)


def _competition_verdict(problem: Problem, result: Result) -> str:
    """The verdict in the words of the VNN competition, with the witness after `sat`."""
    match result.verdict:
        case Violated(trace):
            state = trace.states[0]
            made = policy_decision(problem, state)
            inputs = [float(state[v.name]) for v in problem.environment.variables]
            return witness_text(inputs, list((made and made.outputs) or ()))
        case Proved() | Holds(as_asked=True):
            return "unsat"
        case Unknown(reason=Reason.TIMEOUT):
            return "timeout"
        case _:
            return "unknown"
