"""The end of a graph that only turns scores into a choice or a distribution: recognised, and left out.

What remains are the scores, whose largest entry is the choice. Softmax and the subtraction of a log-sum-exp
keep the order of the scores, so they may go when an argmax follows or when they are the last node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from surefoot.errors import Unsupported
from surefoot.formats.onnx.protobuf import (
    TREES_DOMAIN,
    OnnxGraph,
    OnnxNode,
    decode_stored_tensor,
    quote_onnx_name,
)
from surefoot.formats.onnx.tree_operators import is_dropped_transform, label_objection

# After an argmax, these only rename, retype or reshape the chosen index.
_WRAPPERS = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze")
_ORDER = ": same order but for near-ties in its rounding"
_SOFTMAXES = {"Softmax": "softmax", "LogSoftmax": "log-softmax"}


@dataclass(frozen=True, slots=True)
class Head:
    """`scores` names the tensor that becomes the network's output; `axes` must be where its entries lie."""

    scores: str
    kind: str = ""  # "softmax" or "argmax": what the file's output is of the scores
    notes: tuple[str, ...] = ()
    axes: tuple[tuple[str, int], ...] = ()  # (where, axis) of every node left out


def find_head(graph: OnnxGraph, output: str) -> Head:
    """What to leave out before `output`."""
    producers = {name: step for step in graph.steps for name in step.outputs if name}
    if (trees := _find_classifier(graph, output)) is not None:
        return _before_classes(*trees, output)
    last = _behind_wrappers(producers, output)
    if last is None or last.op not in ("ArgMax", *_SOFTMAXES) or last.domain or not last.inputs:
        return Head(output)
    if last.op in _SOFTMAXES:
        note = f"{_SOFTMAXES[last.op]} head dropped: outputs are logits"
        if not _only_renamed(producers, output, last):  # something still follows: not the last node
            return Head(output)
        return Head(last.inputs[0], "softmax", (note,), ((last.where, _node_axis(graph, last)),))
    if last.attributes().get("select_last_index", 0):
        raise Unsupported("ArgMax with select_last_index = 1", where=last.where, fix="use the default, 0")
    return _before_argmax(graph, producers, last)


def skip_zip_map(graph: OnnxGraph, output: str) -> str:
    """The numbers out of which a ZipMap makes a dictionary."""
    made = [step for step in graph.steps if step.op == "ZipMap" and output in step.outputs and step.inputs]
    return made[0].inputs[0] if made else output


def find_classifier_scores(graph: OnnxGraph) -> str | None:
    """Of a label and its scores, both of one classifier of trees, the output with the scores."""
    found = [_find_classifier(graph, skip_zip_map(graph, output)) for output in graph.outputs]
    classifiers = {id(each[0]) for each in found if each is not None}
    places = [None if each is None else each[1] for each in found]
    if len(classifiers) != 1 or sorted(p for p in places if p is not None) != [0, 1] or None in places:
        return None
    return graph.outputs[places.index(1)]


def _find_classifier(graph: OnnxGraph, output: str) -> tuple[OnnxNode, int] | None:
    """The classifier of trees of which this is the label (0) or the scores (1), but for renaming."""
    producers = {name: step for step in graph.steps for name in step.outputs if name}
    for _ in range(len(producers) + 1):
        step = producers.get(output)
        if step is None or not step.inputs:
            return None
        if step.op == "TreeEnsembleClassifier" and step.domain == TREES_DOMAIN:
            return (step, step.outputs.index(output)) if output in step.outputs[:2] else None
        if step.domain or not (step.op in _WRAPPERS or _multiplies_by_one(graph, step)):
            return None
        output = step.inputs[0]
    return None


def _multiplies_by_one(graph: OnnxGraph, step: OnnxNode) -> bool:
    """As the files of onnxmltools do for LightGBM."""
    if step.op != "Mul" or len(step.inputs) != 2 or step.inputs[1] not in graph.tensors:
        return False
    factors = decode_stored_tensor(graph.tensors[step.inputs[1]], step.inputs[1])
    return bool(factors.size == 1 and factors.flat[0] == 1)


def _before_classes(step: OnnxNode, place: int, output: str) -> Head:
    attributes = step.attributes()
    if len(step.outputs) < 2 or not step.outputs[1]:
        raise Unsupported("a classifier without scores", where=step.where, fix="export it with both outputs")
    if place == 0:
        if (why := label_objection(attributes)) is not None:
            fix = f"choose the scores: --output {quote_onnx_name(step.outputs[1])[1:-1]}"
            raise Unsupported(why, where=step.where, fix=fix)
        return Head(step.outputs[1], "argmax", ("label head dropped: outputs are the scores",))
    if not is_dropped_transform(attributes):
        return Head(output)
    if attributes.get("post_transform") == "LOGISTIC":
        note = "logistic head dropped: outputs are 0 and the sum of the trees"
    else:
        note = "softmax head dropped: outputs are logits"
    return Head(step.outputs[1], "softmax", (note,))


