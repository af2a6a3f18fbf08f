"""`surefoot study NAME --compare`, as it was written before there were commands: said in the new way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from shlex import join

import click

from surefoot import api
from surefoot_studies import STUDIES

MODES = {  # what was asked for by an option, and does it have a value?
    "--compare": False,
    "--checkpoints": False,
    "--generalise": False,
    "--retrain": True,
    "--train": True,
    "--figure": True,
    "--table": True,
}
FLAGS = ("--imitate", "--sample", "--json", "--quiet")  # every other option has a value
IDLE = {"list": ("--quiet",), "show": ("--quiet",), "compare": ("--cap",)}  # were taken, and did nothing


def translate_old_spelling(given: Sequence[str], commands: Iterable[str]) -> tuple[list[str], str]:
    """The arguments of a command of today, and what to tell about them."""
    names, modes, others = _sort_arguments(given)
    if names and names[0] not in STUDIES:
        what = f"there is no command and no study `{names[0]}`"
        raise api.InvalidProblem(what, fix=api.did_you_mean(names[0], [*commands, *STUDIES]))
    if not names and (asked := [*modes, *(option for option, *_ in others)]):
        raise api.InvalidProblem("it has no effect without a study", fix="name the study", where=asked[0])
    if len(modes) > 1:
        raise api.InvalidProblem(f"{' and '.join(modes)} are asked for at once", fix="give one of them")
    mode, values = next(iter(modes.items()), ("--show" if names else "--list", []))
    command = mode.removeprefix("--")
    if (
        mode == "--figure"
        and names[0] == "racetrack"
        and all(v == "pa" or v.startswith("pa-") for v in values)
    ):
        command = "abstraction"
    kept = [
        part for option, *rest in others if option not in IDLE.get(command, ()) for part in (option, *rest)
    ]
    found = [command, *names, *values, *kept]
    old, new = join(["surefoot", "study", *given]), join(["surefoot", "study", *found])
    return found, f"`{old}` is an old spelling; write `{new}`"


def _sort_arguments(given: Sequence[str]) -> tuple[list[str], dict[str, list[str]], list[tuple[str, ...]]]:
    """Words, modes with their values, and the other options each with its value."""
    names, modes, others = list[str](), dict[str, list[str]](), list[tuple[str, ...]]()
    words = iter(given)
    for word in words:
        option, equals, text = word.partition("=")
        if not word.startswith("-"):
            names.append(word)
            continue
        wanted = 0 if equals or option in FLAGS or MODES.get(option) is False else 1
        value = (text,) if equals else tuple(islice(words, wanted))
        if option not in MODES:
            others.append((option, *value))
        elif len(value) == MODES[option]:
            modes.setdefault(option, []).extend(value)
        else:
            expected = "requires an argument" if MODES[option] else "does not take a value"
            raise click.UsageError(f"Option '{option}' {expected}.")
    return names, modes, others
