"""Tree ensembles in files: every mode and operator, against a plain reading and against the libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats import tree_files as files

from surefoot.errors import Unsupported
from surefoot.formats.onnx import read_onnx_bytes
from surefoot.formats.policy_file import load_policy
from surefoot.formats.xgboost_json import read_xgboost_network
from surefoot.problem.meaning.inference import infer_outputs

INPUTS = 3


def near_thresholds(rng: np.random.Generator, count: int = 200) -> Any:
    some = np.array([-1, -0.5, 0, 0.5, 1], dtype=np.float32)
    exact = rng.choice(some, (count, INPUTS))
    beside = np.nextafter(exact, rng.choice(np.array([-9, 9], dtype=np.float32), exact.shape))
    chosen = rng.integers(3, size=exact.shape)
    return np.choose(chosen, [exact, beside, rng.normal(size=exact.shape)]).astype(np.float32)


def by_runtime(data: bytes, points: Any, output: str = "y") -> Any:
    """ONNX Runtime row by row, as a deployed policy is asked."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return np.concatenate([np.asarray(session.run([output], {"x": row[None]})[0]) for row in points])


@pytest.mark.parametrize("mode", [*files.MODES, "mixed"])
def test_every_mode_sends_an_input_where_the_file_says(mode: str) -> None:
    rng = np.random.default_rng(files.MODES.index(mode) if mode in files.MODES else 9)
    modes = files.MODES if mode == "mixed" else (mode,)
    trees = [files.random_tree(rng, INPUTS, 2, 4, modes) for _ in range(3)]
    data, points = files.regressor_model(trees, INPUTS, base_values=[0.25, -1.5]), near_thresholds(rng)
    found = infer_outputs(read_onnx_bytes(data), points)
    plain = [files.sum_trees(trees, x) + np.array([0.25, -1.5], dtype=np.float32) for x in points]
    assert np.array_equal(found, np.array(plain))
    if mode != "mixed":  # ONNX Runtime 1.31 may not tell trees with several modes apart
        assert np.array_equal(found, by_runtime(data, points))


def test_average_is_the_sum_divided() -> None:
    rng = np.random.default_rng(3)
    trees = [files.random_tree(rng, INPUTS, 1, 3, ("BRANCH_LEQ",)) for _ in range(3)]
    data = files.regressor_model(trees, INPUTS, aggregate_function="AVERAGE", base_values=[2.0])
    points = near_thresholds(rng)
    assert np.array_equal(infer_outputs(read_onnx_bytes(data), points), by_runtime(data, points))


@pytest.mark.parametrize("base", [(), (2.0, -0.5)])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("aggregate", ["MIN", "MAX", "AVERAGE"])
def test_the_least_and_the_largest_tree(aggregate: str, outputs: int, base: tuple[float, ...]) -> None:
    rng = np.random.default_rng(13)
    trees = [files.random_tree(rng, INPUTS, outputs, 4, ("BRANCH_LEQ",)) for _ in range(5)]
    more = {"base_values": list(base[:outputs])} if base else {}
    data = files.regressor_model(trees, INPUTS, aggregate_function=aggregate, **more)
    points = near_thresholds(rng, 1000)
    assert np.array_equal(infer_outputs(read_onnx_bytes(data), points), by_runtime(data, points))


@pytest.mark.parametrize("aggregate", [0, 2, 3])
def test_aggregates_of_version_5(aggregate: int) -> None:
    rng = np.random.default_rng(14)
    trees = [
        ("BRANCH_LEQ", 0, 0.5, [0.25], files.random_tree(rng, INPUTS, 1, 3, ("BRANCH_LEQ",)))
        for _ in range(4)
    ]
    data, points = files.ensemble_model(trees, INPUTS, aggregate_function=aggregate), near_thresholds(rng)
    assert np.array_equal(infer_outputs(read_onnx_bytes(data), points), by_runtime(data, points))