def makes_probabilities(step: OnnxNode, head: Head) -> bool:
    """Whether this is the classifier of the scores, and turns them into probabilities itself."""
    trees = step.domain == TREES_DOMAIN and step.op == "TreeEnsembleClassifier"
    return trees and head.scores in step.outputs and is_dropped_transform(step.attributes())


def _behind_wrappers(producers: Mapping[str, OnnxNode], name: str) -> OnnxNode | None:
    step, seen = producers.get(name), 0
    while step is not None and step.op in _WRAPPERS and step.inputs and seen <= len(producers):
        step, seen = producers.get(step.inputs[0]), seen + 1
    return step


def _only_renamed(producers: Mapping[str, OnnxNode], name: str, last: OnnxNode) -> bool:
    """Is the output that of `last`, but for nodes that only give it another name?"""
    step, seen = producers.get(name), 0
    while step is not None and step.op == "Identity" and step.inputs and seen <= len(producers):
        step, seen = producers.get(step.inputs[0]), seen + 1
    return step is last


def _before_argmax(graph: OnnxGraph, producers: Mapping[str, OnnxNode], last: OnnxNode) -> Head:
    scores, axes = last.inputs[0], [(last.where, _node_axis(graph, last))]
    notes = ["argmax head dropped: outputs are the scores"]
    while (step := producers.get(scores)) is not None and not step.domain and len(axes) <= len(producers):
        if step.op in _SOFTMAXES and step.inputs:
            axes.append((step.where, _node_axis(graph, step)))
            notes.append(f"{_SOFTMAXES[step.op]} before argmax dropped{_ORDER}")
        elif (sums := _find_normaliser(graph, producers, step)) is not None:
            axes.append(sums)
            notes.append(f"subtraction of log-sum-exp before argmax dropped{_ORDER}")
        else:
            break
        scores = step.inputs[0]
    return Head(scores, "argmax", tuple(dict.fromkeys(notes)), tuple(axes))


def _find_normaliser(
    graph: OnnxGraph, producers: Mapping[str, OnnxNode], step: OnnxNode
) -> tuple[str, int] | None:
    """Where and along which axis x - log(sum(exp(x))) sums, if `step` is its subtraction."""
    if step.op != "Sub" or len(step.inputs) != 2:
        return None
    scores, name = step.inputs
    path: list[OnnxNode] = []
    while len(path) < 3 and name != scores and (before := producers.get(name)) is not None and before.inputs:
        path.append(before)
        name = before.inputs[0]
    if name != scores or [s.op for s in path] not in (["ReduceLogSumExp"], ["Log", "ReduceSum", "Exp"]):
        return None
    sums = path[len(path) // 2]
    axis = _summed_axis(graph, producers, sums)
    return None if axis is None else (sums.where, axis)


def _summed_axis(graph: OnnxGraph, producers: Mapping[str, OnnxNode], sums: OnnxNode) -> int | None:
    """The single axis of a reduction: an attribute, or a constant second input."""
    axes = sums.attributes().get("axes")
    if axes is None and len(sums.inputs) == 2:
        source, constant = sums.inputs[1], producers.get(sums.inputs[1])
        if source in graph.tensors:
            axes = decode_stored_tensor(graph.tensors[source], source)
        elif constant is not None and constant.op == "Constant":
            axes = constant.attributes().get("value")
    listed = np.asarray(axes).ravel() if isinstance(axes, tuple | np.ndarray) else np.array([])
    return int(listed[0]) if listed.size == 1 else None


def _node_axis(graph: OnnxGraph, step: OnnxNode) -> int:
    default = 0 if step.op == "ArgMax" else (1 if graph.opset < 13 else -1)
    found = step.attributes().get("axis", default)
    return found if isinstance(found, int) else default


def check_head(head: Head, shape: tuple[int, ...]) -> None:
    """Every node left out must run along the one axis on which the scores lie."""
    for where, axis in head.axes:
        size = shape[axis] if -len(shape) <= axis < len(shape) else 0
        others = [d for place, d in enumerate(shape) if d != 1 and place != axis % max(1, len(shape))]
        if not size or others:
            raise Unsupported(
                f"axis {axis} of shape {list(shape)} is not the axis of all scores",
                where=where,
                fix="export one row of scores, with axis=-1",
            )
