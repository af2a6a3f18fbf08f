"""`surefoot demo`: five jobs on policies that come with the package, and a page that links their pictures."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO
from pathlib import Path
from shlex import join as join_words

import click

from surefoot import api
from surefoot.cli.output import check_folder
from surefoot.cli.terminal import print_line, rich_console

ASSETS = ("toy.toml", "toy.onnx", "below_thirteen.vnnlib")  # the first question of the README
LEFT_OUT = re.compile(r" {4,}\d|written: |  (engine|meaning|note|input|rounded|followed|state) ")
COLOURS = {"violated": "bold red", "proved": "bold green", "accepted": "bold green", "unknown": "bold yellow"}


@dataclass(frozen=True, slots=True)
class Job:
    title: str
    says: str
    page: str
    answer: str
    """With this begins what the page of all jobs says of it."""
    commands: tuple[tuple[str, int], ...]
    """Each with its exit code; `{}` is the folder."""


JOBS = (
    Job(
        "A trained policy is refuted",
        "CartPole-v1 as Gymnasium executes it, with a policy that was trained for too short a time:"
        " a run in which the pole falls.",
        "violated.html",
        "violated",
        (("check closed-loop/gym-cartpole-early/steps-500 --report {}/violated.html", 1),),
    ),
    Job(
        "A trained policy is proved",
        "MountainCar-v0: from every start the car arrives within 200 steps. The certificate is checked"
        " once more, by a program that shares nothing with the one that found it.",
        "proof.html",
        "proved",
        (
            (
                "check closed-loop/gym-mountaincar/arrives --certificate {}/proof.json"
                " --report {}/proof.html",
                0,
            ),
            ("python -m surefoot_checker {}/proof.json", 0),
        ),
    ),
    Job(
        "A map of probabilities",
        "Racetrack on slippery ground: how likely a driver whose training had not ended arrives, exactly,"
        " from every start. The holes are where it fails; click a cell in the page.",
        "map.html",
        "least",
        (("heatmap racetrack/goal/big-after-65003 --report {}/map.html", 0),),
    ),
    Job(
        "A shield is made",
        "A pendulum, and a program that never lets it lean further than 30 degrees, whatever a policy"
        " proposes: runs with it and without.",
        "shield.html",
        "accepted",
        (("shield pendulum/within-30-degrees --runs 50 --c {}/guard --report {}/shield.html", 0),),
    ),
    Job(
        "A control loop is closed",
        "A network parks a car that is pushed about: all runs from a box of starts, as sets, in continuous"
        " time.",
        "parking.html",
        "proved",
        (("check closed-loop/parking/parked --report {}/parking.html", 0),),
    ),
)


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("surefoot-demo"), show_default=True,
              help="Where the results and pages are put.")  # fmt: skip
def demo(folder: Path) -> int:
    """Refute a policy, prove one, draw a map of probabilities, make a shield and close a control loop.

    About a minute. Ends with a page that links the pictures.
    """
    if folder.exists() and not folder.is_dir():
        raise api.InvalidProblem(f"`{folder}` is a file", fix="choose another --folder")
    check_folder(folder, "--folder")
    for asset in ASSETS:
        (folder / asset).write_bytes(files("surefoot_studies.toy").joinpath("assets", asset).read_bytes())
    answers: list[str] = []
    as_expected = True
    for number, job in enumerate(JOBS):
        _print_styled(f"{number + 1}. {job.title}", "bold")
        print_line(job.says)
        for command, code in job.commands:
            found, text = _run_shown(_command_words(command, folder))
            if found == 130:
                print_line(api.interruption_note(number, len(JOBS), "jobs"))
                return found
            as_expected &= found == code
            if command is job.commands[0][0]:
                answers.append(job.answer + text.partition(job.answer)[2].partition("\n")[0])
        print()
    index = folder / "index.html"
    index.write_text(_index_page(answers, folder), encoding="utf-8")
    print_line(f"pages: {index}")
    if not as_expected:
        print_line("some answers are not those that were expected", error=True)
    return 0 if as_expected else 4


def _command_words(command: str, folder: Path) -> list[str]:
    words = [word.replace("{}", str(folder)) for word in command.split()]
    return words if words[0] == "python" else ["surefoot", *words]


def _run_shown(words: list[str]) -> tuple[int, str]:
    """Run a command as a user would, and show what it says but for the small print."""
    print_line(f"$ {join_words(words)}")
    sys.stdout.flush()
    if words[0] == "python":
        done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)
        code, text = done.returncode, done.stdout + done.stderr
    else:
        from surefoot.cli import run_command_line

        with redirect_stdout(StringIO()) as screen:
            code = run_command_line([*words[1:], "--quiet"])
        text = screen.getvalue()
    shown = [line for line in text.splitlines() if not LEFT_OUT.match(line)]
    for line in shown:
        colour = COLOURS.get(line.partition(":")[0].partition(" ")[0])
        _print_styled(line, colour) if colour else print_line(line)
    sys.stdout.flush()
    return code, text


def _print_styled(line: str, style: str) -> None:
    from rich.text import Text

    sys.stdout.flush()
    rich_console(sys.stdout).print(Text(api.make_visible(line), style))


def _index_page(answers: list[str], folder: Path) -> str:
    """The pages of the jobs, with what was found."""
    parts = [
        "<p>Five jobs on policies that come with the package, each with the command that made its page.</p>"
    ]
    for job, answer in zip(JOBS, answers, strict=True):
        commands = "<br>".join(
            api.escape_html(join_words(_command_words(command, folder))) for command, _ in job.commands
        )
        parts.append(
            f'<h2>{api.escape_html(job.title)}</h2><p>{api.escape_html(job.says)}</p><p><a href="{job.page}">'
            f"<b>{api.escape_html(answer)}</b></a></p><p><code>{commands}</code></p>"
        )
    return api.render_html_page("surefoot: what it does", parts)