def test_a_leaf_without_an_output_is_no_zero() -> None:
    """ONNX Runtime passes over it: the maximum of -1 and nothing is -1."""
    trees = [("BRANCH_LEQ", 0, 0.5, [-1.0, -1.0], [-2.0, -2.0])] * 2
    attributes = {**files.tree_attributes(trees, "target"), "n_targets": 2, "aggregate_function": "MAX"}
    for name in ("treeids", "nodeids", "ids", "weights"):
        attributes[f"target_{name}"] = attributes[f"target_{name}"][:-1]
    with pytest.raises(Unsupported, match="MAX of trees with leaves that have no weight for some outputs"):
        read_onnx_bytes(files.tree_model("TreeEnsembleRegressor", INPUTS, attributes))


@pytest.mark.parametrize("modes", [("BRANCH_LEQ",), ("BRANCH_GT",), ("BRANCH_EQ",)])
def test_the_operator_of_version_5(modes: tuple[str, ...]) -> None:
    rng = np.random.default_rng(4)
    trees: list[Any] = []
    while len(trees) < 3:
        tree = files.random_tree(rng, INPUTS, 1, 4, modes)
        trees += [tree] if isinstance(tree, tuple) else []
    data, points = files.ensemble_model(trees, INPUTS), near_thresholds(rng)
    found = infer_outputs(read_onnx_bytes(data), points)
    assert np.array_equal(found, np.array([files.sum_trees(trees, x) for x in points]))
    assert np.array_equal(found, by_runtime(data, points))


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_two_classes_with_weights_for_one(transform: str, mixed: bool) -> None:
    rng = np.random.default_rng(5)
    tree = ("BRANCH_LEQ", 0, 0.5, [-0.25 if mixed else 0.25], ("BRANCH_LEQ", 1, 0.0, [0.75], [0.375]))
    data = files.classifier_model([tree], INPUTS, 2, post_transform=transform, base_values=[0.0625])
    network, points = read_onnx_bytes(data), near_thresholds(rng)
    assert network.head == ("softmax" if transform == "LOGISTIC" else "")
    found, theirs = infer_outputs(network, points), by_runtime(data, points)
    assert np.array_equal(found.argmax(axis=1), theirs.argmax(axis=1))
    if transform == "LOGISTIC":
        found = np.exp(found) / np.exp(found).sum(axis=1, keepdims=True)
        assert np.allclose(found, theirs, atol=1e-6)
    else:
        assert np.array_equal(found, theirs)
    if transform == "NONE":
        assert read_onnx_bytes(data, output="label").head == "argmax"
        assert np.array_equal(found.argmax(axis=1), by_runtime(data, points, "label"))


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX"])
def test_several_classes(transform: str) -> None:
    rng = np.random.default_rng(6)
    trees = [files.random_tree(rng, INPUTS, 3, 3, ("BRANCH_LT",)) for _ in range(4)]
    data = files.classifier_model(trees, INPUTS, 3, post_transform=transform, base_values=[0.5, 0.25, 0.0])
    network, points = read_onnx_bytes(data), near_thresholds(rng)
    found, theirs = infer_outputs(network, points), by_runtime(data, points)
    if transform == "NONE":
        assert np.array_equal(found, theirs)
    else:
        assert np.allclose(np.exp(found) / np.exp(found).sum(axis=1, keepdims=True), theirs, atol=1e-6)
    assert np.array_equal(found.argmax(axis=1), by_runtime(data, points, "label"))


def test_xgboost_begins_with_the_base_score() -> None:
    rng = np.random.default_rng(7)
    trees = [files.random_tree(rng, INPUTS, 1, 4, ("BRANCH_LT",)) for _ in range(6)]
    document = files.xgboost_model(trees, INPUTS, [0] * 6, "[3.5E-1]")
    network, points = read_xgboost_network(files.xgboost_bytes(document), "m"), near_thresholds(rng)
    plain = [files.sum_trees(trees, x, [0.35]) for x in points]
    assert np.array_equal(infer_outputs(network, points), np.array(plain))
    groups = [0, 1, 2, 0, 1, 2]
    document = files.xgboost_model(trees, INPUTS, groups, "5E-1", "multi:softprob")
    network = read_xgboost_network(files.xgboost_bytes(document), "m")
    assert (network.outputs, network.head) == (3, "softmax")
    for output in range(3):
        own = [tree for tree, group in zip(trees, groups, strict=True) if group == output]
        plain = [files.sum_trees(own, x, [0.5]) for x in points]
        assert np.array_equal(infer_outputs(network, points)[:, [output]], np.array(plain))


