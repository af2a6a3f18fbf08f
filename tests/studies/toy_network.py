"""Writes the toy study's network as ONNX: `python -m tests.studies.toy_network FILE`."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from surefoot.problem.network import Affine
from surefoot_studies.toy.problem import toy_network


def toy_model() -> onnx.ModelProto:
    """Gemm, Relu, Gemm, Relu, Gemm with the study's weights."""
    nodes, weights, value = [], [], "observation"
    layers = [node for node in toy_network().nodes if isinstance(node, Affine)]
    for number, layer in enumerate(layers):
        last = number == len(layers) - 1
        weights.append(numpy_helper.from_array(np.array(layer.weights), f"weight{number}"))
        weights.append(numpy_helper.from_array(np.array(layer.bias), f"bias{number}"))
        target = "output" if last else f"sum{number}"
        inputs = [value, f"weight{number}", f"bias{number}"]
        nodes.append(helper.make_node("Gemm", inputs, [target], transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [target], [f"hidden{number}"]))
        value = f"hidden{number}"
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(toy_model().SerializeToString())
