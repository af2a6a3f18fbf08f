"""`surefoot certify FILE --problem MODEL`: what a foreign certificate is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from surefoot import api
from surefoot.cli.commands.invariant import load_single_problem
from surefoot.cli.output import check_output_files, deliver_file, write_facts
from surefoot.cli.progress import report_progress
from surefoot.cli.terminal import print_line

CODES = {"accepted": 0, "rejected": 1, "not certified": 3}


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
    rules = api.read_barriers(
        file, [v.name for v in environment.variables], [c.name for c in environment.controls]
    )
    began = api.processor_time()
    with report_progress(quiet) as tell:
        both = api.judge_foreign_barriers(problem, rules, api.Budget(timeout, seed, tell))
    seconds, (_, executed) = api.processor_time() - began, both
    if certificate is not None and executed.certificate is not None:
        content = executed.certificate
        deliver_file(certificate, lambda: api.compact_json(content, certificate), quiet)
    elif certificate is not None:
        print_line(f"not written: {certificate} (nothing is certified)", error=True)
    if json_path is not None:
        inputs = {**loaded.inputs, str(file): api.file_sha256(file)}
        data = {"schema": 1, "problem": problem.name, "verdict": executed.word, "seed": seed}
        data |= {"interrupted": executed.interrupted}
        data |= {"systems": {j.system: api.judgement_to_json(j) for j in both}, "inputs": inputs}
        write_facts(json_path, lambda: data | {"cpu seconds": round(seconds, 3)}, quiet)
    if json_path != "-":
        print_line(f"{executed.word}: {file.name}: {len(rules)} barriers for {problem.name}")
        for judgement in both:
            for line in api.describe_judgement(judgement):
                print_line(f"  {line}")
        print_line(f"  seconds {seconds:.1f} (processor time)")
        if executed.interrupted:
            print_line("  interrupted: this is what was found before")
    return 130 if executed.interrupted else CODES[executed.word]