def sample(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    x = rng.normal(size=(300, 4)).astype(np.float32)
    return (
        x,
        (x[:, 0] * x[:, 1] > 0).astype(int) + (x[:, 2] > 0),
        rng.normal(size=(1000, 4)).astype(np.float32),
    )


@pytest.mark.parametrize("kind", ["DecisionTree", "RandomForest", "ExtraTrees", "GradientBoosting"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_what_skl2onnx_writes(kind: str, classes: int) -> None:
    pytest.importorskip("sklearn")
    convert = pytest.importorskip("skl2onnx").to_onnx
    from sklearn import ensemble, tree

    x, labels, points = sample(np.random.default_rng(8))
    options = {"max_depth": 3, "random_state": 0}
    options |= {"n_estimators": 5} if kind != "DecisionTree" else {}
    made = getattr(
        tree if kind == "DecisionTree" else ensemble, kind + ("Classifier" if classes else "Regressor")
    )
    target = x[:, 0] + x[:, 1] ** 2 if not classes else labels if classes == 3 else (labels > 0).astype(int)
    model = made(**options).fit(x, target)
    data = convert(model, x[:1], options={"zipmap": False} if classes else None).SerializeToString()
    network = read_onnx_bytes(data)
    found = infer_outputs(network, points)
    if not network.head:
        output = "probabilities" if classes else "variable"
        assert np.array_equal(found, by_sklearn_runtime(data, points, output))
    if classes:
        assert np.array_equal(found.argmax(axis=1), by_sklearn_runtime(data, points, "label"))
        assert (found.argmax(axis=1) == model.predict(points)).mean() > 0.999  # float64 there
        read_onnx_bytes(convert(model, x[:1]).SerializeToString())  # with a ZipMap


def by_sklearn_runtime(data: bytes, points: Any, output: str) -> Any:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.concatenate([np.asarray(session.run([output], {name: row[None]})[0]) for row in points])


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_what_xgboost_saves(classes: int, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    x, labels, points = sample(np.random.default_rng(9))
    options = {"n_estimators": 6, "max_depth": 3}
    if classes:
        target = labels if classes == 3 else (labels > 0).astype(int)
        model = xgboost.XGBClassifier(**options).fit(x, target)
    else:
        model = xgboost.XGBRegressor(**options).fit(x, x[:, 0] + x[:, 1] ** 2)
    model.save_model(tmp_path / "m.json")
    found = infer_outputs(load_policy(tmp_path / "m.json").network, points)
    margins = model.predict(points, output_margin=True).reshape(len(points), -1)
    assert np.array_equal(found[:, -margins.shape[1] :], margins)
    if classes:
        assert np.array_equal(found.argmax(axis=1), model.predict(points))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_what_onnxmltools_writes(library: str, classes: int) -> None:
    package, tools = pytest.importorskip(library), pytest.importorskip("onnxmltools")
    from onnxmltools.convert.common.data_types import FloatTensorType

    x, labels, points = sample(np.random.default_rng(10))
    options = {"n_estimators": 4, "max_depth": 3} | ({"verbose": -1} if library == "lightgbm" else {})
    name = ("XGB" if library == "xgboost" else "LGBM") + ("Classifier" if classes else "Regressor")
    target = x[:, 0] + x[:, 1] ** 2 if not classes else labels if classes == 3 else (labels > 0).astype(int)
    model = getattr(package, name)(**options).fit(x, target)
    convert = getattr(tools, f"convert_{library}")
    data = convert(model, initial_types=[("x", FloatTensorType([None, 4]))]).SerializeToString()
    network = read_onnx_bytes(data)
    found = infer_outputs(network, points)
    if classes:
        assert np.array_equal(found.argmax(axis=1), by_sklearn_runtime(data, points, "label"))
    else:
        assert np.array_equal(found, by_sklearn_runtime(data, points, "variable"))
