"""Policies as users write them: a network in a file, or a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from surefoot.errors import WrongType
from surefoot.interface.expression import Operand, expression_from
from surefoot.problem.environment import Environment as EnvironmentData
from surefoot.problem.policy import Actions, Branch, Choose, EdgesOf, NeuralPolicy, ProgramPolicy
from surefoot.problem.policy import Policy as PolicyData
from surefoot.term.arguments import describe_value, take_enum, take_named_tuple, take_text

AnyPolicy: TypeAlias = PolicyData  # for annotations: a network, a program, a shield or an oracle


@dataclass(frozen=True, slots=True)
class FilePolicy(NeuralPolicy):
    """A network from a file, which a result names with its digest."""

    inputs: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)  # path -> sha256

    def as_data(self) -> NeuralPolicy:
        """The policy that engines read."""
        return NeuralPolicy(self.network, self.observe, self.actions, self.choose, self.notes)


class Policy:
    """Who acts: `Policy.from_file` reads a network, `Policy.program` takes rules."""

    def __new__(cls, *_: object, **__: object) -> NoReturn:
        fix = 'write Policy.from_file("net.onnx", observe=[x], actions=["up"]) or Policy.program(rules)'
        raise WrongType("a policy is read from a file or written as a program", fix=fix)

    @staticmethod
    def from_file(
        path: str | PathLike[str],
        observe: Sequence[Operand],
        actions: Sequence[str] | EdgesOf = (),
        *,
        choose: str | Choose | None = None,
        output: str | None = None,
        normalize: str | PathLike[str] | None = None,
        controls: Sequence[Operand] = (),
        memory: Mapping[str, str] | None = None,
    ) -> NeuralPolicy:
        """The network in a file (ONNX, Stable-Baselines3, XGBoost, …): it reads `observe` in order, and its
        outputs stand for `actions` in this order. Without actions its outputs are the controls, or affine
        terms over them: `controls=["output[0] - 10"]`, which is computed in float32 by nodes after it.

        `choose`: "argmax", "argmax-applicable", "value" or "sample"; `output`: which one of an ONNX file;
        `normalize`: a file with observation statistics; `memory`: which output of a recurrent ONNX file
        becomes which of its inputs, where the graph does not show it.

        >>> from surefoot import Policy, integer
        >>> x = integer("x", 0, 9)
        >>> Policy.from_file("net.onnx", observe=[x / 9], actions=["up", "reset"]).actions
        ('up', 'reset')
        """
        from surefoot.formats.model_file import file_sha256
        from surefoot.formats.normalization import read_normalization
        from surefoot.formats.policy_file import load_policy
        from surefoot.formats.wiring import PolicyWiring, wire_network

        observed = take_named_tuple("observe", observe, lambda one: expression_from(one).term)
        named: Actions = actions if isinstance(actions, EdgesOf) else _take_labels(actions)
        way: Any = Choose.ARGMAX if named != () else Choose.VALUE
        if choose is not None:
            way = take_enum(Choose)(choose)
        statistics = None if normalize is None else read_normalization(Path(normalize))
        loaded = load_policy(path, output=output, memory=memory)  # type: ignore[arg-type]
        set_by = take_named_tuple("controls", controls, lambda one: expression_from(one).term)
        wiring = PolicyWiring(observed, named, way, statistics, output, set_by)
        wired = wire_network(loaded.network, wiring, loaded.notes)
        files = [Path(path)] + ([] if normalize is None else [Path(normalize)])
        inputs = {str(file): file_sha256(file) for file in files}
        return FilePolicy(wired.network, wired.observe, wired.actions, wired.choose, wired.notes, inputs)

    @staticmethod
    def from_table(
        table: object, environment: EnvironmentData, observe: Sequence[Operand] | None = None
    ) -> ProgramPolicy:
        """An action for each state: a list, a numpy array, or the path of a .json, .csv or .npy file. Nested
        lists have one axis for each variable that is observed, by default the first ones of the environment.
        Entries are labels or numbers of actions, in the order of the environment; a further axis of values,
        as in a Q-table, means the action with the largest one (the first of equal ones).

        >>> from surefoot import Environment, Policy, check, integer, never
        >>> x = integer("x", 0, 9)
        >>> env = Environment("counter", start=x == 0)
        >>> env = env.edge("up", update={x: x + 1}).edge("reset", update={x: 0})
        >>> check(env, Policy.from_table(["up"] * 4 + ["reset"] * 6, env), never(x == 5)).proved
        True
        """
        from surefoot.formats.tables.policy_wiring import environment_action_table

        if not isinstance(environment, EnvironmentData):
            what = f"{describe_value(environment)} is no environment"
            raise WrongType(what, fix="write Policy.from_table(table, env)", where="environment")
        terms = None
        if observe is not None:
            terms = take_named_tuple("observe", observe, lambda one: expression_from(one).term)
        return environment_action_table(table, environment, terms)

    @staticmethod
    def program(rules: Iterable[tuple[Operand, Any] | Branch], actions: Sequence[str] = ()) -> ProgramPolicy:
        """Rules in order: the first whose condition holds decides. A decision is an action, a tuple with one
        expression for each control, or another policy.

        >>> from surefoot import TRUE, integer
        >>> x = integer("x", 0, 9)
        >>> len(Policy.program([(x < 5, "up"), (TRUE, "reset")]).branches)
        2
        """
        return ProgramPolicy(tuple(_build_rule(rule) for rule in rules), _take_labels(actions))


def _take_labels(given: object) -> tuple[str, ...]:
    return take_named_tuple("actions", given, take_text)


def _build_rule(given: Any) -> Branch:
    if isinstance(given, Branch):
        return given
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise WrongType(f"{describe_value(given)} is not a rule", fix='give (x < 5, "up")')
    when, then = given
    if isinstance(then, tuple | list):
        then = tuple(expression_from(part).term for part in then)
    return Branch(expression_from(when).term, then)
