"""`surefoot study list`, `surefoot study show STUDY`."""

from __future__ import annotations

import json

import click

from surefoot import api
from surefoot_studies import STUDIES
from surefoot_studies.commands import options
from surefoot_studies.comparison import Study


@click.command("list")
def list_studies() -> int:
    """List the studies."""
    print("\n".join(STUDIES))
    return 0


@click.command("show")
@options.study_argument
@options.json_flag
def show_study(study: Study, as_json: bool) -> int:
    """Describe a study and list its problems, which `check` and other commands take as STUDY/PROBLEM."""
    facts = {
        "study": study.name,
        "problems": list(study.problems),
        "with your network": list(study.needs_network),
    }
    print(json.dumps(facts, indent=1) if as_json else _describe_study(study))
    return 0


def _describe_study(study: Study) -> str:
    lines = [*study.readme.strip().splitlines(), ""]
    lines += [f"problem {n}: {api.show_property(build().property)}" for n, build in study.problems.items()]
    lines += [f"problem {n}: needs your network" for n in study.needs_network]
    return api.join_visible(lines)
