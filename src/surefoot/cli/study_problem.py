"""The door to the papers' studies: no other module of the tool imports `surefoot_studies`.

`aurora/safety-excellent` is a problem of a study, its parameters are constants; `surefoot study` is a group
of commands. Where the studies are not installed there is neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from surefoot import api
from surefoot.cli.model import model_option_flag
from surefoot.cli.unused_options import refuse_option

if TYPE_CHECKING:
    import click

    from surefoot_studies.comparison import Simulated


def study_names() -> tuple[str, ...]:
    """The studies that are installed."""
    if find_spec("surefoot_studies") is None:
        return ()
    from surefoot_studies import STUDIES

    return tuple(STUDIES)


def load_study_model(model: str, wiring: Mapping[str, Any]) -> api.LoadedModel:
    """The problem that is meant; what else says how a model is read is refused."""
    taken = ("policy", "constants", "output")
    for name, given in wiring.items():
        if given and name not in taken:
            fix = "leave it out, or write the problem as a file"
            refuse_option(model_option_flag(name), "a problem of a study does not take it", fix)
    return load_study_problem(model, **{name: wiring[name] for name in taken if name in wiring})


def load_study_problem(model: str, **parameters: Any) -> api.LoadedModel:
    """The problem with its parameters; a study that ships no network needs one."""
    _require_studies()
    from surefoot_studies.named_problem import load_named_problem

    return load_named_problem(model, **parameters)


def replay_study_trace(study: str, problem: api.Problem, trace: api.Trace) -> Simulated | None:
    """What becomes of a trace in the simulator of the study, if it has one."""
    from surefoot_studies.training.realisation import replay_in_simulator

    return replay_in_simulator(study, problem, trace)


def load_study_commands() -> click.Group:
    """`surefoot study` with its commands."""
    _require_studies()
    from surefoot_studies.commands import study_group

    return study_group


def _require_studies() -> None:
    if find_spec("surefoot_studies") is None:
        what = "the papers' studies are not installed here"
        raise api.MissingBackend(what, fix="install the whole distribution, with `surefoot_studies`")
