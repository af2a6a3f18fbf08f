"""`surefoot certify FILE --problem MODEL`: what a foreign certificate is worth, in words and as JSON."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from surefoot.certify.barrier.counterexample import BarrierCounterexample
from surefoot.cli.commands.invariant import load_single_problem
from surefoot.cli.commands.shield.foreign_barrier import (
    BarrierJudgement,
    ConditionAnswer,
    judge_foreign_barriers,
)
from surefoot.cli.output import check_output_files, deliver_file, write_facts
from surefoot.cli.progress import report_progress
from surefoot.cli.terminal import print_line
from surefoot.formats.barrier_file import read_barriers
from surefoot.formats.model_file import file_sha256
from surefoot.formats.output_file import compact_json
from surefoot.term.printer import show_term
from surefoot.term.term import Const
from surefoot.work.budget import Budget
from surefoot.work.child import processor_time

CODES = {"accepted": 0, "rejected": 1, "not certified": 3}
_SYSTEMS = {
    "stated": "as stated (exact numbers, controls without limits)",
    "executed": "as executed (the problem's arithmetic, controls clipped)",
}
_CONDITIONS = {
    "starts": "starts in the sets",
    "unsafe": "no unsafe state in a set",
    "steps": "no step leaves a set",
    "growth": "B(next) <= B everywhere",
}


def certify_foreign_barriers(
    file: Path,
    model: str,
    timeout: float,
    seed: int,
    json_path: str | None,
    certificate: str | None,
    quiet: bool,
    trust_python: bool,
) -> int:
    """Judge the file, print, write; the exit code is about the system as it is executed."""
    outputs = {"--json": json_path, "--certificate": certificate}
    check_output_files(outputs, [file, model])
    wiring: dict[str, Any] = dict.fromkeys(("policy", "observe", "actions", "choose", "output", "normalize"))
    wiring |= {"properties": (), "constants": (), "normalise": False, "trust_python": trust_python}
    _, problem, loaded = load_single_problem(model, wiring)
    check_output_files(outputs, loaded.inputs)
    environment = problem.environment
    rules = read_barriers(
        file, [v.name for v in environment.variables], [c.name for c in environment.controls]
    )
    began = processor_time()
    with report_progress(quiet) as tell:
        both = judge_foreign_barriers(problem, rules, Budget(timeout, seed, tell))
    seconds, (_, executed) = processor_time() - began, both
    if certificate is not None and executed.certificate is not None:
        content = executed.certificate
        deliver_file(certificate, lambda: compact_json(content, certificate), quiet)
    elif certificate is not None:
        print_line(f"not written: {certificate} (nothing is certified)", error=True)
    if json_path is not None:
        inputs = {**loaded.inputs, str(file): file_sha256(file)}
        data = {"schema": 1, "problem": problem.name, "verdict": executed.word, "seed": seed}
        data |= {"interrupted": executed.interrupted}
        data |= {"systems": {j.system: _judgement_to_json(j) for j in both}, "inputs": inputs}
        write_facts(json_path, lambda: data | {"cpu seconds": round(seconds, 3)}, quiet)
    if json_path != "-":
        print_line(f"{executed.word}: {file.name}: {len(rules)} barriers for {problem.name}")
        for judgement in both:
            print_line(f"  {_SYSTEMS[judgement.system]}: {judgement.word}")
            for name, answer in judgement.answers.items():
                print_line(f"    {_CONDITIONS[name]:<25} {_describe_answer(answer)}")
        print_line(f"  seconds {seconds:.1f} (processor time)")
        if executed.interrupted:
            print_line("  interrupted: this is what was found before")
    return 130 if executed.interrupted else CODES[executed.word]


def _describe_answer(answer: ConditionAnswer) -> str:
    if answer.refutation is None:
        return f"{answer.word}: {answer.why}" if answer.why else answer.word
    found = answer.refutation
    at = ", ".join(f"{n} = {_show_number(v)}" for n, v in (*found.state.items(), *found.chosen.items()))
    values = f"B = {float(found.barrier):.6g}"
    values += "" if found.after is None else f", after the step {float(found.after):.6g}"
    return f"refuted: {answer.why} (rule {answer.rule + 1}): {at}: {values}"


def _show_number(value: Any) -> str:
    return repr(value) if isinstance(value, float) else show_term(Const(value))


def _judgement_to_json(judgement: BarrierJudgement) -> dict[str, Any]:
    return {
        "verdict": judgement.word,
        "conditions": {n: _answer_to_json(a) for n, a in judgement.answers.items()},
    }


def _answer_to_json(answer: ConditionAnswer) -> dict[str, Any]:
    found = answer.refutation
    shown = {} if found is None else {"rule": answer.rule + 1, "counterexample": _refutation_to_json(found)}
    return {"word": answer.word, "why": answer.why, **shown}


def _refutation_to_json(found: BarrierCounterexample) -> dict[str, Any]:
    """Exact numbers, also of doubles."""
    data: dict[str, Any] = {
        "state": {n: str(Fraction(v)) for n, v in found.state.items()},
        "disturbance": {n: str(Fraction(v)) for n, v in found.chosen.items()},
        "barrier": str(found.barrier),
    }
    if found.following is not None:
        data["next"] = {n: str(Fraction(v)) for n, v in found.following.items()}
        data["barrier after"] = str(found.after)
    return data
