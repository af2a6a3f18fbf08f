"""`surefoot certify RESULT`: check the evidence of a stored result again, from the original files.

With `--problem MODEL`: what a foreign certificate is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import click

from surefoot import api
from surefoot.cli.model import load_single_problem, load_source
from surefoot.cli.option_groups import json_flag, quiet_flag, seed_flag, workers_flag
from surefoot.cli.output import check_output_files, deliver_file, write_facts
from surefoot.cli.progress import begin_budget, limit_command, report_progress
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import refuse_given_options, refuse_option

FOREIGN = 120.0  # seconds
CODES = {"accepted": 0, "rejected": 1, "not certified": 3}


@click.command()
@click.argument("result", type=click.Path(path_type=Path), metavar="RESULT")
@click.option("--base", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
              help="Where the files of RESULT are.  [default: in its folder, else here]")  # fmt: skip
@click.option("--trust-python", is_flag=True, help="Run the Python model that the result names.")
@click.option("--problem", metavar="MODEL|STUDY/PROBLEM", help="What somebody else's barriers are about.")
@click.option("--timeout", type=float, callback=limit_command, metavar="SECONDS",
              help="No default, but 120 for somebody else's barriers.")  # fmt: skip
@workers_flag
@seed_flag
@json_flag("What was found of somebody else's barriers.")
@click.option("--certificate", metavar="FILE", help="Write the certificate that was accepted, finished.")
@quiet_flag
def certify(
    result: Path,
    base: Path | None,
    trust_python: bool,
    problem: str | None,
    timeout: float | None,
    seed: int,
    json_path: str | None,
    certificate: str | None,
    quiet: bool,
) -> int:
    """Re-check RESULT (JSON written by surefoot): unchanged inputs, a trace that replays exactly, a
    certificate that the independent checker accepts. RESULT may also be a certificate alone, or what
    `shield --json` wrote. With --problem it is a file with somebody else's barriers, which are proved or
    refuted for that problem.

    Exit 0 if every verdict's evidence is confirmed, 1 if some evidence is refuted, 3 if a verdict has no
    evidence that can be checked.
    """
    if problem is not None:
        if base is not None:
            refuse_option("--base", "the problem is named by --problem")
        seconds = timeout or FOREIGN
        return _certify_foreign_barriers(
            result, problem, seconds, seed, json_path, certificate, quiet, trust_python
        )
    others = {"--seed": "seed", "--json": "json_path"}
    refuse_given_options(others, "without --problem: it is about somebody else's barriers")
    check_output_files({"--certificate": certificate}, [result])
    try:
        written: list[str] = []
        code = _certify_file(result, base, trust_python, _writer(certificate, quiet, written))
        if certificate is not None and not written:
            print_line(
                f"not written: {certificate} (no certificate was finished or checked late)", error=True
            )
        return code
    except api.Late:
        _print_judgement("not certified", result.name, "the time ended before it was checked")
        return CODES["not certified"]


Keep = Callable[[Mapping[str, Any]], object]


def _writer(path: str | None, quiet: bool, written: list[str]) -> Keep | None:
    """Who writes a certificate that was accepted, and notes it."""
    if path is None:
        return None

    def keep(content: Mapping[str, Any]) -> None:
        seen = api.certificate_relative_to(content, Path(path).parent)
        deliver_file(path, lambda: api.compact_json(seen, path), quiet)
        written.append(path)

    return keep


def _certify_file(result: Path, base: Path | None, trust_python: bool, keep: Keep | None) -> int:
    """The exit code for all results of a file, or for the certificate that it is."""
    worst = 0
    near, workers = base or result.parent, begin_budget(inf).processes
    data = api.read_json(result)
    if api.is_foreign_barrier(data):
        fix = "say what they are about: --problem MODEL"
        raise api.InvalidProblem("barriers of somebody else", fix=fix, where=str(result))
    if isinstance(data, dict) and "surefoot-certificate" in data:
        word, why = api.judge_certificate_content(data, near, workers, keep)
        _print_judgement(word, result.name, why)
        return CODES[word]
    if isinstance(data, dict) and "certified" in data and "verdict" not in data:
        word, why = api.judge_certificate_content(_shield_certificate(data, result), near, workers)
        more = "\n  not certified: what else the file says; only the certificate in it was checked"
        _print_judgement(word, result.name, f"{why}{more if word == 'accepted' else ''}")
        return CODES[word]
    results = api.read_stored_results(data, result)
    for number, stored in enumerate(results):
        folder = _input_folder(stored, [base] if base is not None else [result.parent, Path()])
        try:
            with chdir(folder):  # so that every name means what it meant when the result was written
                word, why = api.judge_stored_result(
                    stored, partial(load_source, trust_python=trust_python), workers, keep
                )
        except KeyboardInterrupt:
            print_line(api.interruption_note(number, len(results), "results"))
            return 130
        except api.Late:  # what was found of those before counts
            left = f"the time ended before it was checked ({len(results) - number} of {len(results)} left)"
            _print_judgement("not certified", stored.problem, left)
            return max(worst, CODES["not certified"], key=(0, 3, 1).index)
        _print_judgement(word, stored.problem, why)
        worst = max(worst, CODES[word], key=(0, 3, 1).index)
    return worst


def _input_folder(stored: api.StoredResult, folders: Sequence[Path]) -> Path:
    """Where the names of a result's files are meant: results of old told them from the folder of the run."""
    if (found := api.find_base_folder(stored.inputs, folders)) is not None:
        return found
    path = next(p for p in stored.inputs if not (folders[0] / p).is_file())
    where = " or ".join(f"`{folder}`" for folder in dict.fromkeys(folders))
    fix = "say with --base DIR from where its files are seen"
    raise api.InvalidProblem(f"the result is about `{path}`, which is not in {where}", fix=fix)


def _print_judgement(word: str, name: str, why: str) -> None:
    """The lines of `accepted` are visible already; every other reason is one line."""
    print(api.make_visible(f"{word}: {name}: ") + (why if word == "accepted" else api.make_visible(why)))


def _shield_certificate(data: Mapping[str, Any], file: Path) -> Mapping[str, Any]:
    """The certificate in what `surefoot shield --json` wrote; shields of actions keep theirs apart."""
    content = data.get("certificate")
    if not isinstance(content, dict):
        fix = "give what `surefoot shield --certificate FILE` wrote"
        raise api.InvalidProblem(
            "this describes a shield and has no certificate in it", fix=fix, where=str(file)
        )
    return content


def _certify_foreign_barriers(
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
    _, problem, loaded = load_single_problem(model, {"trust_python": trust_python})
    check_output_files(outputs, loaded.inputs)
    environment = problem.environment
    rules = api.read_barriers(
        file, [v.name for v in environment.variables], [c.name for c in environment.controls]
    )
    began = api.processor_time()
    with report_progress(quiet) as tell:
        both = api.judge_foreign_barriers(problem, rules, begin_budget(timeout, seed, tell))
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
