"""Where results go: text on stdout, JSON to a file or stdout, and the exit code that sums them up."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from errno import EACCES
from math import isfinite
from pathlib import Path

import click

from surefoot import api
from surefoot.cli.terminal import print_error, print_line
from surefoot.cli.unused_options import refuse_option


def check_positive_seconds(_: click.Context, option: click.Parameter, seconds: float) -> float:
    """Refuse a number of seconds that is no limit: zero, negative, infinite, not a number."""
    if not (isfinite(seconds) and seconds > 0):
        raise click.BadParameter(f"{seconds} is not a positive number of seconds", param=option)
    return seconds


ENDINGS = {  # of the files that an option writes
    "--json": (".json",),
    "--report": (".html", ".htm"),
    "--certificate": (".json", ".json.gz", ".gz"),
    "--csv": (".csv",),
    "--plot": (".svg", ".html", ".htm"),
    "--svg": (".svg",),
    "--png": (".png",),
    "--junit": (".xml",),
    "--sarif": (".sarif", ".json"),
    "--export": (".csv", ".jsonl", ".npz"),
}


def check_output_files(outputs: Mapping[str, str | None], inputs: Iterable[Path | str]) -> None:
    """Try every output, by its option, before any work: what is refused here is not lost after hours."""
    known = [Path(i) for i in inputs]
    for option, path in outputs.items():
        _check_writable(path, known, option)
    _check_distinct(outputs)


def _check_writable(path: str | None, inputs: Sequence[Path], option: str = "--json") -> None:
    """Refuse an output that is a folder, has no folder, would overwrite an input, or cannot be written."""
    if path is None or (path == "-" and option == "--json"):
        return
    if path == "-":
        refuse_option(option, "stdout is for the answer", "give the name of a file")
    target = Path(path)
    endings = ENDINGS.get(option, ())
    try:
        if target.is_dir():
            refuse_option(option, f"`{path}` is a folder", "give the name of a file")
        if not target.parent.is_dir():
            refuse_option(option, f"folder `{target.parent}` does not exist", "create it first")
        if _path_exists(target) and any(target.samefile(i) for i in inputs if i.exists()):
            refuse_option(option, f"`{path}` is an input of this run", "choose another name")
        if endings and target.suffix and not target.name.endswith(endings):
            what = f"`{path}` does not end in {' or '.join(endings)}"
            refuse_option(option, what, "nothing else is written: choose such a name")
        _try_writing(target)
    except OSError as error:
        what = f"`{path}` cannot be written: {error.strerror or error}"
        raise api.InvalidProblem(what, fix="choose another name", where=option) from None


def _path_exists(target: Path) -> bool:
    """`Path.exists` calls a name that is too long, or not allowed to be looked at, one that is not there."""
    try:
        target.stat()
    except FileNotFoundError:
        return False
    return True


def _try_writing(target: Path) -> None:
    """Do what `write_file` will do, with nothing in it."""
    if _path_exists(target) and not target.is_file():  # a pipe or a device
        if not os.access(target, os.W_OK):
            raise PermissionError(EACCES, os.strerror(EACCES))
        return
    handle, temporary = tempfile.mkstemp(dir=target.resolve().parent, prefix=".")
    os.close(handle)
    os.unlink(temporary)


def _check_distinct(outputs: Mapping[str, str | None]) -> None:
    """Refuse two outputs in one file, of which the second would replace the first; by their options."""
    known: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None or path == "-":
            continue
        place = Path(os.path.realpath(path))
        if place.exists() and not place.is_file():
            continue  # a pipe or a device takes both, one after the other
        if (other := known.setdefault(place, option)) != option:
            refuse_option(option, f"`{path}` is the file of {other} too", "choose another name")


def check_folder(folder: Path | None, option: str) -> None:
    """Make a folder for outputs, or refuse it, before any work."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _try_writing(folder / "file")
    except OSError as error:
        what = f"folder `{folder}` cannot be used: {error.strerror or error}"
        raise api.InvalidProblem(what, fix="choose another name", where=option) from None


