"""Input and output abstraction (whiRL 2.0, section III): more runs than the original has, and fewer inputs.

A freed input of the network no longer reads its term: it reads a new variable that starts anywhere in a range
and is chosen afresh at every step, whatever happened before. A freed output is such a value instead of what
the network computes. Every run of the original is a run of the abstraction, in which the new variables happen
to be what the network reads or says: the range must contain everything that this may be. So a proof carries
over; a trace need not, and is replayed on the original without the new variables.

The range of an input is that of its term by interval arithmetic over the declared bounds, or a wider one that
is given. The range of an output is what interval arithmetic says of the network, with its float32 rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.network.float32_error import error_bounds, may_overflow_float32
from surefoot.network.interval import interval_bounds
from surefoot.problem.environment import Choice, Component, Environment, Update, Variable
from surefoot.problem.network import Combine, Join, Network, Node, Pick, freeze_indices
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import Move
from surefoot.query.reduction import Reduction
from surefoot.term.interval import Span, defined_span, span_of
from surefoot.term.printer import show_term
from surefoot.term.term import Var
from surefoot.term.value_types import Arithmetic, Bool, Int, Real, ValueType
from surefoot.verdict.verdict import Trace


@dataclass(frozen=True, slots=True)
class FreedValues:
    """Which inputs and outputs of the network may be anything, and in which ranges."""

    inputs: frozenset[int] = frozenset()
    outputs: frozenset[int] = frozenset()
    ranges: Mapping[int, Span] = field(default_factory=dict)  # of inputs, wider than the computed ones
    output_ranges: Mapping[int, Span] = field(default_factory=dict)  # to be shown first by whoever gives them


@dataclass(frozen=True, slots=True)
class NetworkAbstraction:
    """A problem with more runs; `added` are the names of its new variables."""

    problem: Problem
    added: frozenset[str]
    kept: tuple[int, ...]  # the inputs that are still read
    freed: FreedValues

    def invert(self, trace: Trace) -> Trace:
        """The trace without the new variables: a candidate for the original."""
        states = tuple({n: v for n, v in s.items() if n not in self.added} for s in trace.states)
        moves = tuple(_drop_choices(m, self.added) for m in trace.moves)
        return Trace(states, moves, trace.loop)

    def ranges(self) -> tuple[dict[int, Span], dict[int, Span]]:
        """In which a free input is, if wider than its term needs, and in which a free output is.

        That of an output has some room, which a proof that the network keeps it may need.
        """
        kinds = {v.name: v.kind for v in self.problem.environment.variables}
        policy = network_policy(self.problem)
        added = policy.observe[len(self.kept) + len(self.freed.inputs) :]
        spans = [_with_room(kinds[t.name]) for t in added if isinstance(t, Var)]
        inputs = {i: self.freed.ranges.get(i, Span()) for i in self.freed.inputs}
        return inputs, dict(zip(sorted(self.freed.outputs), spans, strict=True)) | dict(
            self.freed.output_ranges
        )

    def words(self) -> str:
        """How much of the policy is left, in a few words."""
        policy = self.problem.policy
        assert isinstance(policy, NeuralPolicy)
        parts = [f"{len(self.kept)} of {len(self.kept) + len(self.freed.inputs)} inputs"]
        if self.freed.outputs:
            outputs = policy.network.outputs
            parts.append(f"{outputs - len(self.freed.outputs)} of {outputs} outputs")
        return " and ".join(parts)


def _with_room(kind: ValueType) -> Span:
    span = span_of(kind)
    assert span is not None
    assert span.low is not None
    assert span.high is not None
    room = (span.high - span.low + 1) * _ROOM
    return Span(span.low - room, span.high + room)


def _drop_choices(move: Move, added: frozenset[str]) -> Move:
    chosen = {n: v for n, v in move.chosen.items() if n.removeprefix(_NEXT) not in added}
    return Move(move.transition, move.outcomes, chosen)


_NEXT = "next_"
_ROOM = Fraction(1, 2**16)  # of the width of a range


def abstract_network_io(problem: Problem, freed: FreedValues) -> NetworkAbstraction:
    """The problem in which these inputs and outputs of the network are free."""
    kinds, results = _freed_ranges(problem, freed)
    policy, environment = network_policy(problem), problem.environment
    taken = _environment_names(environment)
    readable = {i: _fresh_name(f"free_input_{i}", taken) for i in kinds}
    spoken = {o: _fresh_name(f"free_output_{o}", taken) for o in results}
    new = [Variable(readable[i], kind) for i, kind in kinds.items()]
    new += [Variable(spoken[o], Real(span.low, span.high)) for o, span in results.items()]
    observe = tuple(Var(readable[i]) if i in readable else t for i, t in enumerate(policy.observe))
    network = policy.network
    if spoken:
        network = with_free_outputs(network, tuple(spoken))
        observe += tuple(Var(name) for name in spoken.values())
    acting = replace(policy, network=network, observe=observe)
    where = _with_choices(environment, tuple(new))
    kept = tuple(i for i in range(policy.network.width) if i not in freed.inputs)
    made = replace(problem, environment=where, policy=acting)
    return NetworkAbstraction(made, frozenset(v.name for v in new), kept, freed)


def abstraction_objection(problem: Problem, freed: FreedValues) -> SurefootError | None:
    try:
        _freed_ranges(problem, freed)
    except SurefootError as why:
        return why
    return None


def _freed_ranges(problem: Problem, freed: FreedValues) -> tuple[dict[int, ValueType], dict[int, Span]]:
    """What the freed inputs and outputs may be; an error where that is not known."""
    network_policy(problem)
    environment = problem.environment
    if environment.flow is not None:
        raise Unsupported("an environment with a flow cannot be abstracted", fix="discretise it first")
    if any(sum(a is not None for a in v.actions) > 1 for v in environment.synchronisations):
        raise Unsupported("an environment whose components move together cannot be abstracted yet")
    results = {
        o: freed.output_ranges[o] if o in freed.output_ranges else output_span(problem, o)
        for o in sorted(freed.outputs)
    }
    return {i: freed_input_type(problem, i, freed.ranges.get(i)) for i in sorted(freed.inputs)}, results


def network_policy(problem: Problem) -> NeuralPolicy:
    """The policy, which must be a network."""
    if not isinstance(problem.policy, NeuralPolicy):
        raise Unsupported("only the inputs and outputs of a policy that is a network can be freed")
    return problem.policy


def freed_input_type(problem: Problem, index: int, given: Span | None) -> ValueType:
    """What a freed input may be: all that its term may be, or the wider range that is given."""
    policy, environment = network_policy(problem), problem.environment
    if not 0 <= index < len(policy.observe):
        raise InvalidProblem(f"there is no input {index}; the network has {len(policy.observe)}")
    term = policy.observe[index]
    declared = {v.name: v.kind for v in environment.variables}
    own = declared.get(term.name) if isinstance(term, Var) else None
    if own is None and environment.arithmetic is Arithmetic.FLOAT64:
        what = f"`{show_term(term)}` is computed in float64, so its range is not known exactly"
        raise Unsupported(what, fix="free variables only")
    span = defined_span(term, declared)
    if span is None or span.low is None or span.high is None:
        fix = "keep it, or give its variables bounds"
        raise Unsupported(f"the range of the input `{show_term(term)}` is not known", fix=fix)
    if given is not None and not given.contains(span):
        what = f"the range given for `{show_term(term)}` does not contain all that it may be"
        raise InvalidProblem(what, fix=f"it must contain [{span.low}, {span.high}]")
    if given is None and isinstance(own, Int | Real):
        return own
    if given is None and isinstance(own, Bool):
        return Int(0, 1)
    wide = span if given is None else given
    return Real(wide.low, wide.high)


def output_span(problem: Problem, index: int) -> Span:
    """A range that contains whatever the network says, by interval arithmetic over the declared bounds."""
    policy = network_policy(problem)
    network = policy.network
    if not 0 <= index < network.outputs:
        raise InvalidProblem(f"there is no output {index}; the network has {network.outputs}")
    box = observed_input_box(problem)
    low, high = np.array([b[0] for b in box]), np.array([b[1] for b in box])
    if may_overflow_float32(network, low, high):
        raise Unsupported("the network may overflow, so the range of its outputs is not known")
    result = interval_bounds(network, low, high)[-1]
    slack = Fraction(float(error_bounds(network, low, high, input_rounding=True)[index]))
    return Span(Fraction(float(result.low[index])) - slack, Fraction(float(result.high[index])) + slack)


def observed_input_box(problem: Problem) -> list[tuple[float, float]]:
    """Rigorous float64 bounds of everything that the network reads."""
    box = []
    for index in range(len(network_policy(problem).observe)):
        kind = freed_input_type(problem, index, None)
        assert isinstance(kind, Int | Real)
        low, high = Fraction(kind.low or 0), Fraction(kind.high or 0)
        below, above = float(low), float(high)
        box.append(
            (
                float(np.nextafter(below, -np.inf)) if below > low else below,
                float(np.nextafter(above, np.inf)) if above < high else above,
            )
        )
    return box


def with_free_outputs(network: Network, freed: tuple[int, ...]) -> Network:
    """The network with one more input for each freed output, which stands in the place of that output."""
    width, outputs = network.width, network.outputs
    nodes: list[Node] = [Pick(0, freeze_indices(range(width)))]
    nodes += [_shift_node(node) for node in network.nodes]
    last = len(nodes)
    nodes.append(Pick(0, freeze_indices(range(width, width + len(freed)))))
    nodes.append(Join((last, last + 1)))
    places = {output: outputs + number for number, output in enumerate(freed)}
    nodes.append(Pick(last + 2, freeze_indices([places.get(o, o) for o in range(outputs)])))
    return Network(width + len(freed), tuple(nodes), network.name, network.notes, network.head)


def _shift_node(node: Node) -> Node:
    """The same node where every value has the next number."""
    if isinstance(node, Join):
        return Join(tuple(s + 1 for s in node.sources))
    if isinstance(node, Combine):
        return replace(node, left=node.left + 1, right=node.right + 1)
    return replace(node, source=node.source + 1)


def _with_choices(environment: Environment, new: tuple[Variable, ...]) -> Environment:
    """Every step chooses all new variables afresh; nothing is said about their first values."""
    chosen = tuple(Choice(_NEXT + v.name, v.kind) for v in new)
    updates = tuple(Update(Var(v.name), Var(_NEXT + v.name)) for v in new)

    def choosing(component: Component) -> Component:
        edges = tuple(
            replace(
                edge,
                chosen=edge.chosen + chosen,
                outcomes=tuple(replace(o, updates=o.updates + updates) for o in edge.outcomes),
            )
            for edge in component.edges
        )
        return replace(component, edges=edges)

    note = "abstraction: some of what the network reads or says is anything within its range, at every step"
    return replace(
        environment,
        variables=environment.variables + new,
        components=tuple(map(choosing, environment.components)),
        overapproximate=True,
        notes=(*environment.notes, note),
    )


def _environment_names(environment: Environment) -> set[str]:
    names = {v.name for v in environment.variables} | {c.name for c in environment.controls}
    return names | {c.name for k in environment.components for e in k.edges for c in e.chosen}


def _fresh_name(name: str, taken: set[str]) -> str:
    while name in taken or _NEXT + name in taken:
        name += "_"
    taken |= {name, _NEXT + name}
    return name


def inputs_except(problem: Problem, kept: Iterable[int]) -> frozenset[int]:
    """Every input that is not kept."""
    return frozenset(range(len(network_policy(problem).observe))) - frozenset(kept)


ABSTRACT = Reduction("abstract", abstraction_objection, abstract_network_io, NetworkAbstraction.invert)
