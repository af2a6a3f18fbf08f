"""Is a node written as its operator is at the opset of the file? The schemas of the onnx package say how.

Runtimes refuse a file that writes it as another opset does; to read it nevertheless would be to guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.onnx.network_builder import Value, value_kind
from surefoot.formats.onnx.protobuf import OnnxNode, malformed_model, quote_onnx_name, tensor_type_name

_TYPES = {
    "float32": "tensor(float)",
    "int32": "tensor(int32)",
    "int64": "tensor(int64)",
    "bool": "tensor(bool)",
}

# AttributeProto's FLOAT, INT, STRING, TENSOR, FLOATS, INTS and STRINGS.
_WORDS = {
    1: "a float",
    2: "an integer",
    3: "a string",
    4: "a tensor",
    6: "a list of floats",
    7: "a list of integers",
    8: "a list of strings",
}


def check_node_form(step: OnnxNode, opset: int) -> None:
    """Raise unless attributes and numbers of inputs and outputs are those of the operator at this opset."""
    schema = _operator_schema(step, opset)
    at = f"at opset {opset}"
    seen: set[str] = set()
    for attribute in step.message.attribute:
        name = str(attribute.name)
        if name in seen:
            raise malformed_model(f"attribute {quote_onnx_name(name)} of {step.op} is given twice")
        seen.add(name)
        if name not in schema.attributes:
            raise malformed_model(f"{step.op} has no attribute {quote_onnx_name(name)} {at}")
        if attribute.type != int(schema.attributes[name].type.value):
            wanted = _WORDS.get(int(schema.attributes[name].type.value), "of another type")
            raise malformed_model(f"attribute {quote_onnx_name(name)} of {step.op} must be {wanted}")
    for name, known in schema.attributes.items():
        if known.required and name not in seen:
            raise malformed_model(f"{step.op} needs the attribute {quote_onnx_name(name)} {at}")
    if not schema.min_input <= len(step.inputs) <= schema.max_input:
        raise malformed_model(f"{step.op} does not have {len(step.inputs)} inputs {at}")
    if not schema.min_output <= len(step.outputs) <= schema.max_output:
        raise malformed_model(f"{step.op} does not have {len(step.outputs)} outputs {at}")


def check_input_types(step: OnnxNode, values: tuple[Value | None, ...], opset: int) -> None:
    """Raise unless every input is there and of a type that the operator takes at this opset."""
    from onnx.defs import OpSchema

    schema = _operator_schema(step, opset)
    groups: dict[str, str] = {}
    for place, value in enumerate(values):
        form = schema.inputs[min(place, len(schema.inputs) - 1)]
        if value is None:
            if form.option != OpSchema.FormalParameterOption.Optional:
                raise malformed_model(f"{step.op} needs input {place} at opset {opset}")
            continue
        kind = value_kind(value)
        other = groups.setdefault(form.type_str, kind)
        if other != kind and form.is_homogeneous:
            what = f"{step.op} mixes {other} and {kind} numbers"
            raise InvalidProblem(what, fix="cast them to one type before exporting")
        if _TYPES[kind] not in form.types:
            what = f"input {place} of {step.op} is {kind}, which it does not take at opset {opset}"
            raise InvalidProblem(what, fix="cast it before exporting")


def check_declared_type(name: str, value: Value, declared: Mapping[str, int]) -> None:
    """Raise if the file says that a tensor is of another type than the node makes it."""
    kind = value_kind(value)
    if name in declared and tensor_type_name(declared[name]) != kind:
        said = tensor_type_name(declared[name])
        raise malformed_model(f"{quote_onnx_name(name)} is declared as {said}, but it is {kind}")


def _operator_schema(step: OnnxNode, opset: int) -> Any:
    from onnx.defs import SchemaError, get_schema

    try:
        return get_schema(step.op, opset, step.domain)
    except SchemaError:
        what = f"operation {quote_onnx_name(step.op)} does not exist at opset {opset}"
        raise Unsupported(what, fix="export with a newer opset") from None