def deliver_file(path: str | Path, make: Callable[[], str | bytes], quiet: bool = False) -> bool:
    """Write a file beside an answer, and say so on stderr. What goes wrong is an error line there: the answer
    is shown all the same, and the exit code is still that of the answer."""
    try:
        api.write_file(Path(path), make())
    except api.SurefootError as error:
        print_error(str(error))
    except OSError as error:
        print_error(f"`{path}` cannot be written: {error.strerror or error}")
    except Exception as error:  # noqa: BLE001 - a picture that cannot be drawn is no reason to lose a verdict
        print_error(f"`{path}` is not written: internal: {type(error).__name__}: {error}; fix: report this")
    else:
        if not quiet:
            print_line(f"written: {path}", error=True)
        return True
    return False


def write_results(
    results: Sequence[tuple[api.Problem, api.Result]],
    json_path: str | None,
    quiet: bool = False,
    report: str | None = None,
    mark: str = "",
) -> int:
    """Write JSON and report, then print all results as text (unless stdout is for JSON); worst exit code.

    `mark`: how far it came, where not everything was asked.
    """
    cut = ""
    try:
        write_json(results, None if json_path == "-" else json_path, quiet, mark)
        write_report(results, report, quiet)
    except KeyboardInterrupt:
        cut = "interrupted: what is above is whole, but not every file of it was written"
    finally:  # whatever happened to the files, the answer is told
        if json_path == "-":
            write_json(results, json_path, quiet, mark)
        else:
            for problem, result in results:
                print(api.render(problem, result))
            if mark:
                print_line(mark)
    if cut:
        print_line(cut, error=json_path == "-")
    return api.worst_exit_code(
        [api.exit_code(result, problem) for problem, result in results] + [130] * bool(cut)
    )


def write_json(
    results: Sequence[tuple[api.Problem, api.Result]], json_path: str | None, quiet: bool, mark: str = ""
) -> None:
    """The complete results as one JSON object, to stdout (`-`) or to a file."""

    def build_document() -> dict[str, object]:
        documents = [api.annotated_result_to_json(problem, result) for problem, result in results]
        data = dict(documents[0]) if len(documents) == 1 else {"schema": 1, "results": documents}
        return data | ({"interrupted": mark} if mark else {})

    if json_path == "-":
        write_facts(json_path, build_document, quiet)
    elif json_path is not None:
        folder = Path(json_path).parent
        write_facts(json_path, lambda: api.result_relative_to(build_document(), folder), quiet)


def write_facts(path: str, make: Callable[[], Mapping[str, object]], quiet: bool) -> None:
    """Facts that are no result of an engine as one JSON object, to stdout (`-`) or to a file."""
    if path == "-":
        sys.stdout.write(json.dumps(make(), indent=1) + "\n")
    else:
        deliver_file(path, lambda: json.dumps(make(), indent=1) + "\n", quiet)


def write_report(results: Sequence[tuple[api.Problem, api.Result]], path: str | None, quiet: bool) -> None:
    """The results as one HTML file."""
    if path is not None:
        deliver_file(path, lambda: api.render_result_page(results), quiet)


def write_certificate(result: api.Result, path: str, quiet: bool) -> None:
    """The certificate alone, as the stand-alone checker reads it; on stderr what was done."""
    verdict = result.verdict
    found = (
        verdict.certificate
        if isinstance(verdict, api.Proved | api.Violated | api.Exact | api.PerStart)
        else None
    )
    late = found is None and result.unchecked is not None
    found = result.unchecked if late else found
    if found is None:
        print_line(f"not written: {path} (there is no proof)", error=True)
        return
    seen = api.certificate_relative_to(found.content, Path(path).parent)
    deliver_file(path, lambda: api.compact_json(seen, path), quiet)
    if late and not quiet:
        print_line(f"{path} was not checked in time: `surefoot certify {path}` does it", error=True)
