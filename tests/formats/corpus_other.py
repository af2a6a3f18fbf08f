"""Networks that scikit-learn, TensorFlow's converter and the onnx package write."""

from pathlib import Path
from typing import Any

import numpy as np
from tests.formats.corpus import POINTS, Sample


def _regression_data() -> tuple[Any, Any]:
    draw = np.random.default_rng(21)
    x = draw.normal(size=(200, 4)).astype(np.float32)
    return x, np.stack([np.sin(x[:, 0]) + x[:, 1], x[:, 2] * x[:, 3]], axis=1)


def _inputs() -> Any:
    return np.random.default_rng(22).normal(size=(POINTS, 4)).astype(np.float32) * 2


def write_sklearn_regressor(folder: Path) -> Sample:
    from skl2onnx import to_onnx
    from sklearn.neural_network import MLPRegressor

    x, y = _regression_data()
    model = MLPRegressor(hidden_layer_sizes=(16, 8), activation="tanh", max_iter=30, random_state=1).fit(x, y)
    path = folder / "policy.onnx"
    path.write_bytes(to_onnx(model, x[:1]).SerializeToString())
    inputs = _inputs()
    return Sample(path, inputs, model.predict(inputs).astype(np.float32))


def write_sklearn_classifier(folder: Path) -> Sample:
    from skl2onnx import to_onnx
    from sklearn.neural_network import MLPClassifier

    x, y = _regression_data()
    labels = np.digitize(y[:, 0], [-0.5, 0.5])
    model = MLPClassifier(hidden_layer_sizes=(16, 8), activation="relu", max_iter=50, random_state=1).fit(
        x, labels
    )
    path = folder / "policy.onnx"
    path.write_bytes(to_onnx(model, x[:1], options={"zipmap": False}).SerializeToString())
    inputs = _inputs()
    return Sample(path, inputs, model.predict(inputs), choices=True, output="probabilities")


def write_sklearn_labels(folder: Path) -> Sample:
    return Sample(
        write_sklearn_classifier(folder).path,
        None,
        None,
    )


def write_sklearn_forest(folder: Path) -> Sample:
    from skl2onnx import to_onnx
    from sklearn.ensemble import RandomForestRegressor

    x, y = _regression_data()
    model = RandomForestRegressor(5, max_depth=3, random_state=1).fit(x, y[:, 0])
    path = folder / "policy.onnx"
    path.write_bytes(to_onnx(model, x[:1]).SerializeToString())
    inputs = _inputs()
    return Sample(path, inputs, model.predict(inputs)[:, None].astype(np.float32))


def _write_keras(folder: Path, shape: tuple[int, ...], layers: Any) -> Sample:
    import keras
    import tensorflow
    import tf2onnx

    keras.utils.set_random_seed(26)
    model = keras.Sequential([keras.Input(shape), *layers(keras.layers)])

    @tensorflow.function(input_signature=[tensorflow.TensorSpec((None, *shape), tensorflow.float32)])  # type: ignore
    def act(x: Any) -> Any:
        return model(x)

    path = folder / "policy.onnx"
    made, _ = tf2onnx.convert.from_function(act, act.input_signature, opset=17)
    path.write_bytes(made.SerializeToString())
    inputs = np.random.default_rng(27).normal(size=(POINTS, *shape)).astype(np.float32)
    return Sample(path, inputs.reshape(POINTS, -1), np.asarray(act(inputs)))


def write_keras_gelu(folder: Path) -> Sample:
    """tf2onnx makes an operator of it that ONNX does not have."""
    sample = _write_keras(folder, (4,), lambda k: [k.Dense(8, "gelu"), k.Dense(3)])
    return Sample(sample.path, None, None)


def write_keras_dense(folder: Path) -> Sample:
    return _write_keras(
        folder,
        (4,),
        lambda k: [k.Dense(16, "elu"), k.LayerNormalization(), k.Dense(16, "silu"), k.Dense(3, "tanh")],
    )


def write_keras_convolutions(folder: Path) -> Sample:
    return _write_keras(
        folder,
        (8, 8, 2),
        lambda k: [k.Conv2D(4, 3, activation="relu"), k.MaxPooling2D(), k.Flatten(), k.Dense(3)],
    )


def write_keras_like(folder: Path) -> Sample:
    """As tf2onnx writes a Keras model: MatMul and Add, channels last, Squeeze and Transpose between."""
    from onnx import TensorProto, helper, numpy_helper

    draw = np.random.default_rng(23)
    shapes = {"k": (4, 2, 3, 3), "kb": (4,), "W": (36, 3), "b": (3,)}
    arrays = {n: draw.normal(size=s).astype(np.float32) * np.float32(0.4) for n, s in shapes.items()}
    nodes = [
        helper.make_node("Transpose", ["x"], ["nchw"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["nchw", "k", "kb"], ["c"], auto_pad="SAME_UPPER", strides=[1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2], auto_pad="VALID"),
        helper.make_node("Transpose", ["p"], ["nhwc"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["nhwc", "flat"], ["f"]),
        helper.make_node("MatMul", ["f", "W"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["a"]),
        helper.make_node("Identity", ["a"], ["y"]),
    ]
    arrays["flat"] = np.array([-1, 36], np.int64)
    graph = helper.make_graph(
        nodes,
        "tf2onnx",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6, 7, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(a, n) for n, a in arrays.items()],
    )
    return _with_runtime(
        folder, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)]), (6, 7, 2)
    )


def write_opset_6(folder: Path) -> Sample:
    """As exporters wrote years ago; a runtime of today reads it after the onnx package has converted it."""
    from onnx import TensorProto, helper, numpy_helper, version_converter

    draw = np.random.default_rng(24)
    arrays = {
        "W": draw.normal(size=(8, 4)).astype(np.float32),
        "b": draw.normal(size=8).astype(np.float32),
        "V": draw.normal(size=(8, 2)).astype(np.float32),
        "s": draw.normal(size=2).astype(np.float32),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "W", "b"], ["g"], transB=1, broadcast=1),
        helper.make_node("Elu", ["g"], ["e"], alpha=0.7),
        helper.make_node("MatMul", ["e", "V"], ["m"]),
        helper.make_node("Mul", ["m", "s"], ["y"], broadcast=1, axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "old",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4]),
         *(helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in arrays.items())],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(a, n) for n, a in arrays.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)], ir_version=3)
    return _with_runtime(folder, model, (4,), version_converter.convert_version(model, 13))


def _with_runtime(folder: Path, model: Any, shape: tuple[int, ...], readable: Any = None) -> Sample:
    import onnxruntime

    path = folder / "policy.onnx"
    path.write_bytes(model.SerializeToString())
    model.ir_version = min(model.ir_version, 10)
    content = (readable or model).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    inputs = np.random.default_rng(25).normal(size=(POINTS, *shape)).astype(np.float32)
    outputs = [session.run(None, {"x": row[None]})[0].ravel() for row in inputs]
    return Sample(path, inputs.reshape(POINTS, -1), np.array(outputs))
