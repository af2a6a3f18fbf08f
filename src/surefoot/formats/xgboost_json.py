"""XGBoost's own JSON model (`save_model("m.json")`) as a network: leaves are added to the base score.

The outputs are margins. What turns them into probabilities keeps their order and is left out; a binary
classifier has the outputs 0 and its margin, so that the larger one is its class. A number goes to the left
where it is smaller than the split, in float32 as XGBoost does it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported, locate_errors
from surefoot.formats.tree_builder import FileBranch, FileLeaf, FileNode, grow_trees
from surefoot.problem.network import Network
from surefoot.problem.tree_ensemble import MOST_CELLS

T = TypeVar("T")
MOST_BYTES = 2**28
_EXPORT = 'save the model again with save_model("m.json")'
_WIDEST = 2**16
# Objectives by what they make of the margins: nothing, a choice, or probabilities in the same order.
_PLAIN = ("reg:squarederror", "reg:absoluteerror", "reg:quantileerror", "reg:pseudohubererror", "rank:ndcg")
_BINARY = ("binary:logistic", "binary:logitraw", "binary:hinge")
_CLASSES = ("multi:softprob", "multi:softmax")


@dataclass(frozen=True, slots=True)
class _Model:
    """The parts of the file that count."""

    objective: str
    inputs: int
    groups: int  # sums: one for each class, or one
    base: tuple[float, ...]
    trees: Sequence[object]
    group_of: Sequence[int]


def is_xgboost_json(data: bytes) -> bool:
    """Whether this looks like such a model."""
    return data.lstrip()[:1] == b"{" and b'"learner"' in data


def read_xgboost_network(data: bytes, name: str, where: str = "") -> Network:
    """The network of a model; its head says what was left out."""
    with locate_errors(where):
        model = _read_model(data)
        trees = [_read_tree(model, number, tree) for number, tree in enumerate(model.trees)]
        node = grow_trees(trees, 0, model.base)
        notes = (f"XGBoost, {len(trees)} trees, objective {model.objective}",)
        if model.objective in _BINARY:
            # Leaves have two outputs here, of which the first is always 0.
            head = "argmax" if model.objective == "binary:hinge" else "softmax"
            return Network(model.inputs, (node,), name, (*notes, "outputs are 0 and the margin"), head)
        if model.objective in _CLASSES:
            head = "argmax" if model.objective == "multi:softmax" else "softmax"
            return Network(model.inputs, (node,), name, (*notes, "outputs are margins"), head)
        return Network(model.inputs, (node,), name, notes)


def _refuse(what: str) -> NoReturn:
    raise InvalidProblem(what, fix=_EXPORT)


def _read_model(data: bytes) -> _Model:
    if len(data) > MOST_BYTES:
        raise Unsupported(f"larger than {MOST_BYTES // 2**20} MB", fix="use a smaller ensemble")
    try:
        document = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        _refuse("not a JSON document, or cut off")
    learner = _member(document, "learner", dict)
    objective = _member(_member(learner, "objective", dict), "name", str)
    booster = _member(learner, "gradient_booster", dict)
    kind = _member(booster, "name", str)
    if kind != "gbtree":
        raise Unsupported(f"a booster `{_shown(kind)}`", fix="train with booster gbtree")
    attributes = learner.get("attributes", {})
    if isinstance(attributes, dict) and "best_iteration" in attributes:
        what = "training stopped early, and what follows the best iteration may count or not"
        raise Unsupported(what, fix="save model[: best_iteration + 1]")
    model = _member(booster, "model", dict)
    parameters = _member(learner, "learner_model_param", dict)
    groups, inputs = _count(parameters, "num_class"), _count(parameters, "num_feature")
    if parameters.get("num_target", "1") != "1":
        raise Unsupported("several targets", fix="train one model for each")
    if objective not in (*_PLAIN, *_BINARY, *_CLASSES):
        known = ", ".join((*_PLAIN, *_BINARY, *_CLASSES))
        raise Unsupported(f"objective `{_shown(objective)}`", fix=f"use one of {known}")
    if (groups > 1) != (objective in _CLASSES) or not inputs:
        _refuse(f"{groups} classes and {inputs} features do not fit objective {objective}")
    trees, group_of = _member(model, "trees", list), _member(model, "tree_info", list)
    groups = max(groups, 1)
    if len(trees) != len(group_of) or any(type(g) is not int or not 0 <= g < groups for g in group_of):
        _refuse("`tree_info` does not say of every tree which class it is for")
    return _Model(objective, inputs, groups, _base_scores(parameters, objective, groups), trees, group_of)


def _shown(text: str) -> str:
    return "".join(c for c in text[:40] if c.isprintable())


def _member(holder: object, key: str, kind: type[T]) -> T:
    found = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(found, kind):
        _refuse(f"not a model of XGBoost: `{key}` is missing or of another kind")
    return found


def _count(parameters: Mapping[str, object], key: str) -> int:
    text = parameters.get(key, "0")
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or len(text) > 6:
        _refuse(f"`{key}` is not a number")
    if int(text) > _WIDEST:
        raise Unsupported(f"`{key}` is {text}", fix=f"use at most {_WIDEST}")
    return int(text)


def _base_scores(parameters: Mapping[str, object], objective: str, groups: int) -> tuple[float, ...]:
    """Margins to begin with: since version 3 a list in a string, before that one number."""
    text = _member(parameters, "base_score", str)
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        _refuse("`base_score` is not a number")
    listed = given if isinstance(given, list) else [given] * groups
    if len(listed) != groups or any(type(x) not in (int, float) for x in listed):
        _refuse("`base_score` is not a number for each class")
    scores = [_single(x, "`base_score`") for x in listed]
    if objective not in _BINARY:
        return tuple(scores)
    if objective == "binary:hinge":
        return 0.0, scores[0]
    if not 0 < scores[0] < 1:
        _refuse("`base_score` of a logistic objective is not between 0 and 1")
    odds = np.float32(1) / np.float32(scores[0]) - np.float32(1)
    return 0.0, float(np.float32(-math.log(odds)))


def _single(number: object, what: str) -> float:
    """The float32 number that a decimal stands for."""
    with np.errstate(over="ignore"):
        found = float(np.float32(number)) if type(number) in (int, float) else math.nan  # type: ignore[arg-type]
    if not math.isfinite(found):
        _refuse(f"{what} is not a finite number")
    return found


def _read_tree(model: _Model, number: int, tree: object) -> tuple[str, int, dict[int, FileNode]]:
    name = f"tree {number}"
    columns = {
        key: _member(tree, key, list)
        for key in ("left_children", "right_children", "split_indices", "split_conditions")
    }
    size = len(columns["left_children"])
    assert isinstance(tree, dict)
    kinds = tree.get("split_type", [])
    if (isinstance(kinds, list) and any(kinds)) or tree.get("categories_nodes"):
        raise Unsupported(f"{name} has a categorical split", fix="train on numbers (one column per category)")
    parameters = tree.get("tree_param")
    if isinstance(parameters, dict) and parameters.get("size_leaf_vector", "1") not in ("0", "1"):
        raise Unsupported(f"{name} has leaves of several numbers", fix="train one tree for each output")
    if not size or any(len(column) != size for column in columns.values()):
        _refuse(f"the lists of {name} are not equally long")
    if size > 2 * MOST_CELLS:
        raise Unsupported(f"{name} has {size} nodes", fix="use a smaller ensemble")
    nodes: dict[int, FileNode] = {}
    for place, (left, right, feature, split) in enumerate(zip(*columns.values(), strict=True)):
        if any(type(x) is not int for x in (left, right, feature)):
            _refuse(f"node {place} of {name} does not say where it leads")
        value = _single(split, f"the value of node {place} of {name}")
        if left == -1 and right == -1:
            nodes[place] = FileLeaf(_leaf_values(model, model.group_of[number], value))
        elif not 0 <= feature < model.inputs:
            _refuse(f"{name} tests input {feature}, but there are {model.inputs}")
        else:
            nodes[place] = FileBranch("BRANCH_LT", feature, value, left, right)
    return name, 0, nodes


def _leaf_values(model: _Model, group: int, value: float) -> tuple[float, ...]:
    if model.objective in _BINARY:
        return 0.0, value
    return tuple(value * (i == group) for i in range(model.groups))
