"""Freeze what is true now, and hold a later tree against it.

    python -m benchmarks.frozen make FOLDER [--shared DIR] [--seed 0] [--only TEXT]
    python -m benchmarks.frozen compare FOLDER [--certificates] [--rows] [--only TEXT] [--checker MODULE]

`make` writes certificates of every kind, true and false, with the checker's verdict on each
(`verdicts.json`), and the answers, sizes and processor times of benchmark rows (`rows.json`). `compare` asks
again. Exit 1 if a verdict or an answer is not the same, if all rows together take more than 1.05 times as
long, or one of at least half a second more than 1.3 times. With `--beside TREE` the rows of
a checkout of the frozen tree are measured in turns with these, and their seconds count, not the frozen ones.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy is imported, here and in every process started from here


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.frozen",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, words in (
        ("make", "freeze this tree"),
        ("compare", "hold this tree against a frozen one"),
        ("serve", "measure rows for `compare --beside`"),
    ):
        command = commands.add_parser(name, help=words)
        command.add_argument("folder", type=Path, help="outside of the repository")
        command.add_argument("--certificates", action="store_true", help="only these, not the rows")
        command.add_argument("--rows", action="store_true", help="only these, not the certificates")
        command.add_argument(
            "--only", default="", metavar="TEXT", help="only what has this in its name or rule"
        )
        command.add_argument(
            "--shared", type=Path, help="folder of shared data; of `compare`: instead of the one then"
        )
        command.add_argument(
            "--checker", metavar="MODULE", help="instead of this tree's, as `python -m MODULE FILE`"
        )
        command.add_argument("--jobs", type=int, default=1, help="processes that check certificates")
    commands.choices["make"].add_argument("--seed", type=int, default=0)
    commands.choices["make"].add_argument("--resume", action="store_true", help="keep rows that are there")
    commands.choices["compare"].add_argument(
        "--beside",
        type=Path,
        metavar="TREE",
        help="a checkout of the frozen tree: its rows are measured again in turns with these",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    given = read_arguments(arguments)
    if not given.certificates and not given.rows:
        given.certificates = given.rows = True
    if given.command == "make":
        from benchmarks.frozen.freeze import freeze

        return freeze(given)
    if given.command == "serve":
        from benchmarks.frozen.beside import serve

        return serve(given)
    from benchmarks.frozen.comparison import compare

    return compare(given)


if __name__ == "__main__":
    sys.exit(main())
