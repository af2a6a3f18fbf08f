"""A policy written out for a certificate: rules with perhaps one network behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from surefoot.certify.term_json import defined_term_to_json
from surefoot.errors import Unsupported
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.network import Network
from surefoot.problem.policy import (
    Branch,
    Choose,
    NeuralPolicy,
    OraclePolicy,
    Policy,
    ProgramPolicy,
    ShieldedPolicy,
)
from surefoot.problem.problem import Problem
from surefoot.query.unsat_claim import network_to_json
from surefoot.reductions.scalar_layout import ScalarLayout
from surefoot.term.term import TRUE, conjunction_of
from surefoot_checker.kernel.network import FlatNetwork as CheckedNetwork
from surefoot_checker.kernel.network import read_network
from surefoot_checker.kernel.onnx_file import onnx_to_flat_network, output_names
from surefoot_checker.kernel.strict_json import BadCertificate
from surefoot_checker.kernel.untrusted_file import read_file_bytes


def run_policy_to_json(
    problem: Problem,
    rules: tuple[Branch, ...],
    network: NeuralPolicy | None,
    layout: ScalarLayout,
    inputs: Mapping[str, str],
) -> dict[str, Any]:
    def then(said: object) -> Any:
        if isinstance(said, str):
            return said
        assert isinstance(said, tuple)
        return [defined_term_to_json(t, layout.scope, layout.kinds) for t in said]

    environment = problem.environment
    choose = Choose.VALUE if environment.controls else Choose.ARGMAX
    found: dict[str, Any] = {
        "rules": [
            {"when": defined_term_to_json(rule.when, layout.scope, layout.kinds), "then": then(rule.then)}
            for rule in rules
        ]
    }
    if network is None:
        return found | {"network": None, "observe": [], "choose": choose.value, "actions": []}
    if (network.choose is Choose.VALUE) is not bool(environment.controls):
        raise Unsupported("a network whose outputs are not the controls, which certificates do not cover")
    actions = () if environment.controls else action_names(network, environment)
    if network.choose is Choose.ARGMAX_APPLICABLE and rules:
        own = set(action_names(problem.policy, environment)) if problem.policy is not None else set()
        if own != set(actions):
            raise Unsupported("a rule picks an action that the network behind it does not know")
    return found | {
        "network": network_entry_to_json(network.network, inputs),
        "observe": [defined_term_to_json(t, layout.scope, layout.kinds) for t in network.observe],
        "choose": network.choose.value,
        "actions": list(actions),
    }


def rules_and_network(policy: Policy | None) -> tuple[tuple[Branch, ...], NeuralPolicy | None]:
    """A policy as rules with perhaps one network behind them, which decides where no rule does."""
    match policy:
        case NeuralPolicy():
            return (), policy
        case ProgramPolicy(branches) if not any(_is_program(b.then) for b in branches):
            places = [i for i, b in enumerate(branches) if isinstance(b.then, NeuralPolicy)]
            if not places:
                return branches, None
            if len(places) == 1:
                return _move_network_last(branches, places[0])
    raise Unsupported("certificates cover policies that are one network, with or without rules around it")


def _is_program(then: object) -> bool:
    return isinstance(then, ProgramPolicy | ShieldedPolicy | OraclePolicy)


def _move_network_last(branches: tuple[Branch, ...], place: int) -> tuple[tuple[Branch, ...], NeuralPolicy]:
    """The branch with the network put last: those after it apply where its condition does not hold."""
    middle, after = branches[place], branches[place + 1 :]
    assert isinstance(middle.then, NeuralPolicy)
    if middle.when == TRUE:
        return branches[:place], middle.then
    if not after or after[-1].when != TRUE:
        raise Unsupported("a program that may not decide, which certificates cover without networks only")
    later = tuple(Branch(conjunction_of((~middle.when, b.when)), b.then) for b in after)
    return (*branches[:place], *later), middle.then


def network_entry_to_json(network: Network, inputs: Mapping[str, str]) -> dict[str, Any]:
    weights = dict(network_to_json(network))
    meant = read_network(weights)
    for file, digest in inputs.items():
        if file.endswith((".onnx", ".onnx.gz")):
            for output, found in _networks_in_file(Path(file)):
                if _are_same(found, meant):
                    return {"file": file, "sha256": digest, "output": output}
    return weights


def _networks_in_file(file: Path) -> Iterator[tuple[str | None, CheckedNetwork]]:
    """The networks in a file: the whole, or one for each output."""
    model = read_file_bytes(file)
    try:
        names = output_names(model)
    except BadCertificate:
        return
    for output in (None,) if len(names) == 1 else names:
        try:
            yield output, onnx_to_flat_network(model, output)
        except BadCertificate:
            continue


def _are_same(left: CheckedNetwork, right: CheckedNetwork) -> bool:
    return (
        left.width == right.width
        and [type(n) for n in left.nodes] == [type(n) for n in right.nodes]
        and all(_fields_of(a) == _fields_of(b) for a, b in zip(left.nodes, right.nodes, strict=True))
    )


def _fields_of(node: object) -> tuple[object, ...]:
    """Not `astuple`, which copies every weight."""
    return tuple(getattr(node, f.name) for f in fields(node))  # type: ignore[arg-type]
