"""Operators of the domain ai.onnx.ml: tree ensembles as skl2onnx and onnxmltools write them, and scalers.

Leaves are added from the first tree to the last and the base values after them, as ONNX Runtime does it.
What a classifier makes of its sums follows ONNX Runtime where it goes beyond the standard: for two classes
of which only the first has weights, the sum is that of the second class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.onnx.network_builder import (
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    combine_signals,
    emit_elementwise,
    negate_signal,
    row_major_signal,
)
from surefoot.formats.onnx.protobuf import Attribute, malformed_model
from surefoot.formats.tree_builder import FileBranch, FileLeaf, FileNode, grow_trees
from surefoot.problem.network import Activation, Constant, Pairing, Pick, Shape, freeze_indices
from surefoot.problem.tree_ensemble import MOST_CELLS, TreeEnsemble

T = TypeVar("T")
MOST_COMPARED = 256  # trees of which the largest value is asked: each is a node of its own
_MODES_V5 = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
_TRANSFORMS_V5 = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_AGGREGATES_V5 = ("AVERAGE", "SUM", "MIN", "MAX")


def is_dropped_transform(attributes: Mapping[str, Attribute]) -> bool:
    """Whether a classifier ends in a function that keeps the order of its scores, and is left out."""
    transform = attributes.get("post_transform", "NONE")
    return transform == "LOGISTIC" or (transform == "SOFTMAX" and not _has_one_sum(attributes))


def label_objection(attributes: Mapping[str, Attribute]) -> str | None:
    """Why the label of a classifier may not be the class of its largest score."""
    if _has_one_sum(attributes):
        if attributes.get("post_transform") == "LOGISTIC" and _are_all_positive(attributes):
            return "runtimes compare the sum with 0.5 for the label, and its logistic for the probabilities"
        return None
    if _count_classes(attributes) == 2:
        return "runtimes look at one of the two sums only for the label"
    return None


def translate_classifier(
    builder: NetworkBuilder, given: NodeArguments, *, dropped: bool
) -> list[Value | None]:
    """Nothing for the label, and the scores; `dropped`: what follows them has been left out."""
    attributes = given.attributes
    transform, classes = given.text("post_transform", "NONE"), _count_classes(attributes)
    one = _has_one_sum(attributes)
    if transform not in ("NONE", "LOGISTIC", "SOFTMAX"):
        raise Unsupported(f"post_transform {transform[:40]}", fix="export with NONE, LOGISTIC or SOFTMAX")
    if is_dropped_transform(attributes) and not dropped:
        raise Unsupported(f"{transform} is supported only at the end", fix="export raw scores")
    if transform == "LOGISTIC" and not one:
        raise Unsupported("LOGISTIC of several classes", fix="export raw scores")
    sums = _emit_trees(builder, given, "class", 1 if one else classes)
    if not one:
        return [None, sums]
    if transform == "LOGISTIC":
        factors, constants = [0.0, 1.0], [0.0, 0.0]
    elif _are_all_positive(attributes):
        factors, constants = [-1.0, 1.0], [1.0, 0.0]
    else:
        factors, constants = [-1.0, 1.0], [0.0, 0.0]
    twice = builder.emit(Pick(builder.flat(sums), freeze_indices([0, 0])), 2)
    signal = emit_elementwise(
        builder, row_major_signal(twice, (1, 2)), Constant.MULTIPLY, np.array([factors], np.float32)
    )
    if any(constants):
        signal = emit_elementwise(builder, signal, Constant.ADD, np.array([constants], np.float32))
    return [None, signal]


def translate_regressor(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    targets = given.integer("n_targets", 1)
    if not 1 <= targets <= 2**16:
        raise malformed_model(f"n_targets is {targets}")
    return [_apply_transform(builder, _emit_trees(builder, given, "target", targets), given)]


def _apply_transform(builder: NetworkBuilder, signal: TensorSignal, given: NodeArguments) -> TensorSignal:
    match given.text("post_transform", "NONE"):
        case "NONE":
            return signal
        case "LOGISTIC":
            source = builder.flat(signal)
            number = builder.emit(Activation(source, Shape.SIGMOID), builder.widths[source])
            return row_major_signal(number, signal.shape)
        case other:
            raise Unsupported(f"post_transform {other[:40]}", fix="export with NONE")


def _has_one_sum(attributes: Mapping[str, Attribute]) -> bool:
    """Two classes, and weights for the first alone."""
    ids = attributes.get("class_ids")
    return _count_classes(attributes) == 2 and isinstance(ids, tuple) and set(ids) == {0}


def _are_all_positive(attributes: Mapping[str, Attribute]) -> bool:
    weights = attributes.get("class_weights", ())
    return isinstance(weights, tuple) and all(w >= 0 for w in weights if isinstance(w, float))


def _count_classes(attributes: Mapping[str, Attribute]) -> int:
    several = [attributes.get(f"classlabels_{kind}") for kind in ("int64s", "strings")]
    listed = [labels for labels in several if isinstance(labels, tuple) and labels]
    if len(listed) != 1:
        raise malformed_model("a classifier needs one list of class labels")
    return len(listed[0])


def _emit_trees(builder: NetworkBuilder, given: NodeArguments, kind: str, outputs: int) -> TensorSignal:
    """Sums over all trees, and the base values; `kind`: what the attributes of leaves are called after."""
    source = _flat_rows(builder, given)
    width = builder.widths[source]
    trees = _read_trees(given, kind, outputs, width)
    node = grow_trees(trees, source, [0.0] * outputs)
    leaves = sum(mode == "LEAF" for mode in _texts(given, "nodes_modes"))
    whole = len(_floats(given, f"{kind}_weights")) == leaves * outputs
    return _finish_sums(builder, given, node, given.text("aggregate_function", "SUM"), whole)


def _finish_sums(
    builder: NetworkBuilder, given: NodeArguments, node: TreeEnsemble, aggregate: str, whole: bool
) -> TensorSignal:
    """Sum, mean or extreme of the trees, and the base values; `whole`: every leaf has all outputs."""
    outputs, trees = node.leaves.shape[1], node.roots.size
    match aggregate:
        case "SUM" | "AVERAGE":
            signal = row_major_signal(builder.emit(node, outputs), (1, outputs))
        case "MIN" | "MAX":
            if not whole:
                # Runtimes pass over a leaf that has no weight for an output, and do not take it as 0.
                what = f"{aggregate} of trees with leaves that have no weight for some outputs"
                raise Unsupported(what, fix="export one model for each output")
            signal = _emit_extreme_tree(builder, node, aggregate == "MAX")
        case _:
            fix = "export with SUM, AVERAGE, MIN or MAX"
            raise Unsupported(f"aggregate_function {aggregate[:40]} of trees", fix=fix)
    if aggregate == "AVERAGE":
        signal = emit_elementwise(builder, signal, Constant.DIVIDE, np.array([[trees]], np.float32))
    base = given.attributes.get("base_values", ())
    if not isinstance(base, tuple) or len(base) not in (0, outputs):
        raise Unsupported(f"{outputs} sums with another number of base values", fix="export the model again")
    if base:
        signal = emit_elementwise(builder, signal, Constant.ADD, np.array([base], np.float32))
    return signal


def _emit_extreme_tree(builder: NetworkBuilder, node: TreeEnsemble, largest: bool) -> TensorSignal:
    """The largest or the least value of all trees: each is a node of its own, in pairs."""
    outputs = node.leaves.shape[1]
    if node.roots.size > MOST_COMPARED:
        what = f"MIN and MAX of {node.roots.size} trees"
        raise Unsupported(what, fix=f"use at most {MOST_COMPARED}, or SUM")
    shape = (1, outputs)
    trees = [
        row_major_signal(builder.emit(replace(node, roots=node.roots[i : i + 1]), outputs), shape)
        for i in range(node.roots.size)
    ]
    if not largest:
        trees = [negate_signal(builder, tree) for tree in trees]
    while len(trees) > 1:
        pairs = zip(trees[::2], trees[1::2], strict=False)
        trees = [
            *(combine_signals(builder, a, b, Pairing.MAXIMUM) for a, b in pairs),
            *trees[len(trees) // 2 * 2 :],
        ]
    return trees[0] if largest else negate_signal(builder, trees[0])


def _flat_rows(builder: NetworkBuilder, given: NodeArguments) -> int:
    signal = given.value(0)
    if not isinstance(signal, TensorSignal):
        raise Unsupported(f"{given.op} of a constant", fix="export the policy network alone")
    if len(signal.shape) > 2 or (len(signal.shape) == 2 and signal.shape[0] != 1):
        raise Unsupported(
            f"{given.op} of more than one row", fix="export with batch size 1 or a symbolic one"
        )
    return builder.flat(signal)


def _read_trees(
    given: NodeArguments, kind: str, outputs: int, width: int
) -> list[tuple[str, int, dict[int, FileNode]]]:
    """Trees in the order of the file; the first node of a tree that nothing leads to is its root."""
    tree_ids, node_ids = _integers(given, "nodes_treeids"), _integers(given, "nodes_nodeids")
    leaves = _leaf_weights(given, kind, outputs)
    columns = (
        _texts(given, "nodes_modes"),
        _integers(given, "nodes_featureids"),
        _floats(given, "nodes_values"),
        _integers(given, "nodes_truenodeids"),
        _integers(given, "nodes_falsenodeids"),
    )
    if any(len(column) != len(tree_ids) for column in (node_ids, *columns)):
        raise malformed_model("the lists of nodes are not equally long")
    if len(tree_ids) > 2 * MOST_CELLS:
        raise Unsupported(f"more than {2 * MOST_CELLS} nodes of trees", fix="use a smaller ensemble")
    found: dict[int, dict[int, FileNode]] = {}
    for tree, number, mode, feature, value, holds, fails in zip(tree_ids, node_ids, *columns, strict=True):
        nodes = found.setdefault(tree, {})
        if number in nodes:
            raise malformed_model(f"tree {tree} has two nodes {number}")
        if mode == "LEAF":
            nodes[number] = FileLeaf(leaves.pop((tree, number), (0.0,) * outputs))
        elif not 0 <= feature < width:
            raise malformed_model(f"tree {tree} tests input {feature}, but there are {width}")
        else:
            nodes[number] = FileBranch(mode, feature, value, holds, fails)
    if leaves:
        tree, number = next(iter(leaves))
        raise malformed_model(f"weights of node {number} of tree {tree}, which is no leaf")
    return [(f"tree {tree}", _find_root(tree, nodes), nodes) for tree, nodes in found.items()]


def _find_root(tree: int, nodes: Mapping[int, FileNode]) -> int:
    reached = {n for b in nodes.values() if isinstance(b, FileBranch) for n in (b.holds, b.fails)}
    roots = [number for number in nodes if number not in reached]
    if len(roots) != 1:
        raise malformed_model(f"tree {tree} has {len(roots)} roots")
    seen, waiting = {roots[0]}, [roots[0]]
    while waiting:
        branch = nodes.get(waiting.pop())
        if isinstance(branch, FileBranch):
            fresh = {branch.holds, branch.fails} - seen
            seen |= fresh
            waiting += fresh
    if left_out := nodes.keys() - seen:
        raise malformed_model(f"nothing leads to node {min(left_out)} of tree {tree}")
    return roots[0]


def _leaf_weights(given: NodeArguments, kind: str, outputs: int) -> dict[tuple[int, int], tuple[float, ...]]:
    lists = [_integers(given, f"{kind}_{name}") for name in ("treeids", "nodeids", "ids")]
    weights = _floats(given, f"{kind}_weights")
    if any(len(column) != len(weights) for column in lists):
        raise malformed_model(f"the lists of {kind} weights are not equally long")
    found: dict[tuple[int, int], dict[int, float]] = {}
    for tree, number, output, weight in zip(*lists, weights, strict=True):
        if not 0 <= output < outputs:
            raise malformed_model(f"a weight of {kind} {output}, but there are {outputs}")
        own = found.setdefault((tree, number), {})
        if output in own:
            raise malformed_model(f"two weights of {kind} {output} in node {number} of tree {tree}")
        own[output] = weight
    return {place: tuple(own.get(i, 0.0) for i in range(outputs)) for place, own in found.items()}


def _integers(given: NodeArguments, name: str) -> Sequence[int]:
    return given.integers(name) or ()


def _floats(given: NodeArguments, name: str) -> Sequence[float]:
    return _typed_list(given, name, float)


def _texts(given: NodeArguments, name: str) -> Sequence[str]:
    return _typed_list(given, name, str)


def _typed_list(given: NodeArguments, name: str, kind: type[T]) -> Sequence[T]:
    listed = given.attributes.get(name, ())
    if not isinstance(listed, tuple):
        raise malformed_model(f"attribute `{name}` of {given.op} must be a list")
    found = [item for item in listed if isinstance(item, kind)]
    if len(found) != len(listed):
        raise malformed_model(f"attribute `{name}` of {given.op} is of another type")
    return found


def translate_ensemble(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """The operator of version 5: branches and leaves in lists of their own, leaves with one target each."""
    targets = given.integer("n_targets", 1)
    transform, aggregate = given.integer("post_transform", 0), given.integer("aggregate_function", 1)
    if not 1 <= targets <= 2**16:
        raise malformed_model(f"n_targets is {targets}")
    if transform:
        name = _TRANSFORMS_V5[transform] if 0 <= transform < len(_TRANSFORMS_V5) else str(transform)
        raise Unsupported(f"post_transform {name}", fix="export with NONE")
    source = _flat_rows(builder, given)
    nodes = _read_split_lists(given, targets, builder.widths[source])
    roots = _integers(given, "tree_roots")
    trees = []
    for number, root in enumerate(roots):
        # A tree that is one leaf is written as a branch with both sides the same leaf.
        trees.append((f"tree {number}", root, nodes))
    node = grow_trees(trees, source, [0.0] * targets)
    name = _AGGREGATES_V5[aggregate] if 0 <= aggregate < len(_AGGREGATES_V5) else str(aggregate)
    return [_finish_sums(builder, given, node, name, targets == 1)]


def _read_split_lists(given: NodeArguments, targets: int, width: int) -> dict[int, FileNode]:
    """Branches by number; the leaf i has the number -1 - i. A leaf that both sides share is there twice."""
    splits, modes = _tensor_list(given, "nodes_splits"), _tensor_list(given, "nodes_modes")
    features = _integers(given, "nodes_featureids")
    sides = [
        (_integers(given, f"nodes_{side}nodeids"), _integers(given, f"nodes_{side}leafs"))
        for side in ("true", "false")
    ]
    weights, ids = _tensor_list(given, "leaf_weights"), _integers(given, "leaf_targetids")
    lists = (splits, modes, *(column for pair in sides for column in pair))
    if any(len(column) != len(features) for column in lists) or len(weights) != len(ids):
        raise malformed_model("the lists of nodes or leaves are not equally long")
    if len(features) + len(ids) > 2 * MOST_CELLS:
        raise Unsupported(f"more than {MOST_CELLS} leaves of trees", fix="use a smaller ensemble")
    found: dict[int, FileNode] = {}
    used: set[int] = set()

    def reference(side: int, place: int) -> int:
        numbers, flags = sides[side]
        number = numbers[place]
        if not flags[place]:
            return number
        if not 0 <= number < len(ids):
            raise malformed_model(f"there is no leaf {number}")
        if not 0 <= ids[number] < targets:
            raise malformed_model(f"a leaf of target {ids[number]}, but there are {targets}")
        own = -1 - number if number not in used else -1 - len(ids) - 2 * place - side
        used.add(number)
        found[own] = FileLeaf(tuple(float(weights[number]) * (i == ids[number]) for i in range(targets)))
        return own

    for place, (feature, split, mode) in enumerate(zip(features, splits, modes, strict=True)):
        if not 0 <= feature < width:
            raise malformed_model(f"a test of input {feature}, but there are {width}")
        name = _MODES_V5[int(mode)] if 0 <= mode < len(_MODES_V5) else str(int(mode))
        found[place] = FileBranch(name, feature, float(split), reference(0, place), reference(1, place))
    return found


def _tensor_list(given: NodeArguments, name: str) -> Sequence[float]:
    found = given.attributes.get(name)
    if not isinstance(found, np.ndarray) or found.ndim != 1:
        raise malformed_model(f"attribute `{name}` of {given.op} must be a list in a tensor")
    return [float(x) for x in found]


def translate_scaler(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """(x - offset) * scale, in float32 in this order."""
    signal = given.value(0)
    if not isinstance(signal, TensorSignal):
        raise Unsupported("Scaler of a constant", fix="export the policy network alone")
    for name, kind, sign in (("offset", Constant.ADD, -1.0), ("scale", Constant.MULTIPLY, 1.0)):
        numbers = sign * np.array(_floats(given, name), dtype=np.float32)
        if numbers.size not in (0, 1, signal.shape[-1]):
            raise InvalidProblem(f"`{name}` does not fit the input", fix="export the model again")
        if numbers.size:
            signal = emit_elementwise(builder, signal, kind, numbers.astype(np.float32))
    return [signal]


TREE_OPERATORS = ("Scaler", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor")


def translate_tree_node(
    builder: NetworkBuilder, given: NodeArguments, *, dropped: bool
) -> Sequence[Value | None]:
    """The outputs of a node of this domain; none for a label."""
    match given.op:
        case "TreeEnsembleClassifier":
            return translate_classifier(builder, given, dropped=dropped)
        case "TreeEnsembleRegressor":
            return translate_regressor(builder, given)
        case "TreeEnsemble":
            return translate_ensemble(builder, given)
        case _:
            return translate_scaler(builder, given)
