"""What files of trees must not say: one line each, exit code 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.bad.test_command_line import refused
from tests.formats import tree_files as files

from surefoot.errors import SurefootError
from surefoot.formats.onnx import read_onnx_bytes
from surefoot.formats.policy_file import load_policy

INPUTS = 3
TREE = ("BRANCH_LEQ", 0, 0.5, [1.0], [2.0])


def bad_onnx() -> dict[str, tuple[bytes, str]]:
    def changed(**more: Any) -> bytes:
        return files.regressor_model([TREE], INPUTS, **more)

    loop = files.tree_attributes([TREE], "target") | {"nodes_truenodeids": [0, 0, 0], "n_targets": 1}
    shared = files.tree_attributes([TREE], "target") | {"nodes_truenodeids": [2, 0, 0], "n_targets": 1}
    short = files.tree_attributes([TREE], "target") | {"nodes_values": [0.5], "n_targets": 1}
    model = files.tree_model
    return {
        "member": (
            changed(nodes_modes=["BRANCH_MEMBER", "LEAF", "LEAF"]),
            "tree 0 has a node of mode `BRANCH_MEMBER`; fix: use numerical splits only",
        ),
        "min": (changed(aggregate_function="MEDIAN"), "aggregate_function MEDIAN of trees"),
        "probit": (changed(post_transform="PROBIT"), "post_transform PROBIT; fix: export with NONE"),
        "feature": (changed(nodes_featureids=[7, 0, 0]), "tree 0 tests input 7, but there are 3"),
        "loop": (model("TreeEnsembleRegressor", INPUTS, loop), "nothing leads to node 0 of tree 0"),
        "shared": (model("TreeEnsembleRegressor", INPUTS, shared), "tree 0 has 2 roots"),
        "short": (model("TreeEnsembleRegressor", INPUTS, short), "the lists of nodes are not equally long"),
        "nan": (changed(nodes_values=[float("nan"), 0.0, 0.0]), "`nodes_values` is not a finite number"),
        "target": (changed(target_ids=[0, 4]), "a weight of target 4, but there are 1"),
        "base": (changed(base_values=[1.0, 2.0]), "1 sums with another number of base values"),
        "weights of a branch": (
            changed(target_nodeids=[0, 2]),
            "weights of node 0 of tree 0, which is no leaf",
        ),
        "no labels": (
            model("TreeEnsembleClassifier", INPUTS, files.tree_attributes([TREE], "class")),
            "a classifier needs one list of class labels",
        ),
        "logistic of two": (
            files.classifier_model(
                [("BRANCH_LEQ", 0, 0.5, [1.0, 2.0], [2.0, 1.0])], INPUTS, 2, post_transform="LOGISTIC"
            ),
            "LOGISTIC of several classes; fix: export raw scores",
        ),
        "another operator": (
            model("Normalizer", INPUTS, {"norm": "L2"}),
            "`Normalizer` is of the custom domain `ai.onnx.ml`; fix: export plain ONNX",
        ),
    }


@pytest.mark.parametrize("name", bad_onnx())
def test_what_an_onnx_file_must_not_say(name: str) -> None:
    data, message = bad_onnx()[name]
    with pytest.raises(SurefootError) as caught:
        read_onnx_bytes(data)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_label_that_runtimes_see_otherwise_is_refused() -> None:
    positive = files.classifier_model(
        [("BRANCH_LEQ", 0, 0.5, [0.25], [0.75])], INPUTS, 2, post_transform="LOGISTIC"
    )
    with pytest.raises(
        SurefootError, match=r"compare the sum with 0\.5 .* fix: choose the scores: --output y"
    ):
        read_onnx_bytes(positive, output="label")
    both = files.classifier_model([("BRANCH_LEQ", 0, 0.5, [0.25, 0.75], [0.75, 0.25])], INPUTS, 2)
    with pytest.raises(SurefootError, match="one of the two sums only"):
        read_onnx_bytes(both, output="label")
    assert read_onnx_bytes(both).outputs == 2


def bad_xgboost() -> dict[str, tuple[dict[str, Any], str]]:
    def document(**changes: Any) -> dict[str, Any]:
        tree = ("BRANCH_LT", 0, 0.5, [1.0], [2.0])
        made = files.xgboost_model([tree], INPUTS, [0])
        for path, value in changes.items():
            place: Any = made["learner"]
            *front, last = path.split("__")
            for key in front:
                place = place[int(key) if key.isdigit() else key]
            place[last] = value
        return made

    tree = "gradient_booster__model__trees__0"
    return {
        "dart": (document(gradient_booster__name="dart"), "a booster `dart`; fix: train with booster gbtree"),
        "poisson": (document(objective__name="count:poisson"), "objective `count:poisson`; fix: use one of"),
        "early": (document(attributes__best_iteration="3"), "training stopped early"),
        "categories": (document(**{f"{tree}__split_type": [1, 0, 0]}), "tree 0 has a categorical split"),
        "vector": (
            document(**{f"{tree}__tree_param": {"size_leaf_vector": "2"}}),
            "leaves of several numbers",
        ),
        "lists": (document(**{f"{tree}__split_indices": [0]}), "the lists of tree 0 are not equally long"),
        "feature": (
            document(**{f"{tree}__split_indices": [9, 0, 0]}),
            "tree 0 tests input 9, but there are 3",
        ),
        "loop": (document(**{f"{tree}__left_children": [0, -1, -1]}), "tree 0 leads to node 0 twice"),
        "outside": (document(**{f"{tree}__left_children": [8, -1, -1]}), "tree 0 has no node 8"),
        "infinite": (document(**{f"{tree}__split_conditions": [1e99, 1, 1]}), "is not a finite number"),
        "base": (
            document(learner_model_param__base_score="[1E0,2E0]"),
            "`base_score` is not a number for each",
        ),
        "classes": (document(learner_model_param__num_class="3"), "do not fit objective"),
        "group": (document(gradient_booster__model__tree_info=[1]), "`tree_info` does not say of every tree"),
        "missing": (document(gradient_booster__model={}), "`trees` is missing or of another kind"),
        "targets": (document(learner_model_param__num_target="2"), "several targets"),
    }


@pytest.mark.parametrize("name", bad_xgboost())
def test_what_a_file_of_xgboost_must_not_say(name: str, tmp_path: Path) -> None:
    made, message = bad_xgboost()[name]
    path = tmp_path / "m.json"
    path.write_bytes(files.xgboost_bytes(made))
    with pytest.raises(SurefootError) as caught:
        load_policy(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_other_files_of_trees_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.txt"
    path.write_text("tree\nversion=v4\nnum_class=1\n")
    with pytest.raises(
        SurefootError, match="a model of LightGBM, which adds leaves in float64; fix: convert it"
    ):
        load_policy(path)
    path.write_text('{"learner": ')
    with pytest.raises(SurefootError, match="not a JSON document, or cut off; fix: save the model again"):
        load_policy(path)


@pytest.mark.parametrize("name", ["onnx", "xgboost", "lightgbm"])
def test_through_the_command_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contents = {
        "onnx": bad_onnx()["member"][0],
        "xgboost": files.xgboost_bytes(bad_xgboost()["dart"][0]),
        "lightgbm": b"tree\nversion=v4\n",
    }
    path = tmp_path / {"onnx": "m.onnx", "xgboost": "m.json", "lightgbm": "m.txt"}[name]
    path.write_bytes(contents[name])
    refused(["inspect", str(path)], capsys, path, tmp_path)
