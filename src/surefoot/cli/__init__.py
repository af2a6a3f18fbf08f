"""The command line. Verdicts go to stdout, progress and errors to stderr; exit codes are in `exit_code`."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from surefoot.errors import SurefootError

COMMANDS = {
    "check": "surefoot.cli.commands.check",
    "vnnlib": "surefoot.cli.commands.vnnlib",
    "inspect": "surefoot.cli.commands.inspection",
    "engines": "surefoot.cli.commands.listing",
    "solvers": "surefoot.cli.commands.listing",
    "doctor": "surefoot.cli.commands.doctor",
    "certify": "surefoot.cli.commands.certify",
    "study": "surefoot.cli.commands.study",
    "demo": "surefoot.cli.commands.demo",
}


class Lazy(click.Group):
    """Commands are imported when they are used, so that `surefoot --help` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[name]), name)
        return command


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="surefoot", message="surefoot %(version)s")
@click.option("--debug", is_flag=True, help="Show a traceback when surefoot itself fails.")
@click.pass_context
def surefoot(ctx: click.Context, debug: bool) -> None:
    """Proofs, probabilities and shields for neural-network policies.

    \b
    exit 0    proved, or holds as far as was asked
    exit 1    violated: the trace was replayed with zero tolerance
    exit 2    the command or an input file is wrong
    exit 3    unknown, vacuous, or holds only in part
    exit 4    surefoot or a solver failed
    exit 130  interrupted; the partial result was written
    """
    ctx.obj = {"debug": debug}


def one_line(text: str) -> str:
    """A message on one line, with control characters made visible."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """The exit code of a command; errors are printed as one line."""
    try:
        outcome: Any = surefoot.main(arguments, prog_name="surefoot", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        ctx = getattr(error, "ctx", None)
        hint = f"; fix: see `{ctx.command_path} --help`" if ctx is not None else ""
        print(f"error: {one_line(error.format_message().rstrip('.'))}{hint}", file=sys.stderr)
        return 2
    except SurefootError as error:
        print(f"error: {one_line(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 4
    except Exception as error:  # noqa: BLE001 - the last line of defence: an internal error is never an answer
        if "--debug" in arguments:
            traceback.print_exc()
        text = one_line(f"{type(error).__name__}: {error}")
        print(f"error: internal: {text}; fix: report this with the output of --debug", file=sys.stderr)
        return 4
