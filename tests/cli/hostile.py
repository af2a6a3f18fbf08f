"""Files whose names try to act on a terminal, a page or a compiler, at every place that takes a name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from surefoot.term.printer import show_name

# Cursor up and erase the line, a C1 sequence, DEL, marks of direction, no width, ends of lines, markup.
EVIL = (
    "x\x1b[1A\x1b[2K\x9b31m\x7f\u202e\u2066\u200e\u200f\u061c\u200b\ufeff\u3164\u2028\u2029[red][link=file:///x]"
    '<script>"*/ \\\r\nproved: all is well\n'
)


def evil(tail: str) -> str:
    return EVIL + tail


def _toml(value: object) -> str:
    return json.dumps(value)


def problem_text(question: str, *, named: str = "q") -> str:
    """A walk with hostile names of problem, variable, actions, constant and property."""
    v, go, most = (show_name(evil(tail)) for tail in ("v", "go", "most"))
    asked = question.replace("V", v).replace("GO", go)
    return f"""
name = {_toml(evil("problem"))}
initial = {_toml(f"{v} = 0")}
[constants]
{_toml(evil("most"))} = 3
[variables]
{_toml(evil("v"))} = "int 0..3"
[[edges]]
action = {_toml(evil("go"))}
guard = {_toml(f"{v} < {most}")}
[[edges.outcomes]]
probability = "1/2"
updates = {{ {_toml(evil("v"))} = {_toml(f"{v} + 1")} }}
[[edges.outcomes]]
probability = "1/2"
[[edges]]
action = {_toml(evil("back"))}
guard = {_toml(f"{v} > 0")}
updates = {{ {_toml(evil("v"))} = {_toml(f"{v} - 1")} }}
[policy.program]
branches = [
  {{ when = {_toml(f"{v} < 2")}, action = {_toml(evil("go"))} }},
  {{ action = {_toml(evil("back"))} }},
]
[properties]
{_toml(evil(named))} = {_toml(asked)}
"""


def jani_text(half: str = "") -> str:
    """The same kind of names in a JANI model; `half` of a surrogate pair, which JSON can write."""
    v, a, place = evil(f"{half}v"), evil("go"), evil("place")
    smaller = {"op": "<", "left": v, "right": 3}
    more = {"op": "+", "left": v, "right": 1}
    reach = {"op": "F", "exp": {"op": "=", "left": v, "right": 3}}
    states = {"op": "initial"}
    values = {"op": "filter", "fun": "max", "values": {"op": "Pmax", "exp": reach}, "states": states}
    edge = {
        "location": place,
        "action": a,
        "guard": {"exp": smaller},
        "destinations": [{"location": place, "assignments": [{"ref": v, "value": more}]}],
    }
    return json.dumps(
        {
            "jani-version": 1,
            "name": evil("model"),
            "type": "mdp",
            "metadata": {"author": evil("author")},
            "actions": [{"name": a}],
            "variables": [
                {"name": v, "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 3},
                 "initial-value": 0}
            ],
            "properties": [{"name": evil("property"), "expression": values}],
            "automata": [
                {"name": evil("automaton"), "locations": [{"name": place}], "initial-locations": [place],
                 "edges": [edge]}
            ],
            "system": {"elements": [{"automaton": evil("automaton")}],
                       "syncs": [{"synchronise": [a], "result": a}]},
        }
    )  # fmt: skip


def network_bytes() -> bytes:
    """One affine layer with hostile names of tensors, nodes, graph and producer."""
    x, y, w, b = (evil(tail).replace("\n", "").replace("\r", "") for tail in ("in", "out", "W", "b"))
    graph = helper.make_graph(
        [helper.make_node("Gemm", [x, w, b], [y], name=evil("node"), transB=1, doc_string=evil("doc"))],
        evil("graph"),
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, (1, 2))],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, (1, 1))],
        [
            numpy_helper.from_array(np.float32([[1, -1]]), w),
            numpy_helper.from_array(np.float32([0]), b),
        ],
        doc_string=evil("doc"),
    )
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name=evil("producer")
    )
    return bytes(made.SerializeToString())


SPECIFICATION = """; \x1b[2Kproved
(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)
(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= X_1 0))(assert (<= X_1 1))
(assert (>= Y_0 2))
"""


def write_files(folder: Path) -> dict[str, Path]:
    """Every hostile file by a short name; their own names are hostile as far as a file system allows."""
    paths = {
        "never": folder / "never\x1b[2J\u202e.toml",
        "chance": folder / "chance.toml",
        "value": folder / "value.toml",
        "jani": folder / "model\x1b[2J.jani",
        "half": folder / "half.jani",
        "network": folder / "network\u202e.onnx",
        "specification": folder / "specification\x1b[2K.vnnlib",
    }
    paths["never"].write_text(problem_text("never V = 3"), "utf-8")
    paths["chance"].write_text(problem_text("Pmax>=1/2 [ F V = 2 ]"), "utf-8")
    paths["value"].write_text(problem_text("Pmax=? [ F V = 2 ]"), "utf-8")
    paths["jani"].write_text(jani_text(), "utf-8")
    paths["half"].write_text(jani_text("\ud800"), "utf-8")
    paths["network"].write_bytes(network_bytes())
    paths["specification"].write_text(SPECIFICATION, "utf-8")
    return paths
