"""The native solver asked in a process of its own, as users ask it but for the process that guards deadlines.

Seconds are processor time of the asking process after all imports: for files, reading them included.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from benchmarks.race_track import together
from surefoot.certify.vnnlib_claim import restate_for_files
from surefoot.engines.bmc import Bmc, verdict_from_proof
from surefoot.errors import Unsupported
from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import no_float32_point, problem_from_vnnlib, read_vnnlib_file
from surefoot.problem.network import dense_network
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import Assignment, NetworkCall, Proof, Query, QueryVariable, Sat, Undecided, Unsat
from surefoot.solvers.native import Native
from surefoot.solvers.native.batch_queries import QueryOutcome, answer_batch_queries
from surefoot.solvers.native.solver import decide_native_query, prepare_native_session
from surefoot.solvers.native.witness import satisfies_within_enclosure
from surefoot.solvers.protocol import Ask
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Real
from surefoot.verdict.verdict import Holds, Proved, Reason, Unknown, Violated
from surefoot.work.budget import Budget

GRACE = 60.0  # wall seconds beyond the limit after which the process is ended


@dataclass(frozen=True, slots=True)
class InProcess:
    """The native solver without a child process."""

    name: ClassVar[str] = "native"
    seed: int = 0
    batch: int = 256

    def objection(self, query: Query) -> str | None:
        return Native(self.seed, self.batch).objection(query)

    @contextmanager
    def session(self, base: Query, *, seconds: float, workers: int = 1) -> Iterator[Ask]:
        deadline = time.monotonic() + seconds
        question = prepare_native_session(base, self.seed, self.batch, True)
        yield lambda *more: question(more, max(0.0, deadline - time.monotonic()))


def ask_files(network: Path, specification: Path, seconds: float) -> dict[str, Any]:
    """Network and specification as the command `vnnlib` takes them."""
    started = time.process_time()
    loaded, asked = load_policy(network).network, read_vnnlib_file(specification)
    single = no_float32_point(asked) is None
    problem = problem_from_vnnlib(loaded, asked, specification.name, float32=single)
    engine = Bmc(InProcess())
    if (why := engine.objection(problem)) is not None:
        return {"answer": "cannot", "detail": why, "seconds": time.process_time() - started}
    verdict = engine.check(problem, Budget(seconds, 0))
    used = time.process_time() - started
    match verdict:
        case Violated():
            found: dict[str, Any] = {"answer": "sat"}
        case Proved(certificate, arithmetic):
            found = {"answer": "unsat", "arithmetic": arithmetic}
            found["certificate"] = restated(certificate.content, network, specification)
        case Holds():
            found = {"answer": "unsat", "arithmetic": "uncertified"}
        case Unknown(reason, detail):
            found = {"answer": "timeout" if reason is Reason.TIMEOUT else "unknown", "detail": detail}
        case other:
            found = {"answer": "unknown", "detail": repr(other)[:200]}
    return found | {"seconds": used}


def restated(content: Any, network: Path, specification: Path) -> Any:
    """The certificate about the files themselves, or that of the query where there is none."""
    files = (network.absolute(), specification.absolute())
    digests = {str(f): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}
    source = {"kind": "vnnlib", "network": str(files[0]), "specification": str(files[1]), "output": None}
    return restate_for_files(content, source, digests) or content


def ask_query(query: Query, seconds: float) -> dict[str, Any]:
    """One call of the solver; a model is verified exactly, outside the time measured."""
    started = time.process_time()
    decision = decide_native_query(query, seconds=seconds)
    used = time.process_time() - started
    match decision:
        case Sat(assignment):
            trouble = _refuted(query, assignment)
            found: dict[str, Any] = {
                "answer": "sat" if trouble is None else "unknown",
                "detail": trouble or "",
            }
        case Unsat(None):
            found = {"answer": "unsat", "arithmetic": "uncertified"}
        case Unsat(Proof() as proof):
            verdict = verdict_from_proof(proof)
            assert verdict.certificate is not None
            found = {
                "answer": "unsat",
                "arithmetic": proof.arithmetic,
                "certificate": verdict.certificate.content,
            }
        case Undecided(why, detail):
            found = {"answer": why.value, "detail": detail}
    return found | {"seconds": used}


def _refuted(query: Query, assignment: Assignment) -> str | None:
    """Why an assignment is no model; of networks with tanh or sigmoid by rigorous enclosures."""
    try:
        return assignment_defect(query, assignment)
    except Unsupported:
        return (
            None
            if satisfies_within_enclosure(query, assignment)
            else "not within the enclosure of the true values"
        )


def ask_cells(name: str, seconds: float) -> dict[str, Any]:
    """A question as one of many: the mean time of the batch."""
    questions, number = together(name)
    started = time.process_time()
    answers = answer_batch_queries(questions, Budget(seconds, 0))
    used = time.process_time() - started
    outcome = answers.outcomes[number]
    found = {QueryOutcome.SAT: "sat", QueryOutcome.UNSAT: "unsat"}.get(QueryOutcome(outcome), "unknown")
    return {"answer": found, "seconds": used / len(questions), "questions": len(questions)}


def warmed() -> None:
    """Ask something trivial, as a query and as files, so that nothing is imported later."""
    import highspy  # noqa: F401

    network = dense_network([([[1.0], [-1.0]], [0.0, 0.5]), ([[1.0, 1.0]], [0.0])])
    quantities = (QueryVariable("x", Real(-1, 1)), QueryVariable("y", Real()))
    call = NetworkCall(network, (Var("x"),), ("y",))
    for bound in (2, -1):
        decide_native_query(Query(quantities, (Var("y") <= Const(bound),), (call,)), seconds=5.0)
    wide = dense_network([(np.ones((100, 1)).tolist(), [0.0] * 100), (np.ones((1, 100)).tolist(), [0.0])])
    call = NetworkCall(wide, (Var("x"),), ("y",))  # wide enough for machine code
    decide_native_query(Query(quantities, (Var("y") <= Const(-1),), (call,)), seconds=5.0)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "network.onnx", Path(folder) / "property.vnnlib"
        files[0].write_bytes(_tiny_network())
        for bound in ("1.4", "1.6"):  # y = relu(x) + relu(1/2 - x) is at most 3/2: sat, then unsat
            files[1].write_text(_TINY_PROPERTY.format(bound), encoding="utf-8")
            ask_files(*files, 5.0)


_TINY_PROPERTY = """(declare-const X_0 Real) (declare-const Y_0 Real)
(assert (>= X_0 -1.0)) (assert (<= X_0 1.0)) (assert (>= Y_0 {}))
"""


def _tiny_network() -> bytes:
    """Two neurons with one input, as an ONNX file."""
    tensors = {"w": [[1.0, -1.0]], "b": [0.0, 0.5], "v": [[1.0], [1.0]], "c": [0.0]}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["a"]),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("Gemm", ["r", "v", "c"], ["y"]),
    ]
    ends = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 1])] for n in "xy"]
    given = [numpy_helper.from_array(np.array(t, dtype=np.float32), n) for n, t in tensors.items()]
    graph = helper.make_graph(nodes, "tiny", *ends, given)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    found: bytes = model.SerializeToString()
    return found


def asked(
    task: Callable[..., dict[str, Any]], *arguments: object, seconds: float, keep: Path | None = None
) -> dict[str, Any]:
    """`task(*arguments, seconds)` in a fresh process; a certificate goes to the file `keep`, if wanted."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_child, args=(there, task, arguments, seconds, keep))
    process.start()
    there.close()
    found: dict[str, Any] = {"answer": "capped", "detail": "did not end in time", "seconds": seconds}
    try:
        if here.poll(seconds + GRACE):
            found = here.recv()
    except EOFError:
        found = {"answer": "died", "seconds": seconds}
    if process.is_alive():
        process.join(5.0)
        process.kill()
    process.join()
    return found


def _child(
    pipe: Connection,
    task: Callable[..., dict[str, Any]],
    arguments: tuple[object, ...],
    seconds: float,
    keep: Path | None,
) -> None:
    warmed()
    started = time.monotonic()
    found = task(*arguments, seconds)
    found["wall"] = time.monotonic() - started
    certificate = found.pop("certificate", None)
    if certificate is not None:
        text = json.dumps(certificate, separators=(",", ":"))
        found["bytes"] = len(text)
        if keep is not None:
            keep.write_text(text, encoding="utf-8")
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    pipe.send(found)
