"""Which inputs and outputs of a graph are the state of its recurrent layers.

A file of a recurrent policy reads its hidden state as inputs and returns the next one as outputs. Where these
are what LSTM, GRU or RNN nodes begin and end with, that is seen in the graph: an output that is nothing but
their last states, and the input in which each value of it was the first state. Elsewhere (cells that are
written out) the user has to say which output becomes which input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.formats.onnx.layout_operators import MOVEMENTS
from surefoot.formats.onnx.network_builder import NetworkBuilder, TensorSignal, Value
from surefoot.formats.onnx.protobuf import OnnxGraph, OnnxNode, quote_onnx_name
from surefoot.formats.onnx.recurrent_operators import RECURRENT
from surefoot.problem.network import Join, Pick, Remembered

_Part: TypeAlias = tuple[str, int]  # a node, and its state (0) or cell (1)
_MOVES = frozenset({*MOVEMENTS, "Concat", "Cast"})
_MOST_LISTED = 12


def find_state_pairs(graph: OnnxGraph, given: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """(input, output) of every state, in the order of the inputs; as given, or as the graph shows."""
    if given is not None:
        return _check_given(graph, given)
    producers = {name: step for step in graph.steps for name in step.outputs if name}
    firsts: dict[str, set[_Part]] = {}
    for step in graph.steps:
        if step.op in RECURRENT and not step.domain:
            for part, name in enumerate(step.inputs[5:7]):
                if (source := _moved_input(graph, producers, name)) is not None:
                    firsts.setdefault(source, set()).add((step.where, part))
    lasts = {name: _last_states(producers, name) for name in graph.outputs}
    pairs = ((before, after) for before, own in firsts.items() for after in lasts if lasts[after] == own)
    told = dict(pairs)
    return tuple((name, told[name]) for name in graph.inputs if name in told)


def _check_given(graph: OnnxGraph, given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    for kind, names, known in (
        ("input", given.keys(), tuple(graph.inputs)),
        ("output", given.values(), graph.outputs),
    ):
        for name in names:
            if name not in known:
                what = f"there is no {kind} {quote_onnx_name(name)}"
                raise InvalidProblem(what, fix=did_you_mean(name, known), where="memory")
    if len(set(given.values())) != len(given):
        raise InvalidProblem("one output becomes two inputs", fix="name each once", where="memory")
    return tuple((name, given[name]) for name in graph.inputs if name in given)


def _moved_input(graph: OnnxGraph, producers: Mapping[str, OnnxNode], name: str) -> str | None:
    """The input of the graph of which this is a part."""
    for _ in range(len(producers) + 1):
        if name in graph.inputs:
            return name
        step = producers.get(name)
        if step is None or step.op not in _MOVES or not step.inputs:
            return None
        name = step.inputs[0]
    return None


def _last_states(producers: Mapping[str, OnnxNode], name: str) -> set[_Part]:
    """The states that recurrent layers end with, if it is made of nothing else."""
    waiting, seen, found = [name], {name}, set()
    while waiting:
        own = waiting.pop()
        step = producers.get(own)
        if step is None:
            return set()
        if step.op in RECURRENT and not step.domain and own in step.outputs[1:]:
            found.add((step.where, step.outputs.index(own) - 1))
        elif step.op in _MOVES:
            more = step.inputs if step.op == "Concat" else step.inputs[:1]
            waiting += [one for one in more if one not in seen]
            seen.update(more)
        else:
            return set()
    return found


def read_memory(
    builder: NetworkBuilder,
    pairs: tuple[tuple[str, str], ...],
    values: Mapping[str, Value],
    told: bool,
    name: str,
) -> list[Remembered]:
    """How large the values of the states are; refused unless each is what its layer begins and ends with."""
    ends = {
        _origin(builder, carried.last.source, int(entry)): (first, carried.kind)
        for carried in builder.carried
        if isinstance(carried.first, TensorSignal)
        for entry, first in zip(carried.last.layout, _origins(builder, carried.first), strict=True)
    }
    kinds: list[Remembered] = []
    for before, after in pairs:
        first, last = values[before], values[after]
        names = f"{quote_onnx_name(after)} and {quote_onnx_name(before)}"
        if not isinstance(first, TensorSignal) or not isinstance(last, TensorSignal):
            raise InvalidProblem(f"{names}: one of them is constant", where="memory")
        if first.layout.size != last.layout.size:
            what = f"{names} have {last.layout.size} and {first.layout.size} values"
            raise InvalidProblem(what, fix="name the output that becomes the input", where="memory")
        found = [ends.get(origin) for origin in _origins(builder, last)]
        own = [
            one is not None and one[0] == at for one, at in zip(found, _origins(builder, first), strict=True)
        ]
        if not told and not all(own):
            what = f"{names} do not hold the same states in the same places"
            raise Unsupported(what, fix=f"say it: {show_pairs(pairs, name)}")
        kinds += [one[1] if fits and one else Remembered.ANY for one, fits in zip(found, own, strict=True)]
    return kinds


def _origins(builder: NetworkBuilder, signal: TensorSignal) -> list[tuple[int, int]]:
    return [_origin(builder, signal.source, int(entry)) for entry in signal.layout.ravel()]


def _origin(builder: NetworkBuilder, source: int, entry: int) -> tuple[int, int]:
    """The value and entry of which this is a copy."""
    while source:
        match builder.nodes[source - 1]:
            case Pick(before, indices):
                source, entry = before, int(indices[entry])
            case Join(several):
                ends = np.cumsum([builder.widths[s] for s in several])
                place = int(np.searchsorted(ends, entry, side="right"))
                entry -= int(ends[place - 1]) if place else 0
                source = several[place]
            case _:
                return source, entry
    return source, entry


def show_pairs(pairs: tuple[tuple[str, str], ...], name: str) -> str:
    """As it stands in a file beside the policy."""
    told = ", ".join(f'"{before}" = "{after}"' for before, after in pairs)
    return f"memory = {{ {told} }} in {name}.wiring.toml beside it"


def several_inputs(graph: OnnxGraph, names: list[str], name: str) -> Unsupported:
    """The error of a network with more inputs than one, with the line that could make a memory of them."""
    listed = ", ".join(quote_onnx_name(n) for n in names[:_MOST_LISTED])
    what = f"there are {len(names)} inputs: {listed}"
    if 1 < len(graph.outputs) >= len(names):
        pairs = tuple(zip(names[1:], graph.outputs[1:], strict=False))[:4]
        fix = (
            f"if they are the state of a recurrent policy, {show_pairs(pairs, name)}; else join them into one"
        )
        return Unsupported(what, where="inputs", fix=fix)
    return Unsupported(what, where="inputs", fix="join them into one")
