"""The checker's table of operators is that of the onnx package, for the types that the checker reads."""

import pytest
from onnx.defs import OpSchema, SchemaError, get_schema

from surefoot_checker.kernel.onnx.model import OPSETS
from surefoot_checker.kernel.onnx.operators import OPERATORS
from surefoot_checker.kernel.onnx.signatures import ANY, SIGNATURES

LETTERS = {"tensor(float)": "f", "tensor(int32)": "i", "tensor(int64)": "l", "tensor(bool)": "b"}
MARKS = {
    OpSchema.FormalParameterOption.Single: "",
    OpSchema.FormalParameterOption.Optional: "?",
    OpSchema.FormalParameterOption.Variadic: "*",
}
KINDS = {1: "f", 2: "i", 3: "s", 4: "t", 6: "F", 7: "I"}


def standard(op: str, opset: int) -> tuple[str, int, str] | None:
    """How the operator is written, in the words of the table; None if there is none."""
    try:
        schema = get_schema(op, opset, "")
    except SchemaError:
        return None
    inputs = []
    for form in schema.inputs:
        letters = "".join(letter for kind, letter in LETTERS.items() if kind in form.types)
        group = "" if form.type_str.startswith("tensor(") else form.type_str
        inputs.append(f"{group}:{letters}{MARKS[form.option]}")
    attributes = (
        f"{name}:{KINDS[int(a.type.value)]}{'!' if a.required else ''}"
        for name, a in schema.attributes.items()
        if int(a.type.value) in KINDS
    )
    return " ".join(inputs), min(schema.max_output, ANY), " ".join(sorted(attributes))


@pytest.mark.parametrize("op", SIGNATURES)
def test_every_row_is_that_of_the_standard(op: str) -> None:
    for opset in OPSETS:
        rows = [row[1:] for row in SIGNATURES[op] if row[0] <= opset]
        assert (rows[-1] if rows else None) == standard(op, opset), opset


def test_every_operator_has_rows() -> None:
    assert sorted(SIGNATURES) == sorted(OPERATORS)
