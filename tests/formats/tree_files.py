"""Files of tree ensembles made by hand: ONNX-ML nodes and XGBoost's JSON, and what they mean, written out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from onnx import TensorProto, helper

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
HOLDS = {
    "BRANCH_LEQ": np.less_equal,
    "BRANCH_LT": np.less,
    "BRANCH_GTE": np.greater_equal,
    "BRANCH_GT": np.greater,
    "BRANCH_EQ": np.equal,
    "BRANCH_NEQ": np.not_equal,
}
# A tree: a leaf is a list of numbers, a branch (mode, feature, threshold, where it holds, where it fails).
Tree = Any


def random_tree(
    rng: np.random.Generator, inputs: int, outputs: int, depth: int, modes: tuple[str, ...]
) -> Tree:
    if depth == 0 or (depth < 3 and rng.random() < 0.2):
        return [float(np.float32(x)) for x in rng.normal(size=outputs)]
    threshold = float(np.float32(rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0, float(rng.normal())])))
    sides = [random_tree(rng, inputs, outputs, depth - 1, modes) for _ in range(2)]
    return str(rng.choice(modes)), int(rng.integers(inputs)), threshold, *sides


def evaluate_tree(tree: Tree, x: Any) -> list[float]:
    while isinstance(tree, tuple):
        mode, feature, threshold, holds, fails = tree
        tree = holds if HOLDS[mode](np.float32(x[feature]), np.float32(threshold)) else fails
    return list(tree)


def sum_trees(trees: list[Tree], x: Any, start: list[float] | None = None) -> Any:
    """In float32 from the first tree to the last."""
    first = evaluate_tree(trees[0], x)
    total = np.zeros(len(first), dtype=np.float32) if start is None else np.array(start, dtype=np.float32)
    for tree in trees:
        total = total + np.array(evaluate_tree(tree, x), dtype=np.float32)
    return total


def tree_attributes(trees: list[Tree], kind: str) -> dict[str, Any]:
    """The lists of the operators before version 5; `kind`: class or target."""
    lists: dict[str, list[Any]] = {
        f"nodes_{n}": []
        for n in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    }
    leaves: dict[str, list[Any]] = {f"{kind}_{n}": [] for n in ("treeids", "nodeids", "ids", "weights")}
    for number, tree in enumerate(trees):
        waiting, count = [(0, tree)], 1
        while waiting:
            place, part = waiting.pop()
            row: tuple[Any, ...] = (0, 0.0, "LEAF", 0, 0)
            if isinstance(part, tuple):
                row = part[1], part[2], part[0], count, count + 1
                waiting += [(count, part[3]), (count + 1, part[4])]
                count += 2
            else:
                for output, weight in enumerate(part):
                    for name, item in zip(leaves, (number, place, output, weight), strict=True):
                        leaves[name].append(item)
            for name, item in zip(lists, (number, place, *row), strict=True):
                lists[name].append(item)
    return {**lists, **leaves}


def tree_model(op: str, inputs: int, attributes: dict[str, Any], *, opset: int = 3, after: Any = ()) -> bytes:
    """A model of one tree node `x` -> `y` (classifiers: `label`, `y`), and nodes after it."""
    outputs = ["label", "y"] if op == "TreeEnsembleClassifier" else ["y"]
    trees = helper.make_node(op, ["x"], outputs, name="trees", domain="ai.onnx.ml", **attributes)
    nodes = [trees, *after]
    declared = [helper.make_tensor_value_info(nodes[-1].output[-1], TensorProto.FLOAT, None)]
    if op == "TreeEnsembleClassifier" and not after:
        declared.insert(0, helper.make_tensor_value_info("label", TensorProto.INT64, None))
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, inputs])]
    graph = helper.make_graph(nodes, "g", given, declared)
    imports = [helper.make_opsetid("ai.onnx.ml", opset), helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString())


def regressor_model(trees: list[Tree], inputs: int, **more: Any) -> bytes:
    outputs = len(evaluate_tree(trees[0], [0.0] * inputs))
    attributes = {**tree_attributes(trees, "target"), "n_targets": outputs, **more}
    return tree_model("TreeEnsembleRegressor", inputs, attributes)


def classifier_model(trees: list[Tree], inputs: int, classes: int, **more: Any) -> bytes:
    attributes = {**tree_attributes(trees, "class"), "classlabels_int64s": list(range(classes)), **more}
    return tree_model("TreeEnsembleClassifier", inputs, attributes)


def ensemble_model(trees: list[Tree], inputs: int, **more: Any) -> bytes:
    """The operator of version 5; every leaf has one number here."""
    lists: dict[str, list[Any]] = {n: [] for n in ("splits", "modes", "features")}
    sides: dict[str, list[int]] = {n: [] for n in ("truenodeids", "trueleafs", "falsenodeids", "falseleafs")}
    leaves: list[float] = []
    roots = []

    def add_side(side: str, leaf: str, part: Tree) -> None:
        if isinstance(part, tuple):
            sides[side].append(-1)
            sides[leaf].append(0)
            waiting.append((part, (side, len(sides[side]) - 1)))
        else:
            sides[side].append(len(leaves))
            sides[leaf].append(1)
            leaves.append(part[0])

    for tree in trees:
        waiting: list[tuple[Tree, tuple[str, int] | None]] = [(tree, None)]
        while waiting:
            (mode, feature, threshold, holds, fails), asked = waiting.pop(0)
            number = len(lists["splits"])
            if asked is None:
                roots.append(number)
            else:
                sides[asked[0]][asked[1]] = number
            for name, item in zip(lists, (threshold, MODES.index(mode), feature), strict=True):
                lists[name].append(item)
            add_side("truenodeids", "trueleafs", holds)
            add_side("falsenodeids", "falseleafs", fails)
    attributes = {
        "nodes_splits": helper.make_tensor("s", TensorProto.FLOAT, [len(lists["splits"])], lists["splits"]),
        "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [len(lists["modes"])], lists["modes"]),
        "nodes_featureids": lists["features"],
        **{f"nodes_{name}": listed for name, listed in sides.items()},
        "leaf_weights": helper.make_tensor("w", TensorProto.FLOAT, [len(leaves)], leaves),
        "leaf_targetids": [0] * len(leaves),
        "tree_roots": roots,
        "n_targets": 1,
        **more,
    }
    return tree_model("TreeEnsemble", inputs, attributes, opset=5)


def xgboost_model(
    trees: list[Tree],
    inputs: int,
    groups: list[int],
    base: str = "[0E0]",
    objective: str = "reg:squarederror",
) -> dict[str, Any]:
    """Branches of trees are of mode BRANCH_LT, leaves have one number."""
    written = []
    for tree in trees:
        columns: dict[str, list[Any]] = {
            n: [] for n in ("left_children", "right_children", "split_indices", "split_conditions")
        }
        waiting, count = [tree], 1
        while waiting:
            part = waiting.pop(0)
            row: tuple[Any, ...] = (-1, -1, 0, part[0] if isinstance(part, list) else 0.0)
            if isinstance(part, tuple):
                row = count, count + 1, part[1], part[2]
                waiting += part[3:]
                count += 2
            for name, item in zip(columns, row, strict=True):
                columns[name].append(item)
        written.append({**columns, "split_type": [0] * count, "tree_param": {"size_leaf_vector": "1"}})
    classes = "0" if max(groups) == 0 else str(max(groups) + 1)
    return {
        "learner": {
            "attributes": {},
            "gradient_booster": {"name": "gbtree", "model": {"trees": written, "tree_info": groups}},
            "learner_model_param": {"base_score": base, "num_class": classes, "num_feature": str(inputs)},
            "objective": {"name": objective},
        },
        "version": [3, 2, 0],
    }


def xgboost_bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()
