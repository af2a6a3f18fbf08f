"""`python -m surefoot_checker FILE`, or `python FOLDER FILE` with a copy of this folder.

Exit code 0: accepted, 1: rejected, 2: not a certificate, or its files cannot be read.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

if not __package__:  # run as a folder: make it a package under its own name
    folder = Path(__file__).resolve().parent
    sys.path[0] = str(folder.parent)
    __package__ = folder.name
    __import__(__package__)

from .check import CheckerVerdict, judge_certificate, read_certificate
from .kernel.strict_json import BadCertificate

# Fillers, joiners and selectors: Python calls them printable, and nothing is drawn for them.
UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" + "".join(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="checker", description="Check a certificate in exact arithmetic.")
    parser.add_argument("file", type=Path, help="the certificate, gzipped or not")
    parser.add_argument("--network", type=Path, help="the ONNX file, if it is not where the certificate says")
    parser.add_argument("--property", type=Path, help="the VNN-LIB file, likewise")
    parser.add_argument("--workers", type=int, default=1, help="processes, for bounds of many states")
    parser.add_argument("--json", action="store_true", help="write the verdict as a JSON object")
    options = parser.parse_args(arguments)
    code, text = _judge_file(options)
    _print_text(text)
    return code


def _judge_file(options: argparse.Namespace) -> tuple[int, str]:
    """The exit code and what is printed."""
    try:
        verdict = judge_certificate(
            read_certificate(options.file),
            network=options.network,
            property=options.property,
            base=options.file.parent,
            workers=options.workers,
        )
    except BadCertificate as error:
        data = {"accepted": False, "error": str(error)}
        return 2, json.dumps(data) if options.json else _escape_line(f"error: {error}")
    code = 0 if verdict.accepted else 1
    return code, json.dumps(asdict(verdict)) if options.json else _render_verdict(verdict)


def _escape_line(line: str) -> str:
    """One line: names from a certificate cannot move the cursor, turn letters round or end it."""
    return "".join(c if c.isprintable() and c not in UNSEEN else _escape_character(c) for c in line)


def _escape_character(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _print_text(text: str) -> None:
    """Print; a stream that cannot be written, or not in these letters, changes no verdict."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            print(f"error: stdout: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain at its end


def _render_verdict(verdict: CheckerVerdict) -> str:
    if not verdict.accepted:
        return "\n".join(map(_escape_line, (f"rejected: {verdict.reason}", f"claimed: {verdict.claim}")))
    lines = [
        f"accepted: {verdict.claim}",
        f"arithmetic: {verdict.arithmetic}",
        f"checked: {verdict.cases} cases, {verdict.steps} steps, {verdict.states} states closed",
    ]
    return "\n".join(map(_escape_line, lines + [f"not certified: {what}" for what in verdict.not_certified]))


if __name__ == "__main__":
    sys.exit(main())
