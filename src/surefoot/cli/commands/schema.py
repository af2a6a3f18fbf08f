"""`surefoot schema NAME`: the JSON Schema of a kind of file, for editors and other tools."""

from __future__ import annotations

import sys

import click

from surefoot import api


@click.command()
@click.argument("name", type=click.Choice(api.SCHEMAS))
def schema(name: str) -> int:
    """Print the JSON Schema of problem files, wirings, results or tables of sweeps.

    An editor completes the keys of a problem file whose first line is `#:schema ./problem.schema.json`.
    """
    sys.stdout.write(api.read_schema(name))
    return 0
