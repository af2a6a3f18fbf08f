"""The parts of the ONNX reader: wire format, model, shapes, values and operators."""
