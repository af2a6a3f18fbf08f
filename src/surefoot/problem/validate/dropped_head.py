"""Networks without the softmax or argmax at the end of their file: where their outputs must not be used."""

from __future__ import annotations

import shlex

from surefoot.errors import InvalidProblem
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy

_LONGEST = 200  # characters of a name that a message repeats


def check_no_dropped_head(network: Network, where: str = "") -> None:
    """Raise unless the outputs of the network are those of its file."""
    if network.head:
        raise dropped_head_error(network, where)


def check_action_selection(policy: NeuralPolicy, where: str) -> None:
    """Raise if what the file ends in does not go together with the way of choosing."""
    if policy.choose is Choose.VALUE:
        check_no_dropped_head(policy.network, where)
    if policy.choose is Choose.SAMPLE and policy.network.head == "argmax":
        what = "the network ends in an argmax, so what it does is not to sample"
        fix = f"use `choose = argmax`, or {_ask_about_scores(policy.network)}"
        raise InvalidProblem(what, fix=fix, where=where)


def dropped_head_error(network: Network, where: str = "") -> InvalidProblem:
    """Whatever is asked about the outputs would be answered about the scores instead."""
    ends = "an argmax" if network.head == "argmax" else "a softmax"
    what = f"the network ends in {ends}, which is not read as part of it"
    return InvalidProblem(what, fix=_ask_about_scores(network), where=where)


def _ask_about_scores(network: Network) -> str:
    if not network.scores:
        return f"export it without the {network.head}"
    name = shlex.quote(network.scores) if len(network.scores) <= _LONGEST else "NAME"
    return f"ask about its scores with --output {name}"
