"""The command line. Verdicts go to stdout, progress and errors to stderr; exit codes are in `exit_code`."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from time import monotonic, process_time
from typing import Any

import click
from click.shell_completion import CompletionItem

from surefoot import api
from surefoot.cli.progress import begin_command
from surefoot.cli.terminal import open_screens, print_error, print_line, reopen_closed_streams

# Before numpy is imported: products of a few hundred rows gain nothing by threads, and where the machine is
# busy threads that wait for one another make them fifty times slower.
for _library in ("OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# When the process began, as far as its own work tells: `--timeout` is for all of it.
_STARTED = monotonic() - process_time()

COMMANDS = {  # name -> file in `commands/`, and what `--help` says of it
    "check": ("check", "Decide the properties of a policy in its environment."),
    "faults": ("faults", "Find the last decisions of violating runs that could have been different."),
    "invariant": ("invariant", "Find for which bounds a property holds, or an inductive invariant."),
    "sweep": ("sweep", "Ask about many policies, properties and parameters; one table."),
    "starts": ("starts", "Find from which starts a property is proved, refuted, or open."),
    "optimum": ("optimum", "The best way to choose, state by state, and how far a policy is from it."),
    "shield": ("shield", "Synthesise a program that is proved safe, and a shield for a network."),
    "estimate": ("estimate", "A box of disturbances, and linear dynamics, from logged runs."),
    "heatmap": ("heatmap", "Draw the values of all starts as heat maps."),
    "vnnlib": ("vnnlib", "Decide a VNN-LIB specification of a network."),
    "inspect": ("inspection", "Describe a network, a policy, a specification or a model."),
    "export": ("export", "Write the environment of a model as a JANI model."),
    "certify": ("certify", "Check the evidence of a stored result again."),
    "engines": ("listing", "List the engines, and why each can or cannot take a problem."),
    "solvers": ("listing", "List the solvers and whether they can be used here."),
    "study": ("study", "Show a case study, or compare the papers' figures with measured ones."),
    "doctor": ("doctor", "Show versions, missing extras and whether the solvers answer rightly."),
    "schema": ("schema", "Print the JSON Schema of problem files, wirings, results or sweeps."),
    "completion": ("completion", "Print what bash, zsh or fish reads to complete commands."),
    "demo": ("demo", "Refute one property, see another hold, check the evidence again."),
}


class _LazyGroup(click.Group):
    """Commands are imported when they are used, so that `surefoot --help` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"surefoot.cli.commands.{COMMANDS[name][0]}"), name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """Names and their words from the table: a shell waits for the answer."""
        found = [
            CompletionItem(name, help=text)
            for name, (_, text) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=_LazyGroup,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="surefoot", message="surefoot %(version)s")
@click.option("--debug", is_flag=True, help="Show a traceback when surefoot itself fails.")
@click.pass_context
def surefoot(ctx: click.Context, debug: bool) -> int | None:
    """Proofs, probabilities and shields for neural-network policies.

    \b
    exit 0    proved, holds as far as was asked, a threshold met, a value found
    exit 1    violated (replayed with zero tolerance, or certified), a threshold missed
    exit 2    the command or an input file is wrong
    exit 3    unknown, undecided, vacuous, or holds only in part
    exit 4    surefoot or a solver failed
    exit 130  interrupted; what was found before is marked as partial
    """
    ctx.obj = {"debug": debug}
    if ctx.invoked_subcommand is None:
        print(ctx.get_help(), file=sys.stderr)
        return 2
    return None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code; after a signal that is the signal's, always.

    Without arguments it is the process that was started for a command: its time counts from there.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    reopen_closed_streams()
    if "_SUREFOOT_COMPLETE" in os.environ:  # a shell asks how a command goes on
        surefoot.main(given, prog_name="surefoot")
    with api.handle_interrupts() as heard:
        try:
            code = run_command_line(given, _STARTED if arguments is None else None)
        except KeyboardInterrupt:  # while the outcome was told
            code = 130
        if heard.code is not None:  # not `sys.exit`: nobody is waited for any more
            api.exit_process(heard.code)
    sys.exit(code)


# Of these what they print is all that there is; the answer of every other command is its exit code too.
LISTING = ("inspect", "engines", "solvers", "doctor", "demo", "optimum", "heatmap", "schema", "completion")


def run_command_line(arguments: list[str], begun: float | None = None) -> int:
    """The exit code of a command; errors are printed as one line. What cannot be shown changes no verdict.

    `begun`: since when its time counts, by `monotonic`.
    """
    begin_command(monotonic() if begun is None else begun)
    with open_screens() as (out, err):
        code = _run_command(arguments)
        out.flush()
        err.flush()
        lost = out.lost or out.unescaped.lost
        if lost is None or isinstance(lost, BrokenPipeError):  # who asked has read enough
            return code
        print_error(f"stdout: {lost.strerror or lost}; fix: let it go to a file that can be written")
        command = next((a for a in arguments if not a.startswith("-")), "")
        return code or (4 if command in LISTING else 0)


def _print_timeout(arguments: list[str]) -> None:
    """In words, or as the JSON object that was asked for: there is no problem yet that it could be about."""
    told = "the time ended while the question was read or prepared"
    wanted = [b for a, b in pairwise(arguments) if a == "--json"]
    wanted += [a.partition("=")[2] for a in arguments if a.startswith("--json=")]
    if not wanted:
        print_line(f"unknown (timeout): {told}")
        return
    from surefoot.cli.output import write_facts

    nothing = {"problem": "", "engine": "", "arithmetic": "", "seed": 0, "versions": {}, "inputs": {}}
    nothing |= {"seconds": 0.0, "timings": {}, "notes": [], "source": {}}
    verdict = {"kind": "unknown", "reason": "timeout", "detail": told, "holds_up_to": None}
    verdict["uncertified_by"] = ""
    result = {"schema": 1, "verdict": verdict, "certified": False, **nothing}
    write_facts(wanted[-1], lambda: result, quiet=True)
    if wanted[-1] != "-":
        print_line(f"unknown (timeout): {told}")


def _print_interrupt() -> int:
    print_line("interrupted: nothing was found yet", error=True)
    return 130


def _run_command(arguments: list[str]) -> int:
    """The exit code of a command whose screens are open."""
    try:
        with api.ending_alarms():  # click does not close a command whose other options it refuses
            outcome: Any = surefoot.main(arguments, prog_name="surefoot", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _print_interrupt()
    except api.Late:
        _print_timeout(arguments)
        return 3
    except click.ClickException as error:
        ctx = getattr(error, "ctx", None)
        hint = f"; fix: see `{ctx.command_path} --help`" if ctx is not None else ""
        print_error(f"{error.format_message().rstrip('.')}{hint}")
        return 2
    except api.SurefootError as error:
        print_error(str(error))
        return error.exit_code
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print_error(f"{place}{error.strerror or error}; fix: check the path")
        return 2
    except Exception as error:  # noqa: BLE001 - the last line of defence: an internal error is never an answer
        if isinstance(error.__cause__, KeyboardInterrupt):  # while a class was made: Python says so
            return _print_interrupt()
        if "--debug" in arguments:
            traceback.print_exc()
        print_error(f"internal: {type(error).__name__}: {error}; fix: report this with the output of --debug")
        return 4
