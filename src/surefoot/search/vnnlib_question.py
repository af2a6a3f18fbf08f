"""Does a network satisfy a VNN-LIB specification? Asked of one solver after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from surefoot.engines.bmc import Bmc
from surefoot.engines.protocol import Engine
from surefoot.engines.selection import ObjectionTimeout, applicable_engines
from surefoot.errors import SurefootError, Unsupported
from surefoot.formats.model_file import file_sha256
from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import no_float32_point, problem_from_vnnlib, read_vnnlib_file, witness_text
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import policy_decision
from surefoot.run import unanswered_result, verify
from surefoot.solvers import SOLVERS
from surefoot.verdict.verdict import Holds, Proved, Reason, Result, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget

PROVERS = ("native", "milp")  # the one that writes certificates first


def verify_vnnlib(
    network: Path, specification: Path, budget: Budget, solver: str | None = None, output: str | None = None
) -> tuple[Problem, Result]:
    """The problem that the two files describe, and the answer; `output`: which one of the network."""
    spec = read_vnnlib_file(specification)
    try:
        read = load_policy(network, output=output).network
        if read.indices:
            what = "the network reads whole numbers, and a specification is about real ones"
            raise Unsupported(what, fix="ask about a problem with an integer variable", where=str(network))
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
    return problem, result if empty is None else _about_rounded_inputs(result, empty)


def _applicable_engines(problem: Problem, solvers: Sequence[str], budget: Budget) -> Iterator[Engine]:
    """The engines that take the problem, as they are needed; all objections in one error if there is none."""
    engines: list[Engine] = [Bmc(SOLVERS[name]()) for name in solvers]
    (first,) = applicable_engines(problem, engines, in_order=True, budget=budget)
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


def competition_verdict(problem: Problem, result: Result) -> str:
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
