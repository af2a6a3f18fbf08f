"""`python -m surefoot.certify.checker FILE`, or `python FOLDER FILE` with a copy of this folder.

Exit code 0: accepted, 1: rejected, 2: not a certificate, or its files cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

if not __package__:  # run as a folder: make it a package under its own name
    folder = Path(__file__).resolve().parent
    sys.path[0] = str(folder.parent)
    __package__ = folder.name
    __import__(__package__)

from .check import Verdict, check, read_certificate
from .number import BadCertificate


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="checker", description="Check a certificate in exact arithmetic.")
    parser.add_argument("file", type=Path, help="the certificate, gzipped or not")
    parser.add_argument("--network", type=Path, help="the ONNX file, if it is not where the certificate says")
    parser.add_argument("--property", type=Path, help="the VNN-LIB file, likewise")
    parser.add_argument("--json", action="store_true", help="write the verdict as a JSON object")
    options = parser.parse_args(arguments)
    try:
        verdict = check(
            read_certificate(options.file),
            network=options.network,
            property=options.property,
            base=options.file.parent,
        )
    except BadCertificate as error:
        if options.json:
            print(json.dumps({"accepted": False, "error": str(error)}))
        else:
            print(f"error: {error}")
        return 2
    print(json.dumps(asdict(verdict)) if options.json else rendered(verdict))
    return 0 if verdict.accepted else 1


def rendered(verdict: Verdict) -> str:
    if not verdict.accepted:
        return f"rejected: {verdict.reason}\nclaimed: {verdict.claim}"
    lines = [
        f"accepted: {verdict.claim}",
        f"arithmetic: {verdict.arithmetic}",
        f"checked: {verdict.cases} cases, {verdict.steps} steps, {verdict.states} states closed",
    ]
    return "\n".join(lines + [f"not certified: {what}" for what in verdict.not_certified])


if __name__ == "__main__":
    sys.exit(main())
